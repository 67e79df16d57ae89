"""From a type's JSON Schema to the fields of one flat form: what is nested in it gets names and titles with dots.

A form has no objects, so a model in a model is asked for in fields such as `address.street`, two levels at most, and
rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InvalidSchema
from ..unset import UNSET
from .fields import Field, field_of, title_of
from .form_schema import CLASS, PARTS, PLACES
from .references import References

DEEPEST: Final = 2
"""Levels of objects within the one that is asked for."""


@dataclass(frozen=True, slots=True)
class Group:
    """An object with named fields: the one that is asked for, or one within it.

    Attributes:
        path: Where it belongs, by the names on the wire.
        title: What the person reads in front of the titles of its fields.
        required: The object around it cannot go without it.
        has_default: Left alone, it is an object all the same, and not nothing.
        members: Its fields, by their names on the wire.
        inherited: Its JSON value in what the object around it is by default; `UNSET` where that is not known.
        has_places: It is a named tuple, which takes nothing that was not asked for.
    """

    path: tuple[str, ...]
    title: str
    required: bool
    has_default: bool
    members: Mapping[str, Field | Group]
    inherited: Any
    has_places: bool

    def fields(self) -> Iterator[Field]:
        """All of them, nested ones in the place of what they are nested in."""
        for member in self.members.values():
            if isinstance(member, Field):
                yield member
            else:
                yield from member.fields()

    def groups(self) -> Iterator[Group]:
        """Those within it, outer ones first."""
        for member in self.members.values():
            if isinstance(member, Group):
                yield member
                yield from member.groups()


def group_of(document: Mapping[str, Any], inlined: Mapping[str, Any], *, single: bool, name: str) -> Group:
    """The fields of an object schema.

    Args:
        document: The schema, with its references.
        inlined: The same inline.
        single: It is the wrapping of one value, which is titled by its type.
        name: The type's, for messages.

    Raises:
        InvalidSchema: Fields cannot be asked for; all of them are named.
    """
    walk = _Walk(document, single)
    group = walk.group(document, inlined, _Place((), "", "", True, True, frozenset(), _NOTHING, UNSET))
    if walk.faults:
        raise InvalidSchema(
            walk.faults[0]
            if len(walk.faults) == 1
            else "\n".join([f"{name} cannot be asked for:", *(f"  - {each}" for each in walk.faults)])
        )
    return group


@dataclass(frozen=True, slots=True)
class _Default:
    """What an object is by default.

    Attributes:
        parts: The values of its fields, of which those that are what its class says may be left out; `None` where they
            are not known, and nothing is shown.
        is_object: It is an object, and not nothing.
    """

    parts: Mapping[str, Any] | None
    is_object: bool


_NOTHING: Final = _Default({}, False)
_UNKNOWN: Final = _Default(None, True)


@dataclass(frozen=True, slots=True)
class _Place:
    path: tuple[str, ...]
    title: str
    said: str
    """What the author says of it at its field; a form can say it of the first field within."""
    required: bool
    """By the object around it."""
    always: bool
    """It, and every object around it, is required."""
    open: frozenset[str]
    """The references that lead here."""
    default: _Default
    inherited: Any
    """Its value in what the object around it is by default; `UNSET` where that is not known."""


class _Walk:
    def __init__(self, document: Mapping[str, Any], single: bool) -> None:
        self._references = References(document)
        self._single = single
        self.faults: list[str] = []

    def group(self, raw: Mapping[str, Any], inlined: Mapping[str, Any], place: _Place) -> Group:
        raw, open = self._object(raw, place)
        members: dict[str, Field | Group] = {}
        required = inlined.get("required", [])
        written = raw.get("properties", {})
        for name, each in inlined["properties"].items():
            below = written.get(name, {})
            title = self._title(below, each, name)
            inherited: Any = UNSET
            if place.default.parts is None:
                each = {key: value for key, value in each.items() if key != "default"}
            elif name in place.default.parts:
                inherited = place.default.parts[name]
                each = {**each, "default": inherited}
            said = " ".join(text for text in ("" if members else place.said, self._own(below, "description")) if text)
            each = {key: value for key, value in each.items() if key != "description"}
            if said:
                each["description"] = said
            inner = _Place(
                (*place.path, name),
                f"{place.title}.{title}" if place.title else title,
                said,
                name in required,
                place.always and name in required,
                open,
                _default(each, place.default, inherited),
                inherited,
            )
            try:
                members[name] = self._member(below, each, inner)
            except InvalidSchema as error:
                self.faults.append(error.message)
        return Group(
            place.path,
            place.title,
            place.required,
            place.default.is_object,
            members,
            place.inherited,
            PLACES in raw,
        )

    def _member(self, raw: Mapping[str, Any], inlined: Mapping[str, Any], place: _Place) -> Field | Group:
        if inlined.get("type") == "object":
            self._object(raw, place)  # a recursion, which has lost its fields, is named as one
            if isinstance(inlined.get("properties"), Mapping):
                if len(place.path) > DEEPEST:
                    raise InvalidSchema(
                        f"{'.'.join(place.path)}: it is an object {len(place.path)} levels deep, and a form can hold"
                        f" {DEEPEST}; ask for it in a question of its own, or put its fields further up"
                    )
                return self.group(raw, inlined, place)
        return field_of(
            inlined,
            place.path,
            place.title,
            required=place.always,
            is_needed=place.required,
            inherited=place.inherited,
        )

    def _object(self, raw: Mapping[str, Any], place: _Place) -> tuple[Mapping[str, Any], frozenset[str]]:
        """The schema with the fields, and the references that lead to it."""
        open = place.open
        while True:
            reference = raw.get("$ref")
            if isinstance(reference, str):
                if reference in open:
                    raise InvalidSchema(
                        f"{'.'.join(place.path)}: it contains itself, and a form ends somewhere; ask for it in a"
                        " question of its own"
                    )
                open |= {reference}
                raw = self._references.resolve(reference) or {}
            elif "properties" not in raw and (only := _only_option(raw)) is not None:
                raw = only
            else:
                return raw, open

    def _title(self, raw: Mapping[str, Any], inlined: Mapping[str, Any], name: str) -> str:
        """The author's at the field; a class's own only for a single value; else one made of the name."""
        if self._single:
            items = inlined.get("items")
            of_items = items.get("title") if isinstance(items, Mapping) else None
            return str(inlined.get("title") or of_items or title_of(name))
        return self._own(raw, "title") or title_of(name)

    def _own(self, raw: Mapping[str, Any], keyword: str) -> str | None:
        """What the author says at the field, or in an alias of its type; not what a class says of itself."""
        here: Mapping[str, Any] | None = raw
        for _ in range(64):  # longer is a cycle, which says nothing
            if here is None or "properties" in here or CLASS in here:
                return None
            if isinstance(found := here.get(keyword), str) and found:
                return found
            here = self._references.resolve(here["$ref"]) if "$ref" in here else _only_option(here)
        return None


def _default(schema: Mapping[str, Any], around: _Default, inherited: Any) -> _Default:
    """What an object is by default, where the one around it is `around`."""
    if around.parts is None:
        return _UNKNOWN
    if inherited is not UNSET:
        return _Default(inherited, True) if isinstance(inherited, Mapping) else _NOTHING
    if PARTS in schema:
        return _Default(schema[PARTS], True)
    return _UNKNOWN if "default" in schema else _NOTHING


def _only_option(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What is left of a union with null, or the one part of an `allOf`."""
    for keyword in ("anyOf", "oneOf", "allOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            left = [each for each in options if isinstance(each, Mapping) and each.get("type") != "null"]
            return left[0] if len(left) == 1 and "const" not in left[0] else None
    return None
