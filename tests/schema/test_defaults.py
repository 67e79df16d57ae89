"""Defaults that their own schema allows, and those that it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tesseron_py.schema.defaults import fits, without_nulls

SCHEMAS: list[dict[str, Any]] = [
    {},
    {"type": "string"},
    {"type": "integer"},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 3},
    {"type": "number", "maximum": 2, "exclusiveMinimum": 0},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": {"type": "boolean"}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 1},
    {"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"},
    {"enum": [1, "a", None]},
    {"const": True},
    {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]},
    {"oneOf": [{"type": "boolean"}]},
    {"allOf": [{"type": "integer"}, {"minimum": 2}]},
]
values = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, 2, 3, 2.0, 0.5, "", "a", "ab", "ba", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(SCHEMAS), values)
def test_it_says_what_a_validator_says(schema: dict[str, Any], value: Any) -> None:
    assert fits(value, schema) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("2026-01-31T12:00:00", {"type": "string", "format": "date-time"}, False),
        ("2026-01-31T12:00:00Z", {"type": "string", "format": "date-time"}, True),
        ("x", {"type": "string", "format": "phone"}, True),
        ("x", {"type": "string", "pattern": r"\p{L}"}, True),
        (float("inf"), {"type": "number"}, False),
        (10**400, {"type": "number"}, True),
        (1, True, True),
        (1, False, False),
        ((1,), {}, False),
    ],
)
def test_formats_and_what_is_no_json(value: Any, schema: Any, expected: bool) -> None:
    assert fits(value, schema) is expected


def test_null_goes_where_it_may_be_absent() -> None:
    inner = {"properties": {"a": {"type": "string"}, "b": {"type": "null"}}, "required": ["b"]}
    schema = {"type": "object", "properties": {"in": inner, "all": {"type": "array", "items": inner}}}
    nulls = {"a": None, "b": None}
    assert without_nulls({"in": nulls, "all": [nulls, 1], "x": None}, schema) == {
        "in": {"b": None}, "all": [{"b": None}, 1],
    }  # fmt: skip
    assert without_nulls(None, schema) is None
