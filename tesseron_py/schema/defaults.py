"""Whether a default is one that its own schema allows, and that is the same value when it is sent back.

Clients fill in the default they are shown. One that the schema next to it refuses would have a call refused that
nobody wrote, and one that is written as something else (by a serializer, a secret as stars) would have a call made with
another value. Neither is published; the function still has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from ..jsontext import encode
from .nodes import children, with_children

__all__ = ["READS", "fits", "holds_secret", "reads_back", "with_readers", "without_nulls"]

READS: Final = "x-tesseron-reads"
"""In a document, beside a default: the function that tells whether JSON is read as that default; it never leaves the
house."""


def with_readers(schema: Any, *, base64: bool) -> Any:
    """A core schema whose JSON Schema has `READS` beside each default.

    Args:
        schema: The core schema.
        base64: Whether bytes are base64 when they are read.
    """
    return _Readers(base64).of(schema, {})


class _Readers:
    def __init__(self, base64: bool) -> None:
        self._base64 = base64
        self._definitions: dict[str, Any] = {}

    def of(self, node: dict[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
        if node.get("type") == "definitions":
            self._definitions.update({each["ref"]: each for each in node["definitions"]})
        inner = node["config"] if isinstance(node.get("config"), dict) else config
        changed = with_children(node, lambda each: self.of(each, inner))
        if node.get("type") != "default" or node.get("default") is None:
            return changed
        metadata = node.get("metadata", {})
        updates = {**metadata.get("pydantic_js_updates", {}), READS: self._reader(node, config)}
        return {**changed, "metadata": {**metadata, "pydantic_js_updates": updates}}

    def _reader(self, node: Mapping[str, Any], config: Mapping[str, Any]) -> Callable[[Any], bool]:
        def reads(written: Any) -> bool:
            return reads_back(node, node["default"], written, self._definitions, config, base64=self._base64)

        return reads  # no method, since pydantic copies what is in a schema


def reads_back(
    node: Mapping[str, Any],
    value: Any,
    written: Any,
    definitions: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    base64: bool,
) -> bool:
    """Whether the JSON value `written` is read as `value`.

    Args:
        node: The core schema of the value, with its default or without.
        value: The value, which a schema that validates its default still validates.
        written: How it is published.
        definitions: What the core schema may refer to.
        config: That of the class around it.
        base64: Whether bytes are base64.
    """
    from .binary import validator_for

    schema = node["schema"] if node.get("type") == "default" else node
    known = _within_reach(schema, definitions)
    if known:
        schema = {"type": "definitions", "schema": schema, "definitions": known}
    try:
        validator = validator_for(schema, base64=base64, config=dict(config))
        if node.get("validate_default", config.get("validate_default", False)):
            value = validator.validate_python(value)
        return _is_same_value(validator.validate_json(encode(written), strict=True), value)
    except Exception:  # validators and comparisons of the author's may raise anything
        return False


def _within_reach(schema: Any, definitions: Mapping[str, Any]) -> list[Any]:
    found: dict[str, Any] = {}
    left = [schema]
    while left:
        node = left.pop()
        reference = node.get("schema_ref")
        if node.get("type") == "definition-ref" and reference in definitions and reference not in found:
            found[reference] = definitions[reference]
            left.append(definitions[reference])
        left += [each for _, each in children(node)]
    return list(found.values())


def _is_same_value(read: Any, value: Any) -> bool:
    """Whether they are equal; a list is what a tuple of its items is, and a member of an enum what its value is."""
    if isinstance(read, (list, tuple)) and isinstance(value, (list, tuple)):
        return len(read) == len(value) and all(map(_is_same_value, read, value))
    if isinstance(read, Enum) is not isinstance(value, Enum):
        read, value = (each.value if isinstance(each, Enum) else each for each in (read, value))
    return bool(read == value)


def holds_secret(value: Any, schema: object) -> bool:
    """Whether a value holds one that its inline schema says is a secret (`writeOnly`)."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("writeOnly") is True:
        return True
    options = [each for keyword in ("anyOf", "oneOf") for each in schema.get(keyword) or ()]
    if any(holds_secret(value, each) for each in options):
        return True
    if isinstance(value, list):
        places = [*(schema.get("prefixItems") or ()), schema.get("items")]
        return any(holds_secret(each, place) for each in value for place in places)
    if isinstance(value, dict):
        known, others = schema.get("properties") or {}, schema.get("additionalProperties")
        return any(holds_secret(each, known.get(name, others)) for name, each in value.items())
    return False


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
