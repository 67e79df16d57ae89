"""A conversation with one client about one call: what has been told goes out before the result."""

from __future__ import annotations

from typing import Any

import anyio
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
