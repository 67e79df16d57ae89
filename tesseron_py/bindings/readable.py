"""Waiting for one socket to become readable, again and again.

`anyio.wait_readable` registers the descriptor for every wait and takes it out again: on asyncio two system calls and a
good part of what it costs to receive a message. Here it stays registered from one wait to the next, and is taken out
when something comes while nobody waits. On trio this is trio's own.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import anyio
from anyio.lowlevel import current_token


class Readable:
    """One socket; one task waits at a time. Made in the event loop it is used in."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        loop: Any = current_token().native_token
        self._loop: asyncio.AbstractEventLoop | None = loop if hasattr(loop, "add_reader") else None
        self._waiter: asyncio.Future[bool] | None = None
        self._registered = False

    async def wait(self) -> None:
        """Return when there is something to read, or seems to be.

        Raises:
            anyio.ClosedResourceError: `interrupt` has ended the wait.
        """
        if self._loop is None:
            return await anyio.wait_readable(self._sock)
        if not self._registered:
            try:
                self._loop.add_reader(self._sock, self._came)
            except NotImplementedError:  # Windows' default event loop
                self._loop = None
                return await anyio.wait_readable(self._sock)
            self._registered = True
        self._waiter = self._loop.create_future()
        try:
            came = await self._waiter
        finally:
            self._waiter = None
        if not came:
            raise anyio.ClosedResourceError
        return None

    def interrupt(self) -> None:
        """End the wait, if somebody waits, and forget the descriptor: it may be closed after this."""
        if self._loop is None:
            return
        if self._registered:
            self._loop.remove_reader(self._sock)
            self._registered = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(False)

    def _came(self) -> None:
        assert self._loop is not None
        if self._waiter is None:
            # Nobody reads now, and the loop would call again and again.
            self._loop.remove_reader(self._sock)
            self._registered = False
        elif not self._waiter.done():
            self._waiter.set_result(True)
