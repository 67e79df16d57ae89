"""What other ends were seen to do, and what a gateway of ours makes of it (Tesseron 1.2 §10)."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tesseron_py import Context, Tesseron
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.invocation import Accept, Cancel, Decline, Malformed, Reply
from tesseron_py.limits import Limits
from tesseron_py.mcp.provider import ServerInfo, ToolOutput

from .fake_app import FakeClient, connect, gateway_of, outcome, question, value

IDS: list[Any] = ["007", " 7 ", "7", 7, 0, -1, "", None, "null", 9007199254740993, "☃"]


async def test_field_56_ids_of_every_type_are_different_ids_and_come_back_as_they_are() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        for id in IDS:
            await app.ask(call["params"]["invocationId"], id=id, question=repr(id))
        await app.nothing_comes()
        assert len(invocation.view().open) == len(IDS)
        for asked in reversed(invocation.view().open):
            body: Any = asked.body
            assert invocation.answer(asked.id, Accept({"approve": True})) == "taken"
            answer = await app.recv()
            assert repr(answer["id"]) == body.message
            assert answer["result"] == {"action": "accept"}
        for id in IDS:
            await app.ask(call["params"]["invocationId"], id=id, question=repr(id))
        await app.nothing_comes()
        left = [repr(id) for id in IDS]
        for id in IDS:
            params = {"invocationId": call["params"]["invocationId"], "requestId": id}
            await app.send(method="elicitation/withdraw", params=params)
            await app.nothing_comes()
            left.remove(repr(id))
            assert [getattr(asked.body, "message", "") for asked in invocation.view().open] == left
        for id in (1.5, True, {}, [7]):  # none of these is one
            await app.ask(call["params"]["invocationId"], id=id)
            refused = await app.recv()
            assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        await app.send(id=call["id"], result={"output": 1})
        assert await value(invocation) == ToolOutput(1)


async def test_field_62_answers_to_nothing_are_dropped_and_the_connection_lives() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        for id in (None, 99, str(call["id"]), float(call["id"]), True):
            await app.send(id=id, result={"output": "of another call"})
            await app.send(id=id, error={"code": -32603, "message": "of another call"})
        await app.nothing_comes()
        assert invocation.view().outcome is None
        await app.ask(call["params"]["invocationId"])
        invocation.answer((await question(invocation)).id, Accept({"approve": True}))
        assert (await app.recv())["result"] == {"action": "accept"}
        await app.send(id=call["id"], result={"output": "its own"})
        assert await value(invocation) == ToolOutput("its own")


@pytest.mark.parametrize("how", ["result", "error", "malformed", "drop", "cancel", "deadline"])
async def test_a_prompt_is_withdrawn_however_its_action_ends(how: str) -> None:
    async with gateway_of(limits=Limits(question=0.01 if how == "deadline" else 60)) as gateway:
        client, app, other = FakeClient(gateway), connect(gateway), connect(gateway)
        await app.hello()
        await other.hello(app={"id": "bank", "name": "The bank"})
        kept = gateway.call_tool("bank__clear", {}, client.caller())
        kept_call = await other.recv()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        for id in ("e-1", "e-2"):
            await app.ask(call["params"]["invocationId"], id=id)
        if how != "deadline":
            await app.nothing_comes()
        asked = invocation.view().open
        match how:
            case "result":
                await app.send(id=call["id"], result={"output": 1})
            case "error":
                await app.send(id=call["id"], error={"code": -32005, "message": "broken"})
            case "malformed":
                await app.send(id=call["id"], error=None)
            case "drop":
                await app.channel.aclose()
            case "cancel":
                invocation.cancel()
            case "deadline":  # the person's time is up, and then the app ends its call
                for _ in range(2):
                    assert (await app.recv())["result"] == {"action": "cancel"}
                assert invocation.view().open == ()
                await app.send(id=call["id"], result={"output": 1})
        await outcome(invocation)
        assert invocation.view().open == ()
        for question_ in asked:
            assert invocation.answer(question_.id, Accept({"approve": True})) != "taken"
        await other.ask(kept_call["params"]["invocationId"])  # the prompt of another call is nobody's business
        kept.answer((await question(kept)).id, Accept({"approve": True}))
        assert (await other.recv())["result"] == {"action": "accept"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
async def test_field_25_a_number_that_json_has_not_costs_an_app_that_frame_alone(number: str) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        await app.channel.send(f'{{"jsonrpc":"2.0","id":{call["id"]},"result":{{"output":{number}}}}}')
        refused = await app.recv()
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert invocation.view().outcome is None
        await app.send(id=call["id"], result={"output": 1})
        assert await value(invocation) == ToolOutput(1)


@pytest.mark.parametrize("calls", [0, 2])
async def test_field_59_a_batch_of_an_app_is_refused_once(calls: int) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        batch = ",".join(['{"jsonrpc":"2.0","id":5,"method":"elicitation/request"}'] * calls)
        await app.channel.send(f"[{batch}]")
        refused = await app.recv()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        await app.nothing_comes()
        gateway.call_tool("shop__clear", {}, client.caller())
        assert (await app.recv())["method"] == "actions/invoke"


async def hears(reply: Reply, **asked: Any) -> Any:
    """What an app that asks hears of a reply."""
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        await app.ask((await app.recv())["params"]["invocationId"], **asked)
        assert invocation.answer((await question(invocation)).id, reply) == "taken"
        return (await app.recv())["result"]


@pytest.mark.parametrize("content", [{"approve": False}, {"approve": 0}, {"approve": "true"}, {"approve": 1}])
async def test_field_29_a_confirm_that_was_accepted_with_a_no_is_none(content: dict[str, Any]) -> None:
    assert (await hears(Accept(content)))["action"] == "decline"
    assert (await hears(Accept({"approve": True})))["action"] == "accept"


@pytest.mark.parametrize("content", [{}, {"approve": None}, {"other": True}])
async def test_field_31_a_confirm_that_was_accepted_empty_is_no_yes(content: dict[str, Any]) -> None:
    assert (await hears(Accept(content)))["action"] == "decline"


SIZE = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}


async def test_field_31_a_form_that_was_accepted_empty_is_the_apps_to_judge() -> None:
    assert await hears(Accept({}), schema=SIZE) == {"action": "accept", "value": {}}


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (Decline(), "decline"),
        (Cancel("dismissed"), "cancel"),
        (Malformed({"action": "reject", "content": {"approve": True}}), "reject"),
        (Malformed({"action": "accept", "content": [True]}), "decline"),
        (Malformed(None), None),
    ],
)
async def test_field_36_what_is_no_accept_never_becomes_one(reply: Reply, action: Any) -> None:
    assert (await hears(reply))["action"] == action
    heard = await hears(reply, schema=SIZE)
    assert heard["action"] != "accept" or not isinstance(heard["value"], dict)


async def test_field_66_a_call_that_is_given_up_is_cancelled_at_its_app() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation, kept = (gateway.call_tool("shop__clear", {}, client.caller()) for _ in range(2))
        call, other = await app.recv(), await app.recv()
        invocation.cancel()
        told = await app.recv()
        assert told["method"] == "actions/cancel"
        assert told["params"] == {"invocationId": call["params"]["invocationId"]}
        await app.nothing_comes()
        await app.send(id=call["id"], error={"code": -32001, "message": "cancelled"})  # which nobody waits for
        await app.send(id=other["id"], result={"output": 1})
        assert await value(kept) == ToolOutput(1)


async def test_field_91_a_session_whose_connection_is_closing_gets_no_call() -> None:
    async with gateway_of() as gateway:
        client, old, new = FakeClient(gateway), connect(gateway), connect(gateway)
        await old.hello()
        await new.hello()
        gateway.apps[-1].close()
        assert len(gateway.tools(client.client)) == 1  # before its end is seen
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await old.recv()
        await old.send(id=call["id"], result={"output": "the live one"})
        assert await value(invocation) == ToolOutput("the live one")


def be_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what Python has not got there, and what works there without doing anything.

    To be called late: what is imported after it, and an event loop that begins, takes it at its word.
    """
    monkeypatch.setattr(sys, "platform", "win32")
    for module, name in ((os, "fchmod"), (os, "geteuid"), (os, "getuid"), (os, "O_NOFOLLOW"), (socket, "AF_UNIX")):
        monkeypatch.delattr(module, name)
    monkeypatch.setattr(os, "chmod", lambda *args, **options: None)
    monkeypatch.setattr(Path, "chmod", lambda *args, **options: None)


async def test_field_79_on_windows_an_app_is_found_claimed_and_called(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Tesseron("shop", "The shop")

    @app.action
    async def clear(ctx: Context) -> bool:
        return await ctx.confirm("Remove everything?")

    gateway = Gateway(ServerInfo("tesseron-py", "1"))
    await gateway.open()
    be_on_windows(monkeypatch)
    try:
        async with app.listen() as host:
            client = FakeClient(gateway)
            code = str(host.claim_code)
            await value(gateway.call_tool("tesseron__claim_session", {"code": code}, client.caller()))
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            invocation.answer((await question(invocation)).id, Accept({"approve": True}))
            assert await value(invocation) == ToolOutput(True)
        assert list((tesseron_home / "instances").iterdir()) == []
        with pytest.raises(OSError, match="WebSocket"):
            async with app.listen("uds"):
                pass
    finally:
        await gateway.aclose()
        monkeypatch.undo()
