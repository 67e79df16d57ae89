"""Forms at clients that nobody here wrote: names with dots, titled choices, several of them, and asking again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import anyio
import pytest

from .clients import Client, fast, official, old
from .person import CANCEL, accept
from .processes import PATIENCE, mcp_command

# Each with the revision that it speaks.
CLIENTS: dict[str, Callable[..., AbstractAsyncContextManager[Client]]] = {
    "mcp 2.3": official,
    "mcp 2.3 modern": partial(official, mode="auto"),
    "mcp 1.30": old,
    "fastmcp": partial(fast, mode="legacy"),
    "fastmcp modern": fast,
}


@pytest.fixture
def anyio_backend() -> str:
    """fastmcp, and the process of mcp 1.30, run on asyncio alone."""
    return "asyncio"


SEATS = [{"const": "w", "title": "At the window"}, {"const": "a", "title": "At the aisle"}]


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_person_fills_in_what_is_nested_and_what_is_several(name: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with CLIENTS[name](mcp_command("tests.product.forms_app:app")) as client:
            wrong: dict[str, Any] = {"address.street": "main", "seats": ["w"], "bags": 3}
            right = {"address.street": "Main", "address.country": "DE", "seats": ["w", "a"], "extras": [], "seat": "w",
                     "billing.street": "Side", "bags": 2}  # fmt: skip
            client.person.will(accept(**wrong), accept(**right), CANCEL)
            assert (await client.call("book")).text == "Main DE Side WINDOW  WINDOW,AISLE 2"
            assert (await client.call("book")).text == "Cancelled()"
            first, second, _ = client.person.prompts
            assert first.form is not None
            assert second.form is not None
            fields: dict[str, Any] = dict(first.form["properties"])
            assert fields["address.street"] == {"type": "string", "title": "Address.Street", "minLength": 2}
            assert fields["seat"] == {"type": "string", "title": "Seat", "oneOf": SEATS, "default": "a"}
            assert fields["seats"] == {"type": "array", "title": "Seats", "items": {"anyOf": SEATS}}
            assert fields["extras"]["items"] == {"type": "string", "enum": ["wifi", "meal"]}
            assert first.form["required"] == ["address.street", "seats"]
            head, _, _, *lines = second.message.split("\n")
            assert head == "How do you travel?"
            assert lines == ['- Address.Street: a street begins with a capital letter, you gave "main"']
            shown = {field: each["default"] for field, each in second.form["properties"].items() if "default" in each}
            assert shown["address.street"] == "main"
            assert shown["seats"] == ["w"]
            assert shown["bags"] == 3
