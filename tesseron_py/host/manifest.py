"""An app's instance manifest: the file by which gateways find it, there exactly as long as the app listens."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import signal
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from .. import directory
from .claims import Claim

logger = logging.getLogger("tesseron_py.host")

_open: weakref.WeakSet[Manifest] = weakref.WeakSet()


class Manifest:
    """One manifest (Tesseron 1.2 §8). Written whole or not at all; removed by `remove`, or when the process ends.

    Args:
        app_name: What people read.

    Raises:
        DirectoryProblem: The directory for manifests cannot be used.
    """

    def __init__(self, app_name: str) -> None:
        self.instance_id = f"inst-{secrets.token_hex(8)}"
        self.path: Path = directory.private(directory.INSTANCES) / f"{self.instance_id}.json"
        self._app_name = app_name
        self._added_at = int(time.time() * 1000)
        self._content: dict[str, Any] | None = None
        self._removed = False
        _open.add(self)
        _remove_on_exit()

    def write(self, transport: dict[str, Any], claim: Claim | None = None, *, minted: bool = False) -> None:
        """Say where the app listens; not any more once it is removed.

        Args:
            transport: `{"kind": "ws", "url": …}` or `{"kind": "uds", "path": …}`.
            claim: The claim, while it is of use to anybody.
            minted: The app answers its own hello: gateways dial with the code, and not on their own.

        Raises:
            OSError: It cannot be written.
        """
        if self._removed:
            return
        content: dict[str, Any] = {
            "version": 2,
            "instanceId": self.instance_id,
            "appName": self._app_name,
            "addedAt": self._added_at,
            "pid": os.getpid(),
            "transport": transport,
        }
        if claim is not None:
            shown = claim.to_manifest()
            if not minted:
                # The plain form after a claim: who has the app is told, how to get it is not.
                del shown["code"], shown["resumeToken"]
            content["hostMintedClaim"] = shown
        if minted:
            content["helloHandledByHost"] = True
        self._content = content
        directory.write(self.path, content)

    def renew(self) -> None:
        """Write it again as it is: somebody may have removed it."""
        if self._content is not None:
            try:
                directory.write(self.path, self._content)
            except OSError as error:
                logger.warning("The manifest %s cannot be written again: %s", self.path, error)

    def remove(self) -> None:
        """Remove it for good; may be repeated."""
        self._removed = True
        self._content = None
        _open.discard(self)
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("The manifest %s cannot be removed: %s", self.path, error)


def _remove_all() -> None:
    for manifest in list(_open):
        manifest.remove()


_registered = False


def _remove_on_exit() -> None:
    """Have what is left removed when the interpreter ends, and when SIGTERM would end it without ado."""
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
