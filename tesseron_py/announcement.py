"""A file that tells other processes of this one, there exactly as long as what it says holds.

It is removed at the latest when the interpreter ends, and when SIGTERM would end the process without ado; so is what
else a process has on disk only while it runs. Whoever reads such files checks that their process is alive, for those of
processes that were killed.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import directory

logger = logging.getLogger("tesseron_py")


class Announcement:
    """One such file, below `~/.tesseron`. Nothing is there before it is first written.

    Args:
        path: The file, in a directory that `directory.private` has given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content: dict[str, Any] | None = None
        self._removed = False
        self._take_back = remove_at_exit(self.remove)

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
        self._take_back()
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("%s cannot be removed: %s", self.path, error)


_numbers = itertools.count()
_removals: dict[int, tuple[int, Callable[[], None]]] = {}
_registered = False


def remove_at_exit(remove: Callable[[], None]) -> Callable[[], None]:
    """Have `remove()` called when this process ends by itself or by SIGTERM; a child that it forks does not call it.

    Returns:
        What takes that back; may be repeated.
    """
    global _registered  # noqa: PLW0603  # one process, one end
    if not _registered:
        _registered = True
        atexit.register(_remove_all)
    heed_sigterm()
    number = next(_numbers)
    _removals[number] = os.getpid(), remove

    def take_back() -> None:
        _removals.pop(number, None)

    return take_back


def heed_sigterm() -> None:
    """Have SIGTERM remove what is there before it ends the process, unless the program does something of its own on it.

    Signals are the main thread's: elsewhere this does nothing, so whoever starts a thread calls it before.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminated)


def _remove_all() -> None:
    for number in list(_removals):
        process, remove = _removals.pop(number, (0, None))
        if process == os.getpid() and remove is not None:
            remove()


def _terminated(number: int, frame: object) -> None:
    _remove_all()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)
