"""An app that dials out: `connect`, against a gateway's endpoint under a real server."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tesseron_py import Context, Tesseron, directory
from tesseron_py.bindings.channel import Closed
from tesseron_py.endpoint import GatewayEndpoint
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.home import Home
from tesseron_py.host import endpoints
from tesseron_py.host import host as host_module
from tesseron_py.host.endpoints import dialling_source
from tesseron_py.host.events import Claimed, Dropped, HandshakeFailed, Resumed
from tesseron_py.host.host import Host
from tesseron_py.invocation import Accept
from tesseron_py.mcp.provider import ServerInfo

from ..bindings.http_server import serving
from ..gateway.fake_app import FakeClient, question, value

TOKEN = "a-token-of-this-test"
INFO = {"name": "test", "version": "1"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESSERON_TOKEN", raising=False)
    for module in (endpoints, host_module):
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)
        monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)


def shop(id: str = "shop") -> Tesseron:
    app = Tesseron(id)

    @app.action
    async def clear(ctx: Context) -> int:
        return 5 if await ctx.confirm("Remove 5 todos?") else 0

    return app


class Served:
    """A gateway under a server that takes apps and agents."""

    def __init__(self, token: str | None) -> None:
        self.gateway = Gateway(ServerInfo("tesseron-py", "1"), discover=False)
        self.endpoint = GatewayEndpoint(self.gateway, token=token)
        self.url = ""

    async def claim(self, client: FakeClient, code: str | None) -> None:
        assert code is not None
        await value(self.gateway.call_tool("tesseron__claim_session", {"code": code}, client.caller()))

    async def clear(self, client: FakeClient) -> Any:
        invocation = self.gateway.call_tool("shop__clear", {}, client.caller())
        invocation.answer((await question(invocation)).id, Accept({"approve": True}))
        return (await value(invocation)).value


@asynccontextmanager
async def served(*, token: str | None = TOKEN) -> AsyncIterator[Served]:
    made = Served(token)
    async with serving(made.endpoint) as made.url:
        try:
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                await made.endpoint.aclose()


async def event(host: Host, kind: type) -> Any:
    with anyio.fail_after(10):
        async for happened in host.events:
            if isinstance(happened, kind):
                return happened
    raise AssertionError("the host has ended")


async def test_an_app_dials_is_claimed_and_its_person_is_asked() -> None:
    async with served() as at, shop().connect(at.url, token=TOKEN) as host:
        assert host.url == f"{at.url}/tesseron"
        client = FakeClient(at.gateway)
        await at.claim(client, host.claim_code)
        with anyio.fail_after(5):
            await host.claimed()
        assert host.claim_code is None
        assert await at.clear(client) == 5


async def test_field_97_a_host_that_connects_twice_at_once_has_one_session() -> None:
    entered: list[Host] = []
    refused: list[str] = []
    both = anyio.Event()

    async def enter(host: Host) -> None:
        try:
            entered.append(await host.__aenter__())
        except RuntimeError as problem:
            refused.append(str(problem))
        if entered and refused:
            both.set()

    async with served() as at:
        host = shop().connect(at.url, token=TOKEN)
        with anyio.fail_after(10):
            async with Home() as home:
                for _ in range(2):
                    home.start(enter, host)
                await both.wait()
        assert entered == [host]
        assert "app.connect()" in refused[0]
        assert len(at.gateway.apps) == 1
        client = FakeClient(at.gateway)
        await at.claim(client, host.claim_code)
        assert await at.clear(client) == 5
        await host.aclose()


async def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERON_TOKEN", TOKEN)
    async with served() as at, shop().connect(at.url) as host:
        assert host.claim_code


@pytest.mark.parametrize("named", [True, False])
async def test_a_gateway_of_this_user_is_found_with_its_token(named: bool, tesseron_home: Path) -> None:
    async with served(token=None) as at:
        with at.endpoint.announced(at.url):
            async with shop().connect(at.url if named else None) as host:
                assert host.url == f"{at.url}/tesseron"
                assert host.claim_code
        assert list((tesseron_home / "gateways").iterdir()) == []


async def test_without_a_gateway_it_is_said_how_to_start_one() -> None:
    with pytest.raises(ConnectionError, match=r"start one: tesseron-py gateway --http"):
        async with shop().connect():
            raise AssertionError("connected")


async def test_a_gateway_that_left_no_token_wants_one() -> None:
    async with served() as at:
        with pytest.raises(ConnectionError, match=r"no gateway of yours .* give the token of one that is elsewhere"):
            async with shop().connect(at.url):
                raise AssertionError("connected")


async def test_the_address_that_agents_use_will_do() -> None:
    async with served() as at, shop().connect(f"{at.url}/mcp", token=TOKEN) as host:
        assert host.url == f"{at.url}/tesseron"


async def test_a_wrong_token_is_an_error_at_once() -> None:
    async with served() as at:
        with pytest.raises(ConnectionError, match="another token"):
            async with shop().connect(at.url, token="wrong"):
                raise AssertionError("connected")


async def test_a_gateway_that_does_not_run_is_an_error_at_once(free_port: int) -> None:
    with pytest.raises(ConnectionError, match="is the gateway running"):
        async with shop().connect(f"http://127.0.0.1:{free_port}", token=TOKEN):
            raise AssertionError("connected")


async def test_an_app_that_the_gateway_refuses_is_told_why() -> None:
    app = shop()
    app.id = "not an id"
    async with served() as at:
        with pytest.raises(ConnectionError, match="not an id"):
            async with app.connect(at.url, token=TOKEN):
                raise AssertionError("connected")


@pytest.mark.parametrize(
    "url", ["ftp://gateway", "http://", "http://user:word@gateway", "gateway:7475", "http://a:99999"]
)
def test_what_is_no_url_is_refused_before_anything_runs(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL"):
        shop().connect(url, token=TOKEN)


async def test_a_token_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        async with shop().connect("http://127.0.0.1:1", token="two words"):
            raise AssertionError("connected")


async def test_a_lost_connection_is_made_again_and_the_session_resumed() -> None:
    async with served() as at, shop().connect(at.url, token=TOKEN) as host:
        client = FakeClient(at.gateway)
        await at.claim(client, host.claim_code)
        for _ in range(3):
            at.gateway.apps[0].close()
            assert isinstance(await event(host, Dropped), Dropped)
            assert (await event(host, Resumed)).agent.name == client.client.name
            assert await at.clear(client) == 5


async def test_a_gateway_that_went_away_is_replaced_by_the_next(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "tesseron_py.host")
    codes: list[str] = []
    async with served(token=None) as first, served(token=None) as second:
        host = shop().connect()
        host.on_claim_code = codes.append
        with first.endpoint.announced(first.url):
            await host.__aenter__()
        try:
            first.gateway.apps[0].close()
            await event(host, Dropped)
            with anyio.fail_after(10):
                while "no gateway on this machine" not in caplog.text:
                    await anyio.lowlevel.checkpoint()
            with second.endpoint.announced(second.url), anyio.fail_after(10):
                while len(codes) < 2:  # noqa: ASYNC110  # it is told over a socket
                    await anyio.sleep(0.005)
                assert host.url == f"{second.url}/tesseron"
                await second.claim(FakeClient(second.gateway), host.claim_code)
                await event(host, Claimed)
        finally:
            await host.aclose()


async def test_a_gateway_that_turns_the_app_away_later_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    app = shop()
    async with served() as at:
        tokens = [TOKEN, "wrong", "wrong"]

        def find() -> tuple[str, str]:
            return at.url, tokens.pop(0) if tokens else TOKEN

        async with Host(app, dialling_source(find, limit=app.limits.frame), announce=False) as host:
            await at.claim(FakeClient(at.gateway), host.claim_code)
            at.gateway.apps[0].close()
            assert "another token" in (await event(host, HandshakeFailed)).reason
            await event(host, HandshakeFailed)
            await event(host, Resumed)
    assert "another token" in caplog.text
    assert TOKEN not in caplog.text


async def test_a_pairing_outlives_the_app(tmp_path: Path) -> None:
    async with served() as at:
        client = FakeClient(at.gateway)
        async with shop().connect(at.url, token=TOKEN, pairing=tmp_path / "pair.json") as host:
            await at.claim(client, host.claim_code)
            with anyio.fail_after(5):
                await host.claimed()
        async with shop().connect(at.url, token=TOKEN, pairing=tmp_path / "pair.json") as host:
            with anyio.fail_after(5):
                assert (await host.claimed()).name == client.client.name
            assert host.claim_code is None
            assert await at.clear(client) == 5


async def test_a_gateway_that_does_not_know_the_pairing_says_hello(tmp_path: Path) -> None:
    app = shop()
    for _ in range(2):
        async with served() as at, app.connect(at.url, token=TOKEN, pairing=tmp_path / "pair.json") as host:
            client = FakeClient(at.gateway)
            await at.claim(client, host.claim_code)
            with anyio.fail_after(5):
                await host.claimed()


async def test_an_app_whose_resume_was_answered_in_vain_resumes_again() -> None:
    async with served() as at, httpx.AsyncClient(base_url=at.url, headers={"authorization": f"Bearer {TOKEN}"}) as http:

        async def open(method: str, **more: str) -> httpx.Response:
            about = {"id": "shop", "name": "shop", "origin": "x"}
            params = {"protocolVersion": "1.2.0", "app": about, "actions": [], "resources": [], **more}
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return await http.post("/tesseron", json=request, headers={"tesseron-attempt": secrets.token_urlsafe(16)})

        welcome = (await open("tesseron/hello")).json()["result"]
        await at.claim(FakeClient(at.gateway), welcome["claimCode"])
        pair = {"sessionId": welcome["sessionId"], "resumeToken": welcome["resumeToken"]}
        answers = [await open("tesseron/resume", **pair) for _ in range(2)]
        assert [answer.json()["result"]["sessionId"] for answer in answers] == [welcome["sessionId"]] * 2
        of_last = {"tesseron-connection": answers[-1].headers["tesseron-connection"]}
        assert (await http.post("/tesseron", json={}, headers={**of_last, "tesseron-sequence": "1"})).status_code == 202
        assert (await open("tesseron/resume", **pair)).json()["error"]["code"] == -32011


async def test_closing_while_the_gateway_is_away_ends_at_once() -> None:
    async with served() as at:
        host = await shop().connect(at.url, token=TOKEN).__aenter__()
    with anyio.fail_after(5):
        await host.aclose()


async def test_agents_and_apps_are_at_their_own_paths() -> None:
    async with served() as at, httpx.AsyncClient(base_url=at.url) as client:
        headers = {"authorization": f"Bearer {TOKEN}"}
        initialize = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }
        accept = {"accept": "application/json, text/event-stream"}
        assert (await client.post("/mcp", json=initialize, headers=headers | accept)).status_code == 200
        assert (await client.post("/mcp", json=initialize, headers=accept)).status_code == 401
        assert (await client.post("/tesseron", content="{}", headers=headers)).status_code == 400
        assert (await client.post("/tesseron", content="{}")).status_code == 401
        assert (await client.get("/other", headers=headers)).status_code == 404


async def test_apps_need_a_token_where_agents_need_none() -> None:
    async with served(token=None) as at, httpx.AsyncClient(base_url=at.url) as client:
        assert (await client.post("/tesseron", content="{}")).status_code == 401
        assert (await client.post("/mcp", content="{}")).status_code != 401


async def test_the_end_of_the_server_is_the_end_of_the_gateway() -> None:
    gateway = Gateway(ServerInfo("tesseron-py", "1"), discover=False)
    endpoint = GatewayEndpoint(gateway, token=None)
    sent: list[str] = []
    messages = ["lifespan.startup", "lifespan.shutdown"]

    async def receive() -> dict[str, Any]:
        return {"type": messages.pop(0)}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "lifespan.shutdown.complete":
            assert not gateway.home.is_open
        sent.append(message["type"])

    await endpoint({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_gateway_that_cannot_tell_apps_of_itself_serves_all_the_same(
    tesseron_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tesseron_home.write_text("in the way")
    with GatewayEndpoint(Gateway(ServerInfo("t", "1")), token=None).announced("http://127.0.0.1:1"):
        assert "are not told of the gateway" in caplog.text


def write_gateway(name: str, content: Any) -> Path:
    path = directory.private(directory.GATEWAYS) / name
    directory.write(path, content)
    return path


async def test_the_newest_live_gateway_is_dialled(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as at:
        mine = {"url": f"{at.url}/tesseron", "token": TOKEN, "pid": os.getpid(), "startedAt": 10}
        dead = write_gateway(
            "1.json", {**mine, "url": "http://127.0.0.1:1/tesseron", "pid": 2**22 + 5, "startedAt": 99}
        )
        write_gateway("2.json", {**mine, "url": "http://127.0.0.1:2/tesseron", "startedAt": 9})
        write_gateway("3.json", mine)
        write_gateway("4.json", {**mine, "startedAt": 12, "token": 7})
        write_gateway("5.json", {**mine, "startedAt": 13, "pid": -1})
        (directory.root() / "gateways" / "6.json").write_text('{"url": "half')
        async with shop().connect() as host:
            assert host.url == f"{at.url}/tesseron"
        assert not dead.exists()


def test_a_gateways_file_holds_what_apps_need_and_is_private(tesseron_home: Path) -> None:
    endpoint = GatewayEndpoint(Gateway(ServerInfo("t", "1")), token=TOKEN)
    with endpoint.announced("http://127.0.0.1:7475"):
        path = tesseron_home / "gateways" / f"{os.getpid()}.json"
        content = json.loads(path.read_text())
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert content.pop("startedAt") > 1_700_000_000_000
    assert content == {"url": "http://127.0.0.1:7475/tesseron", "token": TOKEN, "pid": os.getpid()}
    assert not path.exists()


def test_a_token_is_not_in_what_is_printed() -> None:
    from tesseron_py.local_gateways import LocalGateway

    assert TOKEN not in repr(LocalGateway("http://127.0.0.1:1", TOKEN, 1, 1))


async def test_what_a_source_cannot_find_ends_the_entering() -> None:
    def find() -> tuple[str, str]:
        raise Closed("there is none")

    host = Host(shop(), dialling_source(find, limit=1000), announce=False)
    with pytest.raises(ConnectionError, match="there is none"):
        await host.__aenter__()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
