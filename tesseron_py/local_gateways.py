"""The gateways of this user on this machine that take apps over HTTP: how they are told of, and found.

Each leaves `~/.tesseron/gateways/<pid>.json`, readable by nobody else, with its URL and the token it wants (the HTTP
binding's chapter on authorization).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import directory
from .announcement import Announcement


@dataclass(frozen=True, slots=True)
class LocalGateway:
    """One of them. `repr` shows no secret."""

    url: str
    token: str = field(repr=False)
    pid: int
    started_at: int
    """In ms since 1970."""


def announce(url: str, token: str) -> Announcement:
    """Tell the apps of this user of a gateway in this process; `remove` it when the gateway ends.

    Args:
        url: Where apps connect.
        token: What they show there.

    Raises:
        DirectoryProblem: The directory cannot be used.
        OSError: The file cannot be written.
    """
    running()  # which removes what is left of those that were killed
    file = Announcement(directory.private(directory.GATEWAYS) / f"{os.getpid()}.json")
    file.write({"url": url, "token": token, "pid": os.getpid(), "startedAt": int(time.time() * 1000)})
    return file


def running() -> list[LocalGateway]:
    """Those that are alive, the newest first. What is left of gateways that were killed is removed."""
    try:
        paths = list((directory.root() / directory.GATEWAYS).glob("*.json"))
    except OSError:
        return []
    found: list[LocalGateway] = []
    for path in paths:
        gateway = _read(path)
        if gateway is None:
            continue
        if directory.is_alive(gateway.pid):
            found.append(gateway)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)
    return sorted(found, key=lambda gateway: gateway.started_at, reverse=True)


def _read(path: Path) -> LocalGateway | None:
    match directory.read(path):
        case {"url": str(url), "token": str(token), "pid": int(pid), "startedAt": int(started_at)} if pid > 0:
            return LocalGateway(url, token, pid, started_at)
    return None
