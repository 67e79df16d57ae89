"""What a form needs of pydantic's JSON Schema beyond what everyone does.

A named tuple has its names, the members of an enum their titles, a flag is a choice of several, what is written as text
but has no empty one says so, and so does an object what it is by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum, Flag
from typing import Any, Final

from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from ..unset import UNSET
from .default_parts import DefaultParts
from .generate import BaseSchema
from .spelling import written_duration

FLAGS: Final = "x-tesseron-flags"
"""By the names of a flag's members, the integers that they are; it never leaves the house."""
CLASS: Final = "x-tesseron-class"
"""That title and description are those of a class, for programmers; likewise."""
PLACES: Final = "x-tesseron-places"
"""That it is a named tuple, which has a place for each of its fields and for nothing else; likewise."""

PARTS: Final = "x-tesseron-parts"
"""What an object is by default, by the names of its fields; null where that is not known; likewise."""
_UNICODE: Final = 32  # re.UNICODE, which every pattern of text has


class FormSchema(BaseSchema):
    """For a form: what a person has to see."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._parts = DefaultParts(self.encode_default)

    def definitions_schema(self, schema: core_schema.DefinitionsSchema) -> JsonSchemaValue:
        self._parts.define(schema["definitions"])
        return super().definitions_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        is_object, parts = self._parts.of(schema)
        if is_object:
            return self.generate_inner(schema["schema"]) | {PARTS: parts}
        # What it turns out to be, an object perhaps, is not known here.
        written = super().default_schema(schema)
        return written if schema.get("default", UNSET) is None else written | {PARTS: None}

    def encode_default(self, dft: Any) -> Any:
        # pydantic writes 400 days as a year and 35 days, and a form takes no years.
        return written_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        written = super().str_schema(schema)
        pattern = schema.get("pattern")
        config = self._config
        changed = (
            schema.get("strip_whitespace", config.str_strip_whitespace)
            or schema.get("to_lower", config.str_to_lower)
            or schema.get("to_upper", config.str_to_upper)
        )
        if changed or (pattern is not None and not isinstance(pattern, str) and pattern.flags & ~_UNICODE):
            # It holds for what is made of the text, or means what it does not say.
            written = _without_pattern(written)
        return written

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        return _without_pattern(super().function_before_schema(schema))

    def function_wrap_schema(self, schema: core_schema.WrapValidatorFunctionSchema) -> JsonSchemaValue:
        return _without_pattern(super().function_wrap_schema(schema))

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        # A string loses nothing. No client knows the format, which says here that an empty text is no value.
        return {"type": "string", "format": "decimal"}

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return {"format": "local-date-time", **super().datetime_schema(schema)}

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        cls = schema["cls"]
        if not issubclass(cls, Flag):
            # An alias of a member is the member, and no choice of its own.
            members = list(dict.fromkeys(schema["members"]))
            return super().enum_schema({**schema, "members": members}) | {CLASS: True} | _names(members)
        members = list(cls)
        flags = {str(member.name): member.value for member in members}
        items: dict[str, Any] = {"enum": list(flags)} | _names(members)
        return {"type": "array", "items": items, FLAGS: flags, CLASS: True}

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        written = super().generate_inner(schema)
        if schema["type"] == "enum" and issubclass(schema["cls"], Flag):
            # pydantic puts the type that a flag's values have over that of `enum_schema`.
            self.resolve_ref_schema(written)["type"] = "array"
        return written

    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        """In JSON it may be an object, too."""
        places = super().named_tuple_schema(schema)["prefixItems"]
        names = [field["name"] for field in schema["fields"]]
        required = [field["name"] for field in schema["fields"] if field["schema"]["type"] != "default"]
        properties = dict(zip(names, places, strict=True))
        return {"type": "object", "properties": properties, "required": required, PLACES: True}


def _without_pattern(written: JsonSchemaValue) -> JsonSchemaValue:
    """A function may make another text of what came, for which the pattern is."""
    return {key: value for key, value in written.items() if key != "pattern"}


def _names(members: Sequence[Enum]) -> dict[str, Any]:
    """`enumNames`, where members have a `label` or a `title` of their own; null for those that have none."""
    titles = [_title(member) for member in members]
    return {"enumNames": titles} if any(titles) else {}


def _title(member: Enum) -> str | None:
    for name in ("label", "title"):
        found = getattr(member, name, None)
        # A string enum has a method `title`, and an enum may have a member of either name.
        if isinstance(found, str) and found and not isinstance(found, Enum):
            return found
    return None
