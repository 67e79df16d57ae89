"""Uses that are wrong, and that type checkers say so of."""
# ruff: noqa: B018  # reading an attribute is what is wrong

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, assert_never

from pydantic import BaseModel

from tesseron_py import Accepted, Action, Cancelled, Context, Declined, SyncContext, Tesseron, action, sync
from tesseron_py.testing import AgentFactory, SyncAgent, accept

app = Tesseron("shop")


class Order(BaseModel):
    id: str


@dataclass
class Point:
    x: int


# Actions keep the signature of their function


@app.action
async def add(text: str, tag: str | None = None) -> int:
    return len(text)


@app.action("take").describe("x").annotate(destructive=True).handler
def take(sku: str, ctx: SyncContext) -> int:
    return 1


@app.action("gate").confirm("Drop {name}?").handler
def gate(name: str) -> int:
    return 1


@app.action("typed").input(Order).handler
async def typed(order: Order, ctx: Context) -> int:
    return 1


free = action("free").handler(gate.fn)


def wants_an_order(fn: Action[[Order], int]) -> None: ...


async def calls(ctx: Context, sync_ctx: SyncContext) -> None:
    await add(1)  # E: mypy=arg-type pyright=reportArgumentType
    await add()  # E: mypy=call-arg pyright=reportCallIssue
    await add("x", tags="y")  # E: mypy=call-arg pyright=reportCallIssue
    size: int = add("x")  # E: mypy=assignment pyright=reportAssignmentType
    text: str = await add("x")  # E: mypy=assignment pyright=reportAssignmentType
    print(size, text)
    take("x")  # E: mypy=call-arg pyright=reportCallIssue
    take("x", ctx)  # E: mypy=arg-type pyright=reportArgumentType
    gate(7)  # E: mypy=arg-type pyright=reportArgumentType
    gate("x").upper()  # E: mypy=attr-defined pyright=reportAttributeAccessIssue
    free(7)  # E: mypy=arg-type pyright=reportArgumentType
    await typed(Point(1), ctx)  # E: mypy=arg-type pyright=reportArgumentType
    await typed(Order(id="x"))  # E: mypy=call-arg pyright=reportCallIssue
    await typed(order=Order(id="x"), ctx=ctx)  # E: mypy=call-arg pyright=reportCallIssue
    wants_an_order(gate)  # E: mypy=arg-type pyright=reportArgumentType


# A declaration that does not fit


def of_a_point(point: Point) -> int:
    return point.x


def of_nothing() -> int:
    return 1


def of_a_context_and_a_point(ctx: SyncContext, point: Point) -> int:
    return point.x


def declare() -> None:
    app.action("x").handler(7)  # E: mypy=arg-type pyright=reportArgumentType
    app.action("x").input(Order).handler(of_a_point)  # E: mypy=arg-type pyright=reportCallIssue,reportArgumentType
    app.action("x").input(Order).handler(of_nothing)  # E: mypy=arg-type pyright=reportCallIssue,reportArgumentType
    validated = app.action("x").input(json_schema={}, validate=len)
    validated(of_a_point)  # E: mypy=arg-type pyright=reportCallIssue,reportArgumentType
    typed_builder = app.action("x").input(Order)
    typed_builder(of_a_point)  # E: mypy=arg-type pyright=reportCallIssue,reportArgumentType
    typed_builder(of_a_context_and_a_point)  # E: mypy=arg-type pyright=reportCallIssue,reportArgumentType
    app.action("x").input()  # E: mypy=call-overload pyright=reportCallIssue
    app.action("x").input(Order, json_schema={})  # E: mypy=call-overload pyright=reportCallIssue
    app.action("x").input(Order, validate=len)  # E: mypy=call-overload pyright=reportCallIssue
    app.action("x").describe(7)  # E: mypy=arg-type pyright=reportArgumentType
    app.action("x").annotate(destructive="yes")  # E: mypy=arg-type pyright=reportArgumentType
    app.action("x").annotate(careful=True)  # E: mypy=call-arg pyright=reportCallIssue
    app.action("x").timeout("1")  # E: mypy=arg-type pyright=reportArgumentType
    app.action("x").confirm(7)  # E: mypy=arg-type pyright=reportArgumentType
    app.action("x").confirm()  # E: mypy=call-arg pyright=reportCallIssue
    app.action("x").handle(of_nothing)  # E: mypy=attr-defined pyright=reportAttributeAccessIssue
    app.action(7)  # E: mypy=call-overload pyright=reportArgumentType,reportCallIssue
    app.add(of_nothing)  # E: mypy=arg-type pyright=reportArgumentType
    Tesseron("x", threads="4")  # E: mypy=arg-type pyright=reportArgumentType
    app.start(dispatch=7)  # E: mypy=arg-type pyright=reportArgumentType
    app.listen("tcp")  # E: mypy=arg-type pyright=reportArgumentType


# What a question gives


async def answers(ctx: Context) -> None:
    (await ctx.elicit("?", Order)).id  # E: mypy=union-attr pyright=reportOptionalMemberAccess
    name: str = await ctx.elicit("?")  # E: mypy=assignment pyright=reportAssignmentType
    number: str | None = await ctx.elicit("?", int)  # E: mypy=arg-type pyright=reportAssignmentType
    some: Literal[1] | None = await ctx.elicit("?", Literal[1, 2])  # E: mypy=call-overload pyright=reportAssignmentType
    row: list[str] | None = await ctx.elicit("?", json_schema={})  # E: mypy=assignment pyright=reportAssignmentType
    (await ctx.ask("?", Order)).value  # E: mypy=union-attr pyright=reportAttributeAccessIssue
    sample: str = await ctx.sample("?", Order)  # E: mypy=arg-type pyright=reportAssignmentType
    print(name, number, some, row, sample)
    if answer := await ctx.ask("?", Order):
        answer.value.price  # E: mypy=attr-defined pyright=reportAttributeAccessIssue
        answer.value = Order(id="x")  # E: mypy=misc pyright=reportAttributeAccessIssue
    else:
        answer.value  # E: mypy=union-attr pyright=reportAttributeAccessIssue


async def questions(ctx: Context) -> None:
    await ctx.confirm()  # E: mypy=call-arg pyright=reportCallIssue
    await ctx.confirm(7)  # E: mypy=arg-type pyright=reportArgumentType
    await ctx.elicit("?", 5)  # E: mypy=call-overload pyright=reportCallIssue,reportArgumentType
    await ctx.elicit("?", Order, json_schema={})  # E: mypy=call-overload pyright=reportCallIssue
    await ctx.elicit("?", Order, attempts=3)  # E: mypy=call-overload pyright=reportCallIssue
    await ctx.ask("?", Order, attempts="3")  # E: mypy=call-overload pyright=reportCallIssue,reportArgumentType
    await ctx.ask_url("?")  # E: mypy=call-arg pyright=reportCallIssue
    await ctx.log("x", level="loud")  # E: mypy=arg-type pyright=reportArgumentType
    await ctx.progress("half")  # E: mypy=arg-type pyright=reportArgumentType
    ctx.action = "x"


async def mixed_up(ctx: Context, sync_ctx: SyncContext) -> None:
    await sync_ctx.confirm("?")  # E: mypy=misc pyright=reportGeneralTypeIssues
    await sync.confirm("?")  # E: mypy=misc pyright=reportGeneralTypeIssues
    sync_ctx.elicit("?", Order).id  # E: mypy=union-attr pyright=reportOptionalMemberAccess
    yes: bool = ctx.confirm("?")  # E: mypy=assignment pyright=reportAssignmentType
    take("x", ctx)  # E: mypy=arg-type pyright=reportArgumentType
    print(yes)


# Tests


def plain_tests(tesseron_agent: AgentFactory) -> None:
    SyncAgent(app, answer=[])  # E: mypy=call-arg pyright=reportCallIssue
    SyncAgent(app, [True])  # E: mypy=list-item pyright=reportArgumentType
    SyncAgent(app, sampling="yes")  # E: mypy=arg-type pyright=reportArgumentType
    tesseron_agent(app, answer=[])  # E: mypy=call-arg pyright=reportCallIssue
    tesseron_agent(app, answers=accept())  # E: mypy=arg-type pyright=reportArgumentType
    tesseron_agent(app, era="future")  # E: mypy=arg-type pyright=reportArgumentType
    tesseron_agent(app).ask("?")  # E: mypy=attr-defined pyright=reportAttributeAccessIssue


# A case that is missing


async def no_case_for_a_dismissal(ctx: Context) -> Any:
    answer = await ctx.ask("?", Order)
    match answer:
        case Accepted(value):
            return value
        case Declined():
            return None
        case _:
            assert_never(answer)  # E: mypy=arg-type pyright=reportArgumentType


async def no_case_for_a_no(ctx: Context) -> Any:
    answer = await ctx.ask("?", Order)
    match answer:
        case Accepted(value):
            return value
        case Cancelled():
            return None
        case _:
            assert_never(answer)  # E: mypy=arg-type pyright=reportArgumentType


def no_case_for_a_yes(ctx: SyncContext) -> int:  # E: mypy=return pyright=reportReturnType
    match ctx.ask("?", Order):  # E: pyright=reportMatchNotExhaustive
        case Declined():
            return 0
        case Cancelled():
            return 1
