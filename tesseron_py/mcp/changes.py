"""Changes that wait for a client to be told: coalesced, so that a slow or absent reader costs one entry each.

A hundred changes of one list are one message, and of a resource the newest news is that it has news. It knows neither
the session nor the carrier that tells them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from .envelope import notification_text
from .messages import LOG_LEVELS, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED
from .notes import log_text
from .provider import Change, Logged, ResourcesChanged, ResourceUpdated, ToolsChanged

MAX_LOGGED = 64
"""Log entries that wait; the oldest go first."""


class Changes:
    """What one client has still to be told. As long as its session follows a bounded number of URIs, it is bounded.

    Args:
        text: The notification for a change; `change_text` by default.

    Example:
        ```python
        changes.add(ToolsChanged())
        await changes.wait()
        await changes.tell(outbox.put)
        ```
    """

    def __init__(self, text: Callable[[Change], str] | None = None) -> None:
        self._text = text or change_text
        self._waiting: dict[Change, None] = {}
        self._event: anyio.Event | None = None

    def add(self, change: Change) -> None:
        if isinstance(change, Logged):
            logged = [waiting for waiting in self._waiting if isinstance(waiting, Logged)]
            if len(logged) >= MAX_LOGGED:
                del self._waiting[logged[0]]
        self._waiting[change] = None
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        """Return as soon as there is something to take."""
        while not self._waiting:
            if self._event is None:
                self._event = anyio.Event()
            await self._event.wait()

    async def tell(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send what waits, oldest change first. What could not be sent still waits."""
        while self._waiting:
            change = next(iter(self._waiting))
            del self._waiting[change]
            try:
                await send(self._text(change))
            except BaseException:
                self._waiting.setdefault(change)
                raise


def change_text(change: Change, meta: Mapping[str, Any] | None = None) -> str:
    """The notification that tells a client of `change`; `meta` goes with it."""
    params: dict[str, Any] = {} if meta is None else {"_meta": meta}
    match change:
        case ToolsChanged():
            method = TOOLS_CHANGED
        case ResourcesChanged():
            method = RESOURCES_CHANGED
        case Logged():
            # Its level was looked at when it was added.
            return log_text(change.entry, LOG_LEVELS[0], change.name) or ""
        case ResourceUpdated():
            method, params["uri"] = RESOURCE_UPDATED, change.uri
    return notification_text(method, params or None)
