"""A gateway made of plain frames: what it says is written out in the test, so nothing of ours decides it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from tesseron_py.app import Tesseron
from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.home import Home
from tesseron_py.host.session import Session
from tesseron_py.workers import Workers

WELCOME: dict[str, Any] = {
    "sessionId": "s_1",
    "protocolVersion": "1.2.0",
    "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
    "agent": {"id": "claude", "name": "Claude"},
}


class FakeGateway:
    """The gateway's end of a connection. Every wait ends after 5 s."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.channel = channel
        self.hello: dict[str, Any] = {}

    async def recv(self) -> dict[str, Any]:
        with anyio.fail_after(5):
            return dict(json.loads(await self.channel.receive()))

    async def send(self, **message: Any) -> None:
        await self.channel.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def send_text(self, text: str) -> None:
        await self.channel.send(text)

    async def welcome(self, **changes: Any) -> dict[str, Any]:
        self.hello = await self.recv()
        await self.send(id=self.hello["id"], result={**WELCOME, **changes})
        return self.hello

    async def invoke(
        self, name: str, input: Any = None, *, id: Any = "r-1", invocation: str = "i-1", **more: Any
    ) -> None:
        params = {"name": name, "input": input, "invocationId": invocation, **more}
        await self.send(id=id, method="actions/invoke", params=params)

    async def call(self, name: str, input: Any = None, **more: Any) -> dict[str, Any]:
        await self.invoke(name, input, **more)
        return await self.recv()

    async def cancel(self, invocation: str = "i-1") -> None:
        await self.send(method="actions/cancel", params={"invocationId": invocation})

    async def nothing_comes(self) -> None:
        await anyio.wait_all_tasks_blocked()
        assert not self.channel._inbound.items, list(self.channel._inbound.items)


@asynccontextmanager
async def connected(
    app: Tesseron, *, state: Any = None, workers: Workers | None = None, limit: int = 8 * 1024 * 1024
) -> AsyncIterator[FakeGateway]:
    """An app whose session runs, and the gateway that it said hello to."""
    async with Home() as home:
        here, there = pair(limit=limit)
        session = Session(app, there, home, state=state, workers=workers)
        home.start(session.run)
        gateway = FakeGateway(here)
        try:
            yield gateway
        finally:
            await here.aclose()


@asynccontextmanager
async def serving(
    app: Tesseron, *, state: Any = None, workers: Workers | None = None, **welcome: Any
) -> AsyncIterator[FakeGateway]:
    """The same, welcomed."""
    async with connected(app, state=state, workers=workers) as gateway:
        await gateway.welcome(**welcome)
        yield gateway
