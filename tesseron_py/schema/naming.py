"""Names of actions: a legal one for what an author gave."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from typing import Final

from ..protocol.messages import MAX_TOOL_NAME

_LONGEST: Final = MAX_TOOL_NAME - 10


def legal_name(name: str, *, taken: Container[str] = (), longest: int = _LONGEST) -> str:
    """A name like `name` that an action may have.

    Args:
        name: What the author gave.
        taken: Names of others.
        longest: Characters it may have; cut between words where there are some.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-").lstrip("0123456789_-")
    legal = _cut(words or "action", longest)
    numbered, number = legal, 2
    while numbered in taken:
        suffix = f"_{number}"
        numbered, number = _cut(legal, longest - len(suffix)) + suffix, number + 1
    return numbered


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    short = name[:longest]
    between = max(short.rfind("_"), short.rfind("-"))
    if between >= longest // 2 and name[longest] not in "_-":
        short = short[:between]
    return short.rstrip("_-")
