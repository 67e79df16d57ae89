"""Tool schemas made safe: one that a client refuses voids its whole list (`spec/mcp.md` §6).

What is meant is kept; what no client can mean anything by is dropped. It validates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..jsontext import MAX_NESTING

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""MCP's own; clients refuse a tool whose schema says another."""
_NULL_IS_A_VALUE: Final = frozenset({"const", "default"})
_SCHEMA: Final = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"}
)
_SCHEMAS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED_SCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def is_object_schema(schema: object) -> bool:
    """Whether the root says that it is an object."""
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def safe_schema(schema: object, *, object_root: bool = True) -> dict[str, Any]:
    """`schema` as the root of a tool's input or output.

    A root that is no object becomes `{"type": "object"}`, one that does not say so is told to, unless it may be one.
    Nulls that stand for nothing, a `$schema` other than 2020-12, a `required` that is no list of names and properties
    that are no schemas are dropped or mended.

    Raises:
        ValueError: It nests deeper than a message may.
    """
    if not isinstance(schema, Mapping):
        return {"type": "object"}
    if object_root and schema.get("type", "object") not in ("object", None):
        return {"type": "object"}
    clean = _clean(schema, MAX_NESTING)
    if clean.get("$schema") != _DIALECT:
        clean.pop("$schema", None)
    return {"type": "object", **clean} if object_root and "type" not in clean else clean


def _clean(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth < 0:
        raise ValueError(f"the schema nests deeper than {MAX_NESTING} levels")
    clean: dict[str, Any] = {}
    for key, value in schema.items():
        if value is None and key not in _NULL_IS_A_VALUE:
            continue
        if key in _NAMED_SCHEMAS:
            if isinstance(value, Mapping):
                clean[key] = {str(name): _as_object(part, depth - 1) for name, part in value.items()}
        elif key in _SCHEMAS:
            if isinstance(value, list | tuple):
                clean[key] = [_part(part, depth - 1) for part in value]
        elif key in _SCHEMA:
            clean[key] = _part(value, depth - 1)
        elif key == "required":
            if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
                clean[key] = list(value)
        else:
            clean[key] = value
    return clean


def _part(schema: Any, depth: int) -> Any:
    if isinstance(schema, list | tuple):  # `items` of older drafts
        return [_part(part, depth) for part in schema]
    return _clean(schema, depth) if isinstance(schema, Mapping) else schema if isinstance(schema, bool) else {}


def _as_object(schema: Any, depth: int) -> dict[str, Any]:
    """A named schema; clients want an object where JSON Schema would take a boolean, too."""
    if isinstance(schema, Mapping):
        return _clean(schema, depth)
    return {"not": {}} if schema is False else {}
