"""A client of the modern era at one `ModernServer`, without a carrier: it sends requests and reads what comes of each.

Everything that the server sends is checked against the schema of 2026-07-28.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_schemas
from anyio.abc import TaskGroup
from desk import EVERYTHING
from fixture_provider import FixtureProvider

from tesseron_py.home import Home
from tesseron_py.mcp.envelope import Request, parse
from tesseron_py.mcp.exchange import Gone
from tesseron_py.mcp.limits import EndpointLimits
from tesseron_py.mcp.modern import ModernServer
from tesseron_py.mcp.provider import Provider
from tesseron_py.mcp.readiness import Readiness
from tesseron_py.mcp.repeats import Repeats

VERSION = "2026-07-28"
_MCP = "io.modelcontextprotocol/"
ACCEPT = {"action": "accept", "content": {"approve": True}}
"""What a person answers who approves."""


def with_meta(
    params: Any = None,
    *,
    version: Any = VERSION,
    capabilities: Any = EVERYTHING,
    token: Any = None,
    level: Any = None,
    **meta: Any,
) -> dict[str, Any]:
    """The params of a request with the `_meta` of its era."""
    whole: dict[str, Any] = {
        _MCP + "protocolVersion": version,
        _MCP + "clientCapabilities": capabilities,
        _MCP + "clientInfo": {"name": "modern", "version": "1"},
        _MCP + "logLevel": level,
        "progressToken": token,
    } | meta
    return {**(params or {}), "_meta": {name: value for name, value in whole.items() if value is not None}}


class Asked:
    """A result that asks: what a client needs to come back."""

    def __init__(self, method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        assert result["resultType"] == "input_required", result
        self.method = method
        self.params = {name: value for name, value in params.items() if name != "_meta"}
        self.requests: dict[str, Any] = result["inputRequests"]
        self.state: str = result["requestState"]

    @property
    def keys(self) -> list[str]:
        return list(self.requests)

    @property
    def key(self) -> str:
        """Of the one question."""
        [key] = self.requests
        return key

    def next(self, responses: Any = None, *, state: Any = ..., **changed: Any) -> dict[str, Any]:
        """The params of the next leg."""
        state = self.state if state is ... else state
        answers = {"inputResponses": responses, "requestState": state}
        return {**self.params, **changed, **{name: value for name, value in answers.items() if value is not None}}

    def accepting(self, **content: Any) -> dict[str, Any]:
        """The params of the next leg, with the same answer to every question."""
        return self.next({key: {"action": "accept", "content": content or {"approve": True}} for key in self.requests})


class LegOutlet:
    def __init__(self, leg: Sent, *, can_stream: bool = True, frame: int = 8_000_000, room: int = 8_000_000) -> None:
        self.can_stream = can_stream
        self.frame = frame
        self.room = room
        self.gone = False
        self.beats = 0
        self.beaten = anyio.Event()
        self._leg = leg

    async def send(self, text: str) -> None:
        await anyio.lowlevel.checkpoint()
        if self.gone:
            raise Gone("The client hung up")
        message = json.loads(text)
        mcp_schemas.check(VERSION, message)
        self._leg.came(message)

    async def keep_alive(self) -> None:
        self.beats += 1
        self.beaten.set()


class Sent:
    """A request, and what comes of it."""

    def __init__(self, method: str, params: Mapping[str, Any], **outlet: Any) -> None:
        self.outlet = LegOutlet(self, **outlet)
        self.method = method
        self.params = params
        self.ended = anyio.Event()
        self.frames: list[dict[str, Any]] = []
        self.response: dict[str, Any] | None = None
        self.status = 0
        self.conversation: Any = None
        self._read = 0
        self._more = anyio.Event()

    def came(self, message: dict[str, Any]) -> None:
        self.frames.append(message)
        self._more.set()
        self._more = anyio.Event()

    async def next(self, method: str | None = None) -> dict[str, Any]:
        """The next message before the response."""
        with anyio.fail_after(5):
            while self._read == len(self.frames):
                await self._more.wait()
        message = self.frames[self._read]
        self._read += 1
        assert method is None or message["method"] == method, message
        return message

    def close(self) -> None:
        """Close its response."""
        self.outlet.gone = True
        self.conversation.cancel("The client hung up")

    async def end(self) -> dict[str, Any] | None:
        with anyio.fail_after(5):
            await self.ended.wait()
        return self.response

    async def result(self) -> dict[str, Any]:
        response = await self.end()
        assert response is not None, "there is no response"
        assert "result" in response, response
        result: dict[str, Any] = response["result"]
        return result

    async def error(self) -> dict[str, Any]:
        response = await self.end()
        assert response is not None, "there is no response"
        assert "error" in response, response
        assert response["error"]["message"]
        error: dict[str, Any] = response["error"]
        return error

    async def asked(self) -> Asked:
        return Asked(self.method, self.params, await self.result())

    async def value(self) -> Any:
        """What a tool gives back: its text, as JSON where it is."""
        result = await self.result()
        assert result["resultType"] == "complete", result
        assert not result.get("isError"), result
        text = result["content"][0]["text"]
        try:
            return json.loads(text)
        except ValueError:
            return text

    async def failure(self) -> str:
        """The text of a tool that failed."""
        result = await self.result()
        assert result["isError"], result
        return str(result["content"][0]["text"])


class ModernDesk:
    def __init__(
        self,
        group: TaskGroup,
        provider: Provider,
        home: Home,
        limits: EndpointLimits,
        *,
        principal: str = "local",
        state_keys: Sequence[str] = (),
    ) -> None:
        self.provider = provider
        self.home = home
        self.limits = limits
        self.readiness = Readiness(provider, home)
        self.modern = ModernServer(
            provider,
            principal=principal,
            readiness=self.readiness,
            limits=limits,
            home=home,
            repeats=Repeats(home),
            state_keys=state_keys,
        )
        self._group = group
        self._ids = 0

    def another(self, **options: Any) -> ModernDesk:
        """Another server for the same provider."""
        return ModernDesk(self._group, self.provider, self.home, self.limits, **options)

    def send(
        self,
        method: str,
        params: Any = None,
        *,
        id: Any = None,
        headers: Any = None,
        outlet: Mapping[str, Any] | None = None,
        bare: bool = False,
        **meta: Any,
    ) -> Sent:
        """Send a request; its response is waited for elsewhere. `bare` leaves its params as they are."""
        if id is None:
            self._ids += 1
            id = self._ids
        params = params if bare else with_meta(params, **meta)
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        request = parse(json.dumps(message))
        assert isinstance(request, Request), request
        sent = Sent(method, params if isinstance(params, dict) else {}, **(outlet or {}))
        conversation = sent.conversation = self.modern.open(request, sent.outlet, headers)

        async def run() -> None:
            try:
                await conversation.settle()
                if not conversation.over:
                    await conversation.run(self.readiness)
            finally:
                text = conversation.finish()
                assert conversation.finish() == text
            if text is not None:
                sent.response = json.loads(text)
                assert sent.response is not None
                assert sent.response["id"] == id
                mcp_schemas.check(VERSION, sent.response, method)
            sent.status = conversation.status
            sent.ended.set()

        self._group.start_soon(run)
        return sent

    def calling(self, tool: str, arguments: Any = None, **options: Any) -> Sent:
        return self.send("tools/call", {"name": tool, "arguments": arguments or {}}, **options)

    async def call(self, tool: str, arguments: Any = None, **options: Any) -> Any:
        return await self.calling(tool, arguments, **options).value()

    async def ask(self, tool: str, arguments: Any = None, **options: Any) -> Asked:
        """Call a tool that asks."""
        return await self.calling(tool, arguments, **options).asked()

    def again(self, asked: Asked, responses: Any = None, *, state: Any = ..., **options: Any) -> Sent:
        """The next leg of a call."""
        return self.send(asked.method, asked.next(responses, state=state), **options)

    def answer(self, asked: Asked, action: str = "accept", **content: Any) -> Sent:
        """The next leg of a call, with one answer to every question."""
        response = {"action": action, **({"content": content} if content else {})}
        return self.again(asked, dict.fromkeys(asked.requests, response))

    async def refused(self, method: str, params: Any = None, **options: Any) -> tuple[int, dict[str, Any]]:
        """Status and error of a request that is refused."""
        sent = self.send(method, params, **options)
        error = await sent.error()
        return sent.status, error


@asynccontextmanager
async def modern_desk(
    provider: Any = None, *, principal: str = "local", state_keys: Sequence[str] = (), **limits: Any
) -> AsyncIterator[ModernDesk]:
    """A client at a server of its own."""
    provider = provider or FixtureProvider()
    async with Home() as home, anyio.create_task_group() as group:
        made = ModernDesk(group, provider, home, EndpointLimits(**limits), principal=principal, state_keys=state_keys)
        try:
            yield made
        finally:
            made.modern.close("The test is over")
            if isinstance(provider, FixtureProvider):
                await provider.home.aclose()
            group.cancel_scope.cancel()
