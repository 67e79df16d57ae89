"""What type checkers make of the public surface; `make check` and `test_types.py` run them, mypy and pyright strict.

Every `assert_type` is a promise to users.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, assert_never, assert_type

from pydantic import BaseModel, Field

from tesseron_py import (
    Accepted,
    Action,
    Cancelled,
    Context,
    Declined,
    SyncContext,
    Tesseron,
    action,
    ask,
    confirm,
    elicit,
    sync,
)
from tesseron_py.testing import Agent, AgentFactory, SyncAgent, accept, context, sync_context


class Warehouse(BaseModel):
    id: str


@dataclass
class Point:
    x: int


class Row(TypedDict):
    n: int


class Span(NamedTuple):
    first: int
    last: int


class Size(enum.Enum):
    S = "s"
    M = "m"


@asynccontextmanager
async def lifespan(app: Tesseron) -> AsyncGenerator[dict[str, int]]:
    yield {"x": 1}


app = Tesseron("shop", "The shop", lifespan=lifespan)


async def questions(ctx: Context) -> None:
    assert_type(await ctx.confirm("?"), bool)
    assert_type(await ctx.elicit("?"), str | None)
    assert_type(await ctx.elicit("?", Warehouse), Warehouse | None)
    assert_type(await ctx.elicit("?", Point), Point | None)
    assert_type(await ctx.elicit("?", Row), Row | None)
    assert_type(await ctx.elicit("?", Span), Span | None)
    assert_type(await ctx.elicit("?", Size), Size | None)
    assert_type(await ctx.elicit("?", int), int | None)
    assert_type(await ctx.elicit("?", json_schema={"type": "object"}), dict[str, Any] | None)
    assert_type(await ctx.ask("?"), Accepted[str] | Declined | Cancelled)
    assert_type(await ctx.ask("?", Warehouse, attempts=2), Accepted[Warehouse] | Declined | Cancelled)
    assert_type(await ctx.ask("?", json_schema={}), Accepted[dict[str, Any]] | Declined | Cancelled)
    assert_type(await ctx.ask_url("?", "https://x"), Accepted[None] | Declined | Cancelled)
    assert_type(await ctx.sample("?"), str)
    assert_type(await ctx.sample("?", Warehouse), Warehouse)
    assert_type(await ctx.sample("?", list[int]), list[int])
    await ctx.progress(10, "x", data={"a": 1})
    await ctx.log("x", level="warn", sku="A1")

    match await ctx.ask("?", Warehouse):
        case Accepted(value):
            assert_type(value, Warehouse)
        case Declined() | Cancelled():
            pass

    if answer := await ctx.ask("?", date):
        assert_type(answer.value, date)
    else:
        assert_type(answer, Declined | Cancelled)


async def special_forms(ctx: Context) -> None:
    assert_type(await ctx.elicit("?", Literal["a", "b"]), Literal["a", "b"] | None)
    assert_type(await ctx.elicit("?", Annotated[int, Field(ge=1)]), int | None)
    assert_type(await ctx.elicit("?", int | date), int | date | None)
    assert_type(await ctx.elicit("?", set[Size]), set[Size] | None)
    assert_type(await ctx.elicit("?", list[Literal["a", "b"]]), list[Literal["a", "b"]] | None)
    assert_type(await ctx.ask("?", Literal["a", "b"]), Accepted[Literal["a", "b"]] | Declined | Cancelled)
    assert_type(await ctx.ask("?", set[Size], attempts=3), Accepted[set[Size]] | Declined | Cancelled)
    assert_type(await ctx.sample("?", Warehouse | Point), Warehouse | Point)
    assert_type(await elicit("?", Literal["a", "b"]), Literal["a", "b"] | None)
    assert_type(await ask("?", int | date), Accepted[int | date] | Declined | Cancelled)


def sync_special_forms(ctx: SyncContext) -> None:
    assert_type(ctx.elicit("?", Literal["a", "b"]), Literal["a", "b"] | None)
    assert_type(ctx.ask("?", int | date), Accepted[int | date] | Declined | Cancelled)
    assert_type(ctx.sample("?", Warehouse | Point), Warehouse | Point)
    assert_type(sync.elicit("?", Literal["a", "b"]), Literal["a", "b"] | None)
    assert_type(sync.ask("?", set[Size]), Accepted[set[Size]] | Declined | Cancelled)


async def every_answer(ctx: Context) -> int:
    answer = await ctx.ask("?", Warehouse)
    match answer:
        case Accepted(value):
            return len(value.id)
        case Declined():
            return 0
        case Cancelled():
            return -1
        case _:
            assert_never(answer)


def every_answer_without_a_loop(ctx: SyncContext) -> int:
    answer = ctx.ask("?", Warehouse)
    match answer:
        case Accepted(Warehouse(id="")):
            return 1
        case Accepted(Warehouse(id=id)):
            return len(id)
        case Declined():
            return 0
        case Cancelled():
            return -1
        case _:
            assert_never(answer)


async def questions_in_tasks(ctx: Context) -> None:
    # A question is a coroutine, for whatever takes one.
    question: Coroutine[Any, Any, bool] = ctx.confirm("?")
    assert_type(await question, bool)


def sync_questions(ctx: SyncContext) -> None:
    assert_type(ctx.confirm("?"), bool)
    assert_type(ctx.elicit("?"), str | None)
    assert_type(ctx.elicit("?", Warehouse), Warehouse | None)
    assert_type(ctx.elicit("?", json_schema={"type": "object"}), dict[str, Any] | None)
    assert_type(ctx.ask("?", int), Accepted[int] | Declined | Cancelled)
    assert_type(ctx.sample("?"), str)
    assert_type(sync.confirm("?"), bool)
    assert_type(sync.elicit("?", Warehouse), Warehouse | None)
    assert_type(sync.ask("?"), Accepted[str] | Declined | Cancelled)
    ctx.progress(10)
    ctx.log("x")


async def module_questions() -> None:
    assert_type(await confirm("?"), bool)
    assert_type(await elicit("?"), str | None)
    assert_type(await elicit("?", Warehouse), Warehouse | None)
    assert_type(await ask("?", Warehouse), Accepted[Warehouse] | Declined | Cancelled)


@app.action
async def bare(text: str, tag: str | None = None) -> Warehouse:
    return Warehouse(id=text)


@app.action("named").describe("x").annotate(destructive=True).timeout(3)
def named(name: str, ctx: SyncContext) -> int:
    return len(name)


@app.action("typed").input(Warehouse).output(Point).strict_output().handler
async def typed(query: Warehouse, ctx: Context) -> Point:
    return Point(len(query.id))


@app.action("typed_first").input(Warehouse).handler
async def typed_first(ctx: Context, query: Warehouse) -> int:
    return 1


@app.action("typed_only").input(Warehouse)
def typed_only(query: Warehouse) -> int:
    return 1


@app.action("schema").input(json_schema={"type": "object"}).handler
def schema(raw: dict[str, Any]) -> int:
    return len(raw)


@app.action("validated").input(json_schema={"type": "object"}, validate=len).handler
def validated(count: int) -> int:
    return count


@app.action("either").input(Warehouse | Point).handler
def either(place: Warehouse | Point) -> int:
    return 1


@app.action("keyword_context").input(Warehouse).handler
async def keyword_context(query: Warehouse, *, ctx: Context) -> int:
    return 1


@app.action("gate").confirm("Drop {name}?").handler
def gate(name: str) -> int:
    return 1


@app.action("gate_typed").input(Warehouse).confirm("Drop {id}?", on_refusal=0).handler
async def gate_typed(query: Warehouse) -> int:
    return 1


@app.action()
async def keywords_only(*, first: str, last: str = "") -> str:
    return first + last


class Shop:
    def take(self, sku: str, amount: int = 1) -> int:
        return amount

    async def give(self, sku: str) -> str:
        return sku

    def count(self, query: Warehouse) -> int:
        return len(query.id)


shop = Shop()
take = app.action("take").handler(shop.take)
give = app.action("give").timeout(None).handler(shop.give)
count = app.action("count").input(Warehouse).handler(shop.count)


def plain(x: int) -> str:
    return str(x)


@action
def unbound(x: int, *, y: str = "") -> str:
    return y


free = action("free").annotate(destructive=True).handler(plain)
app.add(free)


async def calls(ctx: Context, sync_ctx: SyncContext) -> None:
    assert_type(await bare("x", tag="y"), Warehouse)
    assert_type(named("x", sync_ctx), int)
    assert_type(await typed(Warehouse(id="x"), ctx), Point)
    assert_type(await typed_first(ctx, Warehouse(id="x")), int)
    assert_type(typed_only(Warehouse(id="x")), int)
    assert_type(schema({"a": 1}), int)
    assert_type(validated(7), int)
    assert_type(either(Point(1)), int)
    assert_type(await keyword_context(Warehouse(id="x"), ctx=ctx), int)
    assert_type(gate("x"), int)
    assert_type(gate(name="x"), int)
    assert_type(await gate_typed(Warehouse(id="x")), int)
    assert_type(await keywords_only(first="x"), str)
    assert_type(take("x", amount=2), int)
    assert_type(await give("x"), str)
    assert_type(count(Warehouse(id="x")), int)
    assert_type(take.fn("x"), int)
    assert_type(free(1), str)
    assert_type(unbound(1, y="x"), str)
    assert_type(free.name, str)
    assert_type(free.timeout, float | None)


def keeps(fn: Action[[int], str]) -> None: ...


def called_with(fn: Callable[[str], Coroutine[Any, Any, str]]) -> None: ...


keeps(free)
called_with(give)


def read_stats() -> Row:
    return {"n": 1}


stats = app.resource("stats").describe("x").output(Row).read(read_stats)
stats.publish({"n": 2})


async def kit() -> None:
    async with Agent(app, answers=[accept({"id": "x"}), accept()]) as agent:
        assert_type(await agent.call("bare", {"text": "x"}), Any)
    await questions(context(answers=[accept()]))
    sync_questions(sync_context())


def plain_kit(tesseron_agent: AgentFactory) -> None:
    with SyncAgent(app, lambda prompt: accept(), sampling=str.upper, era="modern", name="x", dispatch=print) as agent:
        assert_type(agent.call("bare", {"text": "x"}), Any)
    assert_type(tesseron_agent(app, answers=[accept({"id": "x"}), accept()], elicitation=False), SyncAgent)
    connects: AgentFactory = SyncAgent
    connects("http://127.0.0.1:7475/mcp", era="legacy")


async def running() -> None:
    async with app.listen() as host:
        assert_type(host.url, str)
        assert_type(host.claim_code, str | None)
    with app.start() as sync_host:
        assert_type(sync_host.wait_claimed(1.0), bool)
