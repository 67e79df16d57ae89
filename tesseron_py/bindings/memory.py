"""A pair of channels in one process: what one end sends the other receives.

It behaves as a socket would, without one: each direction holds a bounded number of messages, a sender waits while the
other end does not read, and either end may close.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from ..bell import Bell
from ..protocol.messages import DEFAULT_FRAME_LIMIT
from .channel import Closed, TooLarge

CAPACITY = 256
"""Messages one direction holds before its sender waits."""
AT_ONCE = 64
"""Messages that are handed over before their sender lets others run."""


class _Direction:
    """One way of the pair: a bounded queue with one reader and any number of senders."""

    def __init__(self) -> None:
        self.items: deque[str] = deque()
        self.closed: Closed | None = None
        self.take: Callable[[str], bool] | None = None
        self.on_close: Callable[[], None] | None = None
        self._handed = 0
        self._fault: Exception | None = None
        self._readable = Bell()
        self._writable: anyio.Event | None = None

    def put_now(self, text: str) -> bool:
        if self.closed is not None:
            return False
        if self.take is not None and not self.items and self._hand(self.take, text):
            return True
        if len(self.items) >= CAPACITY:
            return False
        self.items.append(text)
        self._readable.ring()
        return True

    def _hand(self, take: Callable[[str], bool], text: str) -> bool:
        try:
            taken = take(text)
        except Exception as fault:  # it is the reader's, and must not end its sender
            self._fault, self.take, taken = fault, None, True
            self._readable.ring()
        self._handed += taken
        return taken

    async def put(self, text: str) -> None:
        if self._handed >= AT_ONCE:
            self._handed = 0
            await checkpoint()
        while self.closed is None and len(self.items) >= CAPACITY:
            if self._writable is None:
                self._writable = anyio.Event()
            await self._writable.wait()
        if not self.put_now(text):
            assert self.closed is not None
            raise self.closed

    async def get(self) -> str:
        while not self.items:
            if self._fault is not None:
                raise self._fault
            if self.closed is not None:
                raise self.closed
            await self._readable.wait()
        text = self.items.popleft()
        if self._writable is not None:
            self._writable.set()
            self._writable = None
        return text

    def close(self, reason: str) -> None:
        if self.closed is None:
            self.closed = Closed(reason, 1000)
            if self.on_close is not None and not self.items:
                self.on_close()
        self._readable.ring()
        if self._writable is not None:
            self._writable.set()
            self._writable = None


class MemoryChannel:
    """One end of a pair; see `pair`."""

    def __init__(self, inbound: _Direction, outbound: _Direction, limit: int) -> None:
        self._inbound = inbound
        self._outbound = outbound
        self._limit = limit

    @property
    def limit(self) -> int:
        return self._limit

    def send_now(self, text: str) -> bool:
        return len(text) * 4 <= self._limit and self._outbound.put_now(text)

    async def send(self, text: str) -> None:
        # A character is at most four bytes of UTF-8, so most messages need no encoding to be measured.
        if len(text) * 4 > self._limit and (size := len(text.encode("utf-8", "replace"))) > self._limit:
            raise TooLarge(size, self._limit)
        await self._outbound.put(text)

    def hand_to(self, take: Callable[[str], bool], closed: Callable[[], None]) -> None:
        self._inbound.take, self._inbound.on_close = take, closed

    async def receive(self) -> str:
        return await self._inbound.get()

    async def aclose(self) -> None:
        self._inbound.close("closed by this end")
        self._outbound.close("closed by the other end")
        await checkpoint()


def pair(*, limit: int = DEFAULT_FRAME_LIMIT) -> tuple[MemoryChannel, MemoryChannel]:
    """Two connected channels.

    Args:
        limit: Bytes one message may have.

    Example:
        ```python
        here, there = pair()
        await here.send("{}")
        assert await there.receive() == "{}"
        ```
    """
    one, other = _Direction(), _Direction()
    return MemoryChannel(one, other, limit), MemoryChannel(other, one, limit)
