"""Worker threads for `def` handlers: bounded, daemon, and each slot held until its function returns.

anyio's own are not daemon, so that one stuck handler keeps a process alive for ever, and on asyncio an abandoned one
gives its token back. Here a function whose call was given up goes on in its thread, is counted and logged, and the
thread reaches the event loop only through its `Bridge`.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import anyio
from anyio.lowlevel import current_token

from .errors import ActionCancelled

logger = logging.getLogger("tesseron_py.workers")

T = TypeVar("T")

IDLE_SECONDS = 10.0
"""How long a thread without work lives on."""


def loop_caller() -> Callable[[Callable[[], None]], None]:
    """A function that has the running event loop call something soon; it may be used from any thread.

    Once the loop is gone, what it is given is dropped.
    """
    loop: Any = current_token().native_token
    call_soon = loop.call_soon_threadsafe if hasattr(loop, "call_soon_threadsafe") else loop.run_sync_soon

    def call(fn: Callable[[], None]) -> None:
        try:
            call_soon(fn)
        except RuntimeError:  # asyncio: the loop is closed; trio.RunFinishedError is one, too
            logger.debug("An event loop was gone before a thread could reach it")

    return call


def _forget_library(context: contextvars.Context) -> None:
    """A thread may run an event loop of its own, which the mark of ours would have anyio refuse."""
    try:
        from sniffio import current_async_library_cvar
    except ModuleNotFoundError:
        return  # it is trio's, and without it there is no mark
    context.run(current_async_library_cvar.set, None)


class _Reply(Generic[T]):
    """What a thread waits for: a value, or an error."""

    __slots__ = ("_done", "_error", "_value")

    def __init__(self) -> None:
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._value: T | None = None

    def settle(self, value: T | None, error: BaseException | None) -> None:
        if not self._done.is_set():
            self._value, self._error = value, error
            self._done.set()

    def wait(self) -> T:
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # None only where T is


class _Job(Generic[T]):
    """One function that runs in a thread on behalf of one task; the thread's side of it is a `Bridge`."""

    def __init__(self, fn: Callable[[_Job[T]], T]) -> None:
        self._fn = fn
        self._context = contextvars.copy_context()
        _forget_library(self._context)
        self._call_loop = loop_caller()
        self._loop_thread = threading.get_ident()
        self._lock = threading.Lock()
        self._requests: deque[tuple[Callable[[], Coroutine[Any, Any, Any]], _Reply[Any]]] = deque()
        self._waiting: set[_Reply[Any]] = set()
        self._wakes = anyio.Event()
        self.abandoned = False
        """The call was given up; whatever the thread still asks is refused."""
        self.started = False
        """It was the function's turn; one whose call was given up before does not run."""
        self.finished = False
        """The function has returned."""
        self.counted = False
        """It is one of the pool's abandoned ones; changed under the pool's lock."""
        self._value: T | None = None
        self._error: BaseException | None = None

    # In the thread

    def run(self) -> bool:
        """Run the function, unless its call was given up before. False when it was run already."""
        with self._lock:
            if self.started:
                return False
            self.started, wanted = True, not self.abandoned
        if wanted:
            try:
                self._value = self._context.run(self._fn, self)
            except BaseException as error:
                self._error = error
        self.finished = True
        self._call_loop(self._wake)
        return True

    @property
    def cancelled(self) -> bool:
        return self.abandoned

    def call(self, fn: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if threading.get_ident() == self._loop_thread:
            raise RuntimeError(
                "this would wait for the event loop in the event loop's own thread; have dispatch call what it is given"
                " in another thread, or make the handler an `async def`"
            )
        reply: _Reply[T] = _Reply()
        with self._lock:
            if self.abandoned:
                raise ActionCancelled("The call was given up")
            self._requests.append((fn, reply))
            self._waiting.add(reply)
        self._call_loop(self._wake)
        try:
            return reply.wait()
        finally:
            with self._lock:
                self._waiting.discard(reply)

    # In the event loop

    def _wake(self) -> None:
        self._wakes.set()

    async def attend(self) -> T:
        """Do what the thread asks for until its function returns."""
        try:
            await self._wakes.wait()
            if not self.finished:
                await self._serve_requests()
        finally:
            self._abandon()
        if self._error is None:
            return self._value  # type: ignore[return-value]  # None only where T is
        if isinstance(self._error, Exception):
            raise self._error
        # An exit or a cancellation of the thread's own is not one of this task.
        raise RuntimeError(f"the function ended with {type(self._error).__name__}") from self._error

    async def _serve_requests(self) -> None:
        # Most functions ask for nothing, and a group for nothing would be a good part of what such a call costs.
        async with anyio.create_task_group() as group:
            while not self.finished:
                await self._wakes.wait()
                self._wakes = anyio.Event()
                while self._requests:
                    group.start_soon(self._serve, *self._requests.popleft())
            group.cancel_scope.cancel()  # a thread the function started may still be asking

    async def _serve(self, fn: Callable[[], Coroutine[Any, Any, Any]], reply: _Reply[Any]) -> None:
        try:
            reply.settle(await fn(), None)
        except Exception as error:
            reply.settle(None, error)
        finally:
            reply.settle(None, ActionCancelled("The call was given up"))

    def _abandon(self) -> None:
        with self._lock:
            self.abandoned = True
            waiting = list(self._waiting)
        for reply in waiting:
            reply.settle(None, ActionCancelled("The call was given up"))


class _Thread(threading.Thread):
    """A daemon thread that takes one job at a time and ends when it has none for a while."""

    def __init__(self, workers: Workers, number: int) -> None:
        super().__init__(name=f"tesseron-py worker {number}", daemon=True)
        self.jobs: SimpleQueue[_Job[Any]] = SimpleQueue()
        self._workers = workers

    def run(self) -> None:
        while True:
            try:
                job = self.jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                if self._workers._retire(self):
                    return
                continue
            job.run()
            self._workers._returned(self, job)
            del job


class Workers:
    """A bounded pool of daemon threads.

    Args:
        size: How many functions run at once; further ones wait, first come first served.
        dispatch: Runs functions in place of our threads, such as a GUI's `call_soon`: it is given a function without
            parameters and has it called once, in whatever thread but the event loop's.

    Raises:
        ValueError: `size` is below 1.
    """

    def __init__(self, size: int, *, dispatch: Callable[[Callable[[], None]], object] | None = None) -> None:
        if size < 1:
            raise ValueError(f"threads is at least 1, not {size}")
        self.size = size
        self._dispatch = dispatch
        self._lock = threading.Lock()
        self._busy = 0
        self._started = 0
        self._idle: list[_Thread] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._when_idle: list[Callable[[], None]] = []
        self._abandoned = 0

    @property
    def busy(self) -> int:
        """How many functions run, abandoned ones included."""
        return self._busy

    @property
    def abandoned(self) -> int:
        """How many functions go on although their call was given up."""
        return self._abandoned

    async def idle(self) -> None:
        """Wait until no function runs, abandoned ones included."""
        event = anyio.Event()
        call_loop = loop_caller()
        with self._lock:
            if not self._busy:
                return
            self._when_idle.append(lambda: call_loop(event.set))
        await event.wait()

    async def run(
        self, fn: Callable[[_Job[T]], T], *, name: str = "a handler", on_slot: Callable[[], None] | None = None
    ) -> T:
        """Call `fn(bridge)` in a thread, with the caller's context variables, and wait for it.

        Cancelled, it leaves the function running and its slot taken; the function sees that at its bridge. One that has
        not begun by then never does.

        Args:
            fn: What is called.
            name: What the log calls it.
            on_slot: Called when `fn` has a thread, which others may have held.
        """
        await self._take_slot()
        try:
            if on_slot is not None:
                on_slot()
            job = _Job(fn)
            self._hand_over(job)
        except BaseException:
            self._give_slot()
            raise
        try:
            return await job.attend()
        finally:
            self._note_abandoned(job, name)

    def _note_abandoned(self, job: _Job[Any], name: str) -> None:
        with self._lock:
            if job.finished or not job.started:
                return
            job.counted = True
            self._abandoned += 1
        logger.warning(
            "%s goes on in its thread although its call was given up; %d of %d threads are held by such",
            name,
            self._abandoned,
            self.size,
        )

    async def _take_slot(self) -> None:
        with self._lock:
            if self._busy < self.size and not self._queue:
                self._busy += 1
                return
            event = anyio.Event()
            call_loop = loop_caller()

            def grant() -> None:
                call_loop(event.set)

            self._queue.append(grant)
        try:
            await event.wait()
        except BaseException:
            with self._lock:
                # What is no longer queued was given the slot, whether or not it has been told yet.
                granted = grant not in self._queue
                if not granted:
                    self._queue.remove(grant)
            if granted:
                self._give_slot()
            raise

    def _give_slot(self) -> None:
        with self._lock:
            if self._queue:
                calls = [self._queue.popleft()]
            else:
                self._busy -= 1
                calls = []
                if not self._busy:
                    calls, self._when_idle = self._when_idle, []
        for call in calls:
            call()

    def _hand_over(self, job: _Job[Any]) -> None:
        if self._dispatch is not None:

            def run() -> None:
                if job.run():
                    self._returned(None, job)

            self._dispatch(run)
            return
        with self._lock:
            if self._idle:
                self._idle.pop().jobs.put(job)
                return
            self._started += 1
            number = self._started
        thread = _Thread(self, number)
        thread.start()
        thread.jobs.put(job)

    def _returned(self, thread: _Thread | None, job: _Job[Any]) -> None:
        with self._lock:
            if job.counted:
                self._abandoned -= 1
            if thread is not None:
                self._idle.append(thread)
        self._give_slot()

    def _retire(self, thread: _Thread) -> bool:
        with self._lock:
            if thread not in self._idle:
                return False  # a job is on its way
            self._idle.remove(thread)
            return True
