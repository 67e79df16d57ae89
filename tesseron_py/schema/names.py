"""The names of a type's fields, in Python and on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter


def wire_names(adapter: TypeAdapter[Any]) -> dict[str, str]:
    """By the Python name of each top-level field, the name it is published under: of several aliases the first.

    Empty for a type without named fields.
    """
    return {name: _alias(found) or name for name, found in _fields(adapter.core_schema, {})}


def read_fields(value: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a validated value under both of their names; what is absent is left out."""
    found: dict[str, Any] = {}
    for name, wire in names.items():
        if isinstance(value, Mapping):
            if name in value:
                found[name] = found[wire] = value[name]
        elif hasattr(value, name):
            found[name] = found[wire] = getattr(value, name)
    return found


def _fields(schema: Any, definitions: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    while isinstance(schema, Mapping):
        match schema["type"]:
            case "typed-dict" | "model-fields":
                yield from schema["fields"].items()
                return
            case "dataclass-args":
                yield from ((each["name"], each) for each in schema["fields"] if each.get("init", True))
                return
            case "definitions":
                definitions = {each["ref"]: each for each in schema["definitions"]}
                schema = schema["schema"]
            case "definition-ref":
                schema = definitions.get(schema["schema_ref"])
            case _:  # a model, a default, a nullable, a validator around one
                schema = schema.get("schema")


def _alias(found: Mapping[str, Any]) -> str | None:
    alias = found.get("validation_alias")
    if isinstance(alias, list):  # a path, or several: a path of one step is a name
        paths = alias if alias and isinstance(alias[0], list) else [alias]
        alias = next((path[0] for path in paths if len(path) == 1), None)
    return alias if isinstance(alias, str) else None
