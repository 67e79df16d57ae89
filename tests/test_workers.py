"""Worker threads: bounded, daemon, each slot held until its function returns."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tesseron_py import workers as module
from tesseron_py.errors import ActionCancelled
from tesseron_py.workers import Workers, loop_caller


async def wait_for(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(lambda: event.wait(5))


async def test_a_function_runs_in_a_daemon_thread_with_the_callers_context() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("the caller")

    def look(bridge: Any) -> tuple[str, bool, bool]:
        thread = threading.current_thread()
        return who.get(), thread.daemon, thread is threading.main_thread()

    assert await Workers(1).run(look) == ("the caller", True, False)


async def test_what_a_function_raises_is_raised() -> None:
    def fail(bridge: Any) -> None:
        raise KeyError("mine")

    def leave(bridge: Any) -> None:
        raise SystemExit(1)

    def cancel(bridge: Any) -> None:
        raise asyncio.CancelledError

    pool = Workers(1)
    with pytest.raises(KeyError, match="mine"):
        await pool.run(fail)
    for fn, name in ((leave, "SystemExit"), (cancel, "CancelledError")):
        with pytest.raises(RuntimeError, match=name):
            await pool.run(fn)
    assert await pool.run(lambda bridge: "free again") == "free again"


async def test_no_more_run_at_once_than_there_are_threads_and_the_rest_come_in_order() -> None:
    pool, order = Workers(1), []
    release = threading.Event()

    def work(number: int) -> Callable[[Any], None]:
        def run(bridge: Any) -> None:
            order.append(number)
            release.wait(5)

        return run

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(pool.run, work(number))
            await anyio.wait_all_tasks_blocked()
        assert pool.busy == 1
        assert order in ([], [0])
        release.set()
    assert order == [0, 1, 2, 3, 4]


async def test_one_that_waits_for_a_thread_can_be_cancelled() -> None:
    pool, release, ran = Workers(1), threading.Event(), []
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, lambda bridge: release.wait(5))
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(0.01) as scope:
            await pool.run(lambda bridge: ran.append(1))
        assert scope.cancelled_caught
        release.set()
    assert ran == []
    assert await pool.run(lambda bridge: "free again") == "free again"


async def test_a_thread_asks_its_event_loop_and_several_of_its_questions_wait_at_once() -> None:
    both = anyio.Event()
    seen: list[int] = []

    async def ask(number: int) -> int:
        seen.append(number)
        if len(seen) == 2:
            both.set()
        await both.wait()
        return number * 10

    def work(bridge: Any) -> list[int]:
        answers: dict[int, int] = {}
        threads = [
            threading.Thread(target=lambda number=number: answers.update({number: bridge.call(lambda: ask(number))}))
            for number in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [answers[1], answers[2]]

    with anyio.fail_after(5):
        assert await Workers(1).run(work) == [10, 20]


async def test_what_a_question_raises_is_raised_in_the_thread() -> None:
    async def fail() -> None:
        raise KeyError("theirs")

    def work(bridge: Any) -> str:
        with pytest.raises(KeyError, match="theirs"):
            bridge.call(fail)
        return "caught"

    assert await Workers(1).run(work) == "caught"


async def test_an_abandoned_function_keeps_its_slot_is_told_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    pool = Workers(1)
    asked, go_on, ended = anyio.Event(), threading.Event(), threading.Event()
    seen: list[str] = []

    async def ask() -> None:
        asked.set()
        await anyio.sleep_forever()

    def work(bridge: Any) -> None:
        try:
            bridge.call(ask)
        except ActionCancelled:
            seen.append("told while it asked")
        go_on.wait(5)
        assert bridge.cancelled
        try:
            bridge.call(ask)
        except ActionCancelled:
            seen.append("told when it asked again")
        ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: pool.run(work, name="The action 'slow'"))
        await asked.wait()
        group.cancel_scope.cancel()
    assert pool.busy == 1
    assert pool.abandoned == 1
    assert "The action 'slow' goes on in its thread" in caplog.text
    assert "1 of 1 threads" in caplog.text
    go_on.set()
    await wait_for(ended)
    assert await pool.run(lambda bridge: "free again") == "free again"
    assert pool.abandoned == 0
    assert seen == ["told while it asked", "told when it asked again"]


async def test_the_log_does_not_take_a_dispatched_function_for_one_of_our_threads(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool = Workers(2, dispatch=lambda job: threading.Thread(target=job).start())
    begun, go_on = threading.Event(), threading.Event()

    def work(bridge: Any) -> None:
        begun.set()
        go_on.wait(5)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: pool.run(work, name="The action 'slow'"))
        await wait_for(begun)
        group.cancel_scope.cancel()
    assert (
        "The action 'slow' goes on in the thread that it was dispatched to although its call was given up;"
        " 1 of 2 handlers that may run at once are such"
    ) in caplog.text
    go_on.set()
    await pool.idle()


async def test_a_thread_started_by_the_function_cannot_ask_after_it_has_returned() -> None:
    refused = threading.Event()
    go_on = threading.Event()
    said: list[str] = []

    async def ask() -> None:
        raise AssertionError("nobody may ask any more")

    def work(bridge: Any) -> str:
        def later() -> None:
            go_on.wait(5)
            try:
                bridge.call(ask)
            except ActionCancelled as error:
                said.append(error.message)
                refused.set()

        threading.Thread(target=later).start()
        return "returned"

    assert await Workers(1).run(work) == "returned"
    go_on.set()
    await wait_for(refused)
    assert said == ["The call is over: its handler has returned"]


class Questions:
    """What functions ask, each answered by hand."""

    def __init__(self) -> None:
        self.open: dict[str, anyio.Event] = {}
        self._more = anyio.Event()

    async def ask(self, name: str) -> str:
        answered = self.open[name] = anyio.Event()
        self._more.set()
        await answered.wait()
        return f"yes, {name}"

    async def asked(self, *names: str) -> None:
        with anyio.fail_after(5):
            while not self.open.keys() >= set(names):
                self._more = anyio.Event()
                await self._more.wait()

    def answer(self, name: str) -> None:
        self.open[name].set()


class Hog:
    """A function that has its thread until it is told to return."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()

    def __call__(self, bridge: Any) -> None:
        self.begun.set()
        assert self.release.wait(5)


async def parked(pool: Workers, count: int) -> None:
    with anyio.fail_after(5):
        while pool.parked != count:
            await anyio.lowlevel.checkpoint()


async def test_functions_that_wait_for_a_person_hold_nobody_up_and_never_more_go_on_than_there_are_threads() -> None:
    pool, questions = Workers(3), Questions()
    names = [f"q{number}" for number in range(50)]
    lock, release, running, most, results = threading.Lock(), threading.Event(), 0, 0, []

    def work(name: str) -> Callable[[Any], str]:
        def run(bridge: Any) -> str:
            nonlocal running, most
            answer: str = bridge.ask(lambda: questions.ask(name))
            with lock:
                running += 1
                most = max(most, running)
            release.wait(5)
            with lock:
                running -= 1
            return answer

        return run

    async def go(name: str) -> None:
        results.append(await pool.run(work(name)))

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(go, name)
        await questions.asked(*names)
        await parked(pool, 50)
        with anyio.fail_after(5):
            assert await pool.run(lambda bridge: "at once") == "at once"
        for name in names:
            questions.answer(name)
        await parked(pool, 47)
        await anyio.wait_all_tasks_blocked()
        assert (pool.busy, pool.parked) == (3, 47)
        release.set()
    with anyio.fail_after(5):
        await pool.idle()
    assert sorted(results) == sorted(f"yes, {name}" for name in names)
    assert 1 <= most <= 3
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)


async def test_what_goes_on_and_what_begins_stand_in_one_line() -> None:
    pool, questions, order, hog = Workers(1), Questions(), [], Hog()

    def asks(bridge: Any) -> None:
        bridge.ask(lambda: questions.ask("q"))
        order.append("goes on")

    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, asks)
        await questions.asked("q")
        group.start_soon(pool.run, hog)
        await wait_for(hog.begun)
        group.start_soon(pool.run, lambda bridge: order.append("before"))
        await anyio.wait_all_tasks_blocked()
        questions.answer("q")
        await anyio.wait_all_tasks_blocked()
        group.start_soon(pool.run, lambda bridge: order.append("after"))
        await anyio.wait_all_tasks_blocked()
        hog.release.set()
    assert order == ["before", "goes on", "after"]


async def test_what_a_person_s_question_raises_is_raised_in_the_thread_that_has_a_slot_again() -> None:
    pool = Workers(1)

    async def fail() -> None:
        raise KeyError("theirs")

    def work(bridge: Any) -> tuple[int, int]:
        with pytest.raises(KeyError, match="theirs"):
            bridge.ask(fail)
        return pool.busy, pool.parked

    assert await pool.run(work) == (1, 0)


async def test_one_given_up_while_it_waits_for_an_answer_ends(caplog: pytest.LogCaptureFixture) -> None:
    pool, questions, hog, seen = Workers(1), Questions(), Hog(), []

    def asks(bridge: Any) -> None:
        try:
            bridge.ask(lambda: questions.ask("q"))
        except ActionCancelled:
            seen.append((pool.busy, pool.parked, pool.abandoned))
            with pytest.raises(ActionCancelled):
                bridge.ask(lambda: questions.ask("another"))
            raise

    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as asking:
            asking.start_soon(lambda: pool.run(asks, name="The action 'asks'"))
            await questions.asked("q")
            await parked(pool, 1)
            group.start_soon(pool.run, hog)
            await wait_for(hog.begun)
            asking.cancel_scope.cancel()
        # It holds nothing, so it is none of those that hold a thread.
        assert (pool.busy, pool.parked, pool.abandoned, caplog.text) == (1, 1, 0, "")
        hog.release.set()
    with anyio.fail_after(5):
        await pool.idle()
    assert seen == [(1, 0, 1)]
    assert "The action 'asks' goes on" in caplog.text
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)
    assert await pool.run(lambda bridge: "free again") == "free again"


async def test_one_given_up_while_it_waits_to_go_on_gets_no_answer() -> None:
    pool, questions, hog, seen = Workers(1), Questions(), Hog(), []

    def asks(bridge: Any) -> None:
        try:
            seen.append(bridge.ask(lambda: questions.ask("q")))
        except ActionCancelled:
            seen.append("cancelled")

    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as asking:
            asking.start_soon(pool.run, asks)
            await questions.asked("q")
            group.start_soon(pool.run, hog)
            await wait_for(hog.begun)
            questions.answer("q")
            await anyio.wait_all_tasks_blocked()
            assert (pool.busy, pool.parked, seen) == (1, 1, [])
            asking.cancel_scope.cancel()
        hog.release.set()
    with anyio.fail_after(5):
        await pool.idle()
    assert seen == ["cancelled"]
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)


async def test_one_given_up_just_as_it_asks_is_told_and_counted_right(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, seen, ended = Workers(1), [], threading.Event()
    park, about = pool.park, anyio.Event()
    call, gone = loop_caller(), threading.Event()

    def late(job: Any) -> None:
        call(about.set)
        assert gone.wait(5)
        assert pool.abandoned == 1
        park(job)
        seen.append(pool.abandoned)

    async def never() -> None:
        raise AssertionError("nobody may ask any more")

    def asks(bridge: Any) -> None:
        try:
            bridge.ask(never, pause=lambda: pytest.fail("paused"))
        except ActionCancelled:
            seen.append(pool.abandoned)
        ended.set()

    monkeypatch.setattr(pool, "park", late)
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, asks)
        await about.wait()
        group.cancel_scope.cancel()
    gone.set()
    await wait_for(ended)
    with anyio.fail_after(5):
        await pool.idle()
    assert seen == [0, 1]
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)


async def test_idle_waits_for_those_that_wait_for_an_answer_and_many_are_given_up_at_once() -> None:
    pool, questions, ended = Workers(2), Questions(), []
    names = [f"q{number}" for number in range(60)]

    def work(name: str) -> Callable[[Any], None]:
        def run(bridge: Any) -> None:
            try:
                bridge.ask(lambda: questions.ask(name))
            finally:
                ended.append(name)

        return run

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(pool.run, work(name))
        await questions.asked(*names)
        await parked(pool, 60)
        with anyio.move_on_after(0.01) as scope:
            await pool.idle()
        assert scope.cancelled_caught
        group.cancel_scope.cancel()
    with anyio.fail_after(5):
        await pool.idle()
    assert sorted(ended) == sorted(names)
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)


async def test_only_the_functions_own_thread_and_only_one_of_ours_gives_its_slot_back() -> None:
    seen: list[int] = []

    async def ask() -> str:
        seen.append(pool.busy)
        return "yes"

    def by_another(bridge: Any) -> None:
        thread = threading.Thread(target=lambda: bridge.ask(ask))
        thread.start()
        thread.join()

    pool = Workers(1)
    await pool.run(by_another)
    pool = Workers(1, dispatch=lambda job: threading.Thread(target=job).start())
    assert await pool.run(lambda bridge: bridge.ask(ask)) == "yes"
    assert seen == [1, 1]
    with anyio.fail_after(5):
        await pool.idle()


async def test_the_clock_stands_still_while_one_waits_to_go_on_but_not_for_threads_that_may_never_come_back() -> None:
    pool, questions, seen = Workers(1), Questions(), []

    def asks(name: str) -> Callable[[Any], None]:
        def run(bridge: Any) -> None:
            bridge.ask(
                lambda: questions.ask(name),
                pause=lambda: seen.append(f"{name} stands"),
                resume=lambda: seen.append(f"{name} runs"),
            )

        return run

    hogs = [Hog(), Hog()]
    async with anyio.create_task_group() as group:
        for name in ("at once", "in line", "stranded", "late"):
            group.start_soon(pool.run, asks(name))
            await questions.asked(name)
        await parked(pool, 4)
        questions.answer("at once")
        await parked(pool, 3)
        with anyio.fail_after(5):
            await pool.run(lambda bridge: None)
        assert seen == []
        group.start_soon(pool.run, hogs[0])
        await wait_for(hogs[0].begun)
        questions.answer("in line")
        await anyio.wait_all_tasks_blocked()
        assert seen == ["in line stands"]
        hogs[0].release.set()
        await parked(pool, 2)
        with anyio.fail_after(5):
            await pool.run(lambda bridge: None)
        assert seen == ["in line stands", "in line runs"]

        seen.clear()
        async with anyio.create_task_group() as other:
            other.start_soon(pool.run, hogs[1])
            await wait_for(hogs[1].begun)
            questions.answer("stranded")
            await anyio.wait_all_tasks_blocked()
            assert seen == ["stranded stands"]
            other.cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        questions.answer("late")
        await anyio.wait_all_tasks_blocked()
        assert seen == ["stranded stands", "stranded runs"]
        hogs[1].release.set()
    assert seen == ["stranded stands", "stranded runs"]


async def test_functions_may_be_dispatched_elsewhere() -> None:
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
    pool = Workers(1, dispatch=jobs.put)
    results: list[str] = []

    async def run() -> None:
        results.append(await pool.run(lambda bridge: threading.current_thread().name))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        (await next_of(jobs))()
    assert results == [threading.current_thread().name]

    def refuse(job: Callable[[], None]) -> None:
        raise RuntimeError("the window is closed")

    pool = Workers(1, dispatch=refuse)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="window"):
            await pool.run(lambda bridge: 1)
        assert pool.busy == 0


async def next_of(jobs: SimpleQueue[Callable[[], None]]) -> Callable[[], None]:
    return await anyio.to_thread.run_sync(lambda: jobs.get(timeout=5))


async def test_a_dispatcher_may_block_and_holds_up_neither_the_loop_nor_the_function_that_runs() -> None:
    # As `root.after` of Tk does, which waits until the thread of the window comes to it.
    free, begun = threading.Lock(), threading.Event()
    window: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def dispatch(job: Callable[[], None]) -> None:
        with free:
            window.put(job)

    def asks(bridge: Any) -> str:
        with free:
            begun.set()
            return str(bridge.call(answer))

    async def answer() -> str:
        return "answered"

    pool, results = Workers(2, dispatch=dispatch), []

    async def run(fn: Callable[[Any], str]) -> None:
        results.append(await pool.run(fn))

    async with anyio.create_task_group() as group:
        group.start_soon(run, asks)
        first = await next_of(window)
        free.acquire()
        group.start_soon(run, lambda bridge: "second")
        await anyio.wait_all_tasks_blocked()
        free.release()
        threading.Thread(target=first).start()
        await wait_for(begun)
        (await next_of(window))()
    assert sorted(results) == ["answered", "second"]


async def test_a_dispatcher_that_calls_at_once_runs_one_after_another_and_they_may_ask() -> None:
    async def answer() -> int:
        return 1

    pool, running, most, lock = Workers(5, dispatch=lambda job: job()), 0, 0, threading.Lock()

    def asks(bridge: Any) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        assert bridge.ask(answer) == 1
        with lock:
            running -= 1

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(pool.run, asks)
        await pool.idle()
    assert most == 1


async def test_what_is_given_up_before_its_dispatcher_came_to_it_holds_nothing() -> None:
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
    pool, ran = Workers(1, dispatch=jobs.put), []
    for number in range(3):
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, lambda bridge, number=number: ran.append(number))
            late = await next_of(jobs)
            group.cancel_scope.cancel()
        assert (pool.busy, pool.abandoned) == (0, 0)
        late()
        assert (ran, pool.busy) == ([], 0)
    await pool.idle()


async def test_what_is_given_up_before_it_was_dispatched_never_is() -> None:
    at, go_on, seen = threading.Event(), threading.Event(), []

    def dispatch(job: Callable[[], None]) -> None:
        seen.append(job)
        at.set()
        go_on.wait(5)
        job()

    pool = Workers(2, dispatch=dispatch)
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, lambda bridge: None)
        await wait_for(at)
        async with anyio.create_task_group() as other:
            other.start_soon(pool.run, lambda bridge: pytest.fail("it ran"))
            await anyio.wait_all_tasks_blocked()
            other.cancel_scope.cancel()
        assert pool.busy == 1
        go_on.set()
    await pool.run(lambda bridge: None)
    assert len(seen) == 2


async def test_a_dispatcher_that_fails_afterwards_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    late: list[Callable[[], None]] = []

    def fails_after_calling(job: Callable[[], None]) -> None:
        job()
        raise KeyError("afterwards")

    def fails_after_keeping(job: Callable[[], None]) -> None:
        late.append(job)
        raise KeyError("the window")

    pool = Workers(1, dispatch=fails_after_calling)
    assert [await pool.run(lambda bridge: "ran") for _ in range(2)] == ["ran", "ran"]
    pool = Workers(1, dispatch=fails_after_keeping)
    with pytest.raises(KeyError, match="the window"):
        await pool.run(lambda bridge: pytest.fail("it ran"))
    late.pop()()
    assert pool.busy == 0
    assert "failed after it had begun" in caplog.text


async def test_ctrl_c_in_a_dispatched_function_is_the_programs_and_ends_the_call_too() -> None:
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
    pool, errors = Workers(1, dispatch=jobs.put), []

    def interrupted(bridge: Any) -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        with pytest.raises(RuntimeError, match="the function ended with KeyboardInterrupt"):
            await pool.run(interrupted)
        errors.append("told")

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        job = await next_of(jobs)
        with pytest.raises(KeyboardInterrupt):
            job()
    assert (errors, pool.busy) == (["told"], 0)
    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.to_thread.run_sync(await next_of(jobs))  # nobody else's main thread
    assert errors == ["told", "told"]


async def test_a_thread_that_cannot_be_started_costs_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    start, broken = threading.Thread.start, ["tesseron-py"]

    def refuse(thread: threading.Thread) -> None:
        if broken and thread.name.startswith("tesseron-py"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    for pool in (Workers(1), Workers(1, dispatch=lambda job: job())):
        broken[:] = ["tesseron-py"]
        with pytest.raises(RuntimeError, match="can't start"):
            await pool.run(lambda bridge: 1)
        broken.clear()
        assert await pool.run(lambda bridge: 2) == 2
        with anyio.fail_after(5):
            await pool.idle()


async def test_a_lock_that_is_held_while_it_asks_stops_the_pool_no_longer_than_calls_last() -> None:
    """Each slot waits for a lock whose holder waits for a slot; given up, they all end."""
    pool, questions, lock = Workers(2), Questions(), threading.Lock()
    told: list[str] = []
    waiting = threading.Semaphore(0)

    def holds(bridge: Any) -> None:
        with lock:
            try:
                told.append(bridge.ask(lambda: questions.ask("q")))
            except ActionCancelled:
                told.append("cancelled")

    def wants(bridge: Any) -> None:
        waiting.release()
        with lock:
            told.append("had the lock")

    async with anyio.create_task_group() as holder:
        holder.start_soon(pool.run, holds)
        await questions.asked("q")
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(pool.run, wants)
                assert await anyio.to_thread.run_sync(lambda: waiting.acquire(timeout=5))
            questions.answer("q")
            await anyio.wait_all_tasks_blocked()
            assert (pool.busy, pool.parked, told) == (2, 1, [])
            group.cancel_scope.cancel()
        holder.cancel_scope.cancel()
    with anyio.fail_after(5):
        await pool.idle()
    assert told == ["cancelled", "had the lock", "had the lock"]
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)
    assert await pool.run(lambda bridge: "free again") == "free again"


@pytest.mark.parametrize("first", ["the one that asks", "those that have the slots"])
async def test_one_that_asks_is_let_go_when_all_slots_are_lost_whoever_is_given_up_first(first: str) -> None:
    pool, questions, lock = Workers(1), Questions(), threading.Lock()
    told, waiting = [], threading.Event()

    def holds(bridge: Any) -> None:
        with lock:
            try:
                bridge.ask(lambda: questions.ask("q"))
            except ActionCancelled:
                told.append("cancelled")

    def wants(bridge: Any) -> None:
        waiting.set()
        with lock:
            pass

    async with anyio.create_task_group() as outer:
        inner = anyio.CancelScope()

        async def with_scope() -> None:
            with inner:
                await pool.run(holds)

        outer.start_soon(with_scope)
        await questions.asked("q")
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, wants)
            await wait_for(waiting)
            if first == "the one that asks":
                inner.cancel()  # not answered: it is told while it waits for its answer, and gets in line
                await anyio.wait_all_tasks_blocked()
                assert (pool.busy, pool.parked, told) == (1, 1, [])
            group.cancel_scope.cancel()
        inner.cancel()
    with anyio.fail_after(5):
        await pool.idle()
    assert told == ["cancelled"]
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)


async def test_one_given_up_just_as_it_asks_is_let_go_when_all_slots_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, hog, ended = Workers(1), Hog(), threading.Event()
    park, about, call = pool.park, anyio.Event(), loop_caller()
    gone, parked_now, lost = threading.Event(), threading.Event(), threading.Event()

    def late(job: Any) -> None:
        call(about.set)
        assert gone.wait(5)
        park(job)
        parked_now.set()
        assert lost.wait(5)

    async def never() -> None:
        raise AssertionError("nobody may ask any more")

    def asks(bridge: Any) -> None:
        with pytest.raises(ActionCancelled):
            bridge.ask(never)
        ended.set()

    monkeypatch.setattr(pool, "park", late)
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, asks)
        await about.wait()
        group.cancel_scope.cancel()
    gone.set()
    await wait_for(parked_now)
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, hog)
        await wait_for(hog.begun)
        group.cancel_scope.cancel()
    lost.set()
    await wait_for(ended)
    hog.release.set()
    with anyio.fail_after(5):
        await pool.idle()
    assert (pool.busy, pool.parked, pool.abandoned) == (0, 0, 0)


async def test_those_that_are_let_go_give_no_slot_away_that_they_have_not() -> None:
    pool, questions, lock, hold = Workers(1), Questions(), threading.Lock(), threading.Event()
    waiting, ran = threading.Event(), []

    def holds(bridge: Any) -> None:
        with lock:
            try:
                bridge.ask(lambda: questions.ask("q"))
            except ActionCancelled:
                pass

    def wants(bridge: Any) -> None:
        waiting.set()
        with lock:
            pass
        hold.wait(5)

    async with anyio.create_task_group() as outer:
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, holds)
            await questions.asked("q")
            group.start_soon(pool.run, wants)
            await wait_for(waiting)
            outer.start_soon(pool.run, lambda bridge: ran.append(pool.busy))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            while pool.busy + pool.parked > 1:
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert ran == []  # the one slot is held still
        hold.set()
    assert ran == [1]


async def test_a_dispatcher_that_calls_twice_runs_the_function_once() -> None:
    ran: list[int] = []

    def twice(job: Callable[[], None]) -> None:
        def run() -> None:
            job()
            job()

        threading.Thread(target=run).start()

    pool = Workers(1, dispatch=twice)
    await pool.run(lambda bridge: ran.append(1))
    with anyio.fail_after(5):
        await pool.idle()
    assert (ran, pool.busy) == ([1], 0)
    await pool.run(lambda bridge: ran.append(2))
    assert ran == [1, 2]


async def test_a_function_dispatched_into_the_event_loops_own_thread_cannot_wait_for_it() -> None:
    async def ask() -> int:
        return 1

    pool = Workers(1, dispatch=loop_caller())
    assert await pool.run(lambda bridge: 2) == 2
    with pytest.raises(RuntimeError, match="have dispatch call what it is given in another thread"):
        await pool.run(lambda bridge: bridge.call(ask))
    assert pool.busy == 0


async def test_a_slot_given_to_one_that_was_cancelled_meanwhile_is_not_lost() -> None:
    pool, release = Workers(1), threading.Event()
    popped, told = threading.Event(), threading.Event()

    class Slow(deque[Callable[[], None]]):
        def popleft(self) -> Callable[[], None]:
            grant = super().popleft()

            def later() -> None:
                popped.set()
                told.wait(5)
                grant()

            return later

    pool._queue = Slow()
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, lambda bridge: release.wait(5))
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as inner:
                inner.start_soon(pool.run, lambda bridge: pytest.fail("it ran"))
                await anyio.wait_all_tasks_blocked()
                release.set()
                await wait_for(popped)  # the slot is on its way to it
                scope.cancel()
        told.set()
    with anyio.fail_after(5):
        assert await pool.run(lambda bridge: "free again") == "free again"


async def test_threads_without_work_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    pool = Workers(1)
    thread = await pool.run(lambda bridge: threading.current_thread())
    await anyio.to_thread.run_sync(lambda: thread.join(5))
    assert not thread.is_alive()
    assert await pool.run(lambda bridge: threading.current_thread()) is not thread


def test_a_pool_has_a_thread_at_least() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Workers(0)


def test_a_loop_that_is_gone_takes_nothing(anyio_backend: str) -> None:
    async def main() -> Callable[[Callable[[], None]], None]:
        return loop_caller()

    call = anyio.run(main, backend=anyio_backend)
    call(lambda: pytest.fail("called"))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_stuck_handler_does_not_keep_the_process_alive(backend: str) -> None:
    program = f"""
import threading, anyio
from tesseron_py.workers import Workers
async def main():
    async with anyio.create_task_group() as group:
        started = threading.Event()
        def stuck(bridge):
            started.set()
            threading.Event().wait()
        group.start_soon(Workers(1).run, stuck)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    print("left")
anyio.run(main, backend={backend!r})
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False)
    assert result.stdout == "left\n"
    assert result.returncode == 0
