"""The client over HTTP, against a server whose every byte the test decides."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from client_peers import PATIENCE, HttpRequest, RawHttp, initialized, raw_http

from tesseron_py.home import Home
from tesseron_py.invocation import Accept, Decline
from tesseron_py.mcp import client_http
from tesseron_py.mcp.client import McpClient, McpError, NoAnswer, Question, RequestTimeout, TransportEnded
from tesseron_py.mcp.client_http import HttpTransport
from tesseron_py.mcp.provider import ToolsChanged

FORM = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {}}}


def answer_to(request: HttpRequest, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.json["id"], "result": result}


@asynccontextmanager
async def connected(server: RawHttp, *, limit: int = 1_000_000, **options: Any) -> AsyncIterator[McpClient]:
    with anyio.fail_after(PATIENCE):
        async with McpClient(HttpTransport(server.url, limit=limit), **options) as client:
            yield client


# Requests and headers


async def test_every_request_says_what_streamable_http_wants_said() -> None:
    async with raw_http() as server:
        transport = HttpTransport(server.url, token="t-1", headers={"X-Tenant": "shop"})
        async with McpClient(transport) as client:
            await client.ping()
        hello, initialized, ping, delete = (
            server.requests(key)[0] for key in ("initialize", "notifications/initialized", "ping", "DELETE")
        )
        for request in (hello, initialized, ping):
            assert request.target == "/mcp"
            assert request.headers["accept"] == "application/json, text/event-stream"
            assert request.headers["content-type"] == "application/json"
        for request in server.seen:
            assert request.headers["authorization"] == "Bearer t-1"
            assert request.headers["x-tenant"] == "shop"
        assert "mcp-session-id" not in hello.headers
        assert "mcp-protocol-version" not in hello.headers
        for request in (initialized, ping, delete, *server.requests("GET")):
            assert request.headers["mcp-session-id"] == "s-1"
            assert request.headers["mcp-protocol-version"] == "2025-11-25"


@pytest.mark.parametrize("session", [None, "with space", "sn\u00f6"])
async def test_without_a_session_that_can_go_into_a_header_there_is_none(session: str | None) -> None:
    async with raw_http() as server:
        server.session = session
        async with connected(server) as client:
            await client.ping()
        assert all("mcp-session-id" not in request.headers for request in server.seen)
        assert server.requests("DELETE") == []


async def test_the_version_of_an_older_server_is_the_one_in_the_headers() -> None:
    async def hello(request: HttpRequest) -> None:
        await request.respond_json(initialized(request.json["id"], "2025-03-26"))

    async with raw_http() as server:
        server.on["initialize"] = hello
        async with connected(server) as client:
            await client.ping()
        assert server.requests("ping")[0].headers["mcp-protocol-version"] == "2025-03-26"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/json;x=y"])
async def test_parameters_of_a_content_type_do_not_matter(kind: str) -> None:
    async def ping(request: HttpRequest) -> None:
        await request.respond_json(answer_to(request, {"snow": "\u2603"}), content_type=kind)

    async with raw_http() as server:
        server.on["ping"] = ping
        async with connected(server) as client:
            assert await client.request("ping") == {"snow": "\u2603"}


# Streams


@pytest.mark.parametrize("kind", ["text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream"])
async def test_a_stream_may_say_much_before_it_answers(kind: str) -> None:
    async def call(request: HttpRequest) -> None:
        await request.open_events(kind)
        token = request.json["params"]["_meta"]["progressToken"]
        await request.event(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
        )
        for byte in b": a comment\r\nevent: other\r\ndata: nothing for us\r\n\r\nevent: message\r\n":
            await request.stream.send(bytes([byte]))
        await request.event(answer_to(request, {"content": [{"type": "text", "text": "a\u2028b"}]}))

    seen: list[float] = []
    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client:
            result = await client.call("x", progress=lambda note: seen.append(note.progress))
            assert result.text == "a\u2028b"
    assert seen == [1]


async def test_field_69_a_stream_that_ends_without_an_answer_fails_the_call_at_once() -> None:
    async def call(request: HttpRequest) -> None:
        await request.open_events()
        await request.event({"jsonrpc": "2.0", "method": "notifications/x"})

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client:
            with pytest.raises(NoAnswer, match="ended the stream without an answer"):
                await client.call("x")
            await client.ping()


async def test_field_70_an_event_with_empty_data_is_skipped() -> None:
    async def call(request: HttpRequest) -> None:
        await request.open_events()
        await request.stream.send(b"id: 1\ndata:\n\nid: 2\ndata: \n\nretry: 100\n\n")
        await request.event(answer_to(request, {"content": []}))

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client:
            assert (await client.call("x")).value == []


async def test_field_71_data_on_several_lines_is_joined() -> None:
    async def call(request: HttpRequest) -> None:
        await request.open_events()
        lines = json.dumps(answer_to(request, {"content": [], "structuredContent": {"n": 7}}), indent=1).splitlines()
        await request.stream.send(b"".join(b"data: " + line.encode() + b"\n" for line in lines) + b"\n")

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client:
            assert (await client.call("x")).value == {"n": 7}


async def test_garbage_on_a_stream_is_skipped_and_a_second_answer_dropped() -> None:
    async def call(request: HttpRequest) -> None:
        await request.open_events()
        await request.stream.send(b"data: {nope\n\ndata: 7\n\ndata: []\n\n")
        await request.event(answer_to(request, {"content": [], "structuredContent": {"n": 1}}))
        await request.event(answer_to(request, {"content": [], "structuredContent": {"n": 2}}))

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client:
            assert (await client.call("x")).value == {"n": 1}
            await client.ping()


async def test_the_answer_does_not_wait_for_the_end_of_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "LINGER", 0.1)
    closed = anyio.Event()

    async def call(request: HttpRequest) -> None:
        await request.open_events()
        await request.event(answer_to(request, {"content": []}))
        await request.gone()  # a server that leaves the stream open; the client closes it in time
        closed.set()

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client:
            await client.call("x")
            assert not closed.is_set()
            await closed.wait()


async def test_a_huge_answer_arrives_and_one_above_the_limit_fails_alone() -> None:
    async def call(request: HttpRequest) -> None:
        size, how = request.json["params"]["arguments"].values()
        result = answer_to(request, {"content": [{"type": "text", "text": "x" * size}]})
        if how == "json":
            await request.respond_json(result)
        else:
            await request.open_events()
            await request.event(result)

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server, limit=3_000_000) as client:
            for how in ("json", "sse"):
                assert len((await client.call("big", {"size": 2_500_000, "how": how})).text) == 2_500_000
                with pytest.raises(NoAnswer, match="above 3000000 bytes"):
                    await client.call("big", {"size": 3_500_000, "how": how})
            await client.ping()


async def test_a_connection_that_breaks_in_an_answer_fails_the_call() -> None:
    async def broken(request: HttpRequest) -> None:
        await request.stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")

    async def rude(request: HttpRequest) -> None:
        await request.stream.send(b"this is not HTTP\r\n\r\n")

    async with raw_http() as server:
        server.on |= {"tools/call": broken, "tools/list": rude}
        async with connected(server) as client:
            for ask in (client.tools, lambda: client.call("x")):
                with pytest.raises(NoAnswer, match="broke"):
                    await ask()
            await client.ping()


# Questions


async def test_a_question_is_answered_by_post_while_its_call_and_others_are_open() -> None:
    answered = anyio.Event()

    async def call(request: HttpRequest) -> None:
        await request.open_events()
        await request.event({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": FORM})
        await answered.wait()
        await request.event(answer_to(request, {"content": []}))

    async def answer(request: HttpRequest) -> None:
        answered.set()
        await request.respond("202 Accepted")

    asked: list[Question] = []

    async def reply(question: Question) -> Accept:
        asked.append(question)
        await client.ping()  # a second request, while the first is open
        return Accept({"qty": 7})

    async with raw_http() as server:
        server.on |= {"tools/call": call, "answer": answer}
        async with connected(server, answer=reply) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call, "order")
            await answered.wait()
        (post,) = server.requests("answer")
        assert post.json == {"jsonrpc": "2.0", "id": "q-1", "result": {"action": "accept", "content": {"qty": 7}}}
        assert post.headers["mcp-session-id"] == "s-1"
        assert post.headers["mcp-protocol-version"] == "2025-11-25"
    assert [question.call for question in asked] == ["order"]


async def test_two_calls_at_once_each_know_their_own_question() -> None:
    asked = {"a": anyio.Event(), "b": anyio.Event()}

    async def call(request: HttpRequest) -> None:
        name = request.json["params"]["name"]
        await request.open_events()
        await request.event(
            {"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": {**FORM, "message": name}}
        )
        await asked["b" if name == "a" else "a"].wait()
        await request.event(answer_to(request, {"content": []}))

    async def reply(question: Question) -> Decline:
        assert question.call == question.message
        asked[question.message].set()
        return Decline()

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server, answer=reply) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call, "a")
            tasks.start_soon(client.call, "b")


async def test_a_server_that_refuses_the_answer_fails_its_call_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "LINGER", 0.05)
    gone = anyio.Event()

    async def call(request: HttpRequest) -> None:
        await request.open_events()
        await request.event({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": FORM})
        await request.gone()
        gone.set()

    async def answer(request: HttpRequest) -> None:
        await request.respond("400 Bad Request", "no")

    async def reply(question: Question) -> Accept:
        return Accept({})

    async with raw_http() as server:
        server.on |= {"tools/call": call, "answer": answer}
        async with connected(server, answer=reply) as client:
            with pytest.raises(NoAnswer, match=r"did not take the answer to its question: .* 400 Bad Request"):
                await client.call("x")
            await gone.wait()
        (notice,) = server.requests("notifications/cancelled")
        assert notice.json["params"]["requestId"] == server.requests("tools/call")[0].json["id"]


# Giving up


@pytest.mark.parametrize("upgraded", [True, False])
async def test_a_call_given_up_is_told_and_its_connection_closed(
    upgraded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_http, "LINGER", 0.05)
    gone, withdrawn = anyio.Event(), anyio.Event()

    async def call(request: HttpRequest) -> None:
        if upgraded:
            await request.open_events()
            await request.event({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": FORM})
        await request.gone()
        gone.set()

    async def reply(question: Question) -> Accept:
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        raise AssertionError

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server, answer=reply) as client:
            with pytest.raises(RequestTimeout):
                await client.call("slow", timeout=0.3)
            await gone.wait()
            if upgraded:  # nobody is to be asked for a call that is given up
                await withdrawn.wait()
            await client.ping()
        (notice,) = server.requests("notifications/cancelled")
        assert notice.json["params"]["requestId"] == server.requests("tools/call")[0].json["id"]
        assert server.requests("answer") == []


async def test_a_call_is_given_up_also_where_the_server_will_not_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "LINGER", 0.05)

    async def hang(request: HttpRequest) -> None:
        await request.gone()

    async def refuse(request: HttpRequest) -> None:
        await request.respond("500 Internal Server Error")

    async with raw_http() as server:
        server.on |= {"tools/call": hang, "notifications/cancelled": refuse}
        async with connected(server) as client:
            with pytest.raises(RequestTimeout):
                await client.call("slow", timeout=0.1)
            await client.ping()


async def test_two_calls_given_up_withdraw_each_its_own_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "LINGER", 0.05)
    open_questions: set[str] = set()
    changed = anyio.Event()

    async def call(request: HttpRequest) -> None:
        name = request.json["params"]["name"]
        await request.open_events()
        await request.event(
            {"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": {**FORM, "message": name}}
        )
        await request.gone()

    async def reply(question: Question) -> Accept:
        nonlocal changed
        open_questions.add(question.message)
        try:
            changed.set()
            await anyio.sleep_forever()
        finally:
            open_questions.remove(question.message)
            changed.set()
        raise AssertionError

    async def until(names: set[str]) -> None:
        nonlocal changed
        while open_questions != names:
            await changed.wait()
            changed = anyio.Event()

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server, answer=reply) as client, anyio.create_task_group() as tasks:
            given_up = anyio.CancelScope()

            async def give_up() -> None:
                with given_up:
                    await client.call("a")

            tasks.start_soon(give_up)
            tasks.start_soon(client.call, "b")
            await until({"a", "b"})
            given_up.cancel()
            await until({"b"})
            tasks.cancel_scope.cancel()


async def test_closing_closes_open_streams_and_ends_the_session() -> None:
    opened, gone = anyio.Event(), anyio.Event()
    told: list[str] = []

    async def call(request: HttpRequest) -> None:
        await request.open_events()
        opened.set()
        await request.gone()
        gone.set()

    async def slow(client: McpClient) -> None:
        with pytest.raises(TransportEnded, match="client is closed"):
            await client.call("x")
        told.append("failed")

    async with raw_http() as server:
        server.on["tools/call"] = call
        async with connected(server) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(slow, client)
            await opened.wait()
            await client.aclose()
        await gone.wait()
        assert told == ["failed"]
        assert len(server.requests("DELETE")) == 1
        await client._transport.aclose()  # and once more


async def test_closing_does_not_wait_for_a_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "CLOSE_TIMEOUT", 0.05)

    async def hang(request: HttpRequest) -> None:
        await request.gone()

    async with raw_http() as server:
        server.on["DELETE"] = hang
        async with connected(server):
            pass
        assert len(server.requests("DELETE")) == 1


async def test_closing_does_not_mind_a_server_that_is_gone() -> None:
    async with raw_http() as server:

        async def rude(request: HttpRequest) -> None:
            pass

        server.on["DELETE"] = rude
        async with connected(server):
            pass


# Refusals


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("400 Bad Request", "answers 400 Bad Request: it gives no reason"),
        ("401 Unauthorized", "it wants a token"),
        ("403 Forbidden", "not let in"),
        ("404 Not Found", "the session is over; connect again"),
        ("405 Method Not Allowed", "is the path right"),
        ("429 Too Many Requests", "too many"),
        ("500 Internal Server Error", "no reason"),
    ],
)
async def test_a_refusal_without_a_body_says_what_the_status_means(status: str, says: str) -> None:
    async def refuse(request: HttpRequest) -> None:
        await request.respond(status, "<html>", content_type="text/html")

    async with raw_http() as server:
        server.on["ping"] = refuse
        async with connected(server) as client:
            with pytest.raises(NoAnswer, match=says) as raised:
                await client.ping()
            assert raised.value.status == int(status[:3])


async def test_a_404_before_there_is_a_session_is_about_the_path() -> None:
    async def refuse(request: HttpRequest) -> None:
        await request.respond("404 Not Found")

    async with raw_http() as server:
        server.on["initialize"] = refuse
        with pytest.raises(NoAnswer, match="is the path right"):
            async with connected(server):
                raise AssertionError("the client must not open")


@pytest.mark.parametrize("id", [{}, {"id": None}, {"id": "server-error"}])
async def test_a_refusal_with_a_json_rpc_error_is_that_error_whatever_its_id(id: dict[str, Any]) -> None:
    async def refuse(request: HttpRequest) -> None:
        error = {"code": -32600, "message": "Session not found", "data": 1}
        await request.respond_json({"jsonrpc": "2.0", **id, "error": error}, "404 Not Found")

    async with raw_http() as server:
        server.on["ping"] = refuse
        async with connected(server) as client:
            with pytest.raises(McpError, match="Session not found") as raised:
                await client.ping()
            assert (raised.value.code, raised.value.data) == (-32600, 1)


async def test_an_error_without_an_id_belongs_to_the_request_it_answers() -> None:
    async def refuse(request: HttpRequest) -> None:
        await request.respond_json({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})

    async with raw_http() as server:
        server.on["ping"] = refuse
        async with connected(server) as client:
            with pytest.raises(McpError, match="Parse error"):
                await client.ping()


@pytest.mark.parametrize(
    ("status", "headers", "body", "says"),
    [
        ("202 Accepted", {}, "", "took the request and gave no answer"),
        ("204 No Content", {}, "", "took the request and gave no answer"),
        ("200 OK", {"content_type": "text/html"}, "<html>", "answers with text/html instead of MCP"),
        ("200 OK", {}, "", "answers with no content type instead of MCP"),
        ("200 OK", {"content_type": "application/json"}, "{", "without an answer"),
        ("200 OK", {"content_type": "application/json"}, '{"jsonrpc":"2.0","id":77,"result":{}}', "without an answer"),
        ("200 OK", {"content_type": "application/json", "content_encoding": "gzip"}, "…", "compresses its answers"),
    ],
)
async def test_what_is_no_answer_fails_at_once(status: str, headers: dict[str, str], body: str, says: str) -> None:
    async def odd(request: HttpRequest) -> None:
        await request.respond(status, body, **headers)

    async with raw_http() as server:
        server.on["ping"] = odd
        async with connected(server) as client:
            with pytest.raises(NoAnswer, match=says):
                await client.ping()


async def test_a_notification_that_is_refused_raises() -> None:
    async def refuse(request: HttpRequest) -> None:
        await request.respond("403 Forbidden")

    async def rude(request: HttpRequest) -> None:
        pass

    async with raw_http() as server:
        server.on |= {"notifications/a": refuse, "notifications/b": rude}
        async with connected(server) as client:
            with pytest.raises(NoAnswer, match="not let in"):
                await client.notify("notifications/a")
            with pytest.raises(NoAnswer, match="broke"):
                await client.notify("notifications/b")


async def test_a_server_that_is_not_there_is_said_to_be() -> None:
    async with raw_http() as server:
        pass
    with pytest.raises(NoAnswer, match=r"Cannot connect to http://127\.0\.0\.1:\d+/mcp: .*; is the server running"):
        async with connected(server):
            raise AssertionError("the client must not open")


async def test_a_failure_of_a_kind_nobody_thought_of_fails_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> Any:
        raise ArithmeticError("oops")

    async with raw_http() as server, connected(server) as client:
        monkeypatch.setattr(client_http.httpx.AsyncClient, "build_request", broken)
        with pytest.raises(NoAnswer, match="failed: ArithmeticError: oops"):
            await client.ping()
        monkeypatch.undo()


async def test_what_is_sent_before_or_after_the_client_is_open_fails() -> None:
    with pytest.raises(TransportEnded, match="closed"):
        await HttpTransport("http://127.0.0.1:1/").send("{}")


# Redirects and proxies


async def test_redirects_stay_within_the_origin() -> None:
    async def move(request: HttpRequest) -> None:
        if request.target == "/mcp":
            await request.respond("307 Temporary Redirect", location="/mcp/")
        else:
            await request.respond_json(answer_to(request, {"target": request.target}))

    async def elsewhere(request: HttpRequest) -> None:
        await request.respond("308 Permanent Redirect", location="http://127.0.0.1:1/mcp")

    async def as_get(request: HttpRequest) -> None:
        await request.respond("303 See Other", location="/mcp/")

    async def circles(request: HttpRequest) -> None:
        await request.respond("307 Temporary Redirect", location="/mcp")

    async with raw_http() as server:
        server.on |= {"here": move, "elsewhere": elsewhere, "as_get": as_get, "circles": circles}
        async with connected(server) as client:
            assert await client.request("here") == {"target": "/mcp/"}
            for method in ("elsewhere", "as_get"):
                with pytest.raises(NoAnswer, match="redirects to http://127"):
                    await client.request(method)
            with pytest.raises(NoAnswer, match="in circles"):
                await client.request("circles")


@pytest.mark.parametrize(
    ("url", "direct"),
    [
        ("http://127.0.0.1:1/mcp", True),
        ("http://localhost:1/mcp", True),
        ("http://[::1]:1/mcp", True),
        ("https://mcp.example/mcp", False),
        ("http://localhost.example/mcp", False),
    ],
)
async def test_a_loopback_server_is_reached_without_a_proxy(
    url: str, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    transport = HttpTransport(url)
    async with Home() as home:
        await transport.open(home, None)  # type: ignore[arg-type]
        assert transport._http is not None
        assert transport._http.trust_env is not direct
        await transport.aclose()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("no url",), "not the URL of an MCP server"),
        (("ftp://x/",), "not the URL"),
        (("http://",), "not the URL"),
        (("http://[::1",), "is not a URL"),
        (("http://x:99999999/",), "is not the URL of"),
        (("http://x/\x00",), "is not a URL"),
        (("http://x/", ""), "The token must be"),
        (("http://x/", "two words"), "The token must be"),
        (("http://x/", "line\nbreak"), "The token must be"),
        (("http://x/", "sn\u00f6w"), "The token must be"),
        (("http://x/", None, {"X-A": "b\r\nc: d"}), "The header 'X-A'"),
    ],
)
def test_what_cannot_be_reached_is_refused_at_once(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        HttpTransport(*arguments)


# Changes


async def test_changes_come_on_a_stream_of_their_own_which_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "FIRST_RETRY", 0.01)
    changed = [anyio.Event(), anyio.Event()]
    seen: list[Any] = []

    async def changes(request: HttpRequest) -> None:
        turn = len(server.requests("GET")) - 1
        if turn == 1:
            return  # breaks off
        await request.open_events()
        await request.stream.send(b'id: e-1\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
        await request.stream.send(b'data: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n')
        if turn > 1:
            await request.gone()

    def on_change(change: Any) -> None:
        seen.append(change)
        changed[len(seen) - 1].set()

    answered = anyio.Event()

    async def answer(request: HttpRequest) -> None:
        answered.set()
        await request.respond("202 Accepted")

    async with raw_http() as server:
        server.on |= {"GET": changes, "answer": answer}
        async with connected(server, on_change=on_change):
            for event in (*changed, answered):
                await event.wait()
        gets = server.requests("GET")
        assert [get.headers.get("last-event-id") for get in gets] == [None, "e-1", "e-1"]
        assert all(get.headers["accept"] == "text/event-stream" for get in gets)
        assert all("content-type" not in get.headers for get in gets)
        assert server.requests("answer")[0].json == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert seen == [ToolsChanged()] * 2


@pytest.mark.parametrize(
    ("status", "kind"), [("405 Method Not Allowed", ""), ("404 Not Found", ""), ("200 OK", "text/html")]
)
async def test_a_server_without_a_stream_for_changes_is_left_in_peace(
    status: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def none(request: HttpRequest) -> None:
        await request.respond(status, content_type=kind)

    async with raw_http() as server:
        server.on["GET"] = none
        async with connected(server) as client:
            while not server.requests("GET"):
                await client.ping()
            await client.ping()
        assert len(server.requests("GET")) == 1
    assert [record for record in caplog.records if record.name.startswith("tesseron_py")] == []
