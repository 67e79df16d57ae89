"""What a choice is in JSON: a literal, or a member of an enum by its value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = ["json_value", "unreadable"]

_SCALARS: Final = (str, int, float, type(None))  # bool is an int
_BYTES: Final = (bytes, bytearray, memoryview)


def json_value(choice: Any) -> Any:
    """A choice as JSON writes it: a date as its text; what no JSON is read as is returned as it is."""
    value = choice.value if isinstance(choice, Enum) else choice
    if isinstance(value, (*_SCALARS, *_BYTES)):
        return value
    try:
        found = to_jsonable_python(value)
    except PydanticSerializationError:
        return value
    return found if isinstance(found, _SCALARS) else value


def unreadable(choices: Iterable[Any]) -> str | None:
    """The first choice that no JSON stands for, in words; `None` where there is none such."""
    for value in map(json_value, choices):
        if not _is_json(value):
            noun = "bytes" if isinstance(value, _BYTES) else "number" if type(value) is float else type(value).__name__
            return f"{noun} such as {value!r}"
    return None


def _is_json(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
    return all(map(_is_json, value)) if isinstance(value, list) else isinstance(value, _SCALARS)
