"""What a program costs before it has done anything: imports, and a server's first answers on stdio and its memory then.

MCP clients start servers themselves, many of them, and give up on one that says nothing for a moment.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from .measure import Effort, Measurement, Row, compare, row_of, whole
from .peers import PEERS, present
from .processes import ROOT, SERVERS, tesseron_py
from .stdio_client import Agent

IMPORT = "import"
IMPORT_BARE = "import-bare"
IMPORT_ACTION = "import-one-action"
FIRST_REPLY = "stdio-first-reply"
FIRST_CALL = "stdio-first-call"
MEMORY = "stdio-memory"
MEMORY_CALLED = "stdio-memory-after-call"
GATEWAY_REPLY = "gateway-first-reply"
GATEWAY_CPU = "gateway-first-reply-cpu"
GATEWAY_MEMORY = "gateway-memory"
GATEWAY_MEMORY_LISTED = "gateway-memory-after-list"
IMPORTS = (IMPORT, IMPORT_BARE, IMPORT_ACTION)
STDIO = (FIRST_REPLY, MEMORY, FIRST_CALL, MEMORY_CALLED)
_PEERS = {
    "mcp": "from mcp.server.lowlevel import Server",
    "mcp-high": "from mcp.server.mcpserver import MCPServer",
    "mcp1": "from mcp.server.fastmcp import FastMCP",
    "fastmcp": "from fastmcp import FastMCP",
}
"""By peer, what its author imports."""
ALL_IMPORT, ALL_REPLY, ALL_CALL, ALL_MEMORY = "start-import", "start-first-reply", "start-first-call", "start-memory"
_ALL_NAMES = (ALL_IMPORT, ALL_REPLY, ALL_CALL, ALL_MEMORY)
ALL = tuple(f"{name}:{peer}" for name in _ALL_NAMES for peer in _PEERS)
GATEWAY = (GATEWAY_REPLY, GATEWAY_CPU, GATEWAY_MEMORY, GATEWAY_MEMORY_LISTED)

REPLY_LIMIT = 0.150
"""Seconds that a gateway's first reply may take, above the start of a Python that does nothing."""
MEMORY_LIMIT = 40e6
"""Bytes that a gateway may then have resident."""

_AUTHOR = """
from tesseron_py import (
    Tesseron, Context, action, confirm, elicit, ask, Accepted, ActionError, Limits, AgentInfo, Capabilities,
)
"""
_ACTION = """
from tesseron_py import Tesseron
app = Tesseron("tasks")
@app.action
def add_task(text: str, priority: int = 0) -> str: ...
"""
_PYDANTIC = "from pydantic import BaseModel, TypeAdapter"
_MODEL = """
from pydantic import BaseModel, TypeAdapter
class Task(BaseModel):
    text: str
    priority: int = 0
"""
_NOT_LOADED = ("asyncio", "websockets", "httpx", "tesseron_py.gateway", "tesseron_py.mcp")
"""Modules that no author's import may load."""


def import_rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `IMPORTS`. Each import is timed inside a fresh process, whose own start is left out."""
    peer = f"pydantic {version('pydantic')}"
    for name, ours, theirs, target in (
        (IMPORT, _AUTHOR, _PYDANTIC, 1.3),
        (IMPORT_BARE, "import tesseron_py", _PYDANTIC, None),
        (IMPORT_ACTION, _ACTION, _MODEL, None),
    ):
        if name in wanted:
            checked = () if name == IMPORT_ACTION else _NOT_LOADED
            sides = whole(_import(ours, not_loaded=checked)), whole(_import(theirs))
            yield compare(name, peer, *sides, rounds=effort.starts, target=target)


def _import(statement: str, *, not_loaded: Sequence[str] = (), python: Path | None = None) -> Measurement:
    program = (
        "import sys, time\n"
        f"unwanted = set({list(not_loaded)!r}) - set(sys.modules)\n"
        "started = time.perf_counter()\n"
        f"{statement}\n"
        "print(time.perf_counter() - started)\n"
        "print(*unwanted & set(sys.modules))\n"
    )

    def measure() -> float:
        command = [str(python or sys.executable), "-c", program]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        seconds, loaded = done.stdout.splitlines()
        if loaded:
            raise RuntimeError(f"{statement.strip()!r} loads {loaded}, and may not")
        return float(seconds)

    return measure


@dataclass(frozen=True, slots=True)
class _Start:
    """How one server on stdio started: seconds since its process was asked for, and bytes it held."""

    first_reply: float
    memory: float
    first_call: float
    memory_called: float


_MEASURED: tuple[tuple[str, Callable[[_Start], float], dict[str, float]], ...] = (
    (ALL_REPLY, lambda start: start.first_reply, {"mcp": 0.32}),
    (ALL_CALL, lambda start: start.first_call, {}),
    (ALL_MEMORY, lambda start: start.memory_called, {}),
)


def stdio_rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `STDIO`: all of it in the same processes."""
    peer = f"mcp {version('mcp')}, low-level"
    ours = [tesseron_py(), "mcp", "benchmarks.servers.one_tool:app"]
    theirs = [sys.executable, str(SERVERS / "official_one_tool.py")]
    _start(ours), _start(theirs)
    starts = [(_start(ours), _start(theirs)) for _ in range(effort.starts)]
    measured: tuple[tuple[str, Callable[[_Start], float], float | None], ...] = (
        (FIRST_REPLY, lambda start: start.first_reply, 0.45),
        (MEMORY, lambda start: start.memory, 0.6),
        (FIRST_CALL, lambda start: start.first_call, None),
        (MEMORY_CALLED, lambda start: start.memory_called, None),
    )
    for name, of, target in measured:
        if name in wanted:
            yield row_of(name, peer, [(of(one), of(other)) for one, other in starts], target=target)


def _start(command: Sequence[str]) -> _Start:
    started = time.perf_counter()
    with Agent(command) as agent:
        agent.initialize()
        first_reply, memory = time.perf_counter() - started, agent.memory
        agent.call("echo", {"text": "Buy milk"})
        return _Start(first_reply, memory, time.perf_counter() - started, agent.memory)


def all_rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `ALL`: the same five tools on ours and on every peer's server."""
    peers = present(peer for peer in PEERS if any(f"{name}:{peer.name}" in wanted for name in _ALL_NAMES))
    rounds = effort.starts_of_all
    for peer in peers:
        if (name := f"{ALL_IMPORT}:{peer.name}") in wanted:
            sides = whole(_import(_AUTHOR)), whole(_import(_PEERS[peer.name], python=peer.python))
            yield compare(name, peer.title, *sides, rounds=rounds)
    commands = [[tesseron_py(), "mcp", "benchmarks.servers.tasks:app"], *(peer.stdio_command for peer in peers)]
    for command in commands:
        _start(command)
    starts = [[_start(command) for command in commands] for _ in range(rounds)]
    for name, of, targets in _MEASURED:
        for at, peer in enumerate(peers, 1):
            if (row := f"{name}:{peer.name}") in wanted:
                pairs = [(of(each[0]), of(each[at])) for each in starts]
                yield row_of(row, peer.title, pairs, target=targets.get(peer.name))


def gateway_rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `GATEWAY`: all of it in the same processes, and the start of a bare Python beside each.

    What a gateway loads after its first reply is there when it has listed its tools, so its memory counts then, too.
    """
    _start_gateway(), _start_python(), _start_gateway_alone()
    starts = [(_start_gateway(), _start_python(), _start_gateway_alone()) for _ in range(effort.starts)]
    above = "150 ms more than python -c pass"
    measured: tuple[tuple[str, str, list[float], float, float | None], ...] = (
        (GATEWAY_REPLY, above, [gateway.first_reply - bare.wall for gateway, bare, _ in starts], REPLY_LIMIT, 1.0),
        (GATEWAY_CPU, above, [cpu - bare.cpu for _, bare, cpu in starts], REPLY_LIMIT, None),
        (GATEWAY_MEMORY, "40 MB", [gateway.memory for gateway, _, _ in starts], MEMORY_LIMIT, 1.0),
        (GATEWAY_MEMORY_LISTED, "40 MB", [gateway.memory_listed for gateway, _, _ in starts], MEMORY_LIMIT, 1.0),
    )
    for name, limit, values, most, target in measured:
        if name in wanted:
            yield row_of(name, f"limit of {limit}", [(value, most) for value in values], target=target)


@dataclass(frozen=True, slots=True)
class _GatewayStart:
    """How one gateway on stdio started: seconds since its process was asked for, and bytes it held."""

    first_reply: float
    memory: float
    memory_listed: float


def _start_gateway() -> _GatewayStart:
    started = time.perf_counter()
    with Agent([tesseron_py(), "gateway"]) as agent:
        agent.initialize()
        first_reply, memory = time.perf_counter() - started, agent.memory
        agent.result("tools/list")
        return _GatewayStart(first_reply, memory, agent.memory)


def _start_gateway_alone() -> float:
    """Seconds that a processor works from the start of a gateway to its first reply."""
    before = _cpu_of_children()
    with Agent([tesseron_py(), "gateway"]) as agent:
        agent.initialize()
        agent.kill()
    return _cpu_of_children() - before


@dataclass(frozen=True, slots=True)
class _BareStart:
    """A Python that does nothing: seconds from its start to its end, and seconds that a processor works on that."""

    wall: float
    cpu: float


def _start_python() -> _BareStart:
    before, started = _cpu_of_children(), time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], cwd=ROOT, check=True)
    return _BareStart(time.perf_counter() - started, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
