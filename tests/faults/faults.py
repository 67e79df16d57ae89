"""What is done to a site while calls are under way, each as a context: it comes within, and is healed after."""

from __future__ import annotations

import asyncio
import random
import resource
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from .client import Call
from .site import BOUND, Process, Site, Topology, Violation, spoilt
from .wires import HOWS, Meter, Trap, Way

Fault: TypeAlias = Callable[[Site, random.Random, Sequence[Call]], AbstractAsyncContextManager[None]]
WAYS: Sequence[Way] = ("up", "down")
MIB = 1024 * 1024


async def moment(dice: random.Random, calls: Sequence[Call]) -> None:
    """Somewhere in the life of the calls' first prompt."""
    call = dice.choice(calls)
    when = dice.choice(["at once", "soon", "asked", "asked", "answered", "answered"])
    pause = dice.random() * 0.03
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            if when == "asked":
                await call.asked.wait()
            elif when == "answered":
                await call.answered.wait()
    if when != "at once" and dice.random() < 0.7:
        await asyncio.sleep(pause)


@asynccontextmanager
async def meanwhile(job: asyncio.Task[None]) -> AsyncIterator[None]:
    """It runs beside the body, and has ended after it."""
    try:
        yield
        async with asyncio.timeout(2 * BOUND):
            await job
    finally:
        job.cancel()


def trapped(meter: Callable[[Site], Meter], *, stall: bool) -> Fault:
    """A fault that springs at a byte."""

    @asynccontextmanager
    async def fault(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
        wire = meter(site)
        after = int(dice.random() ** 1.5 * 2500 * len(calls))
        seconds = dice.choice([0.05, 0.3, 1.0]) if stall else 0.2
        wire.arm(Trap(dice.choice(WAYS), after, "stall" if stall else dice.choice(HOWS), seconds))
        try:
            yield
        finally:
            wire.trap = None

    return fault


@asynccontextmanager
async def nothing(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """No fault: what is planned is what happens."""
    yield


@asynccontextmanager
async def jitter(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """Requests overtake each other."""
    site.agent_wire.jitter = dice
    try:
        yield
    finally:
        site.agent_wire.jitter = None


@asynccontextmanager
async def network(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """Between the app and its gateway, requests are lost, repeated, delayed and reordered."""
    site.network.dice, site.network.rate = dice, 0.35
    try:
        yield
    finally:
        site.network.rate = 0.0


def one(site: Site, dice: random.Random) -> tuple[str, Process]:
    """One of the processes."""
    return dice.choice(sorted(site.processes.items()))


@asynccontextmanager
async def kill(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """kill -9."""

    async def job() -> None:
        await moment(dice, calls)
        await one(site, dice)[1].kill()

    async with meanwhile(asyncio.create_task(job())):
        yield


@asynccontextmanager
async def end(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """SIGTERM, which is to be heeded within two seconds."""

    async def job() -> None:
        await moment(dice, calls)
        await site.end(one(site, dice)[0])

    async with meanwhile(asyncio.create_task(job())):
        yield


@asynccontextmanager
async def stop(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """SIGSTOP, and SIGCONT after a while."""

    async def job() -> None:
        await moment(dice, calls)
        _, process = one(site, dice)
        process.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(dice.choice([0.05, 0.3, 1.2]))
        finally:
            process.signal(signal.SIGCONT)

    async with meanwhile(asyncio.create_task(job())):
        yield


@asynccontextmanager
async def clock(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """The wall clock jumps, and back at the end."""
    _, process = one(site, dice)

    async def job() -> None:
        await moment(dice, calls)
        await process.order("clock", seconds=dice.choice([-1, 1]) * dice.choice([2, 60, 3600, 86400, 10**9 // 2]))

    async with meanwhile(asyncio.create_task(job())):
        yield
    if process.lives:
        await process.order("clock", seconds=0)


def limited(what: int, bound: Callable[[Process, random.Random], int]) -> Fault:
    """A fault that takes a resource from one process for a while."""

    @asynccontextmanager
    async def fault(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
        _, process = one(site, dice)

        async def job() -> None:
            if dice.random() < 0.5:
                await moment(dice, calls)
            process.limit(what, bound(process, dice))
            await asyncio.sleep(dice.choice([0.1, 0.5, 1.2]))
            process.limit(what, None)

        try:
            async with meanwhile(asyncio.create_task(job())):
                yield
        finally:
            process.limit(what, None)

    return fault


def _few_descriptors(process: Process, dice: random.Random) -> int:
    return max(process.numbers()) + 1 + dice.choice([0, 0, 1, 2])


def _no_stack(process: Process, dice: random.Random) -> int:
    """Not enough address space for another thread's stack, and enough for all else."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize() + 4 * MIB


@asynccontextmanager
async def disk(site: Site, dice: random.Random, calls: Sequence[Call]) -> AsyncIterator[None]:
    """The home of one process is full or read-only, and it needs it: its connection is cut, or it is started anew."""
    name, process = one(site, dice)
    home = site.app_home if name == "app" else site.gateway_home
    act, how = dice.choice(["cut", "cut", "start"]), dice.choice(["full", "read-only"])
    with spoilt(home, how):

        async def job() -> None:
            await moment(dice, calls)
            if act == "cut":
                site.app_wire.arm(Trap(dice.choice(WAYS), 0, "reset"))
                return
            await process.kill()
            await _may_start(site, name)

        try:
            async with meanwhile(asyncio.create_task(job())):
                yield
        finally:
            site.app_wire.trap = None


async def _may_start(site: Site, name: str) -> None:
    """Start it where it may not be able to: then it says why, and ends."""
    try:
        await (site.start_app() if name == "app" else site.start_server())
    except Violation:
        process = site.processes[name]
        await process.ended()
        if process.process.returncode != 1 or not any(line.startswith("error: ") for line in process.lines):
            raise
        process.refused = True


FAULTS: dict[str, Fault] = {
    "none": nothing,
    "cut agent": trapped(lambda site: site.agent_meter, stall=False),
    "cut app": trapped(lambda site: site.app_wire, stall=False),
    "delay agent": trapped(lambda site: site.agent_meter, stall=True),
    "delay app": trapped(lambda site: site.app_wire, stall=True),
    "twice": nothing,
    "reorder": jitter,
    "network": network,
    "kill": kill,
    "end": end,
    "stop": stop,
    "clock": clock,
    "descriptors": limited(resource.RLIMIT_NOFILE, _few_descriptors),
    "threads": limited(resource.RLIMIT_AS, _no_stack),
    "full pipe": nothing,
    "disk": disk,
}
HARMLESS = {"none", "delay agent", "delay app", "stop", "network", "full pipe", "reorder"}
"""Faults that no call may fail for."""
NOISY = {"descriptors", "threads", "disk"}
"""Faults of which libraries below may complain with a traceback."""


def faults_of(topology: Topology) -> list[str]:
    """Those there can be."""
    without = set()
    if topology.binding == "direct":
        without |= {"cut app", "delay app", "disk"}
    if topology.binding != "http":
        without |= {"network"}
    else:
        without |= {"disk"}
    if topology.carrier == "stdio":
        without |= {"reorder"}
    return [name for name in FAULTS if name not in without]
