"""Messages: JSON-RPC by itself, an app's end of a connection, and a gateway's. A line of the input is a message."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anyio

from tesseron_py import Context, Tesseron
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.gateway.provider import AppProvider
from tesseron_py.home import Home
from tesseron_py.host.session import HandshakeFailure, Session
from tesseron_py.invocation import Done, Failed
from tesseron_py.jsontext import decode, encode
from tesseron_py.mcp.provider import Caller, Client, ClientCapabilities, ServerInfo, UnknownTool
from tesseron_py.protocol.jsonrpc import Notification, Peer, Rejected, Request, Settled

from ...product.clocks import run_without_waiting
from . import event_loop

MOST = 24
"""Messages of one input that are played."""
PROBE = '{"jsonrpc":"2.0","id":"probe","method":"no/such"}'


def _messages(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line][:MOST]


def _json(text: str | bytes) -> Any:
    try:
        return decode(text)
    except ValueError:
        return None


def _is_request(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and "id" in message
        and type(message["id"]) in (str, int, type(None))
    )


# JSON-RPC ----------------------------------------------------------------------------------------------------------


def peer_target(data: bytes) -> None:
    """Every message is one of five things, and never an exception; an answer settles the call it names, once."""
    peer = Peer()
    calls = [peer.request("a"), peer.request("b", {})]
    for line in _messages(data):
        message, settled = _json(line), [call.settled for call in calls]
        event = peer.receive(line)
        now = [call.settled for call in calls]
        match event:
            case Request():
                assert _is_request(message)
                assert now == settled
                text = peer.answer(event, {"ok": message})
                assert text is not None
                answer = json.loads(text)
                assert (type(answer["id"]), answer["id"]) == (type(message["id"]), message["id"])
                assert peer.answer(event, 1) is None, "it is answered twice"
            case Notification():
                assert "id" not in message
                assert now == settled
            case Rejected():
                reply = json.loads(event.reply)
                assert reply["error"]["code"] in (-32700, -32600)
                assert (reply["error"]["code"] == -32700) == (message is None and line.strip(b" \t\r\n") != b"null")
                assert not _is_request(message)
            case Settled():
                assert event.call.settled
                assert type(message["id"]) is int
                assert message["id"] == event.call.id
                assert sum(now) == sum(settled) + 1
            case None:
                assert now == settled
        for before, after, call in zip(settled, now, calls, strict=True):
            assert after >= before
            assert after == before or (isinstance(message, dict) and message.get("id") == call.id)
    peer.close()
    assert all(call.settled for call in calls)


# An app ------------------------------------------------------------------------------------------------------------


def _app(effects: list[str]) -> Tesseron:
    app = Tesseron("shop", "Shop")

    @app.action("pay").handler
    async def pay(ctx: Context, amount: int = 1) -> str:
        """Pay."""
        if await ctx.confirm(f"Pay {amount}?"):
            effects.append("paid")
            return "paid"
        return "not paid"

    @app.action("name").handler
    async def name(ctx: Context) -> str | None:
        """Ask for a name."""
        said = await ctx.elicit("Who?", str)
        if said is not None:
            effects.append(f"named {said}")
        return said

    @app.action("echo").handler
    async def echo(value: Any = None) -> Any:
        """Say it again."""
        return value

    @app.resource("cart")
    async def cart() -> list[str]:
        """What is in it."""
        return ["apple"]

    return app


def app_target(data: bytes) -> None:
    """Whatever a gateway says, an app answers each request once, does nothing without a yes, and ends with its line."""
    run_without_waiting(_play_gateway, data, backend=event_loop())


async def _play_gateway(data: bytes) -> None:
    effects: list[str] = []
    lines = _messages(data)
    async with Home() as home:
        here, there = pair()
        ended = anyio.Event()
        session = Session(_app(effects), there, home)

        async def run() -> None:
            try:
                await session.run()
            except HandshakeFailure:
                pass  # what is said of a welcome that is none
            finally:
                ended.set()

        home.start(run)
        received = await _converse(here, lines)
        await here.aclose()
        with anyio.fail_after(60):
            await ended.wait()
    messages = [_json(line) for line in lines]
    _assert_answered(messages, received, waiting=set())
    welcomed = any(isinstance(message, dict) and message.get("id") == 1 for message in messages)
    yeses = sum(map(_is_accept, messages))
    assert len(effects) <= yeses, (effects, yeses)
    assert welcomed or not effects


def _is_accept(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(result := message.get("result"), dict)
        and (result.get("action") == "accept")
    )


async def _converse(channel: MemoryChannel, lines: list[bytes]) -> list[dict[str, Any]]:
    """Say each line, and hear what is said. At last the calls are cancelled, and it is asked whether it still hears."""
    received: list[dict[str, Any]] = []

    async def hear() -> None:
        try:
            while True:
                received.append(json.loads(await channel.receive()))
        except Closed:
            pass

    cancels = [
        encode({"jsonrpc": "2.0", "method": "actions/cancel", "params": {"invocationId": params.get("invocationId")}})
        for line in lines
        if isinstance(message := _json(line), dict) and isinstance(params := message.get("params"), dict)
    ]
    async with anyio.create_task_group() as group:
        group.start_soon(hear)
        for line in (*(line.decode("utf-8", "surrogateescape") for line in lines), *cancels, PROBE):
            try:
                await channel.send(line)
            except Closed:
                break
            await anyio.wait_all_tasks_blocked()
        await anyio.sleep(10)
        group.cancel_scope.cancel()
    return received


def _assert_answered(messages: list[Any], received: list[dict[str, Any]], *, waiting: set[str]) -> None:
    """No request is answered twice; and where the other end still hears, each is answered but those that may wait."""
    asked: Counter[str] = Counter()
    due: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, dict) and "method" in message and type(message.get("id")) in (str, int, type(None)):
            asked[encode(message.get("id"))] += 1  # a malformed one may be answered, too
            if _is_request(message) and message["id"] is not None and message["method"] not in waiting:
                due[encode(message["id"])] += 1
    asked[encode("probe")] += 1
    answers = Counter(
        encode(message["id"])
        for message in received
        if "method" not in message and not (message["id"] is None and "error" in message)
    )
    for id, count in answers.items():
        assert count <= asked[id], (id, messages, received)
    if answers[encode("probe")]:
        for id, count in due.items():
            assert answers[id] >= count, (id, messages, received)
    for message in received:
        assert message["jsonrpc"] == "2.0"
        assert "method" in message or ("result" in message) != ("error" in message)


# A gateway ---------------------------------------------------------------------------------------------------------


def gateway_target(data: bytes) -> None:
    """Whatever an app says, the gateway lists what a client can take, ends every call, and loses no other app."""
    run_without_waiting(_play_app, data, backend=event_loop())


_HELLO = encode(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tesseron/hello",
        "params": {
            "protocolVersion": "1.2.0",
            "app": {"id": "other", "name": "Other", "origin": "unknown"},
            "actions": [{"name": "go", "description": "Go", "inputSchema": {"type": "object"}}],
            "resources": [],
            "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
        },
    }
)


async def _play_app(data: bytes) -> None:
    lines = _messages(data)
    gateway = AppProvider(ServerInfo("fuzz", "1"))
    await gateway.open()
    changes: list[Any] = []
    client = Client("local", "Claude", "1", "legacy", changes.append)
    caller = Caller(client, ClientCapabilities(form=True, url=True, sampling=True, progress=True, subscriptions=True))
    try:
        gateway.attach(client)
        other, there = pair()
        gateway.connect(there)
        await other.send(_HELLO)
        with anyio.fail_after(60):
            await other.receive()

        here, there = pair()
        gateway.connect(there)
        calls: list[Any] = []
        received: list[dict[str, Any]] = []

        async def hear() -> None:
            try:
                while True:
                    received.append(json.loads(await here.receive()))
            except Closed:
                pass

        async with anyio.create_task_group() as group:
            group.start_soon(hear)
            for line in (*(line.decode("utf-8", "surrogateescape") for line in lines), PROBE):
                try:
                    await here.send(line)
                except Closed:
                    break
                await anyio.wait_all_tasks_blocked()
                for tool in gateway.tools(client):
                    encode(
                        {
                            "name": tool.name,
                            "description": tool.description,
                            "schema": tool.input_schema,
                            "meta": tool.meta,
                        }
                    )
                    if tool.name != "other__go" and len(calls) < 8:
                        calls.append(gateway.call_tool(tool.name, {"x": 1}, caller))
                for resource in gateway.resources(client):
                    encode(resource.uri)
            await anyio.wait_all_tasks_blocked()
            for call in calls:
                view = call.view()
                assert view.outcome is None or isinstance(view.outcome, Done | Failed)
                for question in view.open:
                    assert question.body is not None
            group.cancel_scope.cancel()
        await here.aclose()
        for call in calls:  # each ends with its app
            with anyio.fail_after(60):
                view = call.view()
                while view.outcome is None:
                    view = await call.changed(view.version)
        waiting = {"elicitation/request", "sampling/request"}  # for the person, or the model
        _assert_answered([_json(line) for line in lines], received, waiting=waiting)

        assert "other__go" in [tool.name for tool in gateway.tools(client)], "another app is gone"
        call = gateway.call_tool("other__go", {}, caller)
        with anyio.fail_after(60):
            request = json.loads(await other.receive())
            assert request["method"] == "actions/invoke", request
            result = {"invocationId": request["params"]["invocationId"], "output": 1}
            await other.send(encode({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            view = call.view()
            while view.outcome is None:
                view = await call.changed(view.version)
        assert isinstance(view.outcome, Done)
        try:
            gateway.call_tool("shop__nothing\x1b", {}, caller)
        except UnknownTool:
            pass
    finally:
        await gateway.aclose()
