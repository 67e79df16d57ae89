"""A gateway's endpoint under a real server, and an app that is nothing but HTTP requests."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import httpx

from tesseron_py.bindings.http import HttpChannel, _pieces, dial
from tesseron_py.bindings.http_connection import HttpConnection
from tesseron_py.bindings.http_endpoint import TesseronEndpoint
from tesseron_py.bindings.http_wire import HttpLimits
from tesseron_py.web.sse import EventParser

from .http_server import serving

TOKEN = "secret-token"
HELLO = '{"jsonrpc":"2.0","id":1,"method":"tesseron/hello","params":{}}'
RESUME = '{"jsonrpc":"2.0","id":1,"method":"tesseron/resume","params":{}}'
WELCOME = '{"jsonrpc":"2.0","id":1,"result":{}}'
REFUSAL = '{"jsonrpc":"2.0","id":1,"error":{"code":-32011,"message":"no"}}'
QUICK = HttpLimits(
    frame=1024 * 1024,
    unheard=4.0,
    streamless=2.0,
    silence=0.5,
    persistence=2.0,
    first_retry=0.02,
    last_retry=0.1,
    linger=0.3,
)


class Gateway:
    """Takes the connections of an endpoint."""

    def __init__(self, limits: HttpLimits, options: dict[str, Any]) -> None:
        self.send, self.receive = anyio.create_memory_object_stream[HttpConnection](100)
        self.endpoint = TesseronEndpoint(self.send.send_nowait, limits=limits, **{"token": TOKEN, **options})
        self.url = ""

    async def accept(self) -> HttpConnection:
        return await self.receive.receive()

    async def welcome(self, answer: str = WELCOME) -> HttpConnection:
        """Take the next connection and answer its opening."""
        connection = await self.accept()
        await connection.receive()
        await connection.send(answer)
        return connection

    async def dial(self, limits: HttpLimits = QUICK) -> tuple[HttpConnection, HttpChannel]:
        """Both ends of a connection."""
        app = await dial(self.url, token=TOKEN, limits=limits)
        async with anyio.create_task_group() as group:
            group.start_soon(app.send, HELLO)
            connection = await self.welcome()
        assert await app.receive() == WELCOME
        return connection, app


@asynccontextmanager
async def gateway(limits: HttpLimits = QUICK, **options: Any) -> AsyncIterator[Gateway]:
    made = Gateway(limits, options)
    with made.send, made.receive:
        async with serving(made.endpoint) as made.url:
            try:
                yield made
            finally:
                with anyio.CancelScope(shield=True):
                    await made.endpoint.aclose()


class Events:
    """A stream of events, as it comes."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.raw = b""
        self.last = 0
        self._pieces = pieces
        self._parser = EventParser()
        self._events: list[tuple[int, str]] = []

    async def piece(self) -> bool:
        """Take in one piece; whether there was one."""
        piece = await anext(self._pieces, b"")
        self.raw += piece
        for event in self._parser.feed(piece):
            self.last = int(event.id or -1)
            self._events.append((self.last, event.data))
        return bool(piece)

    async def next(self) -> tuple[int, str]:
        """The number and the text of the next event."""
        while not self._events:
            assert await self.piece(), "the stream has ended"
        return self._events.pop(0)

    async def rest(self) -> list[tuple[int, str]]:
        """All that comes until the stream ends."""
        while await self.piece():
            pass
        return self._events


class RawApp:
    """An app that makes requests as it is told."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self.client = client
        self.url = f"{url}/tesseron"
        self.connection: str | None = None

    def headers(self, given: dict[str, Any]) -> dict[str, str]:
        """The usual headers, with some replaced; `None` leaves one out, and underscores are dashes."""
        usual = {"authorization": f"Bearer {TOKEN}", "tesseron-connection": self.connection}
        usual |= {name.lower().replace("_", "-"): value for name, value in given.items()}
        return {name: str(value) for name, value in usual.items() if value is not None}

    async def request(self, method: str, body: str | bytes = b"", **headers: Any) -> httpx.Response:
        return await self.client.request(method, self.url, content=body or None, headers=self.headers(headers))

    async def open(self, body: str | bytes = HELLO, **headers: Any) -> httpx.Response:
        given = {"tesseron_attempt": secrets.token_urlsafe(16), "tesseron_connection": None, **headers}
        response = await self.request("POST", body, **given)
        self.connection = response.headers.get("tesseron-connection", self.connection)
        return response

    async def post(self, sequence: Any, body: str | bytes = "{}", **headers: Any) -> httpx.Response:
        return await self.request("POST", body, tesseron_sequence=sequence, **headers)

    async def acknowledge(self, number: Any) -> httpx.Response:
        return await self.request("POST", last_event_id=number)

    @asynccontextmanager
    async def stream(self, *, status: int = 200, **headers: Any) -> AsyncIterator[Events]:
        made = self.headers({"accept": "text/event-stream", **headers})
        async with (
            self.client.stream("GET", self.url, headers=made) as response,
            _pieces(response) as pieces,
        ):
            assert response.status_code == status
            self.response = response
            yield Events(pieces)

    @asynccontextmanager
    async def unfinished(self, sequence: int, body: bytes, **headers: Any) -> AsyncIterator[anyio.abc.SocketStream]:
        """A message of which only the beginning comes, on a connection of its own."""
        url = httpx.URL(self.url)
        every = self.headers(
            {"host": url.netloc.decode(), "tesseron_sequence": sequence, "content_length": 100, **headers}
        )
        head = "".join(f"{name}: {value}\r\n" for name, value in every.items())
        async with await anyio.connect_tcp(url.host, url.port or 80) as stream:
            await stream.send(f"POST {url.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
            yield stream


@asynccontextmanager
async def raw_app(gateway: Gateway) -> AsyncIterator[RawApp]:
    async with httpx.AsyncClient(timeout=20, trust_env=False) as client:
        yield RawApp(client, gateway.url)


@asynccontextmanager
async def opened(limits: HttpLimits = QUICK, **options: Any) -> AsyncIterator[tuple[Gateway, RawApp, HttpConnection]]:
    """A gateway, a raw app, and the gateway's end of a connection it has opened."""
    async with gateway(limits, **options) as made, raw_app(made) as app:
        async with anyio.create_task_group() as group:
            group.start_soon(app.open)
            connection = await made.welcome()
        yield made, app, connection


def error_of(response: httpx.Response) -> str:
    """The words of a refusal."""
    body = json.loads(response.content)
    assert isinstance(body["error"], str)
    return body["error"]


async def until(condition: Callable[[], object]) -> None:
    """Wait for what nothing tells of."""
    while not condition():  # noqa: ASYNC110  # there is no event to wait for
        await anyio.sleep(0.005)
