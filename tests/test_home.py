"""`Home`: whoever opens, uses and closes it, from whatever task, on both event loops."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref

import anyio
import pytest

from tesseron_py.home import Home


async def test_tasks_run_until_the_home_is_closed() -> None:
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(name)

    async with Home() as home:
        home.start(wait, "a")
        home.start(wait, "b", name="the second")
        await anyio.wait_all_tasks_blocked()
        assert home.is_open
        assert home.running == 2
    assert sorted(ended) == ["a", "b"]
    assert not home.is_open
    assert home.running == 0


async def test_whatever_a_task_raises_ends_that_task_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def leave(error: BaseException) -> None:
        raise error

    errors = [ValueError(), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
    errors.append(BaseExceptionGroup("several", [KeyboardInterrupt()]))
    async with Home() as home:
        for error in errors:
            home.start(leave, error, name=f"raises {error!r}")
        other = home.start(anyio.sleep_forever)
        await anyio.wait_all_tasks_blocked()
        assert home.running == 1
        other.cancel()
    for name in ("ValueError()", "SystemExit(1)", "KeyboardInterrupt()", "ExceptionGroup('several', [KeyboardInt"):
        assert name in caplog.text


async def test_field_88_it_is_opened_used_and_closed_from_different_tasks() -> None:
    home = Home()
    done = anyio.Event()

    async def use() -> None:
        home.start(finish)

    async def finish() -> None:
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(home.open)
    async with anyio.create_task_group() as group:
        group.start_soon(use)
    with anyio.fail_after(5):
        await done.wait()
    async with anyio.create_task_group() as group:
        group.start_soon(home.aclose)
    assert not home.is_open


async def test_two_openings_at_once_are_one() -> None:
    home = Home()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(home.open)
    assert home.is_open
    await home.aclose()
    with pytest.raises(RuntimeError, match="is closed"):
        await home.open()


async def test_an_exception_of_the_body_leaves_unchanged() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Home() as home:
            home.start(anyio.sleep_forever)
            raise KeyError("mine")


async def test_a_task_that_fails_is_logged_and_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("broken")

    async def leave() -> None:
        raise SystemExit(3)

    async def cancel_itself() -> None:
        scope = anyio.CancelScope()
        scope.cancel()
        try:
            with scope:
                await anyio.sleep_forever()
        except BaseException:  # pragma: no cover
            raise AssertionError from None
        raise _self_made_cancellation()

    finished = anyio.Event()

    async def go_on() -> None:
        await anyio.wait_all_tasks_blocked()
        finished.set()

    async with Home() as home:
        home.start(go_on)
        home.start(fail, name="the broken one")
        home.start(leave)
        home.start(cancel_itself)
        with anyio.fail_after(5):
            await finished.wait()
        assert home.is_open
    assert "the broken one" in caplog.text
    assert "RuntimeError: broken" in caplog.text
    assert "SystemExit: 3" in caplog.text


def _self_made_cancellation() -> BaseException:
    cls = anyio.get_cancelled_exc_class()
    try:
        return cls()
    except TypeError:  # trio's cannot be made by hand
        return RuntimeError("no cancellation by hand")


def test_a_task_and_a_timer_start_from_a_callback_of_a_loop_that_anyio_did_not_start() -> None:
    async def main() -> list[str]:
        ran: list[str] = []
        done = asyncio.Event()

        async def run() -> None:
            await anyio.lowlevel.checkpoint()
            ran.append("task")

        def begin() -> None:
            home.start(run)
            home.call_at(home.time() + 0.01, lambda: (ran.append("timer"), done.set()))  # type: ignore[arg-type, return-value]

        async with Home() as home:
            asyncio.get_running_loop().call_soon(begin)
            await asyncio.wait_for(done.wait(), 5)
        return ran

    assert asyncio.run(main()) == ["task", "timer"]


async def test_a_task_can_be_cancelled_before_and_after_its_first_step() -> None:
    ended: list[str] = []
    began = anyio.Event()

    async def wait(name: str) -> None:
        try:
            ended.append(f"{name} begins")
            began.set()
            await anyio.sleep_forever()
        finally:
            ended.append(f"{name} ends")

    async with Home() as home:
        home.start(wait, "early").cancel()
        with anyio.fail_after(5):
            await began.wait()
            await anyio.wait_all_tasks_blocked()
        assert ended == ["early begins", "early ends"]
        late = home.start(wait, "late")
        await anyio.wait_all_tasks_blocked()
        late.cancel()
        await anyio.wait_all_tasks_blocked()
        assert ended[2:] == ["late begins", "late ends"]
        assert home.running == 0
        assert home.is_open


async def test_nothing_starts_in_a_home_that_is_not_open() -> None:
    home = Home("the shop")
    with pytest.raises(RuntimeError, match="the shop is not open"):
        home.start(anyio.sleep_forever)
    with pytest.raises(RuntimeError, match="keeps no time"):
        home.call_at(0, lambda: None)
    await home.aclose()
    with pytest.raises(RuntimeError, match="is closed"):
        await home.open()


async def test_closing_from_within_does_not_wait_for_itself() -> None:
    home = await Home().open()
    closed = anyio.Event()

    async def close() -> None:
        await home.aclose(grace=60)
        closed.set()

    home.start(close)
    with anyio.fail_after(5):
        await closed.wait()
        await home.aclose()


async def test_closing_goes_on_without_the_stubborn_and_says_where_they_are(caplog: pytest.LogCaptureFixture) -> None:
    home = await Home().open()
    release, held = anyio.Event(), anyio.Event()

    async def hold_on() -> None:
        with anyio.CancelScope(shield=True):
            held.set()
            await release.wait()

    async def stubborn() -> None:
        await hold_on()

    home.start(stubborn, name="a stubborn handler")
    await held.wait()
    await home.aclose(grace=0.05)
    assert "a stubborn handler does not heed its cancellation" in caplog.text
    assert "in stubborn" in caplog.text
    assert "in hold_on" in caplog.text
    release.set()
    with anyio.fail_after(5):
        await home.aclose()


async def test_closing_is_not_cut_short_by_a_cancelled_closer() -> None:
    home = await Home().open()
    cleaned = False

    async def clean_up_slowly() -> None:
        nonlocal cleaned
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
            cleaned = True

    home.start(clean_up_slowly)
    await anyio.wait_all_tasks_blocked()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await home.aclose()
    assert cleaned


async def test_timers_run_in_their_order_and_can_be_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[str] = []
    done = anyio.Event()

    def fail() -> None:
        ran.append("failing")
        raise RuntimeError("timer broke")

    async with Home() as home:
        now = anyio.current_time()
        home.call_at(now + 0.03, lambda: (ran.append("third"), done.set()))  # type: ignore[arg-type, return-value]
        await anyio.wait_all_tasks_blocked()
        home.call_at(now + 0.01, fail)
        home.call_at(now + 0.02, lambda: ran.append("second"))
        timer = home.call_at(now + 0.015, lambda: ran.append("cancelled"))
        timer.cancel()
        timer.cancel()
        with anyio.fail_after(5):
            await done.wait()
    assert ran == ["failing", "second", "third"]
    assert "timer broke" in caplog.text


async def test_cancelled_timers_do_not_pile_up() -> None:
    async with Home() as home:
        for _ in range(1000):
            home.call_at(anyio.current_time() + 3600, lambda: None).cancel()
        assert len(home._timers) < 200


async def test_an_earlier_timer_is_not_kept_waiting_by_a_later_one_that_was_dropped_or_goes_on() -> None:
    ran: list[str] = []
    done = anyio.Event()
    async with Home() as home:
        now = home.time()
        first = home.call_at(now + 0.01, lambda: ran.append("dropped"))
        home.call_at(now + 3600, lambda: ran.append("much later"))
        first.cancel()
        home.call_at(now + 0.03, done.set)
        home.call_at(now + 0.02, lambda: ran.append("earlier"))
        with anyio.fail_after(5):
            await done.wait()
    assert ran == ["earlier"]


def test_the_end_of_the_loop_is_the_end_of_the_home(anyio_backend: str, caplog: pytest.LogCaptureFixture) -> None:
    ended: list[bool] = []

    async def main() -> Home:
        home = await Home().open()

        async def wait() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(True)

        home.start(wait)
        await anyio.wait_all_tasks_blocked()
        return home

    home = anyio.run(main, backend=anyio_backend)
    assert ended == [True]
    assert not home.is_open
    assert caplog.text == ""

    async def reopen() -> None:
        await home.open()

    with pytest.raises(RuntimeError, match="closed"):
        anyio.run(reopen, backend=anyio_backend)


def test_a_loop_that_ends_before_a_task_has_begun(caplog: pytest.LogCaptureFixture) -> None:
    homes: list[Home] = []

    async def main() -> None:
        homes.append(await Home().open())
        # It is started in the very round of the loop that is the last, so asyncio cancels it before its first step.
        asyncio.get_running_loop().call_soon(homes[0].start, anyio.sleep_forever)

    asyncio.run(main())
    assert not homes[0].is_open
    assert homes[0].running == 0
    assert caplog.text == ""


async def test_tasks_start_from_the_context_the_home_was_opened_with() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    async def look(done: anyio.Event) -> None:
        seen.append(who.get())
        done.set()

    async def start(home: Home) -> None:
        who.set("a request")
        done = anyio.Event()
        home.start(look, done)
        with anyio.fail_after(5):
            await done.wait()

    who.set("the opener")
    for context in (None, contextvars.Context()):
        home = await Home().open(context=context)
        await start(home)
        who.set("the opener")
        await home.aclose()
    assert seen == ["the opener", "nobody"]


def test_a_home_stays_with_its_loop(anyio_backend: str) -> None:
    async def open_it(home: Home) -> None:
        await home.open()

    home = Home()

    async def elsewhere() -> None:
        await home.open()
        problems: list[BaseException] = []

        def run() -> None:
            try:
                anyio.run(open_it, home, backend="asyncio")
            except BaseException as problem:
                problems.append(problem)

        await anyio.to_thread.run_sync(run)
        assert len(problems) == 1
        assert "another event loop" in str(problems[0])
        await home.aclose()

    anyio.run(elsewhere, backend=anyio_backend)


async def test_field_87_a_task_that_nobody_else_knows_is_not_collected() -> None:
    events: list[weakref.ref[anyio.Event]] = []
    ended: list[str] = []

    async def wait() -> None:
        event = anyio.Event()  # known to this task alone, as the task is to whoever waits for nothing of it
        events.append(weakref.ref(event))
        await event.wait()
        ended.append("answered")

    async with Home() as home:
        for _ in range(3):
            home.start(wait)
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        for event in events:
            waited_for = event()
            assert waited_for is not None
            waited_for.set()
            del waited_for
        await anyio.wait_all_tasks_blocked()
        assert ended == ["answered"] * 3
