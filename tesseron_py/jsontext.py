"""JSON as text on the wire: what may come in, what may go out.

Both protocols share it. NaN, infinity and lone surrogates never go out, and what came in is JSON to the letter.
"""

from __future__ import annotations

import re
import sys
from base64 import b64encode
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
_LARGEST = int(sys.float_info.max)


def decode(text: str | bytes) -> Any:
    """The JSON value in `text`.

    Raises:
        ValueError: It is not JSON, or nests deeper than `MAX_NESTING`; NaN, infinity, a number (an integer, too) too
            large for a float and a lone surrogate count as no JSON.
    """
    try:
        brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
        value = from_json(text, allow_inf_nan=False) if brackets <= MAX_NESTING else _decode_within(text)
    except TypeError as error:  # a str with lone surrogates is refused as if it were no str
        raise ValueError("the text holds a lone surrogate") from error
    head = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if _may_be_huge(head) and _holds_huge(value):
        raise ValueError("a number is too large for a float")
    return value


def _decode_within(text: str | bytes) -> Any:
    """The value of a text with so many brackets that it may nest too deep; most of those are flat.

    The parser gives up at a depth of its own. Within as many more brackets as are between the two it gives up at ours,
    or at one level less; what it takes is then inside them, alone.
    """
    inside = _within(text)
    for _ in range(_MARGIN):
        if not isinstance(inside, list) or len(inside) != 1:
            break
        inside = inside[0]
    else:
        return inside
    value = from_json(text, allow_inf_nan=False)  # where it is no JSON, this says so of the text itself
    if _nesting(text if isinstance(text, str) else text.decode()) > MAX_NESTING:
        raise ValueError(f"it nests deeper than {MAX_NESTING} levels")
    return value


def _within(text: str | bytes) -> Any:
    try:
        if isinstance(text, str):
            return from_json("[" * _MARGIN + text + "]" * _MARGIN, allow_inf_nan=False)
        return from_json(b"[" * _MARGIN + text + b"]" * _MARGIN, allow_inf_nan=False)
    except ValueError:
        return None


def _may_be_huge(text: str) -> bool:
    found = _EXPONENT.search(text) or _UPPER_EXPONENT.search(text) or _MANY_DIGITS.search(text[::_STRIDE])
    return found is not None


def _holds_huge(value: Any) -> bool:
    """Whether there is a number that no float can be, an integer too: whatever is reckoned with one would fail."""
    if isinstance(value, float):
        return value in _INFINITE
    if isinstance(value, int):
        return abs(value) > _LARGEST
    if isinstance(value, dict):
        return any(_holds_huge(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_huge(item) for item in value)
    return False


def encode(value: Any) -> str:
    """`value` as compact JSON text on one line.

    Takes what JSON can hold and what pydantic can turn into it: models, dataclasses, dates, UUIDs, decimals, sets;
    bytes become base64. NaN and infinity become null and a lone surrogate U+FFFD, since neither may go on the wire.

    Raises:
        ValueError: It cannot be encoded, nests deeper than `MAX_NESTING`, or holds an integer that `decode` refuses.
    """
    try:
        text = to_json(value, inf_nan_mode="null", bytes_mode="base64").decode()
    except PydanticSerializationError as error:
        if not any(mendable in _said(error) for mendable in _MENDABLE):
            raise ValueError(_said(error)) from error
        text = _mended(value)
    # What is deep is found by the parser, in a fifth of the time that looking at each bracket takes.
    if text.count("[") + text.count("{") > MAX_NESTING and _within(text) is None and _nesting(text) > MAX_NESTING:
        raise ValueError(f"it nests deeper than {MAX_NESTING} levels")
    if _MANY_DIGITS.search(text[::_STRIDE]):  # the other end would take it for no JSON, and somebody wait for ever
        _refuse_huge(text)
    return text


def _refuse_huge(text: str) -> None:
    try:
        decode(text)
    except ValueError as error:  # of a number with thousands of digits the parser says something else
        raise ValueError("a number is too large for a float") from error


def _mended(value: Any) -> str:
    try:
        return to_json(_plain(value, MAX_NESTING), inf_nan_mode="null").decode()
    except ValueError:
        raise
    except BaseException as error:  # whatever an author's iterator or serializer raises, an exit as well
        raise ValueError(f"{type(error).__name__}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "an error that cannot say what it is"


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
        case bytes() | bytearray():
            return b64encode(value).decode()
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(by_alias=True), depth)
    try:
        plain = to_jsonable_python(value, inf_nan_mode="null", bytes_mode="base64")
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        raise ValueError(_said(error)) from error
    return _plain(plain, depth - 1)


_MARGIN: Final = 201 - MAX_NESTING  # from 201 levels of objects, or 202 of arrays, it gives up
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
