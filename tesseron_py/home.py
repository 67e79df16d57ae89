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
import traceback
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

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
        self.when = when
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


class Home:
    """Owns background tasks. Open it, start tasks in it, close it; each from any task of one event loop.

    An exception that leaves a task is logged and ends that task alone.

    Example:
        ```python
        async with Home() as home:
            home.start(listen_for_changes)
            home.call_at(anyio.current_time() + 30, give_up)
        ```
    """

    def __init__(self, name: str = "tesseron-py") -> None:
        self.name = name
        self._group: anyio.abc.TaskGroup | None = None
        self._opened: anyio.Event | None = None
        self._ended: anyio.Event | None = None
        self._root: Any = None
        self._closing = False
        self._running: dict[int, tuple[str, Coroutine[Any, Any, Any]]] = {}
        self._numbers = itertools.count()
        self._timers: list[tuple[float, int, Timer]] = []
        self._dropped = 0
        self._clock_wakes: anyio.Event | None = None
        self._clock_runs = False
        self._token: Any = None
        self._context: contextvars.Context | None = None

    @property
    def is_open(self) -> bool:
        """Whether tasks can be started."""
        return self._group is not None and not self._closing

    @property
    def running(self) -> int:
        """How many tasks run, the clock aside."""
        return len(self._running)

    async def open(self, *, context: contextvars.Context | None = None) -> Home:
        """Open the home in the running event loop; a second opening joins the first.

        Args:
            context: What context variables its tasks start from; by default a copy of the opener's.

        Raises:
            RuntimeError: It was closed before, or belongs to another event loop.
        """
        if self._closing:
            raise RuntimeError(f"The home of {self.name} is closed; open a new one")
        token = current_token().native_token
        if self._opened is None:
            self._opened, self._ended = anyio.Event(), anyio.Event()
            self._token = token
            self._context = context.copy() if context is not None else contextvars.copy_context()
            self._root = _spawn_root(token, self._run, self._context.copy(), self.name)
        elif token is not self._token:
            raise RuntimeError(f"The home of {self.name} belongs to another event loop")
        await self._opened.wait()
        return self

    async def _run(self) -> None:
        assert self._opened is not None
        assert self._ended is not None
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                self._opened.set()
                await anyio.sleep_forever()
        finally:
            self._closing = True
            self._group = None
            self._opened.set()
            self._ended.set()

    def start(self, fn: Callable[..., Coroutine[Any, Any, Any]], *args: Any, name: str | None = None) -> None:
        """Run `fn(*args)` as a task of its own, with the context variables that the home was opened with.

        The caller's own do not matter: a request that happens to be the first must not mark what comes later.

        Raises:
            RuntimeError: The home is not open.
        """
        if self._group is None or self._context is None or self._closing:
            raise RuntimeError(f"The home of {self.name} is not open, so nothing can run in it")
        group = self._group
        self._context.run(lambda: group.start_soon(self._guard, fn, args, name, name=name))

    async def _guard(
        self, fn: Callable[..., Coroutine[Any, Any, Any]], args: tuple[Any, ...], name: str | None
    ) -> None:
        number = next(self._numbers)
        coroutine = fn(*args)
        self._running[number] = (name or fn.__qualname__, coroutine)
        _inside.set(self)
        try:
            await coroutine
        except anyio.get_cancelled_exc_class():
            # The task ends here either way; passed on, one that its own code raised would end the others on asyncio.
            pass
        except (Exception, SystemExit):
            logger.exception("A background task of tesseron-py failed: %s", name or fn.__qualname__)
        finally:
            del self._running[number]

    def call_at(self, when: float, fn: Callable[[], None]) -> Timer:
        """Call `fn()` at `when` (seconds on `anyio.current_time()`'s clock), in the event loop.

        `fn` does not wait; what it raises is logged.
        """
        timer = Timer(self, when, fn)
        first = self._timers[0][0] if self._timers else None
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        if not self._clock_runs:
            if self._group is None or self._context is None or self._closing:
                raise RuntimeError(f"The home of {self.name} is not open, so it keeps no time")
            self._clock_runs = True
            self._context.run(self._group.start_soon, self._keep_time)
        elif (first is None or when < first) and self._clock_wakes is not None:
            self._clock_wakes.set()
        return timer

    def _dropped_timer(self) -> None:
        self._dropped += 1
        if self._dropped > 64 and self._dropped * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if entry[2]._fn is not None]
            heapq.heapify(self._timers)
            self._dropped = 0

    async def _keep_time(self) -> None:
        while True:
            while self._timers and self._timers[0][0] <= anyio.current_time():
                heapq.heappop(self._timers)[2]._run()
            self._clock_wakes = anyio.Event()
            with anyio.CancelScope(deadline=self._timers[0][0] if self._timers else float("inf")):
                await self._clock_wakes.wait()
            self._clock_wakes = None

    async def aclose(self, *, grace: float = GRACE) -> None:
        """Cancel every task and wait for them, at most `grace` seconds; then log where the stubborn ones are and go on.

        Called from a task of this home, it cancels and does not wait for itself.
        """
        self._closing = True
        if self._opened is None or self._ended is None:
            return
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(grace):
                await self._opened.wait()
                if self._group is not None:
                    self._group.cancel_scope.cancel()
                if _inside.get() is self:
                    return
                await self._ended.wait()
            if not self._ended.is_set():
                self._report_stubborn(grace)

    def _report_stubborn(self, grace: float) -> None:
        for name, coroutine in self._running.values():
            logger.warning(
                "%s does not heed its cancellation; gone on without it after %g s. It is here:\n%s",
                name,
                grace,
                "".join(_stack(coroutine)) or "(no frame)",
            )

    async def __aenter__(self) -> Home:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _spawn_root(
    loop: Any, run: Callable[[], Coroutine[Any, Any, None]], context: contextvars.Context, name: str
) -> object:
    if hasattr(loop, "create_task"):  # an asyncio event loop; the reference keeps the task from being collected
        return loop.create_task(run(), context=context, name=name)
    import trio

    return trio.lowlevel.spawn_system_task(run, context=context, name=name)


def _stack(coroutine: Any) -> list[str]:
    """Where a waiting coroutine is, outermost frame first, on any event loop."""
    frames: list[str] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            frames += traceback.format_list(traceback.extract_stack(frame, limit=1))
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return frames
