"""What a scenario says of a frame: patterns that are compared, and values that are filled in.

A pattern is JSON. In an object only the keys it names are compared, a list has exactly its length, and a string that
begins with `~` is one of the words below. Nothing here knows steps or connections.

    ~any ~string ~number ~boolean ~object ~array     the key is there, with a value of that kind
    ~absent                                          the key is not there
    ~regex:…                                         a string in which the expression is found
    ~capture:name                                    any value, kept under the name
    ~ref:name                                        the kept value; also in what is sent
    ~fill:N                                          a string of N times "x"; also in what is sent
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .scenario import ScenarioError

SHOWN: Final = 300
"""Characters of a value that a message shows."""


class _Absent:
    """The value of a key that is not there."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


class Mismatch(Exception):
    """A value does not fit a pattern: where, what was expected, what came."""

    def __init__(self, path: str, expected: Any, came: Any) -> None:
        super().__init__(f"at {path}: expected {shown(expected)}, and {shown(came)} came")


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "~any": lambda value: True,
    "~string": lambda value: isinstance(value, str),
    "~number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "~boolean": lambda value: isinstance(value, bool),
    "~object": lambda value: isinstance(value, dict),
    "~array": lambda value: isinstance(value, list),
}


def match(pattern: Any, value: Any, captures: Mapping[str, Any]) -> dict[str, Any]:
    """Compare `value` with `pattern`; gives the captures with those of the pattern added.

    Raises:
        Mismatch: It does not fit.
        ScenarioError: The pattern holds a word there is none of, or a reference to nothing.
    """
    found = dict(captures)
    _match(pattern, value, "$", found)
    return found


def _match(pattern: Any, value: Any, path: str, captures: dict[str, Any]) -> None:
    if isinstance(pattern, str) and pattern.startswith("~"):
        _match_word(pattern, value, path, captures)
    elif isinstance(pattern, dict):
        if not isinstance(value, dict):
            raise Mismatch(path, pattern, value)
        for key, each in pattern.items():
            _match(each, value.get(key, ABSENT), f"{path}.{key}", captures)
    elif isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            raise Mismatch(path, pattern, value)
        for index, each in enumerate(pattern):
            _match(each, value[index], f"{path}[{index}]", captures)
    elif value is ABSENT or not same(pattern, value):
        raise Mismatch(path, pattern, value)


def _match_word(pattern: str, value: Any, path: str, captures: dict[str, Any]) -> None:
    word, _, rest = pattern.partition(":")
    if pattern == "~absent":
        fits = value is ABSENT
    elif pattern in _KINDS:
        fits = value is not ABSENT and _KINDS[pattern](value)
    elif word == "~regex":
        fits = isinstance(value, str) and _expression(rest).search(value) is not None
    elif word == "~capture" and rest:
        fits = value is not ABSENT
        captures[rest] = value
    else:
        expected = fill(pattern, captures)
        fits = value is not ABSENT and same(expected, value)
        pattern = f"{pattern} = {shown(expected)}" if word == "~ref" else pattern
    if not fits:
        raise Mismatch(path, _Word(pattern), value)


class _Word(str):
    """A word of the pattern language, shown without quotes."""


def _expression(text: str) -> re.Pattern[str]:
    # Expressions are written for engines whose `$` is the end and nothing else.
    if text.endswith("$") and not text.endswith("\\$"):
        text = text[:-1] + r"\Z"
    try:
        return re.compile(text)
    except re.error as error:
        raise ScenarioError(f"~regex:{text} is no regular expression: {error}") from error


def fill(value: Any, captures: Mapping[str, Any]) -> Any:
    """`value` with `~ref:…` and `~fill:…` replaced by what they stand for.

    Raises:
        ScenarioError: It holds another word, or a reference to nothing.
    """
    if isinstance(value, dict):
        return {key: fill(each, captures) for key, each in value.items()}
    if isinstance(value, list):
        return [fill(each, captures) for each in value]
    if not isinstance(value, str) or not value.startswith("~"):
        return value
    word, _, rest = value.partition(":")
    if word == "~ref":
        if rest not in captures:
            raise ScenarioError(f"{value}: nothing was captured under that name before")
        return captures[rest]
    if word == "~fill" and rest.isascii() and rest.isdigit():
        return "x" * int(rest)
    raise ScenarioError(f"there is no {value!r}")


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: `true` is not 1, `1.0` is, `"1"` is not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def shown(value: Any) -> str:
    """A value as text for people: JSON, shortened."""
    if value is ABSENT or isinstance(value, _Word):
        return f"{value}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
