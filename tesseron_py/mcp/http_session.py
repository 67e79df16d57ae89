"""One session over HTTP: how long it has been idle, and what its GET stream has still to tell.

The session's answers are `legacy.py`'s; which request belongs to which session is `http.py`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

import anyio

from ..home import Home, Timer
from ..web.asgi import Gone, Receive, Reply, disconnected
from .changes import Changes
from .envelope import Request
from .http_response import HttpOutlet, respond
from .legacy import LegacySession
from .limits import EndpointLimits
from .messages import HTTP_VERSIONS
from .provider import Provider
from .readiness import Readiness
from .repeats import Repeats

logger = logging.getLogger("tesseron_py.mcp.http")


class HttpSession:
    """A session.

    Args:
        id: What its requests carry as `Mcp-Session-Id`.
        provider: What it is served.
        principal: Whose it is.
        readiness: Whether the provider is ready.
        limits: The endpoint's numbers.
        home: Who keeps its time.
        repeats: The calls that can be repeated without doing anything twice, those of other sessions among them.
        on_idle: Called when it has been idle for too long.
    """

    def __init__(
        self,
        id: bytes,
        provider: Provider,
        *,
        principal: str,
        readiness: Readiness,
        limits: EndpointLimits,
        home: Home,
        repeats: Repeats,
        on_idle: Callable[[HttpSession], None],
    ) -> None:
        self.id = id
        self._readiness = readiness
        self._limits = limits
        self._home = home
        self._on_idle = on_idle
        self._changes = Changes()
        self.mcp: LegacySession = LegacySession(
            provider,
            principal=principal,
            readiness=readiness,
            limits=limits,
            on_change=self._changes.add,
            repeats=repeats,
            versions=HTTP_VERSIONS,
        )
        self._stream: anyio.CancelScope | None = None
        self._used = 0.0
        self._timer: Timer | None = None

    def begin(self) -> None:
        """It is a session from now on, and its idle time runs."""
        self.touch()
        self._look_in(self._limits.idle)

    def touch(self) -> None:
        """It is in use: its idle time begins anew."""
        self._used = monotonic()  # with every request, so not by way of anyio

    def end(self, reason: str) -> None:
        """Its calls are cancelled, its stream ends."""
        if self._timer is not None:
            self._timer.cancel()
        if self._stream is not None:
            self._stream.cancel()
        self.mcp.close(reason)

    async def answer(self, request: Request, reply: Reply, receive: Receive, *, can_stream: bool) -> None:
        """Answer a request. When its connection drops, its call is given up."""
        outlet = HttpOutlet(reply, self._limits, can_stream=can_stream)
        exchange = self.mcp.open(request, outlet)
        try:
            await respond(exchange, outlet, receive, home=self._home, readiness=self._readiness, limits=self._limits)
        finally:
            self.touch()

    async def tell(self, reply: Reply, receive: Receive) -> None:
        """Tell of changes on a GET stream, until the client or the session ends it or a newer one takes its place."""
        if self._stream is not None:
            self._stream.cancel()
        self.mcp.listen()
        with anyio.CancelScope() as scope:
            self._stream = scope
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(_watch_stream, receive, group.cancel_scope)
                    await self._tell(reply)
                    group.cancel_scope.cancel()
            finally:
                if self._stream is scope:
                    self._stream = None
        if scope.cancelled_caught:
            await reply.end()
        self.touch()

    async def _tell(self, reply: Reply) -> None:
        try:
            await reply.comment()  # the headers go out with it
            while True:
                with anyio.move_on_after(self._limits.silence) as silence:
                    await self._changes.wait()
                if silence.cancelled_caught:
                    await reply.comment()
                await self._changes.tell(reply.event)
        except Gone as error:
            logger.debug("A GET stream ends: %s", error)

    def _look_in(self, seconds: float) -> None:
        self._timer = self._home.call_at(self._home.time() + seconds, self._look)

    def _look(self) -> None:
        """Its idle time may be over. One timer looks now and then, since moving one with every request costs more."""
        rest = self._used + self._limits.idle - monotonic()
        if self.mcp.running or self._stream is not None:
            self._look_in(self._limits.idle)
        elif rest > 0:
            self._look_in(rest)
        else:
            self._on_idle(self)


async def _watch_stream(receive: Receive, scope: anyio.CancelScope) -> None:
    await disconnected(receive)
    scope.cancel()
