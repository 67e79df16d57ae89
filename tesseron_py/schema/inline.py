"""JSON Schemas without references: what goes on the wire is one tree that every client can read.

Clients refuse `$ref`, type lists and unions with null, so a schema is published inline and flat. What is left out of it
(null for an optional field, what lies below a recursion) is still validated; see `validation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..jsontext import decode, encode
from .defaults import READS, fits, holds_secret, without_nulls
from .references import BITS, Nullability, References

MAX_NODES: Final = 5000
"""Subschemas one published schema may have; references beyond are cut short, since inlining can grow exponentially."""
WIDE: Final = 400
"""With more subschemas than this, types that contain themselves or each other are written out less deep."""

_DROPPED = frozenset({"$ref", "$defs", "definitions", "$schema", "$id", "$anchor", "discriminator", BITS, READS})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_SCHEMAS = frozenset(
    {
        "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})

_FIRST: Final = (
    "type", "title", "description",
    "format", "contentEncoding", "contentMediaType", "pattern", "minLength", "maxLength",
    "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
    "enum", "const", "default", "examples",
)  # fmt: skip
_LAST: Final = (
    "anyOf", "oneOf", "allOf", "not",
    "prefixItems", "items", "minItems", "maxItems", "uniqueItems",
    "properties", "patternProperties", "propertyNames", "required", "additionalProperties",
    "minProperties", "maxProperties",
)  # fmt: skip
_LIMITS: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
_MAX_NAMES: Final = 32  # names of a dict that are written out as properties


def inline_schema(
    schema: Mapping[str, Any], *, keep_null: bool = False, closed: bool = False, mended: bool = False
) -> dict[str, Any]:
    """`schema` without `$ref`, `$defs`, `$schema`, type lists, unions of one, and null; its keywords in one order.

    A union with null becomes the other type, and its property is no longer required; null defaults go. A reference
    into a schema that is being written out already, a recursion, becomes its bare type. Where several types contain
    each other, as the operators of an expression do, and the whole gets wide, so does one that is two levels within
    the others, or one. Keywords stand in the order of reading: what it is, its limits, its default, then what is in it.

    Args:
        schema: A JSON Schema; it is not changed.
        keep_null: Keep null where the schema takes it, as `anyOf`: for outputs, which have to fit what they promise.
        closed: Say `additionalProperties: false` of every object with named fields that says nothing else.
        mended: Say what clients miss in pydantic's schemas (`items` of every array, the tag of a tagged union as
            required, the known names of a dict as properties), and leave out defaults that do not fit.

    Example:
        ```python
        inline_schema({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "string"}}})
        # {"type": "string"}
        ```
    """
    inlined: Any = {}
    for levels in (math.inf, 2, 1):
        inliner = _Inliner(schema, keep_null, closed, mended, levels)
        inlined = inliner.node(schema, frozenset())
        if inliner.nodes <= WIDE:
            break
    return inlined if isinstance(inlined, dict) else {}


class _Inliner:
    def __init__(self, root: Mapping[str, Any], keep_null: bool, closed: bool, mended: bool, levels: float) -> None:
        self._root = root
        self._references = References(root)
        self._levels = levels
        self._recursive: dict[str, bool] = {}
        self._keep_null = keep_null
        self._closed = closed
        self._mended = mended
        self.nodes = 0

    def node(self, schema: Any, open: frozenset[str]) -> Any:
        """`schema` inlined; `open` are the references that are being written out around it."""
        if not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        self.nodes += 1
        while "$ref" in schema:
            reference = str(schema["$ref"])
            target = self._references.resolve(reference) or {}
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            if reference in open or self.nodes > MAX_NODES or self._is_too_deep(reference, open):
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

    def _is_too_deep(self, reference: str, open: frozenset[str]) -> bool:
        return (
            len(open) >= self._levels
            and self._is_recursive(reference)
            and (sum(map(self._is_recursive, open)) >= self._levels)
        )

    def _is_recursive(self, reference: str) -> bool:
        """Whether a schema contains itself, by itself or within others."""
        if reference not in self._recursive:
            self._recursive[reference] = reference in self._reached(reference)
        return self._recursive[reference]

    def _reached(self, reference: str) -> set[str]:
        reached: set[str] = set()
        left = [self._references.resolve(reference)]
        while left:
            for each in _references_in(left.pop()):
                if each not in reached:
                    reached.add(each)
                    left.append(self._references.resolve(each))
        return reached

    def _simplified(self, written: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
        self._settle_types(written)
        if not self._keep_null:
            self._forget_null(written, source)
        if "default" in written and (written["default"] is None or _is_infinite(written["default"])):
            del written["default"]
        if self._mended:
            _mend_items(written)
            _mend_names(written)
            if not self._keep_null:
                _require_tag(written, source.get("discriminator"))
        if self._closed and "properties" in written:
            written.setdefault("additionalProperties", False)
        if isinstance(options := written.get("anyOf"), list):
            written["anyOf"] = _flattened(options)
        for keyword in ("allOf", "anyOf", "oneOf"):
            options = written.get(keyword)
            if isinstance(options, list) and len(options) == 1 and isinstance(options[0], dict):
                del written[keyword]
                # What stands beside the union is about this very place, so it wins over what its option says.
                written = options[0] | written
        if self._mended and "default" in written:
            default = written.pop("default")
            default = default if self._keep_null else without_nulls(default, written)
            if fits(default, written):
                written["default"] = default
        if "default" in written and not self._is_read(written["default"], written, source):
            del written["default"]
        return _ordered(written)

    def _is_read(self, default: Any, written: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
        """Whether a default that is sent back is the default."""
        reads = source.get(READS)
        if reads is None:
            return True
        if holds_secret(default, written):
            return False
        if reads(default):
            return True
        from .corrections import Corrections  # few are read only so

        corrections = Corrections({"$defs": self._root.get("$defs", {}), **source})
        return bool(reads(corrections.apply(decode(encode(default)))))

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
        required = written.pop("required", None)
        if isinstance(required, list):
            properties = source.get("properties")
            kept = [name for name in required if not self._says_null(properties, name)]
            if kept:
                written["required"] = kept

    def _says_null(self, properties: Any, name: object) -> bool:
        schema = properties.get(name) if isinstance(properties, Mapping) and isinstance(name, str) else None
        return schema is not None and self._references.nullability(schema) is Nullability.YES


def _references_in(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        for each in schema.values():
            yield from _references_in(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references_in(each)


def _is_null(schema: object) -> bool:
    return isinstance(schema, dict) and (
        schema.get("type") == "null" or ("const" in schema and schema["const"] is None)
    )


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _flattened(options: list[Any]) -> list[Any]:
    """The alternatives of a union: those of unions within it as well, each once."""
    flat: list[Any] = []
    for option in options:
        inner = option.get("anyOf") if isinstance(option, dict) and len(option) == 1 else None
        flat += inner if isinstance(inner, list) else [option]
    return list({encode(option): option for option in flat}.values())


def _mend_items(written: dict[str, Any]) -> None:
    """`items` for an array without, since clients refuse such a one; those of a tuple are any of its places."""
    if written.get("type") != "array" or "items" in written:
        return
    places = written.get("prefixItems")
    if not isinstance(places, list) or not places or written.get("maxItems") != len(places):
        written["items"] = {}
        return
    plain = [{key: value for key, value in place.items() if key not in _OF_PLACE} for place in places]
    kinds = _flattened(plain)
    written["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if len(kinds) == 1 and plain == places:
        del written["prefixItems"]


_OF_PLACE: Final = frozenset({"title", "description", "default", "examples"})


def _mend_names(written: dict[str, Any]) -> None:
    """A dict whose names are known becomes an object with these properties, none of them required."""
    names = written.get("propertyNames")
    if not isinstance(names, dict) or names.keys() - {"type"} != {"enum"} or "properties" in written:
        return
    if len(names["enum"]) <= _MAX_NAMES and all(isinstance(name, str) for name in names["enum"]):
        values = written.get("additionalProperties", True)
        del written["propertyNames"]
        written["properties"] = {name: {} if values is True else values for name in names["enum"]}
        written["additionalProperties"] = False


def _require_tag(written: dict[str, Any], discriminator: object) -> None:
    """The tag of a tagged union is required even where its class has a default for it: it decides."""
    tag = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
    for keyword in ("anyOf", "oneOf") if isinstance(tag, str) else ():
        for option in written.get(keyword, ()):
            if not isinstance(option, dict):
                continue
            _require_tag(option, discriminator)
            properties = option.get("properties")
            required = option.get("required", [])
            if isinstance(properties, dict) and tag in properties and tag not in required:
                option["required"] = [name for name in properties if name in required or name == tag]
                ordered = _ordered(option)
                option.clear()
                option.update(ordered)


def _ordered(written: dict[str, Any]) -> dict[str, Any]:
    for limit in _LIMITS:
        value = written.get(limit)
        if isinstance(value, float) and value.is_integer():
            written[limit] = int(value)
    others = [key for key in written if key not in _KNOWN]
    return {key: written[key] for key in (*_FIRST, *others, *_LAST) if key in written}


_KNOWN: Final = frozenset({*_FIRST, *_LAST})
