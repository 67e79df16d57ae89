"""Whether a default is one that its own schema allows.

Clients fill in the default they are shown. One that the schema next to it refuses would have a call refused that
nobody wrote, so it is not published; the function still has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["fits", "without_nulls"]


def without_nulls(default: Any, schema: Mapping[str, Any]) -> Any:
    """`default` without the fields that are null in it and may be absent instead."""
    if isinstance(default, list) and isinstance(items := schema.get("items"), Mapping):
        return [without_nulls(each, items) for each in default]
    properties = schema.get("properties")
    if not isinstance(default, dict) or not isinstance(properties, Mapping):
        return default
    required = schema.get("required", ())
    return {
        name: without_nulls(value, properties.get(name) or {})
        for name, value in default.items()
        if value is not None or name in required
    }


def fits(value: Any, schema: object) -> bool:
    """Whether `value` is valid by an inline schema, as far as that is told by the keywords which pydantic writes."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if not _is_of(value, schema.get("type")):
        return False
    if isinstance(choices := schema.get("enum"), list) and not any(_same(value, choice) for choice in choices):
        return False
    if "const" in schema and not _same(value, schema["const"]):
        return False
    for keyword in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(keyword), list) and not any(fits(value, each) for each in options):
            return False
    if isinstance(parts := schema.get("allOf"), list) and not all(fits(value, each) for each in parts):
        return False
    match value:
        case bool() | None:
            return True
        case float() if not math.isfinite(value):
            return False
        case int() | float():
            return _within(value, schema, _OF_NUMBERS)
        case str():
            return _within(len(value), schema, _OF_STRINGS) and _reads(value, schema)
        case list():
            return _within(len(value), schema, _OF_LISTS) and _holds(value, schema)
        case dict():
            return _within(len(value), schema, _OF_OBJECTS) and _has(value, schema)
    return False


def _same(value: Any, choice: Any) -> bool:
    """Whether they are the same in JSON, where `true` is not 1."""
    return bool(value == choice) and isinstance(value, bool) == isinstance(choice, bool)


_NUMBER: Final = (int, float)
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
# By kind of value: the keyword of its lower limit, of its upper, and those of the exclusive ones.
_OF_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_OF_STRINGS: Final = ("minLength", "maxLength", "", "")
_OF_LISTS: Final = ("minItems", "maxItems", "", "")
_OF_OBJECTS: Final = ("minProperties", "maxProperties", "", "")


def _is_of(value: Any, kind: object) -> bool:
    if not isinstance(kind, str):
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    whole = kind != "integer" or not isinstance(value, float) or value.is_integer()
    return whole and isinstance(value, _TYPES.get(kind, object))


def _within(value: float, schema: Mapping[str, Any], limits: tuple[str, str, str, str]) -> bool:
    low, high, above, below = (schema.get(each) for each in limits)
    return not (
        (isinstance(low, _NUMBER) and value < low)
        or (isinstance(high, _NUMBER) and value > high)
        or (isinstance(above, _NUMBER) and value <= above)
        or (isinstance(below, _NUMBER) and value >= below)
    )


def _reads(text: str, schema: Mapping[str, Any]) -> bool:
    if "format" in schema:
        from .formats import FORMATS  # few texts have one

        reads, _ = FORMATS.get(str(schema["format"]), (None, ""))
        if reads is not None and not reads(text):
            return False
    pattern = schema.get("pattern")
    try:
        return not isinstance(pattern, str) or re.search(pattern, text) is not None
    except re.error:
        return True


def _holds(items: list[Any], schema: Mapping[str, Any]) -> bool:
    prefix = schema.get("prefixItems")
    places = prefix if isinstance(prefix, list) else []
    rest = schema.get("items", True)
    return all(fits(item, places[index] if index < len(places) else rest) for index, item in enumerate(items))


def _has(value: dict[str, Any], schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    others = schema.get("additionalProperties", True)
    required = schema.get("required")
    return all(name in value for name in (required if isinstance(required, list) else ())) and all(
        fits(item, known.get(name, others)) for name, item in value.items()
    )
