"""Host-minted claims: the code, and the gate that asks for it, in the order of the table in Tesseron 1.2 §3."""

from __future__ import annotations

import re

import pytest

from tesseron_py.bindings.channel import Admit, Offer, Refusal, Refuse
from tesseron_py.host.claims import ALPHABET, LIFETIME_MS, Claim, ClaimGate
from tesseron_py.protocol.messages import AgentInfo


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def gate(clock: Clock) -> ClaimGate:
    return ClaimGate(Claim("AB3X-7K", "s_1", "rt_1", 0), now=clock)


def offer(*codes: str, path: str = "/", malformed: bool = False) -> Offer:
    return Offer(path, codes, malformed)


def refusal(answer: Admit | Refuse) -> Refusal | None:
    if isinstance(answer, Refuse):
        assert answer.message.endswith(".")
        assert "AB3X" not in answer.message
        return answer.refusal
    return None


def test_codes_are_drawn_from_the_alphabet_without_look_alikes() -> None:
    claims = [Claim.mint() for _ in range(200)]
    assert len({claim.code for claim in claims}) > 190
    for claim in claims:
        assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{2}}", claim.code)
        assert claim.session_id.startswith("s_")
        assert len(claim.resume_token) >= 32
        assert claim.code not in repr(claim)
        assert claim.resume_token not in repr(claim)
    assert not set("01OIL") & set(ALPHABET)
    assert len({claim.session_id for claim in claims}) == len({claim.resume_token for claim in claims}) == 200


def test_a_claim_says_what_a_manifest_needs_and_counts_anew_when_it_is_refreshed() -> None:
    claim = Claim.mint(now=lambda: 5.0)
    assert claim.to_manifest() == {
        "code": claim.code,
        "sessionId": claim.session_id,
        "resumeToken": claim.resume_token,
        "mintedAt": 5000,
        "expiresAt": 5000 + LIFETIME_MS,
        "boundAgent": None,
    }
    later = claim.refreshed(now=lambda: 305.0)
    assert (later.code, later.minted_at) == (claim.code, 305_000)
    bound = later.bound_to(AgentInfo("a", "A"), "s_2").to_manifest()
    assert (bound["boundAgent"], bound["sessionId"]) == ({"id": "a", "name": "A"}, "s_2")


def test_the_code_lets_in_in_any_case_until_the_claim_is_spent(clock: Clock) -> None:
    door = gate(clock)
    assert door.offer(offer("AB3X-7K")) == Admit()
    assert door.offer(offer("ab3x-7k")) == Admit()
    door.spent = True
    assert refusal(door.offer(offer("AB3X-7K"))) is Refusal.SPENT
    assert refusal(door.offer(offer("WRONG"))) is Refusal.WRONG_CODE
    assert refusal(door.offer(offer())) is Refusal.NO_CODE


def test_what_is_no_code_is_refused_and_does_not_count(clock: Clock) -> None:
    door = gate(clock)
    for _ in range(20):
        assert refusal(door.offer(offer())) is Refusal.NO_CODE
        assert refusal(door.offer(offer("AB3X-7K", malformed=True))) is Refusal.MALFORMED
    assert door.offer(offer("AB3X-7K")) == Admit()


def test_five_wrong_codes_within_a_minute_lock_for_a_minute(clock: Clock) -> None:
    door = gate(clock)
    for _ in range(5):
        assert refusal(door.offer(offer("WRONG"))) is Refusal.WRONG_CODE
        clock.now += 1
    for given in (offer("AB3X-7K"), offer("WRONG"), offer(), offer(malformed=True)):
        assert refusal(door.offer(given)) is Refusal.LOCKED_OUT
    clock.now += 58
    assert refusal(door.offer(offer("AB3X-7K"))) is Refusal.LOCKED_OUT
    clock.now += 2
    assert door.offer(offer("AB3X-7K")) == Admit()


def test_wrong_codes_are_forgotten_with_time_and_with_the_right_one(clock: Clock) -> None:
    door = gate(clock)
    for _ in range(12):
        assert refusal(door.offer(offer("WRONG"))) is Refusal.WRONG_CODE
        clock.now += 15.1
    door = gate(clock)
    for _ in range(3):
        for _ in range(4):
            assert refusal(door.offer(offer("WRONG"))) is Refusal.WRONG_CODE
        assert door.offer(offer("AB3X-7K")) == Admit()


def test_an_endpoint_for_resuming_asks_for_no_code(clock: Clock) -> None:
    door = gate(clock)
    door.spent = True
    door.resume_paths.add("/resume-1")
    assert door.offer(offer(path="/resume-1")) == Admit()
    assert refusal(door.offer(offer(path="/"))) is Refusal.NO_CODE
