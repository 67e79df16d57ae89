"""What the author of a wrong name may have meant.

Names are compared, and not what stands before them: an app's id, or a scheme, is the same in many, and would make any
two of them look alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

_COMPARED: Final = 256
"""Characters of a wrong name that are looked at."""
_ALIKE: Final = 0.7
"""From 0 to 1, how alike two names are at least."""


def meant(wanted: str, known: Mapping[str, Sequence[str]], *, within: str = "") -> tuple[str, str] | None:
    """The app's id and the name that are most like a wrong one; `None` when nothing is.

    Args:
        wanted: The wrong name, without an app's id.
        known: The names that there are, by the id of their app.
        within: The id that the wrong name was given with; of an app that there is, only names are meant.

    Example:
        ```python
        meant("stat", {"shop": ["data://stats", "boom"]})       # ("shop", "data://stats")
        ```
    """
    wanted = wanted[:_COMPARED]
    if within in known:
        known = {within: known[within]}
    ends = dict.fromkeys(_end(name) for names in known.values() for name in names)
    close = get_close_matches(_end(wanted), ends, n=1, cutoff=_ALIKE)
    alike = [(id, name) for id, names in known.items() for name in names if close and _end(name) == close[0]]
    whole = f"{within[:_COMPARED]}/{wanted}"
    return max(alike, key=lambda each: SequenceMatcher(None, whole, "/".join(each)).ratio(), default=None)


def _end(name: str) -> str:
    return name.rpartition("://")[2] or name
