"""MCP 2026-07-28 over HTTP against the official server, both under uvicorn, each in a process of its own.

The client is `http_client`. A confirm is two requests on one connection: the call, which comes back with the question,
and the call again with the answer. `parked-*` is ours alone: what calls cost that wait for answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any

from .http_client import Connection
from .measure import Effort, Row, compare, side
from .processes import server
from .stdio_client import resident

ECHO = "modern-echo"
CONFIRM = "modern-confirm"
UNSEALED = "modern-confirm-unsealed"
MEMORY = "parked-memory"
ANSWER = "parked-answer"
NAMES = (ECHO, CONFIRM, UNSEALED, MEMORY, ANSWER)

_VERSION = "2026-07-28"
_TEXT = "Buy milk and two dozen eggs"
_PREFIX = "io.modelcontextprotocol/"
_META = {
    f"{_PREFIX}protocolVersion": _VERSION,
    f"{_PREFIX}clientCapabilities": {"elicitation": {"form": {}}},
    f"{_PREFIX}clientInfo": {"name": "benchmark", "version": "1"},
}
_ids = itertools.count(1)

PARKED = 1000
"""Calls whose memory is measured."""
FEW, MANY = 10, 10_000
"""Calls that wait beside the one that is answered."""
MOST_EACH = 16 * 1024
"""Bytes one of them may cost."""


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    peer = f"mcp {version('mcp')}, low-level"
    if ECHO in wanted or CONFIRM in wanted:
        with _caller("tesseron_over_http") as ours, _caller("official_modern_over_http") as theirs:
            if ECHO in wanted:
                sides = side(ours.echo, effort), side(theirs.echo, effort)
                yield compare(ECHO, peer, *sides, rounds=effort.rounds, target=0.85)
            if CONFIRM in wanted:
                sides = side(ours.confirm, effort), side(theirs.confirm, effort)
                yield compare(CONFIRM, peer, *sides, rounds=effort.rounds, target=0.65)
    if UNSEALED in wanted:
        with _caller("tesseron_over_http") as ours, _caller("official_modern_over_http", "unsealed") as theirs:
            sides = side(ours.confirm, effort), side(theirs.confirm, effort)
            yield compare(UNSEALED, f"{peer}, unsealed", *sides, rounds=effort.rounds)
    if MEMORY in wanted:
        yield _memory()
    if ANSWER in wanted:
        few, many = (FEW, MANY) if effort.rounds > 10 else (FEW, 20 * FEW)
        with _caller("parking_over_http") as crowded, _caller("parking_over_http") as empty:
            crowded.park(many)
            empty.park(few)
            sides = side(crowded.confirm, effort), side(empty.confirm, effort)
            yield compare(ANSWER, f"the same beside {few}", *sides, rounds=effort.rounds, target=1.5)


def _memory() -> Row:
    """What one parked call costs: how much the server has grown by 1000, after as many have come and gone."""
    with _caller("parking_over_http") as caller:
        for _ in range(PARKED):
            caller.confirm()
        before = resident(caller.process)
        caller.park(PARKED)
        each = (resident(caller.process) - before) / PARKED
    return Row(
        name=MEMORY,
        peer="16 KiB",
        ours=each,
        theirs=float(MOST_EACH),
        ratio=each / MOST_EACH,
        target=1.0,
        spread=0.0,
    )


@contextmanager
def _caller(*process: str) -> Iterator[_Caller]:
    """A server of `benchmarks.servers` and a client of it, while the body runs."""
    with ExitStack() as stack:
        running = stack.enter_context(server(*process))
        connections: dict[str, Connection] = {}
        for tool in ("echo", "clear"):
            headers = {
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
                "MCP-Protocol-Version": _VERSION,
                "Mcp-Method": "tools/call",
                "Mcp-Name": tool,
            }
            connections[tool] = Connection(int(running.ready), headers)
            stack.callback(connections[tool].close)
        yield _Caller(connections, running.process.pid)


class _Caller:
    """A client that calls two tools, each on a connection of its own."""

    def __init__(self, connections: dict[str, Connection], process: int) -> None:
        self.process = process
        self._connections = connections

    def echo(self) -> None:
        """One call of `echo`."""
        _check(self._call("echo", arguments={"text": _TEXT}), _TEXT)

    def confirm(self) -> None:
        """One call of `clear`, which asks, and is told yes."""
        asked = self._call("clear")["result"]
        [key] = asked["inputRequests"]
        answer = {key: {"action": "accept", "content": {"approve": True}}}
        _check(self._call("clear", inputResponses=answer, requestState=asked["requestState"]), "5")

    def park(self, many: int) -> None:
        """Calls of `clear` that nobody answers."""
        for _ in range(many):
            if self._call("clear")["result"]["resultType"] != "input_required":
                raise RuntimeError("the call did not ask")

    def _call(self, tool: str, **params: Any) -> dict[str, Any]:
        whole = {"name": tool, "_meta": _META, **params}
        message = {"jsonrpc": "2.0", "id": next(_ids), "method": "tools/call", "params": whole}
        [response] = self._connections[tool].post(message)
        return response


def _check(response: dict[str, Any], text: str) -> None:
    if response.get("result", {}).get("content") != [{"type": "text", "text": text}]:
        raise RuntimeError(f"the call failed: {response}")
