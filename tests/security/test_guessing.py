"""Guessing a claim code: at every door five guesses a minute, and none of them says more than that it was wrong."""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from tesseron_py import Tesseron
from tesseron_py.bindings import unix, websocket
from tesseron_py.bindings.unix import BindRefused
from tesseron_py.bindings.websocket import DialRefused
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.invocation import Failed
from tesseron_py.mcp.provider import ServerInfo

from ..gateway.fake_app import FakeClient, outcome

Guess: TypeAlias = Callable[[str], Awaitable[str]]
"""Tries a code; gives what is said to it, and `in` when it was right."""
ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


@asynccontextmanager
async def at_a_websocket() -> AsyncIterator[tuple[Guess, str]]:
    async with Tesseron("shop").listen() as host:

        async def guess(code: str) -> str:
            try:
                channel = await websocket.dial(str(host.url), code=code)
            except DialRefused as refused:
                return f"{refused.status} {refused.reason}"
            await channel.aclose()
            return "in"

        yield guess, str(host.claim_code)


@asynccontextmanager
async def at_a_unix_socket() -> AsyncIterator[tuple[Guess, str]]:
    async with Tesseron("shop").listen(binding="uds") as host:

        async def guess(code: str) -> str:
            try:
                channel = await unix.dial(str(host.url), code=code)
            except BindRefused as refused:
                return f"{refused.code} {refused.message}"
            await channel.aclose()
            return "in"

        yield guess, str(host.claim_code)


@asynccontextmanager
async def at_the_claim_tool() -> AsyncIterator[tuple[Guess, str]]:
    gateway = Gateway(ServerInfo("t", "1"))
    await gateway.open()
    client = FakeClient(gateway)
    try:
        async with Tesseron("shop").listen() as host:

            async def guess(code: str) -> str:
                ended = await outcome(gateway.call_tool("tesseron__claim_session", {"code": code}, client.caller()))
                return ended.error.message if isinstance(ended, Failed) else "in"

            yield guess, str(host.claim_code)
    finally:
        await gateway.aclose()


DOORS = [at_a_websocket, at_a_unix_socket, at_the_claim_tool]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
async def test_after_five_wrong_codes_the_right_one_gets_nobody_in(
    door: Callable[[], Any], tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with door() as (guess, code):
        compared: list[object] = []
        real = hmac.compare_digest

        def compare(one: bytes, other: bytes) -> bool:
            compared.append(one)
            return real(one, other)

        monkeypatch.setattr(hmac, "compare_digest", compare)
        # One letter away, or another code altogether: it is said in the same words.
        near = code[:-1] + ("A" if code[-1] != "A" else "B")
        wrong = [near, "ZZZZ-ZZ", near, "2222-22", "ABCD-EF"]
        with anyio.fail_after(30):
            said = {await guess(one) for one in wrong}
            assert len(said) == 1, said
            assert "in" not in said
            locked = {await guess(one) for one in (code, near, code.lower(), code)}
        assert len(locked) == 1
        assert locked.isdisjoint(said | {"in"})
        assert len(compared) == len(wrong), "a code is not looked at while the door is shut"
        for words in (*said, *locked):
            assert code not in words
            assert json.dumps(words).isascii()


def test_a_code_has_enough_of_them() -> None:
    """At five a minute, half of all codes take 170 years."""
    assert len(ALPHABET) == 31
    assert len(ALPHABET) ** 6 == 887_503_681
    assert len(ALPHABET) ** 6 / 2 / 5 / 60 / 24 / 365 > 168
