"""`Peer`: what each incoming text means, and that nothing is lost, answered twice or left waiting."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tesseron_py.errors import (
    ActionError,
    ElicitationNotAvailable,
    ErrorCode,
    InternalError,
    TesseronError,
    TooManyPrompts,
    TransportClosed,
)
from tesseron_py.protocol.jsonrpc import Call, Notification, Peer, Rejected, Request, Settled


def error_of(event: object) -> tuple[Any, int]:
    assert isinstance(event, Rejected)
    reply = json.loads(event.reply)
    assert reply["jsonrpc"] == "2.0"
    assert set(reply) == {"jsonrpc", "id", "error"}
    return reply["id"], reply["error"]["code"]


@pytest.mark.parametrize("id", ["7", 7, 0, "", "007", " 7 ", 2**70, None])
def test_an_id_is_echoed_exactly(id: Any) -> None:
    peer = Peer()
    request = peer.receive(json.dumps({"jsonrpc": "2.0", "id": id, "method": "m", "params": {"id": "other"}}))
    assert isinstance(request, Request)
    answer = peer.answer(request, {"ok": True})
    assert answer is not None
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": id, "result": {"ok": True}}
    assert type(json.loads(answer)["id"]) is type(id)


def test_field_56_an_id_that_is_null_makes_a_request_and_no_id_a_notification() -> None:
    peer = Peer()
    assert isinstance(peer.receive('{"jsonrpc":"2.0","id":null,"method":"m"}'), Request)
    assert peer.receive('{"jsonrpc":"2.0","method":"m"}') == Notification("m", None)


@pytest.mark.parametrize(
    ("text", "id", "code"),
    [
        ("", None, ErrorCode.PARSE_ERROR),
        ("{", None, ErrorCode.PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":NaN}', None, ErrorCode.PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":1e999}', None, ErrorCode.PARSE_ERROR),
        ("[]", None, ErrorCode.INVALID_REQUEST),
        ('[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"m"}]', None, ErrorCode.INVALID_REQUEST),
        ("7", None, ErrorCode.INVALID_REQUEST),
        ("{}", None, ErrorCode.INVALID_REQUEST),
        ('{"id":5,"method":"m"}', 5, ErrorCode.INVALID_REQUEST),
        ('{"id":"a","method":"m","jsonrpc":"1.0"}', "a", ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":5,"method":9}', 5, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":true,"method":"m"}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1.5,"method":"m"}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":{},"method":"m"}', None, ErrorCode.INVALID_REQUEST),
        ('{"id":5,"result":1}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":5}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":5,"error":null}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":5,"error":"no"}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":5,"error":{"code":"x","message":"y"}}', None, ErrorCode.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":"y"}}', None, ErrorCode.INVALID_REQUEST),
    ],
)  # fmt: skip
def test_fields_59_60_61_what_is_malformed_is_answered_and_the_next_message_works(
    text: str, id: Any, code: int
) -> None:
    peer = Peer()
    assert error_of(peer.receive(text)) == (id, code)
    assert isinstance(peer.receive('{"jsonrpc":"2.0","id":1,"method":"m"}'), Request)


def test_field_62_a_response_to_nothing_of_ours_is_dropped() -> None:
    peer = Peer()
    call = peer.request("m")
    for text in (
        '{"jsonrpc":"2.0","id":null,"result":1}',
        '{"jsonrpc":"2.0","id":99,"result":1}',
        '{"jsonrpc":"2.0","id":"1","result":1}',
        '{"jsonrpc":"2.0","id":true,"result":1}',
        '{"jsonrpc":"2.0","id":1.0,"result":1}',
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    ):
        assert peer.receive(text) is None
    assert not call.settled
    assert peer.pending == 1


def test_a_call_of_ours_is_settled_once_by_its_answer() -> None:
    peer = Peer()
    settled: list[object] = []
    call = peer.request("resources/read", {"name": "stats"})
    call.on_settled = lambda: settled.append(call.result())
    assert json.loads(call.text) == {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"name": "stats"}}
    with pytest.raises(RuntimeError, match="no answer yet"):
        call.result()
    event = peer.receive('{"jsonrpc":"2.0","id":1,"result":null,"error":null}')
    assert isinstance(event, Settled)
    assert event.call is call
    assert peer.receive('{"jsonrpc":"2.0","id":1,"result":2}') is None
    assert settled == [None]
    assert json.loads(peer.request("m").text)["id"] == 2


@pytest.mark.parametrize(
    ("code", "data", "cls"),
    [
        (-32007, None, ElicitationNotAvailable),
        (-32005, {"cart": 1}, ActionError),
        (-32603, {"reason": "too_many_prompts", "limit": 32}, TooManyPrompts),
        (-32603, ["x"], InternalError),
        (-31999, None, TesseronError),
    ],
)
def test_an_error_comes_back_as_the_class_of_its_code(code: int, data: Any, cls: type[TesseronError]) -> None:
    peer = Peer()
    call = peer.request("m")
    peer.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "why", "data": data}}))
    with pytest.raises(cls) as raised:
        call.result()
    assert type(raised.value) is cls
    assert (raised.value.code, raised.value.message, raised.value.data) == (code, "why", data)
    assert str(raised.value) == "why"
    assert str(code) in repr(raised.value)


@pytest.mark.parametrize(
    "text", ['{"jsonrpc":"2.0","id":1}', '{"id":1,"result":1}', '{"jsonrpc":"2.0","id":1,"error":7}']
)
def test_a_malformed_answer_fails_the_call_it_was_meant_for(text: str) -> None:
    peer = Peer()
    call = peer.request("m")
    assert error_of(peer.receive(text)) == (None, ErrorCode.INVALID_REQUEST)
    with pytest.raises(InternalError, match="malformed"):
        call.result()
    assert peer.pending == 0


def test_field_99_closing_fails_every_call_and_silences_the_peer() -> None:
    peer = Peer()
    calls = [peer.request("m") for _ in range(3)]
    request = peer.receive('{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert isinstance(request, Request)
    peer.close()
    peer.close(TransportClosed("again"))
    assert peer.closed
    assert peer.pending == 0
    for call in calls:
        with pytest.raises(TransportClosed, match="closed"):
            call.result()
    late = peer.request("m")
    assert late.settled
    assert peer.answer(request, 1) is None
    assert peer.refuse(request, ActionError("x")) is None
    assert peer.receive('{"jsonrpc":"2.0","id":1,"method":"m"}') is None


def test_a_request_is_answered_once() -> None:
    peer = Peer()
    request = peer.receive('{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert isinstance(request, Request)
    with pytest.raises(ValueError, match="serialize"):
        peer.answer(request, object())
    assert peer.answer(request, 1) is not None
    assert peer.answer(request, 2) is None
    assert peer.refuse(request, ActionError("x")) is None


def test_an_error_whose_data_cannot_be_encoded_still_goes_out() -> None:
    peer = Peer()
    request = peer.receive('{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert isinstance(request, Request)
    text = peer.refuse(request, ActionError("Cart is locked", object()))
    assert text is not None
    error = json.loads(text)["error"]
    assert error["code"] == -32005
    assert error["message"].startswith("Cart is locked (its data could not be encoded")


def test_a_forgotten_call_hears_nothing() -> None:
    peer = Peer()
    call = peer.request("m")
    peer.forget(call)
    assert peer.receive('{"jsonrpc":"2.0","id":1,"result":1}') is None
    assert not call.settled


def test_a_notification_has_no_id() -> None:
    assert json.loads(Peer().notification("log", {"a": float("nan")})) == {
        "jsonrpc": "2.0",
        "method": "log",
        "params": {"a": None},
    }
    assert json.loads(Peer().notification("log")) == {"jsonrpc": "2.0", "method": "log"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=8,
)
ids = st.none() | st.integers(-3, 3) | st.sampled_from(["1", "", "x"]) | st.booleans() | st.floats(0, 3) | json_values
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2, None]),
        "id": ids,
        "method": st.sampled_from(["m", "actions/invoke"]) | json_values,
        "params": json_values,
        "result": json_values,
        "error": json_values | st.fixed_dictionaries({"code": st.integers(), "message": st.text(max_size=5)}),
    },
)
texts = st.text() | st.binary() | json_values.map(json.dumps) | envelopes.map(json.dumps)


class AnyOrder(RuleBasedStateMachine):
    """Whatever comes in whatever order: it never raises, never answers twice, leaves nothing waiting after close."""

    requests = Bundle("requests")
    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.peer = Peer()
        self.settled: dict[int, int] = {}
        self.made: list[Call] = []

    @rule(text=texts)
    def hear(self, text: str | bytes) -> None:
        event = self.peer.receive(text)
        if isinstance(event, Rejected):
            assert json.loads(event.reply)["error"]["code"] in (-32700, -32600)

    @rule(target=requests, id=st.none() | st.integers(0, 2) | st.sampled_from(["1", "x"]))
    def be_asked(self, id: Any) -> Request | None:
        event = self.peer.receive(json.dumps({"jsonrpc": "2.0", "id": id, "method": "m"}))
        assert isinstance(event, Request) or self.peer.closed
        return event if isinstance(event, Request) else None

    @rule(request=requests, ok=st.booleans())
    def answer(self, request: Request | None, ok: bool) -> None:
        if request is None:
            return
        before = request.answered or self.peer.closed
        text = self.peer.answer(request, 1) if ok else self.peer.refuse(request, ActionError("x"))
        assert (text is None) == before

    @rule(target=calls)
    def call(self) -> Call:
        call = self.peer.request("m")
        self.settled[call.id] = 0
        self.made.append(call)
        if not call.settled:
            call.on_settled = lambda: self.settled.update({call.id: self.settled[call.id] + 1})
        return call

    @rule(call=calls, ok=st.booleans())
    def hear_answer(self, call: Call, ok: bool) -> None:
        body: dict[str, Any] = {"result": 1} if ok else {"error": {"code": 1, "message": "x"}}
        self.peer.receive(json.dumps({"jsonrpc": "2.0", "id": call.id, **body}))

    @rule(call=consumes(calls))
    def forget(self, call: Call) -> None:
        self.peer.forget(call)
        if not call.settled:
            self.made.remove(call)

    @rule()
    def close(self) -> None:
        self.peer.close()
        assert all(call.settled for call in self.made)

    @invariant()
    def settled_at_most_once(self) -> None:
        assert all(times <= 1 for times in self.settled.values())
        assert self.peer.pending == sum(not call.settled for call in self.made)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@given(st.lists(texts, max_size=8))
def test_any_text_in_any_order_never_raises(incoming: list[str | bytes]) -> None:
    peer = Peer()
    for text in incoming:
        peer.receive(text)
    assert isinstance(peer.receive('{"jsonrpc":"2.0","id":1,"method":"m"}'), Request)
