"""`docs/pairing.md` says what people and agents read when they pair: every message is brought about."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tesseron_py import Context, Host, Limits, Tesseron, directory, local_gateways
from tesseron_py.bindings.websocket import DialRefused, dial
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.host.claims import Claim
from tesseron_py.host.events import Claimed, Dropped, HandshakeFailed, HostEvent, Resumed
from tesseron_py.host.manifest import Manifest
from tesseron_py.limits import DEFAULT_LIMITS
from tesseron_py.mcp.provider import ServerInfo

from ..gateway.fake_app import FakeClient, error, value
from .bad_input import write_shop
from .blocks import ROOT
from .shell import Shell
from .tables import codes, fits, rows_of
from .test_documents import free_ports, moved

PAIRING, BINDINGS = ROOT / "docs" / "pairing.md", ROOT / "docs" / "bindings.md"
CLAIM, INVOKE = "tesseron__claim_session", "tesseron__invoke_action"
NAME = "tesseron-py agent"


def rows(guide: Path, table: str) -> list[tuple[str, ...]]:
    """The rows of a table, by the heading of its first column."""
    return [row.cells for row in rows_of(guide) if row.table == table]


def shop() -> Tesseron:
    app = Tesseron("shop", "The shop")

    @app.action
    async def clear_cart(ctx: Context) -> int:
        """Empty the cart."""
        await ctx.confirm("Sure?")
        return 0

    return app


@asynccontextmanager
async def a_gateway(*, limits: Limits = DEFAULT_LIMITS) -> AsyncIterator[tuple[Gateway, FakeClient]]:
    gateway = Gateway(ServerInfo("tesseron-py", "1"), limits=limits)
    await gateway.open()
    try:
        yield gateway, FakeClient(gateway, NAME)
    finally:
        await gateway.aclose()


async def failure(gateway: Gateway, client: FakeClient, tool: str, **arguments: Any) -> str:
    """What the agent reads of a call that fails."""
    return (await error(gateway.call_tool(tool, arguments, client.caller())))[1]


async def claim(gateway: Gateway, client: FakeClient, code: str | None) -> None:
    await value(gateway.call_tool(CLAIM, {"code": code}, client.caller()))


async def until(holds: Callable[[], Any]) -> None:
    with anyio.fail_after(5):
        while not holds():  # noqa: ASYNC110  # it is on the file system
            await anyio.sleep(0.005)


# What an agent reads


async def no_code() -> str:
    async with a_gateway() as (gateway, client):
        return await failure(gateway, client, CLAIM, code="the one on the screen")


async def unknown_code() -> str:
    async with a_gateway() as (gateway, client):
        return await failure(gateway, client, CLAIM, code="AB3X-7K")


async def too_many_codes() -> str:
    async with a_gateway() as (gateway, client):
        for _ in range(5):
            await failure(gateway, client, CLAIM, code="AB3X-7K")
        return await failure(gateway, client, CLAIM, code="AB3X-7K")


async def locked_app() -> str:
    async with a_gateway() as (gateway, client), shop().listen() as host:
        for _ in range(5):
            with pytest.raises(DialRefused):
                await dial(host.url, code="AB3X-7K")
        return await failure(gateway, client, CLAIM, code=host.claim_code)


async def another_agents() -> str:
    async with a_gateway() as (gateway, client), a_gateway() as (other, other_client), shop().listen() as host:
        code = host.claim_code
        await claim(gateway, client, code)
        await until(lambda: host.agent.name == NAME)
        return await failure(other, other_client, CLAIM, code=code)


async def another_gateways() -> str:
    crumb = {"version": 1, "code": "AB3X-7K", "appId": "shop", "appName": "The shop", "gatewayPid": os.getppid()}
    directory.write(directory.private(directory.CLAIMS) / "AB3X-7K.json", crumb)
    async with a_gateway() as (gateway, client):
        return await failure(gateway, client, CLAIM, code="AB3X-7K")


async def refused_hello() -> str:
    app = shop()
    app.id = "Shop"
    async with a_gateway() as (gateway, client), app.listen() as host:
        return await failure(gateway, client, CLAIM, code=host.claim_code)


async def hanging_app() -> str:
    minted = Claim.mint()
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        manifest = Manifest("The shop")
        manifest.write({"kind": "ws", "url": f"ws://127.0.0.1:{deaf.getsockname()[1]}/"}, minted, minted=True)
        try:
            async with a_gateway(limits=Limits(handshake=0.2)) as (gateway, client):
                return await failure(gateway, client, CLAIM, code=minted.code)
        finally:
            manifest.remove()


async def waiting_app() -> str:
    async with a_gateway() as (gateway, client), shop().listen(claims="gateway") as host:
        await until(lambda: host.claim_code)
        return await failure(gateway, client, INVOKE, app_id="shop", action="clear_cart")


async def app_that_is_back() -> str:
    async with a_gateway() as (gateway, client):
        async with shop().listen() as host:
            await claim(gateway, client, host.claim_code)
        async with shop().listen(claims="gateway") as host:
            await until(lambda: host.claim_code)
            return await failure(gateway, client, INVOKE, app_id="shop", action="clear_cart")


async def app_that_is_gone() -> str:
    async with a_gateway() as (gateway, client):
        async with shop().listen() as host:
            await claim(gateway, client, host.claim_code)
        await until(lambda: not gateway.apps)
        return await failure(gateway, client, INVOKE, app_id="shop", action="clear_cart")


async def no_app() -> str:
    async with a_gateway() as (gateway, client):
        return await failure(gateway, client, INVOKE, app_id="shop", action="clear_cart")


async def app_that_ends_in_a_call() -> str:
    async with a_gateway() as (gateway, client):
        async with shop().listen() as host:
            await claim(gateway, client, host.claim_code)
            call = gateway.call_tool("shop__clear_cart", {}, client.caller())
        return (await error(call))[1]


READ: list[Callable[[], Awaitable[str]]] = [
    no_code,
    unknown_code,
    too_many_codes,
    locked_app,
    another_agents,
    another_gateways,
    refused_hello,
    hanging_app,
    waiting_app,
    app_that_is_back,
    app_that_is_gone,
    no_app,
    app_that_ends_in_a_call,
]


@pytest.mark.parametrize(("row", "bring_about"), list(enumerate(READ)), ids=[each.__name__ for each in READ])
async def test_what_an_agent_reads(row: int, bring_about: Callable[[], Awaitable[str]]) -> None:
    shown = codes(rows(PAIRING, "the agent reads")[row][0])[0]
    said = await bring_about()
    assert fits(shown, said), f"pairing.md shows {shown!r}, and it is {said!r}"


def test_every_message_is_brought_about() -> None:
    assert len(rows(PAIRING, "the agent reads")) == len(READ)


# What a person sees


async def event(host: Host, kind: type[HostEvent]) -> str:
    """The next event of that kind, as it is shown."""
    with anyio.fail_after(5):
        async for found in host.events:
            if isinstance(found, kind):
                return str(found)
    raise AssertionError("the host has ended")


async def test_what_a_program_and_a_terminal_are_told() -> None:
    told: dict[str, str] = {}
    async with a_gateway() as (gateway, client), shop().listen() as host:
        await claim(gateway, client, host.claim_code)
        told["Claimed"] = await event(host, Claimed)
        (app,) = gateway.apps
        app.close()
        told["Dropped"] = await event(host, Dropped)
        told["Resumed"] = await event(host, Resumed)
    async with shop().listen(claims="gateway") as host:
        channel = await dial(host.url)
        await channel.receive()
        await channel.aclose()
        told["HandshakeFailed"] = await event(host, HandshakeFailed)
    shown = {codes(name)[0]: codes(text)[0] for name, text, _ in rows(PAIRING, "event")}
    assert shown.keys() == told.keys()
    for name, text in shown.items():
        assert fits(text, told[name]), told[name]


def test_what_a_terminal_shows_when_nothing_starts(tmp_path: Path) -> None:
    ports = free_ports()
    write_shop(tmp_path)
    with Shell(tmp_path) as shell:
        failing = [(codes(command)[0], codes(shown)[0]) for command, shown, _ in rows(PAIRING, "command")]
        check(shell, *failing[0])
        check(shell, *failing[1])
        shell.serve(
            f"TESSERON_TOKEN=s3cret tesseron-py gateway --http 0.0.0.0:{ports['7475']}",
            lambda said: any("gateway at" in line for line in said),
        )
        for each in failing[2:]:
            # Another name of this machine that leads here: all of 127.0.0.0/8 is this machine.
            command, shown = (text.replace("host.docker.internal", "127.0.0.2") for text in each)
            check(shell, moved(command, ports), moved(shown, ports))


def check(shell: Shell, command: str, shown: str) -> None:
    said, code = shell.run(command)
    assert code == 1, said
    assert any(fits(shown, line) for line in said), f"pairing.md shows {shown!r}, and it is {said!r}"


# What is left on disk


def files_in(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


async def test_what_is_in_the_directory_and_who_may_read_it(tesseron_home: Path) -> None:
    patterns = [codes(cells[0])[0] for cells in rows(BINDINGS, "file")]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(a_gateway())
        await stack.enter_async_context(shop().listen())
        plain = await stack.enter_async_context(shop().listen(claims="gateway"))
        stack.callback(local_gateways.announce("http://127.0.0.1:7475/tesseron", "s3cret").remove)
        await until(lambda: plain.claim_code)
        files = files_in(tesseron_home)
        for pattern in patterns:
            assert any(fits(pattern, str(path.relative_to(tesseron_home))) for path in files), pattern
        for path in files:
            assert any(fits(pattern, str(path.relative_to(tesseron_home))) for pattern in patterns), path
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert isinstance(json.loads(path.read_text()), dict)
    assert files_in(tesseron_home) == []
