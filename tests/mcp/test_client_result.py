"""What a call's result says: its text, its one value, and why it failed."""

from __future__ import annotations

from typing import Any

import pytest

from tesseron_py.mcp.client import BadAnswer, CallResult, value_of
from tesseron_py.mcp.results import STRING_META


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": each} for each in texts]


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": text("7"), "structuredContent": {"n": 8}}, {"n": 8}),
        ({"content": text("7"), "structuredContent": {}}, {}),
        ({"content": text("7"), "structuredContent": None}, 7),
        ({"content": text("7"), "structuredContent": [1]}, 7),
        ({"content": text('{"a":[1]}')}, {"a": [1]}),
        ({"content": text("null")}, None),
        ({"content": text('"quoted"')}, "quoted"),
        ({"content": text("plain words")}, "plain words"),
        ({"content": text("NaN")}, "NaN"),
        ({"content": text("")}, ""),
        ({"content": text("1", "2")}, text("1", "2")),
        ({"content": [IMAGE]}, [IMAGE]),
        ({"content": []}, []),
        ({"content": "x"}, []),
        ({}, []),
        ({"content": [7, *text("x")]}, "x"),
        ({"content": [{"type": "text", "text": 7}]}, [{"type": "text", "text": 7}]),
        ({"content": [{"type": "resource", "text": "7"}]}, [{"type": "resource", "text": "7"}]),
    ],
)
def test_the_value(result: dict[str, Any], value: Any) -> None:
    assert CallResult.from_wire(result).value == value


def test_a_string_that_its_server_marks_as_one_stays_one() -> None:
    assert CallResult.from_wire({"content": text("7"), "_meta": {STRING_META: True}}).value == "7"
    assert CallResult.from_wire({"content": text("7"), "_meta": {STRING_META: "yes"}}).value == 7


def test_the_value_of_resource_contents() -> None:
    assert value_of([{"uri": "x://a", "text": '{"n":1}', "mimeType": "application/json"}]) == {"n": 1}
    assert value_of([{"uri": "x://a", "text": "words"}]) == "words"
    assert value_of([{"uri": "x://a", "blob": "aGk=", "mimeType": "image/png"}]) == b"hi"
    assert value_of([{"uri": "x://a", "blob": ""}]) == b""
    for odd in ("aGk", "a Gk=", "ü", 7, None):
        contents = [{"uri": "x://a", "blob": odd}]
        assert value_of(contents) == contents
    two = [{"uri": "x://a", "blob": "aGk="}] * 2
    assert value_of(two) == two


def test_the_text_is_that_of_the_text_blocks() -> None:
    assert CallResult.from_wire({"content": [*text("a", "b"), IMAGE]}).text == "a\nb"


def test_a_failure_says_its_code_and_data_wherever_they_stand() -> None:
    failed = {"content": text("no"), "isError": True}
    in_structured = CallResult.from_wire({**failed, "structuredContent": {"code": -32005, "data": [1]}})
    in_meta = CallResult.from_wire({**failed, "_meta": {"tesseron/error": {"code": -32004}}})
    nowhere = CallResult.from_wire({**failed, "_meta": {"tesseron/error": 7}})
    odd = CallResult.from_wire({**failed, "structuredContent": {"code": "x"}})
    assert [(each.is_error, each.code, each.data) for each in (in_structured, in_meta, nowhere, odd)] == [
        (True, -32005, [1]),
        (True, -32004, None),
        (True, None, None),
        (True, None, None),
    ]


def test_a_success_has_no_code_whatever_it_holds() -> None:
    result = CallResult.from_wire({"structuredContent": {"code": 7, "data": 8}, "isError": "true"})
    assert (result.is_error, result.code, result.data) == (False, None, None)


@pytest.mark.parametrize("result", [None, [], "x", 7])
def test_a_result_that_is_no_object_is_refused(result: Any) -> None:
    with pytest.raises(BadAnswer):
        CallResult.from_wire(result)
