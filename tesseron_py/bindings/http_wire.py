"""The words and numbers of the HTTP binding, shared by its two ends: header names, limits, and how a number is read.

`http` is the app's end, `http_endpoint` and `http_connection` are the gateway's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import anyio

from ..protocol.messages import DEFAULT_FRAME_LIMIT, HANDSHAKE_DEADLINE
from .duplex import STALL

PATH: Final = "/tesseron"
CONNECTION: Final = "Tesseron-Connection"
"""Which connection a request belongs to: 128 random bits that the gateway gave."""
ATTEMPT: Final = "Tesseron-Attempt"
"""Which attempt to open a connection this is: 128 random bits of the app's, repeated with a repeated request."""
SEQUENCE: Final = "Tesseron-Sequence"
"""The number of a message of the app's: 1, 2, 3, …"""
LAST_EVENT: Final = "Last-Event-ID"
"""The number of the last event the app has; it acknowledges all up to it."""

_NUMBER = re.compile(rb"[0-9]{1,18}")


def number(value: bytes | None) -> int | None:
    """A sequence or event number as it stands in a header; `None` when it is none."""
    return int(value) if value is not None and _NUMBER.fullmatch(value) is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """The numbers of the binding. Sizes are bytes, times are seconds.

    Attributes:
        frame: One message, in either direction; above it, 413.
        handshake: How long an opening may wait for the gateway's answer.
        kept: How long the answer to an opening is kept for a repeat of its attempt.
        unheard: Without a request from the app for this long, its connection is gone; without a byte from the gateway,
            the app takes its stream for lost.
        streamless: Without a stream (a GET) for this long, the connection is gone.
        silence: How long either end is silent before it shows that it is alive.
        persistence: How long the app goes on repeating a message that failed on the network.
        attempt: How long one request waits for its answer before it counts as failed.
        first_retry: The least time between two attempts.
        last_retry: The most.
        events: Unacknowledged events the gateway keeps; above, its sender waits for `stall`, then the connection is
            dropped as a slow reader.
        event_bytes: Bytes of them.
        acknowledge: Events after which the app acknowledges by a request of its own; also after a quarter of
            `event_bytes`.
        inbox: Messages that one end keeps for a reader that is behind, before it takes no more.
        inbox_bytes: Bytes of them.
        stall: How long an end may take nothing before it is dropped.
        linger: How long closing waits for the other end's part in it.
        connections: Connections at once; above, 503.
        body_deadline: How long the body of a request may take to come.
        write_deadline: How long the app may read nothing of its stream before that is closed.
    """

    frame: int = DEFAULT_FRAME_LIMIT
    handshake: float = HANDSHAKE_DEADLINE
    kept: float = 60.0
    unheard: float = 45.0
    streamless: float = 30.0
    silence: float = 15.0
    persistence: float = 30.0
    attempt: float = 10.0
    first_retry: float = 0.2
    last_retry: float = 10.0
    events: int = 1024
    event_bytes: int = 16 * 1024 * 1024
    acknowledge: int = 256
    inbox: int = 256
    inbox_bytes: int = 4 * 1024 * 1024
    stall: float = STALL
    linger: float = 1.0
    connections: int = 1024
    body_deadline: float = 30.0
    write_deadline: float = 30.0


DEFAULT_HTTP_LIMITS: Final = HttpLimits()


class Signal:
    """Wakes everybody who waits, any number of times."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def wake(self) -> None:
        event, self._event = self._event, anyio.Event()
        event.set()

    async def wait(self) -> None:
        await self._event.wait()
