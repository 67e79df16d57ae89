"""Connected apps, served to MCP clients as tools and resources.

`AppProvider` is the part that a gateway and a direct server share: a register of apps and the `Provider` face of it.
Names are resolved by table, never by splitting; a call goes to the newest live session of its app.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

from ..bindings.channel import Channel
from ..errors import ElicitationNotAvailable
from ..home import Home
from ..invocation import Done, Failed, Invocation, Log
from ..limits import DEFAULT_LIMITS, Limits
from ..mcp.provider import (
    Caller,
    Change,
    Client,
    Logged,
    Resource,
    ResourcesChanged,
    ServerInfo,
    Tool,
    ToolsChanged,
    UnknownResource,
    UnknownTool,
)
from ..protocol.messages import ACTION_NAME, MAX_TOOL_NAME
from .greeting import Greeting, Welcome

if TYPE_CHECKING:
    from .apps import ConfirmForm, ConnectedApp
    from .entries import ActionEntry

logger = logging.getLogger("tesseron_py.gateway")


class AppProvider:
    """A register of connected apps, and what MCP clients see of them.

    As it is, every app belongs to every client; a `Gateway` asks for a claim first.

    Args:
        info: Who the MCP server says it is.
        limits: The numbers.
        confirm_form: How a confirm is put to the person; see `ConnectedApp`.
        bare_names: Tools have the actions' own names, for a server of one app.
    """

    def __init__(
        self,
        info: ServerInfo,
        *,
        limits: Limits = DEFAULT_LIMITS,
        confirm_form: ConfirmForm = "approve",
        bare_names: bool = False,
    ) -> None:
        self._info = info
        self._limits = limits
        self._confirm_form: ConfirmForm = confirm_form
        self._bare_names = bare_names
        self._apps: list[ConnectedApp] = []
        self._clients: dict[Client, None] = {}
        self._followed: dict[tuple[Client, str], None] = {}
        self.home: Home = Home("tesseron-py gateway")

    @property
    def info(self) -> ServerInfo:
        return self._info

    @property
    def apps(self) -> Sequence[ConnectedApp]:
        """The live apps, oldest first."""
        return tuple(self._apps)

    async def open(self) -> None:
        """Open its home in the running event loop."""
        await self.home.open()

    async def ready(self) -> None:
        """Be able to serve; see `Provider.ready`."""
        await self.open()

    async def aclose(self, *, grace: float | None = None) -> None:
        """Close every connection and end every task."""
        for app in list(self._apps):
            app.close()
        await self.home.aclose(grace=self._limits.closing if grace is None else grace)

    def connect(self, channel: Channel) -> ConnectedApp:
        """Serve an app over `channel`, from its hello to its end."""
        from .apps import ConnectedApp  # here, so that no client's first reply waits for what it needs

        app = ConnectedApp(channel, self.home, self, limits=self._limits, confirm_form=self._confirm_form)
        self.home.start(app.run, name="connection to an app")
        return app

    # What apps report

    def welcome(self, app: ConnectedApp, greeting: Greeting) -> Welcome:
        return Welcome(f"s_{secrets.token_urlsafe(18)}", principal=EVERYBODY)

    def joined(self, app: ConnectedApp) -> None:
        self._apps.append(app)
        self.tell_changed()

    def changed(self, app: ConnectedApp, what: Literal["actions", "resources"]) -> None:
        """An app's list has changed: whoever sees it is told."""
        if what == "resources":
            self.follow_again(app)
        for client in self._clients_of(app):
            client.on_change(ToolsChanged() if what == "actions" else ResourcesChanged())

    def logged(self, app: ConnectedApp, entry: Log) -> None:
        """An app logged something outside of any call: its owner's clients hear of it; of an unclaimed one nobody."""
        if app.info is None:
            return
        for client in self._clients_of(app):
            client.on_change(Logged(entry, app.info.id))

    def _clients_of(self, app: ConnectedApp) -> Sequence[Client]:
        return [client for client in self._clients if app.principal in (EVERYBODY, client.principal)]

    def left(self, app: ConnectedApp) -> None:
        if app in self._apps:
            self._apps.remove(app)
            self.tell_changed()

    def tell_changed(self) -> None:
        """Tell every client that both its lists are others."""
        self._tell(ToolsChanged())
        self._tell(ResourcesChanged())

    def _tell(self, change: Change) -> None:
        for client in list(self._clients):
            client.on_change(change)

    # The provider

    def attach(self, client: Client) -> None:
        self._clients[client] = None

    def detach(self, client: Client) -> None:
        self._clients.pop(client, None)
        for key in [key for key in self._followed if key[0] is client]:
            del self._followed[key]
        for app in self._apps:
            app.unsubscribe_all(client)

    def apps_of(self, client: Client) -> dict[str, ConnectedApp]:
        """The session that gets an app's calls, by app id: the newest live one that is this client's."""
        return {
            app.info.id: app
            for app in self._apps
            if app.info is not None and app.is_live and app.principal in (EVERYBODY, client.principal)
        }

    def _action_name(self, app_id: str, tool: str) -> str:
        """The action of the app that the tool is, if it is one of its."""
        return tool if self._bare_names else tool.removeprefix(f"{app_id}__")

    def _tool_name(self, app_id: str, action: str) -> str:
        return action if self._bare_names else f"{app_id}__{action}"

    def tools(self, client: Client) -> Sequence[Tool]:
        return [
            tool_of(name, entry)
            for id, app in self.apps_of(client).items()
            for entry in app.actions.values()
            if len(name := self._tool_name(id, entry.name)) <= MAX_TOOL_NAME and ACTION_NAME.fullmatch(name)
        ]

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        for id, app in self.apps_of(caller.client).items():
            action = self._action_name(id, name)
            if action in app.actions and self._tool_name(id, action) == name:
                asks = caller.capabilities.form or caller.capabilities.url
                if app.actions[action].requires_elicitation and not asks:
                    # The app would say the same; said here, it is certain that nothing was begun.
                    raise ElicitationNotAvailable(
                        f"The action {action!r} needs to ask the person, and this agent's client cannot"
                    )
                return app.invoke(action, arguments, caller)
        raise UnknownTool(f"There is no tool {name!r}{self._meant_tool(name, caller.client)}")

    def _meant_tool(self, wrong: str, client: Client) -> str:
        from .meant import meant  # only where something is wrong

        known: dict[str, list[str]] = {}
        for tool in self.tools(client):
            id, name = self._parts(tool.name)
            known.setdefault(id, []).append(name)
        within, wanted = self._parts(wrong)
        found = meant(wanted, known, within=within)
        return "" if found is None else _did_you_mean("__".join(filter(None, found)))

    def _parts(self, tool: str) -> tuple[str, str]:
        """What stands before a tool's name, which is more or less its app's id, and the rest."""
        id, _, name = ("", "", tool) if self._bare_names else tool.rpartition("__")
        return id, name

    def resources(self, client: Client) -> Sequence[Resource]:
        return [
            Resource(resource_uri(id, entry.name), entry.name, entry.description)
            for id, app in self.apps_of(client).items()
            for entry in app.resources.values()
        ]

    def read_resource(self, uri: str, caller: Caller) -> Invocation:
        app, name = self._resource(uri, caller.client)
        return app.read(name, uri)

    def subscribe(self, uri: str, client: Client) -> Invocation:
        app, name = self._resource(uri, client)
        new = (client, uri) not in self._followed
        self._followed[client, uri] = None
        invocation = app.subscribe(name, uri, client)
        if new:  # then a client that was refused follows nothing
            invocation.then(
                lambda outcome: self._followed.pop((client, uri), None) if isinstance(outcome, Failed) else None
            )
        return invocation

    def unsubscribe(self, uri: str, client: Client) -> Invocation:
        """Follow it no longer; what is followed may be gone by now, with its resource or its app."""
        ends = [app.unsubscribe(uri, client) for app in self._apps if app.follows(uri, client)]
        if (client, uri) not in self._followed and not ends:
            self._resource(uri, client)
        self._followed.pop((client, uri), None)
        if ends:
            return ends[-1]
        nothing = Invocation(self.home)
        nothing.finish(Done(None))
        return nothing

    def follow_again(self, app: ConnectedApp) -> None:
        """Follow what clients still follow: a new session has none of the subscriptions of the one before, nor has a
        resource that was removed and came back.
        """
        for client, uri in list(self._followed):
            try:
                found, name = self._resource(uri, client)
            except UnknownResource:
                continue
            if found is app:
                app.subscribe(name, uri, client)

    def _resource(self, uri: str, client: Client) -> tuple[ConnectedApp, str]:
        scheme, _, rest = uri.partition("://")
        id, slash, quoted = rest.partition("/")
        app = self.apps_of(client).get(id)
        # Names are compared decoded: a client may encode more or less than we do.
        name = unquote(quoted)
        if scheme != "tesseron" or not slash or app is None or name not in app.resources:
            within, wanted = (id, name) if scheme == "tesseron" and slash else ("", uri)
            raise UnknownResource(f"There is no resource {uri!r}{self._meant_resource(wanted, within, client)}")
        return app, name

    def _meant_resource(self, wanted: str, within: str, client: Client) -> str:
        from .meant import meant  # only where something is wrong

        known = {id: [*app.resources] for id, app in self.apps_of(client).items()}
        own = f"tesseron://{within}/"  # the URI of a name, taken for a name
        found = meant(unquote(wanted.removeprefix(own)), known, within=within)
        return "" if found is None else _did_you_mean(resource_uri(*found))


def _did_you_mean(name: str) -> str:
    return f"; did you mean {name!r}?"


EVERYBODY = "*"
"""The principal of an app that needs no claim."""


def resource_uri(app_id: str, name: str) -> str:
    """The URI an agent reads a resource under (Tesseron 1.2 §1), its name percent-encoded."""
    return f"tesseron://{app_id}/{quote(name, safe='')}"


def tool_of(name: str, entry: ActionEntry) -> Tool:
    """An action as a tool called `name`."""
    description = entry.description
    meta = None
    if entry.requires_confirmation:
        description += "\n\nThe person is asked to confirm it before it is done."
        meta = {"tesseron/requiresConfirmation": True}
    return Tool(
        name=name,
        description=description,
        input_schema=entry.input_schema,
        output_schema=entry.output_schema if entry.strict_output else None,
        read_only=entry.read_only,
        destructive=entry.destructive,
        meta=meta,
    )
