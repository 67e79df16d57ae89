"""What other ends were seen to do, and what a gateway of ours makes of it (Tesseron 1.2 §10)."""

from __future__ import annotations

from typing import Any

from tesseron_py.invocation import Accept
from tesseron_py.mcp.provider import ToolOutput

from .fake_app import FakeClient, connect, gateway_of, question, value

IDS: list[Any] = ["007", " 7 ", "7", 7, 0, -1, "", None, "null", 9007199254740993, "☃"]


async def test_field_56_ids_of_every_type_are_different_ids_and_come_back_as_they_are() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        for id in IDS:
            await app.ask(call["params"]["invocationId"], id=id, question=repr(id))
        while len(invocation.view().open) < len(IDS):
            await app.nothing_comes()
        for asked in reversed(invocation.view().open):
            body: Any = asked.body
            assert invocation.answer(asked.id, Accept({"approve": True})) == "taken"
            answer = await app.recv()
            assert repr(answer["id"]) == body.message
            assert answer["result"] == {"action": "accept"}
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
