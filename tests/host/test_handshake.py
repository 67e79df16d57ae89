"""Hello, welcome, claimed: what the host says first and what it makes of the answer (Tesseron 1.2 §3)."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from tesseron_py.app import Tesseron
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.memory import pair
from tesseron_py.context import Context
from tesseron_py.home import Home
from tesseron_py.host.session import HandshakeFailure, Session
from tesseron_py.limits import Limits
from tesseron_py.protocol.messages import AgentInfo

from .fake_gateway import WELCOME, FakeGateway, connected, serving


def shop(ran: list[str] | None = None, **kwargs: Any) -> Tesseron:
    app = Tesseron("shop", **kwargs)

    @app.action
    async def note(ctx: Context) -> dict[str, Any]:
        if ran is not None:
            ran.append("note")
        return {
            "agent": ctx.agent.id,
            "elicitation": ctx.capabilities.elicitation,
            "sampling": ctx.capabilities.sampling,
        }

    return app


async def test_the_hello_says_who_the_app_is_and_what_it_offers() -> None:
    app = Tesseron(
        "shop",
        "The shop",
        description="Sells",
        version="1.4",
        origin="https://shop.example",
        icon_url="https://x/i.png",
    )
    app.action("clear").describe("Empty it").annotate(destructive=True, requires_confirmation=True).handler(lambda: 1)
    app.resource("cart").describe("The cart").subscribable(False).read(list)
    async with connected(app) as gateway:
        hello = await gateway.welcome()
        assert hello["method"] == "tesseron/hello"
        assert hello["id"] == 1
        assert hello["params"] == {
            "protocolVersion": "1.2.0",
            "app": {
                "id": "shop",
                "name": "The shop",
                "origin": "https://shop.example",
                "description": "Sells",
                "version": "1.4",
                "iconUrl": "https://x/i.png",
            },
            "actions": [
                {
                    "name": "clear",
                    "description": "Empty it",
                    "inputSchema": hello["params"]["actions"][0]["inputSchema"],
                    "annotations": {"destructive": True, "requiresConfirmation": True},
                }
            ],
            "resources": [{"name": "cart", "description": "The cart", "subscribable": False}],
            "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
            "extensions": {"tesseron-py": 1},
        }
        assert hello["params"]["actions"][0]["inputSchema"]["type"] == "object"


async def test_an_app_without_an_origin_says_unknown() -> None:
    async with connected(Tesseron("shop")) as gateway:
        assert (await gateway.welcome())["params"]["app"]["origin"] == "unknown"


async def test_what_comes_before_the_welcome_waits_for_it() -> None:
    ran: list[str] = []
    async with connected(shop(ran)) as gateway:
        hello = await gateway.recv()
        await gateway.invoke("note", id=7)
        await gateway.nothing_comes()
        assert ran == []
        await gateway.send(id=hello["id"], result=WELCOME)
        response = await gateway.recv()
        assert response["id"] == 7
        assert response["result"]["output"]["agent"] == "claude"


async def test_a_waiting_call_can_be_cancelled_and_no_more_than_64_wait() -> None:
    ran: list[str] = []
    async with connected(shop(ran)) as gateway:
        hello = await gateway.recv()
        for number in range(65):
            await gateway.invoke("note", id=number, invocation=f"i-{number}")
        refused = await gateway.recv()
        assert refused["id"] == 64
        assert refused["error"]["code"] == -32600
        await gateway.cancel("i-3")
        cancelled = await gateway.recv()
        assert (cancelled["id"], cancelled["error"]["code"]) == (3, -32001)
        await gateway.send(id=hello["id"], result=WELCOME)
        answered = {(await gateway.recv())["id"] for _ in range(63)}
        assert answered == set(range(64)) - {3}
    assert len(ran) == 63


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32000, "message": "Major version mismatch"}},
        {"error": {"code": -32602, "message": "bad app id"}},
        {"result": None},
        {"result": {}},
        {"result": {**WELCOME, "sessionId": 7}},
        {"result": {**WELCOME, "protocolVersion": "2.0.0"}},
        {"result": {**WELCOME, "protocolVersion": None}},
        {"result": {**WELCOME, "protocolVersion": "one"}},
        {"result": 1, "error": {"code": 1, "message": "both"}},
    ],
)
async def test_a_welcome_it_cannot_serve_under_ends_the_connection_and_runs_nothing(answer: dict[str, Any]) -> None:
    ran: list[str] = []
    failures: list[str] = []
    ended = anyio.Event()
    async with Home() as home:
        here, there = pair()
        gateway = FakeGateway(here)
        session = Session(shop(ran), there, home)

        async def run() -> None:
            try:
                await session.run()
            except HandshakeFailure as failure:
                failures.append(str(failure))
            ended.set()

        home.start(run)
        hello = await gateway.recv()
        await gateway.invoke("note", id=7)
        await gateway.send(id=hello["id"], **answer)
        with anyio.fail_after(5):
            await ended.wait()
            while True:
                try:
                    frame = await gateway.recv()
                except Closed:
                    break
                assert frame.get("method") != "tesseron/hello"
                assert frame.get("id") != 7
    assert ran == []
    assert len(failures) == 1
    assert "gateway" in failures[0]


async def test_no_welcome_in_time_closes_the_connection() -> None:
    _here, there = pair()
    async with Home() as home:
        session = Session(shop(limits=Limits(handshake=0.02)), there, home)
        with anyio.fail_after(5), pytest.raises(HandshakeFailure, match=r"no welcome within 0\.02 s"):
            await session.run()


async def test_another_minor_version_and_unknown_fields_are_taken() -> None:
    async with serving(shop(), protocolVersion="1.9.7", surprise={"x": 1}) as gateway:
        assert "result" in await gateway.call("note")


@pytest.mark.parametrize("agent", [None, "x", {}, {"id": 7}])
async def test_a_welcome_without_an_agent_leaves_it_pending(agent: Any) -> None:
    async with serving(shop(), agent=agent) as gateway:
        assert (await gateway.call("note"))["result"]["output"]["agent"] == "pending"


async def test_claimed_replaces_agent_and_capabilities_and_drops_the_code() -> None:
    claimed: list[AgentInfo] = []
    async with Home() as home:
        here, there = pair()
        gateway = FakeGateway(here)
        session = Session(shop(), there, home, on_claimed=claimed.append)
        home.start(session.run)
        await gateway.welcome(claimCode="AB3X-7K", agent={"id": "pending", "name": "Awaiting agent"})
        assert (await gateway.call("note"))["result"]["output"]["agent"] == "pending"
        assert session.claim_code == "AB3X-7K"
        await gateway.send(
            method="tesseron/claimed",
            params={
                "agent": {"id": "codex", "name": "Codex"},
                "claimedAt": 1,
                "agentCapabilities": {"elicitation": False},
            },
        )
        seen = (await gateway.call("note"))["result"]["output"]
        assert seen == {"agent": "codex", "elicitation": False, "sampling": False}
        assert session.claim_code is None
        await gateway.send(method="tesseron/claimed", params={"agent": {"id": "claude", "name": "Claude"}})
        seen = (await gateway.call("note"))["result"]["output"]
        assert seen == {"agent": "claude", "elicitation": False, "sampling": False}
        assert claimed == [AgentInfo("codex", "Codex"), AgentInfo("claude", "Claude")]
        await gateway.channel.aclose()


async def test_a_handler_reads_what_the_agent_can_do_now() -> None:
    app = Tesseron("shop")
    looked, told = anyio.Event(), anyio.Event()

    @app.action
    async def look(ctx: Context) -> list[Any]:
        before = [ctx.agent.id, ctx.capabilities.elicitation]
        looked.set()
        await told.wait()
        return [*before, ctx.agent.id, ctx.capabilities.elicitation]

    async with serving(app, claimCode="AB3X-7K", agent={"id": "pending", "name": "Awaiting agent"}) as gateway:
        await gateway.invoke("look")
        with anyio.fail_after(5):
            await looked.wait()
        can_not = {"elicitation": False}
        params = {"agent": {"id": "codex", "name": "Codex"}, "claimedAt": 1, "agentCapabilities": can_not}
        await gateway.send(method="tesseron/claimed", params=params)
        await gateway.nothing_comes()
        told.set()
        assert (await gateway.recv())["result"]["output"] == ["pending", True, "codex", False]


async def test_a_claim_code_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with serving(shop(), claimCode="AB3X-7K") as gateway:
            await gateway.call("note")
    assert "AB3X-7K" not in caplog.text


@pytest.mark.parametrize(
    "id", ["", "Shop", "1shop", "my-shop", "my__shop", "shop_", "tesseron", "mcp", "system", "shöp", 7]
)
def test_an_app_id_that_is_none_is_refused(id: Any) -> None:
    with pytest.raises(ValueError, match="id"):
        Tesseron(id)


@pytest.mark.parametrize("threads", [0, -1, True, "4", 1.5])
def test_a_number_of_threads_that_is_none_is_refused(threads: Any) -> None:
    with pytest.raises(ValueError, match="threads"):
        Tesseron("shop", threads=threads)


@pytest.mark.parametrize("limit", [{"frame": 0}, {"question": -1}, {"prompts": True}, {"body": "1"}])
def test_limits_that_are_none_are_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Limits(**limit)


async def test_a_burst_of_changes_goes_out_once() -> None:
    app = shop()
    async with serving(app) as gateway:
        app.action("one").handler(lambda: 1)
        app.action("two").handler(lambda: 2)
        app.remove_action("note")
        app.resource("stats").read(lambda: 1)
        changed = await gateway.recv()
        assert changed["method"] == "actions/list_changed"
        assert [entry["name"] for entry in changed["params"]["actions"]] == ["one", "two"]
        changed = await gateway.recv()
        assert changed["method"] == "resources/list_changed"
        assert [entry["name"] for entry in changed["params"]["resources"]] == ["stats"]
        await gateway.nothing_comes()
        await anyio.to_thread.run_sync(lambda: app.action("three").handler(lambda: 3))
        assert [entry["name"] for entry in (await gateway.recv())["params"]["actions"]] == ["one", "two", "three"]


async def test_a_watcher_that_stops_hears_no_more() -> None:
    app, heard = shop(), []
    stop = app.watch(heard.append)
    app.action("one").handler(lambda: 1)
    stop()
    stop()
    app.remove_action("one")
    assert heard == ["actions"]
    assert repr(app) == "<Tesseron shop: 1 actions, 0 resources>"
