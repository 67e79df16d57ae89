"""How long a gateway waits for an app: an app that never answers must not hold an agent's call for ever."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from ..errors import ActionTimeout
from ..home import Home, Timer
from ..invocation import Failed, Invocation

logger = logging.getLogger("tesseron_py.gateway")

SLACK: Final = 2.0
"""Seconds beyond an action's own time, within which the app says by itself that it is up (Tesseron 1.2 §4)."""


class Patience:
    """The time an app has for one request. It stands still while the person or the model is asked.

    Args:
        home: Who keeps the time.
        seconds: How long the app may take by its own word; `SLACK` is added.
        on_end: Called once when the time is up, unless `stop` came before.
    """

    __slots__ = ("_asking", "_asking_since", "_deadline", "_home", "_on_end", "_over", "_timer")

    def __init__(self, home: Home, seconds: float, on_end: Callable[[], None]) -> None:
        self._home = home
        self._on_end = on_end
        self._over = False
        self._asking = False
        self._asking_since = 0.0
        self._deadline = home.time() + seconds + SLACK
        self._timer: Timer | None = home.call_at(self._deadline, self._look)

    def asks(self, any_open: bool) -> None:
        """Something is asked, or nothing any more."""
        if self._over or any_open == self._asking:
            return
        self._asking = any_open
        if any_open:
            self._asking_since = self._home.time()
            return
        self._deadline += self._home.time() - self._asking_since
        if self._timer is None:
            self._look()

    def stop(self) -> None:
        """The app has answered, or nobody waits for it any more."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """The time may be up. One timer that looks costs less than moving it with every question."""
        self._timer = None
        if self._asking:
            return
        if self._home.time() < self._deadline:
            self._timer = self._home.call_at(self._deadline, self._look)
        else:
            self._over = True
            self._on_end()


def late(invocation: Invocation, name: str, what: str, seconds: float) -> None:
    """Have an invocation fail since the app `name` has not answered `what` within its `seconds`, and log it."""
    message = f"{name} has not answered {what} within {seconds + SLACK:g} s"
    logger.warning("%s", message)
    invocation.finish(Failed(ActionTimeout(message)))
