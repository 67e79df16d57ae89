"""JSON Schemas without references: what goes on the wire is one tree that every client can read.

Clients refuse `$ref`, type lists and unions with null, so a schema is published inline and flat. What is left out of it
(null for an optional field, what lies below a recursion) is still validated; see `validation`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from .references import Nullability, References

MAX_NODES: Final = 5000
"""Subschemas one published schema may have; references beyond are cut short, since inlining can grow exponentially."""

_DROPPED = frozenset({"$ref", "$defs", "definitions", "$schema", "$id", "$anchor", "discriminator"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_SCHEMAS = frozenset(
    {
        "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})


def inline_schema(schema: Mapping[str, Any], *, keep_null: bool = False, closed: bool = False) -> dict[str, Any]:
    """`schema` without `$ref`, `$defs`, `$schema`, type lists, unions of one, and null.

    A union with null becomes the other type, and its property is no longer required; null defaults go. A reference
    into a schema that is being written out already, a recursion, becomes its bare type.

    Args:
        schema: A JSON Schema; it is not changed.
        keep_null: Keep null where the schema takes it, as `anyOf`: for outputs, which have to fit what they promise.
        closed: Say `additionalProperties: false` of every object with named fields that says nothing else.

    Example:
        ```python
        inline_schema({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "string"}}})
        # {"type": "string"}
        ```
    """
    inlined = _Inliner(schema, keep_null, closed).node(schema, frozenset())
    return inlined if isinstance(inlined, dict) else {}


class _Inliner:
    def __init__(self, root: Mapping[str, Any], keep_null: bool, closed: bool) -> None:
        self._references = References(root)
        self._keep_null = keep_null
        self._closed = closed
        self._nodes = 0

    def node(self, schema: Any, open: frozenset[str]) -> Any:
        """`schema` inlined; `open` are the references that are being written out around it."""
        if not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        self._nodes += 1
        while "$ref" in schema:
            reference = str(schema["$ref"])
            target = self._references.resolve(reference) or {}
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            if reference in open or self._nodes > MAX_NODES:
                kind = target.get("type")
                return self.node(({"type": kind} if isinstance(kind, str) else {}) | siblings, open)
            open |= {reference}
            schema = {**target, **siblings}
        written: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED:
                continue
            if key in _MAPS and isinstance(value, Mapping):
                written[key] = {name: self.node(each, open) for name, each in value.items()}
            elif key in _SCHEMAS and isinstance(value, (Mapping, bool)):
                written[key] = self.node(value, open)
            elif (key in _LISTS or key == "items") and isinstance(value, list):
                written[key] = [self.node(each, open) for each in value]
            else:
                written[key] = value
        return self._simplified(written, schema)

    def _simplified(self, written: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
        self._settle_types(written)
        if not self._keep_null:
            self._forget_null(written, source)
        if self._closed and "properties" in written:
            written.setdefault("additionalProperties", False)
        default = written.get("default")
        if isinstance(default, float) and not math.isfinite(default):
            del written["default"]
        for keyword in ("allOf", "anyOf", "oneOf"):
            options = written.get(keyword)
            if isinstance(options, list) and len(options) == 1 and isinstance(options[0], dict):
                del written[keyword]
                # What stands beside the union is about this very place, so it wins over what its option says.
                written = options[0] | written
        return written

    def _settle_types(self, written: dict[str, Any]) -> None:
        """A type list becomes its one type, or `anyOf`."""
        types = written.get("type")
        if not isinstance(types, list):
            return
        del written["type"]
        types = [kind for kind in types if isinstance(kind, str)]
        if not self._keep_null and types != ["null"]:
            types = [kind for kind in types if kind != "null"]
        if len(types) == 1:
            written["type"] = types[0]
        elif types and "anyOf" not in written:
            written["anyOf"] = [{"type": kind} for kind in types]

    def _forget_null(self, written: dict[str, Any], source: Mapping[str, Any]) -> None:
        for keyword in ("anyOf", "oneOf"):
            if isinstance(options := written.get(keyword), list):
                kept = [each for each in options if not _is_null(each)]
                written[keyword] = kept or options[:1]
        if isinstance(choices := written.get("enum"), list):
            written["enum"] = [each for each in choices if each is not None] or choices
        if "default" in written and written["default"] is None:
            del written["default"]
        required = written.pop("required", None)
        if isinstance(required, list):
            properties = source.get("properties")
            kept = [name for name in required if not self._says_null(properties, name)]
            if kept:
                written["required"] = kept

    def _says_null(self, properties: Any, name: object) -> bool:
        schema = properties.get(name) if isinstance(properties, Mapping) and isinstance(name, str) else None
        return schema is not None and self._references.nullability(schema) is Nullability.YES


def _is_null(schema: object) -> bool:
    return isinstance(schema, dict) and (
        schema.get("type") == "null" or ("const" in schema and schema["const"] is None)
    )
