"""What a benchmark is made of: two sides measured in turn, and the ratio that comes of it.

Absolute times say more about the machine than about the code, so every row is a ratio: ours over a peer's that does the
same work, measured in the same run, round after round. A machine that is busy for a while slows both. Where people have
a limit in mind, the other side is that limit.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Side: TypeAlias = Callable[[], float]
"""One round of one side: seconds, the median of its calls, or bytes."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        rounds: Rounds of a pair whose round is many calls.
        calls: Calls of one side in one round.
        starts: Rounds of a pair whose round is a process.
        confirms: Calls over which memory must not grow.
    """

    rounds: int
    calls: int
    starts: int
    confirms: int


# Many short rounds: what else the machine does then comes and goes within a round, and slows both of its sides.
FULL = Effort(rounds=100, calls=40, starts=20, confirms=50_000)
QUICK = Effort(rounds=3, calls=20, starts=3, confirms=500)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the results.

    Attributes:
        name: What was measured.
        peer: What it was measured against, with its version.
        ours: The median of our side: seconds, or bytes.
        theirs: The median of theirs.
        ratio: The median of the rounds' ratios, ours over theirs.
        target: The most that the ratio may be; `None` for a row that only informs.
        spread: How far the rounds' ratios lie apart: their interquartile range.
        noise: How far the ratio may lie above the target by chance, for a row that is about two equals; else 0.
    """

    name: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    target: float | None
    spread: float
    noise: float = 0.0

    @property
    def misses(self) -> bool:
        """Whether there is a target, and the ratio is above it, by more than noise."""
        return self.target is not None and self.ratio - self.noise > self.target


def side(call: Callable[[], None], effort: Effort) -> Side:
    """A side whose round is many calls, one after the other: the median of their times."""

    def measure() -> float:
        taken: list[float] = []
        for _ in range(effort.calls):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
        return statistics.median(taken)

    return measure


def compare(name: str, peer: str, ours: Side, theirs: Side, *, rounds: int, target: float | None = None) -> Row:
    """Measure two sides in turn, one round of each after the other; the first of each does not count.

    Args:
        name: The row's name.
        peer: What `theirs` is.
        ours: One round of our side.
        theirs: One round of theirs.
        rounds: How many of each count, 2 or more.
        target: The most that the ratio may be.
    """
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return row_of(name, peer, pairs, target=target)


def row_of(
    name: str, peer: str, pairs: list[tuple[float, float]], *, target: float | None = None, noise: bool = False
) -> Row:
    """The row of rounds that are measured already, each `(ours, theirs)`.

    Args:
        name: The row's name.
        peer: What theirs is.
        pairs: The rounds, 2 or more.
        target: The most that the ratio may be.
        noise: Both sides may well be equal, so that a ratio above the target is missed only if that is no chance.
    """
    ratios = [ours / theirs for ours, theirs in pairs]
    first, _, third = statistics.quantiles(ratios, n=4, method="inclusive")
    return Row(
        name=name,
        peer=peer,
        ours=statistics.median(ours for ours, _ in pairs),
        theirs=statistics.median(theirs for _, theirs in pairs),
        ratio=statistics.median(ratios),
        target=target,
        spread=third - first,
        noise=_noise(ratios) if noise else 0.0,
    )


def _noise(ratios: list[float]) -> float:
    """How far the median lies above the lower end of its 95 % confidence interval: of what order says of a median."""
    lower = max(0, math.floor(len(ratios) / 2 - 0.98 * math.sqrt(len(ratios))))
    return statistics.median(ratios) - sorted(ratios)[lower]
