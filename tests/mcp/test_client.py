"""The MCP client against a server played by hand: the handshake, calls, questions, and everything that goes wrong."""

from __future__ import annotations

import logging
import math
from typing import Any

import anyio
import pytest
from client_peers import PATIENCE, ByHand, connected, initialized

from tesseron_py.bindings.memory import pair
from tesseron_py.invocation import Accept
from tesseron_py.mcp import client as client_module
from tesseron_py.mcp.client import (
    BadAnswer,
    CallResult,
    Log,
    McpClient,
    McpError,
    PipeTransport,
    Progress,
    RequestTimeout,
    TransportEnded,
)
from tesseron_py.mcp.provider import ResourcesChanged, ResourceUpdated, ToolsChanged

TEXT = {"content": [{"type": "text", "text": "hello"}]}


class Outcome:
    """What became of something that runs beside the test."""

    def __init__(self) -> None:
        self._done = anyio.Event()
        self.value: Any = None
        self.error: Exception | None = None

    async def run(self, make: Any) -> None:
        try:
            self.value = await make()
        except Exception as error:
            self.error = error
        self._done.set()

    async def wait(self) -> Any:
        with anyio.fail_after(PATIENCE):
            await self._done.wait()
        if self.error is not None:
            raise self.error
        return self.value


def beside(tasks: anyio.abc.TaskGroup, make: Any) -> Outcome:
    outcome = Outcome()
    tasks.start_soon(outcome.run, make)
    return outcome


# The handshake


async def test_the_newest_legacy_version_is_offered_and_nothing_is_declared_that_is_not_answered() -> None:
    async with connected(name="tester", version="1.5") as (client, server, _):
        pass
    assert server.hello["method"] == "initialize"
    assert server.hello["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1.5"},
    }
    assert (client.server.name, client.server.version) == ("raw", "3")
    assert client.server.protocol_version == "2025-11-25"
    assert client.server.capabilities == {"tools": {}}
    assert client.server.instructions is None


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ({"answer": lambda question: None}, {"elicitation": {"form": {}}}),
        ({"answer": lambda question: None, "url": True}, {"elicitation": {"form": {}, "url": {}}}),
        ({"sampling": lambda params: None}, {"sampling": {}}),
        ({"url": True}, {}),
    ],
)
async def test_callbacks_are_what_is_declared(options: dict[str, Any], declared: dict[str, Any]) -> None:
    async with connected(**options) as (_, server, _):
        pass
    assert server.hello["params"]["capabilities"] == declared


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
async def test_every_legacy_version_is_accepted(version: str) -> None:
    async with connected(protocol=version) as (client, _, _):
        assert client.server.protocol_version == version


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (initialized(1, "2026-07-28"), BadAnswer, "speaks MCP 2026-07-28"),
        (initialized(1, "x" * 500), BadAnswer, "speaks MCP x{40},"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, BadAnswer, "is it an MCP server"),
        ({"jsonrpc": "2.0", "id": 1, "result": [1]}, BadAnswer, "is it an MCP server"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Not today"}}, McpError, "Not today"),
    ],
)
async def test_a_server_that_shakes_hands_wrongly_is_left(answer: Any, error: type[Exception], says: str) -> None:
    here, there = pair()
    server = ByHand(there)
    await server.put(answer)
    with pytest.raises(error, match=says):
        async with McpClient(PipeTransport(here)):
            raise AssertionError("the client must not open")
    with pytest.raises(Exception, match="closed"):  # the channel was closed behind it
        await there.send("{}")


async def test_a_server_says_little_of_itself() -> None:
    here, there = pair()
    await ByHand(there).put(
        initialized(1, serverInfo=None, capabilities=7, instructions="Ask first."),
    )
    async with McpClient(PipeTransport(here)) as client:
        assert (client.server.name, client.server.version, client.server.capabilities) == ("", "", {})
        assert client.server.instructions == "Ask first."


async def test_a_server_that_never_shakes_hands_is_given_up_without_a_cancellation() -> None:
    here, there = pair()
    with pytest.raises(RequestTimeout, match=r"initialize: no answer within 0\.05 s"):
        async with McpClient(PipeTransport(here), timeout=0.05):
            raise AssertionError("the client must not open")
    server = ByHand(there)
    assert (await server.take())["method"] == "initialize"
    with pytest.raises(Exception, match="closed"):  # and nothing after it: initialize must not be cancelled
        await there.receive()


async def test_a_client_is_used_open_and_opened_once() -> None:
    here, _ = pair()
    client = McpClient(PipeTransport(here))
    with pytest.raises(RuntimeError, match="not open"):
        _ = client.server
    with pytest.raises(RuntimeError, match="not open"):
        await client.ping()
    await client.aclose()
    with pytest.raises(RuntimeError, match="opened once"):
        async with client:
            pass


# Calls


async def test_a_call_is_sent_and_its_result_comes_back() -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("add", {"a": 1}, meta={"trace": "t-1"}))
        request = await server.take()
        assert request["method"] == "tools/call"
        assert request["params"] == {"name": "add", "arguments": {"a": 1}, "_meta": {"trace": "t-1"}}
        await server.answer(request, {**TEXT, "structuredContent": {"sum": 2}, "isError": False, "_meta": {"took": 3}})
        result = await call.wait()
    assert result == CallResult(TEXT["content"], {"sum": 2}, False, {"took": 3})


async def test_a_call_without_arguments_sends_an_empty_object_and_no_progress_token() -> None:
    async with connected() as (client, server, tasks):
        beside(tasks, lambda: client.call("tick"))
        assert (await server.take())["params"] == {"name": "tick", "arguments": {}}


async def test_calls_are_matched_by_id_in_whatever_order_they_are_answered() -> None:
    async with connected() as (client, server, tasks):
        calls = [beside(tasks, lambda n=n: client.request("echo", {"n": n})) for n in range(3)]
        for request in reversed([await server.take() for _ in calls]):
            await server.answer(request, request["params"]["n"])
        assert [await call.wait() for call in calls] == [0, 1, 2]


async def test_a_server_error_keeps_code_message_and_data() -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("nope"))
        request = await server.take()
        error = {"code": -32602, "message": "Unknown tool: nope", "data": {"name": "nope"}}
        await server.put({"jsonrpc": "2.0", "id": request["id"], "error": error})
        with pytest.raises(McpError, match="Unknown tool: nope") as raised:
            await call.wait()
    assert (raised.value.code, raised.value.data) == (-32602, {"name": "nope"})


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "error": {"code": "x", "message": "m"}},
        {"jsonrpc": "2.0", "error": {"code": 1}},
        {"jsonrpc": "2.0", "error": "broken", "result": {}},
        {"jsonrpc": "1.0", "result": {}},
        {"result": {}},
    ],
)
async def test_a_malformed_answer_fails_its_call_and_no_other(answer: dict[str, Any]) -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, client.ping)
        request = await server.take()
        await server.put({**answer, "id": request["id"]})
        with pytest.raises(BadAnswer, match="answer to ping is malformed"):
            await call.wait()
        await server.still_works(client, tasks)


async def test_an_error_of_null_beside_a_result_is_no_error() -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, lambda: client.request("x"))
        request = await server.take()
        await server.put({"jsonrpc": "2.0", "id": request["id"], "result": 5, "error": None})
        assert await call.wait() == 5


async def test_a_result_that_is_no_object_is_a_bad_answer() -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("x"))
        await server.answer(await server.take(), "hello")
        with pytest.raises(BadAnswer, match="tools/call is not an object"):
            await call.wait()


@pytest.mark.parametrize("garbage", ["", "{", "nope", "[", "7", "null", '"x"', "[7]", "{}", '{"method":7}',
    '{"id":NaN}', '{"jsonrpc":"2.0","method":"x","params":[1]}', '{"jsonrpc":"2.0","method":"x","id":{}}',
    '{"jsonrpc":"2.0","method":"x","id":true}', '{"jsonrpc":"2.0","result":{},"id":true}'])  # fmt: skip
async def test_a_frame_that_cannot_be_read_is_skipped(garbage: str) -> None:
    async with connected() as (client, server, tasks):
        await server.put(garbage)
        await server.still_works(client, tasks)


async def test_field_62_a_response_without_an_id_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as (client, server, tasks):
        await server.put({"jsonrpc": "2.0", "id": None, "result": {}})
        await server.put({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}})
        await server.still_works(client, tasks)
    assert "Parse error" in caplog.text


async def test_answers_that_nobody_waits_for_are_dropped() -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, lambda: client.request("x"))
        request = await server.take()
        await server.put(
            {"jsonrpc": "2.0", "id": 99, "result": "unknown"},
            {"jsonrpc": "2.0", "id": str(request["id"]), "result": "as text"},
            {"jsonrpc": "2.0", "id": float(request["id"]), "result": "as a float"},
        )
        await server.answer(request, "first")
        await server.answer(request, "again")
        assert await call.wait() == "first"
        await server.still_works(client, tasks)


async def test_a_batch_of_answers_is_taken_one_by_one() -> None:
    async with connected(protocol="2025-03-26") as (client, server, tasks):
        calls = [beside(tasks, lambda: client.request("x")) for _ in range(2)]
        requests = [await server.take() for _ in calls]
        await server.put([{"jsonrpc": "2.0", "id": request["id"], "result": request["id"]} for request in requests])
        assert sorted([await call.wait() for call in calls]) == [request["id"] for request in requests]


async def test_what_cannot_be_encoded_is_refused_before_anything_is_sent() -> None:
    async with connected() as (client, server, tasks):
        with pytest.raises(ValueError, match=r".+"):
            await client.call("x", {"bad": object()})
        await server.still_works(client, tasks)


async def test_a_message_too_large_for_the_channel_fails_alone() -> None:
    async with connected(limit=2000) as (client, server, tasks):
        with pytest.raises(ValueError, match="the message is"):
            await client.call("x", {"text": "y" * 3000})
        await server.still_works(client, tasks)


# Lists, resources and the rest


async def test_lists_are_read_page_after_page() -> None:
    async with connected() as (client, server, tasks):
        tools = beside(tasks, client.tools)
        first = await server.take()
        assert first["method"] == "tools/list"
        assert "params" not in first
        await server.answer(first, {"tools": [{"name": "a"}, 7], "nextCursor": "p2"})
        second = await server.take()
        assert second["params"] == {"cursor": "p2"}
        await server.answer(second, {"tools": [{"name": "b"}]})
        assert await tools.wait() == [{"name": "a"}, {"name": "b"}]


async def test_a_list_that_does_not_end_or_is_none_is_a_bad_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_PAGES", 2)
    async with connected() as (client, server, tasks):
        resources = beside(tasks, client.resources)
        for _ in range(2):
            await server.answer(await server.take(), {"resources": [], "nextCursor": "again"})
        with pytest.raises(BadAnswer, match="does not end"):
            await resources.wait()
        tools = beside(tasks, client.tools)
        await server.answer(await server.take(), {"resources": []})
        with pytest.raises(BadAnswer, match="tools/list has no tools"):
            await tools.wait()


async def test_resources_are_read_and_followed() -> None:
    changes: list[Any] = []
    async with connected(on_change=changes.append) as (client, server, tasks):
        read = beside(tasks, lambda: client.read("x://a"))
        request = await server.take()
        assert (request["method"], request["params"]) == ("resources/read", {"uri": "x://a"})
        await server.answer(request, {"contents": [{"uri": "x://a", "text": "1"}]})
        assert await read.wait() == [{"uri": "x://a", "text": "1"}]

        for method, make in (("subscribe", client.subscribe), ("unsubscribe", client.unsubscribe)):
            done = beside(tasks, lambda make=make: make("x://a"))
            request = await server.take()
            assert (request["method"], request["params"]) == (f"resources/{method}", {"uri": "x://a"})
            await server.answer(request, {})
            await done.wait()

        await server.tell("notifications/resources/updated", {"uri": "x://a"})
        await server.tell("notifications/resources/updated", {"uri": 7})
        await server.tell("notifications/resources/list_changed")
        await server.tell("notifications/tools/list_changed", {})
        await server.tell("notifications/prompts/list_changed")
        await server.still_works(client, tasks)
    assert changes == [ResourceUpdated("x://a"), ResourcesChanged(), ToolsChanged()]


async def test_a_read_without_contents_is_a_bad_answer() -> None:
    async with connected() as (client, server, tasks):
        read = beside(tasks, lambda: client.read("x://a"))
        await server.answer(await server.take(), {"contents": None})
        with pytest.raises(BadAnswer, match="has no contents"):
            await read.wait()


async def test_any_notification_can_be_sent() -> None:
    async with connected() as (client, server, _):
        await client.notify("notifications/roots/list_changed")
        assert await server.take() == {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


async def test_what_the_server_logs_is_passed_on() -> None:
    logs: list[Log] = []
    async with connected(on_log=logs.append) as (client, server, tasks):
        await server.tell("notifications/message", {"level": "info", "data": {"n": 1}, "logger": "shop"})
        await server.tell("notifications/message", {"level": "error", "data": "x", "logger": 7})
        await server.tell("notifications/message", {"level": 3})
        await server.still_works(client, tasks)
    assert logs == [Log("info", {"n": 1}, "shop"), Log("error", "x", None)]


async def test_a_callback_that_fails_is_logged_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(change: object) -> None:
        raise ZeroDivisionError("oops")

    async with connected(on_change=broken) as (client, server, tasks):
        await server.tell("notifications/tools/list_changed")
        await server.still_works(client, tasks)
    assert "A callback of an MCP client failed" in caplog.text


# Progress


async def test_progress_goes_to_the_call_it_belongs_to_and_none_comes_after_the_answer() -> None:
    for_all: list[Progress] = []
    for_one: list[Progress] = []
    async with connected(on_progress=for_all.append) as (client, server, tasks):
        calls = [
            beside(tasks, lambda: client.call("a")),
            beside(tasks, lambda: client.call("b", progress=for_one.append, meta={"k": 1})),
        ]
        requests = {request["params"]["name"]: request for request in [await server.take() for _ in calls]}
        assert requests["b"]["params"]["_meta"] == {"k": 1, "progressToken": requests["b"]["id"]}
        for name, token in (("a", requests["a"]["id"]), ("b", requests["b"]["id"])):
            await server.tell("notifications/progress", {"progressToken": token, "progress": 1, "total": 4})
            await server.tell("notifications/progress", {"progressToken": token, "progress": 1.5, "message": name})
            await server.tell("notifications/progress", {"progressToken": token, "progress": "far"})
            await server.tell("notifications/progress", {"progressToken": str(token), "progress": 3})
            await server.answer(requests[name], TEXT)
            await server.tell("notifications/progress", {"progressToken": token, "progress": 4})  # row 67
        for call in calls:
            await call.wait()
        await server.still_works(client, tasks)
    assert for_all == [Progress("a", 1, 4), Progress("a", 1.5, None, "a")]
    assert for_one == [Progress("b", 1, 4), Progress("b", 1.5, None, "b")]


# Giving up


async def test_field_66_a_cancelled_call_is_told_to_the_server_and_its_late_answer_dropped() -> None:
    async with connected() as (client, server, tasks):
        with anyio.CancelScope() as scope:

            async def cancel_when_sent() -> dict[str, Any]:
                request = await server.take()
                scope.cancel()
                return request

            sent = beside(tasks, cancel_when_sent)
            await client.call("slow")
        request = await sent.wait()
        assert scope.cancelled_caught
        assert await server.take() == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": request["id"], "reason": "The caller gave it up"},
        }
        await server.answer(request, TEXT)
        await server.still_works(client, tasks)


@pytest.mark.parametrize(("own", "of_call"), [(0.05, None), (None, 0.05), (60, 0.05)])
async def test_a_request_whose_time_runs_out_is_told_to_the_server(own: float | None, of_call: float | None) -> None:
    async with connected(timeout=own) as (client, server, _):
        with pytest.raises(RequestTimeout, match=r"tools/call slow: no answer within 0\.05 s") as raised:
            await client.call("slow", timeout=of_call)
        assert isinstance(raised.value, TimeoutError)
        request = await server.take()
        notice = await server.take()
        assert notice["params"] == {"requestId": request["id"], "reason": "No answer within 0.05 s"}


async def test_one_request_may_take_as_long_as_it_takes() -> None:
    async with connected(timeout=0.001) as (client, server, tasks):
        call = beside(tasks, lambda: client.request("slow", timeout=math.inf))
        request = await server.take()
        with pytest.raises(RequestTimeout):
            await client.ping()
        await server.answer(request, 1)
        assert await call.wait() == 1


class StuckPipe:
    """A server that reads the handshake and not a byte more."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._sent = 0

    async def send(self, text: str) -> None:
        self._sent += 1
        if self._sent > 2:
            await anyio.sleep_forever()
        await self._channel.send(text)

    async def receive(self) -> str:
        return str(await self._channel.receive())

    async def aclose(self) -> None:
        await self._channel.aclose()


async def test_giving_up_is_bounded_when_the_server_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tesseron_py.mcp.client_peer.CANCEL_NOTICE", 0.05)
    here, there = pair()
    await ByHand(there).put(initialized(1))
    with anyio.fail_after(PATIENCE):
        async with McpClient(PipeTransport(StuckPipe(here)), timeout=0.05) as client:
            with pytest.raises(RequestTimeout):
                await client.ping()


# The end


async def test_a_closed_connection_fails_every_call_at_once() -> None:
    async with connected() as (client, server, tasks):
        calls = [beside(tasks, lambda: client.call("x")) for _ in range(3)]
        for _ in calls:
            await server.take()
        await server.channel.aclose()
        errors = []
        for call in calls:
            with pytest.raises(TransportEnded, match="closed by the other end") as raised:
                await call.wait()
            errors.append(raised.value)
        assert len({id(error) for error in errors}) == 3
        with pytest.raises(TransportEnded):
            await client.ping()
        with pytest.raises(TransportEnded):
            await client.notify("x")


class Deaf:
    """Its receive waits for ever and its send fails, without any class we know."""

    async def send(self, text: str) -> None:
        raise ArithmeticError

    async def receive(self) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    async def aclose(self) -> None:
        pass


async def test_a_channel_that_fails_to_send_ends_the_request() -> None:
    with pytest.raises(TransportEnded, match="ArithmeticError"):
        async with McpClient(PipeTransport(Deaf())):
            raise AssertionError("the client must not open")


class Clinging:
    """Its close fails at first, and then hangs."""

    def __init__(self, channel: Any, *, hangs: bool) -> None:
        self.send, self.receive = channel.send, channel.receive
        self._hangs = hangs

    async def aclose(self) -> None:
        if self._hangs:
            await anyio.sleep_forever()
        raise ArithmeticError


@pytest.mark.parametrize("hangs", [True, False])
async def test_closing_is_bounded_whatever_the_channel_does(hangs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tesseron_py.mcp.client_transport.CLOSE_TIMEOUT", 0.05)
    here, there = pair()
    await ByHand(there).put(initialized(1))
    with anyio.fail_after(PATIENCE):
        async with McpClient(PipeTransport(Clinging(here, hangs=hangs))):
            pass


async def test_closing_from_another_task_fails_what_waits_and_may_be_repeated() -> None:
    async with connected() as (client, server, tasks):
        call = beside(tasks, lambda: client.call("x"))
        await server.take()
        closings = [beside(tasks, client.aclose) for _ in range(2)]
        with pytest.raises(TransportEnded, match="The client is closed"):
            await call.wait()
        for closing in closings:
            await closing.wait()
        await client.aclose()


async def test_field_88_an_exception_from_the_body_leaves_unchanged() -> None:
    here, there = pair()
    await ByHand(there).put(initialized(1))
    problem = KeyError("mine")
    with pytest.raises(KeyError) as raised:
        async with McpClient(PipeTransport(here)):
            raise problem
    assert raised.value is problem


async def test_a_client_closed_from_its_own_answer_callback_closes() -> None:
    holder: list[McpClient] = []

    async def answer(question: object) -> Accept:
        await holder[0].aclose()
        return Accept({})

    async with connected(answer=answer) as (client, server, _):
        holder.append(client)
        await server.ask("q", "elicitation/create", {"message": "?", "requestedSchema": {}})
        with pytest.raises(Exception, match="closed"), anyio.fail_after(PATIENCE):
            await server.channel.receive()


async def test_garbage_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tesseron_py")
    async with connected() as (client, server, tasks):
        await server.put('{"secret": tok-123')
        await server.still_works(client, tasks)
    assert "not JSON" in caplog.text
    assert "tok-123" not in caplog.text
