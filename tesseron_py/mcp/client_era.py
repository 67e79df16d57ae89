"""What an MCP client does differently in each era: the `Speech` protocol, and the choice between the two.

The two that there are stand in `client_legacy` and `client_modern`. The choice is by `server/discover`, which runs
nothing (MCP 2026-07-28, "Backward Compatibility with Initialization-Based Versions"); once it is made it stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectSendStream

from .client_errors import (
    BadAnswer,
    ClientError,
    McpError,
    MissingCapability,
    NoAnswer,
    RequestTimeout,
    UnsupportedVersion,
)
from .client_server import Server
from .messages import LEGACY_VERSIONS, MODERN_VERSION
from .provider import Era

logger = logging.getLogger("tesseron_py.mcp.client")

EraChoice: TypeAlias = Literal["legacy", "modern", "auto"]
"""Which era a client speaks; `auto` is modern where the server speaks it, else legacy."""
CHOICES: Final[tuple[EraChoice, ...]] = ("legacy", "modern", "auto")

HEADER_MISMATCH: Final = -32020

PATIENCE: Final = 1.0
"""Seconds without an answer to `server/discover` until `initialize` is sent after it, over a pipe."""
HTTP_PATIENCE: Final = 10.0
"""The same over HTTP, where a server that starts slowly is not reached at all."""

OnProgress: TypeAlias = Callable[[dict[str, Any]], None]


class Speech(Protocol):
    """One era, as one client speaks it to one server."""

    @property
    def era(self) -> Era: ...

    async def open(self, timeout: float) -> Server:
        """Say hello.

        Raises:
            ClientError: The server does not answer, or not in this era.
        """
        ...

    async def settled(self) -> None:
        """This era it is: do what has to be done before the first request."""
        ...

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        timeout: float | None,
        subject: str | None,
        on_progress: OnProgress | None,
    ) -> Any:
        """See `McpClient.request`; `subject` is the tool or URI it is about."""
        ...

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None: ...
    async def ping(self, timeout: float | None) -> None: ...
    async def subscribe(self, uri: str, timeout: float | None) -> None: ...
    async def unsubscribe(self, uri: str, timeout: float | None) -> None: ...
    async def set_log_level(self, level: str, timeout: float | None) -> None: ...


async def choose(modern: Speech, legacy: Speech, *, timeout: float, patience: float) -> tuple[Speech, Server]:
    """The modern era where the server speaks it, else the legacy one.

    A server that does not answer within `patience` seconds may start slowly, or not know the question and be silent:
    `initialize` follows, and the first of the two that is answered well decides. A server that knows both reads them in
    order, so it is not taken for an old one.

    Raises:
        ClientError: The server speaks neither, or cannot be reached.
    """
    answered, answers = anyio.create_memory_object_stream[_Answered](2)
    best: _Answered | None = None
    with answered, answers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hello, modern, timeout, answered)
            with anyio.move_on_after(patience):
                best = await answers.receive()
            if best is None:
                logger.debug("No answer to server/discover yet; initialize follows")
                tasks.start_soon(_hello, legacy, timeout, answered)
                best = await answers.receive()
                await checkpoint()  # where both have come at once, their order is the scheduler's
                if isinstance(best[1], Exception) or answers.statistics().current_buffer_used:
                    best = _better(best, await answers.receive())
            elif _is_legacy(best[1]):
                logger.debug("Taken for a legacy server: %s", best[1])
                best = legacy, await _outcome(legacy, timeout)
            tasks.cancel_scope.cancel()
    assert best is not None
    speech, outcome = best
    if isinstance(outcome, Exception):
        raise outcome
    return speech, outcome


_Answered: TypeAlias = tuple[Speech, "Server | Exception"]


async def _hello(speech: Speech, timeout: float, answered: MemoryObjectSendStream[_Answered]) -> None:
    answered.send_nowait((speech, await _outcome(speech, timeout)))


async def _outcome(speech: Speech, timeout: float) -> Server | Exception:
    try:
        return await speech.open(timeout)
    except (ClientError, ValueError) as error:
        return error


def _better(first: _Answered, second: _Answered) -> _Answered:
    """Of two, the modern one if it opened, then the legacy one; of two errors, that of a server which is modern."""
    modern, legacy = (first, second) if first[0].era == "modern" else (second, first)
    if isinstance(modern[1], Server) or (isinstance(legacy[1], Exception) and not _is_legacy(modern[1])):
        return modern
    return legacy


def _is_legacy(outcome: Server | Exception) -> bool:
    """Whether what came of `server/discover` leaves room for a legacy server. One that cannot be reached is neither."""
    match outcome:
        case UnsupportedVersion(supported=versions):
            return any(version in LEGACY_VERSIONS for version in versions)
        case MissingCapability():
            return False
        case McpError(code=code):
            return code != HEADER_MISMATCH
        case NoAnswer(status=status):
            return status is not None and status < 500 and status not in (401, 403, 407, 429)
        case BadAnswer() | RequestTimeout():
            return True
    return False


def only_modern(error: ClientError) -> ClientError:
    """What to say when a server that must be modern has answered `server/discover` so."""
    if not _is_legacy(error) or isinstance(error, RequestTimeout):
        return error
    return BadAnswer(f"The server does not speak MCP {MODERN_VERSION}, and no other was to be tried. It says: {error}")
