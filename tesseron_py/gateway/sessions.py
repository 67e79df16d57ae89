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
    before: str = field(default="", repr=False)
    """The token before; it resumes the session, too, until the app shows that it has the new one."""
    is_known: Callable[[], bool] = field(default=lambda: True, repr=False)
    """Whether the app has shown that."""

    def takes(self, token: str) -> bool:
        """Whether `token` resumes it."""
        before = self.before if self.before and not self.is_known() else self.token
        # Both are compared in any case, so that the time it takes tells nothing.
        right, also = _same(token, self.token), _same(token, before)
        return right or also


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

    def __contains__(self, session_id: object) -> bool:
        found = self._sessions.get(session_id) if isinstance(session_id, str) else None
        return found is not None and self._now() <= found.until

    def keep(self, welcome: Welcome, app_id: str, agent: AgentInfo, principal: str) -> None:
        """A session is claimed: this is what resumes it."""
        if welcome.resume_token is None:
            return
        found = self._sessions.get(welcome.session_id)
        if found is not None and found.token == welcome.resume_token:
            return  # it was resumed, and is kept already
        token, until = welcome.resume_token, self._now() + self._ttl
        self._keep(Resumable(welcome.session_id, token, app_id, principal, agent, until))

    def _keep(self, session: Resumable) -> None:
        self._sessions.pop(session.id, None)
        self._sessions[session.id] = session
        while len(self._sessions) > MOST:
            del self._sessions[next(iter(self._sessions))]

    def resume(self, greeting: Greeting, *, is_known: Callable[[], bool] = lambda: True) -> Welcome:
        """The answer to a resume: the same session, with a new token; the old one is dead.

        Args:
            greeting: The resume.
            is_known: Whether the app has shown that it has the answer. Until then the old token lives: over a binding
                whose answers may get lost, the app resumes again with it.

        Raises:
            ResumeFailed: The session is unknown, of another app, or past its time, or the token is not its own.
        """
        found = self._sessions.get(greeting.session_id or "")
        given = greeting.resume_token or ""
        right = found.takes(given) if found is not None else _same(given, "none")
        if found is None or not right or found.app_id != greeting.info.id or self._now() > found.until:
            raise ResumeFailed("This gateway does not resume the session: unknown, past its time, or another token")
        token, until = secrets.token_urlsafe(32), self._now() + self._ttl
        self._keep(Resumable(found.id, token, found.app_id, found.principal, found.agent, until, given, is_known))
        return Welcome(found.id, resume_token=token, agent=found.agent, principal=found.principal)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _ttl() -> float:
    given = os.environ.get("TESSERON_RESUME_TTL_MS", "")
    return int(given) / 1000 if given.isdecimal() else DEFAULT_TTL
