"""Forms, normalised for the revision that is to show them."""

from __future__ import annotations

from typing import Any

import mcp_schemas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tesseron_py.gateway.answers import with_titles
from tesseron_py.mcp.forms import NoSuchForm, normalise
from tesseron_py.schema.elicitation import form_for
from tests.schema.form_cases import Case, cases

NEW, OLD = "2025-11-25", "2025-06-18"


def field(schema: Any, version: str = NEW) -> dict[str, Any]:
    """What becomes of one field."""
    form = normalise({"type": "object", "properties": {"x": schema}, "required": ["x"]}, version)
    assert form["required"] == ["x"]
    properties: dict[str, dict[str, Any]] = form["properties"]
    return properties["x"]


@pytest.mark.parametrize(
    ("schema", "becomes"),
    [
        ({"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 3}]}, {"type": "integer"}),
        ({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "number"}]}, {"type": "integer"}),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "maxLength": 3}]}, {"type": "string"}),
        ({"anyOf": [{"enum": ["a"]}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}, {"type": "string"}),
        ({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]}, {"type": "integer", "minimum": 5}),
        (
            {"type": "integer", "minimum": 1, "oneOf": [{"minimum": 5}, {"maximum": 3}]},
            {"type": "integer", "minimum": 1},
        ),
    ],
)
def test_a_field_of_several_branches_has_the_limits_of_none(schema: dict[str, Any], becomes: dict[str, Any]) -> None:
    assert field(schema) == becomes


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": None}, {"properties": []}, {"$schema": "x"}])
def test_a_form_without_fields_has_properties_all_the_same(schema: dict[str, Any]) -> None:
    assert normalise(schema, NEW) == {"type": "object", "properties": {}}


def test_required_names_only_fields_that_are_there() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "string"}}
    assert normalise({"properties": properties, "required": ["b", "gone", "b", 3]}, NEW)["required"] == ["b"]
    for nothing in (None, [], "a", ["gone"]):
        assert "required" not in normalise({"properties": properties, "required": nothing}, NEW)


@pytest.mark.parametrize(
    ("given_type", "becomes"),
    [
        (["string", "null"], "string"),
        (["null", "integer"], "integer"),
        (["null"], "string"),
        ([], "string"),
        ("null", "string"),
        ("no such type", "string"),
        (None, "string"),
        ("number", "number"),
    ],
)
def test_field_5_a_list_of_types_becomes_its_first(given_type: Any, becomes: str) -> None:
    assert field({"type": given_type}) == {"type": becomes}


@pytest.mark.parametrize(
    ("schema", "becomes"),
    [
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", None, "a"]}, {"type": "string", "enum": ["a"]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2"}),
        ({"enum": [1, 2.5], "description": "How many?"}, {"type": "number", "description": "How many? One of: 1, 2.5"}),
        ({"enum": [1, "a"]}, {"type": "string", "enum": ["a"]}),
        ({"enum": [1, True]}, {"type": "string"}),
        ({"enum": []}, {"type": "string"}),
        ({"enum": "ab"}, {"type": "string"}),
        ({"const": "yes"}, {"type": "string", "enum": ["yes"]}),
        ({"const": 3}, {"type": "integer"}),
        ({"const": True}, {"type": "boolean"}),
        ({"$ref": "#/$defs/X"}, {"type": "string"}),
        (True, {"type": "string"}),
        (None, {"type": "string"}),
    ],
)
def test_a_field_without_a_type_gets_one_from_its_values(schema: Any, becomes: dict[str, Any]) -> None:
    assert field(schema) == becomes


def test_field_3_an_optional_is_its_other_branch() -> None:
    optional = {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1, "title": "N"}], "title": "Count"}
    assert field(optional) == {"type": "integer", "minimum": 1, "title": "Count"}
    assert field({"anyOf": [{"type": "null"}], "title": "Nothing"}) == {"type": "string", "title": "Nothing"}
    assert field({"oneOf": [7, {"type": "boolean"}]}) == {"type": "boolean"}
    assert field({"anyOf": "x"}) == {"type": "string"}


def test_field_2_titled_choices_always_have_a_type() -> None:
    choices = {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}], "default": "l", "title": "Size"}
    assert field(choices) == {
        "type": "string",
        "title": "Size",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "l"}],
        "default": "l",
    }
    assert field(choices, OLD) == {
        "type": "string",
        "title": "Size",
        "enum": ["s", "l"],
        "enumNames": ["Small", "l"],
    }


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_what_one_choice_is_titled_is_never_the_title_of_its_field(version: str) -> None:
    no, yes = {"const": False, "title": "No, keep everything"}, {"const": True, "title": "Yes, delete everything."}
    both = "Ticked: Yes, delete everything. Not ticked: No, keep everything."

    def shown(field: dict[str, Any]) -> Any:
        return normalise({"properties": {"go": field}}, version)["properties"]["go"]

    for field in (
        {"type": "boolean", "oneOf": [no, yes]},
        {"oneOf": [yes, no]},
        {"anyOf": [{"anyOf": [no, yes]}, {"type": "null"}]},
        {"type": "boolean", "enum": [False, True], "enumNames": [no["title"], yes["title"]]},
    ):
        assert shown(field) == {"type": "boolean", "description": both}
    assert shown({"type": "boolean", "title": "Go", "description": "For good.", "oneOf": [no, yes]}) == {
        "type": "boolean", "title": "Go", "description": f"For good. {both}",
    }  # fmt: skip
    assert shown({"anyOf": [no, {"type": "null"}]}) == {"type": "boolean"}
    assert shown({"type": "integer", "oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}) == {
        "type": "integer", "description": "One of: 1 (One), 2",
    }  # fmt: skip
    assert shown({"anyOf": [{"type": "string", "title": "Name"}, {"type": "integer", "title": "Age"}]}) == {
        "type": "string",
    }  # fmt: skip


def test_choices_with_names_keep_them_in_every_revision() -> None:
    named = {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]}
    assert field(named, OLD) == named
    assert field(named) == named
    assert field({**named, "default": "l"}) == {**named, "default": "l"}
    for names in (["Small"], "Sm", None):
        assert field({**named, "enumNames": names}, OLD) == {"type": "string", "enum": ["s", "l"]}


def test_choices_without_titles_stay_plain() -> None:
    assert field({"oneOf": [{"const": "a"}, {"const": "b"}]}) == {"type": "string", "enum": ["a", "b"]}
    assert field({"anyOf": [{"const": "a", "title": "A"}]}) == {
        "type": "string",
        "oneOf": [{"const": "a", "title": "A"}],
    }


def test_what_is_not_in_the_subset_is_dropped() -> None:
    schema = {
        "type": "string",
        "title": "Mail",
        "description": 5,
        "format": "ipv4",
        "pattern": "^x",
        "minLength": 1,
        "maxLength": -1,
        "examples": ["a"],
        "default": None,
        "x-ours": 1,
    }
    assert field(schema) == {"type": "string", "title": "Mail", "minLength": 1}
    assert field({"type": "string", "format": "date-time"}) == {"type": "string", "format": "date-time"}
    assert field({"type": "number", "minimum": 0.5, "maximum": float("inf"), "multipleOf": 2}) == {
        "type": "number",
        "minimum": 0.5,
    }
    assert field({"type": "integer", "minimum": True}) == {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "string", "default": "a"}, True),
        ({"type": "string", "default": 1}, False),
        ({"type": "string", "enum": ["a"], "default": "b"}, False),
        ({"type": "integer", "default": 1}, True),
        ({"type": "integer", "default": 1.5}, False),
        ({"type": "integer", "default": True}, False),
        ({"type": "number", "default": 1.5}, True),
        ({"type": "number", "default": "1"}, False),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]}, True),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["c"]}, False),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": "a"}, False),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]}, True),
        ({"type": "boolean", "default": False}, True),
        ({"type": "boolean", "default": 0}, False),
    ],
)
def test_a_default_stays_when_it_fits(schema: dict[str, Any], kept: bool) -> None:
    assert ("default" in field(schema)) is kept
    if schema["type"] != "array":
        assert ("default" in field(schema, OLD)) is (kept and schema["type"] == "boolean")


def test_several_choices_are_for_the_newer_revision() -> None:
    several = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": "2"}
    assert field(several) == {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1}
    titled = {"type": "array", "items": {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}}
    assert field(titled)["items"] == {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "b"}]}
    with pytest.raises(NoSuchForm, match="'x' is of type array, which a form of MCP cannot ask for before 2025-11-25"):
        field(several, OLD)


@pytest.mark.parametrize("items", [None, {}, {"type": "string"}, {"type": "integer", "enum": [1]}])
def test_field_8_a_list_that_is_no_choice_is_refused_by_name(items: Any) -> None:
    with pytest.raises(NoSuchForm, match="'x' is a list that is no choice"):
        field({"type": "array", "items": items})


def test_an_object_is_refused_by_name() -> None:
    for schema in ({"type": "object"}, {"type": ["object", "null"]}, {"anyOf": [{"type": "object"}]}):
        with pytest.raises(NoSuchForm, match="'x' is of type object"):
            field(schema)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "odd"])
choice = st.fixed_dictionaries({}, optional={"const": json_values, "title": json_values, "type": types})
schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": types | st.lists(types, max_size=3) | json_values,
        "title": json_values,
        "description": json_values,
        "enum": st.lists(st.text(max_size=3), max_size=3) | json_values,
        "enumNames": st.lists(st.text(max_size=3), max_size=3) | json_values,
        "const": json_values,
        "oneOf": st.lists(choice, max_size=3) | json_values,
        "anyOf": st.lists(choice, max_size=3) | json_values,
        "items": st.fixed_dictionaries({}, optional={"enum": st.lists(st.text(max_size=3)), "anyOf": st.lists(choice)}),
        "default": json_values,
        "format": st.sampled_from(["date", "email", "odd"]) | json_values,
        "minimum": json_values,
        "minLength": json_values,
        "pattern": st.text(max_size=3),
        "$schema": st.text(max_size=3),
    },
)
forms = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.text(max_size=5), schemas | json_values, max_size=4) | json_values,
        "required": st.lists(st.text(max_size=5)) | json_values,
        "$schema": st.text(),
    },
)


@pytest.mark.parametrize("version", mcp_schemas.VERSIONS)
@given(schema=forms)
def test_whatever_is_asked_goes_out_as_a_form_or_not_at_all(version: str, schema: dict[str, Any]) -> None:
    try:
        form = normalise(schema, version)
    except NoSuchForm:
        return
    mcp_schemas.validate(
        version,
        "ElicitRequest",
        {
            "jsonrpc": "2.0",
            "id": "q",
            "method": "elicitation/create",
            "params": {"message": "", "requestedSchema": form},
        },
    )
    assert normalise(form, version) == form
    assert set(form) <= {"type", "properties", "required"}
    for name, made in form["properties"].items():
        assert name in schema["properties"]
        assert isinstance(made["type"], str)
        assert None not in made.values()
        if version == OLD:
            assert "default" not in made or made["type"] == "boolean"


@pytest.mark.parametrize("version", [*mcp_schemas.VERSIONS, mcp_schemas.MODERN])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases())
def test_whatever_type_is_asked_for_is_a_form_of_the_revision(version: str, case: Case) -> None:
    asked = form_for(case.type, lists=version >= NEW).schema
    form = normalise(with_titles(asked), version)
    mcp_schemas.validate(
        version,
        "ElicitRequest",
        {
            "jsonrpc": "2.0",
            "id": "q",
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "Which?", "requestedSchema": form},
        },
    )
    assert list(form["properties"]) == list(asked["properties"])
    assert form.get("required", []) == asked["required"]
    for name, made in form["properties"].items():
        kept = asked["properties"][name].keys() - {"enum", "enumNames"}
        if version < NEW and made["type"] != "boolean":
            kept -= {"default"}
        assert kept <= made.keys()
