"""Connections that can be cut at a byte: a proxy for TCP and Unix sockets, and the same for a process's pipes.

A `Wire` counts the bytes that pass it in either direction, over however many connections, and springs one trap at a
time. `up` is from who connects to who is connected to.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .proxy import Proxy, Streams

Way: TypeAlias = Literal["up", "down"]
How: TypeAlias = Literal["close", "reset", "half", "hole", "stall"]
HOWS: tuple[How, ...] = ("close", "reset", "half", "hole")
"""Ways to cut; `stall` is none: it only takes its time."""


@dataclass
class Trap:
    """Sprung by the first byte after so many.

    Attributes:
        way: The direction that is watched.
        after: How many bytes pass before.
        how: `close` both sides, `reset` them, `half`: end this direction alone, `hole`: take everything and give
            nothing for `seconds` and then close, `stall`: hold everything for `seconds` and then go on.
    """

    way: Way
    after: int
    how: How
    seconds: float = 0.3
    sprung: bool = False


class Meter:
    """Counts, and knows where the trap is."""

    def __init__(self) -> None:
        self.passed: dict[Way, int] = {"up": 0, "down": 0}
        self.trap: Trap | None = None

    def arm(self, trap: Trap | None) -> None:
        """Count from here on; there may be a trap."""
        self.passed = {"up": 0, "down": 0}
        self.trap = trap

    def split(self, way: Way, data: bytes) -> tuple[bytes, bytes, Trap | None]:
        """What passes, what does not, and the trap that was sprung."""
        before = self.passed[way]
        self.passed[way] = before + len(data)
        trap = self.trap
        if trap is None or trap.sprung or trap.way != way or before + len(data) <= trap.after:
            return data, b"", None
        trap.sprung = True
        cut = max(trap.after - before, 0)
        return data[:cut], data[cut:], trap


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close as a process does that dies with unread input: the other end gets a RST, where it is TCP."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.family == socket.AF_INET:
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Wire(Meter, Proxy):
    """A proxy that counts the bytes of its connections, and cuts them."""

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        Meter.__init__(self)
        Proxy.__init__(self, connect)
        self.jitter: random.Random | None = None
        """Has each connection wait, so that they overtake each other."""

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            if self.jitter is not None:
                await asyncio.sleep(self.jitter.random() * 0.05)
            there, beyond = await self._connect()
            writers.append(beyond)
            pumps = [
                asyncio.ensure_future(self._pump("up", reader, beyond, writers)),
                asyncio.ensure_future(self._pump("down", there, writer, writers)),
            ]
            try:
                await asyncio.gather(*pumps)
            finally:
                for pump in pumps:
                    pump.cancel()
        except (OSError, asyncio.CancelledError):
            for each in writers:
                _reset(each)
        finally:
            for each in writers:
                each.close()

    async def _pump(
        self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, both: list[asyncio.StreamWriter]
    ) -> None:
        while data := await reader.read(65536):
            head, tail, trap = self.split(way, data)
            if head:
                writer.write(head)
                await writer.drain()
            if trap is None:
                continue
            match trap.how:
                case "stall":
                    await asyncio.sleep(trap.seconds)
                    writer.write(tail)
                case "close":
                    for each in both:
                        each.close()
                    return
                case "reset":
                    for each in both:
                        _reset(each)
                    return
                case "half":
                    writer.write_eof()
                    while await reader.read(65536):
                        pass
                    return
                case "hole":
                    await asyncio.sleep(trap.seconds)
                    for each in both:
                        _reset(each)
                    return
        if writer.can_write_eof() and not writer.is_closing():
            writer.write_eof()
