"""What came of a call, as the result of an MCP request."""

from __future__ import annotations

from typing import Any

import mcp_schemas
import pytest

from tesseron_py.errors import ActionError, InvalidInput, NotFound, TesseronError
from tesseron_py.invocation import Done, Failed, Outcome
from tesseron_py.mcp.messages import ProtocolError
from tesseron_py.mcp.provider import PromptOutput, ResourceOutput, ToolOutput
from tesseron_py.mcp.results import (
    completion_result,
    empty_result,
    failure,
    prompt_result,
    resource_result,
    tool_result,
)

NEW = "2025-11-25"


def result(value: Any, *, structured: bool = False, version: str = NEW) -> dict[str, Any]:
    """The result of a tool that ended like this, valid in the version's schema."""
    outcome: Outcome = value if isinstance(value, Failed) else Done(value)
    made = tool_result(outcome, structure="object" if structured else "none", version=version)
    if version in mcp_schemas.VERSIONS:
        mcp_schemas.validate(version, "CallToolResult", made)
    return made


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("value", "shown"),
    [("héllo", "héllo"), ("", ""), ({"a": [1, None]}, '{"a":[1,null]}'), (None, "null"), (0, "0"), (False, "false")],
)
def test_a_string_goes_out_verbatim_and_anything_else_as_json(value: Any, shown: str) -> None:
    assert result(ToolOutput(value)) == {"content": [text(shown)]}


def test_a_value_without_its_wrapping_is_taken_for_one() -> None:
    assert result(5) == {"content": [text("5")]}


def test_a_structured_tool_says_it_twice() -> None:
    assert result(ToolOutput({"n": 1}), structured=True) == {
        "content": [text('{"n":1}')],
        "structuredContent": {"n": 1},
    }


@pytest.mark.parametrize("value", ["text", 5, None, [1]])
def test_a_structured_tool_without_an_object_is_an_error_and_no_broken_success(value: Any) -> None:
    made = result(ToolOutput(value), structured=True)
    assert made["isError"] is True
    assert "structuredContent" not in made
    assert "not the object" in made["content"][0]["text"]


def test_an_error_is_a_result_with_code_and_data() -> None:
    made = result(Failed(ActionError("Out of stock", {"sku": "A1"})))
    assert made == {
        "content": [text("Out of stock")],
        "isError": True,
        "structuredContent": {"code": -32005, "data": {"sku": "A1"}},
    }
    assert result(Failed(ActionError("No data")))["structuredContent"] == {"code": -32005}


def test_an_error_of_a_tool_with_an_output_schema_says_its_code_in_meta() -> None:
    made = result(Failed(ActionError("Out of stock", {"sku": "A1"})), structured=True)
    assert "structuredContent" not in made
    assert made["_meta"] == {"tesseron/error": {"code": -32005, "data": {"sku": "A1"}}}


def test_an_error_without_words_or_with_odd_data_still_says_something() -> None:
    assert result(Failed(TesseronError(-32001, "")))["content"] == [text("The tool failed (code -32001)")]
    assert result(Failed(ActionError("x", object())))["structuredContent"] == {"code": -32005}


def test_blocks_go_out_as_they_are() -> None:
    blocks = [
        text("words"),
        {"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {"priority": 1}},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "test://x", "text": "held"}},
        {"type": "resource", "resource": {"uri": "test://x", "blob": "aGk="}},
        {"type": "resource_link", "uri": "test://x", "name": "x"},
    ]
    for version in mcp_schemas.VERSIONS:
        assert result(ToolOutput("unused", blocks), version=version)["content"] == blocks
    assert result(ToolOutput("unused", []))["content"] == []


def test_blocks_that_an_older_client_does_not_know_become_text() -> None:
    blocks = [
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "test://x", "name": "x"},
        {"type": "resource_link", "uri": "test://y"},
    ]
    assert result(ToolOutput(None, blocks), version="2025-03-26")["content"] == [
        blocks[0],
        text("x: test://x"),
        text("Resource: test://y"),
    ]
    assert "audio/wav" in result(ToolOutput(None, blocks), version="2024-11-05")["content"][0]["text"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text"},
        {"type": "text", "text": 5},
        {"type": "image", "data": "aGk="},
        {"type": "resource", "resource": {"uri": "test://x"}},
        {"type": "resource", "resource": "x"},
        {"type": "resource_link", "uri": "test://x"},
        {"type": "hologram"},
        {},
        ["x"],
        "bare",
    ],
)
def test_a_block_that_is_none_becomes_text(block: Any) -> None:
    [made] = result(ToolOutput(None, [block]))["content"]
    assert made["type"] == "text"


@pytest.mark.parametrize(
    ("value", "mime", "contents"),
    [
        ("héllo", None, {"mimeType": "text/plain", "text": "héllo"}),
        ("<p>", "text/html", {"mimeType": "text/html", "text": "<p>"}),
        ("", None, {"mimeType": "text/plain", "text": ""}),
        (b"\x00\xff", None, {"mimeType": "application/octet-stream", "blob": "AP8="}),
        (bytearray(b"hi"), "image/png", {"mimeType": "image/png", "blob": "aGk="}),
        ({"n": 1}, None, {"mimeType": "application/json", "text": '{"n":1}'}),
        (None, None, {"mimeType": "application/json", "text": "null"}),
    ],
)
def test_what_a_resource_holds_decides_how_it_goes_out(value: Any, mime: str | None, contents: dict[str, Any]) -> None:
    made = resource_result(Done(ResourceOutput("test://x", value, mime)), "test://x")
    assert made == {"contents": [{"uri": "test://x", **contents}]}
    if mime is None:
        assert resource_result(Done(value), "test://x") == made
    mcp_schemas.validate(NEW, "ReadResourceResult", made)


@pytest.mark.parametrize("code", [-32002, -32602])
def test_a_resource_that_is_gone_is_the_eras_code_with_its_uri(code: int) -> None:
    with pytest.raises(ProtocolError) as caught:
        resource_result(Failed(NotFound("It went away")), "test://x", unknown=code)
    assert (caught.value.code, caught.value.message) == (code, "It went away")
    assert caught.value.data == {"uri": "test://x"}


def test_codes_of_tesseron_never_become_those_of_json_rpc() -> None:
    for error in (ActionError("On fire", {"disk": 1}), TesseronError(-32010, ""), TesseronError(-1, "x")):
        for conclude in (
            lambda outcome: resource_result(outcome, "test://x"),
            lambda outcome: empty_result(outcome, "test://x"),
            prompt_result,
            completion_result,
        ):
            with pytest.raises(ProtocolError) as caught:
                conclude(Failed(error))
            assert caught.value.code == -32603
            assert caught.value.message
            assert caught.value.data["code"] == error.code
    assert failure(ActionError("x", [1])).data == {"code": -32005, "data": [1]}


def test_wrong_input_is_told_as_wrong_params() -> None:
    assert failure(InvalidInput("who is missing")).code == -32602
    assert failure(TesseronError(-32602, "who is missing")).code == -32602


def test_subscriptions_have_nothing_to_say() -> None:
    assert empty_result(Done(None), "test://x") == {}
    with pytest.raises(ProtocolError) as caught:
        empty_result(Failed(NotFound("gone")), "test://x")
    assert caught.value.code == -32002


def test_a_prompt_may_have_a_description() -> None:
    messages = [{"role": "user", "content": text("hi")}]
    assert prompt_result(Done(PromptOutput(messages))) == {"messages": messages}
    assert prompt_result(Done(PromptOutput(messages, "d")))["description"] == "d"


def test_a_completion_has_at_most_100_values() -> None:
    assert completion_result(Done(["a"])) == {"completion": {"values": ["a"], "total": 1, "hasMore": False}}
    made = completion_result(Done([str(n) for n in range(101)]))["completion"]
    assert (len(made["values"]), made["total"], made["hasMore"]) == (100, 101, True)
