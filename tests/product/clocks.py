"""An event loop in which no time is lost: when all that is left is to wait, the clock is put on to where it ends.

Half an hour passes at once, and what waits for nothing is seen: with a guard around it, the guard is what ends first.
Nothing in it may wait for another thread, another process or a socket.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypeVar

import anyio
import trio
from hypothesis import register_random
from trio.testing import MockClock

T = TypeVar("T")
Backend: TypeAlias = Literal["asyncio", "trio"]

# Which of trio's tasks goes first is chance, and has to be the same chance when a history is played again.
trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING = True
register_random(trio._core._run._r)


class _Selector(selectors.DefaultSelector):
    """Puts the clock on in place of waiting."""

    loop: _Loop

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("everything waits, and nothing will ever happen")
            self.loop.now += max(timeout, 0.0)
        return events


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run_without_waiting(fn: Callable[..., Awaitable[T]], *args: Any, backend: Backend) -> T:
    """`anyio.run`, on a clock that starts anew and does not make anybody wait."""
    if backend == "trio":
        options: dict[str, Any] = {"clock": MockClock(autojump_threshold=0)}
    else:
        options = {"loop_factory": _Loop}
    return anyio.run(fn, *args, backend=backend, backend_options=options)
