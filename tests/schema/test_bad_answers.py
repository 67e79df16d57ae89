"""Accepted answers that do not fit: what is read of them never shows what the person typed."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tesseron_py.errors import ErrorCode, InvalidAnswer
from tesseron_py.schema.elicitation import AnswerForm, form_for, form_for_json_schema


class Scope(Enum):
    ONE = "one"
    ALL = "all"


class Person(BaseModel):
    name: str = Field(min_length=2)
    age: int = Field(ge=0)
    adult: bool = False
    born: date | None = None
    scope: Scope = Scope.ONE
    level: Literal[1, 2] = 1


PERSON = form_for(Person)
FLAT = form_for_json_schema(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^A"},
            "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
            "half": {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 0, "maximum": 9},
            "ok": {"type": "boolean"},
            "mail": {"type": ["string", "null"], "format": "email"},
            "site": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "pick": {"type": "string", "enum": ["a", "b"]},
            "titled": {"type": "string", "oneOf": [{"const": "x", "title": "X"}]},
            "tight": {"anyOf": [{"type": "boolean"}, {"minimum": 3}]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
)
SECRET = "hunter2"
TWO_WAYS = "value: a number that can be read in one way only is expected, without a comma or a group of thousands"


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        (PERSON, None, "name: required, but missing; age: required, but missing"),
        (PERSON, {}, "name: required, but missing; age: required, but missing"),
        (PERSON, [], "the answer is an object of fields and values, not a list"),
        (PERSON, SECRET, "the answer is an object of fields and values, not a string"),
        (PERSON, {"name": 42, "age": 1}, "name: a string is expected, got a number"),
        (PERSON, {"name": None, "age": 1}, "name: a string is expected, got null"),
        (PERSON, {"name": "A", "age": 1}, "name: at least 2 characters are expected"),
        (PERSON, {"name": "Al", "age": -5}, "age: at least 0 is expected"),
        (PERSON, {"name": "Al", "age": "30.0"}, "age: a whole number is expected, got a string"),
        (PERSON, {"name": "Al", "age": SECRET}, "age: a whole number is expected, got a string"),
        (PERSON, {"name": "Al", "age": True}, "age: a whole number is expected, got a boolean"),
        (PERSON, {"name": "Al", "age": 1, "adult": "maybe"}, "adult: true or false is expected, got a string"),
        (PERSON, {"name": "Al", "age": 1, "adult": "y"}, "adult: true or false is expected, got a string"),
        (PERSON, {"name": "Al", "age": 1, "born": SECRET}, "born: a date such as 2026-01-31 is expected"),
        (PERSON, {"name": "Al", "age": 1, "scope": "everything"}, 'scope: one of "one", "all" is expected'),
        (PERSON, {"name": "Al", "age": 1, "scope": ["one"]}, 'scope: one of "one", "all" is expected'),
        (PERSON, {"name": "Al", "age": 1, "level": True}, 'level: one of "1", "2" is expected'),
        (PERSON, {"name": "Al", "age": 1, "level": "3"}, 'level: one of "1", "2" is expected'),
        (PERSON, {"name": "Al", "scope": SECRET}, 'scope: one of "one", "all" is expected; age: required, but missing'),
        (form_for(bool), {"value": "falsch"}, "value: true or false is expected, got a string"),
        (form_for(bool), {"value": ""}, "value: true or false is expected, got a string"),
        (form_for(float), {"value": "1.500"}, TWO_WAYS),
        (form_for(bool), {"value": 1}, "value: true or false is expected, got a number"),
        (form_for(bool), {}, "value: required, but missing"),
        (form_for(int), {"value": 0.5}, "value: a whole number is expected, got a number"),
        (form_for(str), {"response": 5}, "response: a string is expected, got a number"),
        (form_for(str), {"value": "x"}, "response: required, but missing"),
        (form_for(Literal[True]), {"value": False}, 'value: "true" is expected'),
        (FLAT, {}, "name: required, but missing"),
        (FLAT, {"name": None}, "name: a string is expected, got null"),
        (FLAT, {"name": "A"}, "name: at least 2 characters are expected"),
        (FLAT, {"name": "ABCDE"}, "name: at most 4 characters are expected"),
        (FLAT, {"name": "Bob"}, "name: a string that matches ^A is expected"),
        (FLAT, {"name": "Al", "age": "1,0"}, "age: a whole number is expected, got a string"),
        (FLAT, {"name": "Al", "half": "1,5"}, f"half: {TWO_WAYS[7:]}"),
        (FLAT, {"name": "Al", "age": 1.5}, "age: a whole number is expected, got a number"),
        (FLAT, {"name": "Al", "age": True}, "age: a whole number is expected, got a boolean"),
        (FLAT, {"name": "Al", "age": -1}, "age: at least 0 is expected"),
        (FLAT, {"name": "Al", "age": 150}, "age: less than 150 is expected"),
        (FLAT, {"name": "Al", "half": 0.7}, "half: a multiple of 0.5 is expected"),
        (FLAT, {"name": "Al", "half": 0}, "half: more than 0 is expected"),
        (FLAT, {"name": "Al", "half": 9.5}, "half: at most 9 is expected"),
        (FLAT, {"name": "Al", "ok": "on"}, "ok: true or false is expected, got a string"),
        (FLAT, {"name": "Al", "mail": 5}, "mail: a string or null is expected, got a number"),
        (FLAT, {"name": "Al", "mail": SECRET}, "mail: an e-mail address is expected"),
        (FLAT, {"name": "Al", "site": SECRET}, "site: an absolute URI is expected"),
        (FLAT, {"name": "Al", "day": SECRET}, "day: a date such as 2026-01-31 is expected"),
        (FLAT, {"name": "Al", "at": "2026-01-31T12:00:00"},
         "at: a date and time with an offset, such as 2026-01-31T12:00:00Z, is expected"),
        (FLAT, {"name": "Al", "pick": SECRET}, 'pick: one of "a", "b" is expected'),
        (FLAT, {"name": "Al", "titled": SECRET}, 'titled: "x" is expected'),
        (FLAT, {"name": "Al", "tight": 2}, "tight: it fits none of the alternatives"),
        (FLAT, {"name": "Al", SECRET[:3]: 1}, 'hun: unknown field "hun"'),
        (FLAT, {"name": "A", "age": -1}, "name: at least 2 characters are expected; age: at least 0 is expected"),
    ],
)  # fmt: skip
def test_field_34_35_52_what_does_not_fit_is_refused(form: AnswerForm, content: Any, message: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(content)
    assert refused.value.code == ErrorCode.HANDLER_ERROR
    assert refused.value.message == message
    assert SECRET not in str(refused.value.data)
    assert refused.value.__cause__ is None
    assert all(set(issue) == {"message", "path"} for issue in refused.value.data)
