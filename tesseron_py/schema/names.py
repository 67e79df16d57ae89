"""The names of a type's fields, in Python and on the wire, and what a call gives for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from ..unset import UNSET
from .aliases import by_name, single_aliases


@dataclasses.dataclass(frozen=True, slots=True)
class Named:
    """One top-level field of an input.

    Attributes:
        name: Its name in Python.
        wire: The name it is published under: of several aliases the first.
        aliases: All names by which an agent may give it.
        cls: The class whose attribute it is; `None` for a key.
        kept: Whether a validated value has it. A dataclass gives an `InitVar` to its `__post_init__`, and what may
            stand under its name afterwards is something else.
    """

    name: str
    wire: str
    aliases: tuple[str, ...]
    cls: type | None = None
    kept: bool = True

    def read(self, value: Any, raw: Mapping[str, Any]) -> Any:
        """What a call gives for it: what the handler gets, or else what the agent gave; `UNSET` where it is absent."""
        found: Any = UNSET
        if not self.kept:
            pass
        elif self.cls is None:
            found = value.get(self.name, UNSET) if isinstance(value, Mapping) else UNSET
        elif isinstance(value, self.cls):
            found = attribute(value, self.name)
        return self.given(raw) if found is UNSET else found

    def given(self, raw: Mapping[str, Any]) -> Any:
        """What the agent gave for it, or `UNSET`."""
        return next((raw[alias] for alias in self.aliases if alias in raw), UNSET)


def attribute(value: Any, name: str) -> Any:
    """A field of a model or dataclass, or `UNSET`; to look at one that is deprecated is not to use it."""
    held = getattr(value, "__dict__", {})
    return held[name] if name in held else getattr(value, name, UNSET)


class _Inside:
    """In place of the class of what a root model holds: a value is the root model, which has no such attributes."""


_ANYTHING: Final[Mapping[str, Any]] = {}


class Names:
    """The top-level fields of an input, and what a question about a call may name.

    Attributes:
        wire: By the Python name of each field, the name it is published under.
        known: The names in Python and on the wire that stand for one field.
        ambiguous: Those that stand for two: an alias that is another field's name.
    """

    __slots__ = ("_document", "_fields", "ambiguous", "known", "wire")

    def __init__(self, fields: Iterable[Named], document: Mapping[str, Any] = _ANYTHING) -> None:
        self._fields = list(fields)
        self._document = document
        self.wire: dict[str, str] = {each.name: each.wire for each in self._fields}
        self.ambiguous: frozenset[str] = frozenset(
            wire for name, wire in self.wire.items() if wire != name and wire in self.wire
        )
        self.known: frozenset[str] = frozenset({*self.wire, *self.wire.values()}) - self.ambiguous

    def values(self, value: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
        """What a call gives for each field, under both of its names; what is absent or ambiguous is left out.

        Args:
            value: The validated value.
            raw: What the agent gave.
        """
        return self._by_names((each, each.read(value, raw)) for each in self._fields)

    def shown(self, value: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The same as a person may see it: as JSON, secrets hidden; what cannot be read as the agent gave it."""
        from .disclosure import CannotBeShown, Disclosure  # only for a question

        disclosure = Disclosure(self._document)

        def seen(each: Named) -> Any:
            found = each.read(value, raw)
            if found is UNSET:
                return UNSET
            try:
                return disclosure.of(each.wire, found)
            except CannotBeShown:
                given = each.given(raw)
                return "(it cannot be shown)" if given is UNSET else disclosure.of(each.wire, given)

        return self._by_names((each, seen(each)) for each in self._fields)

    def _by_names(self, found: Iterable[tuple[Named, Any]]) -> dict[str, Any]:
        given = {name: value for each, value in found if value is not UNSET for name in (each.name, each.wire)}
        return {name: value for name, value in given.items() if name not in self.ambiguous}


def names_of(adapter: TypeAdapter[Any], document: Mapping[str, Any]) -> Names:
    """The fields of a type; none for a type without named fields.

    Args:
        adapter: The type.
        document: Its schema with references, which says what is secret.
    """
    found = list(_fields(adapter.core_schema, {}, None))
    aliases = {alias for _, each, _ in found for alias in single_aliases(each)}
    return Names((_named(name, each, cls, aliases) for name, each, cls in found), document)


def names_in(schema: Mapping[str, Any]) -> Names:
    """The fields of an author's JSON Schema. What is made of them may be anything; a mapping has them as keys."""
    properties = schema.get("properties")
    names = properties if isinstance(properties, Mapping) else ()
    return Names((Named(name, name, (name,)) for name in names), schema)


def _named(name: str, field: Mapping[str, Any], cls: type | None, taken: Collection[str]) -> Named:
    aliases = list(single_aliases(field))
    if name not in taken:
        aliases.append(name)  # a model may take both
    wire = aliases[0] if aliases else name
    return Named(name, wire, tuple(aliases), cls, not field.get("init_only", False))


def _fields(
    schema: Any, definitions: dict[str, Any], cls: type | None
) -> Iterator[tuple[str, Mapping[str, Any], type | None]]:
    named = False
    while isinstance(schema, Mapping):
        match schema["type"]:
            case "typed-dict" | "model-fields":
                named = named or by_name(schema.get("config"))
                for name, each in schema["fields"].items():
                    yield name, _without_alias(each) if named else each, cls
                return
            case "dataclass-args":
                for each in schema["fields"]:
                    if each.get("init", True):
                        yield each["name"], _without_alias(each) if named else each, cls
                return
            case "definitions":
                definitions = {each["ref"]: each for each in schema["definitions"]}
                schema = schema["schema"]
            case "definition-ref":
                schema = definitions.get(schema["schema_ref"])
            case "model" | "dataclass":
                root, cls = cls, schema["cls"]
                if root is not None or schema.get("root_model"):
                    cls = _Inside
                named = by_name(schema.get("config"))
                schema = schema["schema"]
            case _:  # a default, a nullable, a validator around one
                schema = schema.get("schema")


def _without_alias(field: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in field.items() if key != "validation_alias"}
