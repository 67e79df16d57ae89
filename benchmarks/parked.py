"""What calls cost that wait for an answer, over HTTP in MCP 2026-07-28: in memory, and to one that is answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from .measure import Effort, Row, Side, compare, side, single
from .modern_http import Caller
from .processes import server
from .stdio_client import resident
from .work import CONFIRM

MEMORY = "parked-memory"
EACH = "parked-prompt-memory"
ANSWER = "parked-answer"
NAMES = (MEMORY, EACH, ANSWER)

PARKED = 1000
"""Calls whose memory is measured."""
FEW, MANY = 10, 10_000
"""Calls that wait beside the one that is answered."""
MOST_EACH = {MEMORY: ("16 KiB", 16 * 1024.0), EACH: ("10 KB", 10_000.0)}
"""Bytes one of them may cost."""


class Parking:
    """A server with room for many calls that wait, and a client of it.

    Args:
        port: Where it is.
        process: Its process.
        stack: What closes the connection.
    """

    def __init__(self, port: int, process: int, stack: ExitStack) -> None:
        self.parked = 0
        self._caller = Caller(port, stack)
        self._process = process

    @property
    def memory(self) -> float:
        """Bytes that the server has resident."""
        return resident(self._process)

    def park(self, many: int) -> None:
        """Calls that nobody answers, until there are so many."""
        while self.parked < many:
            self._caller.begin(CONFIRM)
            self._caller.question()
            self.parked += 1

    def confirm(self) -> None:
        """One call that is answered."""
        self._caller.begin(CONFIRM)
        self._caller.answer(CONFIRM)
        self._caller.finish(CONFIRM)

    def side(self, effort: Effort) -> Side:
        """What such a call takes."""
        return side(self.confirm, effort)


@contextmanager
def parking() -> Iterator[Parking]:
    """A server and a client, while the body runs."""
    with ExitStack() as stack:
        running = stack.enter_context(server("parking_over_http"))
        yield Parking(int(running.ready), running.process.pid, stack)


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    if MEMORY in wanted or EACH in wanted:
        with parking() as full:
            for _ in range(PARKED):
                full.confirm()
            before = full.memory
            full.park(PARKED)
            each = (full.memory - before) / PARKED
        for name, (peer, most) in MOST_EACH.items():
            if name in wanted:
                yield single(name, peer, each, most, target=1.0)
    if ANSWER in wanted:
        with parking() as crowded, parking() as empty:
            crowded.park(min(MANY, effort.most))
            empty.park(FEW)
            sides = crowded.side(effort), empty.side(effort)
            yield compare(ANSWER, f"the same beside {FEW}", *sides, rounds=effort.rounds, target=1.5)
