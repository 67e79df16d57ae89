"""`Home` owns background tasks and timers: whatever runs behind an author's back has one, and ends with it.

A task group belongs to the task that entered it, so one opened in a fixture, a mounted application or a first request
breaks when another task closes it. A home is opened, used and closed from any task: its owner is the event loop (a
plain task on asyncio, a system task on trio), its end is `aclose()` or the loop's own.
"""

from __future__ import annotations

import contextvars
import heapq
import itertools
import logging
import math
import traceback
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeAlias

import anyio
from anyio.lowlevel import current_token

logger = logging.getLogger("tesseron_py.home")

GRACE = 5.0
"""Seconds that closing waits for tasks that do not heed their cancellation."""

_inside: contextvars.ContextVar[Home | None] = contextvars.ContextVar("tesseron_py_home", default=None)


class Timer:
    """A function that is to run at a time; `cancel()` is cheap and may come too late."""

    __slots__ = ("_fn", "_home", "when")

    def __init__(self, home: Home, when: float, fn: Callable[[], None]) -> None:
        self.when: float = when
        self._home = home
        self._fn: Callable[[], None] | None = fn

    def cancel(self) -> None:
        if self._fn is not None:
            self._fn = None
            self._home._dropped_timer()

    def _run(self) -> None:
        fn, self._fn = self._fn, None
        if fn is None:
            return
        try:
            fn()
        except Exception:
            logger.exception("A timer of tesseron-py failed")


class Task:
    """A coroutine that runs in a home."""

    __slots__ = ("_cancelled", "_home", "_native", "_scope", "coroutine", "name")

    def __init__(self, home: Home, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._home = home
        self.name: str = name
        self.coroutine: Coroutine[Any, Any, Any] = coroutine
        self._native: Any = None
        self._scope: anyio.CancelScope | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """End it, as a cancelled scope of anyio ends what runs in it."""
        self._cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    @property
    def was_dropped(self) -> bool:
        """Whether its event loop has ended it before its first step, which only asyncio does."""
        return hasattr(self._native, "done") and bool(self._native.done())

    async def _run(self) -> None:
        try:
            # A task may be started from a callback of the loop, and there anyio could not make the scope.
            with anyio.CancelScope() as self._scope:
                if self._cancelled:
                    self._scope.cancel()
                await self.coroutine
        except (anyio.get_cancelled_exc_class(), GeneratorExit):
            pass  # the loop has ended, or the coroutine raised it by itself
        except BaseException as error:  # an exit or another library's cancellation is no reason to end the event loop
            if not isinstance(error, BaseExceptionGroup) or error.split(anyio.get_cancelled_exc_class())[1] is not None:
                logger.exception("A background task of tesseron-py failed: %s", self.name)
        finally:
            # Its context may hold what holds this, and would then be left to the garbage collector.
            self._native = None
            self._home._task_ended(self)


class Home:
    """Owns background tasks. Open it, start tasks in it, close it; each from any task of one event loop.

    An exception that leaves a task is logged and ends that task alone. Its tasks are the event loop's own and not of a
    group of anyio's, in which starting one costs four times as much: every call of an action is one.

    Example:
        ```python
        async with Home() as home:
            home.start(listen_for_changes)
            home.call_at(home.time() + 30, give_up)
        ```
    """

    def __init__(self, name: str = "tesseron-py") -> None:
        self.name = name
        self.time: Callable[[], float] = anyio.current_time
        """The clock of its event loop, that of `anyio.current_time()`; cheaper, and also in callbacks."""
        self._loop: Any = None
        self._spawn: _Spawn | None = None
        self._context = contextvars.Context()
        self._opened: anyio.Event | None = None
        self._close: anyio.Event | None = None
        self._ended: anyio.Event | None = None
        self._emptied: anyio.Event | None = None
        self._keeper: object = None
        self._closing = False
        self._running: dict[Task, None] = {}
        self._numbers = itertools.count()
        self._call_at: Callable[..., Any] | None = None
        self._timers: list[tuple[float, int, Timer]] = []
        self._dropped = 0
        self._alarm: Any = None
        self._alarm_at = math.inf
        self._clock: Task | None = None
        self._clock_wakes: anyio.Event | None = None

    @property
    def is_open(self) -> bool:
        """Whether tasks can be started."""
        return self._spawn is not None and not self._closing

    @property
    def running(self) -> int:
        """How many tasks run, the clock aside."""
        return len(self._running) - (self._clock in self._running)

    async def open(self, *, context: contextvars.Context | None = None) -> Home:
        """Open the home in the running event loop; a second opening joins the first.

        Args:
            context: What context variables its tasks start from; by default a copy of the opener's.

        Raises:
            RuntimeError: It was closed before, or belongs to another event loop.
        """
        if self._closing:
            raise RuntimeError(f"The home of {self.name} is closed; open a new one")
        loop = current_token().native_token
        if self._opened is None:
            self._opened, self._close, self._ended = anyio.Event(), anyio.Event(), anyio.Event()
            self._context = context.copy() if context is not None else contextvars.copy_context()
            self._context.run(_inside.set, self)
            self._loop = loop
            self._spawn, self.time, self._call_at = _natively(loop)
            # Kept, since asyncio itself does not keep its tasks from being collected.
            self._keeper = self._spawn(self._keep(self._opened, self._close, self._ended), self._context, self.name)
        elif loop is not self._loop:
            raise RuntimeError(f"The home of {self.name} belongs to another event loop")
        await self._opened.wait()
        return self

    async def _keep(self, opened: anyio.Event, close: anyio.Event, ended: anyio.Event) -> None:
        """Wait for the end, `aclose()` or the loop's own, and then for every task."""
        try:
            opened.set()
            await close.wait()
        finally:
            self._cancel_all()
            for task in tuple(self._running):
                if task.was_dropped:
                    task.coroutine.close()
                    self._task_ended(task)
            with anyio.CancelScope(shield=True):
                while self._running:
                    self._emptied = anyio.Event()
                    await self._emptied.wait()
            ended.set()

    def start(self, fn: Callable[..., Coroutine[Any, Any, Any]], *args: Any, name: str | None = None) -> Task:
        """Run `fn(*args)` as a task of its own, with the context variables that the home was opened with.

        The caller's own do not matter: a request that happens to be the first must not mark what comes later.

        Raises:
            RuntimeError: The home is not open.
        """
        if self._spawn is None or self._closing:
            raise RuntimeError(f"The home of {self.name} is not open, so nothing can run in it")
        task = Task(self, name if name is not None else fn.__qualname__, fn(*args))
        self._running[task] = None
        task._native = self._spawn(task._run(), self._context.copy(), task.name)
        return task

    def _task_ended(self, task: Task) -> None:
        del self._running[task]
        if self._emptied is not None and not self._running:
            self._emptied.set()

    def _cancel_all(self) -> None:
        self._closing = True
        for task in tuple(self._running):
            task.cancel()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._timers.clear()

    def call_at(self, when: float, fn: Callable[[], None]) -> Timer:
        """Call `fn()` at `when`, on the clock of `time()`, in the event loop.

        `fn` does not wait; what it raises is logged.

        Raises:
            RuntimeError: The home is not open.
        """
        if self._spawn is None:
            raise RuntimeError(f"The home of {self.name} is not open, so it keeps no time")
        timer = Timer(self, when, fn)
        if self._closing:
            return timer  # which never runs
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        if self._call_at is not None:
            if when < self._alarm_at:
                self._set_alarm()
        elif self._clock is None:
            self._clock = self.start(self._keep_time, name="clock")
        elif self._timers[0][2] is timer and self._clock_wakes is not None:
            self._clock_wakes.set()
        return timer

    def _dropped_timer(self) -> None:
        self._dropped += 1
        if self._dropped > 64 and self._dropped * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if entry[2]._fn is not None]
            heapq.heapify(self._timers)
            self._dropped = 0

    def _run_due(self) -> None:
        while self._timers and (self._timers[0][2]._fn is None or self._timers[0][0] <= self.time()):
            timer = heapq.heappop(self._timers)[2]
            self._dropped -= timer._fn is None
            timer._run()

    # An event loop that calls back is asked for one callback at a time, the next: its timers cost six times as much
    # as these, and most are dropped long before their time.

    def _set_alarm(self) -> None:
        assert self._call_at is not None
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = self._timers[0][0]
        self._alarm = self._call_at(self._alarm_at, self._rings, context=self._context)

    def _rings(self) -> None:
        self._alarm, self._alarm_at = None, math.inf
        try:
            self._run_due()
        finally:
            if self._timers and self._alarm is None:
                self._set_alarm()

    async def _keep_time(self) -> None:
        while True:
            self._run_due()
            self._clock_wakes = anyio.Event()
            with anyio.CancelScope(deadline=self._timers[0][0] if self._timers else math.inf):
                await self._clock_wakes.wait()
            self._clock_wakes = None

    async def aclose(self, *, grace: float = GRACE) -> None:
        """Cancel every task and wait for them, at most `grace` seconds; then log where the stubborn ones are and go on.

        Called from a task of this home, it cancels and does not wait for itself.
        """
        self._cancel_all()
        if self._close is None or self._ended is None:
            return
        self._close.set()
        if _inside.get() is self:
            return
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(grace):
                await self._ended.wait()
            if not self._ended.is_set():
                self._report_stubborn(grace)

    def _report_stubborn(self, grace: float) -> None:
        for task in self._running:
            logger.warning(
                "%s does not heed its cancellation; gone on without it after %g s. It is here:\n%s",
                task.name,
                grace,
                "".join(_stack(task.coroutine)) or "(no frame)",
            )

    async def __aenter__(self) -> Home:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


_Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None], contextvars.Context, str], object]


def _natively(loop: Any) -> tuple[_Spawn, Callable[[], float], Callable[..., Any] | None]:
    """How `loop` starts a task that belongs to no other, what its clock is, and how it calls back, if it does."""
    if hasattr(loop, "create_task"):  # an asyncio event loop

        def create(coroutine: Coroutine[Any, Any, None], context: contextvars.Context, name: str) -> object:
            return loop.create_task(coroutine, name=name, context=context)

        return create, loop.time, loop.call_at
    import trio

    def spawn(coroutine: Coroutine[Any, Any, None], context: contextvars.Context, name: str) -> object:
        async def run() -> None:
            await coroutine

        return trio.lowlevel.spawn_system_task(run, name=name, context=context)

    return spawn, trio.current_time, None


def _stack(coroutine: Any) -> list[str]:
    """Where a waiting coroutine is, outermost frame first, on any event loop."""
    frames: list[str] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            frames += traceback.format_list(traceback.extract_stack(frame, limit=1))
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return frames
