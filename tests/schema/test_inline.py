"""Schemas without references: what is inlined, merged, cut short and left alone."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.jsontext import encode
from tesseron_py.schema.inline import MAX_NODES, inline_schema
from tesseron_py.schema.references import Nullability, References

STRING = {"type": "string"}
NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "inlined"),
    [
        ({"$ref": "#/$defs/A", "$defs": {"A": STRING}}, STRING),
        ({"$ref": "#/$defs/A", "title": "T", "$defs": {"A": STRING | {"title": "A"}}}, STRING | {"title": "T"}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": STRING}}, STRING),
        ({"$ref": "#/$defs/a~1b~0c", "$defs": {"a/b~c": STRING}}, STRING),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": STRING}}, STRING),
        ({"$ref": "#/$defs/Missing"}, {}),
        ({"$ref": "https://example.com/schema"}, {}),
        ({"$ref": 5}, {}),
        ({"anyOf": [STRING, NULL], "default": None, "title": "T"}, STRING | {"title": "T"}),
        ({"oneOf": [{"const": None}, STRING]}, STRING),
        ({"anyOf": [STRING, {"type": "integer"}, NULL]}, {"anyOf": [STRING, {"type": "integer"}]}),
        ({"anyOf": [NULL]}, NULL),
        ({"allOf": [STRING], "description": "D"}, STRING | {"description": "D"}),
        ({"allOf": [STRING, {"minLength": 1}]}, {"allOf": [STRING, {"minLength": 1}]}),
        ({"allOf": [True]}, {"allOf": [True]}),
        ({"type": ["string", "null"]}, STRING),
        ({"type": ["null"]}, NULL),
        ({"type": ["string", "integer"], "title": "T"}, {"title": "T", "anyOf": [STRING, {"type": "integer"}]}),
        ({"type": ["string", "integer"], "anyOf": [STRING, {"minimum": 1}]}, {"anyOf": [STRING, {"minimum": 1}]}),
        ({"enum": ["a", None]}, {"enum": ["a"]}),
        ({"enum": [None]}, {"enum": [None]}),
        ({"default": float("nan")}, {}),
        ({"default": 1.5}, {"default": 1.5}),
        ({"$schema": "x", "$id": "y", "discriminator": {"mapping": {}}, "type": "object"}, {"type": "object"}),
        ({"items": [{"$ref": "#/$defs/A"}, True], "$defs": {"A": STRING}}, {"items": [STRING, True]}),
        ({"items": {"$ref": "#/$defs/A"}, "prefixItems": [{"$ref": "#/$defs/A"}], "$defs": {"A": STRING}},
         {"items": STRING, "prefixItems": [STRING]}),
        ({"patternProperties": {"^a": {"$ref": "#/$defs/A"}}, "not": 5, "properties": [], "$defs": {"A": STRING}},
         {"patternProperties": {"^a": STRING}, "not": 5, "properties": []}),
        ({"properties": {"a": None, "b": False}}, {"properties": {"a": {}, "b": False}}),
    ],
)  # fmt: skip
def test_field_5_6_22_schemas_become_one_flat_tree(schema: dict[str, Any], inlined: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    assert inline_schema(schema) == inlined
    assert json.dumps(schema) == json.dumps(before)


def test_names_and_values_are_not_taken_for_keywords() -> None:
    schema = {
        "type": "object",
        "properties": {"$ref": STRING, "title": STRING, "anyOf": STRING, "default": STRING, "$defs": STRING},
        "examples": [{"$ref": "#/x", "type": ["a"]}],
        "default": {"$ref": "#/x"},
        "const": {"anyOf": [None]},
    }
    assert inline_schema(schema) == schema


def test_field_3_a_property_that_takes_null_is_not_required() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, NULL]}, "b": {}, "c": STRING, "d": {"$ref": "#/$defs/D"}},
        "required": ["a", "b", "c", "d", "e"],
        "$defs": {"A": STRING, "D": {"type": ["integer", "null"]}},
    }
    assert inline_schema(schema)["required"] == ["b", "c", "e"]
    assert inline_schema({"properties": {"a": NULL}, "required": ["a"]}) == {"properties": {"a": NULL}}
    assert inline_schema({"required": None}) == {}
    assert inline_schema({"required": ["a"]}) == {"required": ["a"]}


def test_null_is_kept_where_a_value_has_to_fit() -> None:
    maybe = {"anyOf": [STRING, NULL]}
    schema = {
        "properties": {"a": maybe | {"default": None}, "b": {"type": ["string", "null"]}, "c": {"enum": [None]}},
        "required": ["a", "b"],
    }
    assert inline_schema(schema, keep_null=True) == {
        "properties": {"a": maybe, "b": maybe, "c": {"enum": [None]}},
        "required": ["a", "b"],
    }


def test_closed_objects_say_so() -> None:
    schema = {"properties": {"a": {"properties": {}}, "b": {"properties": {}, "additionalProperties": True}}}
    closed = inline_schema(schema, closed=True)
    assert closed["additionalProperties"] is False
    assert closed["properties"]["a"]["additionalProperties"] is False
    assert closed["properties"]["b"]["additionalProperties"] is True


def test_field_7_recursion_is_cut_to_its_type() -> None:
    tree = {
        "type": "object",
        "properties": {"next": {"$ref": "#", "description": "D"}, "list": {"items": {"$ref": "#/$defs/L"}}},
        "$defs": {"L": {"anyOf": [{"$ref": "#/$defs/L"}, STRING]}},
    }
    assert inline_schema(tree) == {
        "type": "object",
        "properties": {
            "next": {
                "type": "object",
                "description": "D",
                "properties": {
                    "next": {"type": "object", "description": "D"},
                    "list": {"items": {"anyOf": [{}, STRING]}},
                },
            },
            "list": {"items": {"anyOf": [{}, STRING]}},
        },
    }
    assert inline_schema({"$ref": "#"}) == {}
    assert inline_schema({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}) == {}


def test_a_schema_that_would_grow_exponentially_stays_bounded() -> None:
    definitions: dict[str, Any] = {
        f"L{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/L{n + 1}"} for side in ("a", "b")}}
        for n in range(40)
    }
    definitions["L40"] = STRING
    text = json.dumps(inline_schema({"$ref": "#/$defs/L0", "$defs": definitions}))
    assert "$ref" not in text
    assert text.count('"type"') <= 3 * MAX_NODES


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, Nullability.ANY),
        (True, Nullability.ANY),
        (False, Nullability.NO),
        (STRING, Nullability.NO),
        (NULL, Nullability.YES),
        ({"type": ["string", "null"]}, Nullability.YES),
        ({"type": ["string"]}, Nullability.NO),
        ({"const": None}, Nullability.YES),
        ({"const": 0}, Nullability.NO),
        ({"enum": [0, None]}, Nullability.YES),
        ({"enum": [0, False, ""]}, Nullability.NO),
        ({"anyOf": [STRING, {}]}, Nullability.ANY),
        ({"oneOf": [{}, NULL]}, Nullability.YES),
        ({"anyOf": [STRING, {"type": "integer"}]}, Nullability.NO),
        ({"allOf": [{}, STRING]}, Nullability.NO),
        ({"allOf": [{}, NULL]}, Nullability.YES),
        ({"allOf": [{}]}, Nullability.ANY),
        ({"$ref": "#/$defs/Loop"}, Nullability.NO),
        ({"$ref": "#/$defs/Maybe"}, Nullability.YES),
        ({"$ref": "#/nowhere/at/all"}, Nullability.ANY),
    ],
)
def test_what_takes_null(schema: Any, expected: Nullability) -> None:
    root = {"$defs": {"Loop": {"$ref": "#/$defs/Loop"}, "Maybe": {"anyOf": [NULL, {"$ref": "#/$defs/Maybe"}]}}}
    assert References(root).nullability(schema) is expected


keywords = st.sampled_from(
    ["$ref", "anyOf", "oneOf", "allOf", "type", "properties", "items", "enum", "const", "default", "required", "$defs"]
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["#", "#/$defs/A", "string", "null", "object", "A"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.just("A"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(keywords, junk))
def test_whatever_the_schema_it_is_inlined(schema: dict[str, Any]) -> None:
    def references(node: Any) -> bool:
        if not isinstance(node, dict):
            return False
        inner = [node.get("items")]
        inner += [each for key in ("anyOf", "oneOf", "allOf") if isinstance(node.get(key), list) for each in node[key]]
        inner += node["properties"].values() if isinstance(node.get("properties"), dict) else []
        return "$ref" in node or isinstance(node.get("type"), list) or any(map(references, inner))

    for keep_null in (True, False):
        assert not references(inline_schema(schema, keep_null=keep_null))


def test_types_that_contain_each_other_do_not_fill_a_schema_with_all_their_orders() -> None:
    """The operators of an expression: each of them is written out at the top, with its fields, and once within."""
    operators = ["any", "all", "none", "xor", "most", "few"]
    rule = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in [*operators, "is"]]}
    of = {"type": "array", "items": rule}
    definitions: dict[str, Any] = {
        name: {"type": "object", "properties": {"op": {"const": name}, "of": of}} for name in operators
    }
    definitions["is"] = {"type": "object", "properties": {"field": {"type": "string"}}}
    inlined = inline_schema({**rule, "$defs": definitions})
    assert len(encode(inlined)) < 8_000
    top = inlined["anyOf"]
    assert len(top) == 7
    for option in top[:6]:
        within = option["properties"]["of"]["items"]["anyOf"]
        assert {"type": "object", "properties": {"field": {"type": "string"}}} in within
        assert {"type": "object"} in within


def test_two_types_that_contain_each_other_are_written_out_as_deep_as_they_go() -> None:
    item = {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}
    node = {"type": "object", "properties": {"next": item}}
    inlined = inline_schema({**item, "$defs": {"a": {**node, "title": "A"}, "b": {**node, "title": "B"}}})
    assert encode(inlined).count('"next"') == 4
