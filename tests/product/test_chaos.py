"""Whatever clients do: the effect comes at most once, and never without a yes to each of the questions before it.

A few hundred histories are played; `TESSERON_CHAOS=10000` plays so many.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .chaos import DOORS, NOTHING, PAUSES, PLANS, Again, Answers, First, Kind, Later, Step, Wait, play
from .clocks import Backend, run_without_waiting

HISTORIES = int(os.environ.get("TESSERON_CHAOS", "300"))

NO: tuple[Kind, ...] = (
    "decline", "decline with a yes", "cancel", "not ticked", "wrong", "empty", "list", "text", "reject"
)  # fmt: skip


def mostly(usual: Any, *others: Any, weight: int = 5) -> st.SearchStrategy[Any]:
    """The usual, `weight` times as often as anything else."""
    return st.sampled_from([usual] * weight + list(others))


hang_ups = mostly(None, 0.0, 0.005, 0.5, 1.5, 17.0, weight=10)
times = mostly(1, 2, 3, 10, weight=10)
able, streams = mostly(True, False, weight=20), mostly(True, False)
kinds = mostly("yes", *NO, *sorted(NOTHING), weight=20)

firsts = st.builds(
    First,
    tag=st.integers(0, 2),
    plan=st.integers(0, len(PLANS) - 1),
    pause=st.integers(0, len(PAUSES) - 1),
    keyed=st.booleans(),
    door=mostly(0, *range(1, len(DOORS)), weight=8),
    ahead=mostly(False, True),
    able=able,
    streams=streams,
    hangs_up=hang_ups,
    times=times,
)
answers = st.builds(
    Answers,
    which=mostly("every", "first", "last", *["earlier"] * 3, "another's", "unknown"),
    kinds=st.one_of(st.tuples(kinds), st.tuples(kinds, kinds, kinds)),
)
laters = st.builds(
    Later,
    of=st.integers(0, 1000),
    state=mostly("newest", *["older"] * 6, "left out", "changed", "cut", "foreign", "number", weight=18),
    answers=st.lists(answers, min_size=0, max_size=2).map(tuple),
    change=mostly(None, "tag", "plan", "more", "tool", weight=30),
    whole=mostly("object", "list", "string", weight=30),
    door=mostly(0, 1, 2, 3, weight=30),
    able=able,
    streams=streams,
    hangs_up=hang_ups,
    times=times,
)
yes_to_all = (Answers("every", ("yes",)),)
plain = st.builds(Later, of=st.integers(0, 1000), state=st.just("newest"), answers=st.just(yes_to_all))
again = st.builds(Again, which=st.integers(0, 1000), times=times)
legs = st.one_of(firsts, laters, laters, plain, again)
waits = st.builds(Wait, st.sampled_from([0.001, 1.0, 17.0, 59.0, 61.0, 100.0, 1799.0, 1801.0]))
steps: st.SearchStrategy[Step] = st.one_of(
    *[st.tuples(legs)] * 3, st.lists(legs, min_size=2, max_size=4).map(tuple), waits
)
histories = st.builds(lambda first, rest: [(first,), *rest], firsts, st.lists(steps, min_size=1, max_size=14))


@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(history=histories, to_the_end=mostly(True, False, weight=3), backend=st.sampled_from(["asyncio", "trio"]))
def test_whatever_clients_do_the_effect_comes_at_most_once_and_never_without_every_yes(
    history: list[Step], to_the_end: bool, backend: Backend
) -> None:
    run_without_waiting(play, history, to_the_end, backend=backend)
