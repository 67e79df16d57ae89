"""What other ends were seen to do, and what a gateway of ours makes of it (Tesseron 1.2 §10)."""

from __future__ import annotations

from typing import Any

import pytest

from tesseron_py.invocation import Accept
from tesseron_py.limits import Limits
from tesseron_py.mcp.provider import ToolOutput

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
