"""What stays in memory of calls that are over: 50 000 confirms the whole way, and how large gateway and app are then.

Memory is flat if both are at most a tenth larger at the end than after the first tenth of the calls, when everything
has been loaded that such a call needs, and the allocator has found its size.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

from .measure import Effort, Row, single
from .stdio_client import resident
from .whole_path import path

GATEWAY = "memory-gateway"
APP = "memory-app"
NAMES = (GATEWAY, APP)

AT_ONCE = 16
"""Confirms that are under way at any time: half of the questions that a session may have open."""
STEPS = 10


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`. How large both are is printed after every tenth of the calls."""
    sizes: list[tuple[float, float]] = []
    with path("ws") as (agent, app):
        for step in range(1, STEPS + 1):
            agent.call_many("tasks__clear", {}, times=effort.confirms // STEPS, at_once=AT_ONCE, text="5")
            gateway, app_now = agent.memory, resident(app.process.pid)
            sizes.append((gateway, app_now))
            confirms = f"{step * effort.confirms // STEPS} confirms"
            print(f"{confirms:>15}: gateway {gateway / 2**20:.1f} MiB, app {app_now / 2**20:.1f} MiB", file=sys.stderr)
    for name, which in ((GATEWAY, 0), (APP, 1)):
        if name in wanted:
            after_a_tenth, at_the_end = sizes[0][which], sizes[-1][which]
            peer = f"itself after {effort.confirms // STEPS} of {effort.confirms} confirms"
            yield single(name, peer, at_the_end, after_a_tenth, target=1.1)
