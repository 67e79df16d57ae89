"""How time and memory grow: with the apps that a gateway has, and with the prompts that wait for an answer.

A crowd grows in steps, and at every step the same call is measured beside the smallest crowd, in turn.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory

from .measure import Effort, Row, compare, side, single
from .parked import FEW, parking
from .processes import Server, server, tesseron_py
from .stdio_client import CLAIM, Agent
from .work import TEXT

APPS = (1, 10, 100, 1000)
PROMPTS = (10, 100, 1000, 10_000)
APPS_TIME, APPS_MEMORY, APPS_CLAIM = "growth-apps-echo", "growth-apps-memory", "growth-apps-claim"
PROMPTS_TIME, PROMPTS_MEMORY = "growth-parked-confirm", "growth-parked-memory"
NAMES = tuple(
    f"{name}:{size}"
    for sizes, names in ((APPS, (APPS_TIME, APPS_MEMORY, APPS_CLAIM)), (PROMPTS, (PROMPTS_TIME, PROMPTS_MEMORY)))
    for size in sizes
    for name in names
)


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    for of, sizes, prefix in ((_apps, APPS, "growth-apps-"), (_prompts, PROMPTS, "growth-parked-")):
        names = [name for name in wanted if name in NAMES and name.startswith(prefix)]
        asked = {int(name.rpartition(":")[2]) for name in names}
        if steps := [size for size in sizes if size <= effort.most and size in asked]:
            yield from (row for row in of(effort, steps) if row.name in wanted)


def _prompts(effort: Effort, sizes: Collection[int]) -> Iterator[Row]:
    peer = f"beside {FEW} prompts"
    with parking() as crowded, parking() as empty:
        empty.park(FEW)
        for size in sizes:
            crowded.park(size)
            sides = crowded.side(effort), empty.side(effort)
            yield compare(f"{PROMPTS_TIME}:{size}", peer, *sides, rounds=effort.works)
            yield single(f"{PROMPTS_MEMORY}:{size}", peer, crowded.memory, empty.memory)


def _apps(effort: Effort, sizes: Collection[int]) -> Iterator[Row]:
    peer = f"a gateway of {APPS[0]} app"
    with _gateway() as crowded, _gateway() as empty:
        claim = statistics.median(empty.grow(APPS[0]))
        for size in sizes:
            claims = crowded.grow(size)
            sides = side(crowded.echo, effort), side(empty.echo, effort)
            yield compare(f"{APPS_TIME}:{size}", peer, *sides, rounds=effort.works)
            yield single(f"{APPS_MEMORY}:{size}", peer, crowded.agent.memory, empty.agent.memory)
            yield single(f"{APPS_CLAIM}:{size}", peer, statistics.median(claims), claim)


class _Gateway:
    """A gateway, its agent, and a process that has the apps."""

    def __init__(self, agent: Agent, apps: Server) -> None:
        self.agent = agent
        self._apps = apps
        self._claimed = 0
        self._turn = itertools.count()

    def grow(self, size: int) -> list[float]:
        """Claim apps until there are so many; the seconds that each claim took."""
        taken: list[float] = []
        for code in self._apps.ask(str(size - self._claimed)).split():
            started = time.perf_counter()
            self.agent.call(CLAIM, {"code": code})
            taken.append(time.perf_counter() - started)
        self._claimed = size
        return taken

    def echo(self) -> None:
        """A call of one app after the other."""
        app = next(self._turn) % self._claimed + 1
        if self.agent.call(f"app{app}__echo", {"text": TEXT}) != TEXT:
            raise RuntimeError(f"app {app} did not echo")


@contextmanager
def _gateway() -> Iterator[_Gateway]:
    with ExitStack() as stack:
        # A gateway reads a thousand manifests at the most, so each has those of its own apps alone.
        home = {"TESSERON_HOME": stack.enter_context(TemporaryDirectory(prefix="tesseron-bench-"))}
        apps = stack.enter_context(server("many_apps", environment=home))
        agent = stack.enter_context(Agent([tesseron_py(), "gateway"], environment=home))
        agent.initialize()
        # At once, when all is measured: a gateway takes leave of a thousand apps one by one.
        stack.callback(agent.kill)
        yield _Gateway(agent, apps)
