"""Answers against a flat JSON Schema: agreement with JSON Schema, keyword by keyword."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.mcp.forms import normalise
from tesseron_py.schema.elicitation import form_for_json_schema
from tesseron_py.schema.flat import equal, shown_type
from tesseron_py.schema.formats import FORMATS
from tesseron_py.schema.spelling import spelled_value


def conforms(value: Any, schema: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def reads_text(schema: dict[str, Any], value: Any) -> bool:
    """Whether a text came where none is asked for, which has a rule of its own."""
    return isinstance(value, str) and shown_type(schema) in ("boolean", "integer", "number")


def taken(schema: dict[str, Any], value: Any) -> bool:
    """Whether `value` is taken for a required property of this schema."""
    form = form_for_json_schema({"type": "object", "properties": {"p": schema}, "required": ["p"]})
    try:
        assert form.parse({"p": value})["p"] == value
    except InvalidAnswer as error:
        assert all(issue["path"] == ["p"] for issue in error.data)  # noqa: PT017  # a form that is refused is right, too, and says why
        return False
    return True


VALUES = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    3,
    3.0,
    3.5,
    -2,
    10**30,
    "",
    "a",
    "abc",
    "\U0001f600\U0001f600",
    "1",
    [],
    [1],
    {},
]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "number"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"type": ["integer", "array", "object"]},
        {"enum": [1, "a"]},
        {"enum": [True, 0]},
        {"enum": [[1], {}, None]},
        {"const": 1},
        {"const": False},
        {"type": "string", "const": "a"},
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "abc", "title": "B"}]},
        {"oneOf": [{"const": 1}, {"const": 1.0}, {"const": 3}]},
        {"oneOf": [{"minimum": 1}, {"type": "string"}]},
        {"anyOf": [{"const": 1}, {"const": 1.0}, {"type": "string", "minLength": 3}]},
        {"minLength": 2},
        {"maxLength": 1},
        {"maxLength": 2.0},
        {"minimum": 1},
        {"maximum": 3},
        {"exclusiveMinimum": 1},
        {"exclusiveMaximum": 3.5},
        {"multipleOf": 2},
        {"multipleOf": 0.5},
        {"pattern": "^a"},
        {"pattern": "b"},
        {"format": "color", "title": "T", "x-order": 1, "default": 5},
    ],
)
def test_every_keyword_as_json_schema_has_it(schema: dict[str, Any]) -> None:
    for value in VALUES:
        if not reads_text(schema, value):
            assert taken(schema, value) is conforms(value, schema), value


def test_a_decimal_step_is_what_people_mean() -> None:
    assert taken({"multipleOf": 0.1}, 0.3)
    assert not taken({"multipleOf": 0.1}, 0.35)


def test_equality_is_jsons() -> None:
    assert equal({"a": [1, None]}, {"a": [1.0, None]})
    for one, other in [
        (1, True),
        ({"a": 1}, {"b": 1}),
        ([1], [1, 2]),
        ([True], [1]),
        ({"a": False}, {"a": 0}),
        ("1", 1),
    ]:
        assert not equal(one, other)


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("email", ["a@b.example", "ä+x@b"], ["a", "@", "a@", "@b", "a@b c", "a@b@c", "a\n@b", ""]),
        ("uri", ["http://a", "mailto:x", "urn:a:b"], ["a", "/a", "http://a b", "1a:b", "http:", "http://a\n", ""]),
        ("date", ["2026-01-31", "2024-02-29"], ["2026-02-29", "20260131", "2026-1-31", "२०२६-01-31", ""]),
        ("date-time",
         ["2026-01-31T12:00:00Z", "2026-01-31t12:00:00.5+05:30", "2026-01-31 12:00:60z", "2026-12-31T23:59:60Z"],
         ["2026-01-31T12:00:00", "2026-01-31T12:00Z", "2026-01-31T25:00:00Z", "2026-02-30T12:00:00Z",
          "2026-01-31T12:00:00+99:00", "2026-01-31T12:00:00+05:99", "2026-01-31T12:00:61Z", "noon", ""]),
    ],
)  # fmt: skip
def test_formats_are_checked(format: str, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert taken({"type": "string", "format": format}, text), text
    for text in bad:
        assert not taken({"type": "string", "format": format}, text), text
    assert taken({"format": format}, 5)
    assert FORMATS[format][1]


@pytest.mark.parametrize(
    ("schema", "content", "answer"),
    [
        ({"properties": {"a": {"type": "string"}}}, {"a": None}, {}),
        ({"properties": {"a": {"type": "string"}}}, {"b": 1}, {}),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": True}, {"b": 1}, {"b": 1}),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": {}}, {"b": 1}, {"b": 1}),
        ({"required": ["b"]}, {"b": 1, "c": 2}, {"b": 1}),
        ({"properties": {"a": {"type": ["integer", "null"]}}}, {"a": None}, {"a": None}),
        ({"properties": None}, {}, {}),
        ({"title": "T", "not": None, "if": False}, None, {}),
    ],
)
def test_what_an_answer_keeps(schema: dict[str, Any], content: Any, answer: dict[str, Any]) -> None:
    assert form_for_json_schema({"type": "object", **schema}).parse(content) == answer


def test_whole_numbers_of_an_integer_are_integers() -> None:
    form = form_for_json_schema({"type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "number"}}})
    answer = form.parse({"n": 3.0, "x": 3.0})
    assert [type(value) for value in answer.values()] == [int, float]


# Random schemas and contents -------------------------------------------------------------------------------------

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-4, 4)
    | st.sampled_from([0.5, 1.0, 2.5, -1.5, 1e300])
    | st.text("ab1", max_size=3)
)
values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text("ab", max_size=1), scalars, max_size=1)
types = st.sampled_from(["string", "number", "integer", "boolean"])
constraints = {
    "type": types
    | types.flatmap(lambda first: st.lists(types | st.just("null"), max_size=2).map(lambda more: [first, *more])),
    "enum": st.lists(values, min_size=1, max_size=4),
    "const": values,
    "minLength": st.integers(0, 3),
    "maxLength": st.integers(0, 3),
    "minimum": st.integers(-3, 3) | st.just(0.5),
    "maximum": st.integers(-3, 3) | st.just(0.5),
    "exclusiveMinimum": st.integers(-3, 3),
    "exclusiveMaximum": st.integers(-3, 3),
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    "pattern": st.sampled_from(["a", "^a", "1$"]),
    "format": st.sampled_from(["email", "color"]),
    "title": st.text(max_size=3),
}
plain_fields = st.fixed_dictionaries({}, optional=constraints)
fields = plain_fields | st.fixed_dictionaries(
    {}, optional=constraints | {key: st.lists(plain_fields, min_size=1, max_size=3) for key in ("oneOf", "anyOf")}
)
names = st.sampled_from("abc")
schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(names, fields, max_size=3),
        "required": st.lists(names, max_size=2, unique=True),
        "additionalProperties": st.booleans(),
    },
)


@given(schemas, st.dictionaries(names, values, max_size=3) | scalars)
def test_random_answers_to_random_schemas(schema: dict[str, Any], content: Any) -> None:
    try:
        form = form_for_json_schema(schema)
    except InvalidSchema as error:
        assert "the same title" in error.message  # noqa: PT017  # a form that is refused is right, too, and says why
        return
    accepted: Any = None
    try:
        accepted = form.parse(content)
    except InvalidAnswer as error:
        assert error.data  # noqa: PT017  # both outcomes are right
        assert json.loads(json.dumps(error.data)) == error.data  # noqa: PT017  # both outcomes are right
        properties = schema.get("properties", {})
        is_spelled = isinstance(content, dict) and any(
            isinstance(value, str) and spelled_value(value, shown_type(properties.get(name, {}))) is not None
            for name, value in content.items()
        )
        if isinstance(content, dict) and "email" not in json.dumps(schema) and not is_spelled:
            # What it refuses JSON Schema refuses, too.
            assert not conforms(content, schema)
    else:
        assert conforms(accepted, schema)


keywords = st.sampled_from(
    [
        *constraints,
        "oneOf",
        "anyOf",
        "not",
        "if",
        "items",
        "properties",
        "required",
        "$ref",
        "additionalProperties",
        "x-a",
    ]
)
junk = st.recursive(
    scalars | st.sampled_from(["string", "object", "("]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keywords, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keywords, junk, max_size=4), st.dictionaries(names, junk, max_size=2), junk)
def test_a_random_schema_is_a_form_or_invalid(root: dict[str, Any], properties: dict[str, Any], content: Any) -> None:
    try:
        form = form_for_json_schema(root | {"type": "object", "properties": properties})
    except InvalidSchema:
        return
    try:
        form.parse(content)
    except InvalidAnswer:
        pass


# What a client is shown, and what a text is then -----------------------------------------------------------------


def read(schema: dict[str, Any], text: str) -> Any:
    form = form_for_json_schema({"type": "object", "properties": {"p": schema}, "required": ["p"]})
    return form.parse({"p": text})["p"]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": ["boolean", "string"]}, "false", False),
        ({"type": ["boolean", "string"]}, " Yes ", True),
        ({"type": ["boolean", "string"]}, "maybe", "maybe"),
        ({"anyOf": [{"type": "boolean"}, {"type": "string"}]}, "no", False),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]}, "5", 5),
        ({"type": ["integer", "string"]}, "5", 5),
        ({"type": ["integer", "string"]}, "5.0", "5.0"),
        ({"type": ["number", "string"]}, "1,5", "1,5"),
        ({"type": ["string", "boolean"]}, "false", "false"),
        ({"type": ["integer", "string"], "enum": ["5", "x"]}, "5", "5"),
        ({"enum": [1, 2]}, "1", 1),
        ({"enum": [1.5, 2, None]}, "1.5", 1.5),
        ({"enum": [1, "1"]}, "1", "1"),
        ({"const": 3}, "3", 3),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}, "2", 2),
        ({"oneOf": [{"const": 1}, {"const": "2"}]}, "2", "2"),
        ({"enum": [True]}, "yes", True),
    ],
)
def test_a_text_is_read_as_what_the_form_shows(schema: dict[str, Any], text: str, value: Any) -> None:
    found = read(schema, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "schema",
    [
        {}, {"type": "no such type"}, {"type": ["integer", "string"]}, {"type": ["string", "integer"]},
        {"type": "boolean"}, {"anyOf": [{"type": "boolean"}, {"type": "string"}]}, {"enum": [1, 2]},
        {"enum": [True, False]}, {"enum": [1, 2.5]}, {"enum": [1, "a"]}, {"enum": [None, True]}, {"const": True},
        {"const": 1.5}, {"const": "a"}, {"oneOf": [{"const": True, "title": "Y"}, {"const": False}]},
        {"oneOf": [{"const": 1}, {"const": "a"}]}, {"anyOf": [{"const": 1}, {"const": 2}]},
        {"anyOf": [{"enum": [1, 2]}, {"type": "string"}]}, {"oneOf": [{"type": "number"}, {"type": "integer"}]},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]}, {"oneOf": []},
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_what_is_read_is_what_mcp_shows(schema: dict[str, Any], version: str) -> None:
    shown = normalise({"type": "object", "properties": {"p": schema}}, version)["properties"]["p"]["type"]
    assert shown == shown_type(schema)


def test_a_limit_holds_for_a_number_that_came_as_text() -> None:
    with pytest.raises(InvalidAnswer, match="at least 10 is expected"):
        read({"type": ["integer", "string"], "minimum": 10}, "5")


def test_what_is_left_empty_where_no_text_is_shown_is_nothing_given() -> None:
    several = {"a": {"type": ["boolean", "string"]}, "b": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
    form = form_for_json_schema({"type": "object", "properties": {**several, "c": {"type": ["string", "integer"]}}})
    assert form.parse({"a": "", "b": " ", "c": ""}) == {"c": ""}
    assert form_for_json_schema({"type": "object", "properties": {"a": {"enum": [1, ""]}}}).parse({"a": ""}) == {
        "a": ""
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["a", "b"], "enumNames": ["X", "X"]},
        {"enum": ["a", "b"], "enumNames": ["b", ""]},
        {"type": "string", "oneOf": [{"const": "a", "title": "X"}, {"const": "b", "title": "X"}]},
        {"anyOf": [{"const": "a", "title": "b"}, {"const": "b"}]},
        {"type": "integer", "oneOf": [{"const": 1, "title": "X"}, {"const": 2, "title": "X"}]},
    ],
)
def test_two_choices_with_one_title_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema, match="have the same title"):
        form_for_json_schema({"type": "object", "properties": {"p": schema}})


def test_one_choice_twice_is_one() -> None:
    assert taken({"oneOf": [{"const": "a", "title": "X"}, {"const": "a", "title": "X"}]}, "a") is False
    assert taken({"anyOf": [{"const": 1, "title": "X"}, {"const": 1.0, "title": "X"}]}, 1) is True


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "enum"])
@pytest.mark.parametrize("wrong", [True, 5, "ab", {}, None])
def test_choices_that_are_no_list_are_refused(keyword: str, wrong: Any) -> None:
    with pytest.raises(InvalidSchema):
        form_for_json_schema({"type": "object", "properties": {"p": {keyword: wrong}}})
