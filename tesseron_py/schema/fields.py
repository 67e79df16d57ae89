"""One field of a form: what is published of it, and how what came for it is read.

A form is flat, typed, and only what clients can render (MCP, elicitation). What it cannot say (a pattern, a validator)
is left to validation; what it cannot hold (free lists, dicts, unions) is refused, with the field's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidSchema
from .choices import Choices, choices_of
from .ecma import matches
from .flat import equal, shown_type
from .formats import FORMATS
from .patterns import portable_pattern
from .several import Several, several_of
from .spelling import TWO_WAYS, read_text, reads_two_ways, spelled_value


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a type, however many properties of the form it is.

    Attributes:
        key: Its name in the form: that of its path, with dots.
        path: Where its value belongs, by the names on the wire.
        title: What the person reads.
        written: What is published of it, but for the choices of several.
        required: The form cannot go without it.
        is_needed: The object that it is a field of cannot.
        is_secret: What is typed is shown to nobody again.
        empty_is_value: What is left empty is a text; else, in an optional field, it is nothing given.
        choices: Those of one choice.
        several: Those of several.
        format: That of its type, whether it is published or not.
        pattern: That of its type, if agents are told of one.
        examples: Those of its type.
        inherited: Its JSON value in what the object around it is by default; `UNSET` where that is not known.
    """

    key: str
    path: tuple[str, ...]
    title: str
    written: Mapping[str, Any]
    required: bool
    is_needed: bool
    is_secret: bool
    empty_is_value: bool
    choices: Choices | None
    several: Several | None
    format: str | None
    pattern: str | None
    examples: tuple[Any, ...]
    inherited: Any

    @property
    def has_default(self) -> bool:
        return "default" in self.written or (self.several is not None and self.several.default is not None)

    def properties(self, *, lists: bool) -> dict[str, dict[str, Any]]:
        """Its properties of the form; `lists` where there may be lists."""
        if self.several is None:
            return {self.key: dict(self.written)}
        if lists:
            return {self.key: {"type": "array", **self.written, **self.several.field()}}
        return self.several.booleans(self.key, self.title, self.written.get("description"))

    def is_left_out(self, given: Any) -> bool:
        """Whether what came for a property of this field says that nothing was given."""
        if self.required:
            return False
        if given is None:
            return True
        if not isinstance(given, str) or given.strip():
            return False
        if self.choices is not None and given in self.choices.values:
            return False
        if not self.empty_is_value or len(given) < self.written.get("minLength", 0):
            return True
        return self.pattern is not None and not matches(given, self.pattern)

    def read(self, given: Any) -> tuple[Any, str | None]:
        """The JSON value of what came for its one property, and what is wrong with it, if that is certain by now."""
        if self.several is not None:
            return self.several.read_list(given)
        if self.choices is not None:
            known, value = self.choices.read(given)
            return value, None if known else f"{self.choices} is expected"
        kind = self.written["type"]
        if not isinstance(given, str):
            return given, None
        if kind == "string":
            if given == self.written.get("default"):
                return given, None
            if self.pattern is not None and not matches(given, self.pattern):
                return given, f"a string that matches {self.pattern} is expected"
            return read_text(given, self.format)
        spelled = spelled_value(given, kind)
        if spelled is None:
            return given, TWO_WAYS if reads_two_ways(given, kind) else None
        return spelled, None


def field_of(
    schema: Mapping[str, Any], path: tuple[str, ...], title: str, *, required: bool, is_needed: bool, inherited: Any
) -> Field:
    """The field of a form for a schema.

    Args:
        schema: The schema of a value that is no object with named fields, inline.
        path: Where the value belongs.
        title: What the person reads.
        required: The form cannot go without it.
        is_needed: The object around it cannot.
        inherited: See `Field.inherited`.

    Raises:
        InvalidSchema: It cannot be asked for.
    """
    key = ".".join(path)
    schema = _as_number(schema)
    written: dict[str, Any] = {"title": title}
    if isinstance(schema.get("description"), str):
        written["description"] = schema["description"]
    choices = several = None
    if (choices := choices_of(schema, key)) is not None:
        written = {"type": "string"} | written | choices.named()
        default = choices.text_of(schema["default"]) if "default" in schema else None
        if default is not None:
            written["default"] = default
    elif (several := several_of(schema, key)) is None:
        written = {"type": _type(schema, key)} | written | _limits(schema)
    return Field(
        key,
        path,
        title,
        written,
        required,
        is_needed,
        is_secret=schema.get("writeOnly") is True,
        empty_is_value=written.get("type") == "string" and choices is None and _takes_empty(schema),
        choices=choices,
        several=several,
        format=schema["format"] if isinstance(schema.get("format"), str) else None,
        pattern=_pattern(schema) if choices is None and several is None else None,
        examples=tuple(schema["examples"]) if isinstance(schema.get("examples"), list) else (),
        inherited=inherited,
    )


def _as_number(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A union of numbers (`int | float`) as a number, with the limits that all of them have; else the schema itself."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or not options:
        return schema
    if not all(isinstance(each, Mapping) and each.get("type") in _NUMBERS for each in options):
        return schema
    first, *others = options
    limits = {
        key: first[key] for key in _BOUNDS if key in first and all(each.get(key) == first[key] for each in others)
    }
    return {"type": "number", **limits, **{key: value for key, value in schema.items() if key != "anyOf"}}


_NUMBERS = frozenset({"integer", "number"})


def _takes_empty(schema: Mapping[str, Any]) -> bool:
    """Whether an empty text may be a value of a type of texts."""
    if "format" in schema:
        return False
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or _pattern(schema) is not None:
        return True  # one that is told is looked at with what was given
    try:
        return re.search(pattern, "") is not None
    except re.error:
        return True


def _pattern(schema: Mapping[str, Any]) -> str | None:
    """The pattern that agents are told of for such a type; clients check it as ECMAScript has it, and so do forms."""
    pattern = schema.get("pattern")
    return pattern if isinstance(pattern, str) and portable_pattern(pattern) is not None else None


def title_of(name: str) -> str:
    """A title for a field that has none: `maxItems` and `max_items` are "Max Items"."""
    return _HUMP.sub(" ", name).replace("_", " ").strip().title()


_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")


def _type(schema: Mapping[str, Any], name: str) -> str:
    if schema.get("format") == "password":
        raise InvalidSchema(
            f"{name}: it is a secret, which MCP forbids to ask for in a form; send the person to a page of yours with"
            " ctx.ask_url"
        )
    if schema.get("format") in _BYTES or "contentEncoding" in schema:
        raise InvalidSchema(
            f"{name}: it is bytes, which nobody can type; ask for a str and encode it, or have a file uploaded on a"
            " page of yours with ctx.ask_url"
        )
    match schema.get("type"):
        case "string" | "number" | "integer" | "boolean" as type:
            return str(type)
        case "array" if "prefixItems" in schema:
            what = "a tuple; use a NamedTuple, a dataclass or a model"
        case "array" if isinstance(items := schema.get("items"), Mapping) and items.get("type") == "object":
            what = "a list of objects; ask for them one after the other"
        case "array":
            what = "a list of free values; for several of some choices use set[…] or list[…] of an Enum or a Literal"
        case "object":
            what = "a dict; use a model, a dataclass or a TypedDict, whose fields are known"
        case "null":
            what = "nothing but null; leave it out"
        case _ if "anyOf" in schema or "oneOf" in schema:
            what = "a union; decide for one type, or ask first which it is"
        case _:
            what = "of no certain type; annotate it as a string, a number, a bool, a date, an Enum or a Literal"
    raise InvalidSchema(f"{name}: it is {what}")


_BYTES = frozenset({"binary", "base64", "base64url"})


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
    if is_shown(default, {"type": schema["type"], **written}):
        written["default"] = default
    return written


_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def is_shown(value: Any, field: Mapping[str, Any]) -> bool:
    """Whether a client can show `value` as the default of a published field: others would only confuse it."""
    kind, format = shown_type(field), field.get("format")
    if kind == "array":
        items = field.get("items")
        return isinstance(value, list) and isinstance(items, Mapping) and all(is_shown(each, items) for each in value)
    for options in (field.get("oneOf"), field.get("anyOf")):
        if isinstance(options, list) and not any(
            isinstance(each, Mapping) and "const" in each and equal(each["const"], value) for each in options
        ):
            return False
    choices = [field["const"]] if "const" in field else field.get("enum")
    if isinstance(choices, list) and not any(equal(value, each) for each in choices):
        return False
    match kind:
        case "string":
            return isinstance(value, str) and (format is None or format not in FORMATS or FORMATS[format][0](value))
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return _is_number(value)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -math.inf < value < math.inf
