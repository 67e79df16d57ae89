"""What JSON from agents and clients needs before pydantic sees it, worked out from a schema once.

Two things that strict validation alone gets wrong on our wire: a field published without null may still come as null
or not at all, and `30.0` is an integer in JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .references import BITS, Nullability, References


class Place:
    """One place in a value, with what is corrected there; places of recursive schemas are cycles."""

    __slots__ = (
        "alternatives", "choices", "drop", "fill", "has_items", "inside", "is_choice", "items", "kinds", "needed",
        "null", "others", "prefix", "properties", "values",
    )  # fmt: skip

    def __init__(self) -> None:
        self.alternatives: list[Place] = []
        """Where the schema is a union: its alternatives, of which the first that a value matches is its place."""
        self.null: bool = False
        self.kinds: frozenset[str] | None = None
        """JSON's types of what is taken, null aside; `None` is any."""
        self.choices: list[Any] = []
        """The values that are told."""
        self.is_choice: bool = False
        """Whether no others are taken."""
        self.fill: list[str] = []
        """Required fields that take null: absent counts as null."""
        self.drop: list[str] = []
        """Optional fields that do not take null: null counts as absent."""
        self.needed: list[str] = []
        """Required fields that are not filled."""
        self.properties: dict[str, Place] = {}
        self.values: Place | None = None
        self.prefix: list[Place] = []
        self.items: Place | None = None
        self.inside: list[tuple[str, Place]] = []
        """Of the properties, those in which there is something to correct."""
        self.others: Place | None = None
        """The place of other names, if there is something to correct in them."""
        self.has_items: bool = False
        """Whether there is in items."""

    def below(self) -> Iterator[Place]:
        """All places in it."""
        yield from self.alternatives
        yield from self.properties.values()
        yield from self.prefix
        for place in (self.values, self.items):
            if place is not None:
                yield place


class Corrections:
    """The corrections of one schema.

    Attributes:
        on_null: There is something to do where the JSON text holds a null.
        always: There is something to do in any case.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._references = References(document)
        self._places: dict[tuple[int, bool], Place] = {}  # by the identity of their schemas, and whether null is taken
        self.on_null: bool = False
        self.always: bool = False
        self._root = self._place(document)
        self._settle()

    def _settle(self) -> None:
        """Find out where something is to be corrected, so that nothing else is looked at in a call."""
        places = self._places.values()
        busy = {place for place in places if place.fill or place.drop}
        found = len(busy)
        while True:
            busy |= {place for place in places if any(inner in busy for inner in place.below())}
            if len(busy) == found:
                break
            found = len(busy)
        for place in places:
            place.inside = [(name, inner) for name, inner in place.properties.items() if inner in busy]
            place.others = place.values if place.values in busy else None
            place.has_items = place.items in busy or not busy.isdisjoint(place.prefix)

    def apply(self, value: Any) -> Any:
        """`value`, which may be changed in place, with whole floats as integers and the corrections made."""
        value = _whole_to_int(value)
        if self.on_null or self.always:
            _correct(self._root, value)
        return value

    def _place(self, schema: Any) -> Place:
        leaves = list(self._leaves(schema, set()))
        inner = [leaf for leaf in leaves if leaf.get("type") != "null"]
        key = id(inner[0] if len(inner) == 1 else schema), len(inner) < len(leaves)
        if (known := self._places.get(key)) is not None:
            return known
        place = self._places[key] = Place()
        place.null = len(inner) < len(leaves)
        self._read_choices(place, inner)
        if len(inner) == 1:
            self._read_structure(place, inner[0])
        else:
            place.alternatives = [self._place(leaf) for leaf in inner]
        return place

    def _read_structure(self, place: Place, schema: Mapping[str, Any]) -> None:
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            required = schema.get("required", ())
            for name, each in properties.items():
                takes = self._references.nullability(each)
                if name not in required:
                    if takes is Nullability.NO:
                        place.drop.append(name)
                elif takes is Nullability.YES:
                    place.fill.append(name)
                else:
                    place.needed.append(name)
                place.properties[name] = self._place(each)
        if isinstance(values := schema.get("additionalProperties"), Mapping) or values is True:
            place.values = self._place(values)
        if isinstance(prefix := schema.get("prefixItems"), list):
            place.prefix = [self._place(each) for each in prefix]
        if isinstance(items := schema.get("items"), Mapping):
            place.items = self._place(items)
        self.always = self.always or bool(place.fill)
        self.on_null = self.on_null or bool(place.drop)

    def _read_choices(self, place: Place, leaves: list[Mapping[str, Any]]) -> None:
        kinds: set[str] = set()
        is_any = False
        free: set[str] = set()  # types of which any value is taken
        for leaf in leaves:
            types = leaf.get("type")
            told = set(types) if isinstance(types, list) else {types} if isinstance(types, str) else set()
            if found := _choices(leaf):
                place.choices += found
                told |= set().union(*map(_kinds_of, found))
            if not found or BITS in leaf:
                free |= told
                is_any = is_any or not told
            kinds |= told
        if is_any:
            return
        place.kinds = frozenset(kinds)
        place.is_choice = not free

    def _leaves(self, schema: Any, followed: set[str]) -> Iterator[Mapping[str, Any]]:
        """The schemas at the ends of unions and references, each reference followed once."""
        if not isinstance(schema, Mapping):
            yield _ANYTHING
        elif "$ref" in schema:
            if (reference := str(schema["$ref"])) not in followed:
                followed.add(reference)
                yield from self._leaves(self._references.resolve(reference), followed)
        elif (inner := _options(schema)) is not None:
            for each in inner:
                yield from self._leaves(each, followed)
        else:
            yield schema


_ANYTHING: Final[Mapping[str, Any]] = {}


def _options(schema: Mapping[str, Any]) -> list[Any] | None:
    """The alternatives of a union, or the one part of a lone `allOf`."""
    if "enum" in schema or "const" in schema or "properties" in schema:
        return None
    for keyword in ("anyOf", "oneOf"):
        if isinstance(found := schema.get(keyword), list):
            return found
    parts = schema.get("allOf")
    return parts if isinstance(parts, list) and len(parts) == 1 else None


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    for keyword in ("enum", BITS):
        if isinstance(choices := schema.get(keyword), list):
            return choices
    return []


_KINDS: Final[Mapping[type, frozenset[str]]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
}


def _kinds_of(value: Any) -> frozenset[str]:
    """JSON's types that a value is of; of null it is none."""
    return _KINDS.get(type(value), frozenset())


def _is_among(value: Any, choices: list[Any]) -> bool:
    return any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices)


def _matches(place: Place, value: Any) -> bool:
    """Whether a value may be meant for a place."""
    if value is None:
        return place.null or place.kinds is None
    if place.alternatives:
        return any(_matches(each, value) for each in place.alternatives)
    if place.kinds is not None and not place.kinds & _kinds_of(value):
        return False
    if isinstance(value, dict):
        return all(name in value for name in place.needed) and all(
            (item is None and name in place.drop) or ((inner := _below(place, name)) and _matches(inner, item))
            for name, item in value.items()
        )
    if isinstance(value, list):
        return all((inner := _at(place, index)) is None or _matches(inner, item) for index, item in enumerate(value))
    return not place.is_choice or _is_among(value, place.choices)


def _chosen(place: Place, value: Any) -> Place | None:
    """The alternative that a value is meant for."""
    kinds = _kinds_of(value)
    found = [each for each in place.alternatives if each.kinds is None or each.kinds & kinds]
    if len(found) == 1:
        return found[0]
    return next((each for each in found if _matches(each, value)), None)


def _below(place: Place, name: str) -> Place | None:
    return place.properties.get(name, place.values)


def _at(place: Place, index: int) -> Place | None:
    return place.prefix[index] if index < len(place.prefix) else place.items


def _correct(place: Place, value: Any) -> None:
    if place.alternatives:
        if isinstance(value, (dict, list)) and (chosen := _chosen(place, value)) is not None:
            _correct(chosen, value)
    elif isinstance(value, dict):
        for name in place.drop:
            if name in value and value[name] is None:
                del value[name]
        for name in place.fill:
            value.setdefault(name)
        for name, inner in place.inside:
            if name in value:
                _correct(inner, value[name])
        if place.others is not None:
            for name, item in value.items():
                if name not in place.properties:
                    _correct(place.others, item)
    elif isinstance(value, list) and place.has_items:
        for index, item in enumerate(value):
            if (found := _at(place, index)) is not None:
                _correct(found, item)


def _whole_to_int(value: Any) -> Any:
    """`value` with every float that is a whole number as an `int`; dicts and lists are changed in place."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        if isinstance(item, (float, dict, list)):
            value[key] = _whole_to_int(item)
    return value
