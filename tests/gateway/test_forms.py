"""Forms on their way through the gateway: titles of choices, lists, and what the caller's client knows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.gateway.answers import with_titles
from tesseron_py.invocation import Accept, Form
from tesseron_py.mcp.provider import Caller, Client, ClientCapabilities
from tesseron_py.schema.subset import check_subset

from .fake_app import FakeClient, connect, gateway_of, question

EXTENDED = {"extensions": {"tesseron-py": 1}}
SEVERAL = {"type": "array", "items": {"type": "string", "enum": ["s", "l"]}}
TITLED = {"type": "array", "items": {"anyOf": [{"const": "s", "title": "Small"}]}}


def form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": []}


async def test_the_names_of_an_enum_are_titles_for_mcp() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        named = {"type": "string", "title": "Size", "enum": ["s", "l"], "enumNames": ["Small", "Large"], "default": "l"}
        await app.ask(call["params"]["invocationId"], schema=form(size=named, note={"type": "string"}))
        asked = await question(invocation)
        assert isinstance(asked.body, Form)
        assert asked.body.schema == form(
            size={
                "type": "string", "title": "Size", "default": "l",
                "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
            },
            note={"type": "string"},
        )  # fmt: skip
        invocation.answer(asked.id, Accept({"size": "l"}))
        assert (await app.recv())["result"] == {"action": "accept", "value": {"size": "l"}}


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "enum": ["s"], "enumNames": ["Small", "Large"]},
        {"type": "string", "enum": ["s"], "enumNames": "S"},
        {"type": "string", "enum": ["s"], "enumNames": [None]},
        {"type": "integer", "enum": [1], "enumNames": ["One"]},
        {"type": "string", "enum": "s", "enumNames": ["S"]},
        {"type": "string", "enumNames": ["S"]},
        {"type": "string", "enum": ["s"]},
        {"type": "string", "enum": ["s"], "enumNames": ["S"], "oneOf": [{"const": "s", "title": "Own"}]},
    ],
)
def test_names_that_are_none_stay_as_they_are(field: dict[str, Any]) -> None:
    assert with_titles(form(size=field)) == form(size=field)


async def test_an_app_of_ours_hears_which_revision_the_client_speaks() -> None:
    async with gateway_of() as gateway:
        app = connect(gateway)
        await app.hello(**EXTENDED)
        for revision in ("2025-06-18", "2025-11-25", "2026-07-28", ""):
            client = Client("local", "Claude", "1", "legacy", lambda change: None, revision)
            gateway.call_tool("shop__clear", {}, Caller(client, ClientCapabilities(form=True)))
            caller = (await app.recv())["params"]["caller"]
            assert caller.get("revision") == (revision or None)


@pytest.mark.parametrize("field", [SEVERAL, TITLED, {**SEVERAL, "minItems": 1, "title": "Sizes"}])
async def test_choices_of_several_are_for_apps_of_ours_alone(field: dict[str, Any]) -> None:
    for hello, taken in ((EXTENDED, True), ({}, False), ({"extensions": {"another": 1}}, False)):
        async with gateway_of() as gateway:
            client, app = FakeClient(gateway), connect(gateway)
            await app.hello(**hello)
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            call = await app.recv()
            await app.ask(call["params"]["invocationId"], schema=form(size=field))
            if not taken:
                assert (await app.recv())["error"]["code"] == -32602
                continue
            asked = await question(invocation)
            assert isinstance(asked.body, Form)
            assert asked.body.schema == form(size=field)
            invocation.answer(asked.id, Accept({"size": ["s"]}))
            assert (await app.recv())["result"] == {"action": "accept", "value": {"size": ["s"]}}


FREE = [
    {"type": "array"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"type": "string", "enum": []}},
    {"type": "array", "items": {"enum": ["s"]}},
    {"type": "array", "items": {"type": "integer", "enum": [1]}},
    {"type": "array", "items": {"anyOf": []}},
    {"type": "array", "items": {"anyOf": [{"const": "s"}]}},
    {"type": "array", "items": {"anyOf": [{"const": 1, "title": "One"}]}},
    {"type": "array", "items": {"anyOf": ["s"]}},
    {"type": "array", "items": ["s"]},
    {"type": "object", "items": {"type": "string", "enum": ["s"]}},
]


@pytest.mark.parametrize("field", FREE)
async def test_free_lists_are_refused_to_everybody(field: dict[str, Any]) -> None:
    for hello in (EXTENDED, {}):
        async with gateway_of() as gateway:
            client, app = FakeClient(gateway), connect(gateway)
            await app.hello(**hello)
            gateway.call_tool("shop__clear", {}, client.caller())
            call = await app.recv()
            await app.ask(call["params"]["invocationId"], schema=form(size=field))
            assert (await app.recv())["error"]["code"] == -32602


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["s", "string", "array"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["const", "title", "enum", "anyOf", "type"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional={"items": values, "enum": values, "enumNames": values, "oneOf": values}))
def test_whatever_else_a_list_says_tesseron_has_none(more: dict[str, Any]) -> None:
    from tesseron_py.errors import InvalidSchema

    for type in ("array", ["array", "string"]):
        with pytest.raises(InvalidSchema):
            check_subset(form(size={**more, "type": type}))
        with_titles(form(size={**more, "type": type}))
