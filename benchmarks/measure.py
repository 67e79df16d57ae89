"""What a benchmark is made of: two sides measured in turn, and the ratio that comes of it.

Absolute times say more about the machine than about the code, so every row is a ratio: ours over a peer's that does the
same work, measured in the same run, round after round. A machine that is busy for a while slows both. Where people have
a limit in mind, the other side is that limit.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

Peer = TypeVar("Peer")
Measurement: TypeAlias = Callable[[], float]
"""One round of one side: seconds, the median of its calls, or bytes."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        rounds: Rounds of a pair whose round is many calls.
        calls: Calls of one side in one round.
        starts: Rounds of a pair whose round is a process.
        confirms: Calls over which memory must not grow.
        works: Rounds of a piece of work that all peers do; of a heavy one, a third of them.
        slice: Seconds that a round of such work may take; it is `calls` calls at the most, and one at the least.
        starts_of_all: Rounds of a process that all peers start.
        held: Prompts, or sessions, whose memory is measured.
        most: The largest crowd that growth is measured up to.
    """

    rounds: int
    calls: int
    starts: int
    confirms: int
    works: int
    slice: float
    starts_of_all: int
    held: int
    most: int


# Many short rounds: what else the machine does then comes and goes within a round, and slows both of its sides.
FULL = Effort(
    rounds=100, calls=40, starts=20, confirms=50_000, works=30, slice=0.03, starts_of_all=10, held=500, most=10_000
)
QUICK = Effort(rounds=3, calls=20, starts=3, confirms=500, works=3, slice=0.01, starts_of_all=3, held=20, most=100)
ONCE = Effort(rounds=2, calls=1, starts=2, confirms=10, works=2, slice=0.0, starts_of_all=2, held=5, most=10)
"""As little as makes a row."""


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
        ours_p95: What 95 % of our calls stay below; of rounds, where a round is one process or a sum.
        theirs_p95: What 95 % of theirs stay below.
    """

    name: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    target: float | None
    spread: float
    noise: float = 0.0
    ours_p95: float | None = None
    theirs_p95: float | None = None

    @property
    def misses(self) -> bool:
        """Whether there is a target, and the ratio is above it, by more than noise."""
        return self.target is not None and self.ratio - self.noise > self.target


class Side:
    """One side of a row, measured round by round. It remembers the time of every call.

    Args:
        measure: The times of the calls of one round, given how many they are to be.
        calls: The most calls that a round has.
        slice: Seconds that a round may take. The round that does not count says how many calls fit.
    """

    def __init__(
        self, measure: Callable[[int], Sequence[float]], *, calls: int = 1, slice: float | None = None
    ) -> None:
        self.taken: list[float] = []
        self._measure = measure
        self._calls = calls
        self._slice = slice

    def warm_up(self) -> None:
        """The round that does not count."""
        taken = self._measure(self._calls if self._slice is None else 1)
        if self._slice is not None:
            started = time.perf_counter()
            self._measure(1)
            self._calls = min(self._calls, max(1, int(self._slice / (time.perf_counter() - started))))
        assert taken

    def round(self) -> float:
        """The median of one round's calls."""
        taken = self._measure(self._calls)
        self.taken += taken
        return statistics.median(taken)


def side(call: Callable[[], object], effort: Effort, *, slice: float | None = None) -> Side:
    """A side whose round is many calls, one after the other."""

    def measure(calls: int) -> list[float]:
        taken: list[float] = []
        for _ in range(calls):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
        return taken

    return Side(measure, calls=effort.calls, slice=slice)


def whole(measure: Measurement) -> Side:
    """A side whose round is one measurement, of a process."""
    return Side(lambda calls: [measure()])


def compare(name: str, peer: str, ours: Side, theirs: Side, *, rounds: int, target: float | None = None) -> Row:
    """Measure two sides in turn, one round of each after the other; the first of each does not count.

    Args:
        name: The row's name.
        peer: What `theirs` is.
        ours: Our side.
        theirs: Theirs.
        rounds: How many of each count, 2 or more.
        target: The most that the ratio may be.
    """
    [(_, pairs)] = in_turn(ours, {peer: theirs}, rounds=rounds).items()
    return row_of(name, peer, pairs, target=target, p95=(ours.taken, theirs.taken))


def in_turn(ours: Side, peers: Mapping[Peer, Side], *, rounds: int) -> dict[Peer, list[tuple[float, float]]]:
    """Measure our side and every peer's in turn, round after round, and every peer's rounds beside ours."""
    for each in (ours, *peers.values()):
        each.warm_up()
    pairs: dict[Peer, list[tuple[float, float]]] = {peer: [] for peer in peers}
    for _ in range(rounds):
        our_round = ours.round()
        for peer, theirs in peers.items():
            pairs[peer].append((our_round, theirs.round()))
    return pairs


def row_of(
    name: str,
    peer: str,
    pairs: Sequence[tuple[float, float]],
    *,
    target: float | None = None,
    noise: bool = False,
    p95: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Row:
    """The row of rounds that are measured already, each `(ours, theirs)`.

    Args:
        name: The row's name.
        peer: What theirs is.
        pairs: The rounds, 2 or more.
        target: The most that the ratio may be.
        noise: Both sides may well be equal, so that a ratio above the target is missed only if that is no chance.
        p95: Every call of ours and of theirs, where a round is many calls.
    """
    ratios = [ours / theirs for ours, theirs in pairs]
    first, _, third = statistics.quantiles(ratios, n=4, method="inclusive")
    ours_all, theirs_all = p95 or ([ours for ours, _ in pairs], [theirs for _, theirs in pairs])
    return Row(
        name=name,
        peer=peer,
        ours=statistics.median(ours for ours, _ in pairs),
        theirs=statistics.median(theirs for _, theirs in pairs),
        ratio=statistics.median(ratios),
        target=target,
        spread=third - first,
        noise=_noise(ratios) if noise else 0.0,
        ours_p95=_p95(ours_all),
        theirs_p95=_p95(theirs_all),
    )


def single(name: str, peer: str, ours: float, theirs: float, *, target: float | None = None) -> Row:
    """The row of something that is measured once, like memory."""
    return Row(name, peer, ours, theirs, ours / theirs, target, spread=0.0)


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _noise(ratios: list[float]) -> float:
    """How far the median lies above the lower end of its 95 % confidence interval: of what order says of a median."""
    lower = max(0, math.floor(len(ratios) / 2 - 0.98 * math.sqrt(len(ratios))))
    return statistics.median(ratios) - sorted(ratios)[lower]
