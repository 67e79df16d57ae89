"""An MCP server on a pair of pipes: in this process over memory, and as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from desk import EVERYTHING, value_of
from fixture_provider import FixtureProvider
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.mcp.limits import EndpointLimits
from tesseron_py.mcp.pipes import LineTooLong, TooLong
from tesseron_py.mcp.stdio import serve

FIXTURE = Path(__file__).with_name("fixture_provider.py")


class Client:
    """A client that sends and reads lines, and tells responses from what the server says by itself."""

    def __init__(self, send: Callable[[str], Awaitable[None]], receive: Callable[[], Awaitable[str]]) -> None:
        self.send_line = send
        self._receive = receive
        self._others: list[dict[str, Any]] = []
        self._ids = 0

    async def send(self, **members: Any) -> None:
        await self.send_line(json.dumps({"jsonrpc": "2.0", **members}))

    async def read(self) -> dict[str, Any]:
        with anyio.fail_after(10):
            message: dict[str, Any] = json.loads(await self._receive())
        assert message["jsonrpc"] == "2.0"
        return message

    async def next(self, method: str | None = None) -> dict[str, Any]:
        """The next message that is no response."""
        message = self._others.pop(0) if self._others else await self.read()
        assert method is None or message.get("method") == method, message
        return message

    async def response(self, id: Any) -> dict[str, Any]:
        while True:
            message = await self.read()
            if "method" not in message and message.get("id") == id:
                return message
            self._others.append(message)

    async def start(self, method: str, params: Any = None, *, id: Any = None) -> Any:
        if id is None:
            self._ids += 1
            id = self._ids
        await self.send(id=id, method=method, **({} if params is None else {"params": params}))
        return id

    async def request(self, method: str, params: Any = None) -> Any:
        response = await self.response(await self.start(method, params))
        assert "result" in response, response
        return response["result"]

    async def calling(self, tool: str, arguments: Any = None, *, id: Any = None) -> Any:
        return await self.start("tools/call", {"name": tool, "arguments": arguments or {}}, id=id)

    async def call(self, tool: str, arguments: Any = None) -> Any:
        return value_of((await self.response(await self.calling(tool, arguments)))["result"])

    async def answer(self, prompt: dict[str, Any], action: str = "accept", **content: Any) -> None:
        await self.send(id=prompt["id"], result={"action": action, "content": content})

    async def initialize(self, version: str = "2025-11-25") -> Any:
        params = {"protocolVersion": version, "capabilities": EVERYTHING, "clientInfo": {"name": "c", "version": "1"}}
        result = await self.request("initialize", params)
        await self.send(method="notifications/initialized")
        return result


@asynccontextmanager
async def served(
    provider: FixtureProvider | None = None, *, initialize: bool = True, **limits: Any
) -> AsyncIterator[tuple[Client, MemoryChannel]]:
    """A client of a server in this process; at the end its input ends, and the server must follow."""
    provider = provider or FixtureProvider()
    here, there = pair()
    client = Client(there.send, there.receive)
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await serve(here, provider, limits=EndpointLimits(**limits), closed=Closed)

        group.start_soon(run)
        if initialize:
            await client.initialize()
        yield client, there
        await there.aclose()
        with anyio.fail_after(5, shield=True):
            await provider.home.aclose()


# In this process --------------------------------------------------------------------------------------------------


async def test_requests_are_answered_and_questions_asked() -> None:
    async with served() as (client, _):
        assert await client.call("echo", {"value": "Zoë \u2028 \U0001f600"}) == "Zoë \u2028 \U0001f600"
        id = await client.calling("confirm")
        await client.answer(await client.next("elicitation/create"), approve=True)
        result = (await client.response(id))["result"]
        assert value_of(result) == {"reply": "Accept", "content": {"approve": True}}


async def test_field_43_while_a_person_reads_everything_else_goes_on() -> None:
    async with served() as (client, _):
        asking = await client.calling("confirm")
        prompt = await client.next("elicitation/create")
        assert await client.call("echo", {"value": 1}) == 1
        assert await client.request("ping") == {}
        await client.answer(prompt, "decline")
        assert value_of((await client.response(asking))["result"])["reply"] == "Decline"


async def test_field_64_after_a_cancelled_call_the_next_is_answered() -> None:
    async with served() as (client, _):
        id = await client.calling("slow", id="x")
        await client.send(method="notifications/cancelled", params={"requestId": id})
        assert await client.call("echo", {"value": 2}) == 2
        assert client._others == []


async def test_field_60_garbage_is_told_under_a_null_id_and_the_next_works() -> None:
    async with served() as (client, _):
        await client.request("ping")
        for garbage in ("{", "nope", '{"a":NaN}', "[" * 300):
            await client.send_line(garbage)
            reply = await client.read()
            assert (reply["id"], reply["error"]["code"]) == (None, -32700)
        assert await client.call("echo", {"value": 3}) == 3


async def test_field_59_a_batch_is_one_error() -> None:
    async with served() as (client, _):
        await client.send_line('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]')
        reply = await client.read()
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)
        assert await client.request("ping") == {}


async def test_field_56_a_null_id_is_refused() -> None:
    async with served() as (client, _):
        await client.send(id=None, method="ping")
        reply = await client.read()
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)


async def test_empty_lines_and_malformed_notifications_are_passed_over() -> None:
    async with served() as (client, _):
        for line in ("", "  ", "\r", '{"jsonrpc":"2.0","method":5}', '{"jsonrpc":"2.0","id":9,"result":{}}'):
            await client.send_line(line)
        assert await client.request("ping") == {}


async def test_a_message_that_is_none_answers_the_prompt_it_names() -> None:
    async with served() as (client, _):
        id = await client.calling("confirm")
        prompt = await client.next("elicitation/create")
        await client.send(id=prompt["id"], approve=True)
        assert value_of((await client.response(id))["result"]) == {"reply": "Malformed", "raw": None}
        await client.send(id=7)
        assert (await client.read())["error"]["code"] == -32600


YES = '{"action":"accept","content":{"approve":true,"x":%s}}'


@pytest.mark.parametrize("x", ["NaN", "1e400", "9" * 5000, "[" * 250 + "]" * 250, '"\\ud800"', "7}"])
@pytest.mark.parametrize(
    "envelope", ['{"jsonrpc":"2.0","id":"ID","result":%s}', '{"result":%s,"jsonrpc":"2.0","id":"ID"}']
)
async def test_an_answer_that_cannot_be_read_is_no_yes_and_nothing_goes_back(envelope: str, x: str) -> None:
    async with served() as (client, _):
        id = await client.calling("confirm")
        prompt = await client.next("elicitation/create")
        line = envelope.replace("ID", prompt["id"]) % (YES % x)
        await client.send_line(line)
        assert value_of((await client.response(id))["result"]) == {"reply": "Malformed", "raw": None}
        await client.send_line(line)  # late, too
        assert await client.request("ping") == {}
        assert client._others == []


async def test_an_unreadable_answer_to_nothing_is_told_and_harms_no_prompt() -> None:
    async with served() as (client, _):
        id = await client.calling("confirm")
        prompt = await client.next("elicitation/create")
        for other in ("q-2", "q-0", "q-01", "q-x", "x", "q-" + "9" * 40):
            await client.send_line(json.dumps({"jsonrpc": "2.0", "id": other, "result": float("nan")}))
            reply = await client.read()
            assert (reply["id"], reply["error"]["code"]) == (None, -32700)
        await client.answer(prompt, "decline")
        assert value_of((await client.response(id))["result"])["reply"] == "Decline"


async def test_an_unreadable_request_is_told_under_its_id() -> None:
    async with served() as (client, _):
        await client.send_line('{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","x":NaN}}')
        assert (await client.response("a"))["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("head", "tail"),
    [(b'{"jsonrpc":"2.0","id":"q-1","result":{"action":"acc', b"}}"), (b'{"result":{', b'},"id":"q-1"}')],
)
async def test_field_83_an_answer_that_is_too_long_ends_its_question(head: bytes, tail: bytes) -> None:
    here, there = pair()
    client = Client(there.send, there.receive)

    class Lines:
        limit = here.limit
        send = here.send

        async def receive(self) -> str:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                return await here.receive()
            scopes.clear()
            raise LineTooLong("the line is longer than 10 bytes; it was skipped", TooLong(head, tail))

    scopes: list[anyio.CancelScope] = []
    provider = FixtureProvider()

    async def run() -> None:
        await serve(Lines(), provider, closed=Closed)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await client.initialize()
        id = await client.calling("confirm")
        assert (await client.next("elicitation/create"))["id"] == "q-1"
        for _ in range(2):
            await anyio.wait_all_tasks_blocked()
            scopes[-1].cancel()
        assert value_of((await client.response(id))["result"]) == {"reply": "Malformed", "raw": None}
        assert await client.request("ping") == {}
        assert client._others == []
        await there.aclose()
    await provider.home.aclose()


async def test_the_era_is_no_matter_of_the_pipe() -> None:
    async with served(initialize=False) as (client, _):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        error = (await client.response(await client.start("server/discover", {"_meta": meta})))["error"]
        assert error["code"] == -32602
        modern = {"_meta": {**meta, "io.modelcontextprotocol/clientCapabilities": {}}}
        discovered = (await client.response(await client.start("server/discover", modern)))["result"]
        assert discovered["supportedVersions"] == ["2026-07-28"]
        assert (await client.initialize("2024-11-05"))["protocolVersion"] == "2024-11-05"
        assert await client.call("echo", {"value": 1}) == 1
        called = await client.start("tools/call", {"name": "echo", "arguments": {"value": 2}, **modern})
        assert (await client.response(called))["result"]["resultType"] == "complete"
        assert await client.call("echo", {"value": 3}) == 3


async def test_changes_are_told_in_between() -> None:
    provider = FixtureProvider()
    async with served(provider) as (client, _):
        await client.request("resources/subscribe", {"uri": "test://text"})
        assert await client.call("touch", {"uri": "test://text"}) == "touched"
        assert (await client.next("notifications/resources/updated"))["params"] == {"uri": "test://text"}
        assert await client.call("grow") == "grown"
        await client.next("notifications/tools/list_changed")
        assert (await client.request("tools/list"))["tools"][-1]["name"] == "grown"


async def test_at_the_end_of_input_calls_are_cancelled_and_prompts_withdrawn() -> None:
    provider = FixtureProvider()
    here, there = pair()
    client = Client(there.send, there.receive)
    ended = anyio.Event()
    said: list[str] = []

    class HalfClosed:
        """A client whose input has ended and that still reads."""

        limit = here.limit

        async def receive(self) -> str:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                return await here.receive()
            raise EOFError

        async def send(self, text: str) -> None:
            said.append(text)
            await here.send(text)

    scopes: list[anyio.CancelScope] = []

    async def run() -> None:
        await serve(HalfClosed(), provider)
        ended.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await client.initialize()
            await client.calling("confirm")
            prompt = await client.next("elicitation/create")
            scopes[-1].cancel()
            assert (await client.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
            await ended.wait()
        await provider.event("ended confirm").wait()
    assert provider.ended == {"confirm": "cancelled"}
    assert provider.clients == []
    assert len(provider.detached) == 1
    assert json.loads(said[-1])["method"] == "notifications/cancelled"
    await provider.home.aclose()


async def test_a_server_that_is_cancelled_withdraws_its_prompts_first() -> None:
    provider = FixtureProvider()
    here, there = pair()
    client = Client(there.send, there.receive)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await serve(here, provider, closed=Closed)

            group.start_soon(run)
            await client.initialize()
            await client.calling("confirm")
            prompt = await client.next("elicitation/create")
            group.cancel_scope.cancel()
        assert (await client.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
    assert provider.clients == []
    await provider.home.aclose()


async def test_a_client_that_stops_reading_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck:
        limit = 1_000_000

        def __init__(self) -> None:
            self.lines = [
                json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}) for n in range(50)
            ]  # more than may be unsent

        async def receive(self) -> str:
            if not self.lines:
                await anyio.sleep_forever()
            return self.lines.pop()

        async def send(self, text: str) -> None:
            await anyio.sleep_forever()

    stuck = Stuck()
    with anyio.fail_after(5):
        await serve(stuck, FixtureProvider(), limits=EndpointLimits(write_deadline=0.05, unsent=3))
    assert "has read nothing for 0.05 s" in caplog.text
    assert len(stuck.lines) > 40


async def test_a_client_that_leaves_mid_prompt_unblocks_the_handler() -> None:
    provider = FixtureProvider()
    async with served(provider) as (client, channel):
        await client.calling("confirm")
        await client.next("elicitation/create")
        await channel.aclose()
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
            await provider.event("detached").wait()


async def test_a_client_that_takes_no_more_while_calls_run() -> None:
    class Deaf:
        limit = 1_000_000

        def __init__(self) -> None:
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "confirm"}}
            params = {"protocolVersion": "2025-11-25", "capabilities": EVERYTHING}
            start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
            self.lines = [json.dumps(call), json.dumps(start)]
            self.sent = 0

        async def receive(self) -> str:
            if not self.lines:
                await anyio.sleep_forever()
            return self.lines.pop()

        async def send(self, text: str) -> None:
            self.sent += 1
            if self.sent > 1:
                raise EOFError("closed")

    provider = FixtureProvider()
    with anyio.fail_after(5):
        await serve(Deaf(), provider)
        await provider.event("ended confirm").wait()
    await provider.home.aclose()


async def test_a_line_that_is_too_long_is_told_and_the_next_works() -> None:
    class Lines:
        limit = 1_000_000

        def __init__(self) -> None:
            self.sent: list[Any] = []
            self.incoming: list[Any] = [
                LineTooLong("the line is longer than 10 bytes; it was skipped"),
                b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
                EOFError(),
            ]

        async def receive(self) -> bytes:
            item = self.incoming.pop(0)
            if isinstance(item, Exception):
                raise item
            return item

        async def send(self, text: str) -> None:
            self.sent.append(json.loads(text))

    lines = Lines()
    await serve(lines, FixtureProvider())
    assert lines.sent[0]["error"] == {
        "code": -32600,
        "message": "Invalid request: the line is longer than 10 bytes; it was skipped",
    }
    assert lines.sent[1] == {"jsonrpc": "2.0", "id": 1, "result": {}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": json_values | st.sampled_from(["q-1", 1]),
        "method": st.sampled_from(["ping", "tools/call", "initialize", "notifications/cancelled", "resources/read"])
        | json_values,
        "params": json_values
        | st.fixed_dictionaries({"name": st.just("echo")}, optional={"arguments": json_values, "_meta": json_values}),
        "result": json_values,
        "error": json_values,
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(st.text() | members.map(json.dumps) | json_values.map(json.dumps), max_size=8))
async def test_no_input_ends_the_session(lines: list[str], anyio_backend: str) -> None:
    async with served() as (client, _):
        for line in lines:
            await client.send_line(line)
        await client.start("initialize", {"protocolVersion": "2025-11-25"}, id="again")
        await client.response("again")
        assert await client.call("echo", {"value": "alive"}) == "alive"


# As a process -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def process(backend: str, **options: Any) -> AsyncIterator[tuple[Client, anyio.abc.Process]]:
    """A client of the fixture as a process of its own."""
    command = [sys.executable, str(FIXTURE), "stdio", backend]
    env = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUNBUFFERED": ""}
    async with await anyio.open_process(command, env=env, stderr=subprocess.PIPE, **options) as running:
        buffered = bytearray()

        async def send(line: str) -> None:
            await running.stdin.send(line.encode() + b"\n")

        async def receive() -> str:
            while b"\n" not in buffered:
                buffered.extend(await running.stdout.receive())
            line, _, rest = bytes(buffered).partition(b"\n")
            buffered[:] = rest
            return line.decode()

        try:
            yield Client(send, receive), running
        finally:
            if running.returncode is None:
                running.kill()


@pytest.mark.parametrize("server", ["asyncio", "trio"])
async def test_a_process_from_its_first_line_to_its_last(server: str) -> None:
    async with process(server) as (client, running):
        await client.initialize()
        assert await client.call("echo", {"value": "Жук \U0001f41e \u2028 \x85"}) == "Жук \U0001f41e \u2028 \x85"
        assert len(await client.call("big", {"size": 3_000_000})) == 3_000_000
        # What a tool prints is not for the client, and what it reads is not the client's.
        assert await client.call("printer") == ""
        id = await client.calling("confirm")
        await client.answer(await client.next("elicitation/create"), approve=True)
        assert value_of((await client.response(id))["result"])["content"] == {"approve": True}
        await client.calling("confirm")
        prompt = await client.next("elicitation/create")
        began = anyio.current_time()
        await running.stdin.aclose()
        with anyio.fail_after(5):
            assert (await client.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
            assert await running.wait() == 0
        assert anyio.current_time() - began < 2
        stderr = b""
        with anyio.fail_after(5):
            async for chunk in running.stderr:
                stderr += chunk
        assert stderr.splitlines() == [b"a print of \\U0001f600", b"and unflushed"]


async def test_a_line_above_the_limit_is_skipped_within_bounded_memory() -> None:
    async with process("asyncio") as (client, running):
        await client.initialize()
        chunk = b"x" * 1_000_000
        for _ in range(20):
            await running.stdin.send(chunk)
        await running.stdin.send(b"\n")
        reply = await client.read()
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)
        assert await client.call("echo", {"value": 1}) == 1


def test_a_regular_file_as_input_is_served_to_its_end(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n'
        '{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
    )
    for backend in ("asyncio", "trio"):
        with script.open() as incoming:
            done = subprocess.run(
                [sys.executable, str(FIXTURE), "stdio", backend],
                stdin=incoming,
                capture_output=True,
                timeout=30,
                check=True,
            )
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        assert [reply["id"] for reply in replies] == [1, 2]
        assert done.stderr == b""
