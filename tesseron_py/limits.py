"""Every number that the protocols leave to configuration, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Numbers that can be configured. Sizes are bytes, times are seconds.

    Attributes:
        frame: One Tesseron message, in either direction (Tesseron 1.2 §8).
        handshake: How long a peer may take to open a connection.
        questions: Questions one call may have open.
        question: How long a question waits for the person; then it counts as cancelled.
        closing: How long closing waits for handlers that do not heed their cancellation.
        body: One MCP request over HTTP.
        result: One MCP result as plain JSON over HTTP.
        event: One server-sent event, in which a call that has asked or reported gets its result.
        line: One MCP message on stdio.
        sessions: MCP sessions over HTTP at once.
        session_idle: How long an MCP session over HTTP lives without a request.
        prompts: Questions one MCP session may have open.
        calls: Requests one MCP session may have running.
        subscriptions: Resources one MCP session may follow.
        parked: Calls of MCP 2026-07-28 that may wait for their answers at once; the next is refused.
        parked_for: How long such a call waits for its client to come back; then it is cancelled.
        kept: How long its result is kept for a client that did not get it.
        silence: How long a call over HTTP is silent before it is kept alive.
    """

    frame: int = 8 * 1024 * 1024
    handshake: float = 10.0
    questions: int = 32
    question: float = 30 * 60.0
    closing: float = 5.0
    body: int = 4 * 1024 * 1024
    result: int = 8 * 1024 * 1024
    event: int = 1_000_000
    line: int = 8 * 1024 * 1024
    sessions: int = 1024
    session_idle: float = 24 * 3600.0
    prompts: int = 32
    calls: int = 1024
    subscriptions: int = 1024
    parked: int = 1024
    parked_for: float = 30 * 60.0
    kept: float = 60.0
    silence: float = 15.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"Limits({name}=…) is a number above 0, not {value!r}")


DEFAULT_LIMITS = Limits()
