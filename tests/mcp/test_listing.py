"""What is listed, with foreign entries made safe: one bad one must not void a client's whole list."""

from __future__ import annotations

import logging
from typing import Any

import mcp_schemas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.jsontext import encode
from tesseron_py.mcp.listing import (
    only_page,
    prompt_list,
    resource_list,
    server_info,
    structure,
    template_list,
    tool_list,
)
from tesseron_py.mcp.messages import ProtocolError
from tesseron_py.mcp.provider import Prompt, Resource, ResourceTemplate, ServerInfo, Tool
from tesseron_py.mcp.safe_schema import safe_schema

OBJECT: dict[str, Any] = {"type": "object"}


def listed(**members: Any) -> dict[str, Any]:
    """The entry of one tool."""
    [entry] = tool_list(
        [Tool(**{"name": "t", "description": "A tool", "input_schema": OBJECT, **members})], "2025-11-25"
    )
    return entry


def test_a_tool_is_listed_with_all_it_has() -> None:
    assert listed(
        title="The tool",
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        read_only=True,
        destructive=False,
        meta={"requiresConfirmation": True},
    ) == {
        "name": "t",
        "title": "The tool",
        "description": "A tool",
        "inputSchema": OBJECT,
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "annotations": {"readOnlyHint": True, "destructiveHint": False},
        "_meta": {"requiresConfirmation": True},
    }


def test_what_a_tool_does_not_have_is_left_out() -> None:
    assert listed() == {"name": "t", "description": "A tool", "inputSchema": OBJECT}


def test_hints_that_are_not_booleans_and_odd_meta_are_dropped() -> None:
    entry = listed(read_only="yes", destructive=None, meta=["x"])
    assert "annotations" not in entry
    assert "_meta" not in entry


def test_every_tool_has_a_description() -> None:
    assert listed(description="")["description"] == "t"
    assert listed(description="", title="The tool")["description"] == "The tool"


@pytest.mark.parametrize("schema", [None, [], "x", {"type": "string"}, {"type": ["object", "null"]}, {"type": 5}])
def test_a_root_that_is_no_object_becomes_one(schema: Any) -> None:
    assert listed(input_schema=schema)["inputSchema"] == OBJECT
    assert structure(Tool("t", "", OBJECT, output_schema=schema), "2025-11-25") == "none"
    assert "outputSchema" not in listed(output_schema=schema)


def test_a_root_that_does_not_say_what_it_is_is_told() -> None:
    properties = {"a": {"type": "string"}}
    assert safe_schema({"properties": properties}) == {"type": "object", "properties": properties}
    assert safe_schema({"type": None, "title": "X"}) == {"type": "object", "title": "X"}


def test_field_23_nulls_that_stand_for_nothing_are_dropped() -> None:
    schema = {
        "type": "object",
        "required": None,
        "properties": {"a": {"type": "string", "title": None, "default": None, "const": None, "enum": [None, "x"]}},
        "additionalProperties": None,
    }
    assert safe_schema(schema) == {
        "type": "object",
        "properties": {"a": {"type": "string", "default": None, "const": None, "enum": [None, "x"]}},
    }


def test_field_22_a_dialect_that_is_not_of_mcp_is_dropped() -> None:
    assert safe_schema({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}) == OBJECT
    named = {"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}
    assert safe_schema(named) == named


def test_schemas_within_are_mended_too() -> None:
    assert safe_schema(
        {
            "properties": {"a": True, "b": False, "c": None, "d": {"items": {"title": None}}, "e": {"items": [None]}},
            "required": ["a", 5],
            "anyOf": [{"required": ["a"], "title": None}, True, 7],
            "oneOf": None,
            "allOf": "x",
            "$defs": [],
            "additionalProperties": False,
            "not": 5,
        }
    ) == {
        "type": "object",
        "properties": {"a": {}, "b": {"not": {}}, "c": {}, "d": {"items": {}}, "e": {"items": [{}]}},
        "anyOf": [{"required": ["a"]}, True, {}],
        "additionalProperties": False,
        "not": {},
    }


def test_field_7_a_schema_without_end_leaves_the_tool_with_any_object(caplog: pytest.LogCaptureFixture) -> None:
    endless: dict[str, Any] = {"type": "object"}
    endless["properties"] = {"self": endless}
    deep_value: dict[str, Any] = {"type": "object", "default": {}}
    for _ in range(300):
        deep_value = {"type": "object", "default": deep_value}
    for schema in (endless, deep_value):
        with caplog.at_level(logging.WARNING):
            entries = tool_list([Tool("bad", "", schema), Tool("good", "", OBJECT)], "2025-11-25")
        assert [entry["name"] for entry in entries] == ["bad", "good"]
        assert entries[0]["inputSchema"] == OBJECT
        assert "'bad' is listed as taking any object" in caplog.text


@pytest.mark.parametrize("name", ["a.b", "New Tool", "", "x" * 65, "näme", "a\n"])
def test_field_26_a_bad_name_is_left_out_and_the_rest_stays(name: str, caplog: pytest.LogCaptureFixture) -> None:
    entries = tool_list([Tool("one", "", OBJECT), Tool(name, "", OBJECT), Tool("two", "", OBJECT)], "2025-11-25")
    assert [entry["name"] for entry in entries] == ["one", "two"]
    assert f"The tool {name!r} is left out of the list" in caplog.text


def test_of_two_with_one_name_the_first_is_listed() -> None:
    entries = tool_list([Tool("t", "first", OBJECT), Tool("t", "second", OBJECT)], "2025-11-25")
    assert [entry["description"] for entry in entries] == ["first"]


def test_an_entry_that_cannot_be_encoded_is_left_out() -> None:
    assert tool_list([Tool("t", "", OBJECT, meta={"x": object()})], "2025-11-25") == []
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}
    assert tool_list([Tool("t", "", OBJECT, output_schema=deep)], "2025-11-25") == []


def test_resources_templates_and_prompts() -> None:
    assert resource_list([Resource("test://a%3Ab", "a:b", "d", "text/plain"), Resource("test://c", "c")]) == [
        {"uri": "test://a%3Ab", "name": "a:b", "description": "d", "mimeType": "text/plain"},
        {"uri": "test://c", "name": "c"},
    ]
    assert template_list([ResourceTemplate("test://{x}", "x", mime_type="text/plain")]) == [
        {"uriTemplate": "test://{x}", "name": "x", "mimeType": "text/plain"}
    ]
    assert prompt_list([Prompt("p", "d", [{"name": "a", "description": None, "required": True}]), Prompt("q")]) == [
        {"name": "p", "description": "d", "arguments": [{"name": "a", "required": True}]},
        {"name": "q"},
    ]


@pytest.mark.parametrize("uri", ["no scheme", "", "test://my app/x", "/path"])
def test_a_resource_whose_uri_is_none_is_left_out(uri: str) -> None:
    assert [entry["uri"] for entry in resource_list([Resource(uri, "x"), Resource("test://a", "a")])] == ["test://a"]


def test_server_info_says_only_what_there_is() -> None:
    assert server_info(ServerInfo("n", "1")) == {"name": "n", "version": "1"}
    assert server_info(ServerInfo("n", "1", title="T", instructions="x")) == {"name": "n", "version": "1", "title": "T"}


def test_a_list_is_one_page() -> None:
    only_page({})
    only_page({"cursor": None})
    with pytest.raises(ProtocolError, match="Unknown cursor") as caught:
        only_page({"cursor": "2"})
    assert caught.value.code == -32602


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "required", "$defs", "not", "title", "default"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(schema=json_values)
def test_any_schema_at_all_is_listed_as_a_valid_tool(schema: Any) -> None:
    entries = tool_list([Tool("t", "", schema, output_schema=schema)], "2025-11-25")
    for version in mcp_schemas.VERSIONS:
        mcp_schemas.validate(version, "ListToolsResult", {"tools": entries})
    assert len(entries) == 1
    encode(entries)
