"""A client at one `LegacySession`, without a carrier: it sends messages and reads what comes back.

Everything that the session sends is checked against the schema of the revision that is spoken.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_schemas
from anyio.abc import TaskGroup
from fixture_provider import FixtureProvider

from tesseron_py.home import Home
from tesseron_py.mcp.changes import change_text
from tesseron_py.mcp.envelope import Answer, Invalid, Notification, Request, parse
from tesseron_py.mcp.exchange import Gone
from tesseron_py.mcp.legacy import LegacySession
from tesseron_py.mcp.limits import EndpointLimits
from tesseron_py.mcp.provider import Change, Provider
from tesseron_py.mcp.readiness import Readiness
from tesseron_py.mcp.repeats import Repeats

EVERYTHING = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}


class DeskOutlet:
    def __init__(self, desk: Desk, *, can_stream: bool = True, room: int = 8_000_000) -> None:
        self.can_stream = can_stream
        self.frame = desk.frame
        self.room = room
        self.gone = False
        self.beats = 0
        self._desk = desk

    async def send(self, text: str) -> None:
        await anyio.lowlevel.checkpoint()
        if self.gone:
            raise Gone("The client hung up")
        self._desk.came(text)

    async def keep_alive(self) -> None:
        self.beats += 1


class Running:
    """A request that is being answered."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.response: dict[str, Any] | None = None

    async def result(self) -> Any:
        """Its result; fails when it has none."""
        await self.ended.wait()
        assert self.response is not None, "there is no response"
        assert "result" in self.response, self.response
        return self.response["result"]

    async def error(self) -> dict[str, Any]:
        await self.ended.wait()
        assert self.response is not None, "there is no response"
        error: dict[str, Any] = self.response["error"]
        return error


class Desk:
    def __init__(
        self, group: TaskGroup, provider: Provider, home: Home, limits: EndpointLimits, *, frame: int = 8_000_000
    ) -> None:
        self.provider = provider
        self.frame = frame
        self.outlet = DeskOutlet(self)
        self.changes: list[str] = []
        self.session = LegacySession(
            provider,
            principal="local",
            readiness=Readiness(provider, home),
            limits=limits,
            on_change=self._changed,
            repeats=Repeats(home),
        )
        self._group = group
        self._ids = 0
        self._came, self._inbox = anyio.create_memory_object_stream[dict[str, Any]](float("inf"))

    def came(self, text: str) -> None:
        message = json.loads(text)
        mcp_schemas.check(self.session.version, message)
        self._came.send_nowait(message)

    def _changed(self, change: Change) -> None:
        self.changes.append(change_text(change))

    async def next(self, method: str | None = None) -> dict[str, Any]:
        """The next message the session sends besides responses."""
        with anyio.fail_after(5):
            message = await self._inbox.receive()
        assert method is None or message.get("method") == method, message
        return message

    def quiet(self) -> bool:
        """Whether nothing has come that was not read."""
        return self._inbox.statistics().current_buffer_used == 0

    def start(self, method: str, params: Any = None, *, id: Any = None, outlet: DeskOutlet | None = None) -> Running:
        """Send a request; its response is waited for elsewhere."""
        if id is None:
            self._ids += 1
            id = self._ids
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        request = parse(json.dumps(message))
        assert isinstance(request, Request), request
        running = Running()
        exchange = self.session.open(request, outlet or self.outlet)

        async def run() -> None:
            try:
                if not exchange.over:
                    await exchange.run(self.session._readiness)
            finally:
                text = exchange.finish()
            if text is not None:
                running.response = json.loads(text)
                assert running.response is not None
                assert running.response["id"] == id
                mcp_schemas.check(self.session.version, running.response, method)
            running.ended.set()

        self._group.start_soon(run)
        return running

    async def request(self, method: str, params: Any = None, **options: Any) -> Any:
        """The result of a request."""
        with anyio.fail_after(5):
            return await self.start(method, params, **options).result()

    async def refused(self, method: str, params: Any = None, **options: Any) -> dict[str, Any]:
        """The error that a request is refused with."""
        with anyio.fail_after(5):
            return await self.start(method, params, **options).error()

    def calling(self, tool: str, arguments: Any = None, *, token: Any = None, **options: Any) -> Running:
        params: dict[str, Any] = {"name": tool}
        if arguments is not None:
            params["arguments"] = arguments
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.start("tools/call", params, **options)

    async def call(self, tool: str, arguments: Any = None, **options: Any) -> Any:
        """What a tool gives back: its text, as JSON where it is."""
        with anyio.fail_after(5):
            result = await self.calling(tool, arguments, **options).result()
        assert not result.get("isError"), result
        return value_of(result)

    def send(self, message: Any) -> None:
        """Send anything that is no request."""
        match parse(message if isinstance(message, str) else json.dumps(message)):
            case Notification() as notification:
                self.session.notified(notification)
            case Answer() as answer:
                self.session.answered(answer)
            case Invalid() as invalid:
                self.session.spoiled(invalid)
            case other:
                raise AssertionError(other)

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def answer(self, prompt: dict[str, Any], action: str = "accept", **content: Any) -> None:
        """Answer a prompt."""
        result: dict[str, Any] = {"action": action}
        if content:
            result["content"] = content
        self.send({"jsonrpc": "2.0", "id": prompt["id"], "result": result})

    async def initialize(self, version: str = "2025-11-25", capabilities: Any = None) -> Any:
        result = await self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": EVERYTHING if capabilities is None else capabilities,
                "clientInfo": {"name": "desk", "version": "1"},
            },
        )
        self.notify("notifications/initialized")
        return result


def value_of(result: dict[str, Any]) -> Any:
    """The text of a tool result, as JSON where it is."""
    text = result["content"][0]["text"]
    try:
        return json.loads(text)
    except ValueError:
        return text


@asynccontextmanager
async def desk(
    provider: Provider | None = None,
    *,
    version: str = "2025-11-25",
    capabilities: Any = None,
    initialize: bool = True,
    frame: int = 8_000_000,
    **limits: Any,
) -> AsyncIterator[Desk]:
    """A client at a session of its own, initialized."""
    provider = provider or FixtureProvider()
    async with Home() as home, anyio.create_task_group() as group:
        made = Desk(group, provider, home, EndpointLimits(**limits), frame=frame)
        if initialize:
            await made.initialize(version, capabilities)
        try:
            yield made
        finally:
            made.session.close("The test is over")
            if isinstance(provider, FixtureProvider):
                await provider.home.aclose()
            made._came.close()
            made._inbox.close()
            group.cancel_scope.cancel()
