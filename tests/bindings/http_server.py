"""An endpoint under a real server in the test's own event loop: uvicorn on asyncio, hypercorn on trio."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from sniffio import current_async_library


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
