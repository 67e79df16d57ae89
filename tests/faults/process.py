"""`tesseron-py`, or the app under Hypercorn, as a process that the laboratory looks into.

`python -m tests.faults.process asyncio|trio COMMAND…`: the command line of `tesseron-py`, on that event loop; or
`hypercorn PORT`, or `stdio`, by `serve_mcp`. A thread of it heeds the laboratory's orders: the wall clock is moved,
live objects are counted. What waits for half an hour in the product waits for seconds here, so that its end is seen.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from . import notes
from .notes import CONTROL, note

PARKED = float(os.environ.get("FAULTS_PARKED", "4"))
"""Seconds that a call of the modern era waits for its client."""
STREAMLESS = 2.0
"""Seconds that a gateway waits for an app that has lost its stream."""

_moved_by = 0.0
_time, _time_ns = time.time, time.time_ns


def _now() -> float:
    return _time() + _moved_by


def _now_ns() -> int:
    return _time_ns() + int(_moved_by * 1e9)


def _count() -> dict[str, int]:
    """The live objects of the product's own classes, and what else must not pile up."""
    gc.collect()
    found: Counter[str] = Counter()
    for thing in gc.get_objects():
        kind = type(thing)
        if kind.__module__.startswith("tesseron_py") or kind.__name__ in ("Task", "coroutine"):
            found[f"{kind.__module__}.{kind.__qualname__}"] += 1
    return dict(found)


def _tell_counts(order: int) -> None:
    """In the event loop: a tuple that another thread is just making, and that `gc` has shown, cannot be finished."""
    note("done", order=order, counts=_count(), threads=threading.active_count())


def _run(run: Callable[..., Any], fn: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
    """`anyio.run`, that lets the laboratory into the loop."""

    async def main() -> Any:
        notes.enter_loop()
        return await fn(*args)

    return run(main, **options)


def _heed_orders() -> None:
    global _moved_by
    with open(int(os.environ[CONTROL]), encoding="utf-8") as orders:
        for line in orders:
            order = json.loads(line)
            match order["do"]:
                case "clock":
                    _moved_by = order["seconds"]
                    note("done", order=order["id"])
                case "count":
                    notes.in_loop(functools.partial(_tell_counts, order["id"]))
    os._exit(3)  # the laboratory is gone


def _hasten() -> None:
    """Shorter times than the defaults, which no command line changes."""
    from tesseron_py.bindings.http_wire import DEFAULT_HTTP_LIMITS
    from tesseron_py.mcp import repeats
    from tesseron_py.mcp.limits import EndpointLimits

    shorter = {"parked_for": PARKED, "kept": PARKED}
    begin: Any = EndpointLimits.__init__

    @functools.wraps(begin)
    def hastened(self: EndpointLimits, **given: Any) -> None:
        begin(self, **{**shorter, **given})

    EndpointLimits.__init__ = hastened
    object.__setattr__(DEFAULT_HTTP_LIMITS, "streamless", STREAMLESS)  # frozen, and shared by all that serve
    object.__setattr__(DEFAULT_HTTP_LIMITS, "kept", PARKED)
    object.__setattr__(DEFAULT_HTTP_LIMITS, "last_retry", 1.0)
    repeats.GRACE = PARKED


def _under_hypercorn(port: str) -> int:
    import signal

    import anyio
    from hypercorn.config import Config
    from hypercorn.trio import serve

    from .app import app

    async def run() -> None:
        endpoint = app.asgi(token=os.environ.get("TESSERON_TOKEN"))
        config = Config()
        config.bind = [f"127.0.0.1:{port}"]
        config.accesslog = None
        config.loglevel = "WARNING"
        config.graceful_timeout = 0.5
        stop = anyio.Event()

        async with anyio.create_task_group() as group:
            group.start_soon(functools.partial(serve, endpoint, config, shutdown_trigger=stop.wait))
            with anyio.open_signal_receiver(signal.SIGTERM) as signals:
                print("MCP server", file=sys.stderr, flush=True)
                async for _ in signals:
                    break
            await endpoint.aclose()
            stop.set()

    _run(anyio.run, run, backend="trio")
    return 0


def main() -> int:
    """Do what the command line says."""
    loop, *command = sys.argv[1:]
    time.time, time.time_ns = _now, _now_ns
    threading.Thread(target=_heed_orders, daemon=True, name="laboratory").start()
    _hasten()
    if command[0] == "hypercorn":
        return _under_hypercorn(command[1])

    import anyio

    if command[0] == "stdio":
        from tesseron_py.running import until_stopped

        from .app import app

        _run(anyio.run, until_stopped, app.serve_mcp, backend=loop)
        return 0
    anyio.run = functools.partial(_run, anyio.run, backend=loop)
    from tesseron_py.cli.main import main as tesseron_py

    sys.argv[1:] = command
    return tesseron_py()


if __name__ == "__main__":
    sys.exit(main())
