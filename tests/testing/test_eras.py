"""The same app gives the same outcomes in both eras, over a memory pipe, stdio and HTTP: every answer, and more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tesseron_py.invocation import Malformed, Progress
from tesseron_py.mcp.client import Answer as WireAnswer
from tesseron_py.mcp.client import EraChoice, McpClient, Question
from tesseron_py.mcp.client_http import HttpTransport
from tesseron_py.mcp.client_process import ProcessTransport
from tesseron_py.mcp.provider import ResourceUpdated
from tesseron_py.testing import ActionFailed, Agent, accept, cancel, decline
from tesseron_py.testing.agent import Target, _way_to
from tesseron_py.testing.answers import Answer, Prompt

from ..product.app import app as depot
from ..product.app import hasty
from ..product.processes import ROOT, http_server, mcp_command
from .shop import app as shop
from .shop import stats

PATIENCE = 60.0
DEPOT = "tests.product.app:app"
ORDER = {"warehouse": "WH-7", "count": 3}
WRONG = {"warehouse": "WH-9", "count": 0}

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture(scope="module", params=["memory", "stdio", "http"])
def carrier(request: pytest.FixtureRequest) -> Iterator[Callable[[], Target]]:
    """Gives a way to the depot, a new one each time."""
    match request.param:
        case "memory":
            yield lambda: depot
        case "stdio":
            yield lambda: ProcessTransport(mcp_command(DEPOT), {"PYTHONPATH": str(ROOT)})
        case _:
            with http_server(DEPOT) as (url, _):
                yield lambda: url


# fmt: off
OUTCOMES: list[tuple[str, list[Answer], dict[str, Any], str]] = [
    # how       the person says                     with             the handler learns
    ("confirm", [accept()],                         {},              "True"),
    ("confirm", [accept({"approve": False})],       {},              "False"),
    ("confirm", [accept({"approve": "true"})],      {},              "False"),
    ("confirm", [accept({})],                       {},              "False"),
    ("confirm", [decline()],                        {},              "False"),
    ("confirm", [cancel()],                         {},              "False"),
    ("elicit",  [accept(ORDER)],                    {},              "WH-7 3"),
    ("elicit",  [accept(WRONG)],                    {},              "raises InvalidAnswer"),
    ("elicit",  [accept({})],                       {},              "raises InvalidAnswer"),
    ("elicit",  [decline()],                        {},              "None"),
    ("elicit",  [cancel()],                         {},              "None"),
    ("ask",     [accept(ORDER)],                    {},              "Accepted(WH-7 3)"),
    ("ask",     [accept(WRONG), accept(ORDER)],     {"attempts": 2}, "Accepted(WH-7 3)"),
    ("ask",     [accept(WRONG), accept(WRONG)],     {"attempts": 2}, "raises InvalidAnswer"),
    ("ask",     [decline()],                        {},              "Declined()"),
    ("ask",     [cancel()],                         {},              "Cancelled()"),
]
MALFORMED: list[tuple[str, Any, str]] = [
    # how       the client says                            the handler learns
    ("confirm", {"action": "yes"},                         "False"),
    ("elicit",  {"action": "yes"},                         "raises MalformedAnswer"),
    ("ask",     {"action": "yes"},                         "raises MalformedAnswer"),
    ("elicit",  {"action": "accept", "content": "y"},      "raises MalformedAnswer"),
    ("ask",     {"action": "accept", "content": [1]},      "raises MalformedAnswer"),
    ("confirm", {"action": "accept", "content": "y"},      "False"),
    ("elicit",  {"action": "decline", "content": ORDER},   "None"),
    ("elicit",  {"action": "accept"},                      "raises InvalidAnswer"),
    ("elicit",  None,                                      "None"),   # the callback fails
    ("ask",     None,                                      "Cancelled()"),
    ("confirm", None,                                      "False"),
]
# fmt: on


@ERAS
async def test_every_answer_of_the_person_is_the_same_in_both_eras(
    carrier: Callable[[], Target], era: EraChoice
) -> None:
    answers = [answer for _, given, _, _ in OUTCOMES for answer in given]
    with anyio.fail_after(PATIENCE):
        async with Agent(carrier(), answers * 2, era=era) as agent:
            assert agent.era == era
            for action in ("outcome", "outcomeSync"):
                for how, _, arguments, learnt in OUTCOMES:
                    assert (how, await agent.call(action, {"how": how, **arguments})) == (how, learnt)
            assert [asked.action for asked in agent.questions] == (
                ["outcome"] * len(answers) + ["outcomeSync"] * len(answers)
            )


@ERAS
async def test_every_answer_that_is_none_is_the_same_in_both_eras(
    carrier: Callable[[], Target], era: EraChoice
) -> None:
    given = [answer for _, answer, _ in MALFORMED]

    async def answer(question: Question) -> WireAnswer:
        raw = given.pop(0)
        if raw is None:
            raise ZeroDivisionError
        return Malformed(raw)

    way, _ = _way_to(carrier())
    with anyio.fail_after(PATIENCE):
        async with way() as transport, McpClient(transport, answer=answer, era=era) as client:
            for how, raw, learnt in MALFORMED:
                assert (how, raw, (await client.call("outcome", {"how": how})).value) == (how, raw, learnt)


@ERAS
async def test_what_cannot_be_asked_is_the_same_in_both_eras(carrier: Callable[[], Target], era: EraChoice) -> None:
    with anyio.fail_after(PATIENCE):
        async with Agent(carrier(), elicitation=False, era=era) as agent:
            unable = "raises ElicitationNotAvailable"
            for how, learnt in (("confirm", "False"), ("elicit", unable), ("ask", unable)):
                assert await agent.call("outcome", {"how": how}) == learnt
            assert agent.questions == []
        async with Agent(carrier(), lambda prompt: accept(ORDER), era=era) as agent:
            for how in ("elicit", "ask"):
                assert await agent.call("unaskable", {"how": how}) == "raises InvalidSchema -32602"
            assert agent.questions == []
            learnt = await agent.call("crowd", {"how": "elicit", "count": 33})
            assert sorted(learnt) == ["WH-7 3"] * 32 + ["raises TooManyPrompts"]
            assert len(agent.questions) == 32


@ERAS
async def test_questions_at_once_and_of_other_kinds_are_the_same_in_both_eras(
    carrier: Callable[[], Target], era: EraChoice
) -> None:
    def answer(prompt: Prompt) -> Answer:
        return decline() if prompt.question == "right?" else accept()

    with anyio.fail_after(PATIENCE):
        async with Agent(carrier(), answer, era=era) as agent:
            assert await agent.call("pair") == {"left": True, "right": False}
            assert await agent.call("visit") == "Accepted()"
            assert agent.questions[-1].url == "https://depot.example/sign"


@asynccontextmanager
async def at_the_shop(era: EraChoice, **options: Any) -> AsyncIterator[Agent]:
    with anyio.fail_after(PATIENCE):
        async with Agent(shop, era=era, **options) as agent:
            yield agent


@ERAS
async def test_progress_logs_failures_and_samples_are_the_same_in_both_eras(era: EraChoice) -> None:
    async with at_the_shop(era, sampling=str.upper) as agent:
        assert await agent.call("work", {"steps": 2}) == "123"
        assert agent.progress == [Progress(50, "step 0"), Progress(100, "step 1")]
        assert [(log.level, log.message) for log in agent.logs] == [("debug", "did 0"), ("debug", "did 1")]
        assert await agent.call("say") == "SAY HELLO"
        with pytest.raises(ActionFailed) as raised:
            await agent.call("fail")
        assert (raised.value.code, raised.value.message, raised.value.data) == (-32005, "Cart is locked", {"cart": 7})
        with pytest.raises(ActionFailed, match="nothing"):
            await agent.call("nothing")
        with pytest.raises(ActionFailed, match="steps"):
            await agent.call("work", {"steps": "many"})


@ERAS
async def test_an_agent_that_lacks_something_is_told_the_same_in_both_eras(era: EraChoice) -> None:
    async with at_the_shop(era, elicitation=False) as agent:
        for action, code in (("pick", -32007), ("say", -32006)):
            with pytest.raises(ActionFailed) as raised:
                await agent.call(action)
            assert raised.value.code == code


@ERAS
async def test_a_resource_is_read_and_followed_in_both_eras(era: EraChoice) -> None:
    async with at_the_shop(era) as agent:
        assert await agent.read("todos://stats") == {"open": 3}
        await agent.subscribe("todos://stats")
        stats.publish({"open": 2})
        with anyio.fail_after(10):
            while ResourceUpdated("tesseron://shop/todos%3A%2F%2Fstats") not in agent.changes:
                await anyio.lowlevel.checkpoint()


@ERAS
async def test_a_question_that_nobody_answers_in_time_is_over(era: EraChoice) -> None:

    async def slow(prompt: Prompt) -> Answer:
        await anyio.sleep(0.5)  # the app waits for 0.2 s
        return accept(ORDER)

    with anyio.fail_after(PATIENCE):
        async with Agent(hasty, slow, era=era) as agent:
            for how, learnt in (("confirm", "False"), ("elicit", "None"), ("ask", "Cancelled()")):
                assert await agent.call("outcome", {"how": how}) == learnt


async def test_auto_speaks_the_newer_era(carrier: Callable[[], Target]) -> None:
    async with Agent(carrier()) as agent:
        assert agent.era == "modern"


async def test_an_agent_reads_the_resources_of_a_server_outside_by_their_uris() -> None:
    with http_server(DEPOT) as (url, _):
        async with Agent(HttpTransport(url)) as agent:
            assert isinstance(await agent.read("tesseron://depot/journal"), str | list)
            assert {"outcome", "crowd"} <= {tool["name"] for tool in await agent.tools()}
        async with Agent(mcp_command(DEPOT)) as agent:
            assert await agent.call("outcome", {"how": "confirm"}) == "False"
