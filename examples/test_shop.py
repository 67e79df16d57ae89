"""How to test actions: through an agent, in async and in plain tests, and a handler alone.

pytest examples/test_shop.py
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import shop_fastapi
from shop_fastapi import app, cart, order

from tesseron_py.testing import ActionFailed, Agent, AgentFactory, accept, context, decline
from tesseron_py.testing.answers import Answer


@pytest.fixture(autouse=True)
def a_cart_with_tea() -> Iterator[None]:
    cart.clear()
    cart["tea"] = 2
    yield
    cart.clear()


# An async test: the whole way from an MCP client to the handler, in this process.


@pytest.mark.anyio
async def test_an_order_is_placed_when_the_person_says_where_to_and_yes() -> None:
    answers = [accept({"address": "1 High Street", "speed": "express"}), accept()]
    async with Agent(app, answers=answers) as agent:
        assert await agent.call("order") == "Ordered for 14.00 €."
        assert [asked.question for asked in agent.questions] == [
            "Where does it go?",
            "Order for 14.00 €, to 1 High Street?",
        ]
        assert await agent.read("cart") == {"items": {}, "total": 0}


# A plain test: `tesseron_agent` comes with the library, as a pytest plugin.


@pytest.mark.parametrize("answer", [decline(), accept({"approve": False})])
def test_without_a_yes_the_cart_stays(tesseron_agent: AgentFactory, answer: Answer) -> None:
    agent = tesseron_agent(app, answers=[answer])
    assert agent.call("empty_cart") == {"cancelled": True}
    assert cart == {"tea": 2}


def test_what_the_agent_reads_when_it_gets_something_wrong(tesseron_agent: AgentFactory) -> None:
    agent = tesseron_agent(app)
    with pytest.raises(ActionFailed, match="There is no 'rum' here; there are tea, mug, kettle"):
        agent.call("add_to_cart", {"name": "rum"})
    with pytest.raises(ActionFailed, match="amount: at most 20 is expected, got 99"):
        agent.call("add_to_cart", {"name": "tea", "amount": 99})


def test_an_agent_that_cannot_ask_cannot_order(tesseron_agent: AgentFactory) -> None:
    agent = tesseron_agent(app, elicitation=False)
    with pytest.raises(ActionFailed) as failed:
        agent.call("order")
    assert failed.value.code == -32007
    assert cart == {"tea": 2}


# A handler alone: an action can be called like its function.


@pytest.mark.anyio
async def test_nothing_is_ordered_without_an_address() -> None:
    ctx = context(answers=[decline()])
    assert await order(ctx) == "Nothing was ordered."
    assert [asked.question for asked in ctx.questions] == ["Where does it go?"]
    assert shop_fastapi.read_cart().total == 9
