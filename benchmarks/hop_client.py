"""A gateway of one app, over a WebSocket or a Unix socket, that does as little as can be, and a client of an echo.

Both do the same: they send texts and parse what comes, until a call has its result.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from typing import Any, Protocol

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from .work import Work

_WELCOME = {
    "sessionId": "s_benchmark",
    "protocolVersion": "1.2.0",
    "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
    "agent": {"id": "benchmark", "name": "Benchmark"},
}
_LINE = 8 * 2**20
_ids = itertools.count(100_000)  # all of one length, and so are the answers


class Wire(Protocol):
    """A connection that carries texts."""

    async def send(self, text: str, /) -> None: ...
    async def recv(self) -> Any: ...
    async def close(self) -> None: ...


class _Lines:
    """A Unix socket, a line for each text."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, text: str) -> None:
        self._writer.write(f"{text}\n".encode())
        await self._writer.drain()

    async def recv(self) -> bytes:
        return await self._reader.readline()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def connect_as_gateway(ready: str) -> Wire:
    """Be the gateway of an app.

    Args:
        ready: Where it is and its claim code, as `servers.listening` prints them.
    """
    place, code = ready.split()
    wire: Wire
    if place.startswith("ws:"):
        elements = [Subprotocol("tesseron-gateway"), Subprotocol(f"tesseron-bind.{code}")]
        wire = await connect(place, subprotocols=elements, compression=None, max_size=_LINE)
    else:
        wire = await _connect_to_lines(place)
        await wire.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tesseron/bind", "params": {"code": code}}))
        if "result" not in (answer := json.loads(await wire.recv())):
            raise RuntimeError(f"the app refused the bind: {answer}")
    hello = json.loads(await wire.recv())
    await wire.send(json.dumps({"jsonrpc": "2.0", "id": hello["id"], "result": _WELCOME}))
    return wire


async def connect_to_echo(place: str, answers: Sequence[Sequence[str]]) -> Wire:
    """A connection to an echo that answers every text with the next of `answers`, round and round."""
    wire: Wire
    if place.startswith("ws:"):
        wire = await connect(place, compression=None, max_size=_LINE)
    else:
        wire = await _connect_to_lines(place)
    await wire.send(json.dumps(answers))
    return wire


async def _connect_to_lines(path: str) -> Wire:
    return _Lines(*await asyncio.open_unix_connection(path, limit=_LINE))


async def warm_up(echo: str) -> None:
    """Open a connection to an echo, and close it.

    asyncio reads into a buffer so large that malloc maps memory for each, until it has freed one that was left unused:
    when the first connection of a process ends. Before, an echo takes half as long again.
    """
    await (await connect_to_echo(echo, [[""]])).close()


async def answers_of(app: Wire, work: Work) -> list[list[str]]:
    """What the app sends in the course of one call: the texts that come for each that it is sent."""
    heard = _Heard(app)
    await do(heard, work)
    if work.at_once == 1:
        return heard.answers
    # Of many at once only the order is known; as many come as are sent.
    return [[text] for texts in heard.answers for text in texts]


class _Heard:
    """A wire that keeps what comes."""

    def __init__(self, wire: Wire) -> None:
        self.answers: list[list[str]] = []
        self._wire = wire

    async def send(self, text: str) -> None:
        self.answers.append([])
        await self._wire.send(text)

    async def recv(self) -> str:
        text: str | bytes = await self._wire.recv()
        self.answers[-1].append(text.decode().strip() if isinstance(text, bytes) else text)
        return self.answers[-1][-1]

    async def close(self) -> None:
        await self._wire.close()


async def calls(wire: Wire, work: Work, times: int) -> list[float]:
    """Seconds that each of so many calls takes, with the question that it may ask."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        await do(wire, work)
        taken.append(time.perf_counter() - started)
    return taken


async def do(wire: Wire, work: Work) -> None:
    """One call, or as many at once as the work has.

    Raises:
        RuntimeError: A call failed, or sent too few notes.
    """
    for _ in range(work.at_once):
        id = next(_ids)
        params = {"name": work.tool, "input": work.arguments, "invocationId": f"i-{id}"}
        await wire.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": "actions/invoke", "params": params}))
    running, notes = work.at_once, 0
    while running:
        message = json.loads(await wire.recv())
        if "method" not in message:
            running -= 1
            if "result" not in message:
                raise RuntimeError(f"the call failed: {message}")
        elif "id" in message:
            # A confirm has no form, and its yes no value.
            value = {"value": work.answer} if message["params"]["schema"]["properties"] else {}
            result = {"action": "accept", **value}
            await wire.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        else:
            notes += 1
    if notes != work.notes:
        raise RuntimeError(f"{work.name} sent {notes} notes")
