"""A history: drawn from one number, played on a site, and looked at."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from .client import SAYS, Call, Era, Plan, Says
from .faults import FAULTS, HARMLESS, NOISY, faults_of
from .links import Lost
from .process import PARKED
from .site import BOUND, TOPOLOGIES, Site, Topology, Violation

SLACK = 6
"""Objects of a class, and descriptors, that may be there more than when all was idle at first."""
LAZY = {"tesseron_py.home.Timer": 64, "threads": 45}
"""What goes only when there is enough of it, or after a while."""
REMEMBERED = 2
"""Those that may be there for each time another process was started: a gateway remembers 100 sessions for hours."""


@dataclass
class History:
    """What happens.

    Attributes:
        dice: For the fault, whatever it draws.
    """

    seed: int
    topology: Topology
    fault: str
    plans: list[Plan]
    dice: random.Random

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.topology}, {self.fault}"


def draw(seed: int) -> History:
    """The history of this number."""
    dice = random.Random(seed)
    topology = dice.choice(TOPOLOGIES)
    fault = dice.choice(faults_of(topology))
    plans = [_plan(dice, f"h{seed}c{number}", fault) for number in range(dice.choice([1, 1, 2, 3]))]
    return History(seed, topology, fault, plans, dice)


def _plan(dice: random.Random, tag: str, fault: str) -> Plan:
    era: Era = dice.choice(["legacy", "modern"])
    tool = dice.choice(["guarded", "guarded", "guardedSync", "pair", "gated"])
    says: list[Says] = [dice.choice(SAYS) if dice.random() < 0.35 else "yes" for _ in range(2)]
    plan = Plan(
        tag,
        tool,
        era,
        says,
        leaves=dice.choice(["cancel", "hang up"]),
        rounds=dice.choice([1, 1, 2]),
        steps=dice.choice([0, 0, 3]),
        repeats=dice.choice([0, 0, 1, 3]),
        keyed=dice.random() < 0.5,
    )
    if fault == "twice" or (fault == "reorder" and dice.random() < 0.5):
        plan.twice = dice.choice(["at once", "afterwards"])
    if fault == "full pipe":
        plan.tool, plan.says = dice.choice(["guarded", "guardedSync"]), ["yes"]
        plan.size, plan.steps, plan.dawdles = 900_000, 20, dice.choice([0.1, 0.5, 1.2])
    return plan


async def play(site: Site, history: History) -> Counter[str]:
    """Play it and look at what is true afterwards; how the calls ended.

    Raises:
        Violation: Something must not be so.
    """
    await site.ready()
    starts = site.restarts
    links = []
    calls: list[Call] = []
    for plan in history.plans:
        link = site.link()
        links.append(link)
        if plan.era == "legacy":
            await link.open()
        calls.append(Call(plan, link, site.prefix, site.ledger))
    try:
        async with FAULTS[history.fault](site, history.dice, calls):
            await _ended(site, calls)
        # Before any goodbye, which would end what goes on although nobody waits for it.
        await look(site, history, calls, restarted=site.restarts > starts)
        for link in links:
            await link.end()
            link.release()
    except Lost as lost:
        raise Violation(f"a connection was lost that nobody cut: {lost}") from lost
    if history.fault not in ("none", "twice", "reorder", "delay agent", "full pipe"):
        await site.ready()
    return Counter(call.end for call in calls)


async def _ended(site: Site, calls: list[Call]) -> None:
    tasks = [asyncio.create_task(call.play()) for call in calls]
    _, late = await asyncio.wait(tasks, timeout=BOUND + PARKED)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if late:
        which = [call.plan for call, task in zip(calls, tasks, strict=True) if task in late]
        raise Violation(f"calls that do not end: {which}; {site.said()}")
    for task in tasks:
        task.result()


async def look(site: Site, history: History, calls: list[Call], *, restarted: bool) -> None:
    """What must hold when the calls are over for their clients.

    Args:
        restarted: Whether processes were started anew meanwhile, which know no key of those before.

    Raises:
        Violation: It does not.
    """
    ledger = site.ledger
    # A gate asks before a run begins, so what it waits for ends with its client alone.
    soon = {call.plan.tag for call in calls if not _may_wait(call)}
    if not await ledger.until(lambda: not ledger.running(soon), BOUND):
        raise Violation(f"handlers that go on: {ledger.running(soon)}; {site.said()}")
    if ledger.wrongs:
        raise Violation("; ".join(ledger.wrongs))
    for call in calls:
        _look_at(site, history, call)
        runs = [run for run in ledger.runs.values() if run.tag == call.plan.tag]
        most = 1 if call.plan.keyed and call.plan.era == "modern" and not restarted else call.firsts
        if len(runs) > most:
            raise Violation(f"{call.plan.tag} ran {len(runs)} times, and was called {call.firsts} times: {call.plan}")
    if history.fault not in NOISY:
        for process in [*site.retired, *site.processes.values()]:
            if process.tracebacks:
                raise Violation(f"the {process.name} wrote a traceback: {list(process.lines)[-30:]}")
    for process in site.processes.values():
        process.tracebacks = 0
    site.retired = [process for process in site.retired if process.killed]


def _may_wait(call: Call) -> bool:
    """Whether a run may still wait for a client that does not come, as the modern era has it."""
    return call.plan.era == "modern" and (call.abandoned or (bool(call.plan.twice) and not call.plan.keyed))


def _look_at(site: Site, history: History, call: Call) -> None:
    if call.open and not call.hung_up:
        raise Violation(f"{call.plan.tag} ended ({call.end}), and its questions {call.open} are not withdrawn")
    run = site.ledger.runs.get(call.text.partition(":")[0])
    if call.end == "done" and (run is None or run.effects != 1):
        raise Violation(f"{call.plan.tag} is said to be done, and is not: {call.text[:80]}")
    if call.end == "refused" and run is not None and run.effects:
        raise Violation(f"{call.plan.tag} is said to be refused, and is done")
    if not call.end or call.end == "asked for ever":
        raise Violation(f"{call.plan.tag} ended in no way: {call.end!r}")
    all_yes = set(call.plan.says[: 2 if call.plan.rounds > 1 or call.plan.tool == "pair" else 1]) == {"yes"}
    in_time = call.took < PARKED  # else a state may have expired, on a machine that is too slow for this
    if history.fault in HARMLESS and in_time and not call.plan.twice and all_yes and call.end != "done":
        raise Violation(f"{call.plan.tag} was harmed: {call.end}, {call.text[:200]!r}; {call.plan}; {site.said()}")


# Growth


class Scales:
    """What there is in each process when all is idle, so that growth is seen."""

    def __init__(self) -> None:
        self._idle: dict[str, dict[str, int]] = {}
        self._memory: dict[int, int] = {}
        self.most_grown = 0
        """KiB that a process has grown by, at most, since it was first weighed."""

    async def settle(self, site: Site) -> None:
        """Wait until nothing is under way, and compare.

        Raises:
            Violation: Handlers go on, or there is more than there was.
        """
        await site.ready()
        ledger = site.ledger
        if not await ledger.until(lambda: not ledger.running(), PARKED + BOUND):
            raise Violation(f"handlers that nobody ends: {ledger.running()}")
        ledger.forget()
        for name, process in site.processes.items():
            await self._weigh(site, name, process)

    async def _weigh(self, site: Site, name: str, process: Any) -> None:
        idle = self._idle.get(name)
        slack = SLACK + REMEMBERED * min(site.restarts, 100)
        deadline = time.monotonic() + 2 * PARKED + BOUND
        while True:
            now = await _count(process)
            if idle is None:
                if all(count <= 1 for kind, count in now.items() if kind.endswith(("Invocation", "HttpSession"))):
                    self._idle[name] = now
                    break
            else:
                grown = {
                    kind: (idle.get(kind, 0), count)
                    for kind, count in now.items()
                    if count > idle.get(kind, 0) + slack + LAZY.get(kind, 0)
                }
                if not grown:
                    break
            if time.monotonic() > deadline:
                raise Violation(f"the {process.name} of {site.topology} grows: {grown if idle else now}")
            await asyncio.sleep(1.0)
        memory = process.memory()
        first = self._memory.setdefault(process.pid, memory)
        self.most_grown = max(self.most_grown, memory - first)
        if memory - first > 60 * 1024:
            raise Violation(f"the {process.name} of {site.topology} has grown from {first} to {memory} KiB")


async def _count(process: Any) -> dict[str, int]:
    told = await process.order("count")
    return {**told["counts"], "threads": told["threads"], "descriptors": len(process.numbers())}


async def warm_up(site: Site) -> None:
    """A call of each kind, so that what is made once is there."""
    await site.ready()
    eras: list[Era] = ["legacy", "modern"]
    for era in eras:
        for tool in ("guarded", "guardedSync", "pair", "gated"):
            link = site.link()
            await link.open()
            call = Call(Plan(f"warm{era}{tool}", tool, era), link, site.prefix, site.ledger)
            async with asyncio.timeout(BOUND):
                await call.play()
            await link.end()
            if call.end != "done":
                raise Violation(f"without any fault, {tool} in the {era} era ended with {call.end}; {site.said()}")
