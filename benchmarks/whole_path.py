"""The whole path: an agent on stdio, `tesseron-py gateway`, an app behind it, and back.

In each round the same calls go the whole way, to a direct server on stdio, and from a bare gateway to an app: what is
above the sum of the last two is what it costs to have a gateway between. A confirm is answered by the agent.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from .hop import Binding
from .hop_client import calls, connect_as_gateway, warm_up
from .measure import Effort, Row, row_of
from .processes import Server, server, tesseron_py
from .stdio_client import CLAIM, Agent
from .work import CONFIRM as CLEAR
from .work import ECHO as SAY
from .work import Work

ECHO = "path-echo"
CONFIRM = "path-confirm"
ECHO_UNIX = "path-echo-unix"
CONFIRM_UNIX = "path-confirm-unix"
NAMES = (ECHO, CONFIRM, ECHO_UNIX, CONFIRM_UNIX)

_APP = "benchmarks.servers.tasks:app"
_CALLS = {ECHO: SAY, CONFIRM: CLEAR}
_UNIX = {ECHO: ECHO_UNIX, CONFIRM: CONFIRM_UNIX}


@contextmanager
def path(binding: Binding) -> Iterator[tuple[Agent, Server]]:
    """An agent, a gateway that it has started, and an app that it has claimed."""
    with server("listening", binding) as app, Agent([tesseron_py(), "gateway"]) as agent:
        agent.initialize()
        agent.call(CLAIM, {"code": app.ready.split()[1]})
        yield agent, app


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    with ExitStack() as stack:
        over_websocket, _ = stack.enter_context(path("ws"))
        over_unix, _ = stack.enter_context(path("uds"))
        direct = stack.enter_context(Agent([tesseron_py(), "mcp", _APP]))
        direct.initialize()
        run = stack.enter_context(asyncio.Runner())
        run.run(warm_up(stack.enter_context(server("echo_on_websocket")).ready))
        app = run.run(connect_as_gateway(stack.enter_context(server("listening", "ws")).ready))
        for name, work in _CALLS.items():
            if not {name, _UNIX[name]}.intersection(wanted):
                continue

            def timed(agent: Agent, tool: str, work: Work = work) -> float:
                return _timed(agent, tool, work, effort.calls)

            rounds: list[tuple[float, float, float]] = []
            for _ in range(effort.rounds + 1):
                websocket = timed(over_websocket, f"tasks__{work.tool}")
                alone = timed(direct, work.tool)
                hop = statistics.median(run.run(calls(app, work, effort.calls)))
                unix = timed(over_unix, f"tasks__{work.tool}")
                rounds.append((websocket, alone + hop, unix))
            del rounds[0]
            if name in wanted:
                pairs = [(websocket, parts) for websocket, parts, _ in rounds]
                yield row_of(name, "tesseron-py mcp, plus one app hop", pairs, target=1.25)
            if _UNIX[name] in wanted:
                pairs = [(unix, websocket) for websocket, _, unix in rounds]
                yield row_of(_UNIX[name], f"{name}, over a WebSocket", pairs, target=1.0, noise=True)
        run.run(app.close())


def _timed(agent: Agent, tool: str, work: Work, times: int) -> float:
    """Seconds a call takes: the median of many."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        got = agent.call(tool, work.arguments)
        taken.append(time.perf_counter() - started)
        if got != work.text:
            raise RuntimeError(f"{tool} gave {got!r} instead of {work.text!r}")
    return statistics.median(taken)
