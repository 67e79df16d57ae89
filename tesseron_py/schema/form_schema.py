"""What a form needs of pydantic's JSON Schema beyond what everyone does.

A named tuple has its names, the members of an enum their titles, a flag is a choice of several, and what is written as
text but has no empty one says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, Flag
from typing import Any, Final

from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from .generate import BaseSchema

FLAGS: Final = "x-tesseron-flags"
"""By the names of a flag's members, the integers that they are; it never leaves the house."""
CLASS: Final = "x-tesseron-class"
"""That title and description are those of a class, for programmers; likewise."""
PLACES: Final = "x-tesseron-places"
"""That it is a named tuple, which has a place for each of its fields and for nothing else; likewise."""


class FormSchema(BaseSchema):
    """For a form: what a person has to see."""

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
