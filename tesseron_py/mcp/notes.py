"""What a running call tells its client besides its result: progress and log entries, as MCP notifications.

It owns what has been told so far, since progress must rise strictly, and decides what is not told at all. It sends
nothing itself.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..invocation import Log, Note, Progress
from .envelope import notification_text
from .messages import LOG, LOG_LEVELS, PROGRESS

logger = logging.getLogger("tesseron_py.mcp.notes")

STEP: Final = 0.001
"""How far progress rises when its value does not: enough to be strictly more, too little to be seen."""
TOTAL: Final = 100
_DIGITS: Final = 6
"""Rounding keeps 1.0009999999999999 off the wire."""

_LEVELS: Final = {"debug": "debug", "info": "info", "warn": "warning", "error": "error"}


class Notes:
    """The notifications of one call.

    Args:
        token: The client's `progressToken`, or `None`: then progress is not told.
        level: The least severe level the client wants, asked each time; `None` wants no log at all.
        name: The `logger` of its entries.
    """

    def __init__(self, token: str | int | None, level: Callable[[], str | None], name: str) -> None:
        self._token = token
        self._level = level
        self._name = name
        self._last: float | None = None

    def text(self, note: Note) -> str | None:
        """The notification for `note`; `None` when the client is not told of it."""
        return self._progress(note) if isinstance(note, Progress) else self._log(note)

    def beat(self) -> str | None:
        """Progress that says only that the call is alive; `None` without a token."""
        return None if self._token is None else self._risen((self._last or 0) + STEP, None)

    def _progress(self, note: Progress) -> str | None:
        if self._token is None:
            return None
        percent = None if note.percent is None or not math.isfinite(note.percent) else round(note.percent, _DIGITS)
        if percent is None or (self._last is not None and percent <= self._last):
            if not note.message:
                return None
            percent = (self._last or 0) + STEP
        return self._risen(percent, note.message)

    def _risen(self, progress: float, message: str | None) -> str:
        self._last = progress = round(progress, _DIGITS)
        params: dict[str, Any] = {"progressToken": self._token, "progress": progress, "total": TOTAL}
        if message:
            params["message"] = message
        return notification_text(PROGRESS, params)

    def _log(self, note: Log) -> str | None:
        return log_text(note, self._level(), self._name)


def log_text(note: Log, wanted: str | None, name: str) -> str | None:
    """The notification for a log entry; `None` when it is below the level that is wanted.

    Args:
        note: The entry.
        wanted: The least severe level; `None` wants none at all.
        name: The `logger` of the entry.
    """
    level = _LEVELS.get(note.level, "info")
    if wanted is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
        return None
    data: Any = note.message
    if isinstance(note.meta, Mapping):
        data = {**note.meta, "message": note.message} if note.meta else note.message
    elif note.meta is not None:
        data = {"message": note.message, "meta": note.meta}
    params = {"level": level, "logger": name, "data": data}
    try:
        return notification_text(LOG, params)
    except ValueError as error:
        logger.warning("A log entry goes out without its details, which cannot be encoded: %s", error)
        return notification_text(LOG, {**params, "data": note.message})
