"""Worker threads for `def` handlers: daemon, and bounded in how many run.

anyio's own are not daemon, so that one stuck handler keeps a process alive for ever, and on asyncio an abandoned one
gives its token back. Here a function holds its slot until it returns, also when its call was given up, and such ones
are counted and logged. Only while it waits for a person or a model it gives the slot back, and takes one again before
it goes on. Where the program has functions run in a thread of its own, it is asked for that in a thread, so that it may
take its time. A thread reaches the event loop only through its `Bridge`.
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


class _ParkedReply(_Reply[T]):
    """What a thread without a slot waits for; settled, it comes as soon as there is a slot to go on with.

    Args:
        job: The thread's job, which is parked.
        pause: Called in the event loop when there is no slot at once.
        resume: Called in the event loop, once after each `pause`, when there is one, or when there may never be.
    """

    __slots__ = ("_pause", "_paused", "_resume", "_settled", "job")

    def __init__(
        self, job: _Job[Any], pause: Callable[[], None] | None = None, resume: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self.job: _Job[Any] = job
        self._pause = pause
        self._resume = resume
        self._paused = False
        self._settled = False

    def settle(self, value: T | None, error: BaseException | None) -> None:
        if self._settled:
            return
        self._settled = True
        self._value, self._error = value, error
        pool = self.job.pool
        # Slots that nobody's call holds may never come back; then the time runs.
        if not pool.unpark(self) and self._pause is not None and pool.abandoned < pool.size:
            self._paused = True
            self._pause()

    def resume(self) -> None:
        if self._paused and self._resume is not None:
            self._paused = False
            self._resume()

    def go_on(self, *, waited: bool) -> None:
        """There is a slot."""
        if waited:
            self.job.call_loop(self.resume)
        if self.job.abandoned:  # meanwhile, perhaps: an answer to a call that is over is none
            self._value, self._error = None, self.job.over()
        self._done.set()


class _Job(Generic[T]):
    """One function that runs in a thread on behalf of one task; the thread's side of it is a `Bridge`."""

    def __init__(self, pool: Workers, fn: Callable[[_Job[T]], T], name: str) -> None:
        self.pool = pool
        self.name = name
        self._fn = fn
        self._context = contextvars.copy_context()
        _forget_library(self._context)
        self.call_loop: Callable[[Callable[[], None]], None] = loop_caller()
        self._loop_thread = threading.get_ident()
        self._thread: int | None = None
        self._lock = threading.Lock()
        self._requests: deque[tuple[Callable[[], Coroutine[Any, Any, Any]], _Reply[Any]]] = deque()
        self._waiting: set[_Reply[Any]] = set()
        self._wakes = anyio.Event()
        self.abandoned: bool = False
        """The call was given up; whatever the thread still asks is refused."""
        self.started: bool = False
        """It was the function's turn; one whose call was given up before does not run."""
        self.finished: bool = False
        """The function has returned."""
        self.counted = False
        """It is one of the pool's abandoned ones; changed under the pool's lock."""
        self.parked = False
        """Its thread has no slot, as it waits for an answer, or for a slot to go on; changed under the pool's lock."""
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
            self._thread = threading.get_ident()
            try:
                self._value = self._context.run(self._fn, self)
            except BaseException as error:
                self._error = error
        self.finished = True
        self.call_loop(self._wake)
        return True

    def withdraw(self, error: BaseException | None = None) -> bool:
        """See to it that the function never runs, for `error`; False when it has begun."""
        with self._lock:
            if self.started:
                return False
            self.started, self._error = True, error
        self.finished = True
        return True

    @property
    def cancelled(self) -> bool:
        return self.abandoned

    @property
    def interrupt(self) -> KeyboardInterrupt | None:
        """The Ctrl-C that came while the function had the main thread: it is the program's."""
        if isinstance(self._error, KeyboardInterrupt) and self._thread == threading.main_thread().ident:
            return self._error
        return None

    def over(self) -> ActionCancelled:
        """Why nothing more can be asked."""
        return ActionCancelled(
            "The call is over: its handler has returned" if self.finished else "The call was given up"
        )

    def call(self, fn: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if threading.get_ident() == self._loop_thread:
            raise RuntimeError(
                "this would wait for the event loop in the event loop's own thread; have dispatch call what it is given"
                " in another thread, or make the handler an `async def`"
            )
        reply: _Reply[T] = _Reply()
        if not self._request(fn, reply):
            raise self.over()
        return self._wait(reply)

    def ask(
        self,
        fn: Callable[[], Coroutine[Any, Any, T]],
        *,
        pause: Callable[[], None] | None = None,
        resume: Callable[[], None] | None = None,
    ) -> T:
        # A thread that the function started has no slot to give, and one that was dispatched is not ours to fill.
        if threading.get_ident() != self._thread or not self.pool.parks:
            return self.call(fn)
        if self.abandoned:
            raise self.over()
        self.pool.park(self)
        reply: _ParkedReply[T] = _ParkedReply(self, pause, resume)
        if not self._request(fn, reply):
            reply = _ParkedReply(self)
            reply.settle(None, self.over())
        return self._wait(reply)

    def _request(self, fn: Callable[[], Coroutine[Any, Any, Any]], reply: _Reply[Any]) -> bool:
        with self._lock:
            if self.abandoned:
                return False
            self._requests.append((fn, reply))
            self._waiting.add(reply)
        self.call_loop(self._wake)
        return True

    def _wait(self, reply: _Reply[T]) -> T:
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
            reply.settle(None, self.over())

    def _abandon(self) -> None:
        with self._lock:
            self.abandoned = True
            waiting = list(self._waiting)
        for reply in waiting:
            reply.settle(None, self.over())
        if self.parked:  # it was answered before, and waits for a slot
            self.pool.rescue()


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
        size: How many functions run at once; further ones wait, first come first served, and so do those that had an
            answer and go on.
        dispatch: Runs functions in place of our threads, such as a GUI's `call_soon`: it is given a function without
            parameters and has it called once, in whatever thread but the event loop's. It is called in a thread of
            ours, one function after another, and may block. A function whose call is given up before it was called
            never runs, and holds nothing.

    Raises:
        ValueError: `size` is below 1.
        TypeError: `dispatch` is no function.
    """

    def __init__(self, size: int, *, dispatch: Callable[[Callable[[], None]], object] | None = None) -> None:
        if size < 1:
            raise ValueError(f"threads is at least 1, not {size}")
        if dispatch is not None and not callable(dispatch):
            raise TypeError(
                f"dispatch is a function that has what it is given called, such as queue.put; not {dispatch!r}"
            )
        self.size = size
        self._dispatch = dispatch
        self._lock = threading.Lock()
        self._busy = 0
        self._parked = 0
        self._in_line: dict[_ParkedReply[Any], Callable[[], None]] = {}
        self._started = 0
        self._idle: list[_Thread] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._to_dispatch: deque[_Job[Any]] = deque()
        self._dispatching = False
        self._when_idle: list[Callable[[], None]] = []
        self._abandoned = 0

    @property
    def busy(self) -> int:
        """How many functions run, abandoned ones included; those that wait for an answer do not."""
        return self._busy

    @property
    def parked(self) -> int:
        """How many functions wait without a slot: for an answer, or for a slot to go on with."""
        return self._parked

    @property
    def abandoned(self) -> int:
        """How many functions run although their call was given up."""
        return self._abandoned

    @property
    def parks(self) -> bool:
        """Whether a function gives its slot back while it waits for an answer: not one that is dispatched."""
        return self._dispatch is None

    async def idle(self) -> None:
        """Wait until every function has returned, abandoned ones included."""
        event = anyio.Event()
        call_loop = loop_caller()
        with self._lock:
            if not self._busy and not self._parked:
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
            job = _Job(self, fn, name)
            self._hand_over(job)
        except BaseException:
            self._give_slot()
            raise
        try:
            return await job.attend()
        finally:
            if self._dispatch is not None and job.withdraw():  # nobody has come to it, and perhaps nobody ever will
                self._give_slot()
            self._note_abandoned(job)

    def _note_abandoned(self, job: _Job[Any]) -> None:
        with self._lock:
            # A parked one holds no slot; it counts once it has one again.
            if job.finished or not job.started or job.parked or job.counted:
                return
            job.counted = True
            self._abandoned += 1
            stranded = list(self._in_line) if self._abandoned >= self.size else []
        for reply in stranded:
            reply.job.call_loop(reply.resume)
        self.rescue()
        if self._dispatch is None:
            where, held = "its thread", "threads are held by such"
        else:
            where, held = "the thread that it was dispatched to", "handlers that may run at once are such"
        logger.warning(
            "%s goes on in %s although its call was given up; %d of %d %s",
            job.name,
            where,
            self._abandoned,
            self.size,
            held,
        )

    def park(self, job: _Job[Any]) -> None:
        """Give back the slot of a job whose thread is about to wait for an answer."""
        with self._lock:
            job.parked = True
            self._parked += 1
            if job.counted:
                job.counted = False
                self._abandoned -= 1
        self._give_slot()

    def unpark(self, reply: _ParkedReply[Any]) -> bool:
        """Take a slot for a parked job and have it go on; False when it has to wait in line for one.

        It stays in line also when its call is given up: without a slot its thread can neither go on nor end. Only when
        all slots are held by such whose calls were given up, too, it goes on without one; see `rescue`.
        """

        def grant() -> None:
            job = reply.job
            with self._lock:
                job.parked = False
                self._parked -= 1
                waited = self._in_line.pop(reply, None) is not None
            if job.abandoned:
                self._note_abandoned(job)
            reply.go_on(waited=waited)

        with self._lock:
            stranded = reply.job.abandoned and self._abandoned >= self.size
            if (self._busy >= self.size or self._queue) and not stranded:
                self._queue.append(grant)
                self._in_line[reply] = grant
                return False
            self._busy += 1
        grant()
        return True

    def rescue(self) -> None:
        """Let those end that wait for a slot although their call was given up, when no slot may ever come back.

        What holds the slots may be waiting for just these: for a lock that one of them had when it asked.
        """
        with self._lock:
            if self._abandoned < self.size:
                return
            grants = [grant for reply, grant in self._in_line.items() if reply.job.abandoned and grant in self._queue]
            for grant in grants:
                self._queue.remove(grant)
            self._busy += len(grants)
        for grant in grants:
            grant()

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
            if self._queue and self._busy <= self.size:
                calls = [self._queue.popleft()]
            else:
                self._busy -= 1
                calls = []
                if not self._busy and not self._parked:
                    calls, self._when_idle = self._when_idle, []
        for call in calls:
            call()

    def _hand_over(self, job: _Job[Any]) -> None:
        if self._dispatch is not None:
            self._have_dispatched(job)
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

    def _have_dispatched(self, job: _Job[Any]) -> None:
        with self._lock:
            self._to_dispatch.append(job)
            if self._dispatching:
                return
            self._dispatching = True
        try:
            threading.Thread(target=self._dispatch_all, name="tesseron-py dispatch", daemon=True).start()
        except RuntimeError:  # there are too many threads
            with self._lock:
                self._dispatching = False
                self._to_dispatch.remove(job)
            raise

    def _dispatch_all(self) -> None:
        while True:
            with self._lock:
                if not self._to_dispatch:
                    self._dispatching = False
                    return
                job = self._to_dispatch.popleft()
            self._dispatch_one(job)
            del job

    def _dispatch_one(self, job: _Job[Any]) -> None:
        def run() -> None:
            if not job.run():
                return
            self._returned(None, job)
            if job.interrupt is not None:
                raise job.interrupt

        if job.started or self._dispatch is None:
            return
        try:
            self._dispatch(run)
        except BaseException as error:
            if job.withdraw(error):
                self._give_slot()
                job.call_loop(job._wake)  # not before its slot is free
            else:
                logger.warning("The dispatch of %s failed after it had begun", job.name, exc_info=error)

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
