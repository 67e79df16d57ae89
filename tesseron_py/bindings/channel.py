"""What every binding gives, and what a listener asks before it lets a peer in.

A `Channel` carries whole envelopes in order, both ways, and nothing else. Bindings are one file each, with both ends;
whoever uses a channel knows neither sockets nor framing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable


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


@runtime_checkable
class Unsure(Protocol):
    """A channel whose peer may be alive and not have the answer to its first message, and then opens another one."""

    used: bool
    """Whether the peer has shown that it has the answer."""


@runtime_checkable
class Immediate(Protocol):
    """A channel that can hand over a message where nothing can wait."""

    def send_now(self, text: str) -> bool:
        """Hand `text` to the peer, if that needs no waiting; `False` when it does, or cannot be: then `send` it.

        Not to be called while a task is in `send`, whose message comes first.
        """
        ...


@runtime_checkable
class Handing(Protocol):
    """A channel that can hand a message to its reader in the sender's own step, without waking a task for it."""

    def hand_to(self, take: Callable[[str], bool], closed: Callable[[], None]) -> None:
        """From now on, offer each message to `take` as it is sent; what it does not take waits to be received.

        Messages keep their order: while one waits, none is offered. What `take` raises is the reader's, and comes out
        of its `receive`. `closed` is called as the channel is closed, before what has come with that goes on.
        """
        ...


class Refusal(Enum):
    """Why a gate turns a peer away, in the order of Tesseron 1.2 §3; each binding has its own answer for each."""

    LOCKED_OUT = "too many wrong codes came lately"
    MALFORMED = "the code is none, or there is more than one"
    NO_CODE = "there is no code"
    WRONG_CODE = "the code is not the one"
    SPENT = "the claim has been used"
    TAKEN = "another gateway has the place"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a gateway offers when it wants in, after the listener's own checks have passed.

    Attributes:
        path: Which endpoint it came to: the path of its request, or that of the socket.
        codes: The codes it wants to bind with, as they came.
        malformed: Whether it gave a bind element that holds no code, or more than one bind element.
    """

    path: str
    codes: tuple[str, ...] = ()
    malformed: bool = False


@dataclass(frozen=True, slots=True)
class Admit:
    """Let the gateway in. It may still find the place taken: only what `accept` returns is a connection."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Turn the gateway away; `message` says why and what to do."""

    refusal: Refusal
    message: str


class Gate(Protocol):
    """Who decides whether a gateway gets in. Consulted once an attempt, in the event loop, without waiting."""

    def offer(self, offer: Offer) -> Admit | Refuse: ...


class OpenGate:
    """Lets every gateway in, whatever code it offers: claims are the gateway's to mint (Tesseron 1.2 §3)."""

    def offer(self, offer: Offer) -> Admit | Refuse:
        return Admit()


def check_size(text: str, limit: int) -> bytes:
    """`text` as UTF-8, or `TooLarge`."""
    data = text.encode()
    if len(data) > limit:
        raise TooLarge(len(data), limit)
    return data
