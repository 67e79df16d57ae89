"""The way from a gateway to an app and back, over a WebSocket.

The gateway is a bare loop of `websockets` in this process. It does the same on both sides: it sends a text, and parses
what comes. The peer, a server of the same library in a process of its own, answers with the very bytes that the app
answered with, and reads nothing: what the ratio is above 1 is what protocol, validation and the handler cost.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Collection, Iterator
from importlib.metadata import version
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from .measure import Effort, Row, compare
from .processes import server

HOP = "app-hop"
CONFIRM = "app-confirm"
THREAD = "app-hop-in-thread"
NAMES = (HOP, CONFIRM, THREAD)

_WELCOME = {
    "sessionId": "s_benchmark",
    "protocolVersion": "1.2.0",
    "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
    "agent": {"id": "benchmark", "name": "Benchmark"},
}
_TASK = {"text": "Buy milk and two dozen eggs", "priority": 2}
_ids = itertools.count(100_000)  # all of one length, and so are the answers


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    peer = f"websockets {version('websockets')}"
    with server("listening", "ws") as ours, server("echo_on_websocket") as theirs, asyncio.Runner() as run:
        app, echo_url = run.run(connect_as_gateway(ours.ready)), theirs.ready
        run.run(warm_up(echo_url))

        def measure(name: str, action: str, arguments: dict[str, Any], target: float | None) -> Row:
            echo = run.run(_connect_to_echo(echo_url, run.run(_answers(app, action, arguments))))
            row = compare(
                name,
                peer,
                lambda: run.run(calls(app, action, arguments, effort.calls)),
                lambda: run.run(calls(echo, action, arguments, effort.calls)),
                rounds=effort.rounds,
                target=target,
            )
            run.run(echo.close())
            return row

        if HOP in wanted:
            yield measure(HOP, "addTask", _TASK, 1.9)
        if CONFIRM in wanted:
            yield measure(CONFIRM, "clear", {}, 1.7)
        if THREAD in wanted:
            yield measure(THREAD, "addTaskInThread", _TASK, None)
        run.run(app.close())


async def connect_as_gateway(ready: str) -> ClientConnection:
    """Be the gateway of an app.

    Args:
        ready: Where it is and its claim code, as `servers.listening` prints them.
    """
    url, code = ready.split()
    elements = [Subprotocol("tesseron-gateway"), Subprotocol(f"tesseron-bind.{code}")]
    connection = await connect(url, subprotocols=elements, compression=None)
    hello = json.loads(await connection.recv())
    await connection.send(json.dumps({"jsonrpc": "2.0", "id": hello["id"], "result": _WELCOME}))
    return connection


async def warm_up(echo_url: str) -> None:
    """Open a connection to a server of `servers.echo_on_websocket`, and close it.

    asyncio reads into a buffer so large that malloc maps memory for each, until it has freed one that was left unused:
    when the first connection of a process ends. Before, an echo takes half as long again.
    """
    await (await _connect_to_echo(echo_url, [""])).close()


async def _connect_to_echo(url: str, answers: list[str]) -> ClientConnection:
    connection = await connect(url, compression=None)
    await connection.send(json.dumps(answers))
    return connection


async def _answers(connection: ClientConnection, action: str, arguments: dict[str, Any]) -> list[str]:
    """What the app sends in the course of one call."""
    answers: list[str] = []
    await connection.send(_invoke(action, arguments))
    while True:
        text = await connection.recv(decode=True)
        answers.append(text)
        message = json.loads(text)
        if "method" not in message:
            _check(message)
            return answers
        await connection.send(_accept(message))


async def calls(connection: ClientConnection, action: str, arguments: dict[str, Any], times: int) -> float:
    """Seconds a call takes, with the one question that it may ask: the median of many."""
    texts = [_invoke(action, arguments) for _ in range(times)]
    taken: list[float] = []
    for text in texts:
        started = time.perf_counter()
        await connection.send(text)
        message = json.loads(await connection.recv())
        if "method" in message:
            await connection.send(_accept(message))
            message = json.loads(await connection.recv())
        taken.append(time.perf_counter() - started)
        _check(message)
    return statistics.median(taken)


def _invoke(action: str, arguments: dict[str, Any]) -> str:
    id = next(_ids)
    params = {"name": action, "input": arguments, "invocationId": f"i-{id}"}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "actions/invoke", "params": params})


def _accept(request: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"action": "accept"}})


def _check(response: dict[str, Any]) -> None:
    if "result" not in response:
        raise RuntimeError(f"the call failed: {response}")
