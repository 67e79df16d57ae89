"""Host-minted claims: the code a person gives their agent, and the gate that lets in who has it (Tesseron 1.2 §3)."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from ..bindings.channel import Admit, Offer, Refusal, Refuse
from ..protocol.messages import AgentInfo

ALPHABET: Final = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Upper-case letters and digits without the look-alikes 0/O and 1/I/L."""
LIFETIME_MS: Final = 10 * 60 * 1000
"""How long a code counts from its minting; an unclaimed host mints the times anew every `REFRESH` seconds."""
REFRESH: Final = 5 * 60.0
MISMATCHES: Final = 5
"""Wrong codes within `WINDOW` seconds that lock the host."""
WINDOW: Final = 60.0
LOCKOUT: Final = 60.0
"""Seconds for which a locked host takes no code at all."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a host mints when it starts. `repr` shows no secret.

    Attributes:
        code: `XXXX-XX`, for people.
        session_id: The session's id, `s_…`.
        resume_token: What the session is resumed with first.
        minted_at: When, in ms since 1970.
        bound_agent: Who claimed it.
    """

    code: str
    session_id: str
    resume_token: str
    minted_at: int
    bound_agent: AgentInfo | None = None

    def __repr__(self) -> str:
        return f"<Claim of {self.session_id}>"

    @classmethod
    def mint(cls, *, now: Callable[[], float] = time.time) -> Claim:
        """A new claim, from the system's random numbers."""
        code = "".join(secrets.choice(ALPHABET) for _ in range(6))
        return cls(
            code=f"{code[:4]}-{code[4:]}",
            session_id=f"s_{secrets.token_urlsafe(18)}",
            resume_token=secrets.token_urlsafe(32),
            minted_at=int(now() * 1000),
        )

    def refreshed(self, *, now: Callable[[], float] = time.time) -> Claim:
        """The same claim, counting from now."""
        return replace(self, minted_at=int(now() * 1000))

    def bound_to(self, agent: AgentInfo, session_id: str) -> Claim:
        """The same claim, with who has it, and the session that goes on with it."""
        return replace(self, bound_agent=agent, session_id=session_id)

    def to_manifest(self) -> dict[str, Any]:
        """Its part of a manifest: `hostMintedClaim`."""
        return {
            "code": self.code,
            "sessionId": self.session_id,
            "resumeToken": self.resume_token,
            "mintedAt": self.minted_at,
            "expiresAt": self.minted_at + LIFETIME_MS,
            "boundAgent": self.bound_agent.to_wire() if self.bound_agent is not None else None,
        }


class ClaimGate:
    """Lets in whoever has the code until the claim is spent; and at the endpoints for resuming whoever comes.

    The checks stand in the order of the table in Tesseron 1.2 §3. Five wrong codes within 60 s lock the gate for 60 s,
    the right one clears the count.

    Args:
        claim: What is asked for.
        now: A clock that only goes forward, in seconds.
    """

    def __init__(self, claim: Claim, *, now: Callable[[], float] = time.monotonic) -> None:
        self._code = claim.code.encode()
        self._now = now
        self._mismatches: deque[float] = deque()
        self._locked_until = float("-inf")
        self.spent = False
        """The claim has been used: a session stands or stood on it."""
        self.resume_paths: set[str] = set()
        """Endpoints that ask for no code, since a resume token is asked for there."""

    def offer(self, offer: Offer) -> Admit | Refuse:
        if offer.path in self.resume_paths:
            return Admit()
        now = self._now()
        if now < self._locked_until:
            return Refuse(Refusal.LOCKED_OUT, "Too many wrong claim codes came in. Wait a minute and try again.")
        if offer.malformed:
            return Refuse(Refusal.MALFORMED, "Offer exactly one claim code, as tesseron-bind.<code>.")
        if not offer.codes:
            return Refuse(
                Refusal.NO_CODE, "This app asks for its claim code. Dial it with the code the person gives you."
            )
        if not hmac.compare_digest(offer.codes[0].upper().encode(), self._code):
            self._mismatch(now)
            return Refuse(Refusal.WRONG_CODE, "That is not this app's claim code. Look at the app for the right one.")
        self._mismatches.clear()
        if self.spent:
            return Refuse(Refusal.SPENT, "The claim code has been used already; an agent has the app.")
        return Admit()

    def _mismatch(self, now: float) -> None:
        self._mismatches.append(now)
        while self._mismatches[0] <= now - WINDOW:
            self._mismatches.popleft()
        if len(self._mismatches) >= MISMATCHES:
            self._locked_until = now + LOCKOUT
            self._mismatches.clear()
