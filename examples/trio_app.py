"""Kitchen timers in a program that runs on trio, served as an MCP server on stdio.

tesseron-py agent --elicit --stdio "python examples/trio_app.py"
claude mcp add timers -- python examples/trio_app.py
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

import trio
from pydantic import Field

from tesseron_py import Context, Tesseron


class Timer:
    """One timer that runs."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.ended = trio.Event()

    async def stop(self) -> None:
        self.scope.cancel()
        await self.ended.wait()


running: dict[str, Timer] = {}


@asynccontextmanager
async def kitchen(app: Tesseron) -> AsyncGenerator[trio.Nursery]:
    """The timers run in a nursery of their own, which is open as long as the app is served."""
    async with trio.open_nursery() as nursery:
        yield nursery  # ctx.state
        nursery.cancel_scope.cancel()


app = Tesseron("timers", "Kitchen timers", lifespan=kitchen)


def read_timers() -> list[str]:
    """The names of the timers that run."""
    return sorted(running)


timers = app.resource("timers").read(read_timers)


async def tick(name: str, seconds: float, *, task_status: trio.TaskStatus[None]) -> None:
    timer = running[name] = Timer()
    timers.publish(read_timers())
    task_status.started()
    with timer.scope:
        await trio.sleep(seconds)
    del running[name]
    timers.publish(read_timers())
    timer.ended.set()


@app.action
async def start_timer(name: str, seconds: Annotated[float, Field(gt=0)], ctx: Context) -> list[str]:
    """Start a timer. Gives the names of those that run."""
    if name in running:
        if not await ctx.confirm(f"The timer {name} runs already. Start it afresh?"):
            return read_timers()
        await running[name].stop()
    nursery: trio.Nursery = ctx.state
    await nursery.start(tick, name, seconds)
    return read_timers()


@app.action
async def stop_timers(ctx: Context) -> list[str]:
    """Stop every timer, if the person agrees. Gives the names of those that run on."""
    if running and await ctx.confirm(f"Stop {', '.join(read_timers())}?"):
        for timer in list(running.values()):
            await timer.stop()
    return read_timers()


if __name__ == "__main__":
    trio.run(app.serve_mcp)
