"""The process's own standard input and output as lines: UTF-8 whatever the locale, and nothing of ours ever blocks.

A handler's `print` must not get between the frames, so the two descriptors are taken away from the process while the
lines are in use: descriptor 1 becomes standard error, descriptor 0 is empty. What cannot be polled (a regular file; on
Windows, any pipe) is copied by one daemon thread each way, since a thread that reads `sys.stdin` hangs asyncio and
aborts trio at the end.
"""

from __future__ import annotations

import io
import os
import select
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

import anyio
from anyio.lowlevel import checkpoint

from .envelope import EDGE

CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class TooLong:
    """In place of a line that is too long: how it began and how it ended, which may say whom to answer."""

    head: bytes = b""
    tail: bytes = b""


class LineTooLong(ValueError):
    """A line is above the limit; it was skipped, and the next can be read. `line` is what is left of it."""

    def __init__(self, message: str, line: TooLong | None = None) -> None:
        super().__init__(message)
        self.line: TooLong = line if line is not None else TooLong()


class LineSplitter:
    """Cuts bytes into lines at the byte `\\n` and nowhere else, within a bounded memory.

    Args:
        limit: Bytes one line may have. Of a longer one only its ends are kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end within `chunk`, without their end."""
        *ends, rest = chunk.split(b"\n")
        for part in ends:
            self._take(part)
            line, too_long = b"".join(self._parts), self._size > self._limit
            yield TooLong(line, self._tail) if too_long else line
            self._parts, self._size, self._tail = [], 0, b""
        self._take(rest)

    def _take(self, part: bytes) -> None:
        skipping = self._size > self._limit
        self._size += len(part)
        if not skipping and part:
            self._parts.append(part)
        if self._size > self._limit:
            if not skipping:
                whole = b"".join(self._parts)
                self._parts, part = [whole[:EDGE]], whole
            self._tail = (self._tail + part[-EDGE:])[-EDGE:]


class _Source(Protocol):
    async def read(self) -> bytes: ...

    def close(self) -> None: ...


class _Sink(Protocol):
    async def write(self, data: bytes) -> None: ...

    async def aclose(self) -> None: ...


class StandardLines:
    """Lines over the two descriptors of `own_standard_streams`.

    `receive` is for one task, `send` for one at a time.

    Args:
        incoming: What is read.
        outgoing: What is written.
        limit: Bytes one line may have. A longer one that comes in is skipped.
    """

    def __init__(self, incoming: int, outgoing: int, *, limit: int) -> None:
        self._source: _Source = _PolledSource(incoming) if _can_poll(incoming) else _CopiedSource(incoming)
        self._sink: _Sink = _polled_sink(outgoing) if sys.platform != "win32" else _CopiedSink(outgoing)
        self._splitter = LineSplitter(limit)
        self.limit = limit
        self._lines: deque[bytes | TooLong] = deque()

    async def receive(self) -> bytes:
        """The next line, as it came.

        Raises:
            EOFError: Input has ended.
            LineTooLong: The line is too long; the one after it can be read.
        """
        while not self._lines:
            chunk = await self._source.read()
            if not chunk:
                raise EOFError("standard input has ended")
            self._lines.extend(self._splitter.feed(chunk))
        line = self._lines.popleft()
        if isinstance(line, TooLong):
            raise LineTooLong(f"the line is longer than {self.limit} bytes; it was skipped", line)
        return line

    async def send(self, text: str) -> None:
        """Write `text` as one line; waits while the other end does not read.

        Raises:
            EOFError: Nobody reads any more.
        """
        try:
            await self._sink.write(text.encode() + b"\n")
        except OSError as error:
            raise EOFError(f"standard output is closed: {error}") from error

    async def aclose(self) -> None:
        """Let go of what was opened besides the descriptors themselves."""
        self._source.close()
        await self._sink.aclose()


@contextmanager
def own_standard_streams() -> Iterator[tuple[int, int]]:
    """Take descriptors 0 and 1 for ourselves while the body runs; yields our own copies of them.

    Meanwhile what the process (or a child of it) prints goes to standard error, and it reads an empty input. What had
    been printed and not yet flushed goes to standard error, too.

    Raises:
        OSError: There is no standard input or output.
    """
    incoming, outgoing = _copy_of(0), _copy_of(1)
    empty = os.open(os.devnull, os.O_RDWR)
    # Started without a standard error, something else has its number by now, such as the event loop's own.
    log = 2 if sys.__stderr__ is not None else empty
    try:
        with _exchanged((log, 1)):
            _flush()
        # Set up anew, a stream asks for its position; so its descriptor must be the one it was opened on.
        with _printing_anything(), _exchanged((empty, 0), (log, 1)):
            yield incoming, outgoing
    finally:
        for fd in (incoming, outgoing, empty):
            os.close(fd)


@contextmanager
def _exchanged(*pairs: tuple[int, int]) -> Iterator[None]:
    """While the body runs, the second descriptor of each pair is the first one. Nothing printed is left over."""
    kept = [(_copy_of(fd), fd) for _, fd in pairs]
    try:
        for replacement, fd in pairs:
            os.dup2(replacement, fd)
        yield
    finally:
        _flush()
        for copy, fd in kept:
            os.dup2(copy, fd)
            os.close(copy)


def _copy_of(fd: int) -> int:
    """A copy of `fd` that is none of the three standard ones, even when one of those is closed."""
    copy = os.dup(fd)
    if copy > 2:
        return copy
    try:
        return _copy_of(fd)
    finally:
        os.close(copy)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # closed, or there is none
        pass


@contextmanager
def _printing_anything() -> Iterator[None]:
    """What is printed is only for the log now, so a character the locale lacks is escaped, as on standard error."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper):
        yield
        return
    errors = out.errors
    out.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        out.reconfigure(errors=errors)


def _can_poll(fd: int) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


class _PolledSource:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def read(self) -> bytes:
        await anyio.wait_readable(self._fd)
        return os.read(self._fd, CHUNK)

    def close(self) -> None:
        pass


class _CopiedSource:
    """A descriptor that cannot be polled: a thread copies it into a socket that can."""

    def __init__(self, fd: int) -> None:
        self._socket, other = socket.socketpair()
        self._socket.setblocking(False)
        # Of its own, so that the thread never reads from a descriptor that was closed and given to something else.
        own = os.dup(fd)
        _copy(lambda: os.read(own, CHUNK), other.sendall, own, other)

    async def read(self) -> bytes:
        while True:
            try:
                return self._socket.recv(CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)

    def close(self) -> None:
        self._socket.close()


def _polled_sink(fd: int) -> _Sink:
    return _SocketSink(fd) if stat.S_ISSOCK(os.fstat(fd).st_mode) else _PolledSink(fd)


class _PolledSink:
    """A pipe, terminal or file. It stays in blocking mode, since that is not ours alone to change.

    A pipe that polls as writable takes `PIPE_BUF` bytes without blocking, and no more is written at once.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        chunks = 0
        while rest:
            if not self._poll.poll(0):
                await anyio.wait_writable(self._fd)
                continue
            rest = rest[os.write(self._fd, rest[: select.PIPE_BUF]) :]
            chunks += 1
            if chunks % 64 == 0:  # a long line and a quick reader: let the others run
                await checkpoint()

    async def aclose(self) -> None:
        pass


class _SocketSink:
    """A socket, as some clients give their servers for output."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=os.dup(fd))

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    async def aclose(self) -> None:
        self._socket.close()


class _CopiedSink:
    """A descriptor that cannot be polled: what goes into a socket, a thread writes out."""

    def __init__(self, fd: int) -> None:
        self._socket, other = socket.socketpair()
        self._socket.setblocking(False)
        own = os.dup(fd)

        def write(data: bytes) -> None:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(own, rest) :]

        _copy(lambda: other.recv(CHUNK), write, own, other)

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    async def aclose(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
            await anyio.wait_readable(self._socket)  # the thread closes its end when all is written
        except OSError:
            pass
        finally:
            self._socket.close()


def _copy(read: Callable[[], bytes], write: Callable[[bytes], None], fd: int, other: socket.socket) -> None:
    """Copy until the end or a fault, then close both ends.

    In a daemon thread: one that waits for input keeps no process alive.
    """

    def run() -> None:
        try:
            while chunk := read():
                write(chunk)
        except OSError:
            pass  # the other side has gone, and learns it from the close
        finally:
            os.close(fd)
            other.close()

    threading.Thread(target=run, name="tesseron-py standard streams", daemon=True).start()
