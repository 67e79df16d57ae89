"""Who is measured beside ours: how its server is started, over HTTP and on stdio, and what it can do."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal, TypeAlias

from .processes import ROOT
from .work import CONFIRM, ECHO, WORKS, Work

Era: TypeAlias = Literal["legacy", "modern"]
Transport: TypeAlias = Literal["http", "stdio"]

PREVIOUS = ROOT / ".venv-mcp1" / "bin" / "python"
"""The environment of the official package's previous generation."""
FAST = ROOT / ".venv-fast" / "bin" / "python"
"""The environment that has uvloop and httptools."""
ASKS_NOT = tuple(work for work in WORKS if work.answer is None)


@dataclass(frozen=True, slots=True, eq=False)
class Peer:
    """One server.

    Attributes:
        name: What rows call it.
        title: What it is, with its version.
        http: Its module below `benchmarks.servers`, and arguments, over HTTP.
        stdio: The same on stdio; or, of ours, the whole command.
        python: The interpreter of its environment.
        legacy: What it does of the work in 2025-11-25.
        modern: What it does of it in 2026-07-28.
    """

    name: str
    title: str
    http: Sequence[str] = ()
    stdio: Sequence[str] = ()
    python: Path = Path(sys.executable)
    legacy: Collection[Work] = WORKS
    modern: Collection[Work] = WORKS

    @property
    def stdio_command(self) -> list[str]:
        """What starts it on stdio."""
        return [str(self.python), "-m", f"benchmarks.servers.{self.stdio[0]}", *self.stdio[1:]]

    def does(self, work: Work, transport: Transport, era: Era) -> bool:
        """Whether it can be measured so."""
        return bool(self.http if transport == "http" else self.stdio) and work in (
            self.legacy if era == "legacy" else self.modern
        )


OURS = Peer("ours", "tesseron-py", ["tesseron_over_http"], ["tesseron_on_stdio"])
FLOOR = Peer("floor", "a server that does nothing", ["bare_over_http"], ["echo_on_lines"])
MCP = Peer("mcp", f"mcp {version('mcp')}, low-level", ["official_over_http"], ["official_on_stdio"])
PEERS = (
    FLOOR,
    MCP,
    Peer("mcp-json", f"{MCP.title}, json_response", ["official_over_http", "json"], legacy=[ECHO], modern=()),
    Peer("mcp-unsealed", f"{MCP.title}, unsealed", ["official_over_http", "unsealed"], legacy=(), modern=[CONFIRM]),
    Peer("mcp-high", f"mcp {version('mcp')}, high-level", ["on_high_level", "http"], ["on_high_level"]),
    Peer("mcp1", "mcp 1.30.0, high-level", ["on_previous", "http"], ["on_previous"], PREVIOUS, modern=()),
    # Its tools ask in the older era only: in the newer one its `ctx.elicit` raises.
    Peer("fastmcp", f"fastmcp {version('fastmcp')}", ["on_fastmcp", "http"], ["on_fastmcp"], modern=ASKS_NOT),
)


def present(peers: Iterable[Peer]) -> list[Peer]:
    """Those whose environment has been made; for each other one, a line on standard error."""
    found: list[Peer] = []
    for peer in peers:
        if peer.python.exists():
            found.append(peer)
        else:
            print(f"no {peer.title}: {peer.python} has not been made", file=sys.stderr)
    return found
