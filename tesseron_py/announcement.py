"""A file that tells other processes of this one, there exactly as long as what it says holds.

It is removed at the latest when the interpreter ends, and when SIGTERM would end the process without ado. Whoever reads
such files checks that their process is alive, for those of processes that were killed.
"""

from __future__ import annotations

import atexit
import logging
import signal
import threading
import weakref
from pathlib import Path
from typing import Any

from . import directory

logger = logging.getLogger("tesseron_py")

_open: weakref.WeakSet[Announcement] = weakref.WeakSet()


class Announcement:
    """One such file, below `~/.tesseron`. Nothing is there before it is first written.

    Args:
        path: The file, in a directory that `directory.private` has given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content: dict[str, Any] | None = None
        self._removed = False
        _open.add(self)
        _remove_on_exit()

    def write(self, content: dict[str, Any]) -> None:
        """Say this from now on; not any more once it is removed.

        Raises:
            OSError: It cannot be written.
        """
        if not self._removed:
            self._content = content
            directory.write(self.path, content)

    def renew(self) -> None:
        """Write it again as it is: somebody may have removed it."""
        if self._content is not None:
            try:
                directory.write(self.path, self._content)
            except OSError as error:
                logger.warning("%s cannot be written again: %s", self.path, error)

    def remove(self) -> None:
        """Remove it for good; may be repeated."""
        self._removed = True
        self._content = None
        _open.discard(self)
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("%s cannot be removed: %s", self.path, error)


def _remove_all() -> None:
    for announcement in list(_open):
        announcement.remove()


_registered = False


def _remove_on_exit() -> None:
    global _registered  # noqa: PLW0603  # one process, one end
    if not _registered:
        _registered = True
        atexit.register(_remove_all)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, frame: object) -> None:
    _remove_all()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)
