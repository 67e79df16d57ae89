"""`python -m benchmarks`: measure, print a table, and write `benchmarks/results.json`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from . import mcp_over_http, memory, modern_over_http, pairing, starts, websocket_hop, whole_path
from .measure import FULL, QUICK, Effort, Row
from .processes import clean_room
from .table import print_table

Rows: TypeAlias = Callable[[Effort, Collection[str]], Iterator[Row]]

_BENCHMARKS: tuple[tuple[tuple[str, ...], Rows], ...] = (
    (starts.IMPORTS, starts.import_rows),
    (websocket_hop.NAMES, websocket_hop.rows),
    (mcp_over_http.NAMES, mcp_over_http.rows),
    (modern_over_http.NAMES, modern_over_http.rows),
    (starts.STDIO, starts.stdio_rows),
    (starts.GATEWAY, starts.gateway_rows),
    (whole_path.NAMES, whole_path.rows),
    (pairing.NAMES, pairing.rows),
    (memory.NAMES, memory.rows),
)
NAMES = tuple(name for names, _ in _BENCHMARKS for name in names)
RESULTS = Path(__file__).resolve().parent / "results.json"


def main() -> int:
    """Run what the command line asks for. A missed target is shown, and no failure: the machine may be busy."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="How fast and how large, as ratios.")
    parser.add_argument("--quick", action="store_true", help="few rounds: whether it runs, not how fast it is")
    parser.add_argument("--only", metavar="NAME", action="append", choices=NAMES, help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--output", metavar="FILE", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    options = parser.parse_args()
    wanted = frozenset(options.only or NAMES)
    effort = QUICK if options.quick else FULL
    measured: list[Row] = []
    with clean_room():
        for names, rows in _BENCHMARKS:
            if wanted.intersection(names):
                for row in rows(effort, wanted):
                    measured.append(row)
                    print(f"measured {row.name}", file=sys.stderr, flush=True)
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores\n")
    print_table(measured)
    options.output.write_text(json.dumps([asdict(row) for row in measured], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
