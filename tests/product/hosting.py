"""The app inside other applications, each at a port of its own, under one ASGI server.

python -m tests.product.hosting uvicorn|uvicorn-without-lifespan|hypercorn-trio

Writes a line of JSON to standard output: the URL of each. SIGTERM ends it, as the server does it.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from .app import app, journal


@asynccontextmanager
async def outer_lifespan(api: Any) -> AsyncIterator[None]:
    """One that knows nothing of the app below."""
    journal.note("outer lifespan: entered")
    yield
    journal.note("outer lifespan: left")


def fastapi_at_root() -> FastAPI:
    api = FastAPI(lifespan=outer_lifespan)

    @api.get("/health")
    def health() -> str:
        return "well"

    api.mount("/", app.asgi())
    return api


def fastapi_at_tools() -> FastAPI:
    api = FastAPI()
    api.mount("/tools", app.asgi())
    return api


def fastapi_route() -> FastAPI:
    api = FastAPI()
    api.router.routes.append(Route("/mcp", app.asgi()))
    return api


def behind_a_proxy() -> FastAPI:
    """What a proxy that takes `/api` off the path calls."""
    api = FastAPI(root_path="/api")
    api.mount("/tools", app.asgi())
    return api


def starlette_mount() -> Starlette:
    async def health(request: Any) -> PlainTextResponse:
        return PlainTextResponse("well")

    return Starlette(routes=[Route("/health", health), Mount("/a/b", app.asgi("/c"))])


APPLICATIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "alone": (app.asgi, "/mcp"),
    "FastAPI, mounted at /": (fastapi_at_root, "/mcp"),
    "FastAPI, mounted at /tools": (fastapi_at_tools, "/tools/mcp"),
    "FastAPI, as a route": (fastapi_route, "/mcp"),
    "FastAPI, behind a proxy": (behind_a_proxy, "/tools/mcp"),
    "Starlette, mounted": (starlette_mount, "/a/b/c"),
}


async def under_uvicorn(applications: list[tuple[Any, socket.socket]], lifespan: str) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # of several servers in a process, only one could

    servers = [
        (Server(uvicorn.Config(application, lifespan=lifespan, log_level="warning")), sock)
        for application, sock in applications
    ]
    async with anyio.create_task_group() as group:
        for server, sock in servers:
            group.start_soon(server.serve, [sock])
        await stopped()
        for server, _ in servers:
            server.should_exit = True


async def under_hypercorn(applications: list[tuple[Any, socket.socket]]) -> None:
    from hypercorn.config import Config
    from hypercorn.trio import serve

    stop = anyio.Event()

    async def run(application: Any, sock: socket.socket) -> None:
        config = Config()
        config.bind = [f"fd://{sock.fileno()}"]
        config.accesslog = None
        config.loglevel = "WARNING"
        await serve(application, config, shutdown_trigger=stop.wait)

    async with anyio.create_task_group() as group:
        for application, sock in applications:
            group.start_soon(run, application, sock)
        await stopped()
        stop.set()


async def stopped() -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        print(json.dumps(URLS), flush=True)
        async for _ in signals:
            return


URLS: dict[str, str] = {}

SERVERS: dict[str, tuple[str, Callable[[list[tuple[Any, socket.socket]]], Awaitable[None]]]] = {
    "uvicorn": ("asyncio", lambda applications: under_uvicorn(applications, "on")),
    "uvicorn-without-lifespan": ("asyncio", lambda applications: under_uvicorn(applications, "off")),
    "hypercorn-trio": ("trio", under_hypercorn),
}


def main(server: str) -> None:
    bound = []
    for name, (make, path) in APPLICATIONS.items():
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.bind(("127.0.0.1", 0))
        sock.listen(64)
        URLS[name] = f"http://127.0.0.1:{sock.getsockname()[1]}{path}"
        bound.append((make(), sock))
    loop, serve = SERVERS[server]
    anyio.run(serve, bound, backend=loop)


if __name__ == "__main__":
    main(sys.argv[1])
