"""A gateway that answers as it is told: an HTTP/1.1 server of a few lines, which can also be silent or hang up."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import anyio
import anyio.abc
import h11

Kind: TypeAlias = Literal["open", "message", "acknowledge", "stream", "delete"]

WELCOME = '{"jsonrpc":"2.0","id":1,"result":{}}'


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    kind: Kind
    headers: dict[str, str]
    body: str
    path: str

    @property
    def sequence(self) -> int:
        return int(self.headers["tesseron-sequence"])

    @property
    def last(self) -> int | None:
        value = self.headers.get("last-event-id")
        return None if value is None else int(value)


@dataclass(frozen=True)
class Answer:
    """One whole answer."""

    status: int
    body: str = ""
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


HANG_UP = "hang up"
"""Close the connection without an answer."""
SILENCE = "silence"
"""Never answer."""
STREAM = "stream"
"""Open a stream, of what `say` and `raw` are given."""
NOT_FOUND = Answer(404, '{"error":"gone"}')
USUAL: dict[Kind, Any] = {
    "open": Answer(200, WELCOME, headers=(("Tesseron-Connection", "C1"),)),
    "message": Answer(202),
    "acknowledge": Answer(204),
    "stream": STREAM,
    "delete": Answer(204),
}


class FakeGateway:
    """Answers each kind of request with the next of its `answers`, and when there is none as a gateway does."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[Kind, list[Any]] = {kind: [] for kind in USUAL}
        self.seen: list[Seen] = []
        self._said, self._says = anyio.create_memory_object_stream[bytes | None](1000)
        self._news = anyio.Event()
        self._events = 0
        self._streaming: anyio.CancelScope | None = None

    def count(self, kind: Kind) -> int:
        return sum(seen.kind == kind for seen in self.seen)

    def all(self, kind: Kind) -> list[Seen]:
        return [seen for seen in self.seen if seen.kind == kind]

    async def wait(self, kind: Kind, count: int = 1) -> Seen:
        """The request of that kind with that number, 1 for the first."""
        while self.count(kind) < count:
            await self._news.wait()
        return self.all(kind)[count - 1]

    def say(self, text: str, *, id: int | None = None) -> None:
        """Send an event, by default the next."""
        self._events = self._events + 1 if id is None else id
        self.raw(f"id: {self._events}\ndata: {text}\n\n".encode())

    def raw(self, data: bytes) -> None:
        """Send bytes on the stream."""
        self._said.send_nowait(data)

    def end_stream(self, *, cleanly: bool = False) -> None:
        self._said.send_nowait(b"" if cleanly else None)

    def close(self) -> None:
        self._said.close()
        self._says.close()

    async def serve(self, stream: anyio.abc.ByteStream) -> None:
        http = h11.Connection(h11.SERVER)
        async with stream:
            try:
                while (seen := await self._request(http, stream)) is not None:
                    self.seen.append(seen)
                    answers = self.answers[seen.kind]
                    answer = answers.pop(0) if answers else USUAL[seen.kind]
                    news, self._news = self._news, anyio.Event()
                    news.set()
                    if answer == HANG_UP:
                        return
                    if answer == SILENCE:
                        await anyio.sleep_forever()
                    await (self._stream(http, stream) if answer == STREAM else self._answer(http, stream, answer))
                    http.start_next_cycle()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass

    async def _request(self, http: h11.Connection, stream: anyio.abc.ByteStream) -> Seen | None:
        request, body = None, b""
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                try:
                    http.receive_data(await stream.receive())
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return None
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                assert request is not None
                headers = {name.decode(): value.decode() for name, value in request.headers}
                kind = self._kind(request.method.decode(), headers)
                return Seen(kind, headers, body.decode(), request.target.decode())
            else:
                return None

    @staticmethod
    def _kind(method: str, headers: dict[str, str]) -> Kind:
        match method:
            case "GET":
                return "stream"
            case "DELETE":
                return "delete"
        if "tesseron-attempt" in headers:
            return "open"
        return "message" if "tesseron-sequence" in headers else "acknowledge"

    async def _answer(self, http: h11.Connection, stream: anyio.abc.ByteStream, answer: Answer) -> None:
        body = answer.body.encode()
        headers = [("Content-Type", answer.kind), *answer.headers]
        if answer.status != 204:
            headers.append(("Content-Length", str(len(body))))
        data = http.send(h11.Response(status_code=answer.status, headers=headers))
        data += http.send(h11.Data(body)) if body else b""
        await stream.send(data + http.send(h11.EndOfMessage()))

    async def _stream(self, http: h11.Connection, stream: anyio.abc.ByteStream) -> None:
        headers = [("Content-Type", "text/event-stream; charset=utf-8"), ("Transfer-Encoding", "chunked")]
        if self._streaming is not None:
            self._streaming.cancel()
        data: bytes | None = None
        with anyio.CancelScope() as self._streaming:
            await stream.send(http.send(h11.Response(status_code=200, headers=headers)))
            while data := await self._says.receive():
                await stream.send(http.send(h11.Data(data)))
        if data is None:
            raise anyio.ClosedResourceError
        await stream.send(http.send(h11.EndOfMessage()))


@asynccontextmanager
async def fake_gateway() -> AsyncIterator[FakeGateway]:
    fake = FakeGateway()
    try:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as server:
            fake.url = f"http://127.0.0.1:{server.extra(anyio.abc.SocketAttribute.local_port)}"
            async with anyio.create_task_group() as group:
                group.start_soon(server.serve, fake.serve)
                yield fake
                group.cancel_scope.cancel()
    finally:
        fake.close()


def error(message: str, **members: Any) -> str:
    return json.dumps({"error": message, **members})
