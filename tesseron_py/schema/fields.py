"""From a type's JSON Schema to the fields of a form: flat, typed, and only what clients can render (MCP, elicitation).

What a form cannot say (a pattern, a validator) is left to validation; what it cannot hold (lists, objects, unions) is
refused, with the field's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidSchema
from ..jsontext import encode
from .flat import equal
from .formats import FORMATS
from .issues import described, shortened


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of one field: by the text that is published, the JSON value that is meant."""

    values: Mapping[str, Any]

    def read(self, given: Any) -> tuple[bool, Any]:
        """Whether an answer is one of them, and the value it means; the value itself is taken, too."""
        if isinstance(given, str) and given in self.values:
            return True, self.values[given]
        return any(equal(given, value) for value in self.values.values()), given

    def __str__(self) -> str:
        return described(list(self.values))


def form_fields(schema: Mapping[str, Any], titles: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Choices]]:
    """The properties of a form, and the choices among them.

    Args:
        schema: An object schema, inline.
        titles: Titles for the properties that have none of their own.

    Raises:
        InvalidSchema: A field cannot be asked for.
    """
    properties: dict[str, Any] = {}
    choices: dict[str, Choices] = {}
    for name, each in schema.get("properties", {}).items():
        title = titles.get(name) or each.get("title") or title_of(name)
        written = {"title": title} | {key: each[key] for key in ("description",) if isinstance(each.get(key), str)}
        if (found := _choices(each, name)) is not None:
            choices[name] = found
            properties[name] = {"type": "string"} | written | _published(found, each, name)
        else:
            properties[name] = {"type": _type(each, name)} | written | _limits(each)
    return properties, choices


def title_of(name: str) -> str:
    """A title for a field that has none: `maxItems` and `max_items` are "Max Items"."""
    return _HUMP.sub(" ", name).replace("_", " ").strip().title()


_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")


def _type(schema: Mapping[str, Any], name: str) -> str:
    match schema.get("type"):
        case "string" | "number" | "integer" | "boolean" as type:
            return str(type)
        case "array":
            what = "a list"
        case "object":
            what = "an object (a model or a dict)"
        case "null":
            what = "nothing but null"
        case _:
            what = "a union" if "anyOf" in schema or "oneOf" in schema else "of no certain type"
    raise InvalidSchema(
        f"{name}: it is {what}, and a person can only be asked for strings, numbers, booleans, dates and choices (Enum,"
        " Literal), each in a field of its own"
    )


def _limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a form says of a field that is no choice; looser than the type where a form cannot say it exactly."""
    written: dict[str, Any] = {}
    match schema["type"]:
        case "string":
            written = {key: schema[key] for key in ("minLength", "maxLength") if isinstance(schema.get(key), int)}
            if schema.get("format") in FORMATS:
                written["format"] = schema["format"]
        case "number" | "integer" as kind:
            bounds = {key: schema[key] for key in _BOUNDS if _is_number(schema.get(key))}
            if kind == "integer":  # MCP's forms know no exclusive limits, and between integers there is nothing
                if "exclusiveMinimum" in bounds:
                    bounds["exclusiveMinimum"] = math.floor(bounds["exclusiveMinimum"]) + 1
                if "exclusiveMaximum" in bounds:
                    bounds["exclusiveMaximum"] = math.ceil(bounds["exclusiveMaximum"]) - 1
            if low := [bounds[key] for key in ("minimum", "exclusiveMinimum") if key in bounds]:
                written["minimum"] = max(low)
            if high := [bounds[key] for key in ("maximum", "exclusiveMaximum") if key in bounds]:
                written["maximum"] = min(high)
    default = schema.get("default")
    if _fits(default, schema["type"], written.get("format")):
        written["default"] = default
    return written


_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -math.inf < value < math.inf


def _fits(default: Any, type: str, format: str | None) -> bool:
    """Whether a default is one the field's own type and format allow; others would only confuse a client."""
    match type:
        case "string":
            return isinstance(default, str) and (format is None or FORMATS[format][0](default))
        case "boolean":
            return isinstance(default, bool)
        case "integer":
            return isinstance(default, int) and not isinstance(default, bool)
    return _is_number(default)


# Choices -----------------------------------------------------------------------------------------------------------


def _choices(schema: Mapping[str, Any], name: str) -> Choices | None:
    values = _values(schema)
    if values is None:
        return None
    if not all(isinstance(value, (str, int, float)) for value in values):
        raise InvalidSchema(f"{name}: its choices are not all strings, numbers or booleans; a form has no others")
    texts = [value if isinstance(value, str) else encode(value) for value in values]
    if len(set(texts)) < len(texts):
        raise InvalidSchema(f"{name}: two of its choices read the same, {described(texts)}; a person cannot tell them")
    return Choices(dict(zip(texts, values, strict=True)))


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    """The values of a choice, however it is spelled; `None` for anything else."""
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    for keyword in ("oneOf", "anyOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            parts = [_values(option) if isinstance(option, Mapping) else None for option in options]
            return (
                [value for part in parts for value in part or ()] if all(part is not None for part in parts) else None
            )
    return None


def _published(choices: Choices, schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    """`enum`, or `oneOf` with the titles the author gave; and the default."""
    texts = list(choices.values)
    titles = _titles(schema, choices)
    if titles is None:
        written: dict[str, Any] = {"enum": texts}
    elif set(titles) == set(texts):
        written = {"oneOf": [{"const": text, "title": titles[text]} for text in texts]}
    else:
        raise InvalidSchema(f"{name}: its titles are for {described(list(titles))}, and its choices are {choices}")
    default = schema.get("default")
    for text, value in choices.values.items():
        if equal(value, default):
            written["default"] = text
    return written


def _titles(schema: Mapping[str, Any], choices: Choices) -> dict[str, str] | None:
    names = schema.get("enumNames")
    if isinstance(names, list) and len(names) == len(choices.values):
        return dict(zip(choices.values, map(str, names), strict=True))
    options = schema.get("oneOf")
    if not isinstance(options, list) or not all(isinstance(each, Mapping) and "const" in each for each in options):
        return None
    if not any("title" in each for each in options):
        return None
    return {
        text: str(each.get("title", text))
        for each in options
        for text in [each["const"] if isinstance(each["const"], str) else shortened(each["const"])]
    }
