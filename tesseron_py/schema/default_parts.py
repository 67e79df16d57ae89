"""What an object is by default, part by part, under the names that its fields are asked for by.

Read from its attributes, since what a value writes itself as is something else: a field may be written under another
name, as something else, or not at all. A factory of the author's is not called: what it makes may differ each time, and
forms are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from ..unset import UNSET
from .defaults import reads_back

_INNER: Final = frozenset({"nullable", "default", "function-after", "function-before", "function-wrap"})
_VALIDATORS: Final = frozenset({"function-after", "function-before", "function-wrap"})


class _Unknown(Exception):
    """A part is not known, so none is: an object that is put together of some of them would be another one."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A field of an object: its name in Python, that in the form, and its schema."""

    name: str
    wire: str
    schema: Mapping[str, Any]


class DefaultParts:
    """Reads the defaults of one type's objects.

    Args:
        encode: Writes a value that is no object as JSON; raises what it likes where it cannot.
    """

    def __init__(self, encode: Callable[[Any], Any]) -> None:
        self._encode = encode
        self._definitions: dict[str, Mapping[str, Any]] = {}

    def define(self, definitions: list[Any]) -> None:
        """Take in the definitions that a core schema refers to."""
        self._definitions.update({each["ref"]: each for each in definitions if "ref" in each})

    def of(self, schema: Mapping[str, Any]) -> tuple[bool, dict[str, Any] | None]:
        """Of a core schema with a default: whether it is certainly that of an object, and its parts.

        `None` for the parts where they are not known; a part that is what its class says is left out.
        """
        node, validated = self._object(schema["schema"])
        if node is None or schema.get("default", UNSET) is None:
            return False, None
        if "default" not in schema:
            return True, {} if not validated and _makes_itself(schema.get("default_factory"), node) else None
        try:
            parts = self._parts(node, schema["default"])
        except _Unknown:
            return True, None
        return True, parts

    def _parts(self, node: Mapping[str, Any], value: Any) -> dict[str, Any]:
        if "cls" in node and not isinstance(value, (Mapping, tuple)) and type(value) is not node["cls"]:
            raise _Unknown  # one of a class below has more, which would be lost with the first change
        parts: dict[str, Any] = {}
        members = list(_members(node))
        for place, member in enumerate(members):
            found = _found(value, member, place)
            if found is UNSET:
                if isinstance(value, (Mapping, tuple)):
                    continue
                raise _Unknown
            if (written := self._written(member.schema, found, node.get("config") or {})) is not UNSET:
                parts[member.wire] = written
        return parts

    def _written(self, schema: Mapping[str, Any], value: Any, config: Mapping[str, Any]) -> Any:
        """A part as JSON; `UNSET` where it is what its class says.

        Raises:
            _Unknown: It cannot be written, or is another value when it is read again.
        """
        node, _ = self._object(schema)
        if node is not None and value is not None:
            return self._parts(node, value)
        if value is None and schema.get("type") == "default" and schema.get("default", UNSET) is None:
            return None if self._takes_null(schema["schema"]) else UNSET
        ordered = value
        if isinstance(value, Set) and len(value) > 1:
            try:
                ordered = sorted(value)
            except TypeError:
                ordered = list(value)
        try:
            written = self._encode(ordered)
        except Exception as error:  # a serializer of the author's may raise anything
            raise _Unknown from error
        if isinstance(written, float) and not math.isfinite(written):
            raise _Unknown
        if not reads_back(schema, value, written, self._definitions, config, base64=False):
            raise _Unknown
        return written

    def _takes_null(self, schema: Mapping[str, Any]) -> bool:
        while schema["type"] in _VALIDATORS or schema["type"] == "definition-ref":
            schema = self._definitions[schema["schema_ref"]] if "schema_ref" in schema else schema["schema"]
        return schema["type"] in ("nullable", "none", "any")

    def _object(self, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, bool]:
        """The core schema of an object's fields within a schema, and whether a function has a say in between."""
        node: Any = schema
        validated = False
        for _ in range(64):  # longer is a cycle
            kind = node.get("type")
            if kind == "definition-ref":
                node = self._definitions.get(node["schema_ref"], {})
            elif kind in _INNER:
                validated = validated or kind in _VALIDATORS
                node = node["schema"]
            elif node.get("root_model"):  # a value of it has no attributes of that name
                validated, node = True, node["schema"]
            elif kind in ("model", "dataclass"):
                validated = validated or bool(node.get("custom_init") or node.get("post_init"))
                inner = node["schema"]
                while inner.get("type") in _VALIDATORS:
                    validated, inner = True, inner["schema"]
                return {**node, "schema": inner}, validated
            else:
                return (node if kind in ("typed-dict", "named-tuple") else None), validated
        return None, validated


def _makes_itself(factory: Any, node: Mapping[str, Any]) -> bool:
    """Whether a factory is the class itself, whose fields then are what the class says."""
    return factory is not None and (factory is node.get("cls") or (node["type"] == "typed-dict" and factory is dict))


def _members(node: Mapping[str, Any]) -> Iterator[_Member]:
    inner = node.get("schema", node)
    fields = inner.get("fields", ())
    named = fields.items() if isinstance(fields, Mapping) else [(each["name"], each) for each in fields]
    for name, each in named:
        if each.get("init", True):
            yield _Member(name, _wire(name, each.get("validation_alias")), each["schema"])


def _wire(name: str, alias: Any) -> str:
    """The name that a field is asked for by: of several aliases the first."""
    if isinstance(alias, str):
        return alias
    for path in alias or ():
        if isinstance(path, list) and len(path) == 1 and isinstance(path[0], str):
            return path[0]
    return name


def _found(value: Any, member: _Member, place: int) -> Any:
    if isinstance(value, Mapping):
        return value.get(member.name, value.get(member.wire, UNSET))
    if isinstance(value, tuple):
        return value[place] if place < len(value) else UNSET
    return getattr(value, member.name, UNSET)
