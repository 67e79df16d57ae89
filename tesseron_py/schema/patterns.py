"""Regular expressions that every client can read: what Python, Rust and JavaScript (`u` flag) write and mean alike.

Authors write for the engine that pydantic runs. A client compiles the `pattern` of a schema with an engine of its own,
and one that it cannot compile may cost it the whole list of tools.
"""

from __future__ import annotations

import re
import string
from typing import Final

__all__ = ["portable_pattern"]

_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_CLASSES: Final = frozenset("dDwWsS")
_CONTROLS: Final = frozenset("nrtfv")
_PUNCTUATION: Final = frozenset(string.punctuation) | {" "}
_WORD_BOUNDARIES: Final = frozenset("<>")  # literal characters in Python, boundaries in Rust
_ANCHORS: Final = {"A": "^", "Z": "$", "z": "$"}
_NAMED: Final = re.compile(r"\(\?P?<[A-Za-z_]\w*>")
_COUNT: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_HEX: Final = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}")


def portable_pattern(pattern: str) -> str | None:
    r"""`pattern` in the form that all engines take; `None` where there is none, and it is better not published.

    Named groups become plain ones, `\A` and `\Z` the anchors `^` and `$`. Flags, look-around, back references, Unicode
    properties and what one engine alone knows have no such form.

    Example:
        ```python
        portable_pattern(r"\A(?P<year>\d{4})\-\d\d\Z")   # r"^(?:\d{4})-\d\d$"
        portable_pattern("(?i)abc")                      # None
        ```
    """
    try:
        written = _Reader(pattern).outside()
        re.compile(written)
    except (_NotPortable, re.error):
        return None
    return written


class _NotPortable(Exception):
    pass


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _NotPortable
        self._at += 1
        return self._text[self._at - 1]

    def _taken(self, expected: re.Pattern[str], start: int) -> str | None:
        """What matches from `start` on, which is then read."""
        found = expected.match(self._text, start)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def outside(self) -> str:
        written: list[str] = []
        counted = False  # whether a quantifier has just been written, of which `+` would make a possessive one
        while self._at < len(self._text):
            start, mark = self._at, self._next()
            was_counted, counted = counted, mark in "*+?"
            match mark:
                case "\\":
                    written.append(self._escape())
                case "[":
                    written.append(self._class())
                case "(" if self._text.startswith("(?", start):
                    written.append(self._group(start))
                case "{":
                    count = self._taken(_COUNT, start)
                    if count is None:
                        raise _NotPortable
                    written.append(count)
                    counted = True
                case "]" | "}":
                    raise _NotPortable
                case "+" if was_counted:
                    raise _NotPortable
                case _:
                    written.append(mark)
        return "".join(written)

    def _group(self, start: int) -> str:
        if self._text.startswith("(?:", start):
            self._at = start + 3
        elif self._taken(_NAMED, start) is None:
            raise _NotPortable
        return "(?:"

    def _escape(self) -> str:
        start, mark = self._at, self._next()
        if mark in _ANCHORS:
            return _ANCHORS[mark]
        if mark in _CLASSES or mark in _CONTROLS or mark in "bB" or mark in _SYNTAX:
            return "\\" + mark
        if (code := self._taken(_HEX, start)) is not None:
            return "\\" + code
        if mark in _PUNCTUATION and mark not in _WORD_BOUNDARIES:
            return mark
        raise _NotPortable

    def _class(self) -> str:
        written = ["["]
        if self._text.startswith("^", self._at):
            written.append(self._next())
        first = self._at
        after_class = False
        while (mark := self._next()) != "]" or self._at - 1 == first:
            was_class, after_class = after_class, False
            if mark == "\\":
                item = self._escape_in_class()
                after_class = item[-1] in _CLASSES and len(item) == 2
                written.append(item)
            elif mark == "-":
                # A dash at an end, or beside a class such as \w, is itself: some engines want that said.
                ends = self._at - 1 == first or self._text.startswith("]", self._at)
                beside = was_class or self._text[self._at : self._at + 2] in _BESIDE
                if self._text.startswith("-", self._at):
                    raise _NotPortable
                written.append("\\-" if ends or beside else "-")
            elif mark in "[]" or (mark in "&~" and self._text.startswith(mark, self._at)):
                raise _NotPortable
            else:
                written.append(f"\\{mark}" if mark in _SYNTAX else mark)
        return "".join([*written, "]"])

    def _escape_in_class(self) -> str:
        start, mark = self._at, self._next()
        if mark in _CLASSES or mark in _CONTROLS or mark in _SYNTAX or mark == "-":
            return "\\" + mark
        if (code := self._taken(_HEX, start)) is not None:
            return "\\" + code
        if mark in _PUNCTUATION:
            return mark
        raise _NotPortable


_BESIDE: Final = frozenset(f"\\{mark}" for mark in _CLASSES)
