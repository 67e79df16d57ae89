"""What a person is shown of a value before a handler gets it: every field of it, and nothing that is a secret.

A serializer of the author's says what goes out, which may leave a field away or round it, and so it is not asked here:
a model is its attributes. What is no model, no dataclass, no list, no mapping and no value that Python or pydantic
itself has may hold anything, and cannot be shown.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel, TypeAdapter

from ..jsontext import MAX_NESTING, decode, encode
from ..unset import UNSET
from .aliases import by_name
from .binary import write_base64
from .generate import schemas_of
from .names import attribute
from .references import References

__all__ = ["HIDDEN", "CannotBeShown", "Disclosure"]

HIDDEN: Final = "**********"
"""In place of a secret, as pydantic's own secrets write themselves."""

_SEQUENCES: Final = (list, tuple, set, frozenset, deque)
_PLAIN: Final = frozenset({bool, int, str})
_VALUES: Final = frozenset(
    {
        "builtins", "datetime", "decimal", "fractions", "ipaddress", "pathlib", "pydantic", "pydantic_core",
        "pydantic_extra_types", "re", "uuid", "zoneinfo",
    }
)  # fmt: skip
"""The modules whose objects show all that they are."""


_Places: TypeAlias = list[Mapping[str, Any]]
_OPTIONS: Final = ("anyOf", "oneOf", "allOf")
_OF_THE_SAME: Final = ("if", "then", "else", "contentSchema")
"""Keywords whose schema is for the same value; what is in the text of a `Json[…]` is parsed by then."""
_ANYTHING: Final[Mapping[str, Any]] = {}
_NO_SCHEMAS: Final = frozenset({"default", "examples", "enum", "const"})


class CannotBeShown(Exception):
    """A value may hold what is not to be read off it."""


class Disclosure:
    """What of the values of a type a person may see.

    Args:
        document: The JSON Schema of the type, with its references. What it says is `writeOnly` is hidden, at any depth.
            Where a validator has made something of another shape of a value with a secret, all of it is hidden.
    """

    __slots__ = ("_document", "_of_classes", "_references", "_secretive")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._references = References(document)
        self._secretive: dict[int, bool] = {}
        self._of_classes: dict[type, Disclosure] = {}

    def of(self, field: str, value: Any) -> Any:
        """The value of a top-level field as JSON, secrets hidden.

        Args:
            field: Its name in the schema.
            value: What the handler gets, or what the agent gave.

        Raises:
            CannotBeShown: It holds what nobody can read off it.
        """
        return self._inner(value, self._places([self._document]), field, -1)

    def _plain(self, value: Any, places: _Places, depth: int) -> Any:
        if value is None:
            return None
        if any(place.get("writeOnly") is True for place in places):
            return HIDDEN
        if depth >= MAX_NESTING:
            raise CannotBeShown
        if isinstance(value, RootModel):
            return self._plain(value.root, places, depth + 1)
        if self._is_secretive(places) and not any(_fits(kind := _kind(value), place) for place in places):
            if kind == "scalar":
                _leaf(value)  # where it cannot be shown, what the agent gave may be
            return HIDDEN
        if type(value) in _PLAIN:
            return value
        if isinstance(value, Mapping):
            found: dict[str, Any] = {}
            for key, item in value.items():
                name = key if isinstance(key, str) else str(_leaf(key))
                found[_free(name, found)] = self._inner(item, places, str(_leaf(key)), depth)
            return found
        if isinstance(value, _SEQUENCES):
            return [self._inner(item, places, at, depth) for at, item in enumerate(value)]
        if isinstance(value, BaseModel) or dataclasses.is_dataclass(value):
            found = {name: self._attribute(item, places, name, depth, type(value)) for name, item in _attributes(value)}
            more = getattr(value, "__pydantic_extra__", None) or {}
            return found | {name: self._inner(item, places, name, depth, extra=True) for name, item in more.items()}
        return _leaf(value)

    def _inner(self, item: Any, places: _Places, step: str | int, depth: int, *, extra: bool = False) -> Any:
        """What is in a value, under a name or at a position."""
        found = self._places(each for place in places for each in _inside(place, step))
        if not found and not extra and self._is_secretive(places):
            # Nothing says what it is. It may be what is secret elsewhere in there, under a name that only Python has.
            return HIDDEN
        return self._plain(item, found, depth + 1)

    def _attribute(self, item: Any, places: _Places, name: str, depth: int, cls: type) -> Any:
        """What a model or dataclass has under a name."""
        if self._is_secretive(places) or any(part for place in places for part in _inside(place, name)):
            return self._inner(item, places, name, depth)
        # A validator has made a value of another class, and what is secret in that, it says itself.
        if (other := self._of_classes.get(cls)) is None:
            other = self._of_classes[cls] = Disclosure(_document_of(cls))
        return other._inner(item, other._places([other._document]), name, depth)

    def _is_secretive(self, places: _Places) -> bool:
        """Whether something in a value is secret."""
        return any(self._holds_secret(place) for place in places)

    def _holds_secret(self, schema: Mapping[str, Any]) -> bool:
        known = self._secretive.get(id(schema))
        if known is None:
            seen: set[int] = set()
            waiting: list[Any] = [schema]
            known = False
            while waiting and not known:
                each = waiting.pop()
                if id(each) in seen:
                    continue
                if isinstance(each, list):
                    waiting += each
                elif isinstance(each, Mapping):
                    seen.add(id(each))
                    known = each.get("writeOnly") is True
                    waiting += [part for keyword, part in each.items() if keyword not in _NO_SCHEMAS]
                    waiting.append(self._references.resolve(each.get("$ref")))
            self._secretive[id(schema)] = known
        return known

    def _places(self, schemas: Iterable[object]) -> _Places:
        """Schemas and all that they lead to for the same value, each once: a recursive union leads to itself often."""
        found: dict[int, Mapping[str, Any]] = {}
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, Mapping) or id(schema) in found:
                continue
            found[id(schema)] = schema
            waiting.append(self._references.resolve(schema.get("$ref")))
            waiting += [schema.get(keyword) for keyword in _OF_THE_SAME]
            waiting += _mapping(schema, "dependentSchemas").values()
            for keyword in _OPTIONS:
                if isinstance(options := schema.get(keyword), list):
                    waiting += options
        return list(found.values())


def _inside(schema: Mapping[str, Any], step: str | int) -> Iterator[object]:
    if isinstance(step, str):
        if step in (properties := _mapping(schema, "properties")):
            yield properties[step]
        else:
            yield from _mapping(schema, "patternProperties").values()
            others = schema.get("additionalProperties")
            yield _ANYTHING if others is True else others
        return
    prefix = schema.get("prefixItems")
    if isinstance(prefix, Sequence) and step < len(prefix):
        yield prefix[step]
    else:
        yield schema.get("items")


def _mapping(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, Mapping) else {}


def _document_of(cls: type) -> Mapping[str, Any]:
    try:
        return schemas_of(TypeAdapter(cls), "input").document
    except Exception as error:
        # Building a schema runs hooks of the author's types, so anything may be raised.
        raise CannotBeShown from error


def _kind(value: Any) -> str:
    """What JSON has of a value."""
    if isinstance(value, _SEQUENCES):
        return "array"
    held = isinstance(value, (Mapping, BaseModel)) or dataclasses.is_dataclass(value)
    return "object" if held else "scalar"


def _fits(kind: str, schema: Mapping[str, Any]) -> bool:
    """Whether a schema says that a value may be of a kind; one that only leads to others says nothing."""
    if any(keyword in schema for keyword in ("$ref", "contentSchema", *_OPTIONS)):
        return False
    types = schema.get("type")
    if types is None:
        is_object = "properties" in schema or "additionalProperties" in schema
        return kind == "object" if is_object else kind == "array" if "items" in schema else True
    given = [types] if isinstance(types, str) else types
    return any(each == kind or (kind == "scalar" and each not in ("array", "object", "null")) for each in given)


def _free(name: str, taken: Collection[str]) -> str:
    """A name for one more entry: keys that are secret look alike."""
    return next(
        each for number in itertools.count(1) if (each := name if number == 1 else f"{name} ({number})") not in taken
    )


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """What a model or dataclass holds, by the names in its schema."""
    cls = type(value)
    known: Mapping[str, Any] = getattr(cls, "__pydantic_fields__", {})
    if isinstance(value, BaseModel):
        names = list(known)
    else:
        declared: Mapping[str, Any] = cls.__dataclass_fields__
        if any(getattr(each, "_field_type", None) is _ONLY_GIVEN for each in declared.values()):
            raise CannotBeShown  # what its constructor alone got
        names = [each.name for each in dataclasses.fields(value)]
    if by_name(getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None)):
        known = {}
    for name in names:
        if (item := attribute(value, name)) is UNSET:
            raise CannotBeShown
        yield _wire(name, known[name].validation_alias if name in known else None), item


@dataclasses.dataclass
class _WithInitVar:
    given: dataclasses.InitVar[int]


_ONLY_GIVEN: Final = getattr(_WithInitVar.__dataclass_fields__["given"], "_field_type", UNSET)


def _wire(name: str, alias: str | AliasPath | AliasChoices | None) -> str:
    """The name under which a field is published."""
    first = alias.choices[0] if isinstance(alias, AliasChoices) else alias
    if isinstance(first, AliasPath):
        first = first.path[0] if len(first.path) == 1 and isinstance(first.path[0], str) else None
    return first or name


def _leaf(value: Any) -> Any:
    """What is in JSON for a value that holds no others."""
    known = isinstance(value, (str, int, float, Enum)) or type(value).__module__.partition(".")[0] in _VALUES
    if not known or callable(value):
        raise CannotBeShown
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return write_base64(value)
    try:
        return decode(encode(value))
    except ValueError as error:
        raise CannotBeShown from error
