"""An agent that follows a resource, and one whose app has its handlers run elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from tesseron_py import Tesseron
from tesseron_py.testing import Agent, SyncAgent


def board() -> Tesseron:
    app, cards = Tesseron("board"), [1]
    count = app.resource("count").read(lambda: len(cards))

    @app.action
    def add() -> None:
        cards.append(1)
        count.publish(len(cards))

    @app.action
    def where() -> str:
        return threading.current_thread().name

    return app


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_update_is_waited_for(era: str) -> None:
    async with Agent(board(), era=era) as agent:  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match=r"does not follow 'count'; await agent.subscribe\('count'\) first"):
            await agent.updated("count")
        await agent.subscribe("count")
        with pytest.raises(TimeoutError, match="no update of 'count' within"):
            await agent.updated("count", timeout=0.01)
        for expected in (2, 3):
            await agent.call("add")
            await agent.updated("count")
            assert await agent.read("count") == expected
        with pytest.raises(TimeoutError):
            await agent.updated("count", timeout=0.01)


def test_an_update_is_waited_for_in_a_plain_test() -> None:
    with SyncAgent(board()) as agent:
        agent.subscribe("count")
        agent.call("add")
        agent.updated("count")
        assert agent.read("count") == 2
        assert len(agent.changes) >= 1


def test_handlers_run_where_they_are_dispatched_to() -> None:
    jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def mainloop() -> None:
        while (job := jobs.get()) is not None:
            job()

    window = threading.Thread(target=mainloop, name="window", daemon=True)
    window.start()
    app = board()
    with SyncAgent(app, dispatch=jobs.put) as agent:
        assert agent.call("where") == "window"
    with SyncAgent(app) as agent:
        assert agent.call("where") != "window"
    jobs.put(None)
    window.join(5)


def test_what_cannot_be_dispatched_to_is_refused() -> None:
    with pytest.raises(TypeError, match="dispatch is a function"):
        Agent(board(), dispatch=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dispatch is for an app in this process"):
        Agent("http://127.0.0.1:1/mcp", dispatch=print)
