"""A bell that wakes the one task which waits for it: for queues with one reader, where every message rings it.

`anyio.Event` does as much for any number of tasks, once; making and awaiting one costs about ten times as much, and a
call of an action waits in such queues seven times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class Bell:
    """One task waits, others in its event loop ring. A ring that nobody waits for is forgotten: look before you wait.

    Example:
        ```python
        while not items:
            await bell.wait()
        ```
    """

    __slots__ = ("_future", "_wake")

    def __init__(self) -> None:
        self._future: Any = None
        self._wake: Callable[[], None] | None = None

    async def wait(self) -> None:
        """Return with the next ring. Can be cancelled."""
        loop = _asyncio_loop()
        try:
            if loop is not None:
                future = self._future = loop.create_future()
                await future
            else:
                import trio

                event = trio.Event()
                self._wake = event.set
                await event.wait()
        finally:
            self._wake = self._future = None

    def ring(self) -> None:
        """Wake the task that waits, if one does."""
        future = self._future
        if future is not None:
            if not future.done():
                future.set_result(None)
        elif self._wake is not None:
            self._wake()


def _asyncio_loop() -> Any:
    """The event loop that runs here, if it is one of asyncio's."""
    asyncio = sys.modules.get("asyncio")  # where it was never imported, none runs
    return None if asyncio is None else asyncio._get_running_loop()
