"""A prompt's life, cut at every byte: over each connection it needs, in either direction, in both eras.

A clean confirm is recorded first, to know how many bytes it takes; then the same call is made for each position, with
the connection cut there.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .client import Call, Era, Plan
from .faults import FAULTS, WAYS
from .histories import History, play
from .laboratory import OFTEN, Report, Stand, look_for_processes
from .site import BOUND, TOPOLOGIES, Site, Topology, Violation
from .wires import HOWS, Meter, Trap, Way

Where: TypeAlias = Literal["agent", "app"]
ERAS: Sequence[Era] = ("legacy", "modern")
BESIDES = 40
"""Bytes beyond those of the clean one that are tried, too: the length of a life varies a little."""


@dataclass(frozen=True)
class Cut:
    """One position."""

    topology: Topology
    era: Era
    where: Where
    way: Way
    at: int

    def __str__(self) -> str:
        return f"{self.topology},{self.era},{self.where},{self.way},{self.at}"

    @classmethod
    def parse(cls, text: str) -> Cut:
        """What `str` gave.

        Raises:
            ValueError: It is none.
        """
        topology, era, where, way, at = text.split(",")
        found = next((each for each in TOPOLOGIES if str(each) == topology), None)
        if found is None or era not in ERAS or where not in ("agent", "app") or way not in WAYS:
            raise ValueError(f"no cut: {text}")
        return cls(found, era, where, way, int(at))  # looked at above


def meter(site: Site, where: Where) -> Meter:
    """What counts the bytes there."""
    return site.agent_meter if where == "agent" else site.app_wire


async def lengths(site: Site, era: Era) -> dict[tuple[Where, Way], int]:
    """How many bytes a clean confirm takes on each connection.

    Raises:
        Violation: It does not go well.
    """
    wheres: list[Where] = ["agent"] if site.direct else ["agent", "app"]
    await site.ready()
    link = site.link()
    if era == "legacy":
        await link.open()
    for where in wheres:
        meter(site, where).arm(None)
    call = Call(Plan(f"clean{era}", "guarded", era), link, site.prefix, site.ledger)
    async with asyncio.timeout(BOUND):
        await call.play()
    if call.end != "done":
        raise Violation(f"a clean confirm ended with {call.end}")
    found = {(where, way): meter(site, where).passed[way] for where in wheres for way in WAYS}
    await link.end()
    return found


def history(cut: Cut) -> History:
    """The call, and the cut."""
    number = abs(hash((cut.era, cut.where, cut.way))) % 1000
    plan = Plan(f"b{cut.at}x{number}", "guarded", cut.era, repeats=cut.at % 2, keyed=cut.at % 3 == 0)

    @asynccontextmanager
    async def fault(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
        wire = meter(site, cut.where)
        wire.arm(Trap(cut.way, cut.at, HOWS[cut.at % len(HOWS)], 0.05))
        try:
            yield
        finally:
            wire.trap = None

    name = f"byte of {cut.topology.binding}+{cut.topology.carrier} {cut.era} {cut.where} {cut.way}"
    FAULTS[name] = fault
    return History(cut.at, cut.topology, name, [plan], random.Random(cut.at))


def positions(topology: Topology, found: dict[Era, dict[tuple[Where, Way], int]], stride: int) -> Iterator[Cut]:
    """Every position, or one of `stride`, of that topology's connections."""
    for era, of_era in found.items():
        for (where, way), length in of_era.items():
            for at in range(0, length + BESIDES, stride):
                yield Cut(topology, era, where, way, at)


async def run(
    stride: int = 1,
    jobs: int = 4,
    topologies: Iterable[Topology] = TOPOLOGIES,
    only: Cut | None = None,
    until: float = math.inf,
) -> Report:
    """Cut at every position, or at one of `stride`; or at one alone.

    Until `until`, on the clock of `time.monotonic()`: their order is no order, so what is cut by then is spread evenly.
    """
    report = Report()
    turns = asyncio.Semaphore(jobs)

    async def serve(topology: Topology) -> None:
        async with Stand(topology, report) as stand:
            await cut_all(stand)

    async def cut_all(stand: Stand) -> None:
        topology = stand.topology
        found: dict[Era, dict[tuple[Where, Way], int]] = defaultdict(dict)

        async def record() -> None:
            site = await stand.open()
            for era in ERAS:
                found[era] = await lengths(site, era)

        replay = f"python -m tests.faults --every-byte --stride {stride}"
        async with turns:
            await stand.guarded(f"recording {topology}", replay, record)
        cuts = [only] if only is not None else list(positions(topology, found, stride))
        random.Random(0).shuffle(cuts)
        done = 0
        for number, cut in enumerate(cuts):
            if time.monotonic() >= until:
                break
            done += 1
            async with turns:
                await one(stand, cut, weigh=number % OFTEN == OFTEN - 1)
        async with turns:
            await stand.guarded(f"the end of {topology}", replay, stand.close)
        if only is None:
            print(f"{topology}: {done} of {len(cuts)} positions, {dict(found)}", flush=True)

    async def one(stand: Stand, cut: Cut, *, weigh: bool) -> None:
        told = history(cut)

        async def job() -> None:
            site = await stand.open()
            report.ends[told.fault] += await play(site, told)
            if weigh:
                await stand.weigh()

        report.played[told.fault] += 1
        await stand.guarded(f"cut {cut}", f"python -m tests.faults --cut {cut}", job)

    await asyncio.gather(*(serve(topology) for topology in ([only.topology] if only else topologies)))
    look_for_processes(report)
    return report
