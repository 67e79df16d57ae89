"""What a process of the laboratory tells it, as lines of JSON on a pipe that no limit or full disk reaches.

A line is one write, and shorter than a pipe's buffer, so lines of several threads do not mix, and what was written
before a SIGKILL is read after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tesseron_py.workers import loop_caller

JOURNAL = "FAULTS_JOURNAL"
"""The variable with the descriptor that is written to."""
CONTROL = "FAULTS_CONTROL"
"""The variable with the descriptor that orders are read from."""


def note(event: str, **members: Any) -> None:
    """Tell the laboratory, where there is one."""
    if JOURNAL in os.environ:
        line = json.dumps({"event": event, **members}).encode() + b"\n"
        os.write(int(os.environ[JOURNAL]), line)


def _no_loop(fn: Callable[[], None]) -> None:
    raise RuntimeError("no event loop runs yet")


in_loop = _no_loop
"""Has this process's event loop call something."""


def enter_loop() -> None:
    """Called in the event loop, so that `in_loop` leads to it."""
    global in_loop
    in_loop = loop_caller()
