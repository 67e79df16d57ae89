"""A network that loses, repeats, delays and reorders HTTP requests, between an app that dials out and its gateway."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from .proxy import Proxy, Streams

FAULTS: Final = (
    "refuse", "half a request", "lose the response", "cut the response", "twice at once", "again later", "delay"
)  # fmt: skip


class Network(Proxy):
    """Passes requests on, each over a connection of its own, and does to `rate` of them what networks do."""

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        super().__init__(connect)
        self.rate = 0.0
        self.dice = random.Random(0)
        self.done: Counter[str] = Counter()

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            await self._pass_on(reader, writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _request(reader)
        dice = self.dice
        fault = dice.choice(FAULTS) if dice.random() < self.rate else "none"
        self.done[fault] += 1
        if fault == "refuse":
            return
        if fault in ("twice at once", "again later") and not request.startswith(b"GET"):
            again = asyncio.create_task(self._repeat(request, dice.random() * 0.1 if fault == "again later" else 0.0))
            self._tasks.add(again)
            again.add_done_callback(self._tasks.discard)
        if fault == "delay":
            await asyncio.sleep(dice.random() * 0.05)
        there, beyond = await self._connect()
        try:
            beyond.write(request[: len(request) // 2] if fault == "half a request" else request)
            await beyond.drain()
            if fault == "half a request":
                await asyncio.sleep(dice.random() * 0.02)
                return
            if fault == "lose the response":
                await there.read(1)
                return
            limit = dice.randrange(1, 600) if fault == "cut the response" else None
            relay = asyncio.ensure_future(_relay(there, writer, limit))
            gone = asyncio.ensure_future(reader.read(1))
            try:
                await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in (relay, gone):
                    each.cancel()
                await asyncio.gather(relay, gone, return_exceptions=True)
        finally:
            beyond.close()

    async def _repeat(self, request: bytes, pause: float) -> None:
        """Make a request once more, as a proxy or a driver does that is not sure; nobody reads the answer."""
        await asyncio.sleep(pause)
        with suppress(OSError):
            there, beyond = await self._connect()
            try:
                beyond.write(request)
                while await there.read(65536):
                    pass
            finally:
                beyond.close()


async def _relay(there: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> None:
    while data := await there.read(65536):
        writer.write(data[:limit])
        await writer.drain()
        if limit is not None:
            limit -= len(data)
            if limit <= 0:
                return


async def _request(reader: asyncio.StreamReader) -> bytes:
    """One whole request, told to be the last on its connection."""
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    length = next((int(line.partition(b":")[2]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    body = await reader.readexactly(length)
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body
