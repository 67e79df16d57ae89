"""The schema of an output: what an output has to fit."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Annotated, Any
from uuid import UUID

import jsonschema
import pytest
from pydantic import AwareDatetime, BaseModel, Field, TypeAdapter

from tesseron_py.schema.signature import output_schema


class Mood(enum.StrEnum):
    GOOD = "good"


class Todo(BaseModel):
    """One todo."""

    text: Annotated[str, Field(description="What to do", serialization_alias="Text")]
    tag: str | None = None
    due: datetime | None
    at: time = time(10)
    day: date = date(2026, 1, 1)
    mood: Mood = Mood.GOOD
    id: UUID = UUID(int=1)
    parts: list[Todo] = []


@dataclass
class Pair:
    one: AwareDatetime
    other: Any


def test_field_6_21_an_output_is_inline_and_promises_no_offset() -> None:
    schema = output_schema(Todo)
    assert schema["properties"]["Text"] == {"type": "string", "description": "What to do"}
    assert schema["properties"]["tag"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert schema["properties"]["due"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert schema["properties"]["at"]["type"] == "string"
    assert "format" not in schema["properties"]["at"]
    assert schema["properties"]["day"]["format"] == "date"
    assert schema["properties"]["parts"]["items"] == {"type": "object"}
    assert schema["required"] == ["Text", "due"]
    assert output_schema(Pair)["properties"] == {"one": {"type": "string"}, "other": {}}


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (Todo, Todo(text="a", due=None, parts=[Todo(text="b", due=datetime(2026, 1, 1))])),
        (list[Todo | None], [Todo(text="a", due=None), None]),
        (Pair, Pair(datetime.fromisoformat("2026-01-01T00:00:00+00:00"), None)),
        (int | None, None),
        (dict[str, float], {"a": 1.5}),
        (None, None),
    ],
)
def test_what_is_put_out_fits_what_is_published(type: Any, value: Any) -> None:
    written = TypeAdapter(type).dump_python(value, mode="json", by_alias=True)
    schema = output_schema(type)
    jsonschema.validate(written, schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    assert output_schema(TypeAdapter(type)) == schema
