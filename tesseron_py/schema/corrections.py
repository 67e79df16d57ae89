"""What JSON from agents and clients needs before pydantic sees it, worked out from a schema once.

Three things that strict validation alone gets wrong on our wire: a field published without null may still come as null
or not at all; `30.0` is an integer in JSON; and pydantic finds `true` among the choices `1` and `0`, as Python does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .issues import Issue, described
from .references import Nullability, References


class Place:
    """One place in a value, with what is corrected there; places of recursive schemas are cycles."""

    __slots__ = ("choices", "drop", "fill", "items", "prefix", "properties", "refuse", "values")

    def __init__(self) -> None:
        self.fill: list[str] = []
        """Required fields that take null: absent counts as null."""
        self.drop: list[str] = []
        """Optional fields that do not take null: null counts as absent."""
        self.refuse: frozenset[type] = frozenset()
        """Types that equal a choice in Python and not in JSON."""
        self.choices: list[Any] = []
        self.properties: dict[str, Place] = {}
        self.values: Place | None = None
        self.prefix: list[Place] = []
        self.items: Place | None = None


class Corrections:
    """The corrections of one schema.

    Attributes:
        on_null: There is something to do where the JSON text holds a null.
        always: There is something to do in any case.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._references = References(document)
        self._places: dict[str, Place] = {}
        self.on_null: bool = False
        self.always: bool = False
        self._root = self._place(document)

    def apply(self, value: Any) -> tuple[Any, list[Issue]]:
        """`value`, which may be changed in place, with whole floats as integers and the corrections made.

        Returns it, and an issue for every value that must not pass for the choice it equals in Python.
        """
        issues: list[Issue] = []
        value = _whole_to_int(value)
        if self.on_null or self.always:
            _correct(self._root, value, [], issues)
        return value, issues

    def _place(self, schema: Any) -> Place:
        reference: str | None = None
        options = [schema]
        for _ in range(64):  # a chain of references and unions of one; a longer one is a cycle that describes nothing
            if len(options) != 1 or not isinstance(schema := options[0], Mapping):
                break
            if "$ref" in schema:
                reference = str(schema["$ref"])
                if reference in self._places:
                    return self._places[reference]
                options = [self._references.resolve(reference)]
            elif "properties" not in schema and (inner := _options(schema)) is not None:
                options = inner
            else:
                break
        place = Place()
        if reference is not None:
            self._places[reference] = place
        self._read_choices(place, options)
        if len(options) == 1 and isinstance(options[0], Mapping):
            self._read_structure(place, options[0])
        return place

    def _read_structure(self, place: Place, schema: Mapping[str, Any]) -> None:
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            required = schema.get("required", ())
            for name, each in properties.items():
                takes = self._references.nullability(each)
                if name in required and takes is Nullability.YES:
                    place.fill.append(name)
                elif name not in required and takes is Nullability.NO:
                    place.drop.append(name)
                place.properties[name] = self._place(each)
        if isinstance(values := schema.get("additionalProperties"), Mapping):
            place.values = self._place(values)
        if isinstance(prefix := schema.get("prefixItems"), list):
            place.prefix = [self._place(each) for each in prefix]
        if isinstance(items := schema.get("items"), Mapping):
            place.items = self._place(items)
        self.always = self.always or bool(place.fill)
        self.on_null = self.on_null or bool(place.drop)

    def _read_choices(self, place: Place, options: list[Any]) -> None:
        choices: list[Any] = []
        kinds: set[Any] = set()
        for leaf in self._leaves(options, set()):
            if found := _choices(leaf):
                choices += found
                kinds |= {type(value) for value in found}
            else:
                types = leaf.get("type")
                kinds |= set(types) if isinstance(types, list) else {types}
        if None in kinds:  # one option takes anything
            return
        refuse: set[type] = set()
        if any(type(value) is not bool and value in (0, 1) for value in choices) and not kinds & {"boolean", bool}:
            refuse.add(bool)
        if bool in kinds and not kinds & {"integer", "number", int, float}:
            refuse |= {int, float}
        if refuse:
            place.refuse, place.choices, self.always = frozenset(refuse), choices, True

    def _leaves(self, options: list[Any], followed: set[str]) -> Iterator[Mapping[str, Any]]:
        """The schemas at the ends of unions and references, each reference followed once."""
        for schema in options:
            if not isinstance(schema, Mapping):
                yield {}
            elif "$ref" in schema:
                if (reference := str(schema["$ref"])) not in followed:
                    followed.add(reference)
                    yield from self._leaves([self._references.resolve(reference)], followed)
            elif (inner := _options(schema)) is not None:
                yield from self._leaves(inner, followed)
            else:
                yield schema


def _options(schema: Mapping[str, Any]) -> list[Any] | None:
    """The alternatives of a union but null, or the one part of a lone `allOf`."""
    if "enum" in schema or "const" in schema:
        return None
    for keyword in ("anyOf", "oneOf"):
        if isinstance(found := schema.get(keyword), list):
            return [each for each in found if not (isinstance(each, Mapping) and each.get("type") == "null")]
    parts = schema.get("allOf")
    return parts if isinstance(parts, list) and len(parts) == 1 else None


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else []


def _correct(place: Place, value: Any, path: list[str | int], issues: list[Issue]) -> None:
    if type(value) in place.refuse:
        issues.append(Issue(f"{described(place.choices)} is expected, got {described([value])}", path))
    elif isinstance(value, dict):
        for name in place.drop:
            if name in value and value[name] is None:
                del value[name]
        for name in place.fill:
            value.setdefault(name)
        for name, item in value.items():
            inner = place.properties.get(name, place.values)
            if inner is not None:
                _correct(inner, item, [*path, name], issues)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            inner = place.prefix[index] if index < len(place.prefix) else place.items
            if inner is not None:
                _correct(inner, item, [*path, index], issues)


def _whole_to_int(value: Any) -> Any:
    """`value` with every float that is a whole number as an `int`; dicts and lists are changed in place."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        if isinstance(item, (float, dict, list)):
            value[key] = _whole_to_int(item)
    return value
