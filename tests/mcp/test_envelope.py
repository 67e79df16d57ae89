"""What an incoming message is, and the text of an outgoing one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.mcp.envelope import (
    ABSENT,
    Answer,
    Invalid,
    Notification,
    Request,
    error_text,
    id_at_an_edge,
    notification_text,
    parse,
    request_text,
    size_above,
    unreadable,
)


def message(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **members})


def test_requests_notifications_and_answers_are_told_apart() -> None:
    assert parse(message(id=1, method="ping")) == Request(1, "ping", None)
    assert parse(message(id="1", method="ping", params={"a": 1})) == Request("1", "ping", {"a": 1})
    assert parse(message(method="notifications/x", params=[])) == Notification("notifications/x", [])
    answer = parse(message(id="q-1", result={"action": "accept"}))
    assert isinstance(answer, Answer)
    assert (answer.id, answer.message["result"]) == ("q-1", {"action": "accept"})
    assert isinstance(parse(message(id=None, error=None)), Answer)


@pytest.mark.parametrize("text", ["", "{", "nope", '{"a":NaN}', '"\\ud800"', b"\xff", "[" * 300 + "]" * 300])
def test_field_25_what_is_not_json_is_a_parse_error(text: str | bytes) -> None:
    invalid = parse(text)
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.id) == (-32700, ABSENT)


@pytest.mark.parametrize("text", ["[]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "1", '"x"', "null"])
def test_field_59_a_batch_or_a_scalar_is_one_invalid_request(text: str) -> None:
    invalid = parse(text)
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.id) == (-32600, ABSENT)


def test_field_56_a_null_id_is_refused_under_a_null_id() -> None:
    invalid = parse(message(id=None, method="ping"))
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.id) == (-32600, None)
    assert json.loads(invalid.reply(absent=ABSENT))["id"] is None


@pytest.mark.parametrize("id", [1.5, 1.0, True, [], {}])
def test_an_id_is_a_string_or_an_integer(id: Any) -> None:
    invalid = parse(message(id=id, method="ping"))
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.id) == (-32600, ABSENT)


def test_what_is_wrong_with_a_request_is_said_under_its_id() -> None:
    for text in (message(id=7, method=5), '{"id":7,"method":"ping"}', message(id=7), '{"jsonrpc":"1.0","id":7}'):
        invalid = parse(text)
        assert isinstance(invalid, Invalid)
        assert (invalid.code, invalid.id) == (-32600, 7)


def test_a_malformed_notification_is_one_nobody_answers() -> None:
    assert parse(message(method=5)) == Notification("", None)
    assert parse('{"method":"x"}') == Notification("x", None)


def test_field_61_the_id_is_the_envelopes() -> None:
    assert parse('{"params":{"id":99},"id":1,"method":"m","jsonrpc":"2.0"}') == Request(1, "m", {"id": 99})


def test_an_id_that_cannot_be_told_is_left_out_or_null() -> None:
    invalid = parse("nope")
    assert isinstance(invalid, Invalid)
    assert "id" not in json.loads(invalid.reply(absent=ABSENT))
    assert json.loads(invalid.reply())["id"] is None
    assert repr(ABSENT) == "ABSENT"


def test_an_error_goes_out_even_when_its_data_cannot() -> None:
    assert json.loads(error_text(1, -1, "x", {"d": 1}))["error"] == {"code": -1, "message": "x", "data": {"d": 1}}
    assert json.loads(error_text(1, -1, "x", object()))["error"] == {"code": -1, "message": "x"}


def test_params_are_left_out_where_there_are_none() -> None:
    assert json.loads(request_text("q", "roots/list", None)) == {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}
    assert json.loads(notification_text("n")) == {"jsonrpc": "2.0", "method": "n"}
    assert json.loads(notification_text("n", {}))["params"] == {}


def test_a_message_is_one_line_for_every_notion_of_a_line() -> None:
    text = notification_text("n", {"x": "a\u2028b\u2029c\x85d\x0b\x1ce\r\n Zoë"})
    assert len(text.splitlines()) == 1
    assert "Zoë" in text
    assert json.loads(text)["params"]["x"] == "a\u2028b\u2029c\x85d\x0b\x1ce\r\n Zoë"


@pytest.mark.parametrize("text", ["a" * 10, "ü" * 5, "\U0001f600" * 3])
def test_sizes_are_bytes_of_utf8(text: str) -> None:
    size = len(text.encode())
    assert size_above(text, size) is None
    assert size_above(text, size * 4) is None
    assert size_above(text, size - 1) == size


@given(st.binary() | st.text())
def test_nothing_that_comes_in_raises(text: str | bytes) -> None:
    parse(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.just("2.0") | json_values,
            "id": json_values,
            "method": json_values,
            "params": json_values,
            "result": json_values,
            "error": json_values,
        },
    )
)
def test_any_object_is_one_kind_of_message(members: dict[str, Any]) -> None:
    found = parse(json.dumps(members))
    if isinstance(found, Request):
        assert found.id == members["id"]
        assert found.method == members["method"]
    elif isinstance(found, Invalid):
        assert json.loads(found.reply())["error"]["code"] == -32600
    elif isinstance(found, Notification):
        assert "id" not in members
    else:
        assert "method" not in members


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"', b'xxx"}}', 7),
        (b'{ "id" : "a-1", "jsonrpc":"2.0"', b"", "a-1"),
        (b'{"method":"x","params":{"id":5,"a":"', b'xxx"},"jsonrpc":"2.0","id":9}', 9),
        (b'{"method":"x","params":{"a":"', b'xxx"},"id":"b","jsonrpc":"2.0"}\n', "b"),
        (b'{"method":"x","params":{"id":5,', b'xxx","id":5}}', None),
        (b'{"params":{"a":"', b'xxx"', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"', b"}", None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"', b"}", None),
        (b"", b"", None),
    ],
)
def test_field_61_an_id_is_found_at_the_edges_of_a_message_that_is_too_long(head: bytes, tail: bytes, id: Any) -> None:
    assert id_at_an_edge(head, tail) == id


RESULT = b'"result":{"action":"accept","content":{"id":"inner","method":"inner","value":'


@pytest.mark.parametrize(
    ("head", "tail", "id", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":"q-1",' + RESULT, b"}}}", ABSENT, "q-1"),
        (b'{"id":"q-1","jsonrpc":"2.0",' + RESULT, b"}}}", ABSENT, "q-1"),
        (b'{"jsonrpc":"1.0","id":"q-1",' + RESULT, b"}}}", ABSENT, "q-1"),
        (b"{" + RESULT, b'}},"jsonrpc":"2.0","id":"q-1"}', ABSENT, "q-1"),
        (b'{ "jsonrpc": "2.0", ' + RESULT, b'}}, "id": "q-1" }\n', ABSENT, "q-1"),
        (b'{"error":{"code":1,"message":', b'},"id":"q-1","jsonrpc":"2.0"}', ABSENT, "q-1"),
        (b'{"action":"accept","content":', b',"x":1,"id":"q-1"}', "q-1", "q-1"),
        (b"{" + RESULT, b"}}}", ABSENT, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{', b"}}", 7, None),
        (b'{"method":"m","params":{"result":', b'},"jsonrpc":"2.0","id":7}', 7, None),
        (b'{"params":{"result":', b'},"method":"m","jsonrpc":"2.0","id":7}', 7, None),
    ],
)
def test_an_answer_that_cannot_be_read_is_told_by_its_edges(head: bytes, tail: bytes, id: Any, answers: Any) -> None:
    assert unreadable(-32700, "why", head, tail) == Invalid(-32700, "why", id, answers)
    invalid = parse(head + b"NaN" + tail)
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.id, invalid.answers) == (-32700, id, answers)
    assert parse((head + b"NaN" + tail).decode()) == invalid


def test_a_message_that_is_request_and_response_is_neither() -> None:
    invalid = parse(message(id="q-1", method="elicitation/create", result={"action": "accept"}))
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.id, invalid.answers) == (-32600, "q-1", "q-1")
