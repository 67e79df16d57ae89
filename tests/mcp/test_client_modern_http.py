"""The modern era over HTTP: headers, arguments in headers, streams, and a response closed to cancel its call."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from client_peers import PATIENCE, HttpRequest, RawHttp, discovered, raw_http
from test_client import TEXT, beside
from test_client_modern import asks

from tesseron_py.invocation import Accept
from tesseron_py.mcp.client import Log, McpClient, McpError, NoAnswer, Progress, Question, RequestTimeout
from tesseron_py.mcp.client_http import HttpTransport
from tesseron_py.mcp.provider import ResourceUpdated, ToolsChanged

REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


def answer_to(request: HttpRequest, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.json["id"], "result": result}


def error_to(request: HttpRequest, code: int, message: str = "No") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.json["id"], "error": {"code": code, "message": message}}


@asynccontextmanager
async def connected(server: RawHttp, **options: Any) -> AsyncIterator[McpClient]:
    with anyio.fail_after(PATIENCE):
        async with McpClient(HttpTransport(server.url, token="t-1"), era="modern", **options) as client:
            yield client


class Tools:
    """Lists tools whose first has `region` in a header, and refuses a call without it once it was told to."""

    def __init__(self, server: RawHttp, schema: dict[str, Any] | None = None, **more: Any) -> None:
        self.schema: dict[str, Any] = REGION if schema is None else schema
        self.more = more
        self.strict = False
        self.listed = 0
        self.called: list[dict[str, str]] = []
        server.on["tools/list"] = self.list
        server.on["tools/call"] = self.call

    async def list(self, request: HttpRequest) -> None:
        self.listed += 1
        tools = [{"name": "sql", "inputSchema": self.schema}]
        await request.respond_json(answer_to(request, {"tools": tools, **self.more}))

    async def call(self, request: HttpRequest) -> None:
        self.called.append(request.headers)
        if self.strict and "mcp-param-region" not in request.headers:
            await request.respond_json(error_to(request, -32020), "400 Bad Request")
        else:
            await request.respond_json(answer_to(request, TEXT))


async def test_every_request_has_its_headers_and_there_is_no_session() -> None:
    async with raw_http() as server:
        Tools(server)

        async def read(request: HttpRequest) -> None:
            await request.respond_json(answer_to(request, {"contents": []}), mcp_session_id="not-wanted")

        server.on["resources/read"] = read
        async with connected(server) as client:
            await client.call("sql", {"region": " é "})
            await client.read("x://ü")
            await client.notify("notifications/x")
            await client.ping()
        said = [
            [request.headers.get(name) for name in ("mcp-method", "mcp-name", "mcp-param-region")]
            for request in server.seen
        ]
        assert said == [
            ["server/discover", None, None],
            ["tools/list", None, None],
            ["tools/call", "sql", "=?base64?IMOpIA==?="],
            ["resources/read", "=?base64?eDovL8O8?=", None],
            ["notifications/x", None, None],
            ["server/discover", None, None],
        ]
        for request in server.seen:
            assert request.method == "POST"
            assert request.headers["mcp-protocol-version"] == "2026-07-28"
            assert request.headers["accept"] == "application/json, text/event-stream"
            assert request.headers["authorization"] == "Bearer t-1"
            assert "mcp-session-id" not in request.headers


async def test_the_list_of_tools_is_read_once_for_many_calls() -> None:
    async with raw_http() as server:
        tools = Tools(server)
        async with connected(server) as client, anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(client.call, "sql", {"region": "eu"})
        assert tools.listed == 1
        assert [headers["mcp-param-region"] for headers in tools.called] == ["eu"] * 5


async def test_the_list_is_read_again_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_http() as server:
        tools = Tools(server, ttlMs=1)
        async with connected(server) as client:
            for _ in range(2):
                await client.call("sql", {"region": "eu"})
                await anyio.sleep(0.01)
        assert tools.listed == 2


async def test_a_list_that_the_caller_reads_is_remembered_without_the_tools_that_must_not_be_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with raw_http() as server:
        tools = Tools(server, {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}})
        async with connected(server) as client:
            assert await client.tools() == []
            tools.schema = REGION
            assert [tool["name"] for tool in await client.tools()] == ["sql"]
            await client.call("sql", {"region": "eu"})
        assert tools.listed == 2
        assert tools.called[0]["mcp-param-region"] == "eu"
    assert "'sql' is left out" in caplog.text


async def test_a_call_refused_for_its_headers_is_sent_again_with_those_of_the_new_list() -> None:
    async with raw_http() as server:
        tools = Tools(server, {})
        tools.strict = True
        async with connected(server) as client:
            await client.tools()
            tools.schema = REGION
            assert (await client.call("sql", {"region": "eu"})).text == "hello"
            assert [headers.get("mcp-param-region") for headers in tools.called] == [None, "eu"]

            with pytest.raises(McpError) as raised:  # the list tells nothing new, so that is the answer
                await client.call("sql", {})
            assert raised.value.code == -32020
        assert len(tools.called) == 3


@pytest.mark.parametrize("how", ["an error", "nonsense", "no end"])
async def test_a_list_that_cannot_be_read_keeps_nobody_from_calling(how: str) -> None:
    async with raw_http() as server:
        Tools(server)

        async def list(request: HttpRequest) -> None:
            if how == "an error":
                await request.respond_json(error_to(request, -32601), "404 Not Found")
            else:
                await request.respond_json(answer_to(request, 7 if how == "nonsense" else {"nextCursor": "again"}))

        server.on["tools/list"] = list
        async with connected(server) as client:
            assert (await client.call("sql", {"region": "eu"})).text == "hello"
        assert len(server.requests("tools/list")) == (100 if how == "no end" else 1)


async def test_the_time_of_a_call_has_the_list_in_it() -> None:
    async with raw_http() as server:

        async def list(request: HttpRequest) -> None:
            await request.gone()

        server.on["tools/list"] = list
        async with connected(server) as client:
            with pytest.raises(RequestTimeout, match=r"tools/call sql: no answer within 0\.1 s"):
                await client.call("sql", timeout=0.1)
        assert server.requests("tools/call") == []


async def test_progress_and_logs_come_on_the_stream_of_the_call_and_a_question_ends_it() -> None:
    seen: list[Any] = []

    async def accept(question: Question) -> Accept:
        seen.append(question.message)
        return Accept({"qty": 1})

    async with raw_http() as server:
        Tools(server)

        async def call(request: HttpRequest) -> None:
            await request.open_events()
            token = request.json["params"]["_meta"]["progressToken"]
            for method, params in (
                ("notifications/progress", {"progressToken": token, "progress": 1}),
                ("notifications/message", {"level": "info", "data": "going"}),
            ):
                await request.event({"jsonrpc": "2.0", "method": method, "params": params})
            again = "inputResponses" in request.json["params"]
            await request.event(answer_to(request, TEXT if again else asks("?")))

        server.on["tools/call"] = call
        async with connected(server, answer=accept, on_progress=seen.append, on_log=seen.append) as client:
            assert (await client.call("sql")).text == "hello"
    assert seen == [Progress("sql", 1), Log("info", "going"), "?", Progress("sql", 1), Log("info", "going")]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("how", ["timeout", "cancelled"])
async def test_a_call_given_up_closes_its_response_and_says_nothing(streams: bool, how: str) -> None:
    async with raw_http() as server:
        Tools(server)
        running, gone = anyio.Event(), anyio.Event()

        async def call(request: HttpRequest) -> None:
            if streams:
                await request.open_events()
            running.set()
            await request.gone()
            gone.set()

        server.on["tools/call"] = call
        async with connected(server) as client, anyio.create_task_group() as tasks:
            if how == "timeout":
                with pytest.raises(RequestTimeout):
                    await client.call("sql", timeout=0.2)
            else:
                tasks.start_soon(client.call, "sql")
                await running.wait()
                tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                started = anyio.current_time()
                await gone.wait()
                assert anyio.current_time() - started < 0.9  # at once, and not when it has lingered
        assert server.requests("notifications/cancelled") == []


async def test_a_broken_response_is_no_reason_to_call_again() -> None:
    async with raw_http() as server:
        Tools(server)

        async def call(request: HttpRequest) -> None:
            await request.open_events()

        server.on["tools/call"] = call
        async with connected(server) as client:
            with pytest.raises(NoAnswer, match="ended the stream without an answer"):
                await client.call("sql")
        assert len(server.requests("tools/call")) == 1


async def test_changes_come_on_the_response_of_a_subscription_and_make_the_list_old() -> None:
    changes: list[Any] = []
    changed = anyio.Event()

    def on_change(change: object) -> None:
        changes.append(change)
        if len(changes) == 2:
            changed.set()

    async with raw_http() as server:
        tools = Tools(server)
        closed = anyio.Event()

        async def discover(request: HttpRequest) -> None:
            await request.respond_json(discovered(request.json["id"], capabilities={"tools": {"listChanged": True}}))

        async def listen(request: HttpRequest) -> None:
            await request.open_events()
            params = request.json["params"]["notifications"]
            for method, more in (
                ("notifications/subscriptions/acknowledged", {"notifications": params}),
                ("notifications/tools/list_changed", {}),
            ):
                # One without the tag: over HTTP the stream says whose it is.
                await request.event({"jsonrpc": "2.0", "method": method, "params": more})
            meta = {"io.modelcontextprotocol/subscriptionId": request.json["id"]}
            updated = {"uri": "x://a", "_meta": meta}
            await request.event({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": updated})
            await request.gone()
            closed.set()

        server.on |= {"server/discover": discover, "subscriptions/listen": listen}
        async with connected(server, on_change=on_change) as client:
            await changed.wait()
            await client.call("sql", {"region": "eu"})
            await client.call("sql", {"region": "eu"})
            assert tools.listed == 1
        await closed.wait()
    assert changes == [ToolsChanged(), ResourceUpdated("x://a")]


async def test_a_change_of_the_tools_has_their_list_read_again() -> None:
    changed = anyio.Event()
    tell = anyio.Event()
    async with raw_http() as server:
        tools = Tools(server)

        async def discover(request: HttpRequest) -> None:
            await request.respond_json(discovered(request.json["id"], capabilities={"tools": {"listChanged": True}}))

        async def listen(request: HttpRequest) -> None:
            await request.open_events()
            acknowledged = {"notifications": request.json["params"]["notifications"]}
            await request.event(
                {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": acknowledged}
            )
            await tell.wait()
            await request.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            await request.gone()

        server.on |= {"server/discover": discover, "subscriptions/listen": listen}
        async with connected(server, on_change=lambda change: changed.set()) as client:
            await client.call("sql", {"region": "eu"})
            tell.set()
            await changed.wait()
            await client.call("sql", {"region": "eu"})
        assert tools.listed == 2


async def test_closing_is_quick_while_a_question_is_open_and_a_stream_runs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    thinking = anyio.Event()

    async def answer(question: Question) -> Accept:
        thinking.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with raw_http() as server:
        Tools(server)

        async def call(request: HttpRequest) -> None:
            await request.respond_json(answer_to(request, asks("?")))

        server.on["tools/call"] = call
        async with anyio.create_task_group() as tasks:
            async with connected(server, answer=answer) as client:
                asked = beside(tasks, lambda: client.call("sql"))
                await thinking.wait()
            with pytest.raises(Exception, match="The client is closed"):
                await asked.wait()
        assert [request.method for request in server.seen] == ["POST"] * 3
    assert caplog.text == ""
