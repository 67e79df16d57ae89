"""An app's instance manifest: the file by which gateways find it, there exactly as long as the app listens."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Any

from .. import directory
from ..announcement import Announcement
from .claims import Claim


class Manifest:
    """One manifest (Tesseron 1.2 §8). Written whole or not at all; removed by `remove`, or when the process ends.

    Args:
        app_name: What people read.

    Raises:
        DirectoryProblem: The directory for manifests cannot be used.
    """

    def __init__(self, app_name: str) -> None:
        self.instance_id: str = f"inst-{secrets.token_hex(8)}"
        self._file = Announcement(directory.private(directory.INSTANCES) / f"{self.instance_id}.json")
        self._app_name = app_name
        self._added_at = int(time.time() * 1000)

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._file.path

    def write(self, transport: dict[str, Any], claim: Claim | None = None, *, minted: bool = False) -> None:
        """Say where the app listens; not any more once it is removed.

        Args:
            transport: `{"kind": "ws", "url": …}` or `{"kind": "uds", "path": …}`.
            claim: The claim, while it is of use to anybody.
            minted: The app answers its own hello: gateways dial with the code, and not on their own.

        Raises:
            OSError: It cannot be written.
        """
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
        self._file.write(content)

    def renew(self) -> None:
        """Write it again as it is: somebody may have removed it."""
        self._file.renew()

    def remove(self) -> None:
        """Remove it for good; may be repeated."""
        self._file.remove()
