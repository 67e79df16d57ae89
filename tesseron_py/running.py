"""Serving in the foreground of a process: until Ctrl-C or SIGTERM, and then gone soon, without a traceback."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskStatus
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from .app import Tesseron
    from .host.host import Host

GRACE = 1.0
"""Seconds that a process which is told to stop gives to handlers that do not heed their cancellation."""


def run_app(app: Tesseron, host: Host) -> None:
    """Serve, show on standard error the claim code and what happens, until Ctrl-C or SIGTERM.

    Args:
        app: The app.
        host: What `listen` or `connect` of the app gave, not entered yet.

    Raises:
        RuntimeError: An event loop runs already.
        OSError: The port is taken, the directory for manifests cannot be used, or the gateway cannot be reached.
        Exception: What the app's lifespan raised.
    """
    try:
        current_token()
    except RuntimeError:  # anyio.NoEventLoopError is one
        anyio.run(_serve, app, host)
        return
    raise RuntimeError("an event loop runs here already; write `await app.serve()` instead of `app.run()`")


async def _serve(app: Tesseron, host: Host) -> None:
    shown = ""

    def show(code: str) -> None:
        nonlocal shown
        if code != shown:
            shown = code
            _say(code_card(code))

    async def serve() -> None:
        await host.__aenter__()
        _say(f"{app.name} {'is connected to' if host.dials else 'listens on'} {host.url}")
        host.on_claim_code = show  # a gateway that mints one does so when it comes, which may have been already
        if host.claim_code is not None:
            show(host.claim_code)
        _say("Ctrl-C stops it.")
        async for event in host.events:
            _say(str(event))

    try:
        await until_stopped(serve)
    finally:
        await host.aclose(grace=GRACE)
    if host.stubborn:
        leave_now(0)


def code_card(code: str) -> str:
    """The claim code, large, and what to tell the agent."""
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


async def until_stopped(serve: Callable[[], Awaitable[Any]], *by: signal.Signals) -> None:
    """Run `serve()` until it returns, or a signal cancels it, by default SIGINT or SIGTERM.

    What it raises leaves as it is.
    """
    problem: Exception | None = None
    async with anyio.create_task_group() as group:

        async def watch(*, task_status: TaskStatus[None]) -> None:
            with anyio.open_signal_receiver(*(by or (signal.SIGINT, signal.SIGTERM))) as signals:
                task_status.started()
                async for _ in signals:
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
