"""An HTTP endpoint under a real server, and a client that looks at statuses, headers and bytes.

On asyncio the server is uvicorn, on trio hypercorn; it runs in the test's own event loop, so that a test can look at
the provider, too. Everything that the endpoint sends is checked against the schema of the revision that is spoken.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import h11
import httpx
import mcp_schemas
from desk import EVERYTHING, value_of
from fixture_provider import FixtureProvider
from modern_desk import VERSION, Asked, with_meta
from sniffio import current_async_library

from tesseron_py.mcp.http import HttpEndpoint
from tesseron_py.mcp.limits import EndpointLimits
from tesseron_py.web.sse import Event, EventParser

BOTH = "application/json, text/event-stream"


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI application; yields its URL."""
    # With the protocol named, asyncio turns Nagle's algorithm off, which else costs 40 ms a response.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with anyio.create_task_group() as group:
            stop = anyio.Event()
            if current_async_library() == "trio":
                group.start_soon(_hypercorn, app, listener.detach(), stop)  # it closes what it is given
            else:
                group.start_soon(_uvicorn, app, listener, stop)
            try:
                yield url
            finally:
                stop.set()


async def _uvicorn(app: Any, listener: socket.socket, stop: anyio.Event) -> None:
    import uvicorn

    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    async with anyio.create_task_group() as group:
        group.start_soon(server._serve, [listener])
        await stop.wait()
        server.should_exit = True


async def _hypercorn(app: Any, fd: int, stop: anyio.Event) -> None:
    from hypercorn.config import Config
    from hypercorn.trio import serve

    config = Config()
    config.bind = [f"fd://{fd}"]
    config.graceful_timeout = 5
    config.accesslog = None
    config.errorlog = None
    await serve(app, config, shutdown_trigger=stop.wait, mode="asgi")


class Stream:
    """A response that is a stream of events, byte by byte as it comes, on a connection of its own."""

    def __init__(self, connection: anyio.abc.ByteStream, version: str, method: str | None) -> None:
        self.status = 0
        self.headers = httpx.Headers()
        self.raw = b""
        self._connection = connection
        self._http = h11.Connection(h11.CLIENT)
        self._parser = EventParser()
        self._events: list[Event] = []
        self._version = version
        self._method = method

    async def open(self, request: httpx.Request, *, finish: bool = True) -> None:
        """Send the request (without its end, when it is not to `finish`) and read the head of the response."""
        head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        data = self._http.send(head)
        if request.content:
            data += self._http.send(h11.Data(request.content))
        if finish:
            data += self._http.send(h11.EndOfMessage())
        await self._connection.send(data)
        response = await self._event()
        assert isinstance(response, h11.Response)
        self.status, self.headers = response.status_code, httpx.Headers(list(response.headers))

    async def _event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            try:
                data = await self._connection.receive()
            except anyio.EndOfStream:
                data = b""
            self._http.receive_data(data)
        return event

    async def chunk(self) -> bytes:
        """The next bytes as they come; empty at the end."""
        with anyio.fail_after(10):
            event = await self._event()
        if not isinstance(event, h11.Data):
            assert isinstance(event, h11.EndOfMessage)
            return b""
        chunk = bytes(event.data)
        self.raw += chunk
        self._events += self._parser.feed(chunk)
        return chunk

    async def next(self, method: str | None = None) -> dict[str, Any]:
        """The next message."""
        while not self._events:
            assert await self.chunk(), "the stream has ended"
        message: dict[str, Any] = json.loads(self._events.pop(0).data)
        mcp_schemas.check(self._version, message, self._method)
        assert method is None or message.get("method") == method, message
        return message

    async def result(self) -> Any:
        """The result, which is the last message."""
        message = await self.next()
        assert "result" in message, message
        assert await self.ended()
        return message["result"]

    async def ended(self) -> bool:
        """Whether the stream ends without another message."""
        while await self.chunk():
            pass
        return not self._events


class Web:
    """A client of one endpoint: one connection pool, and a session once it is initialized."""

    def __init__(self, client: httpx.AsyncClient, path: str = "/mcp") -> None:
        self.client = client
        self.path = path
        self.session: str | None = None
        self.version = "2025-11-25"
        self._ids = 0

    def headers(self, given: dict[str, str | None]) -> dict[str, str]:
        """The usual headers, with some replaced (`None` leaves one out)."""
        usual: dict[str, str | None] = {
            "Accept": BOTH,
            "Content-Type": "application/json",
            "Mcp-Session-Id": self.session,
            "MCP-Protocol-Version": self.version if self.session else None,
        }
        return {name: value for name, value in (usual | given).items() if value is not None}

    async def send(
        self, method: str, content: Any = None, *, headers: dict[str, str | None] | None = None, path: str | None = None
    ) -> httpx.Response:
        """Any HTTP request; what it answers."""
        body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
        with anyio.fail_after(10):
            return await self.client.request(
                method, path or self.path, content=body, headers=self.headers(headers or {})
            )

    def message(self, method: str, params: Any = None, *, id: Any = None) -> dict[str, Any]:
        if id is None:
            self._ids += 1
            id = self._ids
        return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}

    async def post(self, method: str, params: Any = None, *, id: Any = None, **headers: Any) -> httpx.Response:
        """Send a request, whole; its response, whole."""
        response = await self.send("POST", self.message(method, params, id=id), **headers)
        if response.headers.get("content-type") == "application/json" and response.status_code == 200:
            mcp_schemas.check(self.version, response.json(), method)
        return response

    async def request(self, method: str, params: Any = None, **options: Any) -> Any:
        response = await self.post(method, params, **options)
        assert response.status_code == 200, (response.status_code, response.text)
        assert response.headers["content-type"] == "application/json"
        assert "result" in response.json(), response.text
        return response.json()["result"]

    async def call(self, tool: str, arguments: Any = None, **options: Any) -> Any:
        return value_of(await self.request("tools/call", {"name": tool, "arguments": arguments or {}}, **options))

    @asynccontextmanager
    async def _open(self, method: str | None, request: httpx.Request, *, finish: bool = True) -> AsyncIterator[Stream]:
        async with await anyio.connect_tcp(request.url.host, request.url.port or 80) as connection:
            stream = Stream(connection, self.version, method)
            with anyio.fail_after(10):
                await stream.open(request, finish=finish)
            yield stream

    def stream(self, method: str, params: Any = None, *, id: Any = None, **headers: str | None) -> Any:
        """Send a request whose response streams."""
        body = json.dumps(self.message(method, params, id=id)).encode()
        return self._open(
            method, self.client.build_request("POST", self.path, content=body, headers=self.headers(headers))
        )

    def unfinished(self, body: bytes) -> Any:
        """A POST of which only the beginning comes."""
        headers = self.headers({}) | {"Transfer-Encoding": "chunked"}
        request = self.client.build_request("POST", self.path, content=body, headers=headers)
        del request.headers["Content-Length"]
        return self._open(None, request, finish=False)

    def calling(self, tool: str, arguments: Any = None, *, token: Any = None, **options: Any) -> Any:
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.stream("tools/call", params, **options)

    def listen(self) -> Any:
        """The GET stream."""
        return self._open(
            None, self.client.build_request("GET", self.path, headers=self.headers({"Content-Type": None}))
        )

    async def answer(self, prompt: dict[str, Any], action: str = "accept", **content: Any) -> httpx.Response:
        result: dict[str, Any] = {"action": action, **({"content": content} if content else {})}
        return await self.send("POST", {"jsonrpc": "2.0", "id": prompt["id"], "result": result})

    async def notify(self, method: str, params: Any = None) -> httpx.Response:
        message = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        return await self.send("POST", message)

    async def initialize(self, version: str = "2025-11-25", capabilities: Any = None) -> Any:
        params = {
            "protocolVersion": version,
            "capabilities": EVERYTHING if capabilities is None else capabilities,
            "clientInfo": {"name": "web", "version": "1"},
        }
        self.session = None
        response = await self.post("initialize", params)
        assert response.status_code == 200, response.text
        self.session = response.headers["mcp-session-id"]
        self.version = response.json()["result"]["protocolVersion"]
        assert (await self.notify("notifications/initialized")).status_code == 202
        return response.json()["result"]

    async def another(self) -> Web:
        """Another session with the same endpoint."""
        other = Web(self.client, self.path)
        await other.initialize(self.version)
        return other


class ModernWeb(Web):
    """A client of the modern era at the same endpoint: every request says for itself who it is from."""

    def __init__(self, client: httpx.AsyncClient, path: str = "/mcp") -> None:
        super().__init__(client, path)
        self.version = VERSION

    def headers(self, given: dict[str, str | None]) -> dict[str, str]:
        usual: dict[str, str | None] = {
            "Accept": BOTH,
            "Content-Type": "application/json",
            "MCP-Protocol-Version": VERSION,
        }
        return {name: value for name, value in (usual | given).items() if value is not None}

    def message(self, method: str, params: Any = None, *, id: Any = None, **meta: Any) -> dict[str, Any]:
        return super().message(method, with_meta(params, **meta), id=id)

    def _mirrored(self, method: str, params: Any) -> dict[str, str | None]:
        name = (params or {}).get("uri" if method == "resources/read" else "name")
        return {"Mcp-Method": method, "Mcp-Name": name if isinstance(name, str) else None}

    async def post(
        self,
        method: str,
        params: Any = None,
        *,
        id: Any = None,
        headers: dict[str, str | None] | None = None,
        **meta: Any,
    ) -> httpx.Response:
        message = self.message(method, params, id=id, **meta)
        response = await self.send("POST", message, headers=self._mirrored(method, params) | (headers or {}))
        if response.headers.get("content-type") == "application/json":
            mcp_schemas.check(VERSION, response.json(), method)
        return response

    def stream(
        self,
        method: str,
        params: Any = None,
        *,
        id: Any = None,
        headers: dict[str, str | None] | None = None,
        **meta: Any,
    ) -> Any:
        body = json.dumps(self.message(method, params, id=id, **meta)).encode()
        given = self.headers(self._mirrored(method, params) | (headers or {}))
        return self._open(method, self.client.build_request("POST", self.path, content=body, headers=given))

    async def refused(self, method: str, params: Any = None, **options: Any) -> tuple[int, dict[str, Any]]:
        """Status and error of a request that is refused."""
        response = await self.post(method, params, **options)
        error: dict[str, Any] = response.json()["error"]
        assert error["message"]
        return response.status_code, error

    async def ask(self, tool: str, arguments: Any = None, **options: Any) -> Asked:
        """Call a tool that asks."""
        params = {"name": tool, "arguments": arguments or {}}
        return Asked("tools/call", params, await self.request("tools/call", params, **options))

    async def answer_to(self, asked: Asked, action: str = "accept", **content: Any) -> Any:
        """The result of the next leg, with one answer to every question."""
        response = {"action": action, **({"content": content} if content else {})}
        return await self.request(asked.method, asked.next(dict.fromkeys(asked.requests, response)))


@asynccontextmanager
async def modern_web(
    provider: FixtureProvider | None = None, *, options: dict[str, Any] | None = None, **limits: Any
) -> AsyncIterator[tuple[ModernWeb, HttpEndpoint]]:
    """A client of the modern era of an endpoint under a real server."""
    async with web(provider, initialize=False, options=options, **limits) as (client, endpoint):
        yield ModernWeb(client.client), endpoint


@asynccontextmanager
async def web(
    provider: FixtureProvider | None = None,
    *,
    version: str = "2025-11-25",
    capabilities: Any = None,
    initialize: bool = True,
    options: dict[str, Any] | None = None,
    **limits: Any,
) -> AsyncIterator[tuple[Web, HttpEndpoint]]:
    """A client of an endpoint under a real server, initialized."""
    provider = provider or FixtureProvider()
    endpoint = HttpEndpoint(provider, limits=EndpointLimits(**limits), **(options or {}))
    async with serving(endpoint) as url:
        try:
            async with httpx.AsyncClient(base_url=url, timeout=20) as client:
                made = Web(client)
                if initialize:
                    await made.initialize(version, capabilities)
                yield made, endpoint
        finally:
            with anyio.CancelScope(shield=True):
                await endpoint.aclose()
                await provider.home.aclose()
