"""Our side: the app that every benchmark of ours serves."""

from __future__ import annotations

from pydantic import BaseModel

from benchmarks.servers.delivery import Delivery
from benchmarks.work import LARGE, NOTES
from tesseron_py import Context, Limits, SyncContext, Tesseron

# One client asks many people at once here.
app = Tesseron("tasks", "Tasks", limits=Limits(prompts=20_000))


class Task(BaseModel):
    """What the app keeps."""

    id: int
    text: str
    done: bool = False


@app.action
async def echo(text: str) -> str:
    """Say it again."""
    return text


@app.action("addTask").strict_output().handler
async def add_task(text: str, priority: int) -> Task:
    """Add a task."""
    return Task(id=priority, text=text)


@app.action("addTaskInThread").strict_output().handler
def add_task_in_thread(text: str, priority: int, ctx: SyncContext) -> Task:
    """Add a task, in a worker thread."""
    return Task(id=priority, text=text)


@app.action
async def clear(ctx: Context) -> int:
    """Remove the done tasks, if the person agrees."""
    return 5 if await ctx.confirm("Remove 5 done tasks?") else 0


@app.action
async def order(ctx: Context) -> str:
    """Order something."""
    delivery = await ctx.elicit("Where does it go?", Delivery)
    return f"{delivery.quantity} for {delivery.name}" if delivery is not None else "nothing"


@app.action
async def large() -> str:
    """Give a megabyte."""
    return LARGE


@app.action
async def report(ctx: Context) -> str:
    """Say a hundred times how far it is."""
    for step in range(1, NOTES + 1):
        await ctx.progress(100 * step / NOTES, f"step {step}")
    return "done"
