"""A question without its `await` is an error wherever it is used as an answer.

mypy sees the conditions with `warn_unreachable`, `redundant-expr` and `unused-awaitable`, which `--strict` leaves out;
what pyright does not see is refused when it runs.
"""
# mypy: warn-unreachable, enable-error-code="redundant-expr,unused-awaitable,truthy-bool"

from __future__ import annotations

from pydantic import BaseModel

from tesseron_py import Accepted, Context, ask, confirm, elicit


class Order(BaseModel):
    id: str


def act() -> bool:
    return True


async def in_if(ctx: Context) -> None:
    if ctx.confirm("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def in_if_not(ctx: Context) -> None:
    if not ctx.confirm("?"):  # E: pyright=reportGeneralTypeIssues
        return  # E: mypy=unreachable


async def in_elif(ctx: Context, sure: bool) -> None:
    if sure:
        act()
    elif ctx.confirm("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def in_while(ctx: Context) -> None:
    while ctx.confirm("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def in_while_not(ctx: Context) -> None:
    while not ctx.confirm("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def in_a_ternary(ctx: Context) -> None:
    print(1 if ctx.confirm("?") else 2)  # E: mypy=redundant-expr pyright=reportGeneralTypeIssues


async def before_and(ctx: Context) -> bool:
    return ctx.confirm("?") and act()  # E: mypy=redundant-expr,unreachable pyright=reportReturnType


async def before_or(ctx: Context) -> bool:
    return ctx.confirm("?") or act()  # E: mypy=redundant-expr,unreachable pyright=reportReturnType


async def after_and_in_if(ctx: Context) -> None:
    if act() and ctx.confirm("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def before_and_in_if(ctx: Context) -> None:
    if ctx.confirm("?") and act():  # E: mypy=redundant-expr,unreachable pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def in_assert(ctx: Context) -> None:
    assert ctx.confirm("?")  # E: pyright=reportGeneralTypeIssues
    act()  # E: mypy=unreachable


async def in_a_comprehension(ctx: Context) -> list[int]:
    return [n for n in (1, 2) if ctx.confirm("?")]  # E: mypy=redundant-expr pyright=reportGeneralTypeIssues


async def by_a_variable(ctx: Context) -> None:
    sure = ctx.confirm("?")
    if sure:  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def elicited(ctx: Context) -> None:
    if ctx.elicit("?", Order):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def elicited_by_a_walrus(ctx: Context) -> None:
    if order := ctx.elicit("?", Order):  # E: pyright=reportGeneralTypeIssues
        print(order)  # E: mypy=unreachable


async def elicited_in_a_ternary(ctx: Context) -> None:
    print(1 if not ctx.elicit("?", int) else 2)  # E: mypy=redundant-expr pyright=reportGeneralTypeIssues


async def elicited_and_none(ctx: Context) -> None:
    if ctx.elicit("?", Order) is None:  # E: pyright=reportUnnecessaryComparison
        act()


async def asked(ctx: Context) -> None:
    if ctx.ask("?", Order):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def below_an_action() -> None:
    if confirm("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def elicited_below_an_action() -> None:
    while elicit("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def asked_below_an_action() -> None:
    if not ask("?"):  # E: pyright=reportGeneralTypeIssues
        act()  # E: mypy=unreachable


async def as_a_value(ctx: Context) -> bool:
    return ctx.confirm("?")  # E: mypy=return-value pyright=reportReturnType


async def as_an_argument(ctx: Context) -> int:
    return len(ctx.elicit("?"))  # E: mypy=arg-type pyright=reportArgumentType


async def by_its_attributes(ctx: Context) -> None:
    print(ctx.elicit("?", Order).id)  # E: mypy=attr-defined pyright=reportAttributeAccessIssue


async def matched(ctx: Context) -> None:
    match ctx.ask("?", Order):
        case Accepted():  # E: mypy=unreachable pyright=reportUnnecessaryComparison
            act()  # E: mypy=unreachable
        case _:
            pass


async def by_identity(ctx: Context) -> None:
    if ctx.confirm("?") is True:  # E: mypy=comparison-overlap
        act()


async def as_a_statement(ctx: Context) -> None:
    ctx.confirm("?")  # E: mypy=unused-awaitable
    ctx.progress(10)  # E: mypy=unused-coroutine pyright=reportUnusedCoroutine
