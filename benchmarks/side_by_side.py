"""The work of `work` on ours and on every peer's server, in turn: over HTTP and on stdio, in both eras.

`fast-*` is the same over HTTP where uvloop and httptools are: in an environment of its own, since uvicorn takes them
wherever it finds them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from .crowd import crowd
from .measure import Effort, Row, in_turn, row_of, side
from .peers import FAST, FLOOR, MCP, OURS, PEERS, Era, Peer, Transport, present
from .stdio_client import Agent, BareLines
from .work import CONFIRM, CONFIRMS, ECHO, WORKS, Work

_TARGETS = {
    ("http", ECHO, "floor"): 1.6,
    ("http", CONFIRM, "floor"): 1.6,
    ("http", CONFIRM, "mcp"): 0.55,
    ("http", CONFIRMS, "mcp"): 0.5,
    ("stdio", CONFIRMS, "mcp"): 0.5,
}
"""By transport, of both eras."""
_ALSO: dict[str, tuple[str, float | None]] = {
    "http-echo:mcp": ("mcp-http-echo", 0.65),
    "http-confirm:mcp": ("mcp-http-confirm", 0.65),
    "http-echo:mcp-json": ("mcp-http-echo-json", None),
    "http-modern-echo:mcp": ("modern-echo", 0.85),
    "http-modern-confirm:mcp": ("modern-confirm", 0.65),
    "http-modern-confirm:mcp-unsealed": ("modern-confirm-unsealed", None),
}
"""Rows that are known under another name, with a target of their own: of the same rounds."""


class Doer(Protocol):
    """Who does a piece of work."""

    def do(self, work: Work) -> None: ...


@dataclass(frozen=True, slots=True)
class Group:
    """A transport in an era.

    Attributes:
        name: What its rows begin with.
        transport: How clients come in.
        era: What they speak.
        peers: Who is measured.
        works: What is measured.
        fast: Whether it is measured with uvloop and httptools.
    """

    name: str
    transport: Transport
    era: Era
    peers: Collection[Peer] = PEERS
    works: Collection[Work] = WORKS
    fast: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All rows, in the order in which they come."""
        rows = [self.row(work, peer) for work in self.works for peer in self.of(work)]
        return tuple(name for row in rows for name in (row, *_ALSO.get(row, ())[:1]))

    def row(self, work: Work, peer: Peer) -> str:
        """The name of a row."""
        return f"{self.name}-{work.name}:{peer.name}"

    def of(self, work: Work) -> list[Peer]:
        """Who does it."""
        return [peer for peer in self.peers if peer.does(work, self.transport, self.era)]

    def start(self, peer: Peer, stack: ExitStack) -> Doer:
        """Start the server of a peer, and a client, until the stack is closed."""
        if self.fast:
            return stack.enter_context(crowd(peer, self.era, python=FAST, environment={"BENCHMARK_LOOP": "fast"}))
        if self.transport == "http":
            return stack.enter_context(crowd(peer, self.era))
        if peer is FLOOR:
            return stack.enter_context(BareLines(peer.stdio_command))
        agent = stack.enter_context(Agent(peer.stdio_command, modern=self.era == "modern"))
        agent.initialize()
        return agent

    def rows(self, effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
        """Measure what is wanted of `names`."""
        with ExitStack() as stack:
            started: dict[str, Doer] = {}

            def call(peer: Peer, work: Work) -> Callable[[], None]:
                doer = started.get(peer.name) or started.setdefault(peer.name, self.start(peer, stack))
                return lambda: doer.do(work)

            for work in self.works:
                peers = present(peer for peer in self.of(work) if self._is_wanted(self.row(work, peer), wanted))
                if not peers:
                    continue
                if self.fast and not FAST.exists():
                    print(f"no uvloop and httptools: {FAST} has not been made", file=sys.stderr)
                    return
                sides = {peer: side(call(peer, work), effort, slice=effort.slice) for peer in (OURS, *peers)}
                ours = sides.pop(OURS)
                rounds = max(2, effort.works // 3) if work.heavy else effort.works
                for peer, pairs in in_turn(ours, sides, rounds=rounds).items():
                    name, taken = self.row(work, peer), (ours.taken, sides[peer].taken)
                    target = None if self.fast else _TARGETS.get((self.transport, work, peer.name))
                    if name in wanted:
                        yield row_of(name, peer.title, pairs, target=target, p95=taken)
                    also, target = _ALSO.get(name, ("", None))
                    if also in wanted:
                        yield row_of(also, peer.title, pairs, target=target, p95=taken)

    def _is_wanted(self, row: str, wanted: Collection[str]) -> bool:
        return row in wanted or _ALSO.get(row, ("",))[0] in wanted


GROUPS = (
    Group("http", "http", "legacy"),
    Group("http-modern", "http", "modern"),
    Group("stdio", "stdio", "legacy"),
    Group("stdio-modern", "stdio", "modern"),
    Group("fast", "http", "legacy", [FLOOR, MCP], [ECHO, CONFIRM], fast=True),
    Group("fast-modern", "http", "modern", [FLOOR, MCP], [ECHO, CONFIRM], fast=True),
)
