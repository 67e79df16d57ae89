"""The options of `tesseron-py mcp` that a client notices: a token, and how a confirm is shown."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest
from mcp import MCPError

from .clients import Address, official
from .conftest import APP, FOREIGN, OFFICIAL, of_kind
from .person import CANCEL, DECLINE, YES
from .processes import PATIENCE, Server, http_server, mcp_command

pytestmark = [*FOREIGN, of_kind(*OFFICIAL)]


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[str, Server]]:
    with http_server(APP, env={"TESSERON_TOKEN": "s3cret"}) as served:
        yield served


@pytest.fixture(scope="module")
def empty_url() -> Iterator[str]:
    with http_server(APP, "--confirm-form", "empty") as (url, _):
        yield url


async def test_a_server_with_a_token_serves_who_has_it(guarded: tuple[str, Server]) -> None:
    url, server = guarded
    with anyio.fail_after(PATIENCE):
        for token in (None, "s3cre", "S3cret"):
            with pytest.RaisesGroup(MCPError, flatten_subgroups=True):
                async with official(url, token=token):
                    raise AssertionError("nobody without the token gets in")
        async with official(url, token="s3cret") as client:
            client.person.will(YES)
            assert (await client.call("outcome", {"how": "confirm"})).text == "True"
        assert "s3cret" not in server.errors


async def test_a_confirm_may_be_an_empty_form(carrier: str, empty_url: str) -> None:
    address: Address = empty_url if carrier == "http" else mcp_command(APP, "--confirm-form", "empty")
    with anyio.fail_after(PATIENCE):
        async with official(address) as client:
            client.person.will({"action": "accept"}, {"action": "accept", "content": {}}, DECLINE, CANCEL)
            learnt = [(await client.call("outcome", {"how": "confirm"})).text for _ in range(4)]
            assert learnt == ["True", "True", "False", "False"]
            assert [prompt.form for prompt in client.person.prompts] == [{"type": "object", "properties": {}}] * 4
