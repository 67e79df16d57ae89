"""The app that is tried: every action has an effect that a person has to allow, and notes what it lives through.

A question's text begins with its label, which is the run's and no other's, so that a yes belongs to one question of one
run whatever else is repeated. A gate asks before a run begins, so its label is the call's tag.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio

from tesseron_py import Context, Limits, SyncContext, Tesseron

from .notes import enter_loop, note

THREADS = int(os.environ.get("FAULTS_THREADS", "40"))
PARKED = float(os.environ.get("FAULTS_PARKED", "4"))
LIMITS = Limits(parked_for=PARKED, kept=PARKED, closing=1.0)


@asynccontextmanager
async def lifespan(app: Tesseron) -> AsyncIterator[None]:
    enter_loop()
    yield


app = Tesseron("lab", "The laboratory", threads=THREADS, limits=LIMITS, lifespan=lifespan)
_numbers = itertools.count(1)


@contextmanager
def running(tag: str) -> Iterator[str]:
    """A run of a handler: its name is told when it begins, and when it ends however it ends."""
    run = f"{tag}.{os.getpid()}.{next(_numbers)}"
    note("begun", run=run, tag=tag)
    try:
        yield run
    finally:
        note("ended", run=run)


def effect(run: str, *labels: str) -> None:
    """What must not happen without a yes to every label."""
    note("effect", run=run, labels=labels)


@app.action("guarded").timeout(None).handler
async def guarded(tag: str, ctx: Context, rounds: int = 1, size: int = 0, steps: int = 0) -> str:
    """Ask `rounds` times, then do it."""
    with running(tag) as run:
        labels = []
        for number in range(rounds):
            for step in range(steps):
                await ctx.progress(100 * (number * steps + step) / (rounds * steps), "x" * 100)
            label = f"{run}/{number}"
            labels.append(label)
            note("asks", run=run, label=label)
            yes = await ctx.confirm(f"{label} ?")
            note("told", run=run, label=label, yes=yes)
            if not yes:
                return f"{run}: refused"
        effect(run, *labels)
        return f"{run}: done {'x' * size}"


@app.action("guardedSync").timeout(None).handler
def guarded_sync(tag: str, ctx: SyncContext, rounds: int = 1, size: int = 0, steps: int = 0) -> str:
    """The same in a thread."""
    with running(tag) as run:
        labels = []
        for number in range(rounds):
            for step in range(steps):
                ctx.progress(100 * (number * steps + step) / (rounds * steps), "x" * 100)
            label = f"{run}/{number}"
            labels.append(label)
            note("asks", run=run, label=label)
            yes = ctx.confirm(f"{label} ?")
            note("told", run=run, label=label, yes=yes)
            if not yes:
                return f"{run}: refused"
        effect(run, *labels)
        return f"{run}: done {'x' * size}"


@app.action("pair").timeout(None).handler
async def pair(tag: str, ctx: Context) -> str:
    """Ask two questions at once, then do it."""
    with running(tag) as run:
        answers: dict[str, bool] = {}

        async def one(label: str) -> None:
            note("asks", run=run, label=label)
            answers[label] = await ctx.confirm(f"{label} ?")
            note("told", run=run, label=label, yes=answers[label])

        async with anyio.create_task_group() as group:
            group.start_soon(one, f"{run}/left")
            group.start_soon(one, f"{run}/right")
        if not all(answers.values()):
            return f"{run}: refused"
        effect(run, *answers)
        return f"{run}: done "


@app.action("gated").timeout(None).confirm("{tag} ?", on_refusal="gate: refused").handler
async def gated(tag: str) -> str:
    """What stands behind a gate."""
    with running(tag) as run:
        effect(run, tag)
        return f"{run}: done "


@app.action
async def echo(text: str) -> str:
    """Say it again."""
    return text
