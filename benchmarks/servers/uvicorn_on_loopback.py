"""How all sides are served over HTTP: uvicorn with asyncio and h11, without a log of every request.

With BENCHMARK_LOOP=fast in the environment it is uvloop and httptools.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Literal

import uvicorn


def serve(app: Any, lifespan: Literal["on", "off"] = "on") -> None:
    """Serve an ASGI application on a free port of 127.0.0.1, which is printed, until a signal comes."""
    # asyncio sends small writes at once only on sockets that say they are TCP; else every answer takes 40 ms more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        print(sock.getsockname()[1], flush=True)
        # A connection must outlive the time that the other sides are measured, or that it is not chosen under load.
        fast = os.environ.get("BENCHMARK_LOOP") == "fast"
        config = uvicorn.Config(
            app,
            loop="uvloop" if fast else "asyncio",
            http="httptools" if fast else "h11",
            log_level="warning",
            access_log=False,
            lifespan=lifespan,
            timeout_keep_alive=24 * 3600,
        )
        uvicorn.Server(config).run(sockets=[sock])
