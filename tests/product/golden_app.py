"""An app with an action for every type whose schema is kept as a file, and one with a schema of its author's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tesseron_py import Tesseron, action
from tests.schema.golden.types import INPUTS, OUTPUTS, PARAMETERS, Given, Taken

RAW: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "contact": {"$ref": "#/$defs/contact"},
        "any": {"type": ["string", "null"], "default": None},
        "exact": {"const": "x"},
        "one": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "$defs": {
        "contact": {
            "$anchor": "contact",
            "type": "object",
            "properties": {"phone": {"pattern": r"^\+?\d+$", "type": "string"}},
            "dependentRequired": {"phone": ["name"]},
        }
    },
    "required": ["contact"],
    "allOf": [{"if": {"required": ["one"]}, "then": {"required": ["exact"]}}],
    "unevaluatedProperties": False,
    "x-order": {"b": 1, "a": 2},
    "additionalProperties": False,
}
"""Whatever a schema may say, in an order of its own."""

app = Tesseron("golden", "Every type")


def parameter(case: Taken) -> Callable[..., str]:
    def handler(value: Any) -> str:
        return f"{case.name} was given"

    handler.__annotations__["value"] = case.declared
    if case.default is not ...:
        handler.__defaults__ = (case.default,)
    return handler


def output(case: Given) -> Callable[[], Any]:
    def handler() -> Any:
        return case.gives[0][0]

    return handler


for taken in PARAMETERS:
    app.add(action(f"p_{taken.name}").handler(parameter(taken)))
for taken in INPUTS:
    name = taken.name
    app.add(action(f"i_{name}").input(taken.declared).handler(lambda value, name=name: f"{name} was given"))
for given in OUTPUTS:
    app.add(action(f"o_{given.name}").output(given.declared).strict_output().handler(output(given)))


@app.action("raw").input(json_schema=RAW).handler
def raw(value: dict[str, Any]) -> dict[str, Any]:
    """Gives back what it was given."""
    return value
