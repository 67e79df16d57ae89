"""Clients that do not show what they are asked to show: dead forms and forms that nobody sees, over stdio and HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from .clients import Address, Client, by_hand, by_hand_modern
from .conftest import AUTO, BY_HAND, FOREIGN, OFFICIAL, OLD, Kind, of_kind
from .person import CANCEL, DECLINE, YES, Person, Reply, accept
from .processes import PATIENCE, http_server, mcp_command

pytestmark = FOREIGN

HASTY = "tests.product.app:hasty"
GATED = "tests.product.gated:app"


class DeadButton(Person):
    """Somebody who would say yes, and whose client cannot submit a form without fields (VS Code): they close it."""

    async def ask(self, message: str, form: Mapping[str, Any] | None, url: str | None = None) -> Reply:
        self.will(YES if form is not None and form["properties"] else CANCEL)
        return await super().ask(message, form, url)


everyone = of_kind(*OFFICIAL, *AUTO, OLD)


@everyone
@pytest.mark.parametrize("tool", ["outcome", "outcomeSync"])
async def test_field_10_a_confirm_is_answered_where_an_empty_form_cannot_be_submitted(
    client: Client, tool: str
) -> None:
    client.person = DeadButton()
    with anyio.fail_after(PATIENCE):
        assert (await client.call(tool, {"how": "confirm"})).text == "True"
    (prompt,) = client.person.prompts
    assert prompt.form is not None
    assert list(prompt.form["properties"]) == prompt.form["required"] == ["approve"]


@of_kind(*OFFICIAL)
async def test_field_10_an_empty_form_that_is_never_submitted_ends_in_time_and_is_no_yes(
    kind: Kind, carrier: str
) -> None:
    bare = ("--confirm-form", "empty")
    with anyio.fail_after(PATIENCE), http_server(HASTY, *bare) as (url, _):
        async with kind.connect(url if carrier == "http" else mcp_command(HASTY, *bare)) as client:
            for tool in ("outcome", "outcomeSync"):
                assert (await client.call(tool, {"how": "confirm"})).text == "False"
                await client.person.prompts[-1].withdrawn.wait()
            assert [prompt.form for prompt in client.person.prompts] == [{"type": "object", "properties": {}}] * 2


@pytest.fixture(scope="module")
def gated_url() -> Iterator[str]:
    with http_server(GATED) as (url, _):
        yield url


SAID = {"asks": "false", "gated": '{"cancelled":true}', "kept": "Nothing was removed."}
BLAME = ("person", "user", "human", "somebody", "refused", "declined", "rejected", "denied", "said no")


@everyone
async def test_field_39_a_client_that_declines_by_itself_is_heard_at_once_and_no_person_is_blamed(
    kind: Kind, carrier: str, gated_url: str
) -> None:
    address: Address = gated_url if carrier == "http" else mcp_command(GATED)
    async with kind.connect(address) as client:
        for number, tool in enumerate(("asks", "gated", "kept", "strict"), 1):
            client.person.will(DECLINE)
            with anyio.fail_after(PATIENCE):
                result = await client.call(tool)
            assert len(client.person.prompts) == number
            assert result.is_error is (tool == "strict")
            if tool in SAID:
                assert result.text == SAID[tool]
            said = f"{result.text} {result.structured}".lower()
            assert [word for word in BLAME if word in said] == []
        assert (await client.call("removed")).value == []


ODD: list[Mapping[str, Any]] = [
    {"elicitation": {"form": {}, "x": 1}},
    {"elicitation": {"x": {}}},  # which means form, as `{}` does
    {"elicitation": {"form": {"x": [1]}, "url": {}, "voice": None}},
    {"elicitation": {"form": {}}, "x": 1, "experimental": {"y": {}}, "tasks": {"elicitation": {"create": {}}}},
]


@pytest.mark.parametrize("capabilities", ODD, ids=str)
@pytest.mark.parametrize("connect", [by_hand, by_hand_modern])
@of_kind(*BY_HAND)
async def test_field_41_a_client_that_declares_what_nobody_knows_is_asked_all_the_same(
    address: Address, connect: Callable[..., AbstractAsyncContextManager[Client]], capabilities: Mapping[str, Any]
) -> None:
    with anyio.fail_after(PATIENCE):
        async with connect(address, capabilities=capabilities) as client:
            client.person.will(YES, accept(warehouse="WH-7", count=3))
            assert (await client.call("outcome", {"how": "confirm"})).text == "True"
            assert (await client.call("outcome", {"how": "elicit"})).text == "WH-7 3"
