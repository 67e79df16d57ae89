"""`run_app`: an app that serves in the foreground of a process, until it is told to stop."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from .app import Tesseron


def run_app(app: Tesseron, *, port: int = 0) -> None:
    """Listen, say where on standard error, and serve until Ctrl-C or SIGTERM.

    Raises:
        RuntimeError: An event loop runs already.
    """
    try:
        current_token()
    except RuntimeError:  # anyio.NoEventLoopError is one
        anyio.run(_serve, app, port)
        return
    raise RuntimeError("an event loop runs here already; write `await app.serve()` instead of `app.run()`")


async def _serve(app: Tesseron, port: int) -> None:
    async with app.listen(port=port) as host:
        sys.stderr.write(f"{app.name} listens on {host.url}. Ctrl-C stops it.\n")
        sys.stderr.flush()
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                return
