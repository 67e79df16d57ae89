"""An agent that follows a resource, and one whose app has its handlers run elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from tesseron_py import Tesseron
from tesseron_py.mcp.client_transport import PipeTransport
from tesseron_py.testing import ActionFailed, Agent, SyncAgent


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
    async with Agent(board(), era=era) as agent:
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


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_resource_that_is_not_there_is_spoken_of_by_its_name(era: str) -> None:
    app = Tesseron("n")
    app.resource("data://stats").read(lambda: {"open": 3})

    @app.resource("boom")
    def boom() -> str:
        raise RuntimeError("no tesseron://n/boom here")

    async with Agent(app, era=era) as agent:
        for wrong, mend in (
            ("stat", "; did you mean 'data://stats'?"),
            ("data://stat", "; did you mean 'data://stats'?"),
            ("bom", "; did you mean 'boom'?"),
            ("tesseron://n/boom", "; did you mean 'boom'?"),
            ("tesseron://n/data%3A%2F%2Fstats", "; did you mean 'data://stats'?"),
            ("carts", ""),
        ):
            with pytest.raises(ActionFailed) as failed:
                await agent.read(wrong)
            assert failed.value.message == f"There is no resource {wrong!r}{mend}"
            with pytest.raises(ActionFailed) as failed:
                await agent.subscribe(wrong)
            assert failed.value.message in (
                f"There is no resource {wrong!r}{mend}",
                f"The server does not tell of changes of {wrong}",
            )
        with pytest.raises(ActionFailed, match="no tesseron://n/boom here"):
            await agent.read("boom")
        assert await agent.read("data://stats") == {"open": 3}


async def test_a_server_outside_is_spoken_to_and_of_in_uris() -> None:
    app = board()
    async with app._memory_endpoint() as channel, Agent(PipeTransport(channel)) as agent:
        with pytest.raises(ActionFailed) as failed:
            await agent.read("tesseron://board/counts")
        assert failed.value.message == (
            "There is no resource 'tesseron://board/counts'; did you mean 'tesseron://board/count'?"
        )
        with pytest.raises(ActionFailed, match="changes of tesseron://board/counts"):
            await agent.subscribe("tesseron://board/counts")


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
        Agent(board(), dispatch=5)
    with pytest.raises(TypeError, match="dispatch is for an app in this process"):
        Agent("http://127.0.0.1:1/mcp", dispatch=print)
