"""A scripted context answers a confirm as the agent of the same kit, and so any client, does."""

from __future__ import annotations

import pytest

from tesseron_py import Context, SyncContext, Tesseron
from tesseron_py.testing import Agent, accept, cancel, context, decline, sync_context
from tesseron_py.testing.answers import Answer

app = Tesseron("shop")


@app.action
async def clear(ctx: Context) -> bool:
    return await ctx.confirm("Remove 5?")


@app.action
def clear_in_thread(ctx: SyncContext) -> bool:
    return ctx.confirm("Remove 5?")


@app.action
async def open_page(ctx: Context) -> str:
    return type(await ctx.ask_url("Sign in", "https://shop.example")).__name__


@pytest.mark.parametrize(
    ("answer", "yes"),
    [
        (accept(), True),
        (accept(True), True),
        (accept({"approve": True}), True),
        (accept(False), False),
        (accept({}), False),
        (accept({"approve": False}), False),
        (accept({"approve": "true"}), False),
        (accept({"other": True}), False),
        (decline(), False),
        (cancel(), False),
    ],
    ids=str,
)
async def test_only_an_approval_is_a_yes(answer: Answer, yes: bool) -> None:
    ctx = context(answers=[answer])
    assert await clear(ctx=ctx) is yes
    sync = sync_context(answers=[answer])
    assert clear_in_thread(ctx=sync) is yes
    async with Agent(app, answers=[answer] * 2) as agent:
        assert await agent.call("clear") is yes
        assert await agent.call("clear_in_thread") is yes
        assert {str(asked.schema) for asked in (*ctx.questions, *sync.questions, *agent.questions)} == {
            str(agent.questions[0].schema)
        }


async def test_what_is_no_answer_to_a_confirm_fails_the_test() -> None:
    with pytest.raises(TypeError, match="this one is a confirm"):
        await clear(ctx=context(answers=[accept(7)]))


async def test_an_address_has_nothing_to_approve() -> None:
    ctx = context(answers=[accept(), decline()])
    assert await open_page(ctx=ctx) == "Accepted"
    assert await open_page(ctx=ctx) == "Declined"
    assert ctx.questions[0].url == "https://shop.example"
