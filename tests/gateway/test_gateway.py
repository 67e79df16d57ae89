"""The gateway: claims of both kinds, discovery, resuming, its own tools, and what it tells of other people's apps."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tesseron_py import Context, Tesseron, directory
from tesseron_py.bindings.memory import pair
from tesseron_py.gateway import claims as claims_module
from tesseron_py.gateway import dialler as dialler_module
from tesseron_py.gateway import discovery as discovery_module
from tesseron_py.gateway.claims import Breadcrumbs, Guesses, mint_code, read_code
from tesseron_py.gateway.dialler import Dialler, Unreachable
from tesseron_py.gateway.discovery import Discovery
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.gateway.greeting import Greeting, Welcome
from tesseron_py.gateway.instances import Instance, read_instance
from tesseron_py.gateway.meta import Surface
from tesseron_py.gateway.sessions import Sessions
from tesseron_py.home import Home
from tesseron_py.invocation import Accept, Log
from tesseron_py.mcp.provider import (
    Client,
    Logged,
    ResourcesChanged,
    ResourceUpdated,
    ServerInfo,
    ToolsChanged,
    UnknownTool,
)
from tesseron_py.protocol.messages import AgentInfo

from .fake_app import HELLO, FakeApp, FakeClient, error, question, value

CLAIM, LIST, INVOKE = "tesseron__claim_session", "tesseron__list_actions", "tesseron__invoke_action"
READ, PENDING = "tesseron__read_resource", "tesseron__list_pending_claims"


@asynccontextmanager
async def a_gateway(*, surface: Surface = "both", discover: bool = True) -> AsyncIterator[Gateway]:
    gateway = Gateway(ServerInfo("tesseron-py", "1"), surface=surface, discover=discover)
    await gateway.open()
    try:
        yield gateway
    finally:
        await gateway.aclose()


def connect(gateway: Gateway) -> FakeApp:
    here, there = pair()
    gateway.connect(there)
    return FakeApp(here)


async def output(gateway: Gateway, client: FakeClient, tool: str, **arguments: Any) -> Any:
    return (await value(gateway.call_tool(tool, arguments, client.caller()))).value


async def failure(gateway: Gateway, client: FakeClient, tool: str, **arguments: Any) -> tuple[int, str]:
    code, message, _ = await error(gateway.call_tool(tool, arguments, client.caller()))
    return code, message


async def until(holds: Callable[[], Any]) -> Any:
    with anyio.fail_after(5):
        while not (found := holds()):  # noqa: ASYNC110  # it is on the file system, or in another process
            await anyio.sleep(0.005)
    return found


def names(gateway: Gateway, client: FakeClient) -> list[str]:
    return [tool.name for tool in gateway.tools(client.client)]


# Claims that the gateway mints --------------------------------------------------------------------------------------


async def test_an_app_waits_for_its_claim_and_its_code_is_for_the_person_alone(tesseron_home: Path) -> None:
    async with a_gateway(discover=False) as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        welcome = (await app.hello())["result"]
        code = welcome["claimCode"]
        assert read_code(code) == code
        assert len(welcome["resumeToken"]) >= 32
        assert welcome["agent"]["name"] == "Claude"
        assert names(gateway, client) == [CLAIM, LIST, INVOKE, READ, PENDING]
        assert gateway.resources(client.client) == []
        pending = await output(gateway, client, PENDING)
        assert pending == [{"app_id": "shop", "app_name": "The shop", "age_seconds": 0}]
        assert code not in json.dumps(pending)
        got, message = await failure(gateway, client, "shop__clear")
        assert got == -32009
        assert "The shop" in message
        assert code not in message
        assert await failure(gateway, client, INVOKE, app_id="shop", action="clear") == (got, message)
        breadcrumb = json.loads((tesseron_home / "claims" / f"{code}.json").read_text())
        assert breadcrumb == {
            "version": 1,
            "code": code,
            "sessionId": welcome["sessionId"],
            "appId": "shop",
            "appName": "The shop",
            "gatewayPid": os.getpid(),
            "mintedAt": breadcrumb["mintedAt"],
        }
        client.changes.clear()
        about = await output(gateway, client, CLAIM, code=code.lower().replace("-", " "))
        assert about["app_id"] == "shop"
        assert about["actions"][0]["name"] == "clear"
        claimed = await app.recv()
        assert claimed["method"] == "tesseron/claimed"
        assert claimed["params"]["agent"] == {"id": "Claude", "name": "Claude"}
        assert claimed["params"]["agentCapabilities"]["elicitation"] is True
        assert claimed["params"]["claimedAt"] > 0
        assert "shop__clear" in names(gateway, client)
        assert client.changes == [ToolsChanged(), ResourcesChanged()]
        assert await output(gateway, client, PENDING) == []
        assert list((tesseron_home / "claims").iterdir()) == []
        assert (await failure(gateway, client, CLAIM, code=code))[0] == -32009


async def test_nobody_unclaimed_gets_to_the_person(caplog: pytest.LogCaptureFixture) -> None:
    async with a_gateway(discover=False) as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        code = (await app.hello())["result"]["claimCode"]
        for method in ("elicitation/request", "sampling/request", "what/ever"):
            await app.send(id=1, method=method, params={"invocationId": "i-1", "question": "?", "prompt": "?"})
            assert (await app.recv())["error"]["code"] == -32009
        for method in ("actions/progress", "resources/updated", "elicitation/withdraw", "log"):
            await app.send(method=method, params={"invocationId": "i-1", "message": "x"})
        client.changes.clear()
        await app.send(method="actions/list_changed", params={"actions": [{"name": "other"}]})
        await app.send(method="resources/list_changed", params={"resources": [{"name": "stock"}]})
        await app.nothing_comes()
        assert len(names(gateway, client)) == 5
        assert client.changes == []
        await output(gateway, client, CLAIM, code=code)  # and then its lists are what it said last
        assert names(gateway, client)[5:] == ["shop__other"]
        assert [resource.name for resource in gateway.resources(client.client)] == ["stock"]
        assert [record.message for record in caplog.records if "is refused" in record.message] == [
            "The shop asks for elicitation/request before an agent has claimed it; it is refused"
        ]


async def test_a_claim_belongs_to_a_principal_and_a_prompt_to_the_calling_client() -> None:
    async with a_gateway(discover=False) as gateway:
        mine, mine_too, theirs = FakeClient(gateway), FakeClient(gateway, "Second"), FakeClient(gateway, "Third")
        theirs.client = Client("other-token", "Third", "1", "legacy", theirs.changes.append)
        app = connect(gateway)
        code = (await app.hello())["result"]["claimCode"]
        await output(gateway, mine, CLAIM, code=code)
        await app.recv()
        assert "shop__clear" in names(gateway, mine)
        assert "shop__clear" in names(gateway, mine_too)
        assert "shop__clear" not in names(gateway, theirs)
        with pytest.raises(UnknownTool):
            gateway.call_tool("shop__clear", {}, theirs.caller())
        assert (await failure(gateway, theirs, INVOKE, app_id="shop", action="clear"))[0] == -32003
        first = gateway.call_tool("shop__clear", {}, mine.caller())
        second = gateway.call_tool("shop__clear", {}, mine_too.caller())
        ids = [(await app.recv())["params"]["invocationId"] for _ in range(2)]
        await app.ask(ids[1])
        asked = await question(second)
        assert first.view().open == ()
        second.answer(asked.id, Accept({"approve": True}))
        assert (await app.recv())["result"] == {"action": "accept"}


async def test_wrong_codes_are_refused_without_a_trace_of_right_ones_and_run_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        async with a_gateway(discover=False) as gateway:
            client, app = FakeClient(gateway), connect(gateway)
            code = (await app.hello())["result"]["claimCode"]
            for given in ("", "  ", "no", "AB3X", "../../etc/passwd", 7, None):
                got, message = await failure(gateway, client, CLAIM, code=given)
                assert got == -32004
                assert "code" in message
            for _ in range(5):
                got, message = await failure(gateway, client, CLAIM, code="ZZ22-22")
                assert got == -32009
                assert "No app on this machine" in message
            got, message = await failure(gateway, client, CLAIM, code=code)
            assert got == -32009
            assert "Too many wrong" in message
    assert code not in caplog.text
    assert "ZZ22" not in caplog.text


def test_guesses_are_forgotten_with_time_and_with_the_right_code() -> None:
    now = [0.0]
    guesses = Guesses(now=lambda: now[0])
    for _ in range(5):
        assert not guesses.exhausted
        guesses.wrong()
    assert guesses.exhausted
    now[0] = 60.1
    assert not guesses.exhausted
    for _ in range(4):
        guesses.wrong()
    guesses.right()
    guesses.wrong()
    assert not guesses.exhausted


@pytest.mark.parametrize("text", ["AB3X-7K", "ab3x-7k", " AB3X7K ", "ab3x 7k", "AB3X–7K"])
def test_a_code_is_read_however_it_is_written(text: str) -> None:
    assert read_code(text) == "AB3X-7K"


def test_minted_codes_are_codes() -> None:
    assert all(read_code(code) == code for code in (mint_code() for _ in range(100)))


# Codes of other gateways --------------------------------------------------------------------------------------------


async def test_field_94_a_code_of_another_gateway_names_it(tesseron_home: Path) -> None:
    program = [sys.executable, "-c", "input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as other:  # noqa: ASYNC220  # it is only there to be alive
        crumbs = directory.private(directory.CLAIMS)
        for code, pid in (("CD4Y-8M", other.pid), ("EF5Z-9N", 2**22 + 12345)):
            directory.write(
                crumbs / f"{code}.json",
                {"version": 1, "code": code, "appId": "bank", "appName": "The bank", "gatewayPid": pid},
            )
        (crumbs / "GH6A-2P.json").write_text("{")
        directory.write(crumbs / "JK7B-3Q.json", {"version": 1, "code": "ZZ22-22", "appId": "x"})
        async with a_gateway(discover=False) as gateway:
            client = FakeClient(gateway)
            got, message = await failure(gateway, client, CLAIM, code="CD4Y-8M")
            assert got == -32009
            assert "The bank" in message
            assert str(other.pid) in message
            for code in ("EF5Z-9N", "GH6A-2P", "JK7B-3Q"):
                assert "No app on this machine" in (await failure(gateway, client, CLAIM, code=code))[1]
        assert not (crumbs / "EF5Z-9N.json").exists()
        other.communicate(b"\n")


def test_breadcrumbs_go_with_their_gateway_and_are_not_needed(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    info = read_info()
    crumbs = Breadcrumbs()
    crumbs.write("AB3X-7K", "s_1", info)
    crumbs.write("CD4Y-8M", "s_2", info)
    assert crumbs.find("AB3X-7K") is None  # our own
    crumbs.remove("AB3X-7K")
    assert [path.stem for path in (tesseron_home / "claims").iterdir()] == ["CD4Y-8M"]
    crumbs.remove_all()
    assert list((tesseron_home / "claims").iterdir()) == []
    monkeypatch.setattr(claims_module.directory, "private", raise_os_error)
    crumbs.write("AB3X-7K", "s_1", info)
    assert "cannot be told" in caplog.text
    assert "AB3X" not in caplog.text


async def test_breadcrumbs_of_gateways_that_were_killed_go_with_the_next_one(tesseron_home: Path) -> None:
    crumbs = directory.private(directory.CLAIMS)
    for code, pid in (("AB3X-7K", 2**22 + 12345), ("CD4Y-8M", os.getppid())):
        directory.write(
            crumbs / f"{code}.json",
            {"version": 1, "code": code, "appId": "bank", "appName": "The bank", "gatewayPid": pid},
        )
    (crumbs / "odd.json").write_text("{")
    async with a_gateway(discover=False):
        assert sorted(path.stem for path in crumbs.iterdir()) == ["CD4Y-8M", "odd"]


def raise_os_error(name: str) -> Path:
    raise OSError("read-only")


def read_info() -> Any:
    from tesseron_py.gateway.entries import AppInfo

    return AppInfo("shop", "The shop", "1", "")


# Apps that mint their claims ----------------------------------------------------------------------------------------


def a_shop(**options: Any) -> Tesseron:
    app = Tesseron("shop", "The shop", **options)

    @app.action
    async def clear(ctx: Context) -> str:
        return f"{ctx.agent.name}: {await ctx.confirm('Empty it?')}"

    app.resource("cart").read(lambda: ["A1"])
    return app


@pytest.mark.parametrize("binding", ["ws", "uds"])
async def test_a_code_pasted_here_brings_the_app_here(binding: Any, tesseron_home: Path) -> None:
    async with a_shop().listen(binding) as host, a_gateway() as gateway:
        client = FakeClient(gateway)
        waiting = await until(lambda: gateway._discovery.instances)
        assert len(waiting) == 1
        pending = await output(gateway, client, PENDING)
        assert [entry["app_name"] for entry in pending] == ["The shop"]
        assert "code" not in pending[0]
        assert gateway.apps == ()
        about = await output(gateway, client, CLAIM, code=str(host.claim_code).lower())
        assert about["app_name"] == "The shop"
        assert "shop__clear" in names(gateway, client)
        with anyio.fail_after(5):
            assert (await host.claimed()).name == "Claude"
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        asked = await question(invocation)
        invocation.answer(asked.id, Accept({"approve": True}))
        assert (await value(invocation)).value == "Claude: True"
        assert await output(gateway, client, READ, app_id="shop", name="cart") == ["A1"]
        assert await output(gateway, client, PENDING) == []


async def test_field_93_with_two_gateways_the_paste_decides_and_the_other_is_told(tesseron_home: Path) -> None:
    async with a_shop().listen() as host, a_gateway() as one, a_gateway() as other:
        code = str(host.claim_code)
        client, stranger = FakeClient(one), FakeClient(other, "Codex")
        await output(one, client, CLAIM, code=code)
        assert "shop__clear" in names(one, client)
        got, message = await failure(other, stranger, CLAIM, code=code)
        assert got == -32009
        assert "The shop" in message
        assert code not in message
        assert "shop__clear" not in names(other, stranger)


async def test_a_dropped_app_is_dialled_again_and_resumed_without_anybodys_doing(tesseron_home: Path) -> None:
    async with a_shop().listen() as host, a_gateway() as gateway:
        client = FakeClient(gateway)
        await output(gateway, client, CLAIM, code=str(host.claim_code))
        uri = "tesseron://shop/cart"
        await value(gateway.subscribe(uri, client.client))
        for _ in range(3):
            (app,) = gateway.apps
            app.close()
            await app.ended.wait()
            assert (await failure(gateway, client, "shop__clear"))[0] == -32009
            await until(lambda: gateway.apps)
            assert "shop__clear" in names(gateway, client)
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            invocation.answer((await question(invocation)).id, Accept({"approve": True}))
            assert (await value(invocation)).value == "Claude: True"
        client.changes.clear()
        cart = host._app.resources["cart"]
        await until(lambda: cart._followers)
        cart.publish(["B2"])
        await until(lambda: ResourceUpdated(uri) in client.changes)


@pytest.mark.parametrize("binding", ["ws", "uds"])
async def test_field_93_a_dropped_app_is_left_to_its_own_gateway(binding: Any, tesseron_home: Path) -> None:
    # The other one looks first: it started before.
    async with a_shop().listen(binding) as host, a_gateway() as other, a_gateway() as one:
        client, stranger = FakeClient(one), FakeClient(other, "Codex")
        await output(one, client, CLAIM, code=str(host.claim_code))
        for _ in range(3):
            (app,) = one.apps
            app.close()
            await app.ended.wait()
            await until(lambda: one.apps or other.apps)
            assert other.apps == ()
            assert "shop__clear" in names(one, client)
        # Once its gateway is gone, it is anybody's who has its new code.
        await one.aclose()
        await until(lambda: other.apps)
        await until(lambda: host.claim_code)
        await output(other, stranger, CLAIM, code=str(host.claim_code))
        with anyio.fail_after(5):
            while str(await anext(host.events)) != "claimed by Codex":
                pass
        (manifest,) = (json.loads(file.read_text()) for file in (tesseron_home / "instances").iterdir())
        (app,) = other.apps
        assert app.welcome is not None
        assert manifest["hostMintedClaim"]["sessionId"] == app.welcome.session_id
        assert manifest["hostMintedClaim"]["boundAgent"]["name"] == "Codex"


async def test_a_refused_hello_reaches_whoever_pasted_the_code_at_once(tesseron_home: Path) -> None:
    app = a_shop()
    app.id = "Bad-Id"
    async with app.listen() as host, a_gateway() as gateway:
        client = FakeClient(gateway)
        got, message = await failure(gateway, client, CLAIM, code=str(host.claim_code))
        assert got == -32009
        assert "Bad-Id" in message
        assert gateway.apps == ()


async def test_an_app_that_vanished_before_the_paste_is_said_to_be_unreachable(tesseron_home: Path) -> None:
    async with a_gateway() as gateway:
        client = FakeClient(gateway)
        manifest = {
            "version": 2,
            "instanceId": "inst-1",
            "appName": "The shop",
            "addedAt": 1,
            "pid": os.getpid(),
            "transport": {"kind": "ws", "url": "ws://127.0.0.1:9/"},
            "helloHandledByHost": True,
            "hostMintedClaim": {"code": "AB3X-7K", "sessionId": "s_1", "resumeToken": "rt_1"},
        }
        directory.write(directory.private(directory.INSTANCES) / "inst-1.json", manifest)
        got, message = await failure(gateway, client, CLAIM, code="AB3X-7K")
        assert got == -32009
        assert "did not take the claim" in message
        for place in ("ws://10.0.0.1:9/", "ws://example.com/", "http://127.0.0.1:9/"):
            manifest["transport"] = {"kind": "ws", "url": place}
            directory.write(directory.private(directory.INSTANCES) / "inst-1.json", manifest)
            got, message = await failure(gateway, client, CLAIM, code="AB3X-7K")
            assert got == -32009


def a_minted(session: str, **claim: Any) -> dict[str, Any]:
    minted = {"code": f"AB3X-7{session[-1]}", "sessionId": session, "resumeToken": "rt_1", **claim}
    return manifest(instanceId=session, appName=session, helloHandledByHost=True, hostMintedClaim=minted)


async def test_who_waits_is_told_with_its_age_and_forgotten_when_it_is_bound_or_gone(tesseron_home: Path) -> None:
    files = directory.private(directory.INSTANCES)
    now = int(time.time() * 1000)
    directory.write(files / "a.json", {**a_minted("s_K"), "addedAt": now - 90_000})
    directory.write(files / "b.json", {**a_minted("s_M"), "addedAt": now + 90_000})
    directory.write(files / "c.json", a_minted("s_N", boundAgent={"id": "codex", "name": "Codex"}))
    async with a_gateway() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        gateway._since[gateway.apps[0]] -= 30
        await until(lambda: len(gateway._discovery.instances) == 3)
        shop, first, second = await output(gateway, client, PENDING)
        assert (shop["app_name"], shop["age_seconds"] in (30, 31)) == ("The shop", True)
        assert (first["app_name"], first["age_seconds"] in range(90, 100)) == ("s_K", True)
        assert second == {"app_name": "s_M", "age_seconds": 0}
        (files / "a.json").unlink()
        client.changes.clear()
        await until(lambda: ToolsChanged() in client.changes)
        assert [entry["app_name"] for entry in await output(gateway, client, PENDING)] == ["The shop", "s_M"]
        with pytest.raises(UnknownTool, match=r"Not claimed yet: 'The shop', 's_M'; ask the person for the claim code"):
            gateway.call_tool("depot__count", {}, client.caller())
        with pytest.raises(UnknownTool, match=r"^There is no tool 'count'$"):
            gateway.call_tool("count", {}, client.caller())
        got, message = await failure(gateway, client, CLAIM, code="AB3X-7K")
        assert (got, "No app on this machine" in message) == (-32009, True)


async def test_a_manifest_with_a_code_that_can_be_none_keeps_nobody_from_claiming_another(tesseron_home: Path) -> None:
    files = directory.private(directory.INSTANCES)
    odd = {"code": "ÄB3X-7K", "sessionId": "s_1", "resumeToken": "rt_1"}
    directory.write(files / "a.json", manifest(instanceId="a", helloHandledByHost=True, hostMintedClaim=odd))
    async with a_shop().listen() as host, a_gateway() as gateway:
        claimed = await output(gateway, FakeClient(gateway), CLAIM, code=str(host.claim_code))
        assert claimed["app_id"] == "shop"


# Discovery ----------------------------------------------------------------------------------------------------------


async def test_a_plain_app_is_dialled_and_dialled_again_after_a_drop(tesseron_home: Path) -> None:
    async with a_gateway() as gateway:
        client = FakeClient(gateway)
        async with a_shop().listen(claims="gateway") as host:
            (app,) = await until(lambda: gateway.apps)
            await until(lambda: host.claim_code)
            assert await output(gateway, client, CLAIM, code=str(host.claim_code))
            app.close()
            await app.ended.wait()
            await until(lambda: gateway.apps)
            assert "shop__clear" in names(gateway, client)
        await until(lambda: not gateway.apps)
        got, message = await failure(gateway, client, "shop__clear")
        assert got == -32009
        assert "not connected any more" in message
        async with a_shop().listen(claims="gateway") as host:  # field 92, 96: it comes back under a new code
            await until(lambda: host.claim_code)
            got, message = await failure(gateway, client, "shop__clear")
            assert str(host.claim_code) in message
            assert (await output(gateway, client, PENDING))[0]["code"] == host.claim_code
            await output(gateway, client, CLAIM, code=str(host.claim_code))
            assert "shop__clear" in names(gateway, client)


def manifest(**changes: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "instanceId": "inst-1",
        "appName": "The shop",
        "addedAt": 1,
        "pid": os.getpid(),
        "transport": {"kind": "ws", "url": "ws://127.0.0.1:9/"},
        **changes,
    }


def test_a_manifest_is_believed_as_far_as_it_goes(tesseron_home: Path) -> None:
    file = directory.private(directory.INSTANCES) / "inst-1.json"
    for content, readable in (
        (manifest(), True),
        (manifest(pid="x", appName=7, addedAt="x"), True),
        (manifest(transport={"kind": "uds", "path": "/tmp/x.sock"}), True),
        (manifest(transport={"kind": "uds", "path": "x.sock"}), False),
        (manifest(transport={"kind": "smoke"}), False),
        (manifest(transport=None), False),
        (manifest(version=3), False),
        (manifest(instanceId=7), False),
        (manifest(helloHandledByHost=True), False),
        (manifest(helloHandledByHost=True, hostMintedClaim={"code": 7}), False),
        (
            manifest(
                helloHandledByHost=True, hostMintedClaim={"code": "AB3X-7K", "sessionId": "s", "resumeToken": "rt_x"}
            ),
            True,
        ),
    ):
        directory.write(file, content)
        instance = read_instance(file, "instances")
        assert (instance is not None) == readable, content
        assert "AB3X" not in repr(instance)
        assert "rt_x" not in repr(instance)
    directory.write(file, {"version": 1, "tabId": "t", "appName": "Tab", "wsUrl": "ws://127.0.0.1:9/", "addedAt": 1})
    legacy = read_instance(file, "tabs")
    assert legacy is not None
    assert (legacy.app_name, legacy.pid) == ("Tab", None)
    for content in ({"version": 2}, {"version": 1, "tabId": "t", "wsUrl": 7}):
        directory.write(file, content)
        assert read_instance(file, "tabs") is None


def test_field_100_dead_processes_are_pruned_and_hostile_files_ignored(
    tesseron_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instances = directory.private(directory.INSTANCES)
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    directory.write(instances / "dead.json", manifest(pid=process.pid))
    directory.write(instances / "live.json", manifest())
    (instances / "half.json").write_text('{"version": 2, "inst')
    (instances / "huge.json").write_text("[" * 2_000_000)
    (instances / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(instances / "pipe.json")
    (instances / "dir.json").mkdir()
    (instances / ".hidden.json").write_text("{")
    (instances / "note.txt").write_text("{")
    changes: list[tuple[str, Instance | None]] = []
    discovery = Discovery(lambda file, instance: changes.append((file.stem, instance)))
    for _ in range(3):
        discovery.look()
    assert [file.stem for file in discovery.instances] == ["live"]
    assert [name for name, _ in changes] == ["live"]
    assert not (instances / "dead.json").exists()
    assert caplog.text.count("cannot be read and is ignored") == 5
    (instances / "live.json").unlink()
    discovery.look()
    assert changes[-1] == ("live", None)


def test_more_manifests_than_a_machine_has_apps_are_not_read(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery_module, "MOST", 3)
    instances = directory.private(directory.INSTANCES)
    for number in range(5):
        directory.write(instances / f"{number}.json", manifest())
    discovery = Discovery(lambda file, instance: None)
    discovery.look()
    assert [file.stem for file in discovery.instances] == ["0", "1", "2"]


def test_a_manifest_is_read_again_when_it_has_changed_and_not_else(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(file: Path, kind: Any) -> Instance | None:
        read.append(file.stem)
        return read_instance(file, kind)

    monkeypatch.setattr(discovery_module, "read_instance", noted)
    instances = directory.private(directory.INSTANCES)
    for name in ("old", "new", "broken"):
        directory.write(instances / f"{name}.json", manifest(appName=name) if name != "broken" else {})
    for name in ("old", "broken"):
        os.utime(instances / f"{name}.json", (1, 1))
    discovery = Discovery(lambda file, instance: None)
    discovery.look()
    assert sorted(read) == ["broken", "new", "old"]
    read.clear()
    discovery.look()
    assert sorted(read) == ["broken", "new"]  # what is new may change again within the same tick of its clock
    read.clear()
    old = instances / "old.json"
    old.write_text(json.dumps(manifest(appName="two")))  # in place, and of the same length
    os.utime(old, (1, 1))
    discovery.look()
    assert "old" in read
    assert discovery.instances[old].app_name == "two"
    read.clear()
    directory.write(old, manifest(appName="six"))
    os.utime(old, (1, 1))
    discovery.look()
    assert "old" in read
    assert discovery.instances[old].app_name == "six"
    old.chmod(0o400)
    discovery.look()
    assert discovery.instances[old].app_name == "six"
    old.unlink()
    old.symlink_to(instances / "new.json")
    discovery.look()
    assert old not in discovery.instances


async def test_a_gateway_from_before_any_app_makes_the_directory_and_sees_the_first(tesseron_home: Path) -> None:
    async with a_gateway() as gateway:
        await until((tesseron_home / "instances").is_dir)
        legacy = tesseron_home / "tabs"
        legacy.mkdir()
        async with a_shop().listen(claims="gateway") as host:
            url = host.url
            (file,) = await until(lambda: list((tesseron_home / "instances").iterdir()))
            await until(lambda: gateway.apps)
            directory.write(legacy / "t.json", {"version": 1, "tabId": "t", "appName": "Tab", "wsUrl": url})
            await until(lambda: len(gateway._discovery.instances) == 2)
            assert file in gateway._discovery.instances
            assert len(gateway.apps) == 1


async def test_a_change_of_the_directory_is_seen_without_a_full_look(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery_module, "LOOK", 3600.0)
    async with a_gateway() as gateway:
        await until((tesseron_home / "instances").is_dir)
        file = tesseron_home / "instances" / "inst-1.json"
        directory.write(file, a_minted("s_K"))
        await until(lambda: file in gateway._discovery.instances)
        file.unlink()
        await until(lambda: file not in gateway._discovery.instances)


async def test_a_manifest_that_is_rewritten_in_place_is_seen_by_a_full_look(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = directory.private(directory.INSTANCES) / "inst-1.json"
    directory.write(file, a_minted("s_K"))
    os.utime(file.parent, (1, 1))
    monkeypatch.setattr(discovery_module, "LOOK", 0.05)
    async with a_gateway() as gateway:
        await until(lambda: file in gateway._discovery.instances)
        file.write_text(json.dumps(a_minted("s_M")))  # it moves no time of the directory
        assert file.parent.stat().st_mtime == 1
        await until(lambda: gateway._discovery.instances[file].app_name == "s_M")


async def test_what_cannot_be_reached_is_dialled_more_and_more_slowly_and_said_once(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = directory.private(directory.INSTANCES) / "inst-1.json"
    directory.write(file, manifest())
    instance = read_instance(file, "instances")
    pauses: list[float] = []
    enough = anyio.Event()

    class Hasty(Dialler):
        """Notes how long it would wait, and does not."""

        async def _changes(self, file: Path, within: float) -> bool:
            await anyio.lowlevel.checkpoint()
            pauses.append(within)
            if len(pauses) == 12:
                self.change(file, None)
                enough.set()
            return False

    async def dial(place: Any, **options: Any) -> Any:
        raise Unreachable("nobody is there")

    monkeypatch.setattr(dialler_module, "dial", dial)
    async with Home() as home:
        dialler = Hasty(home, lambda channel: pytest.fail("it was not reached"), limit=1000)
        dialler.change(file, instance)
        with anyio.fail_after(5):
            await enough.wait()
    for count, pause in enumerate(pauses):
        full = min(0.2 * 2**count, 30.0)
        assert 0.8 * full <= pause <= 1.2 * full, pauses
    assert caplog.text.count("cannot be reached: nobody is there") == 1


async def test_a_directory_that_cannot_be_used_is_said_and_the_gateway_serves(
    tesseron_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tesseron_home.write_text("a file")  # noqa: ASYNC240  # before anything runs
    async with a_gateway() as gateway:
        client = FakeClient(gateway)
        await until(lambda: "cannot be found" in caplog.text)
        assert "TESSERON_HOME" in caplog.text
        assert len(names(gateway, client)) == 5
        code, message = await failure(gateway, client, CLAIM, code="AB3X-7K")
        assert (code, "TESSERON_HOME" in message) == (-32603, True)


# Resuming -----------------------------------------------------------------------------------------------------------


async def claimed(gateway: Gateway, client: FakeClient) -> tuple[FakeApp, dict[str, Any]]:
    app = connect(gateway)
    welcome = (await app.hello())["result"]
    await output(gateway, client, CLAIM, code=welcome["claimCode"])
    await app.recv()
    return app, welcome


async def resume(gateway: Gateway, session: Any, token: Any, **changes: Any) -> tuple[FakeApp, dict[str, Any]]:
    app = connect(gateway)
    params = {**HELLO, "sessionId": session, "resumeToken": token, **changes}
    await app.send(id=1, method="tesseron/resume", params=params)
    return app, await app.recv()


async def test_field_95_a_session_is_resumed_once_with_its_token_and_gets_another() -> None:
    async with a_gateway(discover=False) as gateway:
        client = FakeClient(gateway)
        app, welcome = await claimed(gateway, client)
        session, token = welcome["sessionId"], welcome["resumeToken"]
        await app.channel.aclose()
        for given, wrong in (
            ((session, "wrong"), {}),
            (("s_unknown", token), {}),
            ((session, token), {"app": {"id": "bank", "name": "x"}}),
            ((session, None), {}),
            ((session, token), {"actions": None}),
            ((session, token), {"protocolVersion": None}),
        ):
            stranger, refused = await resume(gateway, *given, **wrong)
            assert refused["error"]["code"] == -32011
            assert "result" in await stranger.hello()  # the same connection goes on with a hello
            await stranger.channel.aclose()
        again, answer = await resume(
            gateway, session, token, actions=[{"name": "other"}], extensions={"tesseron-py": 1}
        )
        assert answer["result"]["extensions"] == {"tesseron-py": 1}
        assert answer["result"]["sessionId"] == session
        assert answer["result"]["resumeToken"] != token
        assert answer["result"]["agent"]["name"] == "Claude"
        assert "claimCode" not in answer["result"]
        assert "shop__other" in names(gateway, client)
        assert "shop__clear" not in names(gateway, client)
        gateway.call_tool("shop__other", {}, client.caller())
        assert (await again.recv())["params"]["caller"]["agent"]["name"] == "Claude"
        _, refused = await resume(gateway, session, token)
        assert refused["error"]["code"] == -32011
        newest, answer = await resume(gateway, session, answer["result"]["resumeToken"])
        assert "result" in answer
        with pytest.raises(Exception, match="closed"):
            while True:
                await again.recv()
        await newest.channel.aclose()


async def test_what_clients_followed_is_followed_again_when_the_app_is_claimed_anew() -> None:
    async with a_gateway(discover=False) as gateway:
        client, other = FakeClient(gateway), FakeClient(gateway, "Other")
        app, _ = await claimed(gateway, client)
        uri = "tesseron://shop/cart"
        for each in (client, other):
            subscription = gateway.subscribe(uri, each.client)
            await app.send(id=(await app.recv())["id"], result=None)
            await value(subscription)
        gateway.unsubscribe(uri, other.client)
        await app.channel.aclose()
        app, _ = await claimed(gateway, client)  # it came back without its pairing
        request = await app.recv()
        assert (request["method"], request["params"]["name"]) == ("resources/subscribe", "cart")
        await app.send(id=request["id"], result=None)
        await app.nothing_comes()  # once, for the one client that still follows it
        client.changes.clear()
        params = {"subscriptionId": request["params"]["subscriptionId"], "value": 1}
        await app.send(method="resources/updated", params=params)
        await app.nothing_comes()
        assert client.changes == [ResourceUpdated(uri)]


async def test_an_unclaimed_session_is_never_resumed() -> None:
    async with a_gateway(discover=False) as gateway:
        app = connect(gateway)
        welcome = (await app.hello())["result"]
        await app.channel.aclose()
        _, refused = await resume(gateway, welcome["sessionId"], welcome["resumeToken"])
        assert refused["error"]["code"] == -32011


def test_sessions_are_kept_for_a_time_and_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    agent = AgentInfo("a", "A")
    monkeypatch.setenv("TESSERON_RESUME_TTL_MS", "5000")
    sessions = Sessions(now=lambda: now[0])
    for number in range(120):
        sessions.keep(Welcome(f"s_{number}", resume_token=f"rt_{number}"), "shop", agent, "local")
    sessions.keep(Welcome("s_none"), "shop", agent, "local")
    assert len(sessions) == 100

    def asked(number: int) -> Greeting:
        return Greeting(read_info(), {}, {}, False, f"s_{number}", f"rt_{number}")

    with pytest.raises(Exception, match="does not resume"):
        sessions.resume(asked(19))
    assert sessions.resume(asked(20)).principal == "local"
    now[0] = 5.1
    with pytest.raises(Exception, match="does not resume"):
        sessions.resume(asked(21))
    assert "rt_" not in repr(asked(1)) + repr(Welcome("s", resume_token="rt_1", claim_code="AB3X-7K"))
    monkeypatch.setenv("TESSERON_RESUME_TTL_MS", "soon")
    assert Sessions()._ttl == 4 * 3600


def test_the_old_token_lives_until_the_app_has_the_new_one() -> None:
    agent, sessions = AgentInfo("a", "A"), Sessions()
    sessions.keep(Welcome("s_1", resume_token="first"), "shop", agent, "local")

    def asked(token: str) -> Greeting:
        return Greeting(read_info(), {}, {}, False, "s_1", token)

    has_answer = False
    lost = sessions.resume(asked("first"), is_known=lambda: has_answer).resume_token or ""
    again = sessions.resume(asked("first"), is_known=lambda: has_answer).resume_token or ""
    assert len({"first", lost, again}) == 3
    with pytest.raises(Exception, match="does not resume"):
        sessions.resume(asked(lost), is_known=lambda: has_answer)
    shown = repr(sessions._sessions)
    assert again not in shown
    assert "first" not in shown
    has_answer = True
    with pytest.raises(Exception, match="does not resume"):
        sessions.resume(asked("first"))
    sessions.resume(asked(again))
    for token in ("first", again, ""):
        with pytest.raises(Exception, match="does not resume"):
            sessions.resume(asked(token))


# Its own tools ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("surface", "own"),
    [("dynamic", [CLAIM, "shop__clear"]), ("meta", [CLAIM, LIST, INVOKE, READ, PENDING]), ("both", None)],
)
async def test_surfaces(surface: Surface, own: list[str] | None) -> None:
    async with a_gateway(surface=surface, discover=False) as gateway:
        client = FakeClient(gateway)
        await claimed(gateway, client)
        listed = names(gateway, client)
        assert listed == (own or [CLAIM, LIST, INVOKE, READ, PENDING, "shop__clear"])
        if surface == "meta":
            with pytest.raises(UnknownTool):
                gateway.call_tool("shop__clear", {}, client.caller())
        if surface == "dynamic":
            with pytest.raises(UnknownTool):
                gateway.call_tool(LIST, {}, client.caller())


async def test_actions_are_listed_called_and_resources_read_by_name() -> None:
    async with a_gateway(discover=False) as gateway:
        client = FakeClient(gateway)
        app, _ = await claimed(gateway, client)
        about = await output(gateway, client, LIST)
        assert about == [
            {
                "app_id": "shop",
                "app_name": "The shop",
                "actions": [{"name": "clear", "description": "Empty the cart", "inputSchema": {"type": "object"}}],
                "resources": [{"name": "cart", "description": "The cart"}],
            }
        ]
        for args in ({"all": True}, None):
            arguments = {"app_id": "shop", "action": "clear", **({"args": args} if args else {})}
            invocation = gateway.call_tool(INVOKE, arguments, client.caller())
            request = await app.recv()
            assert (request["params"]["name"], request["params"]["input"]) == ("clear", args or {})
            await app.send(id=request["id"], result={"output": 5})
            assert (await value(invocation)).value == 5
        invocation = gateway.call_tool(READ, {"app_id": "shop", "name": "cart"}, client.caller())
        request = await app.recv()
        await app.send(id=request["id"], result={"value": ["A1"]})
        assert (await value(invocation)).value == ["A1"]
        invocation = gateway.call_tool(READ, {"app_id": "shop", "name": "cart"}, client.caller())
        await app.send(id=(await app.recv())["id"], error={"code": -32005, "message": "broken"})
        assert (await error(invocation))[:2] == (-32005, "broken")
        for tool, arguments, code in (
            (INVOKE, {}, -32004),
            (INVOKE, {"app_id": "shop", "action": 7}, -32004),
            (INVOKE, {"app_id": "shop", "action": "clear", "args": []}, -32004),
            (INVOKE, {"app_id": "shop", "action": "none"}, -32003),
            (INVOKE, {"app_id": "none", "action": "clear"}, -32003),
            (READ, {"app_id": "shop", "name": "none"}, -32003),
            (READ, {"app_id": "shop"}, -32004),
            (CLAIM, {}, -32004),
        ):
            assert (await failure(gateway, client, tool, **arguments))[0] == code, (tool, arguments)


async def test_an_app_that_leaves_unclaimed_takes_its_breadcrumb_along(tesseron_home: Path) -> None:
    async with a_gateway(discover=False) as gateway:
        client, app, other = FakeClient(gateway), connect(gateway), connect(gateway)
        code = (await app.hello())["result"]["claimCode"]
        stays = (await other.hello())["result"]["claimCode"]
        await app.channel.aclose()
        await other.nothing_comes()
        assert [path.stem for path in (tesseron_home / "claims").iterdir()] == [stays]
        assert (await failure(gateway, client, CLAIM, code=code))[0] == -32009


async def test_closing_the_gateway_ends_what_waits_and_leaves_no_breadcrumbs(tesseron_home: Path) -> None:
    async with a_gateway(discover=False) as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        assert len(list((tesseron_home / "claims").iterdir())) == 1
        await gateway.aclose()
        assert list((tesseron_home / "claims").iterdir()) == []
        assert client.changes != []


async def test_what_an_app_logs_outside_of_a_call_reaches_its_owners_clients() -> None:
    async with a_gateway(discover=False) as gateway:
        mine, theirs = FakeClient(gateway), FakeClient(gateway, "Other")
        gateway.detach(theirs.client)
        theirs.client = Client("other-token", "Other", "1", "legacy", theirs.changes.append)
        gateway.attach(theirs.client)
        app = connect(gateway)
        code = (await app.hello())["result"]["claimCode"]
        await app.send(method="log", params={"level": "warn", "message": "before the claim"})
        await app.nothing_comes()
        await output(gateway, mine, CLAIM, code=code)
        for params in (
            {"level": "warn", "message": "disk is full", "meta": {"mb": 3}},
            {"level": "loud", "message": "odd"},
            {"level": "warn", "message": 7},
            {"level": "warn", "message": "of a call that is over", "invocationId": "i-99"},
        ):
            await app.send(method="log", params=params)
        await app.recv()
        await app.nothing_comes()
        logged = [change for change in mine.changes if isinstance(change, Logged)]
        assert [(change.entry, change.name) for change in logged] == [
            (Log("warn", "disk is full", {"mb": 3}), "shop"),
            (Log("info", "odd"), "shop"),
        ]
        assert not [change for change in theirs.changes if isinstance(change, Logged)]
