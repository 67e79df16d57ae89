r"""Patterns as JSON Schema has them, which are ECMAScript's, run in linear time unless they look around or back.

The two are written alike and differ in meaning: Python's `$` is before a last line break, too, its `\d` and `\w` are of
all scripts, its `.` and `\s` of other white space. A pattern is read as ECMAScript reads it, by code points (its `u`
flag), and written for Python; what ECMAScript has not, or Python cannot do, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

from .patterns import portable_pattern

_BREAKS: Final = r"\n\r\u2028\u2029"
_SPACE: Final = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_SPACE: Final = (
    r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff"
)
_CONTROLS: Final = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_LOW: Final = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_COUNT: Final = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_OPEN_COUNT: Final = re.compile(r"\{,[0-9]+\}")
_NAME: Final = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)>")
_BACK: Final = re.compile(r"[1-9][0-9]*")
_OPEN: Final = "a [ has no ]"
_GROUPS: Final = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_CLASSES: Final = {"d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W", "s": _SPACE, "S": _NO_SPACE}  # within [ ]


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that finds what ECMAScript's finds.

    Raises:
        re.error: ECMAScript has no such pattern, or Python cannot run it; the message says why.
        TypeError: It is no string.
    """
    if not isinstance(pattern, str):
        raise TypeError("a pattern is a string")
    return re.compile(_Reader(pattern).whole(), re.ASCII)


def finder(pattern: str) -> Callable[[str], bool]:
    """What says whether ECMAScript finds a pattern in a text: in linear time, unless it looks around or back.

    Raises:
        re.error, TypeError: As for `compiled`.
    """
    search = compiled(pattern).search
    linear = _linear(pattern)
    return (lambda text: search(text) is not None) if linear is None else linear.isinstance_python


def matches(text: str, pattern: str) -> bool:
    """Whether a client that knows `pattern` of a type, as it is published, takes `text`; in linear time.

    Where that cannot be told, it is for the type alone to say.
    """
    search = _linear(portable_pattern(pattern) or "")
    return search is None or search.isinstance_python(text)


_PARTS: Final = re.compile(r"\\.|.", re.DOTALL)
_LINEAR: Final[Mapping[str, str]] = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": f"[{_SPACE}]",
    r"\S": f"[^{_SPACE}]",
}
_LINEAR_OUTSIDE: Final[Mapping[str, str]] = {".": f"[^{_BREAKS}]", r"\b": r"(?-u:\b)", r"\B": r"(?-u:\B)"}
_LINEAR_INSIDE: Final[Mapping[str, str]] = {"[": r"\[", "&": r"\&", "~": r"\~"}  # of which Rust's classes make more


@lru_cache(maxsize=512)
def _linear(pattern: str) -> SchemaValidator | None:
    """A pattern for pydantic's own engine, which never looks back, in its ECMAScript meaning; `None` if it has none."""
    if "--" in pattern:  # within a class Rust takes one set from another
        return None
    written: list[str] = []
    in_class = False
    parts: list[str] = _PARTS.findall(pattern)
    for part in parts:
        special = _LINEAR_INSIDE if in_class else _LINEAR_OUTSIDE
        written.append(_LINEAR[part] if part in _LINEAR else special.get(part, part))
        in_class = part == "[" or (in_class and part != "]")
    try:
        return SchemaValidator(core_schema.str_schema(pattern="".join(written), regex_engine="rust-regex"))
    except SchemaError:
        return None


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def whole(self) -> str:
        written: list[str] = []
        repeats = False  # whether a quantifier has just been written
        while self._at < len(self._text):
            count = self._quantifier()
            if count and repeats:
                raise self._error(f"there is nothing that {count} repeats; Python's possessive quantifiers are its own")
            repeats = bool(count)
            written.append(count or self._atom())
        return "".join(written)

    def _quantifier(self) -> str:
        text = self._text
        if text[self._at] in "*+?":
            found = self._next()
        elif (match := _COUNT.match(text, self._at)) is not None:
            found, self._at = match[0], match.end()
        else:
            return ""
        return found + (self._next() if text.startswith("?", self._at) else "")

    def _atom(self) -> str:
        if _OPEN_COUNT.match(self._text, self._at) is not None:
            raise self._error("a quantifier has a lower limit: {0,2}, not {,2}")
        match mark := self._next():
            case "\\":
                return self._escape()
            case "[":
                return self._class()
            case "(":
                return self._group()
            case "$":
                return r"\Z"
            case ".":
                return f"[^{_BREAKS}]"
            case "^" | "|" | ")":
                return mark
        return re.escape(mark)

    def _group(self) -> str:
        start = self._at - 1
        if not self._text.startswith("(?", start):
            return "("
        for opening in _GROUPS:
            if self._text.startswith(opening, start):
                self._at = start + len(opening)
                return opening
        name = _NAME.match(self._text, start + 2)
        if name is None:
            raise self._error("of the groups with (? it has (?:…), (?=…), (?!…), (?<=…), (?<!…) and (?<name>…)")
        self._at = name.end()
        return f"(?P<{name[1]}>"

    def _escape(self) -> str:
        start = self._at
        if (back := _BACK.match(self._text, start)) is not None:
            self._at = back.end()
            return _back_reference(back[0])
        match mark := self._next():
            case "b" | "B":
                return f"\\{mark}"
            case "k":
                name = _NAME.match(self._text, self._at)
                if name is None:
                    raise self._error(r"a group is referred to by its name, as in \k<name>")
                self._at = name.end()
                return _back_reference(name[1])
            case _ if mark in _CLASSES:
                return rf"\{mark}" if mark in "dDwW" else f"[{_CLASSES[mark]}]"
        self._at = start
        return re.escape(self._character())

    def _class(self) -> str:
        text = self._text
        negated = text.startswith("^", self._at)
        self._at += negated
        items: list[str] = []
        while (mark := self._next(_OPEN)) != "]":
            first, is_one = self._item(mark)
            items.append(first)
            if text.startswith("-", self._at) and not text.startswith("-]", self._at):
                self._next()
                last, is_other = self._item(self._next(_OPEN))
                # Beside a class such as \w it is no range, and the dash is itself.
                items += ["-" if is_one and is_other else r"\-", last]
        if not items:
            if not negated:
                raise self._error(r"[] is a class of nothing; a ] within a class is written as \]")
            return r"[\d\D]"
        return f"[{'^' if negated else ''}{''.join(items)}]"

    def _item(self, mark: str) -> tuple[str, bool]:
        """What stands in a class, for Python, and whether it is one character."""
        if mark != "\\":
            return re.escape(mark), True
        mark = self._text[self._at : self._at + 1]
        if mark in _CLASSES or mark == "b":
            self._at += 1
            return (_CLASSES[mark], False) if mark in _CLASSES else (r"\x08", True)
        return re.escape(self._character()), True

    def _character(self) -> str:
        """The character that an escape stands for."""
        if (code := _HEX.match(self._text, self._at)) is not None:
            self._at = code.end()
            number = int(code[1] or code[2] or code[3], 16)
            low = _LOW.match(self._text, self._at)
            if code[2] and 0xD800 <= number < 0xDC00 and low is not None:
                self._at = low.end()
                number = 0x10000 + ((number - 0xD800) << 10) + int(low[1], 16) - 0xDC00
            if number > 0x10FFFF:
                raise self._error(f"there is no character {code[0]}")
            return chr(number)
        match mark := self._next():
            case "0" if not self._text[self._at : self._at + 1].isdigit():
                return "\0"
            case "c" if (letter := self._text[self._at : self._at + 1]).isalpha() and letter.isascii():
                self._at += 1
                return chr(ord(letter) % 32)
            case "A" | "Z" | "z":
                raise self._error(rf"it has no \{mark}; the ends are ^ and $")
            case "p" | "P":
                raise self._error(rf"\{mark}{{…}} is not read here; list the characters")
            case _ if mark in _CONTROLS:
                return _CONTROLS[mark]
            case _ if mark.isascii() and (mark.isalnum() or mark == "_"):
                raise self._error(rf"it has no \{mark}")
        return mark

    def _next(self, otherwise: str = "there is nothing behind its last backslash") -> str:
        if self._at >= len(self._text):
            raise self._error(otherwise)
        self._at += 1
        return self._text[self._at - 1]

    def _error(self, why: str) -> re.error:
        return re.error(f"it is read as ECMAScript's, as JSON Schema has it: {why}")


def _back_reference(group: str) -> str:
    """Of a group that took no part it is the empty text, where Python finds nothing."""
    return f"(?({group})(?P={group})|)" if not group.isdigit() else rf"(?({group})\{group}|)"
