"""What every binding gives, and what a listener asks before it lets a peer in.

A `Channel` carries whole envelopes in order, both ways, and nothing else. Bindings are one file each, with both ends;
whoever uses a channel knows neither sockets nor framing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Closed(Exception):
    """The channel is closed, by either end or by a fault.

    Attributes:
        reason: Why, for a log line.
        code: The WebSocket close code where there is one (1000 a close, 1006 a vanished peer, 1009 an oversized frame).
    """

    def __init__(self, reason: str = "closed", code: int = 1006) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


class TooLarge(ValueError):
    """A message of ours is above the channel's limit; nothing was sent and the channel lives on."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the message is {size} bytes long, and a frame may be {limit}")
        self.size = size
        self.limit = limit


class Channel(Protocol):
    """One connection to one peer: reliable, ordered, duplex, one envelope a message.

    Any number of tasks may send at once; one task receives. Cancelling either loses no message and leaves the channel
    usable: a message is sent whole or not at all.
    """

    @property
    def limit(self) -> int:
        """Bytes (UTF-8) one message may have, in either direction."""
        ...

    async def send(self, text: str) -> None:
        """Hand `text` to the peer; waits while the peer reads slowly.

        Raises:
            Closed: The channel is closed.
            TooLarge: `text` is above `limit`.
        """
        ...

    async def receive(self) -> str:
        """The next message.

        Raises:
            Closed: The channel is closed, and every message that came before is delivered.
        """
        ...

    async def aclose(self) -> None:
        """Close both directions, telling the peer where that can be done at once. Never raises, may be repeated."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """What a peer offers when it wants in, after the listener's own checks (path, Host, Origin) have passed.

    Attributes:
        path: The path of the request, as the peer sent it.
        subprotocols: The elements of `Sec-WebSocket-Protocol`, in order, as they came.
    """

    path: str
    subprotocols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Admit:
    """Let the peer in, with the subprotocol it is told."""

    subprotocol: str | None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Turn the peer away with an HTTP status and a sentence that says why and what to do."""

    status: int
    reason: str


class Gate(Protocol):
    """Who decides whether a peer gets in. Consulted once an upgrade, without waiting."""

    def offer(self, offer: Offer) -> Admit | Refuse: ...


def check_size(text: str, limit: int) -> bytes:
    """`text` as UTF-8, or `TooLarge`."""
    data = text.encode()
    if len(data) > limit:
        raise TooLarge(len(data), limit)
    return data
