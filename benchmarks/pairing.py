"""How long an agent waits for a claim, and for an app whose connection was lost.

Each round has a gateway and an app of its own, so that the claim is the first that either of them sees. Then the
connection is cut, twice. At the first cut the app opens a second endpoint and its manifest says so, and the gateway
dials when it sees that. At the second nothing in the manifest is new: the gateway dials after the pause that it makes
before it dials the same place again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from .hop import Binding
from .measure import Effort, Row, row_of
from .processes import server, tesseron_py
from .stdio_client import CLAIM, Agent

BINDINGS: tuple[Binding, ...] = ("ws", "uds")
CLAIMED = {"ws": "claim", "uds": "claim-unix"}
RESUMED = {"ws": "redial", "uds": "redial-unix"}
RESUMED_AGAIN = {"ws": "redial-again", "uds": "redial-again-unix"}
NAMES = tuple(names[binding] for names in (CLAIMED, RESUMED, RESUMED_AGAIN) for binding in BINDINGS)

CLAIM_LIMIT = 0.050
REDIAL_LIMIT = 0.200


@dataclass(frozen=True, slots=True)
class _Round:
    """What one pair of processes took, in seconds: its claim, and from each cut to the resumed session."""

    claim: float
    redial: float
    redial_again: float


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    rounds: dict[Binding, list[_Round]] = {binding: [] for binding in BINDINGS}
    for _ in range(effort.starts + 1):
        for binding in BINDINGS:
            rounds[binding].append(_round(binding))
    measured: tuple[tuple[dict[str, str], Callable[[_Round], float], str, float, float | None], ...] = (
        (CLAIMED, lambda each: each.claim, "limit of 50 ms", CLAIM_LIMIT, 1.0),
        (RESUMED, lambda each: each.redial, "limit of 200 ms", REDIAL_LIMIT, 1.0),
        (RESUMED_AGAIN, lambda each: each.redial_again, "200 ms", REDIAL_LIMIT, None),
    )
    for names, of, peer, limit, target in measured:
        for binding in BINDINGS:
            if names[binding] in wanted:
                pairs = [(of(each), limit) for each in rounds[binding][1:]]
                yield row_of(names[binding], peer, pairs, target=target)


def _round(binding: Binding) -> _Round:
    with server("listening", binding) as app, Agent([tesseron_py(), "gateway"]) as agent:
        agent.initialize()
        agent.result("tools/list")
        code = app.ready.split()[1]
        started = time.perf_counter()
        agent.call(CLAIM, {"code": code})
        claim = time.perf_counter() - started
        redials: list[float] = []
        for _ in range(2):
            # At any moment between two looks of the gateway, which looks every 100 ms.
            time.sleep(random.uniform(0.0, 0.1))
            redials.append(float(app.ask("cut")))
        if agent.call("tasks__echo", {"text": "there"}) != "there":
            raise RuntimeError("the app was resumed, and is not there")
        return _Round(claim, *redials)
