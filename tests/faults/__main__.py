"""`python -m tests.faults`: play histories.

--seed 1234                   this one
--histories 5000 [--from N]   so many, from the seed N on (0)
--every-byte [--stride N]     cut each connection at every Nth byte of a prompt's life; for --minutes N, at some of them
"""

from __future__ import annotations

import argparse
import asyncio
import math
import signal
import sys
import time
from collections.abc import Coroutine
from typing import Any

from . import positions
from .laboratory import Report, run
from .site import TOPOLOGIES


def table(report: Report) -> str:
    """What was played, by fault, and how the calls ended."""
    lines = ["| fault | histories | calls ended |", "|---|---:|---|"]
    for fault in sorted(report.played):
        ends = ", ".join(f"{end} {count}" for end, count in report.ends[fault].most_common())
        lines.append(f"| {fault} | {report.played[fault]} | {ends} |")
    return "\n".join(lines)


async def heeding(job: Coroutine[Any, Any, Report]) -> Report:
    """Do it until it is done; on SIGTERM everything that it has put up is taken down."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await job


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Play histories of faults.")
    parser.add_argument("--seed", type=int, action="append", help="play this history; may be repeated")
    parser.add_argument("--histories", type=int, default=100, help="how many")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the first seed")
    parser.add_argument("--first", action="store_true", dest="first_violation", help="end with the first violation")
    parser.add_argument("--jobs", type=int, default=4, help="topologies at once")
    parser.add_argument(
        "--every-byte", action="store_true", help="cut each connection at every byte of a prompt's life"
    )
    parser.add_argument("--stride", type=int, default=1, help="with --every-byte: every so many bytes")
    parser.add_argument("--minutes", type=float, help="with --every-byte: end after so long")
    parser.add_argument("--cut", help="cut at this position alone, as a violation names it")
    parser.add_argument("--topology", default="", help="with --every-byte: only those whose name has this in it")
    options = parser.parse_args()
    chosen = [topology for topology in TOPOLOGIES if options.topology in str(topology)]
    began = time.monotonic()
    if options.every_byte or options.cut:
        only = positions.Cut.parse(options.cut) if options.cut else None
        until = math.inf if options.minutes is None else began + 60 * options.minutes
        report = asyncio.run(heeding(positions.run(options.stride, options.jobs, chosen, only, until)))
    else:
        seeds = options.seed or range(options.start, options.start + options.histories)
        report = asyncio.run(heeding(run(seeds, options.jobs, progress=True, first=options.first_violation)))
    print(table(report))
    played = report.played.total()
    print(
        f"{played} histories in {time.monotonic() - began:.0f} s, {len(report.violations)} violations;"
        f" {report.yeses} yeses, {report.effects} effects, {report.restarts} starts of processes,"
        f" the most that one grew is {report.most_grown / 1024:.1f} MiB"
    )
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
