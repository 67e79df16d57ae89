"""Claim codes at a gateway: what is a code, who of several gateways has it, and how often one may guess (§3)."""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .. import directory
from .entries import AppInfo

logger = logging.getLogger("tesseron_py.gateway")

ALPHABET: Final = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Upper-case letters and digits without the look-alikes 0/O and 1/I/L."""
_CODE: Final = re.compile(r"[A-Z0-9]{4}-[A-Z0-9]{2}", re.ASCII)
GUESSES: Final = 5
WINDOW: Final = 60.0


def mint_code() -> str:
    """A new claim code, `XXXX-XX`, from the system's random numbers."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(6))
    return f"{code[:4]}-{code[4:]}"


def read_code(text: str) -> str | None:
    """The code in what a person or a model wrote: in any case, with or without its dash; `None` for what is none."""
    code = re.sub(r"[\s\-–—]", "", text).upper()
    code = f"{code[:4]}-{code[4:]}"
    return code if _CODE.fullmatch(code) else None


class Guesses:
    """Counts wrong codes: five within 60 s, and none is taken until some are older."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._wrong: deque[float] = deque(maxlen=GUESSES)

    @property
    def exhausted(self) -> bool:
        """Whether no code is taken now."""
        return len(self._wrong) == GUESSES and self._wrong[0] > self._now() - WINDOW

    def wrong(self) -> None:
        """A wrong code came."""
        self._wrong.append(self._now())

    def right(self) -> None:
        """The right one came; the count begins anew."""
        self._wrong.clear()


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """Whose a code is. `repr` shows no secret."""

    code: str = field(repr=False)
    app_id: str
    app_name: str
    gateway_pid: int


class Breadcrumbs:
    """The files by which one gateway tells the others which codes are its own.

    None is left behind by a gateway that closes; those of one that was killed are removed by whoever finds them.
    """

    def __init__(self) -> None:
        self._written: set[Path] = set()

    def write(self, code: str, session_id: str, app: AppInfo) -> None:
        """Tell of a code; one that cannot be told of still works here."""
        content = {
            "version": 1,
            "code": code,
            "sessionId": session_id,
            "appId": app.id,
            "appName": app.name,
            "gatewayPid": os.getpid(),
            "mintedAt": int(time.time() * 1000),
        }
        try:
            path = directory.private(directory.CLAIMS) / f"{code}.json"
            directory.write(path, content)
            self._written.add(path)
        except OSError as error:
            logger.warning("Other gateways cannot be told of a claim code: %s", error)

    def remove(self, code: str) -> None:
        """The code is spent, or its app is gone."""
        for path in [path for path in self._written if path.stem == code]:
            self._written.discard(path)
            _unlink(path)

    def remove_all(self) -> None:
        """The gateway closes."""
        while self._written:
            _unlink(self._written.pop())

    def find(self, code: str) -> Breadcrumb | None:
        """Which other gateway has the code."""
        try:
            path = directory.root() / directory.CLAIMS / f"{code}.json"
        except OSError:
            return None
        breadcrumb = _read(path)
        if breadcrumb is None or breadcrumb.code != code or breadcrumb.gateway_pid == os.getpid():
            return None
        if directory.is_alive(breadcrumb.gateway_pid):
            return breadcrumb
        _unlink(path)
        return None

    def sweep(self) -> None:
        """Remove those of gateways that were killed."""
        try:
            paths = sorted((directory.root() / directory.CLAIMS).glob("*.json"))
        except OSError:
            return
        for path in paths:
            breadcrumb = _read(path)
            if breadcrumb is not None and not directory.is_alive(breadcrumb.gateway_pid):
                _unlink(path)


def _read(path: Path) -> Breadcrumb | None:
    match directory.read(path):
        case {"version": 1, "code": str(code), "appId": str(id), "appName": str(name), "gatewayPid": int(pid)}:
            return Breadcrumb(code, id, name, pid)
    return None


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("The file %s cannot be removed: %s", path, error)
