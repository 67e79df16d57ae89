"""The app that the tests of the test kit test."""

from __future__ import annotations

from typing import Any, Literal

import anyio
from pydantic import BaseModel

from tesseron_py import Context, SyncContext, Tesseron
from tesseron_py.errors import ActionError

app = Tesseron("shop", "The shop")


class Warehouse(BaseModel):
    warehouse_id: Literal["WH-7", "WH-8"]


@app.action
async def clear(ctx: Context, count: int = 5) -> int:
    """Remove todos."""
    if not await ctx.confirm(f"Remove {count} todos?"):
        return 0
    return count


@app.action("clearSync")
def clear_sync(ctx: SyncContext, count: int = 5) -> int:
    """Remove todos, in a thread."""
    ctx.progress(50, "half way")
    ctx.log("going", level="warn", count=count)
    return count if ctx.confirm(f"Remove {count} todos?") else 0


@app.action
async def pick(ctx: Context) -> str | None:
    warehouse = await ctx.elicit("Which warehouse?", Warehouse)
    return warehouse.warehouse_id if warehouse else None


@app.action
async def count(ctx: Context) -> int | None:
    return await ctx.elicit("How many?", int)


@app.action
async def work(ctx: Context, steps: int) -> str:
    for step in range(steps):
        await ctx.progress(100 * (step + 1) / steps, f"step {step}")
        await ctx.log(f"did {step}", level="debug")
    return "123"


@app.action
async def fail() -> None:
    raise ActionError("Cart is locked", data={"cart": 7})


@app.action
async def say(ctx: Context) -> str:
    return await ctx.sample("Say hello")


@app.action
async def pay(ctx: Context) -> str:
    return repr(await ctx.ask_url("Pay here", "https://pay.example"))


@app.action
async def both(ctx: Context) -> dict[str, bool]:
    answers: dict[str, bool] = {}

    async def one(name: str) -> None:
        answers[name] = await ctx.confirm(f"{name}?")

    async with anyio.create_task_group() as group:
        group.start_soon(one, "first")
        group.start_soon(one, "second")
    return answers


def read_stats() -> dict[str, Any]:
    return {"open": 3}


stats = app.resource("todos://stats").read(read_stats)
