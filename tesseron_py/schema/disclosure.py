"""What a person is shown of a value before a handler gets it: every field of it, and nothing that is a secret.

A serializer of the author's says what goes out, which may leave a field away or round it, and so it is not asked here:
a model is its attributes. What is no model, no dataclass, no list, no mapping and no value that Python or pydantic
itself has may hold anything, and cannot be shown.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel

from ..jsontext import MAX_NESTING, decode, encode
from ..unset import UNSET
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


class CannotBeShown(Exception):
    """A value may hold what is not to be read off it."""


class Disclosure:
    """What of the values of a type a person may see.

    Args:
        document: The JSON Schema of the type, with its references. What it says is `writeOnly` is hidden, at any depth.
    """

    __slots__ = ("_document", "_references")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._references = References(document)

    def of(self, field: str, value: Any) -> Any:
        """The value of a top-level field as JSON, secrets hidden.

        Args:
            field: Its name in the schema.
            value: What the handler gets, or what the agent gave.

        Raises:
            CannotBeShown: It holds what nobody can read off it.
        """
        return self._plain(value, self._below(self._places([self._document]), field), 0)

    def _plain(self, value: Any, places: list[Mapping[str, Any]], depth: int) -> Any:
        if value is None:
            return None
        if any(place.get("writeOnly") is True for place in places):
            return HIDDEN
        if depth >= MAX_NESTING:
            raise CannotBeShown
        if type(value) in _PLAIN:
            return value
        if isinstance(value, RootModel):
            return self._plain(value.root, places, depth + 1)
        if isinstance(value, Mapping):
            return {
                key if isinstance(key, str) else str(_leaf(key)): self._plain(
                    item, self._below(places, str(_leaf(key))), depth + 1
                )
                for key, item in value.items()
            }
        if isinstance(value, _SEQUENCES):
            return [self._plain(item, self._below(places, at), depth + 1) for at, item in enumerate(value)]
        if isinstance(value, BaseModel) or dataclasses.is_dataclass(value):
            found = {name: self._plain(item, self._below(places, name), depth + 1) for name, item in _attributes(value)}
            more = getattr(value, "__pydantic_extra__", None) or {}
            return found | {
                name: self._plain(item, self._below(places, name, declared=False), depth + 1)
                for name, item in more.items()
            }
        return _leaf(value)

    def _places(self, schemas: Iterable[object]) -> list[Mapping[str, Any]]:
        """Schemas and all that they lead to for the same value, each once: a recursive union leads to itself often."""
        found: dict[int, Mapping[str, Any]] = {}
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, Mapping) or id(schema) in found:
                continue
            found[id(schema)] = schema
            waiting.append(self._references.resolve(schema.get("$ref")))
            for keyword in ("anyOf", "oneOf", "allOf"):
                if isinstance(options := schema.get(keyword), list):
                    waiting += options
        return list(found.values())

    def _below(
        self, places: list[Mapping[str, Any]], step: str | int, *, declared: bool = True
    ) -> list[Mapping[str, Any]]:
        found = [each for place in places for each in _inside(place, step)]
        if isinstance(step, str) and declared and not found:
            # A name that Python has and JSON has not: whatever is secret there may be it.
            found = [each for place in places for each in _mapping(place, "properties").values()]
        return self._places(found)


def _inside(schema: Mapping[str, Any], step: str | int) -> Iterator[object]:
    if isinstance(step, str):
        if step in (properties := _mapping(schema, "properties")):
            yield properties[step]
        else:
            yield from _mapping(schema, "patternProperties").values()
            if isinstance(others := schema.get("additionalProperties"), Mapping):
                yield others
        return
    prefix = schema.get("prefixItems")
    if isinstance(prefix, Sequence) and step < len(prefix):
        yield prefix[step]
    else:
        yield schema.get("items")


def _mapping(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, Mapping) else {}


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
    try:
        return decode(encode(value))
    except ValueError as error:
        raise CannotBeShown from error
