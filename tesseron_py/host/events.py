"""What happens to a host while it serves, for an author who wants to know."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from ..protocol.messages import AgentInfo

KEPT = 64
"""Events kept for a reader that is behind; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """An agent has claimed the app."""

    agent: AgentInfo

    def __str__(self) -> str:
        return f"claimed by {self.agent.name}"


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session goes on over a new connection."""

    agent: AgentInfo

    def __str__(self) -> str:
        return f"resumed with {self.agent.name}"


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection to the gateway ended; the host listens, or dials, again."""

    reason: str
    left: bool = False
    """The gateway closed it, as one does whose agent leaves."""

    def __str__(self) -> str:
        return "the gateway has left" if self.left else f"dropped: {self.reason}"


@dataclass(frozen=True, slots=True)
class HandshakeFailed:
    """A gateway did not welcome the app, or none could be reached; the host listens, or dials, again."""

    reason: str

    def __str__(self) -> str:
        return f"handshake failed: {self.reason}"


HostEvent: TypeAlias = Claimed | Resumed | Dropped | HandshakeFailed


class Events:
    """The events of one host, as an async iterator that ends with the host."""

    def __init__(self) -> None:
        self._events: deque[HostEvent] = deque(maxlen=KEPT)
        self._ended = False
        self._wakes = anyio.Event()

    def add(self, event: HostEvent) -> None:
        self._events.append(event)
        self._wake()

    def end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        wakes, self._wakes = self._wakes, anyio.Event()
        wakes.set()

    def __aiter__(self) -> AsyncIterator[HostEvent]:
        return self

    async def __anext__(self) -> HostEvent:
        while not self._events:
            if self._ended:
                raise StopAsyncIteration
            await self._wakes.wait()
        return self._events.popleft()
