"""The gateway's end of one HTTP connection: a `Channel` whose other half is whatever requests the app makes.

It owns the order (sequence numbers in, event numbers out), what is kept until it is acknowledged, and the times after
which the app counts as gone. Which request belongs to which connection, and statuses, are `http_endpoint`'s.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from ..home import Home, Timer
from ..jsontext import decode
from ..web.asgi import Gone, Receive, Reply, disconnected
from ..web.sse import encode
from .channel import Closed, check_size
from .http_wire import HttpLimits, Signal

logger = logging.getLogger("tesseron_py.bindings.http")

BATCH = 65536
"""Bytes after which no further event joins those that are written at once."""
PACE = 64
"""Messages in a row that need no waiting before the event loop gets its turn all the same."""


class EventLog:
    """The events that the app has not acknowledged, as frames, numbered 1, 2, 3, …"""

    def __init__(self, limits: HttpLimits) -> None:
        self.acknowledged: int = 0
        """The number of the last event that is not kept any more."""
        self._limits = limits
        self._frames: deque[bytes] = deque()
        self._size = 0

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self.acknowledged + len(self._frames)

    def has_room(self, size: int) -> bool:
        """Whether an event of `size` bytes may be added; an empty log takes any."""
        if not self._frames:
            return True
        return len(self._frames) < self._limits.events and self._size + size <= self._limits.event_bytes

    def add(self, text: str) -> None:
        frame = encode(text, id=str(self.last + 1))
        self._frames.append(frame)
        self._size += len(frame)

    def acknowledge(self, number: int) -> None:
        """Forget what is up to `number`."""
        while self.acknowledged < number and self._frames:
            self._size -= len(self._frames.popleft())
            self.acknowledged += 1

    def after(self, number: int) -> list[bytes]:
        """Some of the frames that come after `number`, oldest first."""
        frames: list[bytes] = []
        size = 0
        for index in range(number - self.acknowledged, len(self._frames)):
            frame = self._frames[index]
            frames.append(frame)
            size += len(frame)
            if size >= BATCH:
                break
        return frames

    def clear(self) -> None:
        self.acknowledge(self.last)


class HttpConnection:
    """One connection, from its opening request to its end. A `Channel`: the opening's message is received first.

    The answer to it is not sent as an event; it is what the opening request is answered with.

    Args:
        opening: The opening message.
        id: Its JSON-RPC id.
        limits: The numbers.
        home: Who keeps its time.
        on_end: Called once, when requests may not find it any more.
    """

    def __init__(
        self, opening: str, id: Any, *, limits: HttpLimits, home: Home, on_end: Callable[[HttpConnection], None]
    ) -> None:
        self.id: bytes = secrets.token_urlsafe(16).encode()
        """What the app names it by."""
        self.answered: Any = anyio.Event()
        """Set when the opening has its answer, or never will."""
        self.answer: str | None = None
        """The answer to the opening."""
        self.is_open: bool = False
        """Whether the answer was a result; an error opens no connection."""
        self.used: bool = False
        """Whether the app has made a request with the connection's id. Before, the answer to its opening may have got
        lost, and it may open another connection, with the resume token it had before."""
        self._opening_id = id
        self._limits = limits
        self._home = home
        self._on_end = on_end
        self._ended: Closed | None = None
        self._left = anyio.Event()
        self._inbox: deque[str] = deque([opening])
        self._inbox_bytes = 0
        self._arrives = Signal()
        self._drains = Signal()
        self._taken = 0
        self._post: anyio.CancelScope | None = None
        self._log = EventLog(limits)
        self._turn = anyio.Lock(fast_acquire=True)
        self._unpaced = 0
        self._grows = Signal()
        self._shrinks = Signal()
        self._stream: anyio.CancelScope | None = None
        self._heard = 0.0
        self._streamed = 0.0
        self._timer: Timer | None = None

    # The channel

    @property
    def limit(self) -> int:
        return self._limits.frame

    async def send(self, text: str) -> None:
        size = len(check_size(text, self._limits.frame))
        self._unpaced += 1
        if self._unpaced > PACE:
            self._unpaced = 0
            await checkpoint()
        if not self.answered.is_set() and self._take_answer(text):
            return
        async with self._turn:
            await self._wait_for_room(size)
            self._log.add(text)
        self._grows.wake()

    async def _wait_for_room(self, size: int) -> None:
        while self._ended is None and not self._log.has_room(size):
            with anyio.move_on_after(self._limits.stall) as stall:
                await self._shrinks.wait()
            if stall.cancelled_caught:
                self.drop(f"the app has acknowledged nothing for {self._limits.stall:g} s, and no more can be kept")
        if self._ended is not None:
            raise Closed(self._ended.reason, self._ended.code)

    def _take_answer(self, text: str) -> bool:
        try:
            message = decode(text)
        except ValueError:
            return False
        if not isinstance(message, dict) or "method" in message or not ("result" in message or "error" in message):
            return False
        id = message.get("id", self)  # which no id equals
        if type(id) is not type(self._opening_id) or id != self._opening_id:
            return False
        if self._ended is not None:
            raise Closed(self._ended.reason, self._ended.code)
        self.answer = text
        if "result" in message:
            self.is_open = True
            self._heard = self._streamed = self._home.time()
            self._keep_time()
        self.answered.set()
        if not self.is_open:
            self._end(Closed("the opening was refused", 1000))
        return True

    async def receive(self) -> str:
        self._unpaced += 1
        if self._unpaced > PACE:
            self._unpaced = 0
            await checkpoint()
        while not self._inbox:
            if self._ended is not None:
                raise Closed(self._ended.reason, self._ended.code)
            await self._arrives.wait()
        text = self._inbox.popleft()
        self._inbox_bytes -= len(text)
        self._drains.wake()
        return text

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._ended is None:
                self._retire(Closed("closed by this end", 1000))
                with anyio.move_on_after(self._limits.linger):
                    # The app may fetch what was said before.
                    while self.is_open and self._log.acknowledged < self._log.last and not self._left.is_set():
                        await self._shrinks.wait()
                self._leave()
            await self._left.wait()

    # What the app's requests do

    @property
    def is_ended(self) -> bool:
        """Whether nothing more is taken; what was said before may still be fetched."""
        return self._ended is not None

    def touch(self) -> None:
        """The app has made a request."""
        self.used = True
        self._heard = self._home.time()

    @property
    def expected(self) -> int:
        """The number of the app's next message."""
        return self._taken + 1

    async def post(self, number: int, read: Callable[[], Awaitable[str]]) -> bool:
        """Take message `number`, whose text `read` reads; `False` when it is not the next one.

        A newer request with the same message takes the place of one that is still under way: the app makes a second one
        only when it has given up the first.
        """
        if number != self.expected:
            return number < self.expected
        if self._post is not None:
            self._post.cancel()
        with anyio.CancelScope() as scope:
            self._post = scope
            try:
                text = await read()
                while self._ended is None and self._inbox_is_full:
                    await self._drains.wait()
                if self._ended is None and number == self.expected:
                    self._taken = number
                    self._inbox.append(text)
                    self._inbox_bytes += len(text)
                    self._arrives.wake()
            finally:
                if self._post is scope:
                    self._post = None
        return number < self.expected

    @property
    def _inbox_is_full(self) -> bool:
        return len(self._inbox) >= self._limits.inbox or self._inbox_bytes >= self._limits.inbox_bytes

    def acknowledge(self, number: int) -> bool:
        """The app has every event up to `number`; `False` when there was no such event."""
        if number > self._log.last:
            return False
        if number > self._log.acknowledged:
            self._log.acknowledge(number)
            self._shrinks.wake()
        return True

    def keeps(self, number: int) -> bool:
        """Whether every event after `number` is still kept."""
        return self._log.acknowledged <= number <= self._log.last

    @property
    def is_told(self) -> bool:
        """Whether the app has acknowledged everything."""
        return self._log.acknowledged == self._log.last

    async def tell(self, reply: Reply, receive: Receive) -> None:
        """Stream the events that are not acknowledged, and those to come, until the app, the end or a newer stream."""
        if self._stream is not None:
            self._stream.cancel()
        with anyio.CancelScope() as scope:
            self._stream = scope
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(_watch, receive, group.cancel_scope)
                    await self._tell(reply)
                    group.cancel_scope.cancel()
            finally:
                if self._stream is scope:
                    self._stream = None
                    self._streamed = self._home.time()
        await reply.end()

    async def _tell(self, reply: Reply) -> None:
        cursor = self._log.acknowledged
        try:
            await reply.comment()  # the headers go out with it
            while True:
                cursor = max(cursor, self._log.acknowledged)
                if frames := self._log.after(cursor):
                    await reply.frames(b"".join(frames))
                    cursor += len(frames)
                elif self._ended is not None:
                    return
                else:
                    with anyio.move_on_after(self._limits.silence) as silence:
                        await self._grows.wait()
                    if silence.cancelled_caught:
                        await reply.comment()
        except Gone as gone:
            logger.debug("A stream of events ends: %s", gone)

    # Its end

    def drop(self, reason: str, code: int = 1006) -> None:
        """The app is gone, or says so: end at once, whatever was not fetched."""
        if not self._left.is_set():
            if self._ended is None:
                logger.debug("A connection over HTTP ends: %s", reason)
            self._end(Closed(reason, code))

    def _end(self, why: Closed) -> None:
        self._retire(why)
        self._log.clear()
        self._leave()

    def _retire(self, why: Closed) -> None:
        """Take nothing more; wake whoever waits."""
        if self._ended is None:
            self._ended = why
        self.answered.set()
        for signal in (self._arrives, self._drains, self._grows, self._shrinks):
            signal.wake()

    def _leave(self) -> None:
        """No request finds it from now on."""
        if not self._left.is_set():
            self._left.set()
            if self._timer is not None:
                self._timer.cancel()
            if self._stream is not None:
                self._stream.cancel()
            self._on_end(self)

    def _keep_time(self) -> None:
        """Look at what is due. One timer looks now and then, since moving one with every request costs more."""
        now, heard_until = self._home.time(), self._heard + self._limits.unheard
        streamed_until = (
            now + self._limits.streamless if self._stream is not None else self._streamed + self._limits.streamless
        )
        if now >= heard_until:
            self.drop(f"the app made no request for {self._limits.unheard:g} s")
        elif now >= streamed_until:
            self.drop(f"the app has had no stream for {self._limits.streamless:g} s")
        elif self._home.is_open:
            self._timer = self._home.call_at(min(heard_until, streamed_until), self._keep_time)


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    await disconnected(receive)
    scope.cancel()
