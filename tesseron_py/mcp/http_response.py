"""The response to one request over HTTP: JSON, or in place a stream of events, as long as somebody is there to read it.

What the response says is the exchange's; the statuses of what is no request are `http.py`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from ..home import Home, Task
from ..web.asgi import Gone, Receive, Reply, disconnected
from .limits import EndpointLimits
from .readiness import Readiness


class Conversation(Protocol):
    """What answers a request: an `Exchange` or a `Listening`."""

    status: int

    @property
    def over(self) -> bool: ...
    async def settle(self) -> None: ...
    async def run(self, readiness: Readiness, /) -> None: ...
    def cancel(self, reason: str, /) -> None: ...
    def finish(self) -> str | None: ...


class HttpOutlet:
    """The one response of a POST: JSON, until something has to be sent before the result is there."""

    def __init__(self, reply: Reply, limits: EndpointLimits, *, can_stream: bool) -> None:
        self.can_stream = can_stream
        self.frame: int = limits.frame
        self.gone: bool = False
        """Whether nobody is there to take a response."""
        self._reply = reply
        self._json = limits.json

    @property
    def room(self) -> int:
        return self.frame if self._reply.streams else self._json

    async def send(self, text: str) -> None:
        await self._take(self._reply.event, text)

    async def keep_alive(self) -> None:
        await self._take(self._reply.comment)

    async def conclude(self, text: str | None, status: int = 200) -> None:
        """End the response: with the result, or without one."""
        if self.gone:
            return
        if self._reply.streams:
            await self._reply.end(text)
        elif text is None:
            await self._reply.whole(202)
        else:
            await self._reply.whole(status, text.encode())

    async def _take(self, send: Callable[..., Awaitable[None]], *args: str) -> None:
        if self.gone:
            raise Gone("The client dropped the connection of the call")
        try:
            await send(*args)
        except Gone:
            self.gone = True
            raise


async def respond(
    conversation: Conversation,
    outlet: HttpOutlet,
    receive: Receive,
    *,
    home: Home,
    readiness: Readiness,
    limits: EndpointLimits,
) -> None:
    """Answer a request. When its connection drops, it is given up."""
    watch: Task | None = None
    try:
        try:
            # Most calls end within a moment; only one that does not is worth a second task on its connection.
            await conversation.settle()
            if not conversation.over:
                watch = home.start(_watch, receive, conversation, outlet, name="watching a connection")
                await conversation.run(readiness)
        finally:
            text = conversation.finish()
        await outlet.conclude(text, conversation.status)
    finally:
        if watch is not None:
            # A server ends it by itself once the response is complete, which costs half of ending it from here.
            home.call_at(home.time() + limits.closing, watch.cancel)


async def _watch(receive: Receive, conversation: Conversation, outlet: HttpOutlet) -> None:
    await disconnected(receive)
    outlet.gone = True
    conversation.cancel("The client dropped the connection of the call")
