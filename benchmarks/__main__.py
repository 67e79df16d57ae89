"""`python -m benchmarks`: measure, print a table, and write `benchmarks/results.json`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from . import growth, held, hop, load, memory, pairing, parked, plot, side_by_side, starts, whole_path
from .measure import FULL, ONCE, QUICK, Effort, Row
from .processes import clean_room, make_room
from .report import report
from .table import print_table

Rows: TypeAlias = Callable[[Effort, Collection[str]], Iterator[Row]]

GROUPS: dict[str, tuple[tuple[str, ...], Rows]] = {
    "imports": (starts.IMPORTS, starts.import_rows),
    "start": (starts.STDIO, starts.stdio_rows),
    "start-all": (starts.ALL, starts.all_rows),
    "start-gateway": (starts.GATEWAY, starts.gateway_rows),
    "websocket": (hop.names("ws"), partial(hop.rows, "ws")),
    "unix": (hop.names("uds"), partial(hop.rows, "uds")),
    **{group.name: (group.names, group.rows) for group in side_by_side.GROUPS},
    "parked": (parked.NAMES, parked.rows),
    "held": (held.NAMES, held.rows),
    "path": (whole_path.NAMES, whole_path.rows),
    "pairing": (pairing.NAMES, pairing.rows),
    "memory": (memory.NAMES, memory.rows),
    "growth": (growth.NAMES, growth.rows),
}
"""What is measured together, by name."""
NAMES = tuple(name for names, _ in GROUPS.values() for name in names)
DIRECTORY = Path(__file__).resolve().parent
RESULTS = DIRECTORY / "results.json"
PICTURE = DIRECTORY.parent / "docs" / "growth.svg"


def main() -> int:
    """Run what the command line asks for. A missed target is shown, and no failure: the machine may be busy."""
    if sys.argv[1:2] == ["load"]:
        return load.main(sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="How fast and how large, as ratios.",
        epilog="`python -m benchmarks load` is a server under load for a while.",
    )
    parser.add_argument("--quick", action="store_true", help="few rounds: whether it runs, not how fast it is")
    parser.add_argument("--once", action="store_true", help="as few rounds as make a row")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=(*GROUPS, *NAMES),
        help=f"a row, or all rows of one of {', '.join(GROUPS)}",
    )
    parser.add_argument("--list", action="store_true", help="print the names of all rows, and measure nothing")
    parser.add_argument("--output", metavar="FILE", type=Path, help=f"default, of all rows in full: {RESULTS}")
    options = parser.parse_args()
    if options.list:
        print(*NAMES, sep="\n")
        return 0
    wanted = frozenset(chain.from_iterable(_rows_of(name) for name in options.only or GROUPS))
    effort = ONCE if options.once else QUICK if options.quick else FULL
    measured = measure(effort, wanted)
    about = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    print(f"{about}\n")
    print_table(measured)
    if options.output is None and effort is FULL and not options.only:
        options.output = RESULTS
        PICTURE.write_text(plot.picture(measured))
    if options.output is not None:
        options.output.write_text(json.dumps([asdict(row) for row in measured], indent=2) + "\n")
        options.output.with_suffix(".md").write_text(report(measured, f"`make bench` on {about}."))
    return 0


def _rows_of(name: str) -> tuple[str, ...]:
    return GROUPS[name][0] if name in GROUPS else (name,)


def measure(effort: Effort, wanted: frozenset[str]) -> list[Row]:
    """Measure what is wanted of `NAMES`. What is measured, and how long it took, is said on standard error."""
    measured: list[Row] = []
    make_room(4096)
    with clean_room():
        for group, (names, rows) in GROUPS.items():
            if not wanted.intersection(names):
                continue
            started = time.perf_counter()
            for row in rows(effort, wanted):
                measured.append(row)
                print(f"measured {row.name}", file=sys.stderr, flush=True)
            print(f"{group} took {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return measured


if __name__ == "__main__":
    sys.exit(main())
