"""Types to JSON Schema, by pydantic, with what it promises brought down to what is true on our wire."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema

from .binary import MARK, document_schema, write_base64
from .inline import inline_schema


class _Schema(GenerateJsonSchema):
    """Without titles that only repeat a name, and without warnings about defaults JSON cannot hold."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

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

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        # RFC 3339, which `format: date-time` stands for, demands the offset that a naive datetime refuses.
        return {"type": "string"} if schema.get("tz_constraint") == "naive" else super().datetime_schema(schema)


class _FormSchema(_Schema):
    """For a form: a decimal is a string, which loses nothing."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return {"type": "string"}


class _OutputSchema(_Schema):
    """For an output: what is written may lack the offset that `date-time` and `time` promise."""

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return {"type": "string"}

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        return {"type": "string"}


def input_document(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The JSON Schema of what `adapter` validates, with its references."""
    return _generate(adapter, _Schema, "validation")


def form_document(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The same for a form."""
    return _generate(adapter, _FormSchema, "validation")


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
    return inline_schema(_generate(adapter, _OutputSchema, "serialization"), keep_null=True)


def _generate(adapter: TypeAdapter[Any], generator: type[GenerateJsonSchema], mode: JsonSchemaMode) -> dict[str, Any]:
    marked = None if generator is _FormSchema else document_schema(adapter.core_schema, mode)
    if marked is not None:
        return generator(by_alias=True).generate(marked, mode=mode)
    return adapter.json_schema(by_alias=True, mode=mode, schema_generator=generator)


def named(declared: Any) -> str:
    """A type as messages name it."""
    return declared.__qualname__ if isinstance(declared, type) else repr(declared)


def reason(error: Exception) -> str:
    """Why a type has no schema, in one line."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
