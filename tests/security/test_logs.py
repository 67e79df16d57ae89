"""A whole day, with everything logged: no claim code, no token, no state, and no word of a person's is in the logs."""

from __future__ import annotations

import io
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel, Field

from tesseron_py import Context, Tesseron
from tesseron_py.endpoint import GatewayEndpoint
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.host.claims import Claim
from tesseron_py.invocation import Accept
from tesseron_py.mcp.client import EraChoice, McpClient, Question
from tesseron_py.mcp.client_http import HttpTransport
from tesseron_py.mcp.provider import ServerInfo
from tesseron_py.mcp.seal import Seal

from ..bindings.http_server import serving

TOKEN = "the-token-of-the-gateway"
WORDS = "said-by-the-person"
CLAIM = "tesseron__claim_session"


class Details(BaseModel):
    """What the person is asked for."""

    name: str = Field(max_length=30)
    number: int


def shop(id: str) -> Tesseron:
    app = Tesseron(id, mask_errors=True)

    @app.action
    async def ask(ctx: Context, argument: str) -> str:
        """Ask for everything."""
        await ctx.log("at work")
        if not await ctx.confirm("Sure?"):
            return "no"
        details = await ctx.elicit("Who?", Details)
        return f"{details} {argument}"

    return app


@pytest.fixture
def minted(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every secret that is made up while the test runs."""
    made: set[str] = set()
    token, code, state = secrets.token_urlsafe, Claim.mint, Seal.close

    def token_urlsafe(size: int | None = None) -> str:
        made.add(text := token(size))
        return text

    def mint(**options: Any) -> Claim:
        made.add((claim := code(**options)).code)
        return claim

    def close(self: Seal, *arguments: Any) -> str:
        made.add(text := state(self, *arguments))
        return text

    def mint_code() -> str:
        made.add(text := code().code)
        return text

    monkeypatch.setattr(secrets, "token_urlsafe", token_urlsafe)
    monkeypatch.setattr(Claim, "mint", mint)
    monkeypatch.setattr(Seal, "close", close)
    monkeypatch.setattr("tesseron_py.gateway.gateway.mint_code", mint_code)
    return made


@pytest.fixture(params=["DEBUG", "INFO"])
def logs(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """Whatever is logged by anybody, at a level that was set for all."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    before = logging.root.level
    logging.root.addHandler(handler)
    logging.root.setLevel(request.param)
    yield written
    logging.root.removeHandler(handler)
    logging.root.setLevel(before)


@asynccontextmanager
async def agent(url: str, era: EraChoice) -> AsyncIterator[McpClient]:
    """An agent whose person says yes, and then their name: once in a way that does not fit."""
    said = 0

    async def answer(question: Question) -> Accept:
        nonlocal said
        if "approve" in question.schema["properties"]:
            return Accept({"approve": True})
        said += 1
        return Accept({"name": WORDS if said > 1 else WORDS * 9, "number": 7})

    transport = HttpTransport(f"{url}/mcp", token=TOKEN)
    async with McpClient(transport, answer=answer, name="agent", timeout=30, era=era) as client:
        yield client


async def a_day(url: str, gateway: Gateway) -> None:
    """Apps in every way, claimed, called, dropped and resumed, by clients of both eras; and what goes wrong."""
    async with agent(url, "legacy") as old, agent(url, "modern") as new:
        for client in (old, new):
            assert (await client.call(CLAIM, {"code": "ZZZZ-22"})).is_error
        async with (
            shop("minted").listen() as minted,
            shop("plain").listen(claims="gateway") as plain,
            shop("unix").listen(binding="uds") as unix,
            shop("dialled").connect(url, token=TOKEN) as dialled,
        ):
            for host in (minted, plain, unix, dialled):
                await until(lambda host=host: host.claim_code)
                result = await old.call(CLAIM, {"code": str(host.claim_code)})
                assert not result.is_error, result.text
            for app in ("minted", "plain", "unix", "dialled"):
                for client in (old, new):
                    result = await client.call(f"{app}__ask", {"argument": "given"})
                    assert result.is_error == (app == "minted"), result.text  # which each answers wrongly at first
                    result = await client.call(f"{app}__ask", {"argument": "given"})
                    assert WORDS in result.text, result.text
                    assert (await client.call(f"{app}__ask", {"wrong": 1})).is_error
            for connected in gateway.apps:
                connected.close()
            await until(lambda: len(gateway.apps) == 4 and all(app.is_live for app in gateway.apps))
            assert WORDS in (await new.call("minted__ask", {"argument": "again"})).text


async def until(holds: Any) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110  # nothing tells of it
            await anyio.sleep(0.01)


async def test_a_day_leaves_no_secret_in_the_logs(tesseron_home: Path, minted: set[str], logs: io.StringIO) -> None:
    gateway = Gateway(ServerInfo("tesseron-py", "1"))
    endpoint = GatewayEndpoint(gateway, token=TOKEN)
    async with serving(endpoint) as url:
        await gateway.open()
        try:
            await a_day(url, gateway)
        finally:
            with anyio.CancelScope(shield=True):
                await endpoint.aclose()
    ours = [line for line in logs.getvalue().splitlines() if re.match(r"\w+ tesseron_py", line)]
    assert len(ours) > 5
    text = "\n".join(ours)
    assert len(minted) > 20
    leaked = {secret: [line for line in ours if secret in line] for secret in (*minted, TOKEN, WORDS) if secret in text}
    assert not leaked
