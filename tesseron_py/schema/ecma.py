r"""The patterns of an author's JSON Schema, which are ECMAScript's, run by Python.

The two are written alike and differ in meaning: Python's `$` is before a last line break, too, its `\d` and `\w` are of
all scripts, its `.` and `\s` of other white space.
"""

from __future__ import annotations

import re
from typing import Final

_BREAKS: Final = r"\n\r\u2028\u2029"
_SPACE: Final = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that finds what ECMAScript's finds.

    Raises:
        re.error: Python cannot read it.
        TypeError: It is no string.
    """
    if not isinstance(pattern, str):
        raise TypeError("a pattern is a string")
    return re.compile("".join(_written(pattern)), re.ASCII)


def _written(pattern: str) -> list[str]:
    written: list[str] = []
    in_class = False
    for part in _PARTS.findall(pattern):
        match part:
            case "$" if not in_class:
                part = r"\Z"
            case "." if not in_class:
                part = f"[^{_BREAKS}]"
            case r"\s":
                part = _SPACE if in_class else f"[{_SPACE}]"
            case r"\S" if not in_class:
                part = f"[^{_SPACE}]"
            case "[":
                in_class = True
            case "]":
                in_class = False
        written.append(part)
    return written


_PARTS: Final = re.compile(r"\\.|.|\\$", re.DOTALL)
