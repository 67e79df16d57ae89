"""JSON as text on the wire: what may come in, what may go out.

Both protocols share it. NaN, infinity and lone surrogates never go out, and what came in is JSON to the letter.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

MAX_NESTING: Final = 190
"""How deep a message may nest: a little below where the fast JSON parsers, ours included, give up (about 200)."""

# What may be a number beyond the range of a float, which `from_json` turns into infinity without complaint: an exponent
# of two digits, or 300 digits in a row. Nearly every message has neither, so it is asked in the way that finds that out
# soonest: a pattern that begins with a letter skips to that letter, and of 300 digits every 30th is a digit, too.
_EXPONENT = re.compile(r"e(?<=\de)\+?\d{2}")
_UPPER_EXPONENT = re.compile(r"E(?<=\dE)\+?\d{2}")
_STRIDE = 30
_MANY_DIGITS = re.compile(r"\d{10}")
_INFINITE = (float("inf"), float("-inf"))


def decode(text: str | bytes) -> Any:
    """The JSON value in `text`.

    Raises:
        ValueError: It is not JSON; NaN, infinity, a number too large for a float and a lone surrogate count as that.
    """
    try:
        value = from_json(text, allow_inf_nan=False)
    except TypeError as error:  # a str with lone surrogates is refused as if it were no str
        raise ValueError("the text holds a lone surrogate") from error
    head = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if _may_be_huge(head) and _holds_infinity(value):
        raise ValueError("a number is too large for a float")
    return value


def _may_be_huge(text: str) -> bool:
    found = _EXPONENT.search(text) or _UPPER_EXPONENT.search(text) or _MANY_DIGITS.search(text[::_STRIDE])
    return found is not None


def _holds_infinity(value: Any) -> bool:
    if isinstance(value, float):
        return value in _INFINITE
    if isinstance(value, dict):
        return any(_holds_infinity(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_infinity(item) for item in value)
    return False


def encode(value: Any) -> str:
    """`value` as compact JSON text on one line.

    Takes what JSON can hold and what pydantic can turn into it: models, dataclasses, dates, UUIDs, decimals, sets;
    bytes become base64. NaN and infinity become null and a lone surrogate U+FFFD, since neither may go on the wire.

    Raises:
        ValueError: It cannot be encoded, or nests deeper than `MAX_NESTING`.
    """
    try:
        text = to_json(value, inf_nan_mode="null", bytes_mode="base64").decode()
    except PydanticSerializationError as error:
        if not any(mendable in str(error) for mendable in _MENDABLE):
            raise ValueError(str(error)) from error
        text = to_json(_plain(value, MAX_NESTING), inf_nan_mode="null").decode()
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(text) > MAX_NESTING:
        raise ValueError(f"it nests deeper than {MAX_NESTING} levels")
    return text


# A half character anywhere; bytes that are no text, in a model that would write them as text.
_MENDABLE = ("surrogates not allowed", "invalid utf-8 sequence")


def _plain(value: Any, depth: int) -> Any:
    """`value` in JSON's own types: half characters replaced, bytes as base64 wherever they are."""
    if depth < 0:
        raise ValueError(f"it nests deeper than {MAX_NESTING} levels")
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_plain(k, depth - 1): _plain(v, depth - 1) for k, v in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, depth - 1) for item in value]
        case None | bool() | int() | float():
            return value
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(by_alias=True), depth)
    try:
        plain = to_jsonable_python(value, inf_nan_mode="null", bytes_mode="base64")
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error
    return _plain(plain, depth - 1)


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)


def _nesting(text: str) -> int:
    depth = deepest = 0
    for token in _STRUCTURE.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest
