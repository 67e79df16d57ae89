"""The few parts of ASGI that an HTTP endpoint needs: a request's headers, its path, its body, and one response.

Nothing here knows MCP. A `Reply` is one response: sent whole, or begun as a stream of events and ended later.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio

from .guard import Headers
from .sse import COMMENT, MEDIA_TYPE, encode

logger = logging.getLogger("tesseron_py.web.asgi")

T = TypeVar("T")

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_END = 256
"""Bytes kept of either end of a body that is too large."""
_LONGEST_LENGTH = 18
"""Digits that the length of a body may have."""
_STREAM_HEADERS: Headers = [
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class Gone(Exception):
    """The client cannot be reached any more."""


class BodyTooLarge(Exception):
    """The body of a request is above the limit; the rest of it is not read, unless `read_on` is asked to.

    Args:
        begun: What was read of it.
        more: Whether there is more.
    """

    def __init__(self, begun: bytes = b"", *, more: bool = True) -> None:
        super().__init__()
        self.head: bytes = begun[:_END]
        """How the body begins, as far as it was read."""
        self.tail: bytes = b"" if more else begun[-_END:]
        """How it ends; empty while that is not known."""
        self._more = more
        self._last = begun[-_END:]

    async def read_on(self, receive: Receive, most: int) -> None:
        """Read the rest for its end's sake, and keep none of it; no more than `most` bytes.

        Raises:
            Disconnected: The client left.
        """
        while self._more and most > 0:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part: bytes = message.get("body", b"")
            most -= len(part)
            self.head = (self.head + part[:_END])[:_END]
            self._last = (self._last + part[-_END:])[-_END:]
            self._more = message.get("more_body", False)
        if not self._more:
            self.tail = self._last


class Disconnected(Exception):
    """The client left before its request was whole."""


class BodyInterrupted(Exception):
    """The body of a request was waited for no longer.

    Args:
        closing: Because the endpoint closes; else it was late.
    """

    def __init__(self, *, closing: bool) -> None:
        super().__init__()
        self.closing = closing


class Bodies:
    """The bodies that an endpoint reads: each has so long to come, and none keeps the endpoint from closing.

    Args:
        deadline: Seconds a body has to come in.
    """

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._closed = False
        self._reading: set[anyio.CancelScope] = set()

    async def read(self, reading: Coroutine[Any, Any, T]) -> T:
        """What `reading` returns, which reads one, and enters no scope of its own.

        Raises:
            BodyInterrupted: It is late, or the endpoint closes.
        """
        # Most bodies are there with their headers, and reading them never waits: a scope for each would be in vain.
        try:
            waits = reading.send(None)
        except StopIteration as read:
            return cast(T, read.value)
        scope = anyio.CancelScope(deadline=anyio.current_time() + self._deadline)
        self._reading.add(scope)
        try:
            with scope:
                return await _Begun(reading, waits)
        finally:
            self._reading.discard(scope)
        raise BodyInterrupted(closing=self._closed)

    def close(self) -> None:
        """Wait for none any longer."""
        self._closed = True
        for scope in tuple(self._reading):
            scope.cancel()


class _Begun(Generic[T]):
    """The rest of a coroutine that has been stepped once, to where it waits for `waits`."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], waits: Any) -> None:
        self._coroutine = coroutine
        self._waits = waits

    def __await__(self) -> Generator[Any, Any, T]:
        waits, step = self._waits, self._coroutine.send
        try:
            while True:
                try:
                    sent = yield waits
                except GeneratorExit:
                    self._coroutine.close()
                    raise
                except BaseException as error:  # a cancellation, which is the coroutine's
                    waits = self._coroutine.throw(error)
                else:
                    waits = step(sent)
        except StopIteration as ended:
            return cast(T, ended.value)


class RequestHeaders:
    """The headers of one request, by their lower-case names."""

    def __init__(self, scope: Scope) -> None:
        self._pairs: Sequence[tuple[bytes, bytes]] = scope["headers"]
        self._last: dict[bytes, bytes] = dict(self._pairs)

    def all(self, name: bytes) -> Sequence[bytes]:
        """Every value, as it came."""
        if name not in self._last:
            return ()
        if len(self._last) == len(self._pairs):
            return (self._last[name],)
        return [value for given, value in self._pairs if given == name]

    def get(self, name: bytes) -> bytes | None:
        """The value; `None` when there is none. Of several the last counts; where that matters, ask for `all`."""
        value = self._last.get(name)
        return None if value is None else value.strip()


def route(scope: Scope, path: str) -> bool:
    """Whether a request is for `path`, wherever the application is mounted.

    Servers and frameworks differ in how much of the `root_path` is still in front of `path`: all of it, nothing, or
    what mounts have added to that of a proxy, which took its own part off.
    """
    given: str = scope["path"]
    root: str = scope.get("root_path", "")
    return given.endswith(path) and root.rstrip("/").endswith(given[: -len(path)])


async def read_body(receive: Receive, limit: int, declared: bytes | None) -> bytes:
    """The body of a request.

    Raises:
        BodyTooLarge: It is above `limit` bytes, or says so.
        Disconnected: The client left.
    """
    # Python reads no number of thousands of digits, and says so with an exception.
    if declared is not None and declared.isdigit() and (len(declared) > _LONGEST_LENGTH or int(declared) > limit):
        raise BodyTooLarge
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part: bytes = message.get("body", b"")
        size += len(part)
        more: bool = message.get("more_body", False)
        if size > limit:
            raise BodyTooLarge(b"".join((*parts, part)), more=more)
        if not more:
            return part if not parts else b"".join((*parts, part))
        parts.append(part)


@lru_cache(maxsize=256)
def accepts_stream(accept: bytes | None) -> bool:
    """Whether an `Accept` header allows a stream of events: it names it, or a range with it, or is not there."""
    if accept is None:
        return True
    best: tuple[int, float] = (-1, 0.0)
    for entry in accept.decode("latin-1").lower().split(","):
        kind, *params = (part.strip() for part in entry.split(";"))
        rank = {"*/*": 0, "text/*": 1, MEDIA_TYPE: 2}.get(kind, -1)
        if rank > best[0]:  # the most specific range decides
            best = (rank, _quality(params))
    return best[0] >= 0 and best[1] > 0


def _quality(params: Sequence[str]) -> float:
    for param in params:
        name, _, value = param.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


class Reply:
    """The response to one request.

    Args:
        send: The server's.
        headers: What every response to this request carries.
        write_deadline: Seconds the client has to take one message.
    """

    def __init__(self, send: Send, headers: Headers, write_deadline: float) -> None:
        self.streams: bool = False
        """Whether it has become a stream of events."""
        self._send = send
        self._headers = headers
        self._write_deadline = write_deadline

    async def whole(
        self, status: int, body: bytes = b"", *, kind: bytes = b"application/json", headers: Headers | None = None
    ) -> None:
        """Send the one and whole response; without a body it has no content type either."""
        every = [*self._headers, *(headers or ())]
        if body:
            every.append((b"content-type", kind))
        if status != 204:
            every.append((b"content-length", b"%d" % len(body)))
        try:
            await self._send({"type": "http.response.start", "status": status, "headers": every})
            await self._send({"type": "http.response.body", "body": body})
        except OSError as error:
            logger.debug("A response has nobody to go to: %s", error)

    async def event(self, text: str) -> None:
        """Send one event; the first turns the response into a stream.

        Raises:
            Gone: The client does not take it.
        """
        await self._part(encode(text))

    async def frames(self, data: bytes) -> None:
        """Send frames that are encoded already; the first turn the response into a stream.

        Raises:
            Gone: The client does not take them.
        """
        await self._part(data)

    async def comment(self) -> None:
        """Send a frame that says nothing; as the first, it turns the response into a stream.

        Raises:
            Gone: The client does not take it.
        """
        await self._part(COMMENT)

    async def end(self, text: str | None = None) -> None:
        """End the stream, with a last event, for whoever is still there."""
        try:
            await self._part(b"" if text is None else encode(text), more=False)
        except Gone as error:
            logger.debug("The end of a stream has nobody to go to: %s", error)

    async def _part(self, data: bytes, *, more: bool = True) -> None:
        with anyio.CancelScope(deadline=anyio.current_time() + self._write_deadline) as deadline:
            try:
                if not self.streams:
                    self.streams = True
                    headers = self._headers + _STREAM_HEADERS
                    await self._send({"type": "http.response.start", "status": 200, "headers": headers})
                await self._send({"type": "http.response.body", "body": data, "more_body": more})
            except OSError as error:
                raise Gone(f"The client takes no more of its stream: {error}") from error
        if deadline.cancelled_caught:
            raise Gone(f"The client has read nothing of its stream for {self._write_deadline:g} s")


async def disconnected(receive: Receive) -> None:
    """Return when the client has left, or the response is complete. Nothing of the body may be unread."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Exception as error:
        logger.debug("The server says no more of a connection, so it counts as dropped: %r", error)
