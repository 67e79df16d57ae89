"""What handlers live through, kept where any thread can write it and wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import anyio

POLL = 0.01
"""Seconds between looks at a file that tells of an end, of which there is no event elsewhere."""


class Journal:
    """Entries in the order they were made.

    Args:
        path: A file that is told them, too, for who outlives this process.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._entries: list[str] = []
        self._grown = threading.Condition()

    def note(self, entry: str) -> None:
        """Add an entry and wake who waits for it."""
        with self._grown:
            self._entries.append(entry)
            if self._path is not None:
                with open(self._path, "a", encoding="utf-8") as file:
                    file.write(f"{entry}\n")
            self._grown.notify_all()

    def wait(self, entry: str, timeout: float) -> bool:
        """Whether the entry is there, or comes within `timeout` seconds."""
        with self._grown:
            return self._grown.wait_for(lambda: entry in self._entries, timeout)

    @property
    def entries(self) -> list[str]:
        """A copy of all of them."""
        with self._grown:
            return list(self._entries)


async def written(path: Path, entry: str, timeout: float) -> None:
    """Wait until a journal of another process has the entry."""
    with anyio.fail_after(timeout):
        while not _has(path, entry):  # noqa: ASYNC110 - another process has no event that is set here
            await anyio.sleep(POLL)


def wait_written(path: Path, entry: str, timeout: float) -> None:
    """`written`, without an event loop."""
    wait_for(lambda: _has(path, entry), timeout)


def wait_for(there: Callable[[], bool], timeout: float) -> None:
    """Wait for what another process does to a file."""
    deadline = time.monotonic() + timeout
    while not there():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(POLL)


def _has(path: Path, entry: str) -> bool:
    return path.exists() and entry in path.read_text(encoding="utf-8").splitlines()
