"""Every number of the endpoint, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """What the endpoint bounds, and where. Times are seconds, sizes bytes.

    Attributes:
        body: One request's body over HTTP; above it, 413.
        line: One line on stdio, in either direction.
        json: One JSON response; a larger result becomes an error.
        frame: One message in a stream of events; a larger result becomes an error. (One client fails above 1 MiB.)
        sessions: HTTP sessions at once; above it, 429.
        idle: A session without a request, a running call or an open GET stream ends after this.
        calls: Requests of one session that may run at once.
        prompts: Questions of one session that may wait for the person at once.
        subscriptions: Resources one session may follow.
        silence: A call without an answer is shown to be alive each time this has passed; so is a GET stream.
        patience: How long an HTTP call is given to end before its connection is watched and its response may stream.
        body_deadline: The body of a request must have come by then; else 408.
        write_deadline: A client that takes nothing for this long is taken for gone.
        closing: How long closing waits for what is in flight to say goodbye.
        parked: Calls of the modern era that may wait for answers at once; the next is refused.
        parked_for: A call that nobody has come back for in this time is cancelled, and a `requestState` holds so long.
        kept: A result is kept for this time, for legs that are repeated.
        kept_room: Bytes of kept results in all; the oldest go first.
        requests: Requests of the modern era that may run at once.
        streams: `subscriptions/listen` streams that may be open at once.
        unsent: Messages (and no more than two lines' worth of text) that may wait for a stdio client to read; above
            it, nothing more is read from it.
    """

    body: int = 4 * MEBIBYTE
    line: int = 8 * MEBIBYTE
    json: int = 8 * MEBIBYTE
    frame: int = 1_000_000
    sessions: int = 1024
    idle: float = 24 * 3600.0
    calls: int = 1024
    prompts: int = 32
    subscriptions: int = 1024
    silence: float = 15.0
    patience: float = 0.01
    body_deadline: float = 30.0
    write_deadline: float = 30.0
    closing: float = 0.5
    parked: int = 1024
    parked_for: float = 30 * 60.0
    kept: float = 60.0
    kept_room: int = 64 * MEBIBYTE
    requests: int = 4096
    streams: int = 1024
    unsent: int = 1024
