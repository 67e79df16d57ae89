"""What a request of the modern era says in HTTP headers: encoding, arguments with headers, the remembered list."""

from __future__ import annotations

import base64
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.mcp.client_headers import ToolHeaders, annotated, argument_headers, header_value, standard_headers


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(name: Any, type: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": type, "x-mcp-header": name, **more}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("a b", "a b"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?BASE64?x?=", "=?BASE64?x?="),
    ],
)
def test_a_value_goes_plain_or_encoded(text: str, value: str) -> None:
    assert header_value(text) == value


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back_from_a_header(text: str) -> None:
    value = header_value(text)
    assert value.isascii()
    assert all(" " <= char <= "~" for char in value)
    assert value == value.strip()
    if value != text:
        assert value.startswith("=?base64?")
        assert base64.b64decode(value[9:-2]).decode() == text


def test_every_request_names_its_version_its_method_and_what_it_is_about() -> None:
    both = {"MCP-Protocol-Version": "2026-07-28"}
    assert standard_headers("tools/list", None) == both | {"Mcp-Method": "tools/list"}
    assert standard_headers("tools/call", {"name": "é"})["Mcp-Name"] == "=?base64?w6k=?="
    assert standard_headers("prompts/get", {"name": "hello"})["Mcp-Name"] == "hello"
    assert standard_headers("resources/read", {"uri": "x://a", "name": "b"})["Mcp-Name"] == "x://a"
    assert "Mcp-Name" not in standard_headers("tools/call", {"name": 7})
    assert "Mcp-Name" not in standard_headers("completion/complete", {"name": "x"})


def test_arguments_are_found_where_their_place_is_fixed() -> None:
    where = schema(
        region=marked("Region"),
        deep=schema(count=marked("Count", "integer"), far=marked("Far", "boolean")),
        plain={"type": "string", "default": {"x-mcp-header": "not one"}, "enum": [{"x-mcp-header": "nor this"}]},
    )
    paths = annotated(where)
    assert paths == {("region",): "Region", ("deep", "count"): "Count", ("deep", "far"): "Far"}
    assert argument_headers(paths, {"region": "é", "deep": {"count": -7, "far": True}}) == {
        "Mcp-Param-Region": "=?base64?w6k=?=",
        "Mcp-Param-Count": "-7",
        "Mcp-Param-Far": "true",
    }
    assert argument_headers(paths, {"region": None, "deep": {"count": 42.0, "far": False}}) == {
        "Mcp-Param-Count": "42",
        "Mcp-Param-Far": "false",
    }
    assert argument_headers(paths, {"region": ["x"], "deep": "flat"}) == {}
    assert argument_headers(paths, {"deep": {"count": 1.5}}) == {}
    assert argument_headers(paths, None) == {}


@pytest.mark.parametrize("what", [None, True, [], {}, {"properties": []}, {"properties": {"x": True}}])
def test_a_schema_without_annotations_has_no_headers(what: Any) -> None:
    assert annotated(what) == {}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (schema(a=marked("")), "a: x-mcp-header is not the name of a header"),
        (schema(a=marked("a b")), "not the name"),
        (schema(a=marked("a\r\nb")), "not the name"),
        (schema(a=marked(7)), "not the name"),
        (schema(a=marked("A", "number")), "needs the type"),
        (schema(a=marked("A", ["string"])), "needs the type"),
        (schema(a={"x-mcp-header": "A"}), "needs the type"),
        (schema(a=marked("A"), b=marked("a")), "is there twice"),
        (marked("A", "object"), "no argument has a fixed place"),
        (schema(a={"type": "array", "items": marked("A")}), "fixed place"),
        (schema(a={"anyOf": [{"properties": {"b": marked("A")}}]}), "fixed place"),
        ({"$defs": {"x": marked("A")}}, "fixed place"),
        ({"if": {"properties": {"x": marked("A")}}}, "fixed place"),
    ],
)
def test_an_annotation_that_breaks_a_rule_is_told(wrong: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        annotated(wrong)


async def test_a_list_is_remembered_and_goes_stale(caplog: pytest.LogCaptureFixture) -> None:
    tools = ToolHeaders()
    assert not tools.fresh
    good = {"name": "good", "inputSchema": schema(a=marked("A"))}
    bad = {"name": "bad", "inputSchema": schema(a=marked(""))}
    assert tools.learn({"tools": [good, bad, {"name": "plain"}, {"x": 1}], "nextCursor": "2"})["tools"] == [
        good, {"name": "plain"}, {"x": 1},
    ]  # fmt: skip
    assert "'bad' is left out" in caplog.text
    assert not tools.fresh  # there is more of it
    tools.learn({"tools": [], "ttlMs": 60_000})
    assert tools.fresh
    assert tools.paths == {"good": {("a",): "A"}}
    assert anyio.current_time() < tools.stale_at <= anyio.current_time() + 60
    tools.forget()
    assert not tools.fresh
    tools.learn({"tools": [{"name": "good"}], "ttlMs": 0})
    assert tools.fresh  # until a call is refused
    assert tools.paths == {}
