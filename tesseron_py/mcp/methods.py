"""The requests that a provider answers, for a session of either era: tools, resources, prompts, completions.

Each function begins with one request: it checks the params, asks the provider, and gives the result or what to wait
for. What belongs to a session alone (`initialize`, subscriptions, the log level) is the session's.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Protocol, TypeAlias, cast

from ..errors import TesseronError
from ..invocation import Failed, Invocation, Outcome
from .exchange import Exchange, Pending
from .listing import Structure, only_page, prompt_list, resource_list, template_list, tool_list
from .messages import (
    CALL_TOOL,
    COMPLETE,
    GET_PROMPT,
    INVALID_PARAMS,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_TEMPLATES,
    LIST_TOOLS,
    READ_RESOURCE,
    ProtocolError,
)
from .provider import (
    Client,
    CompletionProvider,
    PromptProvider,
    Provider,
    TemplateProvider,
    UnknownPrompt,
    UnknownResource,
    UnknownTool,
)
from .repeats import IDEMPOTENCY_KEY, Repeats
from .results import completion_result, prompt_result, resource_result, tool_result, unknown_resource


class Serving(Protocol):
    """What a method needs to know of the session it is asked in."""

    @property
    def provider(self) -> Provider: ...

    @property
    def not_found(self) -> int:
        """The code for a resource that is not there; the eras differ."""
        ...

    @property
    def repeats(self) -> Repeats:
        """The calls that can be repeated without doing anything twice."""
        ...

    def structure(self, name: str, client: Client) -> Structure:
        """What the client insists on as this tool's `structuredContent`."""
        ...


Begun: TypeAlias = Mapping[str, Any] | Pending


def list_tools(session: Serving, exchange: Exchange) -> Begun:
    only_page(exchange.params)
    return {"tools": tool_list(session.provider.tools(exchange.caller.client), exchange.version)}


def call_tool(session: Serving, exchange: Exchange) -> Begun:
    name = text_param(exchange, "name")
    arguments = exchange.params.get("arguments")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise ProtocolError(INVALID_PARAMS, f'The "arguments" of {name} are no object')
    caller = exchange.caller
    conclude = _concluding_tool(session.structure(name, caller.client), exchange.version)
    key = _idempotency_key(exchange.params)
    provider = session.provider
    try:
        if key is None:
            return Pending(provider.call_tool(name, arguments, caller), conclude)

        def start() -> Invocation:
            return provider.call_tool(name, arguments, caller)

        return Pending(session.repeats.join(caller, name, arguments, key, start), conclude)
    except UnknownTool as error:
        raise ProtocolError(INVALID_PARAMS, _reason(error) or f"Unknown tool: {name}") from error
    except TesseronError as error:
        return exchange.not_begun(error, conclude)


@lru_cache(maxsize=64)
def _concluding_tool(structure: Structure, version: str) -> Callable[[Outcome], Mapping[str, Any]]:
    """How a tool's result is made. A call may be kept for long after its request, which is not to be kept with it."""
    return partial(tool_result, structure=structure, version=version)


def _idempotency_key(params: Mapping[str, Any]) -> str | None:
    meta = params.get("_meta")
    key = meta.get(IDEMPOTENCY_KEY) if isinstance(meta, dict) else None
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= 256:
        raise ProtocolError(INVALID_PARAMS, f'"{IDEMPOTENCY_KEY}" is a string of at most 256 characters')
    return key


def list_resources(session: Serving, exchange: Exchange) -> Begun:
    only_page(exchange.params)
    return {"resources": resource_list(session.provider.resources(exchange.caller.client))}


def read_resource(session: Serving, exchange: Exchange) -> Begun:
    uri, not_found = text_param(exchange, "uri"), session.not_found
    return of_resource(
        uri,
        not_found,
        lambda: session.provider.read_resource(uri, exchange.caller),
        lambda outcome: resource_result(outcome, uri, unknown=not_found),
    )


def list_templates(session: Serving, exchange: Exchange) -> Begun:
    only_page(exchange.params)
    provider = cast(TemplateProvider, session.provider)
    return {"resourceTemplates": template_list(provider.templates(exchange.caller.client))}


def list_prompts(session: Serving, exchange: Exchange) -> Begun:
    only_page(exchange.params)
    provider = cast(PromptProvider, session.provider)
    return {"prompts": prompt_list(provider.prompts(exchange.caller.client))}


def get_prompt(session: Serving, exchange: Exchange) -> Begun:
    name = text_param(exchange, "name")
    arguments = _strings(exchange.params.get("arguments"), f'The "arguments" of {name}')
    provider = cast(PromptProvider, session.provider)
    return _of_prompt(name, lambda: provider.get_prompt(name, arguments, exchange.caller), prompt_result)


def complete(session: Serving, exchange: Exchange) -> Begun:
    ref, argument = exchange.params.get("ref"), exchange.params.get("argument")
    if not isinstance(ref, Mapping) or not isinstance(argument, Mapping):
        raise ProtocolError(INVALID_PARAMS, 'completion/complete needs objects "ref" and "argument"')
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, '"argument" needs strings "name" and "value"')
    context = exchange.params.get("context")
    known = _strings(context.get("arguments") if isinstance(context, Mapping) else None, 'The "context.arguments"')
    provider = cast(CompletionProvider, session.provider)
    what = str(ref.get("name") or ref.get("uri"))
    return _of_prompt(what, lambda: provider.complete(ref, name, value, known, exchange.caller), completion_result)


Method: TypeAlias = Callable[[Serving, Exchange], Begun]

_BASIC: Final[Mapping[str, Method]] = {
    LIST_TOOLS: list_tools,
    CALL_TOOL: call_tool,
    LIST_RESOURCES: list_resources,
    READ_RESOURCE: read_resource,
}
_OPTIONAL: Final[Mapping[str, Mapping[str, Method]]] = {
    "templates": {LIST_TEMPLATES: list_templates},
    "prompts": {LIST_PROMPTS: list_prompts, GET_PROMPT: get_prompt},
    "complete": {COMPLETE: complete},
}


def offered(provider: Provider) -> dict[str, Method]:
    """The methods that `provider` answers: the optional ones where it has the member of that name."""
    methods = dict(_BASIC)
    for member, of_it in _OPTIONAL.items():
        if hasattr(provider, member):
            methods |= of_it
    return methods


def capabilities(offered: Container[str]) -> dict[str, Any]:
    """The server's `capabilities`, given the methods that its provider answers."""
    declared: dict[str, Any] = {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "logging": {},
    }
    if LIST_PROMPTS in offered:
        declared["prompts"] = {}
    if COMPLETE in offered:
        declared["completions"] = {}
    return declared


def text_param(exchange: Exchange, name: str) -> str:
    """A param that must be a string.

    Raises:
        ProtocolError: It is none; -32602.
    """
    value = exchange.params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f'{exchange.request.method} needs a string "{name}"')
    return value


def of_resource(
    uri: str, not_found: int, start: Callable[[], Invocation], conclude: Callable[[Outcome], Mapping[str, Any]]
) -> Begun:
    """Begin what concerns one resource; a provider that refuses it is heard at once."""
    try:
        return Pending(start(), conclude)
    except UnknownResource as error:
        raise unknown_resource(uri, _reason(error), code=not_found) from error
    except TesseronError as error:
        return conclude(Failed(error))


def _of_prompt(name: str, start: Callable[[], Invocation], conclude: Callable[[Outcome], Mapping[str, Any]]) -> Begun:
    try:
        return Pending(start(), conclude)
    except UnknownPrompt as error:
        raise ProtocolError(INVALID_PARAMS, _reason(error) or f"Unknown prompt: {name}") from error
    except TesseronError as error:
        return conclude(Failed(error))


def _reason(error: LookupError) -> str:
    return str(error.args[0]) if error.args else ""


def _strings(value: Any, what: str) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(entry, str) for entry in value.values()):
        raise ProtocolError(INVALID_PARAMS, f"{what} are no object of strings")
    return value
