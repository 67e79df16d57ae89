"""What a server holds for one client: for a session over HTTP, and for a question on stdio that nobody has answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .legacy_http import open_session
from .measure import Effort, Row, single
from .peers import FLOOR, OURS, PEERS, Peer, present
from .processes import server
from .stdio_client import Agent, resident
from .work import CONFIRM, WORKS

PROMPT, SESSION = "held-prompt-memory", "held-session-memory"
_PEERS = tuple(peer for peer in PEERS if peer is not FLOOR and peer.stdio and peer.legacy == WORKS)
NAMES = tuple(f"{name}:{peer.name}" for name in (PROMPT, SESSION) for peer in _PEERS)


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    for name, measure in ((PROMPT, _prompt), (SESSION, _session)):
        peers = present(peer for peer in _PEERS if f"{name}:{peer.name}" in wanted)
        if peers:
            ours = measure(OURS, effort.held)
            for peer in peers:
                yield single(f"{name}:{peer.name}", peer.title, ours, measure(peer, effort.held))


def _prompt(peer: Peer, many: int) -> float:
    """Bytes that each of so many questions adds, after some that were answered one by one."""
    with Agent(peer.stdio_command) as agent:
        agent.initialize()
        for _ in range(many // 10 + 1):
            agent.do(CONFIRM)
        before = agent.memory
        agent.park(CONFIRM, many)
        return max(agent.memory - before, 1.0) / many


def _session(peer: Peer, many: int) -> float:
    """Bytes that each of so many sessions adds, after a tenth as many."""
    module, *args = peer.http
    with server(module, *args, python=peer.python) as running:
        port, process = int(running.ready), running.process.pid
        for _ in range(many // 10 + 1):
            open_session(port)
        before = resident(process)
        for _ in range(many):
            open_session(port)
        return max(resident(process) - before, 1.0) / many
