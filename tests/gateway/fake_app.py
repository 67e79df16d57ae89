"""An app made of plain frames: what it says is written out in the test, so nothing of ours decides it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.gateway.apps import ConfirmForm
from tesseron_py.gateway.provider import AppProvider
from tesseron_py.invocation import Done, Failed, Invocation, Outcome, Question
from tesseron_py.limits import DEFAULT_LIMITS, Limits
from tesseron_py.mcp.provider import Caller, Change, Client, ClientCapabilities, ServerInfo

HELLO: dict[str, Any] = {
    "protocolVersion": "1.2.0",
    "app": {"id": "shop", "name": "The shop", "origin": "unknown"},
    "actions": [{"name": "clear", "description": "Empty the cart", "inputSchema": {"type": "object"}}],
    "resources": [{"name": "cart", "description": "The cart", "subscribable": True}],
    "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
}


class FakeApp:
    """The app's end of a connection. Every wait ends after 5 s."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.channel = channel

    async def recv(self) -> dict[str, Any]:
        with anyio.fail_after(5):
            return dict(json.loads(await self.channel.receive()))

    async def send(self, **message: Any) -> None:
        await self.channel.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def hello(self, **changes: Any) -> dict[str, Any]:
        await self.send(id=1, method="tesseron/hello", params={**HELLO, **changes})
        return await self.recv()

    async def ask(self, invocation: str, id: Any = "e-1", **params: Any) -> None:
        asked = {"question": "Sure?", "schema": {"type": "object", "properties": {}, "required": []}, **params}
        await self.send(id=id, method="elicitation/request", params={"invocationId": invocation, **asked})

    async def nothing_comes(self) -> None:
        await anyio.wait_all_tasks_blocked()
        assert not self.channel._inbound.items, list(self.channel._inbound.items)


class FakeClient:
    """An MCP client as the gateway sees one."""

    def __init__(self, gateway: AppProvider, name: str = "Claude") -> None:
        self.changes: list[Change] = []
        self.client = Client("local", name, "1", "legacy", self.changes.append)
        gateway.attach(self.client)

    def caller(self, **capabilities: bool) -> Caller:
        can = {"form": True, "url": True, "sampling": True, "progress": True, "subscriptions": True, **capabilities}
        return Caller(self.client, ClientCapabilities(**can))


@asynccontextmanager
async def gateway_of(
    *, limits: Limits = DEFAULT_LIMITS, confirm_form: ConfirmForm = "approve", bare_names: bool = False
) -> AsyncIterator[AppProvider]:
    gateway = AppProvider(
        ServerInfo("tesseron-py", "1"), limits=limits, confirm_form=confirm_form, bare_names=bare_names
    )
    await gateway.open()
    try:
        yield gateway
    finally:
        await gateway.aclose()


def connect(gateway: AppProvider, *, limit: int = 8 * 1024 * 1024) -> FakeApp:
    here, there = pair(limit=limit)
    gateway.connect(there)
    return FakeApp(here)


async def question(invocation: Invocation) -> Question:
    """The first question that opens."""
    with anyio.fail_after(5):
        view = invocation.view()
        while not view.open:
            assert view.outcome is None, view.outcome
            view = await invocation.changed(view.version)
        return view.open[0]


async def outcome(invocation: Invocation) -> Outcome:
    with anyio.fail_after(5):
        view = invocation.view()
        while view.outcome is None:
            view = await invocation.changed(view.version)
        return view.outcome


async def value(invocation: Invocation) -> Any:
    ended = await outcome(invocation)
    assert isinstance(ended, Done), ended
    return ended.value


async def error(invocation: Invocation) -> tuple[int, str, Any]:
    ended = await outcome(invocation)
    assert isinstance(ended, Failed), ended
    return ended.error.code, ended.error.message, ended.error.data
