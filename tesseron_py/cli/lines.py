"""The lines that a person types or a pipe brings, one at a time, as they come.

A daemon thread reads, and only while somebody waits for a line: it works for terminals, pipes and files on every
system, and one that is stuck in a read keeps neither the event loop nor the process from ending. `sys.stdin` is not
used, since a thread that is stuck in it aborts the interpreter's end.
"""

from __future__ import annotations

import os
import threading
from collections import deque

import anyio
from anyio.lowlevel import EventLoopToken, current_token

MAX_LINE = 8 * 1024 * 1024
"""Bytes one line may have."""


class Lines:
    """Iterates over the lines of a file descriptor, without their ends; the last one needs none.

    Args:
        descriptor: What to read; 0 is stdin.

    Raises (while iterating):
        ValueError: A line is above `MAX_LINE`.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._wanted = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._arrived: anyio.Event | None = None
        self._rest = b""
        self._lines: deque[bytes] = deque()
        self._ended = False

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines and not self._ended:
            if len(self._rest) > MAX_LINE:
                raise ValueError(f"a line is above {MAX_LINE} bytes")
            await self._more()
        if self._lines:
            return self._lines.popleft()
        if self._rest:
            line, self._rest = self._rest, b""
            return line
        raise StopAsyncIteration

    async def _more(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._read, args=(current_token(),), name="tesseron-py reads stdin", daemon=True
            )
            self._thread.start()
        if self._arrived is None:
            self._arrived = anyio.Event()
            self._wanted.release()
        await self._arrived.wait()

    def _read(self, token: EventLoopToken) -> None:
        piece = b" "
        while piece:
            self._wanted.acquire()
            try:
                piece = os.read(self._descriptor, 64 * 1024)
            except OSError:  # a closed descriptor holds no lines
                piece = b""
            try:
                anyio.from_thread.run_sync(self._take, piece, token=token)
            except RuntimeError:  # the event loop is over
                return

    def _take(self, piece: bytes) -> None:
        if piece:
            *lines, self._rest = (self._rest + piece).split(b"\n")
            self._lines.extend(lines)
        else:
            self._ended = True
        arrived, self._arrived = self._arrived, None
        if arrived is not None:
            arrived.set()
