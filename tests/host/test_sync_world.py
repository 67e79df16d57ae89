"""`def` handlers as people write them: what they may do in their threads, and what they cannot do to anyone else."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

import tesseron_py
from tesseron_py import ActionCancelled, RegistrationError, SyncContext, SyncHost, Tesseron, sync
from tesseron_py.bindings.channel import Closed

from .fake_gateway import FakeGateway, serving
from .test_host import gateway_at

who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def hear(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 5)


async def output(gateway: FakeGateway, action: str, **arguments: Any) -> Any:
    answer = await gateway.call(action, arguments)
    assert "error" not in answer, answer
    return answer["result"]["output"]


async def failure(gateway: FakeGateway, action: str) -> tuple[int, str]:
    error = (await gateway.call(action))["error"]
    return error["code"], error["message"]


async def asked(gateway: FakeGateway, action: str) -> Any:
    """Call an action that asks one thing, say yes, and return its output."""
    await gateway.invoke(action)
    question = await gateway.recv()
    assert question["method"] == "elicitation/request", question
    await gateway.send(id=question["id"], result={"action": "accept"})
    answer = await gateway.recv()
    assert "error" not in answer, answer
    return answer["result"]["output"]


# Context variables and what belongs to a thread


async def test_field_85_what_a_handler_sets_is_its_own() -> None:
    app = Tesseron("shop", threads=1)
    mark = who.set("the program")

    @app.action
    def become(name: str) -> list[str]:
        before = who.get()
        who.set(name)
        return [before, who.get()]

    async with serving(app) as gateway:
        assert await output(gateway, "become", name="the first") == ["the program", "the first"]
        assert await output(gateway, "become", name="the second") == ["the program", "the second"]
    assert who.get() == "the program"
    who.reset(mark)


async def test_what_a_thread_keeps_is_there_for_the_next_call_in_that_thread() -> None:
    app, local = Tesseron("shop", threads=1), threading.local()

    @app.action
    def count() -> int:
        local.calls = getattr(local, "calls", 0) + 1
        return int(local.calls)

    async with serving(app) as gateway:
        assert [await output(gateway, "count") for _ in range(3)] == [1, 2, 3]


# The pool


async def test_a_thousand_calls_wait_in_line_and_no_more_run_than_there_are_threads() -> None:
    app, lock, release = Tesseron("shop", threads=3), threading.Lock(), threading.Event()
    running, most, begun = 0, 0, list[int]()

    @app.action
    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            begun.append(number)
            running += 1
            most = max(most, running)
        release.wait(5)
        with lock:
            running -= 1
        return number

    async with serving(app) as gateway:
        for number in range(1000):
            await gateway.invoke("work", {"number": number}, id=number, invocation=f"i-{number}")
        await anyio.wait_all_tasks_blocked()
        assert app.workers.busy == 3
        release.set()
        answers = [await gateway.recv() for _ in range(1000)]
    assert sorted(answer["result"]["output"] for answer in answers) == [*range(1000)]
    assert most <= 3
    assert sorted(begun) == [*range(1000)]


async def test_a_handler_that_never_returns_costs_its_call_and_its_thread_and_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app, forever, ended = Tesseron("shop", threads=2), threading.Event(), threading.Event()

    @app.action("stuck").timeout(0.5).handler
    def stuck(ctx: SyncContext) -> None:
        forever.wait(10)
        if ctx.cancelled:
            ended.set()

    app.action("quick").handler(lambda: "quick")
    async with serving(app) as gateway:
        assert (await failure(gateway, "stuck"))[0] == -32002
        with anyio.fail_after(5):
            while not app.workers.abandoned:
                await anyio.lowlevel.checkpoint()
        assert (app.workers.busy, app.workers.abandoned) == (1, 1)
        assert "The action 'stuck' goes on in its thread" in caplog.text
        assert "1 of 2 threads" in caplog.text
        assert await output(gateway, "quick") == "quick"
        forever.set()
        await hear(ended)
        with anyio.fail_after(5):
            await app.workers.idle()
        assert (app.workers.busy, app.workers.abandoned) == (0, 0)


async def test_a_lock_that_is_held_over_a_question_stops_others_no_longer_than_their_time() -> None:
    app, lock, waits = Tesseron("shop", threads=1), threading.Lock(), threading.Event()

    @app.action("change").timeout(0.5).handler
    def change(ctx: SyncContext) -> bool:
        with lock:
            return ctx.confirm("Change it?")

    @app.action("look").timeout(0.5).handler
    def look() -> str:
        waits.set()
        with lock:
            return "seen"

    async with serving(app) as gateway:
        await gateway.invoke("change", id="change", invocation="change")
        question = await gateway.recv()
        await gateway.invoke("look", id="look", invocation="look")
        await hear(waits)
        await gateway.send(id=question["id"], result={"action": "accept"})
        errors = {answer["id"]: answer["error"]["code"] for answer in [await gateway.recv(), await gateway.recv()]}
        assert errors == {"look": -32002, "change": -32002}
        with anyio.fail_after(5):
            await app.workers.idle()
        assert await output(gateway, "look") == "seen"


# What a handler may do in its thread


async def test_sync_reaches_the_action_from_below_and_through_another_action() -> None:
    app = Tesseron("shop")

    def sure() -> bool:
        return sync.confirm("Sure?")

    @app.action
    def inner() -> list[Any]:
        return [sure(), sync.current_context().action]

    @app.action
    def outer() -> list[Any]:
        return inner()

    async with serving(app) as gateway:
        assert await asked(gateway, "outer") == [True, "outer"]
        assert await asked(gateway, "inner") == [True, "inner"]


async def test_a_thread_that_a_handler_starts_needs_to_be_told_of_the_action() -> None:
    app = Tesseron("shop")

    def in_a_thread(fn: Callable[[], Any]) -> Any:
        found: list[Any] = []

        def run() -> None:
            try:
                found.append(fn())
            except LookupError as error:
                found.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(5)
        return found[0]

    @app.action
    def untold() -> str:
        return str(in_a_thread(lambda: sync.confirm("Sure?")))

    @app.action
    def given(ctx: SyncContext) -> bool:
        return bool(in_a_thread(lambda: ctx.confirm("Sure?")))

    @app.action
    def copied() -> bool:
        context = contextvars.copy_context()
        return bool(in_a_thread(lambda: context.run(sync.confirm, "Sure?")))

    async with serving(app) as gateway:
        assert "none runs here (a thread that an action starts uses the ctx" in await output(gateway, "untold")
        assert await asked(gateway, "given") is True
        assert await asked(gateway, "copied") is True


async def test_a_context_that_outlives_its_call_asks_nothing_any_more() -> None:
    app, kept = Tesseron("shop"), list[SyncContext]()

    @app.action
    def keep(ctx: SyncContext) -> None:
        kept.append(ctx)

    def ask(ctx: SyncContext) -> list[str]:
        said: list[str] = []
        for use in (ctx.confirm, ctx.elicit, ctx.ask, ctx.sample, lambda text: ctx.progress(1, text), ctx.log):
            with pytest.raises(ActionCancelled) as refused:
                use("still there?")
            said.append(refused.value.message)
        return said

    async with serving(app) as gateway:
        await output(gateway, "keep")
        said = await anyio.to_thread.run_sync(ask, kept[0])
        assert all("over: " in message and "its handler has returned" in message for message in said), said
        assert kept[0].cancelled
        await gateway.nothing_comes()


async def test_a_context_cannot_be_used_in_the_event_loops_own_thread() -> None:
    app = Tesseron("shop")

    @app.action
    def later(ctx: SyncContext, how: str) -> Any:
        async def use() -> Any:
            return ctx.elicit("Which?") if how == "elicit" else ctx.progress(10)

        return use()

    async with serving(app) as gateway:
        for how in ("elicit", "progress"):
            error = (await gateway.call("later", {"how": how}))["error"]
            assert (error["code"], "make the handler an `async def`" in error["message"]) == (-32005, True)


async def test_a_def_may_run_an_event_loop_of_its_own_and_ask_from_it() -> None:
    app = Tesseron("shop")

    async def fetch() -> list[Any]:
        await anyio.lowlevel.checkpoint()
        try:
            await tesseron_py.confirm("Sure?")
        except RuntimeError as error:
            told = str(error)
        return [sync.confirm("Sure?"), told]

    app.action("by_asyncio").handler(lambda: asyncio.run(fetch()))
    app.action("by_anyio").handler(lambda: anyio.run(fetch))
    app.action("by_trio").handler(lambda: anyio.run(fetch, backend="trio"))

    async with serving(app) as gateway:
        for action in ("by_asyncio", "by_anyio", "by_trio"):
            yes, told = await asked(gateway, action)
            assert yes is True
            assert "tesseron_py.sync.confirm()" in told


async def test_a_def_reaches_the_programs_event_loop_with_its_token() -> None:
    app = Tesseron("shop")

    async def double(number: int) -> int:
        await anyio.lowlevel.checkpoint()
        return 2 * number

    @app.action
    def with_token(ctx: SyncContext) -> int:
        return anyio.from_thread.run(double, 21, token=ctx.state)

    @app.action
    def without() -> int:
        return anyio.from_thread.run(double, 21)

    async with serving(app, state=anyio.lowlevel.current_token()) as gateway:
        assert await output(gateway, "with_token") == 42
        code, message = await failure(gateway, "without")
        assert code == -32005
        assert "worker thread" in message


# What a handler cannot do to anyone else


class Odd(BaseException):
    """An exception that is none."""


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt, SystemExit(3), GeneratorExit, asyncio.CancelledError, Odd("mine")],
    ids=repr,
)
async def test_whatever_a_def_raises_is_the_error_of_its_call_alone(error: Any) -> None:
    app = Tesseron("shop", threads=1)

    @app.action
    def leave() -> None:
        raise error

    app.action("quick").handler(lambda: "quick")
    async with serving(app) as gateway:
        code, message = await failure(gateway, "leave")
        kind = error if isinstance(error, type) else type(error)
        assert (code, kind.__name__ in message) == (-32005, True)
        assert await output(gateway, "quick") == "quick"
        with anyio.fail_after(5):
            await app.workers.idle()


async def test_a_recursion_without_end_is_an_error_of_its_call() -> None:
    app = Tesseron("shop", threads=1)

    @app.action
    def deeper() -> int:
        return 1 + deeper()

    app.action("quick").handler(lambda: "quick")
    async with serving(app) as gateway:
        code, message = await failure(gateway, "deeper")
        assert (code, message.startswith("maximum recursion depth exceeded")) == (-32005, True)
        assert await output(gateway, "quick") == "quick"


async def test_signals_are_the_main_threads() -> None:
    app = Tesseron("shop")

    @app.action
    def heed() -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    async with serving(app) as gateway:
        code, message = await failure(gateway, "heed")
        assert (code, "main thread" in message) == (-32005, True)


def test_a_generator_is_no_handler() -> None:
    app = Tesseron("shop")

    def numbers() -> Any:
        yield 1

    async def later() -> Any:
        yield 1

    for fn in (numbers, later):
        with pytest.raises(RegistrationError, match="generator"):
            app.action(fn)


# In a thread of the program's own


class Window:
    """A loop as GUIs have one; it runs in the thread that calls `run`."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def after(self, delay: int, fn: Callable[[], None]) -> None:
        self._jobs.put(fn)

    def mainloop(self) -> None:
        while (job := self._jobs.get(timeout=5)) is not None:
            job()

    def quit(self) -> None:
        self._jobs.put(None)


@functools.cache
def interpreter() -> Any:
    """Tcl, kept as long as the process lives: it aborts when another thread collects it."""
    return pytest.importorskip("tkinter").Tcl()


class TclWindow:
    """Tk's own loop, which needs no display without its windows."""

    def __init__(self) -> None:
        self._tcl = interpreter()

    def after(self, delay: int, fn: Callable[[], None]) -> None:
        self._tcl.after(delay, fn)  # from another thread it waits until the loop comes to it

    def mainloop(self) -> None:
        guard = self._tcl.after(10_000, self._tcl.quit)
        self._tcl.mainloop(-1)
        self._tcl.after_cancel(guard)

    def quit(self) -> None:
        self._tcl.after(0, self._tcl.quit)


def talk(host: SyncHost, window: Any, talking: Callable[[FakeGateway], Any]) -> None:
    """Run the window in this thread while a gateway talks to the host in another."""
    problems: list[BaseException] = []

    async def connect() -> None:
        async with gateway_at(host.url) as gateway:
            await gateway.welcome()
            await talking(gateway)

    def run() -> None:
        try:
            anyio.run(connect)
        except BaseException as problem:
            problems.append(problem)
        finally:
            window.quit()

    gateway = threading.Thread(target=run)
    gateway.start()
    window.mainloop()
    gateway.join(5)
    assert problems == []


@pytest.mark.parametrize("kind", [Window, TclWindow])
def test_handlers_run_in_the_thread_of_a_window_and_ask_from_there(kind: type[Any]) -> None:
    app, window, ran = Tesseron("shop"), kind(), []

    @app.action
    def show(number: int) -> str:
        ran.append((number, who.get()))
        who.set("the handler")
        return threading.current_thread().name

    @app.action
    def ask(ctx: SyncContext) -> bool:
        ctx.progress(50)
        return ctx.confirm("Sure?")

    @app.action
    def broken() -> None:
        raise ValueError("mine")

    async def talking(gateway: FakeGateway) -> None:
        assert await output(gateway, "show", number=1) == "MainThread"
        await gateway.invoke("ask", id="ask", invocation="ask")
        assert (await gateway.recv())["method"] == "actions/progress"
        question = await gateway.recv()
        # The window is taken until the answer comes; whatever else is for it waits, and nobody else does.
        await gateway.invoke("show", {"number": 2}, id="show", invocation="show")
        await gateway.invoke("nothing", id="nothing", invocation="nothing")
        assert (await gateway.recv())["error"]["code"] == -32003
        await gateway.send(id=question["id"], result={"action": "accept"})
        answers = {answer["id"]: answer["result"]["output"] for answer in [await gateway.recv(), await gateway.recv()]}
        assert answers == {"ask": True, "show": "MainThread"}
        assert (await gateway.call("broken"))["error"]["message"] == "mine"

    with app.start(dispatch=lambda fn: window.after(0, fn), claims="gateway") as host:
        talk(host, window, talking)
    assert ran == [(1, "nobody"), (2, "nobody")]
    assert who.get() == "nobody"


def test_a_window_that_never_comes_to_it_costs_each_call_its_time_and_no_place() -> None:
    app, window, closed = Tesseron("shop", threads=1), Window(), list[Callable[[], None]]()
    app.action("show").timeout(0.05).handler(lambda: pytest.fail("it ran"))

    async def talking(gateway: FakeGateway) -> None:
        for _ in range(3):
            assert (await failure(gateway, "show"))[0] == -32002

    with app.start(dispatch=closed.append, claims="gateway") as host:
        talk(host, window, talking)
    assert (host.workers.busy, host.workers.abandoned) == (0, 0)
    for job in closed:
        job()


def test_a_window_that_is_gone_is_an_error_of_the_call() -> None:
    app, window = Tesseron("shop", threads=1), Window()
    app.action("show").handler(lambda: pytest.fail("it ran"))

    def gone(fn: Callable[[], None]) -> None:
        raise RuntimeError("the window is closed")

    async def talking(gateway: FakeGateway) -> None:
        for _ in range(3):
            assert await failure(gateway, "show") == (-32005, "the window is closed")

    with app.start(dispatch=gone, claims="gateway") as host:
        talk(host, window, talking)


def test_without_dispatch_a_background_host_shares_the_threads_of_its_app() -> None:
    app = Tesseron("shop", threads=3)
    with app.start(claims="gateway") as host:
        assert host.workers is app.workers
        assert (host.workers.size, host.workers.busy, host.workers.parked, host.workers.abandoned) == (3, 0, 0, 0)


# The end of the process

STUCK = """
import sys, threading
from tesseron_py import Tesseron

app = Tesseron("shop")

@app.action("stuck").timeout({timeout}).handler
def stuck() -> None:
    print("begun", file=sys.stderr, flush=True)
    threading.Event().wait()

{main}
"""
RUN = "app.run(claims='gateway')"
START = """
with app.start(claims='gateway') as host:
    print('listens on', host.url, file=sys.stderr, flush=True)
    host.wait_claimed()
"""


@pytest.mark.parametrize("when", ["while its call waits", "after its call has ended"])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("main", [RUN, START], ids=["run", "start"])
def test_a_process_ends_although_a_handler_never_returns(main: str, sign: signal.Signals, when: str) -> None:
    timeout = 0.5 if when == "after its call has ended" else None
    program = STUCK.format(timeout=timeout, main=main)
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]

        async def call() -> None:
            async with gateway_at(url) as gateway:
                await gateway.welcome()
                await gateway.invoke("stuck")
                if timeout is not None:
                    assert (await gateway.recv())["error"]["code"] == -32002
                else:
                    await anyio.to_thread.run_sync(heard_begun)
                process.send_signal(sign)
                with anyio.fail_after(10), pytest.raises(Closed):
                    while True:
                        await gateway.channel.receive()

        def heard_begun() -> None:
            assert process.stderr is not None
            while "begun" not in process.stderr.readline():
                pass

        try:
            anyio.run(call)
            # Half of `Limits.closing` is for handlers that may still need what the lifespan holds.
            assert process.wait(5) == (0 if main == RUN else -sign)
        finally:
            process.kill()
        if main == RUN:
            assert "Traceback" not in process.stderr.read()
