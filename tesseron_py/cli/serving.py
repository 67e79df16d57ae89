"""How a server command ends: on SIGTERM, Ctrl-C or the end of its input, soon, with exit code 0 and no traceback."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

GRACE = 1.0
"""Seconds for handlers that do not heed their cancellation: the process must be gone within 2 s (MCP, stdio)."""


async def until_stopped(serve: Callable[[], Awaitable[Any]]) -> None:
    """Run `serve()` until it returns, or a signal cancels it. What it raises leaves as it is."""
    problem: Exception | None = None
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    group.cancel_scope.cancel()
                    return

        group.start_soon(watch)
        try:
            await serve()
        except Exception as error:
            problem = error
        group.cancel_scope.cancel()
    if problem is not None:
        raise problem


def leave_now(code: int) -> None:
    """End the process although a handler goes on: asyncio waits for such a task for ever, and trio does, too."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)
