"""A model's answer: its text, and the value in it."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tesseron_py.errors import ActionError, ErrorCode, InvalidSchema
from tesseron_py.schema.sampling import sample_form, text_of


class Part(BaseModel):
    name: str
    count: int = 1


class Plan(BaseModel):
    """A plan."""

    title: str
    note: str | None
    parts: list[Part] = []


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_the_schema_is_inline() -> None:
    part = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["name"],
    }
    assert sample_form(Plan).schema == {
        "description": "A plan.",
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "note": {"type": "string"},
            "parts": {"type": "array", "items": part, "default": []},
        },
        "required": ["title"],
    }
    assert sample_form(Plan) is sample_form(Plan)
    assert sample_form(Annotated[int, {"not": "hashable"}]).schema == {"type": "integer"}


TEXT = '{"title": "a", "parts": [{"name": "b", "count": 2.0}], "extra": 1}'


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        f"  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"``` json \n{TEXT}```",
        f"```{TEXT}```",
        f"```json {TEXT}```",
        f"Here it is:\n\n```json\n{TEXT}\n```\nAnything else?",
        f"```json\n{TEXT}\n```\nor\n```json\n{{}}\n```",
        block(TEXT),
        [block(TEXT[:10]), block(TEXT[10:])],
        json.loads(TEXT),
    ],
)
def test_the_value_is_found_in_every_usual_wrapping(content: Any) -> None:
    assert sample_form(Plan).parse(content) == Plan(title="a", note=None, parts=[Part(name="b", count=2)])


@pytest.mark.parametrize(
    ("type", "content", "value"),
    [
        (list[int], "[1, 2.0]", [1, 2]),
        (list[int], [1, 2], [1, 2]),
        (list[int], [], []),
        (int, "```\n7\n```", 7),
        (int, 7, 7),
        (bool, "```\ntrue\n```", True),
        (str, "just text", "just text"),
        (str, '"quoted"', "quoted"),
        (str, " 12345 ", "12345"),
        (str, "", ""),
        (Literal["yes", "no"], "yes\n", "yes"),
        (Literal["yes", "no"], '"no"', "no"),
        (date, "2026-01-31", date(2026, 1, 31)),
        (str | None, None, None),
        (dict[str, str], {"type": "text", "text": '{"a": "```b```"}'}, {"a": "```b```"}),
        (dict[str, str], 'So:\n```json\n{"a": "```b```"}\n```', {"a": "```b```"}),
        (list[dict[str, Any]], [{"type": "image", "data": ""}], [{"type": "image", "data": ""}]),
    ],
)
def test_every_kind_of_value(type: Any, content: Any, value: Any) -> None:
    assert sample_form(type).parse(content) == value


@pytest.mark.parametrize(
    ("type", "content", "message", "data"),
    [
        (Plan, "no idea", "The model's answer is no JSON: expected ident at line 1 column 2", "no idea"),
        (Plan, "", "The model's answer is no JSON: EOF while parsing a value at line 1 column 0", ""),
        (Plan, '{"a": NaN}', "The model's answer is no JSON: expected value at line 1 column 7", '{"a": NaN}'),
        (Plan, "```json\n{", "The model's answer is no JSON: expected value at line 1 column 1", "```json\n{"),
        (Plan, "```\nnope\n```", "The model's answer is no JSON: expected value at line 1 column 1", "```\nnope\n```"),
        (Plan, "{}", "The model's answer does not fit: title: required, but missing", "{}"),
        (Plan, "x ```{}```", "The model's answer does not fit: title: required, but missing", "x ```{}```"),
        (Plan, [block("{"), block("}")], "The model's answer does not fit: title: required, but missing", "{}"),
        (Plan, {"title": 5}, "The model's answer does not fit: title: a string is expected, got 5", '{"title":5}'),
        (Plan, None, "The model's answer does not fit: an object is expected, got null", "null"),
        (int, "true", "The model's answer does not fit: a whole number is expected, got true", "true"),
        (int, '"7"', "The model's answer does not fit: a whole number is expected, got \"7\"", '"7"'),
        (Literal["yes", "no"], "so", "The model's answer does not fit: 'yes' or 'no' is expected, got \"so\"", "so"),
        (list[int], [block("1"), {"type": "image"}], None, '[{"type":"text","text":"1"},{"type":"image"}]'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_with_the_models_text(
    type: Any, content: Any, message: str | None, data: str
) -> None:
    with pytest.raises(ActionError) as refused:
        sample_form(type).parse(content)
    assert refused.value.code == ErrorCode.HANDLER_ERROR
    assert refused.value.data == data
    if message is not None:
        assert refused.value.message == message


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(InvalidSchema, match=r"^object has no JSON Schema|has no JSON Schema: Unable to generate"):
        sample_form(type("Odd", (), {}))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("as it is ", "as it is "),
        (block("a"), "a"),
        ([block("a"), block("b")], "ab"),
        ([], "[]"),
        (None, "null"),
        (7, "7"),
        ({"type": "text"}, '{"type":"text"}'),
        ({"type": "text", "text": 5}, '{"type":"text","text":5}'),
        ([block("a"), {"type": "image"}], '[{"type":"text","text":"a"},{"type":"image"}]'),
    ],
)
def test_the_text_of_an_answer(content: Any, text: str) -> None:
    assert text_of(content) == text


numbers = st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text("a`{}\n", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab`", max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(json_values, st.sampled_from(["{}", "```json\n{}\n```", "See:\n```\n{}\n```\n", " {} "]))
def test_json_survives_its_wrapping(value: Any, wrapping: str) -> None:
    text = wrapping.replace("{}", json.dumps(value))
    if "```" not in json.dumps(value):
        assert sample_form(Any).parse(text) == value


@given(st.text('```json \n{}[]1a"', max_size=30) | json_values)
def test_whatever_the_model_says(content: Any) -> None:
    for type in (Plan, int, str, Annotated[list[int], Field(min_length=1)]):
        try:
            sample_form(type).parse(content)
        except ActionError as error:
            assert error.data == text_of(content)  # noqa: PT017  # both outcomes are right
