"""Types to JSON Schema: one function for what agents, people and models are shown, whatever it is shown for.

Pydantic writes the schema. Here it is brought down to what is true on our wire and to what clients take; `inline`
makes one tree of it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pydantic import PydanticInvalidForJsonSchema, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema, to_jsonable_python

from .aliases import check_aliases
from .binary import MARK, document_schema, write_base64
from .constraints import check_constraints
from .docstring import documented
from .inline import inline_schema
from .members import json_value, unreadable
from .references import BITS
from .undefined import check_defined
from .unusable import check_values, unusable

__all__ = ["Purpose", "Schemas", "named", "output_schema", "reason", "schemas_of"]

Purpose: TypeAlias = Literal["input", "sample", "form", "output"]
"""What a schema is shown for: the arguments of an action, an answer of a model, an answer of a person, an output."""


@dataclass(frozen=True, slots=True)
class Schemas:
    """Both schemas of one type.

    Attributes:
        document: As pydantic means it, with its references and with null: what validation is prepared from.
        published: Inline, for clients; see `inline_schema`.
    """

    document: dict[str, Any]
    published: dict[str, Any]


def schemas_of(adapter: TypeAdapter[Any], purpose: Purpose) -> Schemas:
    """The JSON Schemas of a type: the one place where they are made.

    What a schema for an agent (`input`, `sample`) says is no more than what validation holds to: no pattern or factor
    that clients read otherwise, nothing about items that are alike, since a set takes them. An `output` promises only
    what its JSON keeps in every client. A `form` keeps the titles of types, which people read.

    Args:
        adapter: The type.
        purpose: What the schemas are for. An input's objects are closed (`additionalProperties: false`).

    Raises:
        UnusableType: A constraint in it can never hold, a field never be given, a class has no values, or a name is
            not defined.
        PydanticUserError, PydanticInvalidForJsonSchema: There is no such schema. Hooks of the author's types are run,
            so anything else may be raised as well.

    Example:
        ```python
        schemas_of(TypeAdapter(list[int | None]), "input").published
        # {"type": "array", "items": {"type": "integer"}}
        ```
    """
    check_defined(adapter)
    check_constraints(adapter.core_schema)
    if purpose != "output":
        check_aliases(adapter.core_schema)
        check_values(adapter.core_schema, enums=purpose != "form")
    document = documented(_document(adapter, purpose))
    published = inline_schema(
        document, keep_null=purpose == "output", closed=purpose == "input", mended=purpose != "form"
    )
    return Schemas(document, published)


def output_schema(type: Any) -> dict[str, Any]:
    """The JSON Schema of what a value of `type` looks like once it is written as JSON; inline, no `$ref`.

    Null stays where the type has it (as `anyOf`): an output has to fit. Dates with a time make no `date-time` promise,
    since a naive one has no offset.

    Args:
        type: A type, or its `TypeAdapter`.

    Raises:
        PydanticUserError, PydanticInvalidForJsonSchema: There is no such schema.
    """
    adapter = type if isinstance(type, TypeAdapter) else TypeAdapter(type)
    return schemas_of(adapter, "output").published


def _document(adapter: TypeAdapter[Any], purpose: Purpose) -> dict[str, Any]:
    generator, mode = _generator(purpose)
    marked = None if purpose == "form" else document_schema(adapter.core_schema, mode)
    if marked is not None:
        return generator(by_alias=True).generate(marked, mode=mode)
    return adapter.json_schema(by_alias=True, mode=mode, schema_generator=generator)


class BaseSchema(GenerateJsonSchema):
    """Without titles that only repeat a name, and without warnings about defaults JSON cannot hold."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_present(self, field: Any) -> bool:
        # A dataclass refuses what its `__init__` does not take.
        given = self.mode == "serialization" or field.get("init", True)
        return bool(given) and super().field_is_present(field)

    def _get_alias_name(self, field: Any, name: str) -> str:
        # A type may be written by its aliases and read by its names alone.
        names = self.mode == "validation" and self._config.validate_by_alias is False
        return name if names else super()._get_alias_name(field, name)

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Nothing: a default that cannot be published is left out, and the function still has it."""

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        if schema.get("metadata", {}).get(MARK):
            return {"type": "string", "contentEncoding": "base64"}  # its lengths are those of the bytes
        return super().bytes_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        written, default = super().default_schema(schema), schema.get("default")
        if isinstance(default, bytes) and schema["schema"].get("metadata", {}).get(MARK):
            written = {**written, "default": write_base64(default)}
        return written

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        self.check_choices(schema["members"])
        written = super().enum_schema(schema)
        if "enum" in written:  # a member may have several names
            written = {**written, "enum": _once(written["enum"])}
        return written

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        self.check_choices(schema["expected"])
        return super().literal_schema(schema)

    def check_choices(self, choices: Sequence[Any]) -> None:
        """Refuse what nobody could choose. A form itself names the field whose choices are lists."""
        self._refuse([each for each in choices if not isinstance(getattr(each, "value", each), _LISTS)])

    def _refuse(self, choices: Sequence[Any]) -> None:
        if self.mode == "validation" and (what := unreadable(choices)) is not None:
            raise PydanticInvalidForJsonSchema(f"JSON has no {what} to choose; use strings")

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        written, key = super().dict_schema(schema), _no_name(schema.get("keys_schema"))
        if key is None:
            return written
        if self.mode == "validation":
            raise PydanticInvalidForJsonSchema(f"the names in a JSON object are strings, and {key} is none")
        return _without(written, "propertyNames")  # they are written as strings

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        # RFC 3339, which `format: date-time` stands for, demands the offset that a naive datetime refuses.
        return {"type": "string"} if schema.get("tz_constraint") == "naive" else super().datetime_schema(schema)


class _AgentSchema(BaseSchema):
    """For agents and models: what validation holds to, in the words that most clients know."""

    formats: frozenset[str] = frozenset(
        {"date", "date-time", "duration", "email", "ipv4", "ipv6", "regex", "time", "uri", "uuid"}
    )
    """Of the formats that pydantic writes, those that JSON Schema has and that are true."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        written = super().generate_inner(schema)
        if schema["type"] == "enum":
            self._explain(schema["cls"], self.resolve_ref_schema(written))
        format = written.get("format")
        if format in _ENCODINGS:
            return _without(written, "format") | {"contentEncoding": format}
        if isinstance(format, str) and format.startswith("uuid"):
            format = "uuid"
        if format in _PYDANTIC_FORMATS:
            return written | {"format": format} if format in self.formats else _without(written, "format")
        return written

    def _explain(self, choice: type[enum.Enum], written: JsonSchemaValue) -> None:
        """Correct the title and description that pydantic puts over those of `enum_schema`."""
        if written.get("title") == choice.__name__:
            del written["title"]
        if issubclass(choice, enum.Flag):
            bits = ", ".join(f"{member.value} ({member.name})" for member in choice)
            told = written.get("description")
            sums = f"A sum of any of {bits}"
            if told is None or sums not in told:
                written["description"] = sums if told is None else f"{told}\n\n{sums}"

    # Classes: their names are for programmers.

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _untitled(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _untitled(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        written = super().named_tuple_schema(schema)
        items = written.get("prefixItems", ())
        for field, item in zip(schema["fields"], items, strict=True):
            item.setdefault("title", field["name"])  # nothing else tells what the item is
        return written

    # Choices: each with its type, which some clients insist on, and one alone as an `enum` of one.

    def check_choices(self, choices: Sequence[Any]) -> None:
        self._refuse(choices)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        self.check_choices(schema["expected"])
        values = [json_value(each) for each in schema["expected"]]
        choice = None if any(isinstance(each, bytes) for each in values) else _choice(_once(to_jsonable_python(values)))
        return choice or super().literal_schema(schema)

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        if issubclass(schema["cls"], enum.Flag):
            return {"type": "integer", BITS: [member.value for member in schema["cls"]]}
        written = super().enum_schema(schema)
        choice = _choice(written["enum"])
        return written if choice is None else _without(_without(written, "enum"), "type") | choice

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        written = super().tagged_union_schema(schema)
        # The tag tells them apart, if there is one: that more than one fits is no fault, and more clients know `anyOf`.
        written["anyOf"] = written.pop("oneOf")
        return written

    # Limits: what every client reads as validation does.

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        written = super().str_schema(schema)
        given = schema.get("pattern")
        if given is not None:
            told = given if isinstance(given, str) else None if given.flags & ~_UNICODE else given.pattern
            from .patterns import portable_pattern

            portable = portable_pattern(told) if told is not None else None
            written = _without(written, "pattern") | ({"pattern": portable} if portable is not None else {})
        if schema.get("strip_whitespace", self._config.str_strip_whitespace):
            # They hold for what is left.
            written = _without(_without(written, "pattern"), "maxLength")
        return written

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        written = super().int_schema(schema)
        # Between integers there is nothing, and more clients know limits that are reached.
        above, below = written.pop("exclusiveMinimum", None), written.pop("exclusiveMaximum", None)
        if above is not None:
            written["minimum"] = max(written.get("minimum", -math.inf), math.floor(above) + 1)
        if below is not None:
            written["maximum"] = min(written.get("maximum", math.inf), math.ceil(below) - 1)
        return written

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        written = super().float_schema(schema)
        step = written.get("multipleOf")
        # Clients divide floats: 0.07 is no multiple of 0.01 to them. With halves, quarters and so on division is exact.
        return written if step is None or (step * 1024).is_integer() else _without(written, "multipleOf")

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        written = super().decimal_schema(schema)
        return {"anyOf": [_without(option, "pattern") for option in written["anyOf"]]}

    def fraction_schema(self, schema: Any) -> JsonSchemaValue:
        written = super().fraction_schema(schema)
        return {"anyOf": [_without(option, "format") for option in written.get("anyOf", [written])]}

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        return _without(super().set_schema(schema), "uniqueItems")

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchemaValue:
        return _without(super().frozenset_schema(schema), "uniqueItems")

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        written = super().tuple_schema(schema)
        return _without(written, "items") if written.get("items") is True else written

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        written = super().dict_schema(schema)
        names = written.get("propertyNames", {})
        for pattern, values in written.pop("patternProperties", {}).items():
            # Other names are refused.
            names = {**names, "pattern": pattern}
            written |= {"additionalProperties": values or True}
        names = {key: value for key, value in names.items() if key not in _NOT_OF_NAMES}
        return _without(written, "propertyNames") | ({"propertyNames": names} if names else {})


class _OutputSchema(_AgentSchema):
    """For an output: clients raise on what does not fit, when all is done, so only what is certain is promised."""

    formats = frozenset({"date", "ipv4", "uuid"})

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return _without(super().str_schema(schema), "pattern")  # `\d` is more in Python than in JavaScript

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return _without(super().float_schema(schema), "multipleOf")  # validation is generous

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return {"type": "string"}


def _generator(purpose: Purpose) -> tuple[type[GenerateJsonSchema], JsonSchemaMode]:
    match purpose:
        case "input" | "sample":
            return _AgentSchema, "validation"
        case "output":
            return _OutputSchema, "serialization"
    from .form_schema import FormSchema  # many apps ask no more than a yes

    return FormSchema, "validation"


_UNICODE: Final = 32  # re.UNICODE, which every pattern of text has
_LISTS: Final = (tuple, set, frozenset)
_ENCODINGS: Final = frozenset({"base64", "base64url"})
_NOT_OF_NAMES: Final = frozenset({"description", "format", "title", "type"})
_PYDANTIC_FORMATS: Final = frozenset(
    {
        "binary", "color", "complex", "date", "date-time", "directory-path", "duration", "email", "file-path",
        "fraction", "ipv4", "ipv4interface", "ipv4network", "ipv6", "ipv6interface", "ipv6network", "ipvanyaddress",
        "ipvanyinterface", "ipvanynetwork", "json-string", "multi-host-uri", "name-email", "password", "path", "regex",
        "socket-path", "time", "uri", "uuid",
    }
)  # fmt: skip


def _without(schema: JsonSchemaValue, keyword: str) -> JsonSchemaValue:
    return {key: value for key, value in schema.items() if key != keyword}


def _untitled(schema: JsonSchemaValue, cls: type[Any] | None) -> JsonSchemaValue:
    """Without the title, where it is but the name of the class."""
    repeats = cls is not None and schema.get("title") == cls.__name__
    return _without(schema, "title") if repeats else schema


def _once(values: Sequence[Any]) -> list[Any]:
    """Each of JSON's values once."""
    return list({(type(value), repr(value)): value for value in values}.values())


def _no_name(keys: Any) -> str | None:
    """What there is among the keys of a dict that no string in JSON stands for."""
    match keys:
        case {"type": "literal", "expected": found} | {"type": "enum", "members": found}:
            values = [each.value if isinstance(each, enum.Enum) else each for each in found]
            return next((repr(each) for each in values if not isinstance(each, str)), None)
        case {"type": "none"}:
            return "None"
        case {"type": "tuple" | "list" | "set" | "frozenset" | "dict" | "model" | "dataclass" | "typed-dict" as kind}:
            return f"a {kind.replace('-', ' ')}"
        case {"schema": inner}:
            return _no_name(inner)
    return None


_KINDS: Final[dict[type, str]] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _choice(values: Sequence[Any]) -> JsonSchemaValue | None:
    """A choice among values, by their types; `None` where one is a list or an object."""
    groups: dict[str, list[Any]] = {}
    for value in values:
        kind = _KINDS.get(type(value))
        if kind is None:
            return None
        groups.setdefault(kind, []).append(value)
    if "integer" in groups and "number" in groups:
        numbers = [value for value in values if type(value) in (int, float)]
        groups = {kind: each for kind, each in groups.items() if kind != "integer"} | {"number": numbers}
    options = [{"type": kind} | ({} if kind == "null" else {"enum": each}) for kind, each in groups.items()]
    return options[0] if len(options) == 1 else {"anyOf": options}


def named(declared: Any) -> str:
    """A type as messages name it."""
    return declared.__qualname__ if isinstance(declared, type) else repr(declared)


def reason(error: Exception) -> str:
    """Why a type has no schema, in one line."""
    error = unusable(error) or error
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
