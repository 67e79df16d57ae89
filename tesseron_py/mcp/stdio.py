"""An MCP server on a pair of pipes: one JSON object a line, one client, from its first line to its last.

It owns the order of what goes out and what runs for the client meanwhile. `serve` takes any duplex of lines;
`serve_stdin_stdout` is the process's own (`spec/mcp.md` §5). Signals are the command line's.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import anyio

from ..home import Home
from ..web.asgi import Gone
from ..web.guard import LOCAL
from .changes import Changes
from .envelope import Answer, Id, Invalid, Notification, Request, is_id, parse, unreadable
from .exchange import Exchange
from .leg import Leg
from .legacy import LegacySession
from .limits import EndpointLimits
from .listening import Listening
from .messages import CANCELLED, INVALID_REQUEST, ProtocolError
from .modern import ModernServer, speaks_modern
from .pipes import LineTooLong, StandardLines, own_standard_streams
from .provider import Provider
from .readiness import Readiness
from .repeats import Repeats

logger = logging.getLogger("tesseron_py.mcp.stdio")


class Lines(Protocol):
    """A duplex of lines to one client; a `Channel` of the bindings is one."""

    @property
    def limit(self) -> int:
        """Bytes one line may have."""
        ...

    async def send(self, text: str) -> None: ...

    async def receive(self) -> str | bytes: ...


async def serve(
    lines: Lines,
    provider: Provider,
    *,
    principal: str = LOCAL,
    limits: EndpointLimits | None = None,
    state_keys: Sequence[str] = (),
    closed: type[Exception] | tuple[type[Exception], ...] = EOFError,
    on_end: Callable[[], None] | None = None,
) -> None:
    """Serve one client until its input ends.

    At the end its calls are cancelled, its prompts withdrawn and what is still to be sent is sent, within a bounded
    time; the same when the serving task is cancelled.

    Args:
        lines: Where the client is. It is not closed here.
        provider: What it is served.
        principal: Whose client it is.
        limits: The endpoint's numbers.
        state_keys: Secrets that the `requestState` of calls which ask is sealed with; see `Seal`.
        closed: What `lines` raises when the other end is gone.
        on_end: Called when the input has ended, before what runs is brought to its end.

    Example:
        ```python
        here, there = memory.pair()
        await serve(here, provider, closed=Closed)
        ```
    """
    limits = limits or EndpointLimits()
    home = Home("the MCP server on stdio")
    await home.open()
    try:
        await _Server(lines, provider, principal, limits, closed, home, state_keys).run(on_end or _nothing)
    finally:
        await home.aclose(grace=limits.closing)


async def serve_stdin_stdout(
    provider: Provider,
    *,
    principal: str = LOCAL,
    limits: EndpointLimits | None = None,
    state_keys: Sequence[str] = (),
    on_end: Callable[[], None] | None = None,
) -> None:
    """Serve the client at this process's standard input and output, until its input ends.

    Meanwhile anything printed goes to standard error. To stop earlier, cancel the task.

    Args:
        provider: What it is served. Its `ready()` may take its time: `initialize` is answered before that.
        principal: Whose client it is.
        limits: The endpoint's numbers.
        on_end: Called when the input has ended, before what runs is brought to its end.
    """
    limits = limits or EndpointLimits()
    with own_standard_streams() as (incoming, outgoing):
        lines = StandardLines(incoming, outgoing, limit=limits.line)
        try:
            await serve(lines, provider, principal=principal, limits=limits, state_keys=state_keys, on_end=on_end)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(limits.closing):
                await lines.aclose()


class _Outbox:
    """What is to be sent, in order. A client that takes nothing in time is gone, and so is whoever waits for it."""

    def __init__(self, lines: Lines, limits: EndpointLimits, closed: type[Exception] | tuple[type[Exception], ...]):
        self.gone = False
        self.on_gone: Callable[[], None] = _nothing
        self._lines = lines
        self._limits = limits
        self._closed = closed
        self._texts: deque[str] = deque()
        self._size = 0
        self._filled = anyio.Event()
        self._drained = anyio.Event()
        self._sending = False

    async def put(self, text: str) -> None:
        """Queue one message; waits while too many are queued.

        Raises:
            Gone: The client takes no more.
        """
        while self._full and not self.gone:
            await self._drained.wait()
        if self.gone:
            raise Gone("The client takes no more messages")
        self._texts.append(text)
        self._size += len(text)
        self._filled.set()

    @property
    def _full(self) -> bool:
        return len(self._texts) >= self._limits.unsent or self._size > 2 * self._limits.line

    async def run(self) -> None:
        """Send what is queued, as long as the client takes it."""
        try:
            while await self._send_next():
                pass
        except self._closed as error:
            logger.debug("The client reads no more: %s", error)
        finally:
            self.gone = True
            self._wake()
            self.on_gone()

    async def _send_next(self) -> bool:
        if not self._texts:
            self._filled = anyio.Event()
            self._wake()
            await self._filled.wait()
        self._sending = True
        text = self._texts.popleft()
        self._size -= len(text)
        with anyio.CancelScope(deadline=anyio.current_time() + self._limits.write_deadline) as deadline:
            await self._lines.send(text)
        if deadline.cancelled_caught:
            logger.warning("The client has read nothing for %g s; it is given up", self._limits.write_deadline)
            return False
        self._sending = False
        if not self._full:
            self._wake()
        return True

    async def flush(self) -> None:
        """Return once everything queued is sent, or cannot be."""
        while (self._texts or self._sending) and not self.gone:
            await self._drained.wait()

    def _wake(self) -> None:
        self._drained.set()
        self._drained = anyio.Event()


def _nothing() -> None:
    pass


class _Outlet:
    """A request's own messages are lines like any other; whose they are, their ids and tokens say."""

    can_stream = True

    def __init__(self, outbox: _Outbox, line: int) -> None:
        self.frame = line
        self.room = line
        self._outbox = outbox

    async def send(self, text: str) -> None:
        await self._outbox.put(text)

    async def keep_alive(self) -> None:
        """Nothing: a pipe that is silent is not taken for dead."""


class _Server:
    """One client on its lines."""

    def __init__(
        self,
        lines: Lines,
        provider: Provider,
        principal: str,
        limits: EndpointLimits,
        closed: type[Exception] | tuple[type[Exception], ...],
        home: Home,
        state_keys: Sequence[str],
    ) -> None:
        self._lines = lines
        self._limits = limits
        self._closed = closed
        self._home = home
        self._outbox = _Outbox(lines, limits, closed)
        self._outlet = _Outlet(self._outbox, min(limits.line, lines.limit))
        self._changes = Changes()
        self._readiness = Readiness(provider, home)
        repeats = Repeats(home)
        self._session = LegacySession(
            provider,
            principal=principal,
            readiness=self._readiness,
            limits=limits,
            on_change=self._changes.add,
            repeats=repeats,
        )
        self._modern = ModernServer(
            provider,
            principal=principal,
            readiness=self._readiness,
            limits=limits,
            home=home,
            repeats=repeats,
            state_keys=state_keys,
        )
        self._modern_running: dict[Id, Leg | Listening] = {}
        self._idle = anyio.Event()
        self._exchanges = 0

    async def run(self, on_end: Callable[[], None]) -> None:
        # Whatever runs for the client is the home's, not this task's: when this task is cancelled, the prompts still
        # have to be withdrawn.
        self._home.start(self._outbox.run, name="sending on stdio")
        self._home.start(self._tell_changes, name="telling changes on stdio")
        try:
            with anyio.CancelScope() as scope:
                self._outbox.on_gone = scope.cancel
                await self._read()
        finally:
            on_end()
            with anyio.CancelScope(shield=True), anyio.move_on_after(self._limits.closing):
                self._session.close("The client's input has ended")
                self._modern.close("The client's input has ended")
                while self._exchanges and not self._outbox.gone:
                    await self._idle.wait()
                await self._outbox.flush()

    async def _read(self) -> None:
        while not self._outbox.gone:
            try:
                line = await self._lines.receive()
            except LineTooLong as error:
                reason = f"Invalid request: {error}"
                await self._tell(unreadable(INVALID_REQUEST, reason, error.line.head, error.line.tail))
                continue
            except self._closed as error:
                logger.debug("The client's input has ended: %s", error)
                return
            if line.strip():
                await self._take(line)

    async def _take(self, line: str | bytes) -> None:
        match parse(line):
            case Request() as request:
                exchange = self._open(request)
                if exchange.over:
                    await self._say(exchange.finish())
                else:
                    self._exchanges += 1
                    self._home.start(self._carry, exchange, name=f"MCP {request.method}")
            case Notification() as notification:
                self._session.notified(notification)
                self._cancel_modern(notification)
            case Answer() as answer:
                self._session.answered(answer)
            case Invalid() as invalid:
                await self._tell(invalid)

    def _open(self, request: Request) -> Exchange | Listening:
        """Begin with a request of either era: which one, each message says for itself."""
        modern = speaks_modern(request.method, request.params)
        if request.id in self._modern_running or (modern and self._session.is_running(request.id)):
            message = f"The id {request.id!r} belongs to a request that is still running; use another"
            return self._modern.refused(request, self._outlet, ProtocolError(INVALID_REQUEST, message))
        if not modern:
            return self._session.open(request, self._outlet)
        conversation = self._modern.open(request, self._outlet)
        if not conversation.over:
            self._modern_running[request.id] = conversation
        return conversation

    def _cancel_modern(self, notification: Notification) -> None:
        if notification.method == CANCELLED and isinstance(notification.params, Mapping):
            id = notification.params.get("requestId")
            conversation = self._modern_running.get(id) if is_id(id) else None
            if conversation is not None:
                conversation.cancel("The client cancelled the call")

    async def _tell(self, invalid: Invalid) -> None:
        if not self._session.spoiled(invalid):
            await self._say(invalid.reply())

    async def _carry(self, exchange: Exchange | Listening) -> None:
        try:
            await exchange.run(self._readiness)
            await self._say(exchange.finish())
        finally:
            exchange.finish()
            if self._modern_running.get(exchange.request.id) is exchange:
                del self._modern_running[exchange.request.id]
            self._exchanges -= 1
            if not self._exchanges:
                self._idle.set()
                self._idle = anyio.Event()

    async def _tell_changes(self) -> None:
        while True:
            await self._changes.wait()
            await self._changes.tell(self._say)

    async def _say(self, text: str | None) -> None:
        """Say something to whoever is there; when nobody is, serving ends anyway."""
        if text is None:
            return
        try:
            await self._outbox.put(text)
        except Gone as error:
            logger.debug("%s", error)
