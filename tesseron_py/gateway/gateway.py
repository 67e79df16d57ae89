"""The gateway: a register of connected apps, served to MCP clients as tools and resources.

It is a `Provider` for the MCP endpoint. Names are resolved by table, never by splitting; a call goes to the newest live
session of its app.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote, unquote

from ..bindings.channel import Channel
from ..home import Home
from ..invocation import Invocation
from ..limits import DEFAULT_LIMITS, Limits
from ..mcp.provider import (
    Caller,
    Change,
    Client,
    Resource,
    ResourcesChanged,
    ServerInfo,
    Tool,
    ToolsChanged,
    UnknownResource,
    UnknownTool,
)
from ..protocol.messages import ACTION_NAME, MAX_TOOL_NAME
from .apps import ConfirmForm, ConnectedApp
from .entries import ActionEntry

logger = logging.getLogger("tesseron_py.gateway")


class Gateway:
    """Stands between apps and MCP clients.

    Args:
        info: Who the MCP server says it is.
        limits: The numbers.
        confirm_form: How a confirm is put to the person; see `ConnectedApp`.
        bare_names: Tools have the actions' own names, for a server of one app.

    Example:
        ```python
        gateway = Gateway(ServerInfo("tesseron-py", "0.1.0"))
        await gateway.open()
        gateway.connect(channel)
        ```
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
        self._clients: set[Client] = set()
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
        await self.home.open()

    async def aclose(self) -> None:
        """Close every connection and end every task."""
        for app in list(self._apps):
            app.close()
        await self.home.aclose(grace=self._limits.closing)

    def connect(self, channel: Channel) -> ConnectedApp:
        """Serve an app over `channel`, from its hello to its end."""
        app = ConnectedApp(channel, self.home, self, limits=self._limits, confirm_form=self._confirm_form)
        self.home.start(app.run, name="connection to an app")
        return app

    # What apps report

    def joined(self, app: ConnectedApp) -> None:
        self._apps.append(app)
        self._tell(ToolsChanged())
        self._tell(ResourcesChanged())

    def changed(self, app: ConnectedApp, what: Literal["actions", "resources"]) -> None:
        self._tell(ToolsChanged() if what == "actions" else ResourcesChanged())

    def left(self, app: ConnectedApp) -> None:
        if app in self._apps:
            self._apps.remove(app)
            self._tell(ToolsChanged())
            self._tell(ResourcesChanged())

    def _tell(self, change: Change) -> None:
        for client in self._clients:
            client.on_change(change)

    # The provider

    def attach(self, client: Client) -> None:
        self._clients.add(client)

    def detach(self, client: Client) -> None:
        self._clients.discard(client)
        for app in self._apps:
            app.unsubscribe_all(client)

    def _newest(self) -> dict[str, ConnectedApp]:
        """The session that gets an app's calls, by app id: the newest live one."""
        return {app.info.id: app for app in self._apps if app.info is not None and app.is_live}

    def _tool_name(self, app_id: str, action: str) -> str:
        return action if self._bare_names else f"{app_id}__{action}"

    def tools(self, client: Client) -> Sequence[Tool]:
        return [
            _tool(name, entry)
            for id, app in self._newest().items()
            for entry in app.actions.values()
            if len(name := self._tool_name(id, entry.name)) <= MAX_TOOL_NAME and ACTION_NAME.fullmatch(name)
        ]

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        for id, app in self._newest().items():
            for action in app.actions:
                if self._tool_name(id, action) == name:
                    return app.invoke(action, arguments, caller)
        raise UnknownTool(f"There is no tool {name!r}")

    def resources(self, client: Client) -> Sequence[Resource]:
        return [
            Resource(resource_uri(id, entry.name), entry.name, entry.description)
            for id, app in self._newest().items()
            for entry in app.resources.values()
        ]

    def read_resource(self, uri: str, caller: Caller) -> Invocation:
        app, name = self._resource(uri)
        return app.read(name, uri)

    def subscribe(self, uri: str, client: Client) -> Invocation:
        app, name = self._resource(uri)
        return app.subscribe(name, uri, client)

    def unsubscribe(self, uri: str, client: Client) -> Invocation:
        app, _ = self._resource(uri)
        return app.unsubscribe(uri, client)

    def _resource(self, uri: str) -> tuple[ConnectedApp, str]:
        scheme, _, rest = uri.partition("://")
        id, slash, quoted = rest.partition("/")
        app = self._newest().get(id)
        # Names are compared decoded: a client may encode more or less than we do.
        name = unquote(quoted)
        if scheme != "tesseron" or not slash or app is None or name not in app.resources:
            raise UnknownResource(f"There is no resource {uri!r}")
        return app, name


def resource_uri(app_id: str, name: str) -> str:
    """The URI an agent reads a resource under (Tesseron 1.2 §1), its name percent-encoded."""
    return f"tesseron://{app_id}/{quote(name, safe='')}"


def _tool(name: str, entry: ActionEntry) -> Tool:
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
