"""A conversation with one client about one call: what has been told goes out before the result."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from desk import Desk, DeskOutlet
from desk import desk as at_desk
from fixture_provider import FixtureProvider, Running

from tesseron_py.invocation import Done, Progress
from tesseron_py.mcp.envelope import Request
from tesseron_py.mcp.provider import ToolOutput
from tesseron_py.mcp.repeats import IDEMPOTENCY_KEY


class SlowOutlet(DeskOutlet):
    """While the first message is being sent, the tool tells the rest and ends."""

    def __init__(self, desk: Desk, provider: FixtureProvider) -> None:
        super().__init__(desk)
        self._provider = provider

    async def send(self, text: str) -> None:
        running = self._provider.running["talkative"]
        if running.invocation.outcome is None:
            running.invocation.note(Progress(50))
            running.invocation.note(Progress(100))
            running.invocation.finish(Done(ToolOutput("done")))
        await super().send(text)


async def test_what_a_call_tells_last_is_not_lost_while_something_is_being_sent() -> None:
    async def talkative(provider: FixtureProvider, running: Running, arguments: Any) -> Any:
        running.invocation.note(Progress(0))
        await provider.event("never").wait()

    provider = FixtureProvider()
    provider.handlers["talkative"] = talkative
    async with at_desk(provider) as desk:
        params = {"name": "talkative", "_meta": {"progressToken": "p"}}
        result = await desk.start("tools/call", params, outlet=SlowOutlet(desk, provider)).result()
        assert result["content"] == [{"type": "text", "text": "done"}]
        told = [(await desk.next("notifications/progress"))["params"]["progress"] for _ in range(3)]
        assert told == [0, 50, 100]
        assert desk.quiet()


class CancelledOutlet(DeskOutlet):
    """While the first question is being sent, the client cancels the call."""

    async def send(self, text: str) -> None:
        await super().send(text)
        if '"elicitation/create"' in text:
            self._desk.notify("notifications/cancelled", {"requestId": "c"})


@pytest.mark.parametrize("keyed", [False, True])
async def test_a_question_that_is_being_sent_when_the_call_is_cancelled_is_withdrawn(keyed: bool) -> None:
    provider = FixtureProvider()
    async with at_desk(provider) as desk:
        meta = {IDEMPOTENCY_KEY: "k"} if keyed else {}
        params = {"name": "many", "arguments": {"count": 2}, "_meta": meta}
        if keyed:
            # Another request shares the call, which goes on; its questions are put to both.
            other = desk.start("tools/call", params, id="o")
            theirs = [await desk.next("elicitation/create") for _ in range(2)]
        calling = desk.start("tools/call", params, id="c", outlet=CancelledOutlet(desk))
        prompt = await desk.next("elicitation/create")
        assert (await desk.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
        with anyio.fail_after(5):
            await calling.ended.wait()
        assert calling.response is None
        assert desk.quiet()  # the second question was not put any more
        if keyed:
            for each in theirs:
                desk.answer(each, approve=True)
            assert "isError" not in await other.result()
        assert desk.session.open_prompts == 0


async def test_a_request_whose_task_is_ended_from_outside_has_no_response_while_others_wait_for_its_call() -> None:
    started = anyio.Event()

    async def waits(provider: FixtureProvider, running: Running, arguments: Any) -> Any:
        started.set()
        await provider.event("go").wait()
        return "done"

    provider = FixtureProvider()
    provider.handlers["waits"] = waits
    async with at_desk(provider) as desk:
        params = {"name": "waits", "_meta": {IDEMPOTENCY_KEY: "k"}}
        other = desk.start("tools/call", params)
        await started.wait()
        exchange = desk.session.open(Request("ended", "tools/call", params), desk.outlet)
        with anyio.move_on_after(0.01):
            try:
                await exchange.run(desk.session._readiness)
            finally:
                assert exchange.finish() is None
        assert exchange.finish() is None
        provider.event("go").set()
        assert (await other.result())["content"] == [{"type": "text", "text": "done"}]
