"""The sessions a gateway would resume: claimed ones whose connection is gone (Tesseron 1.2 §3, Resume)."""

from __future__ import annotations

import hmac
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ..errors import ResumeFailed
from ..protocol.messages import AgentInfo
from .greeting import Greeting, Welcome

DEFAULT_TTL: Final = 4 * 3600.0
MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Resumable:
    """One session. `repr` shows no secret."""

    id: str
    token: str = field(repr=False)
    app_id: str
    principal: str
    agent: AgentInfo
    until: float


class Sessions:
    """The resumable sessions of a gateway, at most 100; the oldest go first.

    Args:
        ttl: Seconds one is kept; by default `$TESSERON_RESUME_TTL_MS`, else 4 h.
        now: A clock that only goes forward, in seconds.
    """

    def __init__(self, *, ttl: float | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._ttl = _ttl() if ttl is None else ttl
        self._now = now
        self._sessions: dict[str, Resumable] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def keep(self, welcome: Welcome, app_id: str, agent: AgentInfo, principal: str) -> None:
        """A session is claimed, or goes on with a new token: this is what resumes it."""
        if welcome.resume_token is None:
            return
        self._sessions.pop(welcome.session_id, None)
        until = self._now() + self._ttl
        self._sessions[welcome.session_id] = Resumable(
            welcome.session_id, welcome.resume_token, app_id, principal, agent, until
        )
        while len(self._sessions) > MOST:
            del self._sessions[next(iter(self._sessions))]

    def resume(self, greeting: Greeting) -> Welcome:
        """The answer to a resume: the same session, with a new token; the old one is dead.

        Raises:
            ResumeFailed: The session is unknown, of another app, or past its time, or the token is not its own.
        """
        found = self._sessions.get(greeting.session_id or "")
        token = (greeting.resume_token or "").encode()
        # Compared in any case, so that the time it takes tells nothing.
        right = hmac.compare_digest(token, found.token.encode() if found is not None else b"none")
        if found is None or not right or found.app_id != greeting.info.id or self._now() > found.until:
            raise ResumeFailed("This gateway does not resume the session: unknown, past its time, or another token")
        welcome = Welcome(
            found.id, resume_token=secrets.token_urlsafe(32), agent=found.agent, principal=found.principal
        )
        self.keep(welcome, found.app_id, found.agent, found.principal)
        return welcome


def _ttl() -> float:
    given = os.environ.get("TESSERON_RESUME_TTL_MS", "")
    return int(given) / 1000 if given.isdecimal() else DEFAULT_TTL
