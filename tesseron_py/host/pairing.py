"""The pair by which a claimed session is resumed: kept in memory, and on disk for an app that wants it (§3, Resume)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .. import directory
from ..protocol.messages import AgentInfo

logger = logging.getLogger("tesseron_py.host")

LIFETIME: Final = 4 * 3600.0
"""Seconds that gateways keep a session for resuming."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A claimed session and what it is resumed with. `repr` shows no secret."""

    session_id: str
    resume_token: str
    agent: AgentInfo
    kept_at: float

    def __repr__(self) -> str:
        return f"<Pair of {self.session_id}>"


class Pairing:
    """The one claimed pair of a host.

    Args:
        app_id: Whose.
        file: Where it is kept over a restart, with mode 0600; `None` keeps it in memory.
        now: Seconds since 1970.
    """

    def __init__(self, app_id: str, *, file: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self._app_id = app_id
        self._file = file
        self._now = now
        self._pair = self._load() if file is not None else None

    @property
    def pair(self) -> Pair | None:
        """The pair, while a gateway may still know it."""
        if self._pair is not None and self._now() - self._pair.kept_at > LIFETIME:
            self._pair = None
        return self._pair

    def keep(self, session_id: str, resume_token: str, agent: AgentInfo) -> None:
        """A session is claimed, or was resumed with a new token: this is the pair from now on."""
        self._pair = Pair(session_id, resume_token, agent, self._now())
        if self._file is None:
            return
        content = {
            "version": 1,
            "appId": self._app_id,
            "sessionId": session_id,
            "resumeToken": resume_token,
            "agent": agent.to_wire(),
            "keptAt": int(self._pair.kept_at * 1000),
        }
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.write(self._file, content)
        except OSError as error:
            logger.warning("The pairing cannot be kept in %s: %s", self._file, error)

    def _load(self) -> Pair | None:
        assert self._file is not None
        content: dict[str, Any] | None = directory.read(self._file)
        if content is None or content.get("appId") != self._app_id:
            return None
        session_id, token, kept_at = content.get("sessionId"), content.get("resumeToken"), content.get("keptAt")
        agent = AgentInfo.from_wire(content.get("agent"))
        if not isinstance(session_id, str) or not isinstance(token, str) or type(kept_at) is not int or agent is None:
            return None
        return Pair(session_id, token, agent, kept_at / 1000)
