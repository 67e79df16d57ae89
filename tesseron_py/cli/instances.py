"""`tesseron-py instances`: the apps that run on this machine, their state and their codes."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from ..plain import plain
from .failure import Failure

if TYPE_CHECKING:
    from ..gateway.instances import Instance


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "List the apps that run on this machine: the code of one that waits is for whoever sits at this terminal."
    )


def run(options: argparse.Namespace) -> int:
    """List them.

    Raises:
        Failure: The directory they are found in cannot be used.
    """
    from ..directory import DirectoryProblem
    from ..gateway.discovery import Discovery

    discovery = Discovery(lambda file, instance: None)
    try:
        discovery.look()
    except DirectoryProblem as problem:
        raise Failure(str(problem)) from problem
    if not discovery.instances:
        print("No app runs on this machine. Start one with: tesseron-py run MODULE:APP")
        return 0
    rows = [_row(instance) for instance in sorted(discovery.instances.values(), key=lambda found: found.added_at)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _row(instance: Instance) -> tuple[str, ...]:
    from ..gateway.instances import UnixSocketAt

    place = instance.place.path if isinstance(instance.place, UnixSocketAt) else instance.place.url
    minted = instance.minted
    if minted is None:
        state = "for any gateway" if instance.bound_agent is None else f"claimed by {plain(instance.bound_agent.name)}"
    elif minted.bound_agent is not None:
        state = f"claimed by {plain(minted.bound_agent.name)}"
    else:
        state = f"waits, code {plain(minted.code)}"
    return plain(instance.app_name), state, _age(instance.added_at), f"pid {instance.pid or '?'}", plain(place)


def _age(added_at: int) -> str:
    if not added_at:
        return "?"
    seconds = max(0, int(time.time() - added_at / 1000))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
