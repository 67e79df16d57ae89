"""The test kit: an agent whose person is scripted, for async and for plain tests, and contexts for handlers alone."""

from __future__ import annotations

import inspect
from typing import Any

import anyio
import pytest

import tesseron_py.testing as kit
from tesseron_py import Tesseron
from tesseron_py.invocation import Log, Progress
from tesseron_py.mcp.provider import ResourceUpdated
from tesseron_py.testing import (
    ActionFailed,
    Agent,
    AgentFactory,
    SyncAgent,
    accept,
    cancel,
    context,
    decline,
    sync_context,
)
from tesseron_py.testing.answers import Prompt

from .shop import app, clear, clear_sync, count, pay, pick, say, stats


async def test_answers_are_used_in_order_and_then_it_is_cancel() -> None:
    async with Agent(app, answers=[accept(), decline()]) as agent:
        assert await agent.call("clear") == 5
        assert await agent.call("clear", {"count": 2}) == 0
        assert await agent.call("clear") == 0
        assert [asked.question for asked in agent.questions] == [
            "Remove 5 todos?",
            "Remove 2 todos?",
            "Remove 5 todos?",
        ]
        assert [asked.answer for asked in agent.questions] == [accept(), decline(), cancel()]
        assert agent.questions[0].action == "clear"
        assert list(agent.questions[0].schema["properties"]) == ["approve"]


async def test_an_answer_may_hold_content_or_one_value_or_be_a_function() -> None:
    async def later(prompt: Prompt) -> kit.answers.Answer:  # type: ignore[attr-defined]
        await anyio.lowlevel.checkpoint()
        assert prompt.question == "How many?"
        return accept(8)

    answers = [accept({"warehouse_id": "WH-7"}), accept("WH-8"), accept(7), later, decline()]
    async with Agent(app, answers=answers) as agent:
        assert await agent.call("pick") == "WH-7"
        assert await agent.call("pick") == "WH-8"
        assert await agent.call("count") == 7
        assert await agent.call("count") == 8
        assert await agent.call("count") is None


async def test_one_function_may_answer_everything() -> None:
    async with Agent(app, answers=lambda prompt: accept() if "5" in prompt.question else decline()) as agent:
        assert await agent.call("clear", {"count": 5}) == 5
        assert await agent.call("clear", {"count": 6}) == 0


async def test_fields_34_35_an_answer_that_does_not_fit_fails_the_call() -> None:
    async with Agent(app, answers=[accept({"warehouse_id": "everything"}), accept({"value": "seven"})]) as agent:
        with pytest.raises(ActionFailed) as raised:
            await agent.call("pick")
        assert raised.value.code == -32005
        assert raised.value.data[0]["path"] == ["warehouse_id"]
        with pytest.raises(ActionFailed, match="-32005"):
            await agent.call("count")


async def test_a_script_that_is_wrong_is_no_yes_and_no_refusal_either() -> None:
    def no_answer(prompt: Prompt) -> Any:
        return True

    async with Agent(app, answers=[no_answer, accept(7), accept()]) as agent:
        with pytest.raises(TypeError, match="a scripted answer is accept"):
            await agent.call("clear")
        with pytest.raises(TypeError, match=r"this one is a confirm: accept\(\)"):
            await agent.call("clear")
        assert await agent.call("clear") == 5


@pytest.mark.parametrize("answers", [[True], ["yes"], [{"approve": True}], [None], [7]])
def test_what_is_no_answer_is_refused_before_anything_is_asked(answers: Any) -> None:
    with pytest.raises(TypeError, match=r"a scripted answer is accept\(…\), decline\(\) or cancel\(\), not "):
        Agent(app, answers=answers)


def test_answers_are_a_list_and_are_called() -> None:
    for given in (accept(), "accept", 7):
        with pytest.raises(TypeError, match=r"answers is a list, such as \[accept\(\)\]"):
            Agent(app, answers=given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="its brackets are missing"):
        Agent(app, answers=[accept])  # type: ignore[list-item]


def test_an_agent_is_connected_to_an_app() -> None:
    with pytest.raises(TypeError, match=r"a Tesseron app, .* not to 'bank:app'"):
        Agent("bank:app")  # type: ignore[arg-type]


async def test_errors_keep_code_message_and_data() -> None:
    async with Agent(app) as agent:
        with pytest.raises(ActionFailed) as raised:
            await agent.call("fail")
        assert (raised.value.code, raised.value.message, raised.value.data) == (-32005, "Cart is locked", {"cart": 7})
        assert str(raised.value) == "Cart is locked (-32005)"
        with pytest.raises(ActionFailed, match="steps") as raised:
            await agent.call("work", {"stepz": 1})
        assert raised.value.code == -32004
        with pytest.raises(ActionFailed, match="none"):
            await agent.call("none")
        with pytest.raises(ActionFailed, match="none"):
            await agent.read("none")


async def test_fields_15_38_strings_stay_strings_and_an_agent_may_be_unable_to_ask() -> None:
    async with Agent(app, elicitation=False) as agent:
        assert await agent.call("work", {"steps": 1}) == "123"
        assert await agent.call("clear") == 0
        with pytest.raises(ActionFailed, match="-32007"):
            await agent.call("pick")
        with pytest.raises(ActionFailed, match="-32006"):
            await agent.call("say")
        assert agent.questions == []


async def test_progress_logs_resources_sampling_and_urls() -> None:
    async with Agent(app, answers=[accept()], sampling=lambda prompt: prompt.upper()) as agent:
        assert await agent.call("work", {"steps": 2}) == "123"
        assert agent.progress == [Progress(50, "step 0"), Progress(100, "step 1")]
        assert agent.logs == [Log("debug", "did 0"), Log("debug", "did 1")]
        assert await agent.call("say") == "SAY HELLO"
        assert await agent.call("pay") == "Accepted(value=None)"
        assert agent.questions[0].url == "https://pay.example"
        assert await agent.read("todos://stats") == {"open": 3}
        await agent.subscribe("todos://stats")
        stats.publish({"open": 2})
        with anyio.fail_after(5):
            while ResourceUpdated("tesseron://shop/todos%3A%2F%2Fstats") not in agent.changes:
                await agent.client.ping()
        assert "clearSync" in [tool["name"] for tool in await agent.tools()]


async def test_sampling_may_be_async() -> None:
    async def sample(prompt: str) -> str:
        return prompt.lower()

    async with Agent(app, sampling=sample) as agent:
        assert await agent.call("say") == "say hello"


async def test_two_questions_at_once_each_get_their_answer() -> None:
    async with Agent(app, answers=lambda p: accept() if "first" in p.question else decline()) as agent:
        assert await agent.call("both") == {"first": True, "second": False}


async def test_an_agent_that_is_not_connected_says_so() -> None:
    agent = Agent(app)
    with pytest.raises(RuntimeError, match="async with"):
        await agent.call("clear")
    with pytest.raises(ValueError, match="era"):
        Agent(app, era="future")  # type: ignore[arg-type]
    sync_agent = SyncAgent(app)
    with pytest.raises(RuntimeError, match="with SyncAgent"):
        sync_agent.call("clear")


async def test_an_exception_of_the_test_leaves_unchanged() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Agent(app):
            raise KeyError("mine")


def test_plain_tests_have_an_agent_too() -> None:
    with SyncAgent(app, answers=[accept(), decline()]) as agent:
        assert agent.call("clearSync") == 5
        assert agent.call("clearSync", {"count": 1}) == 0
        assert agent.questions[1].question == "Remove 1 todos?"
        assert agent.progress[0] == Progress(50, "half way")
        assert agent.logs[0] == Log("warn", "going", {"count": 5})
        assert agent.read("todos://stats") == {"open": 3}
        assert len(agent.tools()) == len(app.actions)
        agent.close()


def test_the_plugin_gives_a_factory(tesseron_agent: AgentFactory) -> None:
    agent = tesseron_agent(app, answers=[accept()])
    other = tesseron_agent(app, elicitation=False)
    assert agent.call("clear") == 5
    assert other.call("clear") == 0


def test_a_plain_agent_and_the_factory_take_what_an_agent_takes(tesseron_agent: AgentFactory) -> None:
    taken = [*inspect.signature(Agent).parameters.values()]
    assert [*inspect.signature(SyncAgent).parameters.values()] == taken
    assert [*inspect.signature(AgentFactory.__call__).parameters.values()][1:] == taken
    for connect in (SyncAgent, tesseron_agent):
        with pytest.raises(TypeError, match="unexpected keyword argument 'answer'"):
            connect(app, answer=[])
    agent = tesseron_agent(app, [decline()], sampling=str.upper, era="legacy", name="tess")
    assert (agent.era, agent.call("clear"), agent.call("say")) == ("legacy", 0, "SAY HELLO")


async def test_a_handler_alone_with_a_scripted_context() -> None:
    ctx = context(answers=[accept(), accept({"warehouse_id": "WH-7"}), accept(4)], state={"db": 1}, action="clear")
    assert await clear(ctx=ctx) == 5
    assert await pick(ctx) == "WH-7"
    assert await count(ctx) == 4
    assert await count(ctx) is None
    assert await pay(context(answers=[accept()])) == "Accepted(value=None)"
    assert [asked.question for asked in ctx.questions][:2] == ["Remove 5 todos?", "Which warehouse?"]
    assert (ctx.action, ctx.state, ctx.agent.name) == ("clear", {"db": 1}, "test-agent")
    assert await clear(ctx=context(elicitation=False)) == 0
    assert await say(context(sampling=lambda prompt: "hi")) == "hi"
    with pytest.raises(TypeError, match="a confirm"):
        await clear(ctx=context(answers=[accept(7)]))


def test_a_def_handler_alone_with_a_scripted_context() -> None:
    ctx = sync_context(answers=[accept()])
    assert clear_sync(ctx, 2) == 2
    assert ctx.questions[0].question == "Remove 2 todos?"
    assert ctx.progress_seen == [Progress(50, "half way")]
    assert ctx.logs_seen == [Log("warn", "going", {"count": 2})]
    assert clear_sync(sync_context()) == 0


def test_a_scripted_context_answers_at_once_or_says_so() -> None:
    async def later(prompt: Prompt) -> Any:
        return accept()

    with pytest.raises(TypeError, match="scripted answer"):
        clear_sync(sync_context(answers=[later]))


def test_the_kit_exports_what_it_names() -> None:
    for name in kit.__all__:
        assert getattr(kit, name) is not None
    assert sorted(kit.__all__) == dir(kit)
    with pytest.raises(AttributeError, match="nothing"):
        kit.nothing  # type: ignore[attr-defined]  # noqa: B018


async def test_an_app_whose_lifespan_fails_says_why() -> None:
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def broken(app: Tesseron) -> AsyncIterator[None]:
        raise RuntimeError("no database")
        yield

    with pytest.raises(RuntimeError, match="no database"):
        async with Agent(Tesseron("shop", lifespan=broken)):
            pass


async def test_a_lifespan_is_entered_and_left_and_its_value_is_the_state() -> None:
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    from tesseron_py import Context

    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[dict[str, str]]:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            seen.append(f"enter {app.id}")
            try:
                yield {"db": "open"}
            finally:
                seen.append("leave")
                group.cancel_scope.cancel()

    shop = Tesseron("shop", lifespan=lifespan)

    @shop.action
    async def state(ctx: Context) -> Any:
        return ctx.state

    async with Agent(shop) as agent:
        assert await agent.call("state") == {"db": "open"}
        assert seen == ["enter shop"]
    assert seen == ["enter shop", "leave"]
