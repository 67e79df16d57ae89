"""What goes over the wire is JSON in UTF-8 and nothing else, whatever a handler prints or the locale says; its size."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
import pytest

from .clients import Address, Client
from .conftest import APP, FOREIGN, OFFICIAL, OLD, Kind, of_kind
from .person import YES, accept
from .processes import PATIENCE, http_server, mcp_command
from .raw import Pipe

pytestmark = FOREIGN

NOISY = "tests.product.noisy:app"
WORDS = "Zoë 🎉 Привет \u2028 \x85 中文"
MIB = 1024 * 1024
CP1252 = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}


# Noise


def test_field_80_what_is_printed_goes_to_standard_error() -> None:
    with Pipe(NOISY) as pipe:
        pipe.open()
        for tool in ("shout", "shoutSync"):
            id = pipe.call(tool)
            prompt = pipe.said("elicitation/create")
            pipe.send(id=prompt["id"], result={"action": "accept", "content": {"approve": True}})
            text = pipe.response(id)["result"]["content"][0]["text"]
            assert text == ("loud enough: True" if tool == "shout" else "loud enough: True, input: ''")
        pipe.close()
        pipe.server.end(None)
        # `Pipe` has read every line as JSON.
        assert not any(b"noise" in line for line in pipe.lines)
        for noise in ("import 🎉", "print in an async handler Zoë 🎉", "write in", "bytes", "descriptor", "child"):
            assert f"noise: {noise}" in pipe.server.errors


def test_field_80_what_is_printed_goes_nowhere_without_a_standard_error() -> None:
    with Pipe(NOISY, through=["sh", "-c", 'exec "$0" "$@" 2>&-']) as pipe:
        pipe.open()
        id = pipe.call("shout")
        pipe.send(id=pipe.said("elicitation/create")["id"], result={"action": "decline"})
        assert pipe.response(id)["result"]["content"][0]["text"] == "loud enough: False"
        pipe.close()
        pipe.server.end(None)


@of_kind(OFFICIAL[0], OLD)
async def test_field_80_a_client_is_not_disturbed(kind: Kind) -> None:
    with anyio.fail_after(PATIENCE):
        async with kind.connect(mcp_command(NOISY)) as client:
            client.person.will(YES)
            assert (await client.call("shout")).text == "loud enough: True"


# Encodings


async def test_field_81_text_survives_a_locale_that_lacks_it(carrier: str, kind: Kind, narrow_url: str) -> None:
    address: Address = narrow_url if carrier == "http" else mcp_command(APP)
    with anyio.fail_after(PATIENCE):
        async with kind.connect(address, env=CP1252) as client:
            client.person.will(accept(response=WORDS[::-1]))
            assert (await client.call("translate", {"text": WORDS})).text == WORDS[::-1]
            assert client.person.prompts[0].message == f"In your words: {WORDS}"
            assert [WORDS in json.dumps(data, ensure_ascii=False) for _, data in client.heard.logs] == [True]


@pytest.fixture(scope="module")
def narrow_url() -> Iterator[str]:
    with http_server(APP, env=CP1252) as (url, _):
        yield url


# Sizes


async def test_field_83_two_megabytes_are_carried_both_ways(client: Client) -> None:
    with anyio.fail_after(PATIENCE):
        assert len((await client.call("big", {"size": 2 * MIB})).text) == 2 * MIB
        assert len((await client.call("echo", {"text": "x" * 2 * MIB})).text) == 2 * MIB
        client.person.will(accept(response="ж" * MIB))
        assert (await client.call("bigAnswer")).text == str(MIB)


async def test_field_83_above_what_can_be_carried_is_an_error_of_that_call_alone(client: Client, carrier: str) -> None:
    with anyio.fail_after(PATIENCE):
        client.person.will(YES)
        after_a_question = await client.call("big", {"size": 2 * MIB, "ask": True})
        if carrier == "http":  # where it is an event, and clients take a megabyte
            assert after_a_question.is_error
            assert "ask for less" in after_a_question.text
        else:
            assert len(after_a_question.text) == 2 * MIB
        too_big = await client.call("big", {"size": 9 * MIB})
        assert too_big.is_error
        assert "bytes" in too_big.text
        assert (await client.call("echo", {"text": "goes on"})).text == "goes on"
