"""Bytes on sockets: the upgrade and the frames of a WebSocket, the lines of a Unix socket."""

from __future__ import annotations

import base64
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.abc

from tesseron_py.bindings import unix, websocket
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.unix import _Lines
from tesseron_py.host.claims import Claim, ClaimGate
from tesseron_py.jsontext import decode

from . import event_loop

LIMIT = 2048
CODE = "AB3X-7K"
_CLAIM = Claim(CODE, "s_1", "token", 0)


def _upgrade(port: int) -> bytes:
    lines = (
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(b'0' * 16).decode()}",
        f"Sec-WebSocket-Protocol: tesseron-gateway, tesseron-bind.{CODE}",
    )
    return "\r\n".join((*lines, "", "")).encode()


async def _serve(listener: Any, received: list[str]) -> None:
    """Take connections and read each to its end."""
    while True:
        channel = await listener.accept()
        try:
            while True:
                received.append(await channel.receive())
        except Closed:
            pass
        finally:
            await channel.aclose()


async def _send(stream: anyio.abc.SocketStream, data: bytes, pieces: int) -> bytes:
    """Send it in so many pieces and hang up; all that was answered."""
    step = max(1, len(data) // pieces)
    answer = b""
    try:
        for at in range(0, len(data), step):
            await stream.send(data[at : at + step])
        stream.extra(anyio.abc.SocketAttribute.raw_socket).shutdown(socket.SHUT_WR)
    except (OSError, anyio.BrokenResourceError):
        pass
    try:
        while True:
            answer += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return answer


async def _play(
    listener: Any, data: bytes, connect: Callable[[], Awaitable[Any]], dial: Callable[[], Awaitable[Any]], pieces: int
) -> tuple[bytes, list[str]]:
    received: list[str] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, listener, received)
        with anyio.fail_after(8):
            async with await connect() as stream:
                answer = await _send(stream, data, pieces)
            heard = list(received)
            # Whatever came before, whoever has the code gets in.
            channel = await dial()
            await channel.send("still there")
            await channel.aclose()
            while "still there" not in received[len(heard) :]:  # noqa: ASYNC110  # nothing tells of it
                await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    return answer, heard


def websocket_target(data: bytes) -> None:
    """An upgrade gets 101 only with the code and from this machine; frames are text within the limit, or the end."""
    anyio.run(_play_websocket, data, backend=event_loop())


async def _play_websocket(data: bytes) -> None:
    pieces, rest = (data[0] % 4 + 1, data[1:]) if data else (1, b"")
    async with websocket.listen(ClaimGate(_CLAIM), limit=LIMIT, handshake=4.0) as listener:
        port = int(listener.url.rsplit(":", 1)[1].strip("/"))
        sent = rest if rest.startswith(b"GET") else _upgrade(port) + rest
        answer, heard = await _play(
            listener,
            sent,
            lambda: anyio.connect_tcp("127.0.0.1", port),
            lambda: websocket.dial(listener.url, code=CODE),
            pieces,
        )
    if answer.startswith(b"HTTP/1.1 101"):
        head = sent.split(b"\r\n\r\n")[0].lower()
        assert f"tesseron-bind.{CODE}".lower().encode() in head, head
        assert b"sec-websocket-extensions" not in answer.lower(), "an extension is agreed on"
        assert head.count(b"\nhost:") == 1, head
        assert b"evil" not in b"".join(line for line in head.splitlines() if line.startswith((b"host", b"origin")))
    else:
        assert not heard, heard
    for text in heard:
        assert len(text.encode()) <= LIMIT


def unix_target(data: bytes) -> None:
    """A connection is bound only by the code; lines are lines, however they are cut; and the next one gets in."""
    pieces, rest = (data[0] % 4 + 1, data[1:]) if data else (1, b"")
    lines = _Lines(LIMIT)
    step = max(1, len(rest) // pieces)
    cut = [line for at in range(0, len(rest), step) for line in lines.feed(rest[at : at + step])]
    expected = [line for line in rest.split(b"\n")[:-1] if line not in (b"", b"\r")]
    assert cut == expected[: len(cut)]
    assert lines.too_long or cut == expected
    assert lines.too_long == any(len(line) > LIMIT for line in rest.split(b"\n"))
    anyio.run(_play_unix, rest, pieces, backend=event_loop())


async def _play_unix(data: bytes, pieces: int) -> None:
    async with unix.listen(ClaimGate(_CLAIM), bind_required=True, limit=LIMIT, handshake=4.0) as listener:
        answer, heard = await _play(
            listener,
            data,
            lambda: anyio.connect_unix(listener.path),
            lambda: unix.dial(listener.path, code=CODE),
            pieces,
        )
    replies = [decode(line) for line in answer.split(b"\n") if line]
    bound = [reply for reply in replies if reply.get("result") == {"ok": True}]
    assert len(bound) <= 1
    if bound:
        assert CODE.lower().encode() in data.lower() or b"\\u" in data
    else:
        assert not heard, heard
    for reply in replies:
        assert reply["jsonrpc"] == "2.0"
        assert ("result" in reply) != ("error" in reply)
