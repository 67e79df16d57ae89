"""What the client answers when the server asks: every answer on the wire, withdrawals, floods, failing callbacks."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from client_peers import PATIENCE, connected

from tesseron_py.invocation import Accept, Cancel, Decline, Malformed
from tesseron_py.mcp import client_peer
from tesseron_py.mcp.client import McpError, Question

SCHEMA = {"type": "object", "properties": {"qty": {"type": "integer"}}, "required": ["qty"]}
FORM = {"message": "How many?", "requestedSchema": SCHEMA}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Accept({"qty": 7}), {"action": "accept", "content": {"qty": 7}}),
        (Accept({}), {"action": "accept", "content": {}}),
        (Decline(), {"action": "decline"}),
        (Cancel("gone"), {"action": "cancel"}),
        (Malformed({"action": "reject"}), {"action": "reject"}),
        (Malformed(None), None),
    ],
)
async def test_every_answer_has_its_form_on_the_wire(answer: Any, result: Any) -> None:
    asked: list[Question] = []

    async def reply(question: Question) -> Any:
        asked.append(question)
        return answer

    async with connected(answer=reply) as (_, server, _tasks):
        await server.ask("q-1", "elicitation/create", FORM)
        assert await server.take() == {"jsonrpc": "2.0", "id": "q-1", "result": result}
        await server.ask(0, "elicitation/create", {**FORM, "mode": "form"})
        assert await server.take() == {"jsonrpc": "2.0", "id": 0, "result": result}
    assert asked == [Question("How many?", SCHEMA)] * 2


async def test_a_question_names_the_call_when_one_runs_and_none_when_two_do() -> None:
    asked: list[str | None] = []

    async def reply(question: Question) -> Any:
        asked.append(question.call)
        return Decline()

    async with connected(answer=reply) as (client, server, tasks):
        tasks.start_soon(client.call, "order")
        tasks.start_soon(client.request, "prompts/get", {"name": "not a call of a tool"})
        for _ in range(2):
            await server.take()
        await server.ask("q-1", "elicitation/create", FORM)
        await server.take()
        tasks.start_soon(client.read, "x://a")
        await server.take()
        await server.ask("q-2", "elicitation/create", FORM)
        await server.take()
        tasks.cancel_scope.cancel()
    assert asked == ["order", None]


async def test_field_51_questions_are_answered_at_once_and_in_whatever_order_people_take() -> None:
    turns = {"first": anyio.Event(), "second": anyio.Event()}

    async def reply(question: Question) -> Any:
        await turns[question.message].wait()
        return Accept({"for": question.message})

    async with connected(answer=reply) as (client, server, tasks):
        for message in turns:
            await server.ask(message, "elicitation/create", {**FORM, "message": message})
        await server.still_works(client, tasks)  # row 43: a person who thinks holds nothing up
        await server.ask("p", "ping")
        assert await server.take() == {"jsonrpc": "2.0", "id": "p", "result": {}}
        for message in reversed(turns):
            turns[message].set()
            answered = await server.take()
            assert (answered["id"], answered["result"]["content"]) == (message, {"for": message})


async def test_a_url_is_asked_for_where_it_was_declared_and_its_accept_has_no_content() -> None:
    asked: list[Question] = []

    async def reply(question: Question) -> Any:
        asked.append(question)
        return Accept({"leftover": 1})

    params = {"message": "Sign in", "mode": "url", "url": "https://example.test/", "elicitationId": "e"}
    async with connected(answer=reply, url=True) as (_, server, _tasks):
        await server.ask(1, "elicitation/create", params)
        assert (await server.take())["result"] == {"action": "accept"}
        await server.ask(2, "elicitation/create", {**params, "url": 7})
        assert (await server.take())["error"]["code"] == -32602
    assert asked == [Question("Sign in", {}, "url", "https://example.test/")]
    async with connected(answer=reply) as (_, server, _tasks):
        await server.ask(1, "elicitation/create", params)
        assert (await server.take())["error"]["code"] == -32602


@pytest.mark.parametrize(
    "params",
    [None, [], {}, {"message": 7, "requestedSchema": {}}, {"message": "?"}, {"message": "?", "requestedSchema": []},
     {**FORM, "mode": "hologram"}, {**FORM, "mode": None}],
)  # fmt: skip
async def test_a_question_that_is_none_is_refused_and_nobody_asked(params: Any) -> None:
    async def reply(question: Question) -> Any:
        raise AssertionError("nobody must be asked")

    async with connected(answer=reply) as (client, server, tasks):
        await server.ask(1, "elicitation/create", params)
        assert (await server.take())["error"]["code"] == -32602
        await server.still_works(client, tasks)


@pytest.mark.parametrize(
    "method", ["elicitation/create", "sampling/createMessage", "roots/list", "tools/list", "no/such"]
)
async def test_what_was_not_declared_is_an_unknown_method(method: str) -> None:
    async with connected() as (client, server, tasks):
        await server.ask(7, method, FORM)
        error = (await server.take())["error"]
        assert (error["code"], error["message"]) == (-32601, f"Method not found: {method}")
        await server.still_works(client, tasks)


async def test_field_49_a_callback_that_fails_is_an_error_to_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async def reply(question: Question) -> Any:
        raise ZeroDivisionError("private")

    async with connected(answer=reply) as (client, server, tasks):
        await server.ask(1, "elicitation/create", FORM)
        answered = await server.take()
        assert answered["error"] == {"code": -32603, "message": "The client failed to answer"}
        await server.still_works(client, tasks)
    assert "ZeroDivisionError" in caplog.text


async def test_a_callback_may_refuse_with_an_error_of_its_own() -> None:
    async def reply(question: Question) -> Any:
        raise McpError(-32042, "Not here", {"why": "no screen"})

    async with connected(answer=reply) as (_, server, _tasks):
        await server.ask(1, "elicitation/create", FORM)
        error = (await server.take())["error"]
        assert error == {"code": -32042, "message": "Not here", "data": {"why": "no screen"}}


@pytest.mark.parametrize("answer", [None, True, {"action": "accept"}, Accept(7), Accept({"x": object()})])  # type: ignore[arg-type]
async def test_what_is_no_answer_is_never_a_yes(answer: Any) -> None:
    async def reply(question: Question) -> Any:
        return answer

    async with connected(answer=reply) as (client, server, tasks):
        await server.ask(1, "elicitation/create", FORM)
        assert (await server.take())["error"]["code"] == -32603
        await server.still_works(client, tasks)


# Sampling


async def test_sampling_gives_what_its_callback_gives() -> None:
    async def sample(params: Any) -> Any:
        return {"role": "assistant", "content": {"type": "text", "text": params["messages"][0]}, "model": "m"}

    async with connected(sampling=sample) as (_, server, _tasks):
        await server.ask(1, "sampling/createMessage", {"messages": ["hi"]})
        assert (await server.take())["result"]["content"] == {"type": "text", "text": "hi"}
        await server.ask(2, "sampling/createMessage")
        assert (await server.take())["error"]["code"] == -32602


async def test_a_sample_that_is_no_result_is_an_error() -> None:
    async def sample(params: Any) -> Any:
        return "text"

    async with connected(sampling=sample) as (_, server, _tasks):
        await server.ask(1, "sampling/createMessage", {})
        assert (await server.take())["error"]["code"] == -32603


# Withdrawn, repeated, flooded


class Person:
    """Somebody who thinks for ever, and notices when the question goes away."""

    def __init__(self) -> None:
        self.asked = 0
        self.thinking = 0
        self.changed = anyio.Event()

    async def reply(self, question: Question) -> Any:
        self.asked += 1
        self._now(+1)
        try:
            await anyio.sleep_forever()
        finally:
            self._now(-1)

    def _now(self, step: int) -> None:
        self.thinking += step
        self.changed.set()
        self.changed = anyio.Event()

    async def until(self, thinking: int) -> None:
        with anyio.fail_after(PATIENCE):
            while self.thinking != thinking:
                await self.changed.wait()


async def test_a_withdrawn_question_is_taken_from_the_person_and_nothing_is_sent() -> None:
    person = Person()
    async with connected(answer=person.reply) as (client, server, tasks):
        await server.ask("1", "elicitation/create", FORM)
        await server.ask(1, "elicitation/create", FORM)
        await person.until(2)
        for wrong in ("2", 1.0, True, None, [1]):
            await server.tell("notifications/cancelled", {"requestId": wrong})
        await server.tell("notifications/cancelled")
        await server.still_works(client, tasks)
        assert person.thinking == 2
        await server.tell("notifications/cancelled", {"requestId": 1})
        await person.until(1)
        await server.tell("notifications/cancelled", {"requestId": "1", "reason": "the call ended"})
        await person.until(0)
        await server.still_works(client, tasks)  # the next frame is the ping: no answer went out


async def test_a_question_withdrawn_in_the_next_frame_is_withdrawn() -> None:
    person = Person()
    async with connected(answer=person.reply) as (client, server, tasks):
        await server.put(
            '[{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}},'
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}]'
        )
        await server.still_works(client, tasks)
        assert person.thinking == 0


async def test_questions_end_with_the_connection() -> None:
    person = Person()
    async with connected(answer=person.reply) as (_, server, _tasks):
        await server.ask(1, "elicitation/create", FORM)
        await person.until(1)
        await server.channel.aclose()
        await person.until(0)


async def test_an_id_in_use_asks_nobody_twice() -> None:
    person = Person()
    async with connected(answer=person.reply) as (client, server, tasks):
        await server.ask(1, "elicitation/create", FORM)
        await server.ask(1, "elicitation/create", FORM)
        await server.still_works(client, tasks)
        assert person.asked == 1


async def test_a_flood_of_questions_is_refused_and_then_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(client_peer, "MAX_SERVED", 2)
    person = Person()
    async with connected(answer=person.reply) as (client, server, tasks):
        batch = [
            {"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": FORM}
            for id in ("a", "b", "c", "d", "e")
        ]
        await server.put(batch)  # in one frame, so that no answer can go out in between
        refused = [await server.take() for _ in range(2)]
        assert sorted(answer["id"] for answer in refused) == ["c", "d"]
        assert all(answer["error"]["code"] == -32603 for answer in refused)
        await person.until(2)
        await server.still_works(client, tasks)
    assert "is dropped" in caplog.text


async def test_an_answer_too_large_for_the_connection_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def reply(question: Question) -> Any:
        return Accept({"text": "x" * 5000})

    async with connected(answer=reply, limit=3000) as (client, server, tasks):
        await server.ask(1, "elicitation/create", FORM)
        await server.ask(2, "ping")
        assert (await server.take())["id"] == 2
        await server.still_works(client, tasks)
    assert "could not be delivered" in caplog.text
