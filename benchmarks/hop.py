"""The way from a gateway to an app and back, over a WebSocket and over a Unix socket.

The gateway is `hop_client` in this process. The peer, a bare server of the same transport in a process of its own,
answers with the very bytes that the app answered with, and reads nothing: what the ratio is above 1 is what protocol,
validation and the handler cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from typing import Literal, TypeAlias

from .hop_client import Wire, answers_of, calls, connect_as_gateway, connect_to_echo, warm_up
from .measure import Effort, Row, Side, in_turn, row_of
from .processes import server
from .work import CONFIRM, CONFIRMS, ELICIT, LARGE_RESULT, PROGRESS, Work

Binding: TypeAlias = Literal["ws", "uds"]

_TASK = {"text": "Buy milk and two dozen eggs", "priority": 2}
INVOKE = Work("invoke", "addTask", "", _TASK)
THREAD = Work("invoke-in-thread", "addTaskInThread", "", _TASK)
_WORKS = (INVOKE, CONFIRM, THREAD, ELICIT, CONFIRMS, LARGE_RESULT, PROGRESS)

_PREFIXES: dict[Binding, str] = {"ws": "websocket", "uds": "unix"}
_TARGETS = {"websocket-invoke": 1.5, "websocket-confirm": 1.4}
"""The echo has as many round trips as the call."""
_ALSO: dict[str, tuple[str, float | None]] = {
    "websocket-invoke": ("app-hop", 1.9),
    "websocket-confirm": ("app-confirm", 1.7),
    "websocket-invoke-in-thread": ("app-hop-in-thread", None),
}
"""Rows that are known under another name, with a target of their own: of the same rounds."""


def _row(binding: Binding, work: Work) -> str:
    return f"{_PREFIXES[binding]}-{work.name}"


def names(binding: Binding) -> tuple[str, ...]:
    """All rows of a binding, in the order in which they come."""
    rows = [_row(binding, work) for work in _WORKS]
    return tuple(name for row in rows for name in (row, *_ALSO.get(row, ())[:1]))


def _measure(run: asyncio.Runner, wire: Wire, work: Work) -> Callable[[int], list[float]]:
    return lambda times: run.run(calls(wire, work, times))


def rows(binding: Binding, effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `names(binding)`."""
    peer = f"websockets {version('websockets')}" if binding == "ws" else "asyncio, lines"
    echo = ["echo_on_websocket"] if binding == "ws" else ["echo_on_lines", "uds"]
    with ExitStack() as stack:
        ours = stack.enter_context(server("listening", binding))
        theirs = stack.enter_context(server(*echo)).ready
        run = stack.enter_context(asyncio.Runner())
        app = run.run(connect_as_gateway(ours.ready))
        run.run(warm_up(theirs))
        for work in _WORKS:
            name = _row(binding, work)
            also, also_target = _ALSO.get(name, ("", None))
            if name not in wanted and also not in wanted:
                continue
            bare = run.run(connect_to_echo(theirs, run.run(answers_of(app, work))))
            sides = [
                Side(_measure(run, wire, work), calls=effort.calls, slice=None if also else effort.slice)
                for wire in (app, bare)
            ]
            rounds = effort.rounds if also else max(2, effort.works // (3 if work.heavy else 1))
            [pairs] = in_turn(sides[0], {peer: sides[1]}, rounds=rounds).values()
            p95 = sides[0].taken, sides[1].taken
            if name in wanted:
                yield row_of(name, peer, pairs, target=_TARGETS.get(name), p95=p95)
            if also in wanted:
                yield row_of(also, peer, pairs, target=also_target, p95=p95)
            run.run(bare.close())
        run.run(app.close())
