"""`def` handlers that wait for a person or a model: they hold no thread meanwhile, and their clock stands still."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tesseron_py import sync
from tesseron_py.app import Tesseron
from tesseron_py.asking import Accepted
from tesseron_py.context import SyncContext
from tesseron_py.workers import Workers

from .fake_gateway import FakeGateway, serving


async def hear(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 5)


async def park(gateway: FakeGateway, action: str, count: int) -> list[int]:
    """The ids of the questions that so many calls of the action ask."""
    for number in range(count):
        await gateway.invoke(action, id=f"r-{number}", invocation=f"i-{number}")
    return [(await gateway.recv())["id"] for _ in range(count)]


@pytest.mark.parametrize("end", ["answers", "the connection"])
async def test_many_that_wait_for_a_person_stop_no_other_def_action(end: str) -> None:
    app, lock, ended = Tesseron("shop"), threading.Lock(), []

    @app.action
    def pay(ctx: SyncContext) -> bool:
        paid = False
        try:
            paid = ctx.confirm("Pay?")
        finally:
            with lock:
                ended.append(paid)
        return paid

    @app.action
    def plain() -> str:
        return "at once"

    async with serving(app) as gateway:
        questions = await park(gateway, "pay", 45)
        answer = await gateway.call("plain", id="plain", invocation="plain")
        assert (answer["id"], answer["result"]["output"]) == ("plain", "at once")
        if end == "answers":
            for question in questions:
                await gateway.send(id=question, result={"action": "accept"})
            answers = [await gateway.recv() for _ in questions]
            assert {(answer["id"], answer["result"]["output"]) for answer in answers} == {
                (f"r-{number}", True) for number in range(45)
            }
        else:
            await gateway.channel.aclose()
        with anyio.fail_after(5):
            await app.workers.idle()
    assert ended == [end == "answers"] * 45


@pytest.mark.parametrize(
    ("ask", "answer", "outcome"),
    [
        (lambda ctx: ctx.confirm("Sure?"), {"action": "accept"}, True),
        (lambda ctx: ctx.elicit("Which?"), {"action": "accept", "value": {"response": "A1"}}, "A1"),
        (lambda ctx: isinstance(ctx.ask("Which?"), Accepted), {"action": "accept", "value": {"response": "A1"}}, True),
        (lambda ctx: isinstance(ctx.ask_url("Go?", "https://x.example"), Accepted), {"action": "accept"}, True),
        (lambda ctx: ctx.sample("Hello?"), {"content": "hello"}, "hello"),
        (lambda ctx: sync.confirm("Sure?"), {"action": "accept"}, True),
        (lambda ctx: sync.elicit("Which?"), {"action": "accept", "value": {"response": "A1"}}, "A1"),
        (lambda ctx: isinstance(sync.ask("Which?"), Accepted), {"action": "accept", "value": {"response": "A1"}}, True),
    ],
    ids=["confirm", "elicit", "ask", "ask_url", "sample", "sync.confirm", "sync.elicit", "sync.ask"],
)
async def test_every_question_gives_the_thread_to_others(
    ask: Callable[[SyncContext], Any], answer: dict[str, Any], outcome: Any
) -> None:
    app = Tesseron("shop", threads=1)

    @app.action
    def asks(ctx: SyncContext) -> Any:
        return ask(ctx)

    @app.action
    def plain() -> str:
        return "at once"

    can = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True, "elicitationUrl": True}
    async with serving(app, capabilities=can, extensions={"tesseron-py": 1}) as gateway:
        await gateway.invoke("asks")
        question = await gateway.recv()
        assert (await gateway.call("plain", id="r-2", invocation="i-2"))["result"]["output"] == "at once"
        await gateway.send(id=question["id"], result=answer)
        assert (await gateway.recv())["result"]["output"] == outcome


async def test_what_only_reports_keeps_its_thread() -> None:
    app, seen = Tesseron("shop", threads=1), []

    @app.action
    def reports(ctx: SyncContext) -> None:
        ctx.progress(10)
        ctx.log("ten")
        seen.append(app.workers.busy)

    async with serving(app) as gateway:
        await gateway.invoke("reports")
        assert [(await gateway.recv()).get("method") for _ in range(3)] == ["actions/progress", "log", None]
    assert seen == [1]


@pytest.mark.parametrize("when", ["before the answer", "after the answer"])
async def test_a_call_cancelled_while_its_thread_is_with_another_ends_without_a_yes(when: str) -> None:
    app, seen = Tesseron("shop", threads=1), []
    begun, release = threading.Event(), threading.Event()

    @app.action
    def pay(ctx: SyncContext) -> None:
        seen.append(ctx.confirm("Pay?"))

    @app.action
    def long() -> None:
        begun.set()
        release.wait(5)

    async with serving(app) as gateway:
        [question] = await park(gateway, "pay", 1)
        await gateway.invoke("long", id="long", invocation="long")
        await hear(begun)
        if when == "after the answer":
            await gateway.send(id=question, result={"action": "accept"})
            await gateway.nothing_comes()
        await gateway.cancel("i-0")
        answer = await gateway.recv()
        assert (answer["id"], answer["error"]["code"]) == ("r-0", -32001)
        assert (app.workers.busy, app.workers.parked, app.workers.abandoned) == (1, 1, 0)
        release.set()
        assert (await gateway.recv())["id"] == "long"
        with anyio.fail_after(5):
            await app.workers.idle()
    assert seen == [False]
    assert (app.workers.busy, app.workers.parked, app.workers.abandoned) == (0, 0, 0)


async def test_the_time_of_an_action_stands_still_while_it_waits_for_a_thread_to_go_on_with() -> None:
    app = Tesseron("shop", threads=1)
    begun, release = threading.Event(), threading.Event()
    forever, stuck_begun = threading.Event(), threading.Event()

    @app.action("pay").timeout(0.1).handler
    def pay(ctx: SyncContext) -> bool:
        return ctx.confirm("Pay?")

    @app.action
    def long() -> None:
        begun.set()
        release.wait(5)

    @app.action("stuck")
    def stuck() -> None:
        stuck_begun.set()
        forever.wait(5)

    async with serving(app) as gateway:
        [question] = await park(gateway, "pay", 1)
        await gateway.invoke("long", id="long", invocation="long")
        await hear(begun)
        await gateway.send(id=question, result={"action": "accept"})
        with anyio.move_on_after(0.3):  # three times what the action may take
            await gateway.recv()
            pytest.fail("it ended while another had the thread")
        release.set()
        answers = {answer["id"]: answer for answer in [await gateway.recv(), await gateway.recv()]}
        assert answers["r-0"]["result"]["output"] is True

        # A thread that a given up call holds may never come back; then the time does run.
        [question] = await park(gateway, "pay", 1)
        await gateway.invoke("stuck", id="stuck", invocation="stuck")
        await hear(stuck_begun)
        await gateway.cancel("stuck")
        assert (await gateway.recv())["error"]["code"] == -32001
        await gateway.send(id=question, result={"action": "accept"})
        answer = await gateway.recv()
        assert (answer["id"], answer["error"]["code"]) == ("r-0", -32002)
        forever.set()
        with anyio.fail_after(5):
            await app.workers.idle()


async def test_a_dispatched_handler_stays_where_it_is_while_it_asks() -> None:
    app = Tesseron("shop")
    pool = Workers(1, dispatch=lambda job: threading.Thread(target=job).start())

    @app.action
    def pay(ctx: SyncContext) -> bool:
        return ctx.confirm("Pay?")

    async with serving(app, workers=pool) as gateway:
        [question] = await park(gateway, "pay", 1)
        assert (pool.busy, pool.parked) == (1, 0)
        await gateway.send(id=question, result={"action": "accept"})
        assert (await gateway.recv())["result"]["output"] is True
        with anyio.fail_after(5):
            await pool.idle()
