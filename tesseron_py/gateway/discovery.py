"""The running apps of this machine, watched: their manifests appear, change and vanish.

The directory's time of change is looked at every 100 ms and read when it moved, and read in any case every 2 s, since a
file that is rewritten in place moves nothing (Tesseron 1.2 §8).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import anyio

from .. import directory
from .instances import Instance, read_instance

logger = logging.getLogger("tesseron_py.gateway")

GLANCE: Final = 0.1
LOOK: Final = 2.0
MOST: Final = 1000
"""Manifests that are read; what lies beyond is none of a working machine."""
_FRESH: Final = 2.0
"""Seconds after a file's change within which another one may bear the same time."""


class Discovery:
    """Watches for running apps.

    Args:
        on_change: Called with the path of each manifest that appeared, changed or vanished, and what it says now.
    """

    def __init__(self, on_change: Callable[[Path, Instance | None], None]) -> None:
        self._on_change = on_change
        self._instances: dict[Path, Instance] = {}
        self._states: dict[Path, tuple[int, ...]] = {}
        self._seen: tuple[int, ...] = ()
        self._complained: set[Path] = set()

    @property
    def instances(self) -> Mapping[Path, Instance]:
        """The running apps, by their manifests."""
        return self._instances

    async def run(self) -> None:
        """Watch for ever.

        Raises:
            DirectoryProblem: The directory cannot be used.
        """
        places = self._places()
        next_look = anyio.current_time()
        while True:
            seen = tuple(_moved(place) for place, _ in places)
            if seen != self._seen or anyio.current_time() >= next_look:
                self._seen = seen
                next_look = anyio.current_time() + LOOK
                self.look()
            await anyio.sleep(GLANCE)

    def look(self) -> None:
        """Look at every manifest, and read those that are new or have changed since the last time."""
        found: dict[Path, Instance] = {}
        states, self._states = self._states, {}
        for place, kind in self._places():
            for file in _files(place):
                state = _state(file)
                if state and state == states.get(file):
                    instance: Instance | None = self._instances.get(file)
                else:
                    instance = read_instance(file, kind)
                if instance is None:
                    self._complain(file)
                elif instance.pid is not None and not directory.is_alive(instance.pid):
                    logger.info("The manifest %s is of a process that is gone; it is removed", file.name)
                    _remove(file)
                else:
                    self._complained.discard(file)
                    found[file] = instance
                    self._states[file] = state
        before, self._instances = self._instances, found
        for file in [*(file for file in before if file not in found), *found]:
            if before.get(file) != found.get(file):
                self._on_change(file, found.get(file))

    def _places(self) -> list[tuple[Path, Literal["instances", "tabs"]]]:
        return [
            (directory.private(directory.INSTANCES), "instances"),
            (directory.root() / directory.LEGACY_TABS, "tabs"),
        ]

    def _complain(self, file: Path) -> None:
        if file not in self._complained and file.exists():
            self._complained.add(file)
            logger.warning("The manifest %s cannot be read and is ignored", file)


def _state(file: Path) -> tuple[int, ...]:
    """What changes with a file; nothing where it has just changed, and may do so again unseen."""
    try:
        found = os.lstat(file)
    except OSError:
        return ()
    if found.st_mtime > time.time() - _FRESH:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode, found.st_uid


def _moved(place: Path) -> int:
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0


def _files(place: Path) -> list[Path]:
    try:
        return sorted(file for file in place.iterdir() if file.suffix == ".json" and not file.name.startswith("."))[
            :MOST
        ]
    except OSError:
        return []


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("The manifest %s cannot be removed: %s", file, error)
