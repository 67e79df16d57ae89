"""A network that loses, repeats, cuts and delays: a proxy before a real server, with the dice of a seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias

import anyio
import anyio.abc

Fault: TypeAlias = Literal[
    "none", "refuse", "half a request", "lose the response", "cut the response", "twice at once", "again later", "delay"
]
FAULTS: tuple[Fault, ...] = (
    "refuse",
    "half a request",
    "lose the response",
    "cut the response",
    "twice at once",
    "again later",
    "delay",
)
GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)


class FaultyProxy:
    """Passes requests on, each over a connection of its own, and does to `rate` of them what networks do.

    Attributes:
        done: How often each fault was done.
    """

    def __init__(self, upstream: str, *, seed: int, rate: float) -> None:
        self.url = ""
        self.done: Counter[str] = Counter()
        self.rate = rate
        host, _, port = upstream.removeprefix("http://").partition(":")
        self._upstream = host, int(port)
        self._dice = random.Random(seed)

    async def serve(self, client: anyio.abc.ByteStream) -> None:
        async with client:
            try:
                await self._pass_on(client, await _request(client))
            except GONE:
                pass

    async def _pass_on(self, client: anyio.abc.ByteStream, request: bytes) -> None:
        fault: Fault = self._dice.choice(FAULTS) if self._dice.random() < self.rate else "none"
        self.done[fault] += 1
        async with anyio.create_task_group() as group:
            match fault:
                case "refuse":
                    return
                case "half a request":
                    async with await anyio.connect_tcp(*self._upstream) as upstream:
                        await upstream.send(request[: len(request) // 2])
                        await anyio.sleep(self._dice.random() * 0.02)
                    return
                case "twice at once" if not request.startswith(b"GET"):
                    group.start_soon(self._repeat, request, 0.0)
                case "again later" if not request.startswith(b"GET"):
                    group.start_soon(self._repeat, request, self._dice.random() * 0.1)
                case "delay":
                    await anyio.sleep(self._dice.random() * 0.05)
            async with await anyio.connect_tcp(*self._upstream) as upstream:
                await upstream.send(request)
                limit = float("inf")
                if fault == "lose the response":
                    await upstream.receive(1)
                    return
                if fault == "cut the response":
                    limit = self._dice.randrange(1, 600)
                await self._relay(upstream, client, limit)

    async def _relay(self, upstream: anyio.abc.ByteStream, client: anyio.abc.ByteStream, limit: float) -> None:
        """Give the client what comes, up to `limit` bytes, until either end goes."""
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                try:
                    await client.receive()
                except GONE:
                    group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                while limit > 0:
                    data = await upstream.receive()
                    await client.send(data[: int(min(len(data), limit))])
                    limit -= len(data)
            except GONE:
                pass
            group.cancel_scope.cancel()

    async def _repeat(self, request: bytes, pause: float) -> None:
        """Make a request once more, as a proxy or a driver does that is not sure; nobody reads the answer."""
        await anyio.sleep(pause)
        try:
            async with await anyio.connect_tcp(*self._upstream) as upstream:
                await upstream.send(request)
                while await upstream.receive():
                    pass
        except GONE:
            pass


async def _request(client: anyio.abc.ByteStream) -> bytes:
    """One whole request, told to be the last on its connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await client.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    length = next((int(line.partition(b":")[2]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += await client.receive()
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


@asynccontextmanager
async def faulty_proxy(upstream: str, *, seed: int, rate: float) -> AsyncIterator[FaultyProxy]:
    proxy = FaultyProxy(upstream, seed=seed, rate=rate)
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as server,
        anyio.create_task_group() as group,
    ):
        proxy.url = f"http://127.0.0.1:{server.extra(anyio.abc.SocketAttribute.local_port)}"
        group.start_soon(server.serve, proxy.serve)
        yield proxy
        group.cancel_scope.cancel()
