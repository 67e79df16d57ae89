"""Our side: the app that every benchmark of ours serves."""

from __future__ import annotations

from pydantic import BaseModel

from tesseron_py import Context, SyncContext, Tesseron

app = Tesseron("tasks", "Tasks")


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
