"""The client in the modern era, against a server played by hand: what requests say, round trips, giving up, errors."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from typing import Any

import anyio
import pytest
from client_peers import PATIENCE, ByHand, modern
from hypothesis import given
from hypothesis import strategies as st
from test_client import TEXT, beside

from tesseron_py.home import Home
from tesseron_py.invocation import Accept, Cancel, Decline, Malformed
from tesseron_py.mcp import client_answers, client_modern
from tesseron_py.mcp.client import (
    BadAnswer,
    ClientError,
    Log,
    McpClient,
    McpError,
    MissingCapability,
    Progress,
    Question,
    RequestTimeout,
    TransportEnded,
    UnsupportedVersion,
)
from tesseron_py.mcp.client_answers import Answers
from tesseron_py.mcp.client_headers import ToolHeaders
from tesseron_py.mcp.client_modern import ModernSpeech
from tesseron_py.mcp.client_server import Server

PREFIX = "io.modelcontextprotocol/"
SCHEMA = {"type": "object", "properties": {"qty": {"type": "integer"}}, "required": ["qty"]}


def asks(*messages: str, state: str | None = "sealed", **more: Any) -> dict[str, Any]:
    """A result that asks the person."""
    result: dict[str, Any] = {"resultType": "input_required"}
    if messages:
        result["inputRequests"] = {
            f"k-{message}": {"method": "elicitation/create", "params": {"message": message, "requestedSchema": SCHEMA}}
            for message in messages
        }
    if state is not None:
        result["requestState"] = state
    return result | more


def wants(method: str, params: Any = None) -> dict[str, Any]:
    """A result that asks something else."""
    return {"resultType": "input_required", "inputRequests": {"k": {"method": method, "params": params}}}


async def accept(question: Question) -> Accept:
    return Accept({"qty": 7})


# What a request says of itself


async def test_every_request_says_version_capabilities_and_who_asks() -> None:
    async def sample(params: Any) -> Any:
        raise AssertionError

    options = {"answer": accept, "url": True, "sampling": sample, "roots": [], "name": "tester", "version": "1.5"}
    async with modern(**options) as (client, server, tasks):
        assert (client.era, client.server.protocol_version) == ("modern", "2026-07-28")
        assert (client.server.name, client.server.version, client.server.capabilities) == ("raw", "3", {"tools": {}})
        meta = {
            PREFIX + "protocolVersion": "2026-07-28",
            PREFIX + "clientCapabilities": {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
            PREFIX + "clientInfo": {"name": "tester", "version": "1.5"},
        }
        assert server.hello["method"] == "server/discover"
        assert server.hello["params"] == {"_meta": meta}
        call = beside(tasks, lambda: client.call("add", {"a": 1}, meta={"trace": "t", PREFIX + "protocolVersion": "x"}))
        request = await server.take()
        assert request["params"] == {"name": "add", "arguments": {"a": 1}, "_meta": {"trace": "t", **meta}}
        await server.answer(request, {"resultType": "complete", **TEXT})
        assert (await call.wait()).text == "hello"


async def test_a_client_that_answers_nothing_declares_nothing() -> None:
    async with modern() as (_, server, _tasks):
        assert server.hello["params"]["_meta"][PREFIX + "clientCapabilities"] == {}
        assert PREFIX + "logLevel" not in server.hello["params"]["_meta"]


async def test_a_sign_of_life_is_a_discover_and_notifications_go_out_as_they_are() -> None:
    async with modern() as (client, server, tasks):
        ping = beside(tasks, client.ping)
        request = await server.take()
        assert request["method"] == "server/discover"
        await server.answer(request, {})
        await ping.wait()
        await client.notify("notifications/x", {"a": 1})
        assert await server.take() == {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1}}


async def test_logs_are_asked_for_where_somebody_listens_and_progress_where_somebody_wants_it() -> None:
    logs: list[Log] = []
    progress: list[Progress] = []
    async with modern(on_log=logs.append, on_progress=progress.append) as (client, server, tasks):
        assert server.hello["params"]["_meta"][PREFIX + "logLevel"] == "info"
        await client.set_log_level("debug")
        call = beside(tasks, lambda: client.call("work"))
        request = await server.take()
        meta = request["params"]["_meta"]
        assert meta[PREFIX + "logLevel"] == "debug"
        await server.tell("notifications/progress", {"progressToken": meta["progressToken"], "progress": 1})
        await server.tell("notifications/message", {"level": "debug", "data": "going"})
        await server.answer(request, TEXT)
        await call.wait()
    assert logs == [Log("debug", "going")]
    assert progress == [Progress("work", 1)]


# Round trips


async def test_a_question_is_answered_by_repeating_the_call_with_its_state() -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> Accept:
        asked.append(question)
        return Accept({"qty": len(asked)})

    async with modern(answer=answer) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order", {"sku": "A1"}, meta={"trace": "t"}))
        first = await server.take()
        assert "inputResponses" not in first["params"]
        await server.answer(first, asks("How many?", state="sealed-1"))
        second = await server.take()
        assert second["id"] != first["id"]
        assert second["params"] == {
            **first["params"],
            "inputResponses": {"k-How many?": {"action": "accept", "content": {"qty": 1}}},
            "requestState": "sealed-1",
        }
        await server.answer(second, asks("And now?", state=None))
        third = await server.take()
        assert third["params"]["inputResponses"] == {"k-And now?": {"action": "accept", "content": {"qty": 2}}}
        assert "requestState" not in third["params"]  # none was given with this question
        await server.answer(third, {"resultType": "complete", **TEXT})
        assert (await call.wait()).text == "hello"
    assert asked == [Question("How many?", SCHEMA, call="order"), Question("And now?", SCHEMA, call="order")]


async def test_each_leg_has_a_progress_token_of_its_own() -> None:
    progress: list[Progress] = []
    async with modern(answer=accept, on_progress=progress.append) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        tokens = []
        for result in (asks("?"), TEXT):
            request = await server.take()
            tokens.append(request["params"]["_meta"]["progressToken"])
            await server.tell("notifications/progress", {"progressToken": tokens[-1], "progress": len(tokens)})
            await server.tell("notifications/progress", {"progressToken": tokens[0] - 1, "progress": 99})
            await server.answer(request, result)
        await call.wait()
    assert len(set(tokens)) == 2
    assert progress == [Progress("order", 1), Progress("order", 2)]


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        (Accept({"qty": 7}), {"action": "accept", "content": {"qty": 7}}),
        (Decline(), {"action": "decline"}),
        (Cancel("gone"), {"action": "cancel"}),
        (Malformed({"action": "reject"}), {"action": "reject"}),
        (Malformed(None), None),
        (7, {"action": "cancel"}),  # no answer, which servers take for cancel in the legacy era
        (ZeroDivisionError(), {"action": "cancel"}),
    ],
)
async def test_every_answer_has_its_form_on_the_wire(answer: Any, response: Any) -> None:
    async def reply(question: Question) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with modern(answer=reply) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        await server.answer(await server.take(), asks("?"))
        repeated = await server.take()
        assert repeated["params"]["inputResponses"] == {"k-?": response}
        await server.answer(repeated, TEXT)
        await call.wait()


async def test_several_things_are_asked_at_once_and_begun_in_the_servers_order() -> None:
    begun: list[str] = []
    first, second = anyio.Event(), anyio.Event()

    async def answer(question: Question) -> Accept:
        begun.append(question.message)
        if question.message == "z":
            await second.wait()  # people answer in whatever order
            first.set()
        else:
            second.set()
            await first.wait()
        return Accept({"for": question.message})

    async def sample(params: Any) -> Any:
        begun.append("sample")
        return {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}

    async with modern(answer=answer, sampling=sample, roots=[{"uri": "file:///a"}]) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        result = asks("z", "a")
        result["inputRequests"] |= {
            "s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
            "r": {"method": "roots/list"},
        }
        await server.answer(await server.take(), result)
        repeated = await server.take()
        assert repeated["params"]["inputResponses"] == {
            "k-z": {"action": "accept", "content": {"for": "z"}},
            "k-a": {"action": "accept", "content": {"for": "a"}},
            "s": {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"},
            "r": {"roots": [{"uri": "file:///a"}]},
        }
        await server.answer(repeated, TEXT)
        await call.wait()
    assert begun == ["z", "a", "sample"]


async def test_resources_and_prompts_may_ask_and_lists_may_not() -> None:
    async with modern(answer=accept) as (client, server, tasks):
        read = beside(tasks, lambda: client.read("x://a"))
        await server.answer(await server.take(), asks("?"))
        repeated = await server.take()
        assert repeated["params"]["uri"] == "x://a"
        assert "inputResponses" in repeated["params"]
        await server.answer(repeated, {"contents": [{"uri": "x://a", "text": "1"}]})
        assert await read.wait() == [{"uri": "x://a", "text": "1"}]

        prompt = beside(tasks, lambda: client.request("prompts/get", {"name": "p", "inputResponses": {"early": {}}}))
        first = await server.take()
        assert first["params"]["inputResponses"] == {"early": {}}  # what the caller gives is the caller's
        await server.answer(first, asks(state="again"))
        repeated = await server.take()
        assert "inputResponses" not in repeated["params"]
        await server.answer(repeated, {"messages": []})
        assert await prompt.wait() == {"messages": []}

        tools = beside(tasks, client.tools)
        await server.answer(await server.take(), asks("?"))
        with pytest.raises(BadAnswer, match="input_required"):
            await tools.wait()


async def test_a_result_that_asks_nothing_has_the_call_repeated_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(client_modern.anyio, "sleep", sleep)
    async with modern(answer=accept) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("slow"))
        for n in range(7):
            await server.answer(await server.take(), asks(state=f"s{n}"))
        last = await server.take()
        assert last["params"]["requestState"] == "s6"
        await server.answer(last, TEXT)
        await call.wait()
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (asks("?"), "tools/call loop: the server asks again and again; given up after 3 times"),
        (asks(), "wants the call repeated again and again; given up after 3 times"),
    ],
)
async def test_a_server_that_asks_for_ever_is_given_up(
    result: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_modern, "MAX_ROUNDS", 3)
    monkeypatch.setattr(client_modern, "FIRST_PAUSE", 0)
    async with modern(answer=accept) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("loop"))
        for _ in range(4):
            await server.answer(await server.take(), result)
        with pytest.raises(BadAnswer, match=says):
            await call.wait()


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required"},
        asks(state=None, inputRequests=None),
        asks(state=None, inputRequests={}),  # repeated, it would be a new call
        asks(inputRequests=[]),
        asks("?", requestState=7),
        asks(inputRequests={"k": 7}),
        asks(inputRequests={"k": {}}),
        asks(inputRequests={"k": {"method": "ping"}}),
        wants("sampling/createMessage", {}),
        wants("roots/list"),
        {"resultType": "tasks"},
        {"resultType": None},
    ],
)
async def test_what_cannot_be_answered_fails_the_call_and_nobody_is_asked(result: dict[str, Any]) -> None:
    async def answer(question: Question) -> Accept:
        raise AssertionError

    async with modern(answer=answer) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("odd"))
        await server.answer(await server.take(), result)
        with pytest.raises(BadAnswer):
            await call.wait()


async def test_a_client_that_cannot_ask_is_not_asked() -> None:
    async with modern() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        await server.answer(await server.take(), asks("?"))
        with pytest.raises(BadAnswer, match="elicitation/create, which this client does not offer"):
            await call.wait()


async def test_more_questions_than_anybody_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_answers, "MAX_AT_ONCE", 2)
    async with modern(answer=accept) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        await server.answer(await server.take(), asks("a", "b", "c"))
        with pytest.raises(BadAnswer, match="3 things at once; this client answers 2"):
            await call.wait()


async def test_a_question_that_is_none_is_answered_with_cancel_and_the_rest_is_asked() -> None:
    async with modern(answer=accept) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        result = asks("right")
        result["inputRequests"]["wrong"] = {"method": "elicitation/create", "params": {"mode": "hologram"}}
        await server.answer(await server.take(), result)
        repeated = await server.take()
        assert repeated["params"]["inputResponses"] == {
            "k-right": {"action": "accept", "content": {"qty": 7}},
            "wrong": {"action": "cancel"},
        }
        await server.answer(repeated, TEXT)
        await call.wait()


async def test_a_model_that_fails_fails_the_call_and_the_person_is_asked_no_more() -> None:
    withdrawn = anyio.Event()
    waiting = anyio.Event()

    async def answer(question: Question) -> Accept:
        waiting.set()
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        raise AssertionError

    async def sample(params: Any) -> Any:
        await waiting.wait()
        raise ZeroDivisionError

    async with modern(answer=answer, sampling=sample) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        result = asks("?")
        result["inputRequests"]["s"] = {"method": "sampling/createMessage", "params": {}}
        await server.answer(await server.take(), result)
        with pytest.raises(McpError, match="The client failed to answer"):
            await call.wait()
        assert withdrawn.is_set()


async def test_requests_of_the_server_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    async with modern(answer=accept) as (client, server, tasks):
        await server.ask("q", "elicitation/create", {"message": "?", "requestedSchema": SCHEMA})
        call = beside(tasks, lambda: client.call("x"))
        request = await server.take()
        assert request["method"] == "tools/call"
        await server.answer(request, TEXT)
        await call.wait()
    assert "it may send none in this era" in caplog.text


# Giving up


async def test_a_call_given_up_while_the_server_works_is_told() -> None:
    async with modern(timeout=0.05) as (client, server, _):
        with pytest.raises(RequestTimeout, match=r"tools/call slow: no answer within 0\.05 s"):
            await client.call("slow")
        request = await server.take()
        notice = await server.take()
        assert (notice["method"], notice["params"]["requestId"]) == ("notifications/cancelled", request["id"])


async def test_the_time_of_a_call_has_its_questions_in_it() -> None:
    withdrawn = anyio.Event()

    async def answer(question: Question) -> Accept:
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        raise AssertionError

    async with modern(answer=answer) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order", timeout=0.2))
        await server.answer(await server.take(), asks("?"))
        with pytest.raises(RequestTimeout, match=r"tools/call order: no answer within 0\.2 s"):
            await call.wait()
        assert withdrawn.is_set()
        ping = beside(tasks, client.ping)
        request = await server.take()
        assert request["method"] == "server/discover"  # nothing was open, so nothing was cancelled
        await server.answer(request, {})
        await ping.wait()


async def test_the_time_of_a_call_is_for_all_its_legs() -> None:
    async with modern(answer=accept) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order", timeout=0.2))
        await server.answer(await server.take(), asks("?"))
        repeated = await server.take()
        with pytest.raises(RequestTimeout, match=r"tools/call order: no answer within 0\.2 s"):
            await call.wait()
        assert (await server.take())["params"]["requestId"] == repeated["id"]


async def test_a_caller_that_goes_away_while_a_person_thinks_withdraws_the_question() -> None:
    thinking, withdrawn = anyio.Event(), anyio.Event()

    async def answer(question: Question) -> Accept:
        thinking.set()
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        raise AssertionError

    async with modern(answer=answer) as (client, server, tasks):
        with anyio.CancelScope() as scope:

            async def give_up() -> None:
                await server.answer(await server.take(), asks("?"))
                await thinking.wait()
                scope.cancel()

            tasks.start_soon(give_up)
            await client.call("order")
        assert scope.cancelled_caught
        assert withdrawn.is_set()


@pytest.mark.parametrize("how", ["by the server", "by the client", "by the person"])
async def test_the_end_of_the_connection_ends_a_question(how: str) -> None:
    thinking = anyio.Event()
    holder: list[McpClient] = []

    async def answer(question: Question) -> Accept:
        thinking.set()
        if how == "by the person":
            await holder[0].aclose()
        await anyio.sleep_forever()
        raise AssertionError

    async with modern(answer=answer) as (client, server, tasks):
        holder.append(client)
        call = beside(tasks, lambda: client.call("order"))
        await server.answer(await server.take(), asks("?"))
        await thinking.wait()
        if how == "by the server":
            await server.channel.aclose()
        elif how == "by the client":
            await client.aclose()
        with pytest.raises(TransportEnded, match="closed"):
            await call.wait()


async def test_no_question_begins_once_the_connection_is_gone() -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> Accept:
        asked.append(question)
        return Accept({})

    async with modern(answer=answer) as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        request = await server.take()
        # Both are read before the call goes on.
        client._peer.message(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": asks("?")}))
        client._peer.ended("gone")
        with pytest.raises(TransportEnded, match="gone"):
            await call.wait()
    assert asked == []


# Errors of the era


async def refused(server: ByHand, error: dict[str, Any]) -> None:
    request = await server.take()
    await server.put({"jsonrpc": "2.0", "id": request["id"], "error": error})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"requiredCapabilities": {"elicitation": {"form": {}}, "sampling": {}}}, r"elicitation \(form\), sampling"),
        ({"requiredCapabilities": []}, "it does not say what"),
        (None, "it does not say what"),
    ],
)
async def test_a_capability_that_is_missing_is_named(data: Any, says: str) -> None:
    async with modern() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        await refused(server, {"code": -32021, "message": "No person", "data": data})
        with pytest.raises(MissingCapability, match=f"what this client does not offer: {says}. No person") as raised:
            await call.wait()
        assert (raised.value.code, raised.value.message, raised.value.data) == (-32021, "No person", data)


@pytest.mark.parametrize(
    ("data", "says"), [({"supported": ["2027-01-01", 7]}, r"2027-01-01\."), ({"supported": 7}, "not say"), ([], "not")]
)
async def test_a_version_that_is_refused_is_said_with_what_there_is(data: Any, says: str) -> None:
    async with modern() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("order"))
        await refused(server, {"code": -32022, "message": "Too old", "data": data})
        with pytest.raises(UnsupportedVersion, match=f"Its own: .*{says}"):
            await call.wait()


async def test_a_question_outlives_nothing_and_nothing_hangs() -> None:
    """A person that takes their time holds up no other call."""
    turn = anyio.Event()

    async def answer(question: Question) -> Accept:
        await turn.wait()
        return Accept({"qty": 1})

    with anyio.fail_after(PATIENCE):
        async with modern(answer=answer) as (client, server, tasks):
            slow = beside(tasks, lambda: client.call("slow"))
            await server.answer(await server.take(), asks("?"))
            quick = beside(tasks, lambda: client.call("quick"))
            await server.answer(await server.take(), TEXT)
            await quick.wait()
            turn.set()
            await server.answer(await server.take(), TEXT)
            await slow.wait()


# Whatever a server answers

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
input_requests = st.fixed_dictionaries(
    {"method": st.sampled_from(["elicitation/create", "sampling/createMessage", "roots/list", "ping"]) | json_values},
    optional={"params": json_values | st.just({"message": "?", "requestedSchema": {}})},
)
results = st.fixed_dictionaries(
    {"resultType": st.sampled_from(["input_required", "complete"]) | json_values},
    optional={
        "inputRequests": st.dictionaries(st.text(max_size=3), input_requests | json_values, max_size=3) | json_values,
        "requestState": st.text(max_size=3) | json_values,
        "content": json_values,
    },
)


class Scripted:
    """A peer that is answered with results that a test made up, and then with a right one."""

    def __init__(self, results: list[Any]) -> None:
        self.results = results
        self.sent: list[dict[str, Any]] = []

    async def request(self, method: str, params: dict[str, Any], **options: Any) -> Any:
        self.sent.append(params)
        return self.results.pop(0) if self.results else {}

    def while_connected(self) -> Any:
        return nullcontext()


@given(st.lists(results | json_values, max_size=4))
def test_no_result_makes_it_raise_what_it_should_not_or_call_anew(made_up: list[Any]) -> None:
    async def scenario() -> None:
        peer = Scripted(list(made_up))
        speech = ModernSpeech(
            peer,  # type: ignore[arg-type]
            Home(),
            Answers(accept, roots=[]),
            {},
            http=False,
            log_level=None,
            changes=None,
        )
        with suppress(ClientError):
            await speech.request("tools/call", {"name": "x", "requestState": "mine"}, timeout=None)
        for params in peer.sent[1:]:
            assert params.keys() & {"inputResponses", "requestState"}
            assert params.get("requestState") != "mine"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_modern, "FIRST_PAUSE", 0)
        anyio.run(scenario)


@given(results | json_values)
def test_no_answer_to_discover_makes_it_raise_what_it_should_not(answer: Any) -> None:
    with suppress(BadAnswer):
        Server.from_discover(answer)


@given(st.dictionaries(st.text(max_size=3), json_values), st.lists(json_values))
def test_no_list_of_tools_makes_it_raise(page: dict[str, Any], schemas: list[Any]) -> None:
    tools = [{"name": "x", "inputSchema": {"properties": {"a": schema}}} for schema in schemas]

    async def scenario() -> None:
        assert len(ToolHeaders().learn({**page, "tools": tools})["tools"]) <= len(tools)
        ToolHeaders().learn(page)

    anyio.run(scenario)
