"""A request's path, body and Accept header, and one response, without a server."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.web.asgi import (
    BodyTooLarge,
    Disconnected,
    Gone,
    Reply,
    RequestHeaders,
    accepts_stream,
    disconnected,
    read_body,
    route,
)


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("/mcp", "", True),
        ("/mcp", "/", True),
        ("/api/mcp", "/api", True),  # Starlette since 0.35, and servers with a root path
        ("/mcp", "/api", True),  # older mounts take the root path off
        ("/mcp", "/mcp", True),
        ("/mcp/mcp", "/mcp", True),
        ("/tools/mcp", "/api/tools", True),  # a mount below a root path that a proxy has taken off
        ("/ools/mcp", "/api/tools", False),
        ("/apix/mcp", "/api", False),
        ("/api/mcp", "", False),
        ("/mcp/", "", False),
        ("/", "", False),
        ("/mcp/x", "", False),
    ],
)
def test_the_path_is_found_wherever_it_is_mounted(path: str, root: str, found: bool) -> None:
    assert route({"path": path, "root_path": root}, "/mcp") is found
    if not root:
        assert route({"path": path}, "/mcp") is found


@pytest.mark.parametrize(
    ("accept", "allowed"),
    [
        (None, True),
        ("*/*", True),
        ("text/event-stream", True),
        ("application/json, text/event-stream", True),
        ("application/json,TEXT/EVENT-STREAM;q=0.5", True),
        ("text/*", True),
        ("application/json", False),
        ("", False),
        ("text/event-stream;q=0", False),
        ("*/*, text/event-stream; q=0.0", False),
        ("text/event-stream;q=x", False),
        ("text/html;q=0, */*;level=1", True),
        ("*/*;q=0, text/event-stream", True),
        (";;,,", False),
    ],
)
def test_whether_a_stream_is_accepted(accept: str | None, allowed: bool) -> None:
    assert accepts_stream(None if accept is None else accept.encode()) is allowed


@given(st.binary())
def test_any_accept_header_is_read(accept: bytes) -> None:
    assert accepts_stream(accept) in (True, False)


def test_headers_are_trimmed_and_all_there() -> None:
    headers = RequestHeaders({"headers": [(b"a", b" 1 "), (b"b", b"2"), (b"a", b"3")]})
    assert headers.get(b"a") == b"3"
    assert headers.get(b"b") == b"2"
    assert headers.get(b"c") is None
    assert list(headers.all(b"a")) == [b" 1 ", b"3"]


def receiving(*messages: dict[str, Any]) -> Any:
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    return receive


async def test_a_body_comes_in_parts() -> None:
    parts = [{"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.request", "body": b"c"}]
    assert await read_body(receiving(*parts), 3, None) == b"abc"
    assert await read_body(receiving({"type": "http.request"}), 3, b"0") == b""
    assert await read_body(receiving({"type": "http.request", "body": b"abc"}), 3, b"x") == b"abc"


async def test_a_body_above_the_limit_is_not_read_on() -> None:
    part = {"type": "http.request", "body": b"ab", "more_body": True}
    with pytest.raises(BodyTooLarge):
        await read_body(receiving(), 3, b"4")
    with pytest.raises(BodyTooLarge):
        await read_body(receiving(part, part), 3, None)


async def test_the_ends_of_a_body_above_the_limit_can_be_had() -> None:
    def part(body: bytes, more: bool = True) -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": more}

    async def ends(*parts: dict[str, Any], declared: bytes | None = None, most: int = 10_000) -> tuple[bytes, bytes]:
        receive = receiving(*parts)
        with pytest.raises(BodyTooLarge) as raised:
            await read_body(receive, 3, declared)
        await raised.value.read_on(receive, most)
        return raised.value.head, raised.value.tail

    assert await ends(part(b"ab"), part(b"cd", False)) == (b"abcd", b"abcd")
    assert await ends(part(b"ab"), part(b"cd"), part(b"", False)) == (b"abcd", b"abcd")
    assert await ends(part(b"ab"), part(b"c", False), declared=b"4") == (b"abc", b"abc")
    long = [part(b"a" * 300), part(b"b" * 300), part(b"c", False)]
    assert await ends(*long) == (b"a" * 256, b"b" * 255 + b"c")
    assert await ends(*long, most=100) == (b"a" * 256, b"")
    with pytest.raises(Disconnected):
        await ends(part(b"abcd"), {"type": "http.disconnect"})


async def test_a_client_that_leaves_has_no_body() -> None:
    with pytest.raises(Disconnected):
        await read_body(receiving({"type": "http.disconnect"}), 3, None)
    with anyio.fail_after(5):
        await disconnected(receiving({"type": "http.request"}, {"type": "http.disconnect"}))


async def test_a_server_that_fails_to_tell_of_a_connection_has_dropped_it() -> None:
    async def receive() -> Any:
        raise RuntimeError("the response is complete")

    with anyio.fail_after(5):
        await disconnected(receive)


async def test_a_response_that_nobody_takes_is_nobodys_fault() -> None:
    async def send(message: Any) -> None:
        raise OSError("broken pipe")

    await Reply(send, [], 5).whole(200, b"{}")
    await Reply(send, [], 5).end("{}")
    with pytest.raises(Gone, match="broken pipe"):
        await Reply(send, [], 5).event("{}")


async def test_a_client_that_reads_nothing_is_gone() -> None:
    async def send(message: Any) -> None:
        await anyio.sleep_forever()

    with pytest.raises(Gone, match="has read nothing"):
        await Reply(send, [], 0.01).comment()


async def test_a_stream_begins_once_and_ends_with_its_last_event() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    reply = Reply(send, [(b"vary", b"Origin")], 5)
    assert not reply.streams
    await reply.event('{"n":1}')
    await reply.comment()
    await reply.end('{"n":2}')
    assert reply.streams
    assert sent[0]["headers"] == [
        (b"vary", b"Origin"),
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
    ]
    assert [(message["body"], message["more_body"]) for message in sent[1:]] == [
        (b'data: {"n":1}\n\n', True),
        (b":\n\n", True),
        (b'data: {"n":2}\n\n', False),
    ]
