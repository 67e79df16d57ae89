"""Many histories, on sites that stand as long as nothing is wrong with them."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from .histories import History, Scales, draw, play, warm_up
from .site import BOUND, Site, Topology, Violation

OFTEN = 40
"""Histories between two looks at what has grown."""
LONGEST = 8 * BOUND
"""Seconds that a history may take, whatever happens in it."""


@dataclass
class Report:
    """What came of it."""

    played: Counter[str] = field(default_factory=Counter)
    ends: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    violations: list[tuple[str, str, str]] = field(default_factory=list)
    restarts: int = 0
    most_grown: int = 0
    effects: int = 0
    yeses: int = 0
    sprung: int = 0


class Stand:
    """One topology's site, put up anew after a violation."""

    def __init__(self, topology: Topology, report: Report) -> None:
        self.topology = topology
        self.report = report
        self.site: Site | None = None
        self._place: Path | None = None
        self._scales = Scales()
        self._since = 0

    async def __aenter__(self) -> Stand:
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            await self.close(error)

    async def open(self) -> Site:
        """The site, warmed up."""
        if self.site is None:
            self._place = Path(tempfile.mkdtemp(prefix="faults-"))
            site = Site(self.topology, self._place)
            await site.__aenter__()
            self.site = site
            self._scales = Scales()
            self._since = 0
            await warm_up(site)
            await self._scales.settle(site)
        return self.site

    async def weigh(self) -> None:
        """Look at what has grown."""
        if self.site is not None:
            await self._scales.settle(self.site)

    async def close(self, error: BaseException | None = None) -> None:
        """Weigh once more, end everything, and look at what is left."""
        site, self.site = self.site, None
        if site is None:
            return
        try:
            if error is None:
                try:
                    await self._scales.settle(site)
                except BaseException as problem:
                    await site.__aexit__(type(problem), problem, None)
                    raise
            await site.__aexit__(None if error is None else type(error), error, None)
        finally:
            ledger = site.ledger
            self.report.restarts += site.restarts
            self.report.most_grown = max(self.report.most_grown, self._scales.most_grown)
            self.report.effects += ledger.effects
            self.report.yeses += sum(ledger.yeses.values())
            assert self._place is not None
            shutil.rmtree(self._place, ignore_errors=True)

    async def guarded(self, what: str, replay: str, job: Callable[[], Awaitable[None]]) -> None:
        """Do it; a violation is written down, and costs the site."""
        try:
            async with asyncio.timeout(LONGEST):
                await job()
        except (Violation, TimeoutError, AssertionError, OSError) as problem:
            text = f"{type(problem).__name__}: {problem}"
            if not isinstance(problem, Violation):
                text += "\n" + "".join(traceback.format_tb(problem.__traceback__)[-6:])
            self.report.violations.append((what, text, replay))
            print(f"VIOLATION {what}\n    {text}\n    {replay}", flush=True)
            await self.close(problem)

    async def play(self, history: History) -> None:
        """Play one history."""
        replay = f"python -m tests.faults --seed {history.seed}"

        async def job() -> None:
            site = await self.open()
            ends = await play(site, history)
            self.report.ends[history.fault] += ends
            self._since += 1
            if self._since >= OFTEN:
                self._since = 0
                await self.weigh()

        self.report.played[history.fault] += 1
        await self.guarded(str(history), replay, job)


async def run(seeds: Iterable[int], jobs: int = 4, progress: bool = False, first: bool = False) -> Report:
    """Play these histories, those of one topology after each other and `jobs` topologies at once.

    Args:
        seeds: Which.
        jobs: How many topologies at once.
        progress: Say how far it is.
        first: End with the first violation.
    """
    report = Report()
    queues: dict[Topology, list[int]] = defaultdict(list)
    for seed in seeds:
        queues[draw(seed).topology].append(seed)
    turns = asyncio.Semaphore(jobs)
    total, began = sum(map(len, queues.values())), time.monotonic()

    async def serve(topology: Topology, mine: list[int]) -> None:
        async with Stand(topology, report) as stand:
            await play_all(stand, mine)

    async def play_all(stand: Stand, mine: list[int]) -> None:
        for seed in mine:
            if first and report.violations:
                break
            async with turns:
                await stand.play(draw(seed))
            done = report.played.total()
            if progress and done % 100 == 0:
                rate = done / (time.monotonic() - began)
                print(f"{done} of {total}, {rate:.1f}/s, {len(report.violations)} violations", flush=True)
        async with turns:
            await stand.guarded(
                f"the end of {stand.topology}", f"python -m tests.faults --seed {mine[-1]}", stand.close
            )

    await asyncio.gather(*(serve(topology, mine) for topology, mine in queues.items()))
    look_for_processes(report)
    return report


def look_for_processes(report: Report) -> None:
    """None of those that were started is left, not even as a zombie."""
    for process in psutil.Process().children(recursive=True):
        text = f"a process is left: {process.pid} {process.status()}"
        report.violations.append(("the end", text, ""))
        print(f"VIOLATION {text}", flush=True)
