"""How both sides are served over HTTP: uvicorn as it comes, without a log of every request."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn


def serve(app: Any) -> None:
    """Serve an ASGI application on a free port of 127.0.0.1, which is printed, until a signal comes."""
    # asyncio sends small writes at once only on sockets that say they are TCP; else every answer takes 40 ms more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        print(sock.getsockname()[1], flush=True)
        # A connection must outlive the time that the other side is measured.
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on", timeout_keep_alive=600)
        uvicorn.Server(config).run(sockets=[sock])
