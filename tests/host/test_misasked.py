"""A question that no form can hold is its author's mistake: the log says where it is, and the agent what is wrong."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tesseron_py.app import Tesseron
from tesseron_py.cli.origin import origin
from tesseron_py.context import Context, SyncContext
from tesseron_py.errors import ActionError, InvalidSchema

from .fake_gateway import serving


def asked() -> Any:
    return ["yes", "no"]


async def misasks(ctx: Context) -> str:
    await ctx.elicit("Which?", asked())
    return "asked"


def misasks_in_a_thread(ctx: SyncContext) -> str:
    ctx.elicit("Which?", asked())
    return "asked"


async def misasks_in_a_group(ctx: Context) -> str:
    try:
        await ctx.elicit("Which?", asked())
    except InvalidSchema as error:
        raise ExceptionGroup("one", [error]) from None
    return "asked"


@pytest.mark.parametrize("handler", [misasks, misasks_in_a_thread, misasks_in_a_group])
@pytest.mark.parametrize("masked", [False, True])
async def test_the_log_has_the_line_that_asks_and_the_agent_the_reason(
    handler: Any, masked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app = Tesseron("shop", mask_errors=masked)
    app.action("act").handler(handler)
    async with serving(app) as gateway:
        error = (await gateway.call("act"))["error"]
        await gateway.nothing_comes()
    assert error["code"] == -32602
    assert error["message"].startswith("['yes', 'no'] is no type to ask for; ")
    (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert record.getMessage() == "The action 'act' failed"
    assert record.exc_info is not None
    problem = record.exc_info[1]
    assert isinstance(problem, InvalidSchema)
    line = handler.__code__.co_firstlineno + (2 if handler is misasks_in_a_group else 1)
    assert origin(problem) == f"{__file__}, line {line}"


async def test_an_error_that_is_meant_for_the_agent_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")

    @app.action
    async def act() -> None:
        raise ActionError("The cart is locked")

    async with serving(app) as gateway:
        assert (await gateway.call("act"))["error"]["message"] == "The cart is locked"
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


async def test_one_that_the_author_catches_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")

    @app.action
    async def act(ctx: Context) -> str:
        try:
            await ctx.elicit("Which?", list[str])
        except InvalidSchema:
            return "caught"
        return "asked"

    async with serving(app) as gateway:
        assert (await gateway.call("act"))["result"]["output"] == "caught"
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]
