"""`ProcessTransport`: an MCP server as a child process, one JSON message a line on its stdin and stdout.

It owns the process from its start to its end, however it ends; what the server writes to stderr goes to ours.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from ..home import Home
from .client_errors import TransportEnded
from .client_transport import MAX_FRAME, NO_HEADERS, Sink

logger = logging.getLogger("tesseron_py.mcp.client")

GRACE: Final = 2.0
"""Seconds the process has after each step of its shutdown: stdin closed, asked to end, killed."""
WAITING_LINES: Final = 64
"""Messages that wait for a server that does not read; the next sender waits, too."""
_CHUNK = 64 * 1024
_LOOK = 0.2
"""Seconds between two looks at whether the process has ended, where nobody says so."""
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


class ProcessTransport:
    """A transport to a server that this starts.

    Closing it closes the server's stdin, waits 2 s, asks it to end (SIGTERM), waits 2 s, and kills it. On POSIX the
    process leads a group of its own, so that what it started ends with it, and a Ctrl-C at the terminal is ours alone.

    Args:
        command: The program and its arguments; no shell is involved.
        env: Variables on top of this process's own.
        limit: Bytes one message of the server may have; one above it ends the connection.
        grace: Seconds for each step of the shutdown.

    Example:
        ```python
        ProcessTransport(["uvx", "some-server", "--root", "."], env={"API_KEY": key})
        ```
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        limit: int = MAX_FRAME,
        grace: float = GRACE,
    ) -> None:
        if not command:
            raise ValueError("The command that starts the server is empty")
        self._command = list(command)
        self._env = env
        self._limit = limit
        self._grace = grace
        self._process: Process | None = None
        self._outbox: MemoryObjectSendStream[str] | None = None
        self._read_all: anyio.Event | None = None
        self._sink: Sink | None = None
        self._spoke = False

    @property
    def is_http(self) -> bool:
        return False

    async def open(self, home: Home, sink: Sink) -> None:
        try:
            self._process = await anyio.open_process(
                self._command,
                stderr=None,
                env=None if self._env is None else {**os.environ, **self._env},
                start_new_session=os.name == "posix",
            )
        except FileNotFoundError as error:
            raise TransportEnded(f"Cannot start the server: there is no command {self._command[0]!r}") from error
        except (OSError, ValueError) as error:
            raise TransportEnded(f"Cannot start the server {self._command[0]!r}: {error}") from error
        self._sink, self._read_all = sink, anyio.Event()
        self._outbox, lines = anyio.create_memory_object_stream[str](WAITING_LINES)
        home.start(self._write, self._process, lines, name="MCP client: writes to the server")
        home.start(self._read, self._process, name="MCP client: reads from the server")
        home.start(self._watch, self._process, name="MCP client: waits for the server to exit")

    async def send(self, text: str, *, request: int | None = None, headers: Mapping[str, str] = NO_HEADERS) -> None:
        # Queued for one writer: a sender that is cancelled half-way through a line of its own would leave half a line.
        assert self._outbox is not None
        try:
            await self._outbox.send(text)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise TransportEnded("The server process takes no more messages") from error

    async def _write(self, process: Process, lines: MemoryObjectReceiveStream[str]) -> None:
        assert process.stdin is not None
        try:
            with lines:
                async for text in lines:
                    await process.stdin.send(text.encode("utf-8", "replace") + b"\n")
        except _GONE as error:  # the reader and the watcher find out why
            logger.debug("The server process does not take its input any more: %r", error)
        finally:
            with anyio.CancelScope(shield=True), suppress(*_GONE):
                await process.stdin.aclose()

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        assert self._sink is not None
        assert self._read_all is not None
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                first, *rest = (await process.stdout.receive(_CHUNK)).split(b"\n")
                for piece in rest:  # each ends the line before it
                    self._line(b"".join((*parts, first)))
                    parts, size, first = [], 0, piece
                parts.append(first)
                size += len(first)
                if size > self._limit:
                    self._sink.ended(f"The server sent a message above {self._limit} bytes")
                    return
        except _GONE:
            self._read_all.set()
            with anyio.move_on_after(self._grace):
                await exit_code(process)
        finally:  # whatever ended the reading, nobody must wait for what is not read
            self._sink.ended(self._epitaph(process.returncode))

    def _line(self, line: bytes) -> None:
        assert self._sink is not None
        if line.strip():
            self._spoke = True
            self._sink.message(line)

    def _epitaph(self, code: int | None) -> str:
        silence = "" if self._spoke else " before it said anything; is it an MCP server on stdio?"
        return _end_of(code) + silence

    async def _watch(self, process: Process) -> None:
        # A grandchild may hold stdout open, so the end of the process is not always the end of its output.
        assert self._sink is not None
        assert self._read_all is not None
        code = await exit_code(process)
        with anyio.move_on_after(self._grace):
            await self._read_all.wait()
        self._sink.ended(self._epitaph(code))

    def listen(self, headers: Mapping[str, str]) -> None:
        """Nothing to do: stdout carries everything."""

    def drop(self, request: int, *, at_once: bool = False) -> None:
        """Nothing to do: nothing is kept."""

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is None or self._outbox is None:
            return
        self._outbox.close()  # the writer sends what waits and closes stdin
        with anyio.CancelScope(shield=True):
            for step in ("", "SIGTERM", "SIGKILL"):
                if step:
                    _signal(process, step)
                with anyio.move_on_after(self._grace):
                    await exit_code(process)
                    break
            with anyio.move_on_after(self._grace), suppress(*_GONE):
                await process.aclose()


async def exit_code(process: Process) -> int:
    """Wait for the process's end; its exit code.

    On asyncio some versions of anyio wait for the end of its output, too, which a grandchild may hold open; the code is
    known by then.
    """
    while process.returncode is None:
        with anyio.move_on_after(_LOOK):
            await process.wait()
    return process.returncode


def _signal(process: Process, name: str) -> None:
    logger.debug("The server process does not end by itself: %s", name)
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, getattr(signal, name))
        else:  # Windows knows one way to end a process
            process.kill()


def _end_of(code: int | None) -> str:
    if code is None:
        return "The server process closed its output"
    if code < 0:
        try:
            return f"The server process was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"The server process was ended by signal {-code}"
    return f"The server process exited with code {code}"
