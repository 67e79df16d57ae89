"""Every door turns away what comes from elsewhere, in the same way: a table of who knocks against a list of doors.

A door is an ASGI application, or the WebSocket listener of an app. What is sent is bytes, so that no client mends it.
"""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import pytest

from tesseron_py import Tesseron
from tesseron_py.bindings import websocket
from tesseron_py.bindings.http_endpoint import TesseronEndpoint
from tesseron_py.endpoint import GatewayEndpoint
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.mcp.provider import ServerInfo

Headers: TypeAlias = list[tuple[str, str]]
Door: TypeAlias = Callable[[Headers], Any]
TOKEN = "a-token-of-this-test"

HOSTS = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil",
    "127.0.0.1.evil:7475",
    "localhost@evil.example",
    "evil.example@localhost",
    "user:password@127.0.0.1",
    "localhost.",
    "LOCALHOST.",
    "127.0.0.1.",
    "localhost:7475:80",
    "localhost:http",
    "localhost:999999",
    "localhost:-1",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::1%25lo]",
    "[::1%lo]",
    "[::1",
    "::1",
    "[localhost]",
    "[]",
    "127.1",
    "0177.0.0.1",
    "0x7f000001",
    "2130706433",
    "0.0.0.0",
    "0",
    "localhost localhost",
    "localhost,evil.example",
    "localhost/evil",
    "localhost#",
    "localhost?",
    "localhost\\evil",
    "localhost%00",
    "",
    ":80",
    "@",
    "ⓛocalhost",
]
"""What a page in a browser, or whoever is between, may put into `Host`."""
ORIGINS = [
    "http://evil.example",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil",
    "http://localhost@evil.example",
    "http://evil.example@localhost",
    "http://localhost.",
    "http://[::ffff:127.0.0.1]",
    "http://localhost/",
    "http://localhost#",
    "http://localhost\\.evil.example",
    "http://localhost:80:80",
    "//localhost",
    "localhost",
    "file://",
    "chrome-extension://localhost",
    "null",
    "",
    "http://",
    "http://localhost http://evil.example",
    "http://evil.example, http://localhost",
]
"""Who a page may be."""
LOCAL = ["localhost", "LOCALHOST:7475", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:7475"]


async def status_of(app: Any, path: str, headers: Headers, body: bytes = b"{}", method: str = "POST") -> int:
    """The status of a request to an ASGI application, with exactly these headers."""
    statuses: list[int] = []
    parts = [{"type": "http.request", "body": body}]

    async def receive() -> dict[str, Any]:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    raw = [(name.lower().encode(), value.encode("utf-8")) for name, value in headers]
    scope = {"type": "http", "http_version": "1.1", "method": method, "path": path, "headers": raw}
    await app(scope, receive, send)
    [status] = statuses
    return status


def shop() -> Tesseron:
    return Tesseron("shop")


@asynccontextmanager
async def asgi_app() -> AsyncIterator[Door]:
    """`app.asgi()`."""
    endpoint = shop().asgi()
    yield lambda headers: status_of(endpoint, "/mcp", headers)
    await endpoint.aclose()


@asynccontextmanager
async def asgi_app_with_a_token() -> AsyncIterator[Door]:
    endpoint = shop().asgi(token=TOKEN)
    yield lambda headers: status_of(endpoint, "/mcp", [*headers, ("authorization", f"Bearer {TOKEN}")])
    await endpoint.aclose()


@asynccontextmanager
async def stream_of_changes() -> AsyncIterator[Door]:
    endpoint = shop().asgi()
    yield lambda headers: status_of(endpoint, "/mcp", headers, b"", "GET")
    await endpoint.aclose()


@asynccontextmanager
async def preflight() -> AsyncIterator[Door]:
    endpoint = shop().asgi()
    asked = ("access-control-request-method", "POST")
    yield lambda headers: status_of(endpoint, "/mcp", [*headers, asked], b"", "OPTIONS")
    await endpoint.aclose()


@asynccontextmanager
async def gateway_for_agents() -> AsyncIterator[Door]:
    endpoint = GatewayEndpoint(Gateway(ServerInfo("t", "1"), discover=False), token=None)
    yield lambda headers: status_of(endpoint, "/mcp", headers)
    await endpoint.aclose()


@asynccontextmanager
async def gateway_for_apps() -> AsyncIterator[Door]:
    endpoint = GatewayEndpoint(Gateway(ServerInfo("t", "1"), discover=False), token=TOKEN)
    yield lambda headers: status_of(endpoint, "/tesseron", [*headers, ("authorization", f"Bearer {TOKEN}")])
    await endpoint.aclose()


@asynccontextmanager
async def binding() -> AsyncIterator[Door]:
    endpoint = TesseronEndpoint(lambda connection: None, token=TOKEN)
    yield lambda headers: status_of(endpoint, "/tesseron", [*headers, ("authorization", f"Bearer {TOKEN}")])
    await endpoint.aclose()


@asynccontextmanager
async def upgrade() -> AsyncIterator[Door]:
    """The WebSocket upgrade of an app that listens."""
    async with websocket.listen() as listener:
        port = int(listener.url.rsplit(":", 1)[1].strip("/"))

        async def knock(headers: Headers) -> int:
            lines = [f"{name}: {value}" for name, value in headers]
            usual = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
            usual += ["Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==", "Sec-WebSocket-Protocol: tesseron-gateway"]
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send("\r\n".join(["GET / HTTP/1.1", *usual, *lines, "", ""]).encode())
                head = await stream.receive()
            if head.startswith(b"HTTP/1.1 101"):
                await (await listener.accept()).aclose()
            return int(head.split()[1])

        yield knock


DOORS = [
    asgi_app, asgi_app_with_a_token, stream_of_changes, preflight, gateway_for_agents, gateway_for_apps, binding,
    upgrade,
]  # fmt: skip


@pytest.fixture(params=DOORS, ids=lambda door: door.__name__)
async def door(request: pytest.FixtureRequest) -> AsyncIterator[Door]:
    """One of the doors."""
    async with request.param() as opened:
        yield opened


async def refused(door: Door, headers: Headers) -> bool:
    with anyio.fail_after(10):
        return await door(headers) in (400, 403)


async def test_a_foreign_host_is_turned_away_at_every_door(door: Door) -> None:
    for host in HOSTS:
        assert await refused(door, [("host", host)]), host
    assert await refused(door, []), "no Host"
    for hosts in (["localhost", "localhost"], ["localhost", "evil.example"], ["evil.example", "localhost"]):
        assert await refused(door, [("host", host) for host in hosts]), hosts


async def test_a_page_from_elsewhere_is_turned_away_at_every_door(door: Door) -> None:
    for origin in ORIGINS:
        assert await refused(door, [("host", "localhost"), ("origin", origin)]), origin
    twice: Sequence[str] = ("http://localhost", "http://evil.example")
    assert await refused(door, [("host", "localhost"), *(("origin", origin) for origin in twice)])


async def test_this_machine_is_let_in_at_every_door(door: Door) -> None:
    for host in LOCAL:
        assert not await _is_403(door, [("host", host)]), host
        assert not await _is_403(door, [("host", host), ("origin", f"http://{host}")]), host


async def _is_403(door: Door, headers: Headers) -> bool:
    with anyio.fail_after(10):
        return await door(headers) == 403


async def test_a_compressed_body_is_no_json_however_little_of_it_there_is() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 60_000
    endpoint = shop().asgi()
    headers: Headers = [("host", "localhost"), ("content-type", "application/json"), ("content-encoding", "gzip")]
    assert await status_of(endpoint, "/mcp", headers, bomb) == 400
    await endpoint.aclose()
    apps = TesseronEndpoint(lambda connection: None, token=TOKEN)
    headers += [("authorization", f"Bearer {TOKEN}"), ("tesseron-attempt", "A" * 22)]
    assert await status_of(apps, "/tesseron", headers, bomb) == 400
    await apps.aclose()


async def test_a_length_that_is_no_number_of_bytes_is_no_fault() -> None:
    endpoint = shop().asgi()
    for length in ("9" * 5000, "9" * 20, "²", "-1", "0x10"):
        status = await status_of(endpoint, "/mcp", [("host", "localhost"), ("content-length", length)])
        assert status in (400, 413), length
    await endpoint.aclose()
