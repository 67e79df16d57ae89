"""The app that foreign clients drive: an action for every row of the outcome table, and for all else a client can see.

Handlers note in a journal what they live through, and `until` waits for an entry, so that a client needs no clock to
learn that a handler was cancelled.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, TypeAlias

import anyio
from pydantic import BaseModel, Field

from tesseron_py import (
    Accepted,
    ActionCancelled,
    ActionError,
    Context,
    Limits,
    SyncContext,
    Tesseron,
    TesseronError,
    action,
)

from .journal import Journal

PATIENCE = 20.0
"""Seconds until a journal entry that does not come is given up."""

How: TypeAlias = Literal["confirm", "elicit", "ask"]

journal = Journal(os.environ.get("DEPOT_JOURNAL"))


@asynccontextmanager
async def lifespan(app: Tesseron) -> AsyncIterator[dict[str, str]]:
    journal.note("lifespan: entered")
    try:
        yield {"desk": "open"}
    finally:
        journal.note("lifespan: left")


app = Tesseron("depot", "The depot", description="Ships orders, and asks first.", version="7.1", lifespan=lifespan)


@asynccontextmanager
async def endless_lifespan(app: Tesseron) -> AsyncIterator[None]:
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep_forever()


stuck = Tesseron("stuck", lifespan=endless_lifespan)
"""An app whose lifespan does not end."""

hasty = Tesseron("hasty", limits=Limits(question=0.2))
"""An app whose questions wait for a fifth of a second."""


class Order(BaseModel):
    """What the person fills in."""

    warehouse: Literal["WH-7", "WH-8"]
    count: Annotated[int, Field(ge=1, le=99)]


class Stock(BaseModel):
    """What is there."""

    sku: str
    left: int


UNASKABLE: dict[str, Any] = {"type": "object", "properties": {"where": {"type": "object"}}}


# What a handler learns of an answer


def describe(answer: Any) -> str:
    """The answer in the words of the outcome table."""
    match answer:
        case Accepted(value=Order() as order):
            return f"Accepted({order.warehouse} {order.count})"
        case Order():
            return f"{answer.warehouse} {answer.count}"
        case None | bool():
            return str(answer)
    return f"{type(answer).__name__}()"


@app.action
async def outcome(how: How, ctx: Context, attempts: int = 1, tag: str = "") -> str:
    """Ask the person, and say what came of it."""
    journal.note(f"{tag}: asks")
    asked: Awaitable[Any]
    match how:
        case "confirm":
            asked = ctx.confirm("Ship the order?")
        case "elicit":
            asked = ctx.elicit("What is shipped?", Order)
        case "ask":
            asked = ctx.ask("What is shipped?", Order, attempts=attempts)
    try:
        learnt = describe(await asked)
    except TesseronError as error:
        learnt = f"raises {type(error).__name__}"
    except anyio.get_cancelled_exc_class():
        journal.note(f"{tag}: cancelled")
        raise
    journal.note(f"{tag}: {learnt}")
    return learnt


@app.action("outcomeSync")
def outcome_sync(how: How, ctx: SyncContext, attempts: int = 1, tag: str = "") -> str:
    """Ask the person from a thread, and say what came of it."""
    journal.note(f"{tag}: asks")
    answer: Any
    try:
        match how:
            case "confirm":
                answer = ctx.confirm("Ship the order?")
            case "elicit":
                answer = ctx.elicit("What is shipped?", Order)
            case "ask":
                answer = ctx.ask("What is shipped?", Order, attempts=attempts)
        learnt = describe(answer)
    except ActionCancelled:
        journal.note(f"{tag}: cancelled")
        raise
    except TesseronError as error:
        learnt = f"raises {type(error).__name__}"
    journal.note(f"{tag}: {learnt}{', cancelled' if ctx.cancelled else ''}")
    return learnt


hasty.add(outcome)
hasty.add(outcome_sync)


@app.action
async def unaskable(how: Literal["elicit", "ask"], ctx: Context) -> str:
    """Ask for what no form can hold."""
    try:
        if how == "elicit":
            return describe(await ctx.elicit("Where to?", json_schema=UNASKABLE))
        return describe(await ctx.ask("Where to?", json_schema=UNASKABLE))
    except TesseronError as error:
        return f"raises {type(error).__name__} {error.code}"


refused: Counter[str] = Counter()


@app.action
async def crowd(count: int, how: How, ctx: Context, tag: str = "") -> list[str]:
    """Ask many questions at once, and note how many of the tag's are refused."""
    learnt = [""] * count

    async def one(number: int) -> None:
        learnt[number] = await outcome(how, ctx)
        if learnt[number].startswith("raises"):
            refused[tag] += 1
            journal.note(f"{tag}: {refused[tag]} refused")

    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(one, number)
    return learnt


@app.action
async def pair(ctx: Context) -> dict[str, bool]:
    """Ask two questions at once."""
    answers: dict[str, bool] = {}

    async def one(name: str) -> None:
        answers[name] = await ctx.confirm(f"{name}?")

    async with anyio.create_task_group() as group:
        group.start_soon(one, "left")
        group.start_soon(one, "right")
    return answers


@app.action
async def visit(ctx: Context) -> str:
    """Send the person to a page."""
    return describe(await ctx.ask_url("Sign the papers", "https://depot.example/sign"))


@app.action
async def say(ctx: Context) -> str:
    """Have the agent's model say something."""
    return await ctx.sample("Say hello", max_tokens=20)


# What needs nobody


@app.action
async def echo(text: str) -> str:
    """Say it again."""
    return text


@app.action("echoSync")
def echo_sync(text: str) -> str:
    """Say it again, in a thread."""
    return text


@app.action("stock").strict_output()
async def stock_of(sku: str) -> Stock:
    """How much is left."""
    return Stock(sku=sku, left=3)


@app.action
async def fail() -> None:
    """Fail."""
    raise ActionError("The depot is locked", {"until": 7})


@app.action
async def desk(ctx: Context) -> str:
    """What the lifespan gave."""
    return str(ctx.state["desk"])


@app.action
async def work(steps: int, ctx: Context) -> str:
    """Report progress, and log each step."""
    for step in range(1, steps + 1):
        await ctx.progress(100 * step / steps, f"step {step}")
        await ctx.log(f"did {step}", level="warn" if step == steps else "debug", step=step)
    return "done"


@app.action
async def big(size: int, ctx: Context, ask: bool = False) -> str:
    """A long text, after a question if so wished."""
    if ask and not await ctx.confirm("Shall I?"):
        return "no"
    return "x" * size


@app.action("bigAnswer")
async def big_answer(ctx: Context) -> int | None:
    """How long the person's answer is."""
    text = await ctx.elicit("Tell me everything")
    return None if text is None else len(text)


@app.action
async def translate(text: str, ctx: Context) -> str | None:
    """Carry text there, to the person, back and out again."""
    print("translating", text)
    await ctx.log(text, level="warn")
    answer = await ctx.elicit(f"In your words: {text}")
    print("translated", answer)
    return answer


@app.action("loops")
def loops_of_its_own() -> list[str]:
    """Run event loops in a thread."""

    async def say(what: str) -> str:
        await anyio.lowlevel.checkpoint()
        return what

    return [anyio.run(say, "anyio"), asyncio.run(say("asyncio")), anyio.run(say, "trio", backend="trio")]


@app.action("open")
def open_door() -> None:
    """Offer one more action, for as long as it takes to close it."""
    app.add(action("door").handler(lambda: "open"))


@app.action("close")
async def close_door() -> None:
    """Take it away again."""
    app.remove_action("door")


# What goes on


@app.action
async def linger(tag: str) -> None:
    """Go on until cancelled."""
    journal.note(f"{tag}: goes on")
    try:
        await anyio.sleep_forever()
    finally:
        journal.note(f"{tag}: cancelled")


@app.action("stubborn").timeout(None)
async def stubborn(tag: str) -> None:
    """Go on, whatever comes."""
    journal.note(f"{tag}: goes on")
    with anyio.CancelScope(shield=True):
        await anyio.sleep_forever()


stuck.add(stubborn)


@app.action("stubbornSync").timeout(None)
def stubborn_sync(tag: str) -> None:
    """Go on in a thread, whatever comes."""
    journal.note(f"{tag}: goes on")
    time.sleep(60)


@app.action
def until(entry: str) -> bool:
    """Wait for an entry of the journal."""
    return journal.wait(entry, PATIENCE)


def read_stock() -> Stock:
    return Stock(sku="A1", left=3)


stock = app.resource("stock").describe("What is left of A1").output(Stock).read(read_stock)
app.resource("journal").describe("What happened").read(lambda: journal.entries)
app.resource("motto").describe("The motto").read(lambda: "Ask first, Zoë 🎉")


@app.action
async def ship(left: int) -> None:
    """Tell whoever follows the stock what is left."""
    stock.publish(Stock(sku="A1", left=left))
