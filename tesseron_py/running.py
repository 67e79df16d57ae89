"""Serving in the foreground of a process: until Ctrl-C or SIGTERM, and then gone soon, without a traceback."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskStatus
from anyio.lowlevel import current_token

from .plain import plain

if TYPE_CHECKING:
    from .app import Tesseron
    from .host.host import Host

GRACE = 1.0
"""Seconds that a process which is told to stop gives to handlers that do not heed their cancellation."""
END = 1.75
"""Seconds after which a process that was told to stop ends, whatever still runs; it has 2 s (`spec/mcp.md` §5)."""


class Ending:
    """The end of a process: once begun it comes within `END` seconds, whatever still runs.

    Closing bounds the wait for handlers. It cannot bound what the event loop and the interpreter wait for after that:
    the threads of `asyncio.to_thread`, an author's tasks that catch their cancellation, threads that are no daemons.

    Args:
        code: The exit code of a process that has to be ended like this.
    """

    def __init__(self, code: int = 0) -> None:
        self._code = code
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """The process has been told to stop. Only the first time counts."""
        if self._timer is None:
            self._timer = threading.Timer(END, leave_now, (self._code,))
            self._timer.daemon = True
            self._timer.start()

    def call_off(self) -> None:
        """What was to stop has stopped, and the process goes on."""
        if self._timer is not None:
            self._timer.cancel()


def run_app(app: Tesseron, host: Host, ending: Ending | None = None) -> None:
    """Serve, show on standard error the claim code and what happens, until Ctrl-C or SIGTERM.

    Args:
        app: The app.
        host: What `listen` or `connect` of the app gave, not entered yet.
        ending: The end of a process that ends with this; by default the process goes on afterwards.

    Raises:
        RuntimeError: An event loop runs already.
        OSError: The port is taken, the directory for manifests cannot be used, or the gateway cannot be reached.
        Exception: What the app's lifespan raised.
    """
    try:
        current_token()
    except RuntimeError:  # anyio.NoEventLoopError is one
        own = Ending()
        try:
            anyio.run(_serve, app, host, ending or own)
        finally:
            own.call_off()
        return
    raise RuntimeError("an event loop runs here already; write `await app.serve()` instead of `app.run()`")


async def _serve(app: Tesseron, host: Host, ending: Ending) -> None:
    shown = ""

    def show(code: str) -> None:
        nonlocal shown
        if code != shown:
            shown = code
            _say(code_card(code))

    async def serve() -> None:
        await host.__aenter__()
        _say(plain(f"{app.name} {'is connected to' if host.dials else 'listens on'} {host.url}"))
        host.on_claim_code = show  # a gateway that mints one does so when it comes, which may have been already
        if host.claim_code is not None:
            show(host.claim_code)
        _say("Ctrl-C stops it.")
        async for event in host.events:
            _say(plain(str(event)))  # an agent chooses its name, and a gateway the text of its error

    try:
        await until_stopped(serve, on_stop=ending.begin)
    finally:
        await host.aclose(grace=GRACE)
    if host.stubborn:
        leave_now(0)


def code_card(code: str) -> str:
    """The claim code, large, and what to tell the agent."""
    code = plain(code)  # a gateway may have minted it
    wide = " ".join(code)
    return f"""
    ╭─{"─" * len(wide)}─╮
    │ {wide} │
    ╰─{"─" * len(wide)}─╯
    Tell your agent: claim the Tesseron session {code}
"""


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


async def until_stopped(
    serve: Callable[[], Awaitable[Any]], *by: signal.Signals, on_stop: Callable[[], None] | None = None
) -> None:
    """Run `serve()` until it returns, or a signal cancels it.

    What it raises leaves as it is.

    Args:
        serve: What runs.
        by: The signals; by default SIGINT and SIGTERM.
        on_stop: Called when a signal has come.
    """
    problem: Exception | None = None
    async with anyio.create_task_group() as group:

        async def watch(*, task_status: TaskStatus[None]) -> None:
            with anyio.open_signal_receiver(*(by or (signal.SIGINT, signal.SIGTERM))) as signals:
                task_status.started()
                async for _ in signals:
                    if on_stop is not None:
                        on_stop()
                    group.cancel_scope.cancel()
                    return

        await group.start(watch)
        try:
            await serve()
        except Exception as error:
            problem = error
        group.cancel_scope.cancel()
    if problem is not None:
        raise problem


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """While the body keeps the event loop from running, a signal ends the process at once, with exit code 0."""
    before = {number: signal.signal(number, lambda *_: leave_now(0)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_now(code: int) -> None:
    """End the process although a handler goes on: its event loop would wait for it for ever."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)
