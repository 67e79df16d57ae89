"""Servers for our client to meet: one played by hand over a memory channel, and one that speaks raw HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketStream, TaskGroup

from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.mcp.client import McpClient, PipeTransport

PATIENCE = 10.0
"""Seconds after which a test that waits has failed."""


def initialized(id: int, version: str = "2025-11-25", **more: Any) -> dict[str, Any]:
    """The answer to `initialize`."""
    result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "3"}}
    return {"jsonrpc": "2.0", "id": id, "result": result | more}


def discovered(id: int, **more: Any) -> dict[str, Any]:
    """The answer to `server/discover`."""
    result = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "raw", "version": "3"}},
    }
    return {"jsonrpc": "2.0", "id": id, "result": result | more}


class ByHand:
    """The server's end of a memory channel, each frame sent and taken by the test."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.channel = channel
        self.hello: dict[str, Any] = {}

    async def take(self) -> dict[str, Any]:
        """The client's next frame."""
        with anyio.fail_after(PATIENCE):
            frame: dict[str, Any] = json.loads(await self.channel.receive())
        return frame

    async def put(self, *frames: Any) -> None:
        """Send frames; a string goes out as it is."""
        for frame in frames:
            await self.channel.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def answer(self, request: dict[str, Any], result: Any) -> None:
        await self.put({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def ask(self, id: Any, method: str, params: Any = None) -> None:
        await self.put({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    async def tell(self, method: str, params: Any = None) -> None:
        await self.put({"jsonrpc": "2.0", "method": method, "params": params})

    async def shake_hands(self, version: str = "2025-11-25", **more: Any) -> None:
        self.hello = await self.take()
        await self.put(initialized(self.hello["id"], version, **more))
        assert (await self.take())["method"] == "notifications/initialized"

    async def still_works(self, client: McpClient, tasks: TaskGroup) -> None:
        """The next call is sent, answered and returned."""
        done = anyio.Event()

        async def ping() -> None:
            await client.ping()
            done.set()

        tasks.start_soon(ping)
        request = await self.take()
        assert request["method"] == "ping"
        await self.answer(request, {})
        with anyio.fail_after(PATIENCE):
            await done.wait()


@asynccontextmanager
async def connected(
    *, protocol: str = "2025-11-25", limit: int = 8 * 1024 * 1024, **options: Any
) -> AsyncIterator[tuple[McpClient, ByHand, TaskGroup]]:
    """A client that has shaken hands with a server played by hand, and a task group for what goes on at once."""
    here, there = pair(limit=limit)
    server = ByHand(there)
    async with anyio.create_task_group() as tasks:
        shaken = anyio.Event()

        async def shake_hands() -> None:
            await server.shake_hands(protocol)
            shaken.set()

        tasks.start_soon(shake_hands)
        async with McpClient(PipeTransport(here), **options) as client:
            with anyio.fail_after(PATIENCE):
                await shaken.wait()
            yield client, server, tasks
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def modern(**options: Any) -> AsyncIterator[tuple[McpClient, ByHand, TaskGroup]]:
    """The same in the modern era; the server has no lists that change."""
    here, there = pair()
    server = ByHand(there)
    async with anyio.create_task_group() as tasks:

        async def greet() -> None:
            server.hello = await server.take()
            await server.put(discovered(server.hello["id"]))

        tasks.start_soon(greet)
        async with McpClient(PipeTransport(here), era="modern", **options) as client:
            yield client, server, tasks
        tasks.cancel_scope.cancel()


# Raw HTTP ----------------------------------------------------------------------------------------------------------


@dataclass
class HttpRequest:
    """One request as it came; header names are lower-case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    stream: SocketStream = field(repr=False)

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value

    async def respond(self, status: str, body: bytes | str = b"", **headers: str) -> None:
        """A whole response; `content_type="…"` and the like become headers."""
        data = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.stream.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    async def respond_json(self, message: Any, status: str = "200 OK", **headers: str) -> None:
        await self.respond(status, json.dumps(message), **{"content_type": "application/json", **headers})

    async def open_events(self, content_type: str = "text/event-stream", **headers: str) -> None:
        """The head of a stream that ends with the connection."""
        lines = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.stream.send("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def event(self, message: Any) -> None:
        await self.stream.send(b"data: " + json.dumps(message).encode() + b"\n\n")

    async def gone(self) -> None:
        """Returns when the client has closed the connection."""
        try:
            with anyio.fail_after(PATIENCE):
                await self.stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass


Handler = Callable[[HttpRequest], Awaitable[None]]


class RawHttp:
    """An HTTP server that answers as a test says, one request a connection.

    `on` maps a JSON-RPC method, `"answer"` (a response of the client), `"GET"` or `"DELETE"` to a handler; what is not
    there is answered as a plain server would, and GET and DELETE are 405.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.on: dict[str, Handler] = {}
        self.seen: list[HttpRequest] = []
        self.session: str | None = "s-1"

    def requests(self, method: str) -> list[HttpRequest]:
        """The requests that came for one key of `on`."""
        return [request for request in self.seen if _key(request) == method]

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                request = await _read_request(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return
            self.seen.append(request)
            key = _key(request)
            if (handler := self.on.get(key)) is not None:
                await handler(request)
            elif key == "initialize":
                more = {} if self.session is None else {"mcp_session_id": self.session}
                await request.respond_json(initialized(request.json["id"]), **more)
            elif key == "server/discover":
                await request.respond_json(discovered(request.json["id"]))
            elif key in ("GET", "DELETE"):
                await request.respond("405 Method Not Allowed")
            elif "id" not in request.json or "method" not in request.json:
                await request.respond("202 Accepted")
            else:
                await request.respond_json({"jsonrpc": "2.0", "id": request.json["id"], "result": {}})


@asynccontextmanager
async def raw_http() -> AsyncIterator[RawHttp]:
    """A `RawHttp` on a port of its own, for as long as the block lasts."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        server = RawHttp(listener.extra(anyio.abc.SocketAttribute.local_port))
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()


def _key(request: HttpRequest) -> str:
    if request.method != "POST":
        return request.method
    return str(request.json.get("method", "answer"))


async def _read_request(stream: SocketStream) -> HttpRequest:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += await stream.receive()
    return HttpRequest(method, target, headers, body, stream)
