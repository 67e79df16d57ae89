"""Where an exception came from in the user's own code: a line of theirs says more than a library's function."""

from __future__ import annotations

import os
import sysconfig
import traceback

_OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_OTHERS = tuple(
    os.path.join(path, "") for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib", "platlib")
)


def origin(error: BaseException) -> str | None:
    """`FILE, line N` of the last line of the user's own code that `error` came through; `None` when there is none."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, SyntaxError):
        return None  # it names file and line itself
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.lineno and not frame.filename.startswith((_OWN, "<frozen ", *_OTHERS))
    ]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else None


def described(error: BaseException) -> str:
    """The error, and where in the user's own code it came from; that stands in the first of its lines."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    where = origin(error)
    if not where or where.replace(", line ", ":") in said:
        return said
    first, *rest = said.split("\n")
    return "\n".join([f"{first} ({where})", *rest])
