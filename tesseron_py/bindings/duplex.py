"""One connected socket: bytes in as they come, messages out whole or not at all.

It owns the socket's file descriptor and the order of what is written; it knows no framing, which is `websocket`'s.

The socket is waited for and used directly: a stream of anyio's does not tell how much of a cancelled `send` is out (on
trio), and discards what it has not written when it is closed (on asyncio). It also saves a round through the event loop
for each message, since a write that the kernel takes at once waits for nothing.
"""

from __future__ import annotations

import math
import socket
from collections import deque

import anyio

from .channel import Closed
from .loopback import send_at_once
from .readable import Readable

CHUNK = 65536
"""Bytes one read takes at most."""
BULK = 4 * CHUNK
"""Bytes one read takes at most after one that was full: large messages are worth larger buffers."""
STALL = 30.0
"""Seconds a peer may read nothing while something waits to be written; then it is dropped."""
NOTHING = memoryview(b"")


class Duplex:
    """A connected socket; one task reads, any number write.

    A writer whose bytes the kernel does not take at once has the turn until they are out, and the others queue behind
    it, each holding its own message: nothing else is buffered. A writer that is cancelled before its first byte is out
    has sent nothing. One that is cancelled in the middle leaves the remainder to the next in the queue; when there is
    none, it stays until the message is out, the peer has stalled, or the socket is closed.

    Args:
        sock: A connected stream socket. It is made non-blocking, and is closed by `close` alone.
        stall: Seconds the peer may read nothing while something waits to be written.
    """

    def __init__(self, sock: socket.socket, *, stall: float = STALL) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._readable = Readable(sock)
        self._stall = stall
        self._sealed: Closed | None = None
        self._closed: Closed | None = None
        self._reading = False
        self._chunk = CHUNK
        self._expelled: anyio.Event | None = None
        # Who has the turn: an event of `_turns`, this object for a writer that did not queue, or nobody.
        self._writer: object | None = None
        self._turns: deque[anyio.Event] = deque()
        # What must go out before anything else. Of a message of which no byte is out, `_begun` is false.
        self._rest = NOTHING
        self._begun = False
        self._notice = b""
        self._deadline = math.inf
        self._waits_to_write = False
        self._lingering: anyio.CancelScope | None = None

    def send_at_once(self) -> None:
        """Have small messages sent at once, on a transport that would else collect them."""
        send_at_once(self._sock)

    async def read(self) -> bytes:
        """What has come, at most `BULK` bytes; empty at the end of the stream. Cancelling it loses nothing.

        Raises:
            Closed: The socket is closed, or broke; or `expel` has ended this read.
            anyio.BusyResourceError: Another task reads.
        """
        if self._reading:
            raise anyio.BusyResourceError("reading from")
        while self._closed is None:
            self._reading = True
            try:
                try:
                    if (self._rest or self._notice) and self._writer is None:
                        await self._flush_until_readable()
                    else:
                        await self._readable.wait()
                except anyio.ClosedResourceError:
                    pass  # woken by `close` or `expel`
                if self._expelled is not None:
                    raise Closed("another task has taken over", 1000)
                if self._closed is None:
                    data = self._sock.recv(self._chunk)
                    self._chunk = CHUNK if len(data) < CHUNK else BULK
                    return data
            except BlockingIOError:
                pass
            except OSError as error:
                self.close(Closed(f"the connection broke: {error}"))
            finally:
                self._reading = False
                if self._expelled is not None:
                    self._expelled.set()
                    self._expelled = None
                if self._closed is not None:
                    self._let_go()
        raise Closed(self._closed.reason, self._closed.code)

    async def expel(self) -> None:
        """End a `read` that another task waits in, with `Closed`, so that this one can read."""
        if self._reading:
            # Registering the descriptor while the other task has not left would lose this registration: anyio's
            # waiters on asyncio clean up by descriptor, not by waiter. For the same reason `_let_go` waits for them.
            self._expelled = expelled = anyio.Event()
            self._readable.interrupt()
            anyio.notify_closing(self._sock)
            await expelled.wait()

    async def write(self, data: bytes) -> None:
        """Give all of `data` to the kernel, or, when cancelled early enough, none of it.

        Raises:
            Closed: The socket is closed, sealed, broken, or its peer has stalled.
        """
        if self._sealed is None and self._writer is None and not self._rest and not self._notice:
            try:
                sent = self._sock.send(data)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                raise self._break(error) from error
            if sent:
                self._deadline = math.inf
                if sent == len(data):
                    return
            self._writer = self
            self._rest, self._begun = memoryview(data)[sent:], sent > 0
            data = b""
        elif self._sealed is not None or not await self._take_turn():
            raise self._refusal()
        try:
            await self._flush()
            if data:
                if self._sealed is not None:
                    raise self._refusal()
                self._rest, self._begun = memoryview(data), False
                await self._flush()
        except anyio.get_cancelled_exc_class():
            await self._leave()
            raise
        finally:
            self._pass_turn()

    def post(self, data: bytes) -> None:
        """Send `data` without waiting: now, or right after the message that is being written.

        For what a protocol says on its own behalf, also when sealed. Only the newest of what waits is kept.
        """
        if self._closed is not None or not data:
            return
        if self._writer is not None or self._rest:
            self._notice = data
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._break(error)
            return
        self._rest, self._begun = memoryview(data)[sent:], True

    def seal(self, why: Closed) -> None:
        """Take no more messages; writers in the queue get `why`. The message being written and notices still go out."""
        if self._sealed is None:
            self._sealed = why
            self._wake_turns()

    async def settle(self) -> None:
        """Wait until nothing is left to write. Of use after `seal`.

        Raises:
            Closed: The socket was closed meanwhile, or its peer has stalled.
        """
        if self._writer is None and not self._rest and not self._notice:
            return
        if not await self._take_turn():
            raise self._refusal()
        try:
            await self._flush()
        finally:
            self._pass_turn()

    def finish(self) -> None:
        """Tell the peer that nothing more will come, unless something is still to be written."""
        if self._closed is None and not self._rest and not self._notice:
            try:
                self._sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the peer is gone already

    def close(self, why: Closed) -> None:
        """Close the socket at once; who reads or writes gets `why`. What the kernel has taken is still delivered."""
        if self._closed is None:
            self._closed = why
            self._rest, self._notice = NOTHING, b""
            self.seal(why)
            self._wake_turns()
            self._readable.interrupt()
            anyio.notify_closing(self._sock)
            self._let_go()

    @property
    def is_abandoned(self) -> bool:
        """Whether the peer has gone and nothing of what it sent is left to read."""
        if self._closed is not None:
            return True
        try:
            return not self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _refusal(self) -> Closed:
        why = self._sealed or self._closed
        assert why is not None
        return Closed(why.reason, why.code)

    def _break(self, error: OSError) -> Closed:
        """Nothing can be written any more. What the peer sent before it went can still be read."""
        self._rest, self._notice = NOTHING, b""
        self.seal(Closed(f"the connection broke: {error}"))
        return self._refusal()

    def _let_go(self) -> None:
        """Close the descriptor when nobody waits for it; its number may be another socket's at once (see `expel`)."""
        if self._closed is not None and not self._reading and not self._waits_to_write:
            self._sock.close()

    async def _take_turn(self) -> bool:
        """Queue for the turn; False when sealing or closing has ended the wait."""
        turn = anyio.Event()
        if self._writer is None:
            self._writer = turn
            return True
        self._turns.append(turn)
        if self._lingering is not None:
            self._lingering.cancel()
        try:
            await turn.wait()
        except anyio.get_cancelled_exc_class():
            if self._writer is turn:  # it came in the same breath, perhaps with somebody's remainder
                await self._leave()
                self._pass_turn()
            elif turn in self._turns:
                self._turns.remove(turn)
            raise
        return self._writer is turn

    def _pass_turn(self) -> None:
        if self._turns:
            self._writer = turn = self._turns.popleft()
            turn.set()
        else:
            self._writer = None

    def _wake_turns(self) -> None:
        for turn in self._turns:
            turn.set()
        self._turns.clear()

    async def _leave(self) -> None:
        """The writer is cancelled: leave what must go out to the next in the queue, or see it out if there is none."""
        if not self._begun:
            self._rest = NOTHING
        while (self._rest or self._notice) and not self._turns and self._closed is None:
            with anyio.CancelScope(shield=True) as scope:
                self._lingering = scope
                try:
                    await self._flush()
                except Closed:
                    break
                finally:
                    self._lingering = None

    async def _flush(self) -> None:
        """Write `_rest`, and notices after it; by whoever has the turn."""
        while True:
            if self._closed is not None:
                raise self._refusal()
            if not self._rest:
                self._rest = NOTHING  # an empty slice would keep the whole message alive
                if not self._notice:
                    return
                self._rest, self._begun, self._notice = memoryview(self._notice), True, b""
            try:
                sent = self._sock.send(self._rest)
            except BlockingIOError:
                await self._wait_writable()
            except OSError as error:
                raise self._break(error) from error
            else:
                self._rest, self._begun = self._rest[sent:], True
                self._deadline = math.inf

    async def _wait_writable(self) -> None:
        if self._deadline == math.inf:
            self._deadline = anyio.current_time() + self._stall
        self._waits_to_write = True
        scope = anyio.CancelScope(deadline=self._deadline)
        try:
            with scope:
                await anyio.wait_writable(self._sock)
        except anyio.ClosedResourceError:
            pass  # `close`, which `_flush` sees; or `expel`, which is not for us
        finally:
            self._waits_to_write = False
            self._let_go()
        if scope.cancelled_caught:
            self.close(Closed(f"the peer has read nothing for {self._stall:g} s"))

    async def _flush_until_readable(self) -> None:
        """Wait for input while writing what has no writer: a peer may read only after it has written."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._flush_aside)
            try:
                await self._readable.wait()
            except anyio.ClosedResourceError:
                pass
            group.cancel_scope.cancel()

    async def _flush_aside(self) -> None:
        if await self._take_turn():
            try:
                await self._flush()
            except Closed:
                pass
            finally:
                self._pass_turn()
