"""`~/.tesseron`: where apps and gateways of one user find each other, readable by nobody else (Tesseron 1.2 §8).

Everything in it is written whole or not at all, with mode 0600 in directories of mode 0700, and found tightened if it
was not. On Windows the modes mean nothing; there the profile directory's own access list protects it.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from pathlib import Path
from typing import Any

from .jsontext import decode, encode

INSTANCES = "instances"
CLAIMS = "claims"
LEGACY_TABS = "tabs"
GATEWAYS = "gateways"
MAX_FILE = 1024 * 1024
"""Bytes of a file that is read; whatever is larger is none of ours."""


class DirectoryProblem(OSError):
    """The directory cannot be used as it is; the message says what to do."""


def root() -> Path:
    """The directory: `$TESSERON_HOME`, or `.tesseron` in the home directory.

    Raises:
        DirectoryProblem: There is no home directory.
    """
    given = os.environ.get("TESSERON_HOME")
    if given:
        return Path(given)
    try:
        return Path.home() / ".tesseron"
    except RuntimeError as error:
        raise DirectoryProblem(
            "there is no home directory, and apps are found in ~/.tesseron; set HOME, or TESSERON_HOME to a directory"
        ) from error


def private(name: str) -> Path:
    """The subdirectory `name`, made if it is missing, and tightened to mode 0700.

    Raises:
        DirectoryProblem: It cannot be made, is no directory, or belongs to somebody else.
    """
    base = root()
    for directory in (base, base / name):
        try:
            directory.mkdir(mode=0o700, parents=directory == base, exist_ok=True)
            _tighten(directory)
        except DirectoryProblem:
            raise
        except OSError as error:
            raise DirectoryProblem(
                f"{directory} cannot be used ({error.strerror or error}); make it writable for you, or set"
                " TESSERON_HOME to a directory that is"
            ) from error
    return base / name


def _tighten(directory: Path) -> None:
    found = directory.lstat()
    if stat.S_ISLNK(found.st_mode):
        # A link of the user's own is their choice of a place; what it leads to must be theirs, too.
        found = directory.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise DirectoryProblem(f"{directory} is no directory; remove it, or set TESSERON_HOME to another place")
    if sys.platform == "win32":
        return
    if found.st_uid != os.geteuid():
        raise DirectoryProblem(
            f"{directory} belongs to another user, who could read claim codes in it; remove it, or set TESSERON_HOME"
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        directory.chmod(0o700)


def write(path: Path, content: Any) -> None:
    """Write `content` as JSON: to a temporary name beside `path`, mode 0600, and renamed.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(encode(content))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; `None` for whatever is none, is too large, or is not a plain file of this user's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE:
            return None
        if sys.platform != "win32" and found.st_uid != os.geteuid():
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = decode(file.read(MAX_FILE + 1))
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)
    return content if isinstance(content, dict) else None


def is_alive(pid: int) -> bool:
    """Whether a process of that number runs; another user's counts."""
    if sys.platform == "win32":  # os.kill would end it there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
