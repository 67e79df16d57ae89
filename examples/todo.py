"""A todo list whose actions an agent may call, and a person who is asked before anything is lost.

tesseron-py demo                         the whole of it, in one terminal
tesseron-py mcp examples.todo:app        as an MCP server, for Claude Code and others
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tesseron_py import Context, Tesseron

app = Tesseron("todo", "Todo list", description="A small todo list that lives in this process.")


class Todo(BaseModel):
    """One thing to do."""

    id: int
    text: str
    project: str = "home"
    done: bool = False


class Counts(BaseModel):
    """How many todos there are."""

    open: int
    done: int


class Destination(BaseModel):
    """Where a todo goes."""

    project: Annotated[Literal["home", "work", "someday"], Field(title="Project")]
    position: Annotated[int, Field(title="Position", description="1 is the top", ge=1, le=99)] = 1


todos: list[Todo] = []


def count() -> Counts:
    """How many todos are open and how many are done."""
    done = sum(todo.done for todo in todos)
    return Counts(open=len(todos) - done, done=done)


counts = app.resource("counts").read(count)


def find(id: int) -> Todo:
    for todo in todos:
        if todo.id == id:
            return todo
    raise LookupError(f"There is no todo {id}; the ids are {[todo.id for todo in todos]}")


@app.action
def add_todo(text: Annotated[str, Field(min_length=1, max_length=200)], project: str = "home") -> Todo:
    """Add one todo."""
    todo = Todo(id=max((todo.id for todo in todos), default=0) + 1, text=text, project=project)
    todos.append(todo)
    counts.publish(count())
    return todo


@app.action("list_todos").annotate(read_only=True)
def list_todos(project: str | None = None) -> list[Todo]:
    """List the todos, of one project or of all."""
    return [todo for todo in todos if project is None or todo.project == project]


@app.action
def complete_todo(id: int) -> Todo:
    """Mark one todo as done."""
    todo = find(id)
    todo.done = True
    counts.publish(count())
    return todo


@app.action("clear_completed").annotate(destructive=True, requires_confirmation=True)
async def clear_completed(ctx: Context) -> int:
    """Remove every completed todo. Gives the number of todos removed."""
    done = [todo for todo in todos if todo.done]
    if not done or not await ctx.confirm(f"Remove {len(done)} completed todos?"):
        return 0
    todos[:] = [todo for todo in todos if todo not in done]
    counts.publish(count())
    return len(done)


@app.action
async def move_todo(id: int, ctx: Context) -> Todo | None:
    """Move one todo to another project. The person is asked which; nothing moves if they do not say."""
    todo = find(id)
    where = await ctx.elicit(f"Where does {todo.text!r} go?", Destination)
    if where is None:
        return None
    todo.project = where.project
    todos.remove(todo)
    todos.insert(where.position - 1, todo)
    return todo


@app.action
async def import_todos(texts: list[str], ctx: Context) -> int:
    """Add many todos, telling how far it is."""
    for number, text in enumerate(texts, start=1):
        add_todo(text)
        await ctx.progress(100 * number / len(texts), f"added {text!r}")
    return len(texts)
