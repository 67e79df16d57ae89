"""`Listener`: how a client hears of changes in the modern era, on one `subscriptions/listen` stream.

It owns the stream: it is opened anew when the set of followed resources changes, the old one closed only when the new
one is acknowledged, and again when it breaks. What comes on it is passed on.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import anyio

from ..home import Home
from .client_errors import ClientError, McpError, NoAnswer, RequestTimeout, TransportEnded
from .client_peer import Notice

logger = logging.getLogger("tesseron_py.mcp.client")

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = 30.0
ACKNOWLEDGEMENT: Final = 30.0
"""Seconds a server has to acknowledge a subscription, where the client has no timeout of its own."""


class Request(Protocol):
    """Sends `subscriptions/listen` and returns when the stream is over."""

    def __call__(self, method: str, params: Mapping[str, Any], *, on_notice: Notice) -> Awaitable[Any]: ...


class _Stream:
    """One `subscriptions/listen` request."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self.wanted = wanted
        self.scope = anyio.CancelScope()
        self.settled = anyio.Event()
        """Set once it is acknowledged, or over."""
        self.honoured: Mapping[str, Any] = {}
        self.error: ClientError | None = None

    def over(self, error: ClientError) -> None:
        self.error = error
        self.settled.set()


class Listener:
    """Follows the lists and resources of one server.

    Args:
        request: Sends the request.
        home: Where the stream is kept open.
        notice: Told what comes on it, as of any notification; returns at once.
        renewed: Called when a stream has broken and there is another: what came between is lost.
    """

    def __init__(self, request: Request, home: Home, notice: Notice, renewed: Callable[[], None]) -> None:
        self._request = request
        self._home = home
        self._notice = notice
        self._renewed = renewed
        self._lists: dict[str, bool] = {}
        self._uris: dict[str, None] = {}
        self._current: _Stream | None = None
        self._opening: _Stream | None = None
        self._changing = anyio.Lock()
        self._pause = FIRST_RETRY

    async def follow_lists(self, lists: Mapping[str, bool], timeout: float | None) -> None:
        """Follow lists, such as `{"toolsListChanged": True}`. A server that refuses is left in peace."""
        async with self._changing:
            self._lists = dict(lists)
            try:
                await self._renew(timeout)
            except (McpError, NoAnswer, RequestTimeout) as error:
                logger.debug("The server has no stream for changes: %s", error)

    async def follow(self, uri: str, timeout: float | None) -> None:
        """Follow a resource.

        Raises:
            NoAnswer: The server does not tell of its changes.
            ClientError: There is no stream to be had.
        """
        async with self._changing:
            if uri in self._uris:
                return
            self._uris[uri] = None
            try:
                stream = await self._renew(timeout)
            except BaseException:
                del self._uris[uri]
                raise
            uris = stream.honoured.get("resourceSubscriptions") if stream is not None else None
            if not isinstance(uris, list) or uri not in uris:
                del self._uris[uri]
                raise NoAnswer(f"The server does not tell of changes of {uri}")

    async def unfollow(self, uri: str, timeout: float | None) -> None:
        """Follow it no longer.

        Raises:
            ClientError: There is no stream for the rest; the old one stays.
        """
        async with self._changing:
            if uri in self._uris:
                del self._uris[uri]
                await self._renew(timeout)

    async def _renew(self, timeout: float | None) -> _Stream | None:
        """Open a stream for what is wanted now, and close the old one; the caller holds the lock."""
        wanted: dict[str, Any] = dict(self._lists)
        if self._uris:
            wanted["resourceSubscriptions"] = list(self._uris)
        if not wanted:
            self._replace(None)
            return None
        if not self._home.is_open:
            raise TransportEnded("The client is closed")
        stream = self._opening = _Stream(wanted)
        self._home.start(self._keep, stream, name="MCP client: listens for changes")
        seconds = ACKNOWLEDGEMENT if timeout is None else timeout
        try:
            with anyio.move_on_after(seconds):
                await stream.settled.wait()
        finally:
            self._opening = None
            if not stream.settled.is_set():
                stream.scope.cancel()
        if not stream.settled.is_set():
            raise RequestTimeout(f"{LISTEN}: not acknowledged within {seconds:g} s")
        if self._current is not stream:
            raise stream.error or NoAnswer("The server ended the subscription")
        return stream

    def _replace(self, stream: _Stream | None) -> None:
        old, self._current = self._current, stream
        if old is not None:
            old.scope.cancel()

    async def _keep(self, stream: _Stream) -> None:
        """Keep one stream open to its end, and see to the next one where it broke."""
        opened = self._home.time()
        with stream.scope:
            await self._run(stream)
        if self._home.time() - opened > LAST_RETRY:
            self._pause = FIRST_RETRY
        while self._current is stream and not isinstance(stream.error, TransportEnded | None):
            logger.debug("The stream for changes is over: %s", stream.error)
            await anyio.sleep(self._pause)
            self._pause = min(self._pause * 2, LAST_RETRY)
            async with self._changing:
                if self._current is stream:
                    try:
                        await self._renew(None)
                        self._renewed()
                    except TransportEnded:
                        return
                    except ClientError as error:
                        stream.error = error

    async def _run(self, stream: _Stream) -> None:
        def take(method: str, params: dict[str, Any]) -> None:
            if method == ACKNOWLEDGED:
                honoured = params.get("notifications")
                stream.honoured = honoured if isinstance(honoured, dict) else {}
                if self._opening is stream:  # done here, since what follows may be read before anybody else runs
                    self._opening = None
                    self._replace(stream)
                    stream.settled.set()
            elif self._current is stream:
                self._notice(method, params)

        try:
            await self._request(LISTEN, {"notifications": stream.wanted}, on_notice=take)
        except ClientError as error:
            stream.over(error)
        else:
            stream.over(NoAnswer("The server ended the subscription"))
