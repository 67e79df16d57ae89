"""What the MCP endpoint serves: a `Provider`, the facts it lists, and the client it serves them to.

The endpoint knows nothing of Tesseron. The gateway is one provider; a fixture with bare names is another. What can wait
(a tool call, a read, a prompt) is an `Invocation`, whose `Done` value is the dataclass named beside each method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from ..invocation import Invocation, Log

Era: TypeAlias = Literal["legacy", "modern"]


# Facts a provider lists -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who the server says it is: `serverInfo` and `instructions` of MCP."""

    name: str
    version: str
    title: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. Schemas are JSON Schemas whose root is an object; `output_schema` only where it is enforced."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource; `uri` as it goes out."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A family of resources: `uri_template` is an RFC 6570 template."""

    uri_template: str
    name: str
    description: str | None = None
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt; each argument is `{name, description?, required?}`."""

    name: str
    description: str | None = None
    arguments: Sequence[Mapping[str, Any]] = ()


# Results: what `Done.value` is ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back.

    Attributes:
        value: Any JSON value. A string becomes text verbatim, anything else JSON text.
        content: MCP content blocks, which go out as they are instead of `value`; `None` when there are none.
    """

    value: Any = None
    content: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class ResourceOutput:
    """What a resource holds: a string is `text/plain`, bytes a blob, anything else JSON; `mime_type` overrides."""

    uri: str
    value: Any
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class PromptOutput:
    """The messages of a prompt, as MCP's `PromptMessage`s."""

    messages: Sequence[Mapping[str, Any]]
    description: str | None = None


# Who is served ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """What one call's client can do, as far as a provider needs to know.

    Attributes:
        form: It can ask the person with a form, and this call can carry the question.
        url: It can send the person to a URL, likewise.
        sampling: It can sample, likewise.
        roots: It can list its roots, likewise.
        progress: The call carries a progress token.
        subscriptions: It can be told of changed resources.
    """

    form: bool = False
    url: bool = False
    sampling: bool = False
    roots: bool = False
    progress: bool = False
    subscriptions: bool = False


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """The list of tools is another."""


@dataclass(frozen=True, slots=True)
class ResourcesChanged:
    """The list of resources is another."""


@dataclass(frozen=True, slots=True)
class ResourceUpdated:
    """A resource that the client subscribed to has a new value."""

    uri: str


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """An entry was logged that belongs to no call; `name` is who logged it."""

    entry: Log
    name: str


Change: TypeAlias = ToolsChanged | ResourcesChanged | ResourceUpdated | Logged
"""What a client is told outside of its calls."""


@dataclass(eq=False, slots=True)
class Client:
    """One connected MCP client, from `initialize` to the end of its session. Compared by identity.

    Attributes:
        principal: Whose client it is: claims and results belong to a principal. `"local"` without a token.
        name: `clientInfo.name`, or `"mcp-client"`. For people; it proves nothing.
        version: `clientInfo.version`, or `""`.
        era: The era of MCP it speaks.
        on_change: How the endpoint passes a change on to this client. Returns at once, never raises.
        revision: The revision of MCP that it speaks; `""` where nobody says.
    """

    principal: str
    name: str
    version: str
    era: Era
    on_change: Callable[[Change], None] = field(repr=False)
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes one call, and what its client can do during it."""

    client: Client
    capabilities: ClientCapabilities


# Errors a provider raises to refuse a call before it is one --------------------------------------------------------


class UnknownTool(LookupError):
    """There is no such tool; the endpoint answers -32602."""


class UnknownResource(LookupError):
    """There is no such resource; the endpoint answers -32002 (legacy) or -32602 (modern) with `data.uri`."""


class UnknownPrompt(LookupError):
    """There is no such prompt; the endpoint answers -32602."""


# The provider -----------------------------------------------------------------------------------------------------


class Provider(Protocol):
    """What an endpoint serves. Every method but `ready` returns at once; what can wait is an `Invocation`.

    A provider that also has the methods of `TemplateProvider`, `PromptProvider` or `CompletionProvider` offers those;
    what it does not offer is not declared, and asking for it is -32601.
    """

    @property
    def info(self) -> ServerInfo:
        """Who the server says it is. Asked before `ready`, since `initialize` does not wait for that."""
        ...

    async def ready(self) -> None:
        """Return once the other methods can be called: a provider may load what it serves late.

        Awaited before anything else is called; once it has returned, not again. What it raises answers the requests
        that waited for it (-32603 with the message), and the next request calls it anew.
        """
        ...

    def attach(self, client: Client) -> None:
        """A client has connected; from now on its `on_change` is told of changes."""
        ...

    def detach(self, client: Client) -> None:
        """The client is gone: its subscriptions end. Unknown clients are ignored."""
        ...

    def tools(self, client: Client) -> Sequence[Tool]:
        """The tools of this client, in a stable order."""
        ...

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        """Start a call; its `Done` value is a `ToolOutput`.

        Raises:
            UnknownTool: No such tool.
        """
        ...

    def resources(self, client: Client) -> Sequence[Resource]:
        """The resources of this client, in a stable order."""
        ...

    def read_resource(self, uri: str, caller: Caller) -> Invocation:
        """Start a read; its `Done` value is a `ResourceOutput`.

        Raises:
            UnknownResource: No such resource.
        """
        ...

    def subscribe(self, uri: str, client: Client) -> Invocation:
        """Follow a resource: `ResourceUpdated` goes to the client's `on_change`. `Done` value: `None`.

        A second subscription of one client to one URI changes nothing.

        Raises:
            UnknownResource: No such resource.
        """
        ...

    def unsubscribe(self, uri: str, client: Client) -> Invocation:
        """Follow it no longer; unknown subscriptions are ignored. `Done` value: `None`."""
        ...


class TemplateProvider(Protocol):
    """A provider that offers resource templates, too."""

    def templates(self, client: Client) -> Sequence[ResourceTemplate]: ...


class PromptProvider(Protocol):
    """A provider that offers prompts, too."""

    def prompts(self, client: Client) -> Sequence[Prompt]: ...

    def get_prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Invocation:
        """Start a prompt; its `Done` value is a `PromptOutput`.

        Raises:
            UnknownPrompt: No such prompt.
        """
        ...


class CompletionProvider(Protocol):
    """A provider that completes arguments, too."""

    def complete(
        self, ref: Mapping[str, Any], name: str, value: str, context: Mapping[str, str], caller: Caller
    ) -> Invocation:
        """Start a completion; its `Done` value is a list of strings.

        Raises:
            UnknownPrompt: `ref` names nothing known.
        """
        ...
