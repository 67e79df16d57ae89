"""Questions as requests of MCP, and answers as replies: what is unclear is a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.invocation import (
    Accept,
    Body,
    Cancel,
    Decline,
    Form,
    Malformed,
    Reply,
    Roots,
    Sample,
    Unavailable,
    Url,
)
from tesseron_py.mcp.provider import ClientCapabilities
from tesseron_py.mcp.questions import client_capabilities, reply_from_response, to_request

FORM = Form("Sure?", {"type": "object", "properties": {}})
ALL = ClientCapabilities(form=True, url=True, sampling=True, roots=True)


def can(declared: dict[str, Any], version: str = "2025-11-25", *, can_ask: bool = True) -> ClientCapabilities:
    return client_capabilities(declared, version, can_ask=can_ask, progress=False)


@pytest.mark.parametrize(
    ("elicitation", "form", "url"),
    [
        ({}, True, False),
        ({"form": {}}, True, False),
        ({"url": {}}, False, True),
        ({"form": {}, "url": {}}, True, True),
        ({"form": {}, "x": 1}, True, False),
        ({"form": None, "url": {}}, False, True),
        ({"form": None, "url": None}, True, False),
        (None, False, False),
        (True, False, False),
        ([], False, False),
    ],
)
def test_field_40_and_41_the_modes_a_client_declares(elicitation: Any, form: bool, url: bool) -> None:
    capabilities = can({"elicitation": elicitation})
    assert (capabilities.form, capabilities.url) == (form, url)
    older = can({"elicitation": elicitation}, "2025-06-18")
    assert (older.form, older.url) == (form, False)


def test_before_2025_06_18_nobody_can_be_asked() -> None:
    for version in ("2024-11-05", "2025-03-26"):
        capabilities = can({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}, version)
        assert (capabilities.form, capabilities.url) == (False, False)
        assert (capabilities.sampling, capabilities.roots) == (True, True)


def test_a_call_that_cannot_carry_a_question_has_none_of_it() -> None:
    assert can({"elicitation": {}, "sampling": {}, "roots": {}}, can_ask=False) == ClientCapabilities(
        subscriptions=True
    )
    assert can({"sampling": None, "roots": 1}) == ClientCapabilities(subscriptions=True)


@pytest.mark.parametrize("body", [FORM, Url("Log in", "https://x"), Sample({"messages": []}), Roots()])
def test_field_38_what_the_client_lacks_is_said_and_not_sent(body: Body) -> None:
    answer = to_request(body, "2025-11-25", ClientCapabilities())
    assert isinstance(answer, Unavailable)
    assert "this client cannot" in answer.reason


def test_questions_as_requests() -> None:
    assert to_request(FORM, "2025-11-25", ALL) == (
        "elicitation/create",
        {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
    )
    method, params = to_request(Url("Log in", "https://x"), "2025-11-25", ALL)
    assert (method, params["mode"], params["message"], params["url"]) == (
        "elicitation/create", "url", "Log in", "https://x",
    )  # fmt: skip
    assert len(params["elicitationId"]) > 16
    assert to_request(Roots(), "2025-11-25", ALL) == ("roots/list", None)
    assert to_request(Sample({"messages": []}), "2025-11-25", ALL) == (
        "sampling/createMessage",
        {"messages": [], "maxTokens": 1024},
    )
    assert to_request(Sample({"maxTokens": 7}), "2025-11-25", ALL) == ("sampling/createMessage", {"maxTokens": 7})


def test_a_form_that_the_revision_does_not_know_is_not_sent() -> None:
    several = Form("Which?", {"properties": {"x": {"type": "array", "items": {"enum": ["a"]}}}})
    assert isinstance(to_request(several, "2025-06-18", ALL), Unavailable)
    assert not isinstance(to_request(several, "2025-11-25", ALL), Unavailable)


def answered(body: Body = FORM, **members: Any) -> Reply:
    return reply_from_response(body, {"jsonrpc": "2.0", "id": "q-1", **members})


@pytest.mark.parametrize(
    ("result", "reply"),
    [
        ({"action": "accept", "content": {"approve": True}}, Accept({"approve": True})),
        ({"action": "accept", "content": {}}, Accept({})),
        ({"action": "accept", "content": None}, Accept({})),
        ({"action": "accept"}, Accept({})),
        ({"action": "decline"}, Decline()),
        ({"action": "decline", "content": {"approve": True}}, Decline()),
        ({"action": "decline", "content": 5}, Decline()),
    ],
)
def test_field_31_and_33_the_plain_answers(result: Any, reply: Reply) -> None:
    assert answered(result=result) == reply
    assert answered(Url("", ""), result=result) == reply


@pytest.mark.parametrize("content", [None, {}, {"approve": True}, 5])
def test_a_cancel_is_one_whatever_it_carries(content: Any) -> None:
    assert isinstance(answered(result={"action": "cancel", "content": content}), Cancel)


@pytest.mark.parametrize("content", [{}, None, {"approve": True}, {"name": 7}, [], "yes", True])
@pytest.mark.parametrize(("action", "reply"), [("decline", Decline), ("cancel", Cancel)])
def test_field_33_what_comes_with_a_refusal_is_not_looked_at(
    action: str, reply: type[Decline | Cancel], content: Any
) -> None:
    for body in (FORM, Url("", "")):
        assert isinstance(answered(body, result={"action": action, "content": content}), reply)


@pytest.mark.parametrize(
    "result",
    [
        {"action": "reject"},
        {"action": "Accept"},
        {"action": True},
        {"action": ["accept"]},
        {},
        {"content": {"approve": True}},
        {"action": "accept", "content": [True]},
        {"action": "accept", "content": "yes"},
        {"action": "accept", "content": False},
        "accept",
        None,
        ["accept"],
        True,
    ],
)
def test_field_36_an_answer_that_is_none_is_malformed(result: Any) -> None:
    assert answered(result=result) == Malformed(result)


@pytest.mark.parametrize("error", [{"code": -1, "message": "No UI"}, {"code": -1}, "odd", 5, {}])
def test_field_49_an_error_counts_as_cancel(error: Any) -> None:
    reply = answered(error=error)
    assert isinstance(reply, Cancel)
    assert "answered with an error" in reply.reason
    assert isinstance(answered(error=error, result={"action": "accept"}), Cancel)


def test_an_envelope_that_is_none_is_malformed() -> None:
    yes = {"action": "accept", "content": {"approve": True}}
    assert answered(error=None) == answered(error=None, **yes) == Malformed(None)
    for message in ({"result": yes}, {"jsonrpc": "1.0", "result": yes}, yes, {"jsonrpc": "2.0", **yes}):
        assert reply_from_response(FORM, {"id": "q-1", **message}) == Malformed(None)


@pytest.mark.parametrize("body", [Sample({}), Roots()])
def test_the_result_of_anything_else_is_taken_whole(body: Body) -> None:
    assert answered(body, result={"role": "assistant"}) == Accept({"role": "assistant"})
    assert answered(body, result=[1]) == Malformed([1])
    assert isinstance(answered(body, error={"code": -1, "message": "no"}), Cancel)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["action", "content"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["jsonrpc", "result", "error", "id"]), json_values))
def test_only_an_accept_is_ever_one(message: dict[str, Any]) -> None:
    reply = reply_from_response(FORM, message)
    if isinstance(reply, Accept):
        assert message["result"]["action"] == "accept"
        assert message.get("error") is None
