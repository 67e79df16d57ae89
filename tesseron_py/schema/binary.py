"""What is otherwise on our wire than pydantic has it, as changes to its core schemas.

Bytes are standard base64 (RFC 4648 §4) wherever they stand, and URL-safe base64 is read as well. Pydantic writes the
bytes of models as UTF-8 text, which most bytes are not, and others as URL-safe base64, which most decoders misread.
Where an author says how (a serializer, `Base64Bytes`, `ser_json_bytes`), that is kept. Three more when reading: an
iterable is validated at once, the members of an enum are read by their values in JSON, `true` is not the choice
`1` nor `1` the choice `true`, which Python holds equal, and digits are no date.
"""

from __future__ import annotations

import binascii
import dataclasses
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from enum import Enum, Flag
from typing import Any, Final, Literal, TypeAlias

from pydantic_core import PydanticKnownError, PydanticSerializationError, SchemaSerializer, SchemaValidator

from ..jsontext import MAX_NESTING, encode
from .caching import cached_by_type
from .closing import closed_schema
from .defaults import with_readers
from .members import json_value
from .nodes import with_children

__all__ = ["MARK", "document_schema", "read_base64", "serializer_for", "validator_for", "with_base64", "write_base64"]

MARK: Final = "tesseron_py_base64"
"""In the metadata of a core schema: these bytes are base64 on the wire."""

_Purpose: TypeAlias = Literal["document", "validate", "validate text", "serialize"]

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_BYTES: Final = (bytes, bytearray, memoryview)
_DATE: Final = re.compile("[0-9]{4}-")
_MISSING: Final = Enum.__dict__["_missing_"].__func__
_SEQUENCES: Final = (list, tuple, set, frozenset)

_CONFIGURED: Final[dict[Literal["validate", "serialize"], str]] = {
    "validate": "val_json_bytes",
    "serialize": "ser_json_bytes",
}


def write_base64(value: bytes | bytearray | memoryview) -> str:
    """`value` as standard base64."""
    return b64encode(value).decode()


def read_base64(text: Any) -> Any:
    """The bytes that `text` stands for, in standard or URL-safe base64, padded or not; what is no text is returned.

    Raises:
        ValueError: It is not base64.
    """
    if not isinstance(text, str):
        return text
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("base64 is expected") from None


def with_base64(value: Any) -> Any:
    """`value` with base64 in place of bytes; itself, when it holds none.

    Raises:
        ValueError: It holds itself, or a model in it cannot be written.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    outermost = value.values() if kind is dict else value if kind is list else (value,)
    return _written(value, set()) if _holds_bytes(outermost) else value


def document_schema(schema: Any, mode: Literal["validation", "serialization"]) -> Any:
    """The core schema to make a JSON Schema of: which bytes are base64 is marked, and how defaults are read.

    `None`: as it is.
    """
    found = _Change("document", _CONFIGURED["validate" if mode == "validation" else "serialize"]).of(schema)
    if mode == "validation":
        found = with_readers(found, base64=True)
    return None if found is schema else found


def validator_for(
    schema: Any, *, base64: bool = True, closed: bool = False, config: Mapping[str, Any] | None = None
) -> Any:
    """A validator of the core schema `schema` that reads what is on our wire; `None` where pydantic's own does.

    Args:
        schema: The core schema.
        base64: Whether bytes are base64.
        closed: Whether each object refuses what it does not name, unless its author allows more.
        config: That of the class around it; with one there always is a validator.
    """
    found = _Change("validate" if base64 else "validate text", _CONFIGURED["validate"]).of(schema)
    if closed:
        found = closed_schema(found)
    elif found is schema and config is None:
        return None
    return _built(SchemaValidator, found, config)


def serializer_for(schema: Any) -> Any:
    """A serializer of the core schema `schema` that writes base64; `None` where it has no bytes."""
    found = _Change("serialize", _CONFIGURED["serialize"]).of(schema)
    return None if found is schema else _built(SchemaSerializer, found)


def _built(kind: Any, schema: Any, config: Any = None) -> Any:
    try:
        return kind(schema, config, _use_prebuilt=False)
    except TypeError:
        # Before pydantic 2.13 a model within another is always written and read in pydantic's own way.
        return kind(schema, config)


class _Change:
    """A copy of a core schema with its bytes as base64, as far as a purpose needs it."""

    def __init__(self, purpose: _Purpose, configured: str) -> None:
        self._purpose = purpose
        self._configured = configured

    def of(self, node: Any) -> Any:
        """The copy of a node; itself, where nothing is different in it."""
        kind = node.get("type")  # a parameter has none
        if self._purpose in _READING and (read := _READ.get(kind)) is not None:
            return read(self, node)
        if kind == "bytes" and self._purpose != "validate text":
            return node if "serialization" in node else self._bytes(node)
        if "serialization" in node and str(kind).startswith("function-"):
            return node  # a type with a way of its own
        config = node.get("config")
        if isinstance(config, dict) and config.get(self._configured, "utf8") != "utf8":
            return node
        return with_children(node, self.of)

    def _bytes(self, node: dict[str, Any]) -> dict[str, Any]:
        match self._purpose:
            case "document":
                return {**node, "metadata": {**node.get("metadata", {}), MARK: True}}
            case "validate":
                reads = {"type": "no-info", "function": read_base64}
                return {"type": "function-before", "function": reads, "schema": node}
        writes = {"type": "function-plain", "function": write_base64, "when_used": "json"}
        return {**node, "serialization": writes}

    def _iterable(self, node: dict[str, Any]) -> Any:
        """A list: pydantic takes any text for an iterable, and looks at the items only when the function does."""
        items = self.of(node.get("items_schema", {"type": "any"}))
        kept = {key: node[key] for key in ("min_length", "max_length", "ref", "metadata") if key in node}
        return {"type": "list", "items_schema": items, **kept}

    def _literal(self, node: dict[str, Any]) -> Any:
        """Members of a plain enum in a `Literal`, which JSON holds the values of."""
        members = [(json_value(each), each) for each in node["expected"] if _is_plain_member(each)]
        confusing = _confusing(node["expected"])
        large = any(map(_is_large, map(json_value, node["expected"])))
        if not members and not confusing and not large:
            return node
        refusal = _refusal_of("literal_error", node["expected"])

        def member(value: Any) -> Any:
            if type(value) in confusing:
                for each in node["expected"]:
                    if _is_same(json_value(each), value):
                        return each
                raise refusal()
            return next((each for known, each in members if _is_same(known, value)), value)

        def chosen(value: Any) -> Any:
            for each in node["expected"]:
                if _is_same(json_value(each), value):
                    return each
            raise refusal()

        reads = {"type": "no-info", "function": member}
        if large:
            return _with_ref({"type": "function-plain", "function": {"type": "no-info", "function": chosen}}, node)
        return {"type": "function-before", "function": reads, "schema": node}

    def _enum(self, node: dict[str, Any]) -> Any:
        """The same for an enum by itself."""
        members = list(dict.fromkeys(node["members"]))  # one may have several names
        node = node if len(members) == len(node["members"]) else {**node, "members": members}
        values = [json_value(each) for each in members]
        # What is read by what it is in JSON: a date, a decimal; and integers that pydantic finds too large.
        written = [
            (known, each)
            for known, each in zip(values, members, strict=True)
            if type(known) is not type(each.value) or _is_large(known)
        ]
        # An integer may be a sum of a flag's, zero and one among them.
        confusing = frozenset({bool}) if issubclass(node["cls"], Flag) else _confusing(values)
        if not confusing and not written:
            return node
        refusal = _refusal_of("enum", values)
        has_others = getattr(node["cls"]._missing_, "__func__", None) is not _MISSING

        def checked(value: Any) -> Any:
            if any(_is_same(each, value) for each in values):
                return next((each for known, each in written if _is_same(known, value)), value)
            if type(value) in confusing or (written and not has_others):
                raise refusal()
            if _is_large(value):
                try:
                    return node["cls"](value)
                except (TypeError, ValueError):
                    raise refusal() from None
            return value

        reads = {"type": "no-info", "function": checked}
        inner = {key: value for key, value in node.items() if key != "ref"}
        return _with_ref({"type": "function-before", "function": reads, "schema": inner}, node)

    def _tagged(self, node: dict[str, Any]) -> Any:
        """The same where they are tags."""
        found = with_children(node, self.of)
        by_value = {json_value(tag): choice for tag, choice in found["choices"].items() if _is_plain_member(tag)}
        return {**found, "choices": {**by_value, **found["choices"]}} if by_value else found

    def _named_tuple(self, node: dict[str, Any]) -> Any:
        """A list, as is published: pydantic takes an object of its fields as well, and a form has to.

        A union of one, whose tag looks at the value and leaves it JSON.
        """
        found = with_children(node, self.of)
        if self._purpose == "validate text":
            return found
        inner = {key: value for key, value in found.items() if key != "ref"}
        union = {
            "type": "tagged-union",
            "choices": {"": inner},
            "discriminator": lambda value: "" if isinstance(value, (list, tuple)) else None,
            "custom_error_type": "tuple_type",
        }
        return _with_ref(union, node)

    def _dated(self, node: dict[str, Any]) -> Any:
        """A date, or one with a time: pydantic reads digits alone as seconds since 1970, and no schema says so.

        What a function has seen is no JSON to pydantic any more, and a strict date no text. So it is read in here.
        """
        bare: Any = {key: value for key, value in node.items() if key != "ref"}
        inner: Any = SchemaValidator(bare)
        text, other = inner.validate_strings, inner.validate_python
        refusal: Any = "date_parsing" if node["type"] == "date" else "datetime_parsing"

        def read(value: Any) -> Any:
            if not isinstance(value, str):
                return other(value, strict=True)
            if _DATE.match(value) is None:
                raise PydanticKnownError(refusal, {"error": "it begins with no year"})
            return text(value, strict=True)

        read.__name__ = read.__qualname__ = node["type"]  # tells alternatives of a union apart in what pydantic reports
        reads = {"type": "function-plain", "function": {"type": "no-info", "function": read}}
        # In a union what a function gives would go before a string that is taken as it is; what `any` gives does not.
        return _with_ref({"type": "chain", "steps": [{"type": "any"}, reads]}, node)


def _with_ref(changed: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return {**changed, "ref": node["ref"]} if "ref" in node else changed


def _confusing(choices: Collection[Any]) -> frozenset[type]:
    """The types of values that may equal one of the choices, and be another value in JSON."""
    values = [each.value if isinstance(each, Enum) else each for each in choices]
    found: set[type] = set()
    if any(type(each) is not bool and isinstance(each, (int, float)) and each in (0, 1) for each in values):
        found.add(bool)
    if any(type(each) is bool for each in values):
        found |= {int, float}
    return frozenset(found)


def _refusal_of(kind: Any, choices: Collection[Any]) -> Callable[[], PydanticKnownError]:
    """What is raised for a value that is none of the choices."""
    *others, last = [repr(each) if isinstance(each, str) else encode(each) for each in map(json_value, choices)]
    expected = f"{', '.join(others)} or {last}" if others else last
    return lambda: PydanticKnownError(kind, {"expected": expected})


def _is_same(known: Any, value: Any) -> bool:
    """Whether two values are one in JSON, where `true` is not 1."""
    return bool(known == value) and isinstance(known, bool) == isinstance(value, bool)


def _is_large(value: Any) -> bool:
    """Whether it is an integer that pydantic reads as none of a choice, since it has more than 64 bits."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _is_plain_member(value: Any) -> bool:
    return isinstance(value, Enum) and not isinstance(value, (str, int))


_READING: Final = frozenset({"validate", "validate text"})
_READ: Final[dict[object, Callable[[_Change, dict[str, Any]], Any]]] = {
    "call": _Change._named_tuple,  # before pydantic 2.14
    "date": _Change._dated,
    "datetime": _Change._dated,
    "enum": _Change._enum,
    "generator": _Change._iterable,
    "literal": _Change._literal,
    "named-tuple": _Change._named_tuple,
    "tagged-union": _Change._tagged,
}


def _holds_bytes(level: Collection[Any]) -> bool:
    # Level by level, so that nearly all of it happens in C; every output of every action comes by here.
    for _ in range(MAX_NESTING):
        if {*map(type, level)} <= _PLAIN:
            return False
        inside: list[Any] = []
        for item in {id(each): each for each in level if type(each) not in _PLAIN}.values():  # each once, if it loops
            if isinstance(item, dict):
                inside += item.values()
            elif isinstance(item, _SEQUENCES):
                inside += item
            elif isinstance(item, _BYTES):
                return True
            elif hasattr(kind := type(item), "__pydantic_serializer__"):
                if _writer(kind) is not None:
                    return True
            elif dataclasses.is_dataclass(kind):
                inside += [getattr(item, each.name) for each in dataclasses.fields(kind)]
        level = inside
    return False


def _written(value: Any, around: set[int]) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, _BYTES):
        return write_base64(value)
    if id(value) in around:
        raise ValueError("it holds itself")
    around.add(id(value))
    try:
        if isinstance(value, dict):
            return {key: _written(item, around) for key, item in value.items()}
        if isinstance(value, _SEQUENCES):
            return [_written(item, around) for item in value]
        if hasattr(kind, "__pydantic_serializer__"):
            writer = _writer(kind)
            return value if writer is None else _dumped(writer, value)
        if dataclasses.is_dataclass(kind):
            return {each.name: _written(getattr(value, each.name), around) for each in dataclasses.fields(kind)}
        return value
    finally:
        around.discard(id(value))


def _dumped(writer: Any, value: Any) -> Any:
    try:
        return writer.to_python(value, mode="json", by_alias=True, warnings=False)
    except PydanticSerializationError as error:
        raise ValueError(str(error)) from error


@cached_by_type
def _writer(kind: Any) -> Any:
    """The serializer of a model or dataclass that has fields of bytes; `None` for all others."""
    return serializer_for(kind.__pydantic_core_schema__)
