"""An app as people write it, with every way to declare an action: both checkers, strict, have nothing to say."""

from __future__ import annotations

import enum
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, TypeVar, assert_never

import anyio
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tesseron_py import (
    Accepted,
    ActionCancelled,
    ActionError,
    AgentInfo,
    Cancelled,
    Context,
    Declined,
    InvalidAnswer,
    Limits,
    RegistrationError,
    SyncContext,
    Tesseron,
    TesseronError,
    action,
    ask,
    confirm,
    current_context,
    elicit,
    sync,
)
from tesseron_py.content import Image, Text
from tesseron_py.testing import Agent, SyncAgent, accept, cancel, context, decline, sync_context

P = ParamSpec("P")
R = TypeVar("R")


class Size(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    street: str
    city: Annotated[str, Field(min_length=1)]


class Order(BaseModel):
    sku: str
    amount: int = Field(default=1, ge=1)
    size: Size = Size.SMALL
    due: date | None = None


@dataclass
class Receipt:
    number: int
    lines: list[str] = field(default_factory=list[str])


class Row(TypedDict):
    sku: str
    amount: int


class Pair(NamedTuple):
    first: str
    second: str


class Store:
    def __init__(self) -> None:
        self.stock: dict[str, int] = {"A1": 3}

    def count(self, sku: str) -> int:
        """How many there are."""
        return self.stock.get(sku, 0)

    async def refill(self, sku: str, amount: int, ctx: Context) -> int:
        await ctx.progress(50, "half way")
        self.stock[sku] = self.count(sku) + amount
        return self.stock[sku]


@asynccontextmanager
async def opened(app: Tesseron) -> AsyncGenerator[Store]:
    yield Store()


app = Tesseron("shop", "The shop", lifespan=opened, threads=4, mask_errors=True, limits=Limits(questions=4))
store = Store()


# The bare decorator, with and without a context


@app.action
async def list_goods() -> list[Row]:
    return [{"sku": sku, "amount": amount} for sku, amount in store.stock.items()]


@app.action
async def remove(sku: str, ctx: Context, reason: Literal["broken", "lost"] = "lost") -> bool:
    if not await ctx.confirm(f"Remove {sku} ({reason})?"):
        return False
    return store.stock.pop(sku, None) is not None


@app.action
def remove_all(ctx: SyncContext) -> int:
    if ctx.cancelled or not ctx.confirm("Remove everything?"):
        return 0
    gone = len(store.stock)
    store.stock.clear()
    ctx.progress(100)
    ctx.log("removed", level="info", gone=gone)
    return gone


@app.action()
def swap(*, pair: Pair) -> Pair:
    return Pair(pair.second, pair.first)


# The steps, as a decorator and as a call


@app.action("order").describe("Order goods").input(Order).output(Receipt).strict_output().handler
async def place_order(order: Order, ctx: Context) -> Receipt:
    match await ctx.ask("Where to?", Address, attempts=2):
        case Accepted(address):
            return Receipt(1, [order.sku, address.city])
        case Declined():
            raise ActionError("No address", {"sku": order.sku})
        case Cancelled():
            raise ActionError("No answer")


@app.action("dropTable").confirm("Drop {name}?", on_refusal=lambda: 0).timeout(timedelta(seconds=5)).handler
def drop_table(name: str) -> int:
    return len(name)


@app.action("raw").input(json_schema={"type": "object"}, validate=Order.model_validate)
def raw_order(order: Order) -> int:
    return order.amount


@app.action("picture").annotate(read_only=True).handler
async def picture() -> list[Text | Image]:
    return [Text("here"), Image(b"\x89PNG", "image/png")]


count = app.action("count").annotate(read_only=True).handler(store.count)
refill = app.action("refill").annotate(requires_elicitation=True).handler(store.refill)
count_a1 = app.action("countA1").handler(functools.partial(store.count, "A1"))


def logged(fn: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    @functools.wraps(fn)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return await fn(*args, **kwargs)

    return wrapper


@app.action
@logged
async def wrapped(sku: str) -> int:
    return store.count(sku)


@action
async def reserve(sku: str, days: Annotated[int, Field(ge=1, le=30)] = 7) -> str:
    """Keep one for a while."""
    await anyio.lowlevel.checkpoint()
    return f"{sku} for {days} days"


app.add(reserve)


# Questions of every kind


async def choose(ctx: Context) -> str:
    size = await ctx.elicit("Which size?", Size)
    colour = await ctx.elicit("Which colour?", Literal["red", "blue"])
    amount = await ctx.elicit("How many?", Annotated[int, Field(ge=1, le=9)])
    extras = await ctx.elicit("What else?", set[Size])
    note = await ctx.elicit("Anything to say?")
    if size is None or colour is None or amount is None or extras is None:
        return ""
    return " ".join([size.value, colour, str(amount), *sorted(extras), note or ""])


def helper_below_a_def() -> int:
    if not sync.confirm("Really?"):
        return 0
    amount = sync.elicit("How many?", int)
    answer = sync.ask("Where to?", Address)
    if isinstance(answer, Accepted) and sync.current_context().agent.id:
        return (amount or 0) + len(answer.value.street)
    return 0


async def helper_below_an_async_def() -> str:
    if await confirm("Really?") and (order := await elicit("Which?", Order)):
        return order.sku
    answer = await ask("Where to?", Address)
    match answer:
        case Accepted(value):
            return value.city
        case Declined() | Cancelled():
            who: AgentInfo = current_context().agent
            return who.name
        case _:
            assert_never(answer)


@app.action
async def several(ctx: Context) -> list[bool]:
    answers: dict[str, bool] = {}

    async def one(question: str) -> None:
        answers[question] = await ctx.confirm(question, key=question)

    async with anyio.create_task_group() as group:
        group.start_soon(one, "This?")
        group.start_soon(one, "That?")
    return list(answers.values())


@app.action
async def told(ctx: Context) -> str:
    try:
        found = await ctx.sample("Which of them?", list[str], max_tokens=100)
        return found[0] if found else await ctx.sample("Why none?")
    except (InvalidAnswer, ActionCancelled) as error:
        return error.message
    except TesseronError as error:
        raise ActionError(f"code {int(error.code)}") from error


# Resources, running, testing

stats = app.resource("stats").describe("Counters").output(Row).read(lambda: Row(sku="A1", amount=1))
stats.publish(Row(sku="A1", amount=2))


@app.resource("route")
def route() -> str:
    return "/"


def main(argument: str) -> None:
    match argument:
        case "run":
            app.run()
        case "start":
            jobs: list[Callable[[], None]] = []
            with app.start(dispatch=jobs.append) as host:
                print(host.claim_code, host.wait_claimed(timeout=1.0))
        case _:
            anyio.run(app.serve)


async def direct() -> None:
    endpoint: Any = app.asgi(token="s3cret")
    print(endpoint)
    async with app.connect("http://127.0.0.1:7475") as host:
        agent = await host.claimed()
        print(agent.name)


async def try_orders() -> None:
    async with Agent(app, answers=[accept({"street": "x", "city": "y"}), decline(), cancel()]) as agent:
        receipt = await agent.call("order", {"sku": "A1"})
        assert receipt["number"] == 1
        assert [question.question for question in agent.questions] == ["Where to?"]
    store.stock["A1"] = 1
    assert await remove("A1", context(answers=[accept()]))
    store.stock["A1"] = 1
    assert remove_all(ctx=sync_context(answers=[accept()])) == 1


def try_without_a_loop() -> None:
    store.stock["A1"] = 1
    with SyncAgent(app, answers=[accept()]) as agent:
        assert agent.call("remove", {"sku": "A1"}) is True
    try:
        app.add(reserve)
    except RegistrationError as error:
        print(error)
