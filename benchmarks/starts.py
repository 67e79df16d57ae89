"""What a program costs before it has done anything: imports, and a server's first answers on stdio and its memory then.

MCP clients start servers themselves, many of them, and give up on one that says nothing for a moment.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # it has no types

from .measure import Effort, Row, Side, compare, row_of
from .processes import ROOT, SERVERS, stop

IMPORT = "import"
IMPORT_BARE = "import-bare"
IMPORT_ACTION = "import-one-action"
FIRST_REPLY = "stdio-first-reply"
FIRST_CALL = "stdio-first-call"
MEMORY = "stdio-memory"
MEMORY_CALLED = "stdio-memory-after-call"
IMPORTS = (IMPORT, IMPORT_BARE, IMPORT_ACTION)
STDIO = (FIRST_REPLY, MEMORY, FIRST_CALL, MEMORY_CALLED)

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
            sides = _import(ours, not_loaded=checked), _import(theirs)
            yield compare(name, peer, *sides, rounds=effort.starts, target=target)


def _import(statement: str, *, not_loaded: Sequence[str] = ()) -> Side:
    program = (
        "import sys, time\n"
        f"unwanted = set({list(not_loaded)!r}) - set(sys.modules)\n"
        "started = time.perf_counter()\n"
        f"{statement}\n"
        "print(time.perf_counter() - started)\n"
        "print(*unwanted & set(sys.modules))\n"
    )

    def measure() -> float:
        command = [sys.executable, "-c", program]
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


def stdio_rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `STDIO`: all of it in the same processes."""
    peer = f"mcp {version('mcp')}, low-level"
    command = shutil.which("tesseron-py", path=str(Path(sys.executable).parent))
    if command is None:
        raise RuntimeError(f"the command tesseron-py is not installed beside {sys.executable}; run `make venv`")
    ours = [command, "mcp", "benchmarks.servers.one_tool:app"]
    theirs = [sys.executable, str(SERVERS / "official_on_stdio.py")]
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
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        info = {"name": "benchmark", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}}, "clientInfo": info}
        _write(process, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        _response(process, 1)
        first_reply, memory = time.perf_counter() - started, _memory(process)
        _write(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"name": "echo", "arguments": {"text": "Buy milk"}}
        _write(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        _response(process, 2)
        return _Start(first_reply, memory, time.perf_counter() - started, _memory(process))
    finally:
        stop(process)


def _write(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _response(process: subprocess.Popen[bytes], id: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == id:
            if "result" not in message or message["result"].get("isError"):
                raise RuntimeError(f"the call failed: {message}")
            return
    raise RuntimeError(f"the server ended with exit code {process.wait()} instead of answering")


def _memory(process: subprocess.Popen[bytes]) -> float:
    return float(psutil.Process(process.pid).memory_info().rss)
