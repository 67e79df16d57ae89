"""The modern era on a pair of pipes, beside the legacy one: every message says for itself which it is of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_schemas
import pytest
from desk import value_of
from fixture_provider import CONFIRM, FixtureProvider, Running, show
from modern_desk import ACCEPT, VERSION, Asked, with_meta
from test_mcp_stdio import Client, served

from tesseron_py.invocation import Form
from tesseron_py.mcp.provider import ToolsChanged

MCP = "io.modelcontextprotocol/"
FIXTURE = Path(__file__).with_name("fixture_provider.py")


class Modern:
    """The modern half of a client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def start(self, method: str, params: Any = None, *, id: Any = None, **meta: Any) -> Any:
        return await self.client.start(method, with_meta(params, **meta), id=id)

    async def response(self, id: Any, method: str = "tools/call") -> dict[str, Any]:
        response = await self.client.response(id)
        mcp_schemas.check(VERSION, response, method)
        return response

    async def request(self, method: str, params: Any = None, **meta: Any) -> Any:
        response = await self.response(await self.start(method, params, **meta), method)
        assert "result" in response, response
        return response["result"]

    async def refused(self, method: str, params: Any = None, **meta: Any) -> dict[str, Any]:
        response = await self.response(await self.start(method, params, **meta), method)
        error: dict[str, Any] = response["error"]
        return error

    async def ask(self, tool: str, arguments: Any = None, **meta: Any) -> Asked:
        params = {"name": tool, "arguments": arguments or {}}
        return Asked("tools/call", params, await self.request("tools/call", params, **meta))

    async def answer(self, asked: Asked, action: str = "accept", **content: Any) -> Any:
        response = {"action": action, "content": content}
        return await self.request(asked.method, asked.next(dict.fromkeys(asked.requests, response)))


@pytest.fixture
def provider() -> FixtureProvider:
    return FixtureProvider()


async def test_a_call_asks_and_is_repeated_with_the_answer(provider: FixtureProvider) -> None:
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        assert (await modern.request("server/discover"))["supportedVersions"] == [VERSION]
        asked = await modern.ask("confirm")
        result = await modern.answer(asked, approve=True)
        assert value_of(result) == {"reply": "Accept", "content": {"approve": True}}
        assert await modern.answer(asked, approve=True) == result
        assert len(provider.callers) == 1
        assert client._others == []


async def test_a_probe_may_be_followed_by_an_initialize_and_both_go_on(provider: FixtureProvider) -> None:
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        assert (await modern.request("server/discover"))["supportedVersions"] == [VERSION]
        assert (await client.initialize())["protocolVersion"] == "2025-11-25"
        asked = await modern.ask("confirm")
        id = await client.calling("confirm")
        prompt = await client.next("elicitation/create")
        assert value_of(await modern.answer(asked, "decline"))["reply"] == "Decline"
        await client.answer(prompt, approve=True)
        assert value_of((await client.response(id))["result"])["reply"] == "Accept"
        assert await client.request("ping") == {}
        assert (await modern.refused("ping"))["code"] == -32601
        assert client._others == []


async def test_modern_requests_need_no_initialize_and_legacy_ones_do(provider: FixtureProvider) -> None:
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        assert (await modern.request("tools/list"))["tools"]
        response = await client.response(await client.start("tools/list"))
        assert "initialize" in response["error"]["message"]
        assert (await modern.refused("tools/list", version="2030-01-01"))["code"] == -32022
        response = await client.response(await client.start("server/discover"))
        assert response["error"]["code"] == -32602
        assert await client.initialize()


async def test_discover_is_answered_before_the_provider_is_ready(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        id = await modern.start("tools/call", {"name": "echo", "arguments": {"value": 1}})
        assert (await modern.request("server/discover"))["capabilities"]
        assert await client.initialize()
        provider.gate.set()
        assert value_of((await modern.response(id))["result"]) == 1


async def test_an_id_that_is_in_flight_is_refused_in_either_era(provider: FixtureProvider) -> None:
    async with served(provider) as (client, _):
        modern = Modern(client)
        await modern.start("tools/call", {"name": "slow"}, id="x")
        await client.calling("confirm", id=7)
        prompt = await client.next("elicitation/create")
        for start in (modern.start, client.start):
            for id in ("x", 7):
                response = await client.response(await start("tools/call", {"name": "echo"}, id=id))
                assert response["error"]["code"] == -32600
                assert f"The id {id!r} belongs to a request that is still running" in response["error"]["message"]
        provider.event("go").set()
        assert value_of((await modern.response("x"))["result"]) == "finished"
        await client.answer(prompt, "decline")
        assert value_of((await client.response(7))["result"])["reply"] == "Decline"
        for id in ("x", 7):
            await modern.start("tools/call", {"name": "echo", "arguments": {"value": id}}, id=id)
            assert value_of((await modern.response(id))["result"]) == id


async def test_a_cancelled_request_ends_without_an_answer(provider: FixtureProvider) -> None:
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        id = await modern.start("tools/call", {"name": "slow"})
        await provider.event("slow runs").wait()
        for other in ({"requestId": 99}, {"requestId": None}, {"requestId": [id]}, {}, [id], None):
            await client.send(method="notifications/cancelled", params=other)
        assert (await modern.request("server/discover"))["supportedVersions"]
        assert "slow" not in provider.ended
        await client.send(method="notifications/cancelled", params={"requestId": id, "_meta": {}})
        with anyio.fail_after(5):
            await provider.event("ended slow").wait()
        assert provider.ended["slow"] == "cancelled"
        assert (await modern.request("server/discover"))["supportedVersions"]
        assert client._others == []


async def test_a_later_leg_is_cancelled_and_between_legs_there_is_nothing_to_cancel(provider: FixtureProvider) -> None:
    async def twice(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        await running.confirm()
        provider.event("between").set()
        await provider.event("go").wait()

    provider.handlers["twice"] = twice
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        id = await modern.start("tools/call", {"name": "twice", "arguments": {}})
        asked = Asked("tools/call", {"name": "twice", "arguments": {}}, (await modern.response(id))["result"])
        await client.send(method="notifications/cancelled", params={"requestId": id})
        assert (await modern.request("tools/call", asked.next()))["resultType"] == "input_required"
        leg = await modern.start("tools/call", asked.accepting())
        await provider.event("between").wait()
        await client.send(method="notifications/cancelled", params={"requestId": leg})
        with anyio.fail_after(5):
            await provider.event("ended twice").wait()
        assert provider.ended["twice"] == "cancelled"
        assert (await modern.request("tools/call", asked.next()))["isError"]


async def test_of_two_legs_the_one_that_is_cancelled_ends_at_once(provider: FixtureProvider) -> None:
    async def twice(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        await running.confirm()
        provider.event("between").set()
        await provider.event("go").wait()
        return show(await running.ask(Form("Again?", CONFIRM)))

    provider.handlers["twice"] = twice
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        asked = await modern.ask("twice")
        one = await modern.start("tools/call", asked.accepting())
        two = await modern.start("tools/call", asked.next())
        await provider.event("between").wait()
        await client.send(method="notifications/cancelled", params={"requestId": one})
        await modern.request("server/discover")
        await anyio.wait_all_tasks_blocked()
        await modern.start("tools/call", {"name": "echo", "arguments": {"value": "free"}}, id=one)
        assert value_of((await modern.response(one))["result"]) == "free"
        provider.event("go").set()
        second = Asked("tools/call", asked.params, (await modern.response(two))["result"])
        assert value_of(await modern.answer(second, "decline"))["reply"] == "Decline"


async def test_progress_and_log_are_lines_with_their_own_token(provider: FixtureProvider) -> None:
    async with served(provider, initialize=False) as (client, _):
        modern = Modern(client)
        id = await modern.start("tools/call", {"name": "progress"}, token="t")
        for _ in range(3):
            assert (await client.next("notifications/progress"))["params"]["progressToken"] == "t"
        assert (await modern.response(id))["result"]["resultType"] == "complete"
        id = await modern.start("tools/call", {"name": "log"}, level="error")
        assert (await client.next("notifications/message"))["params"]["level"] == "error"
        assert (await modern.response(id))["result"]["resultType"] == "complete"
        await modern.request("tools/call", {"name": "log"})
        assert client._others == []


async def test_two_streams_of_changes_and_the_session_each_hear_their_own(provider: FixtureProvider) -> None:
    async with served(provider) as (client, _):
        modern = Modern(client)
        one = await modern.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="one")
        assert (await client.next("notifications/subscriptions/acknowledged"))["params"]["_meta"] == {
            MCP + "subscriptionId": "one"
        }
        wanted = {"resourceSubscriptions": ["test://text"], "promptsListChanged": True}
        two = await modern.start("subscriptions/listen", {"notifications": wanted}, id=20)
        acknowledged = await client.next("notifications/subscriptions/acknowledged")
        assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": ["test://text"]}
        provider.update("test://text")
        updated = await client.next("notifications/resources/updated")
        assert updated["params"] == {"uri": "test://text", "_meta": {MCP + "subscriptionId": 20}}
        provider.change(ToolsChanged())
        told = [(await client.next("notifications/tools/list_changed")).get("params") for _ in range(2)]
        assert {"_meta": {MCP + "subscriptionId": one}} in told
        assert None in told
        await client.send(method="notifications/cancelled", params={"requestId": two})
        await modern.request("server/discover")
        await anyio.wait_all_tasks_blocked()
        provider.update("test://text")
        assert await client.request("ping") == {}
        assert client._others == []


async def test_a_stream_of_changes_survives_silence(provider: FixtureProvider) -> None:
    async with served(provider, initialize=False, silence=0.01) as (client, _):
        modern = Modern(client)
        await modern.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await client.next("notifications/subscriptions/acknowledged")
        id = await modern.start("tools/call", {"name": "slow"}, token="t")
        for _ in range(3):
            await client.next("notifications/progress")
        provider.change(ToolsChanged())
        while (await client.next())["method"] != "notifications/tools/list_changed":
            pass
        provider.event("go").set()
        assert value_of((await modern.response(id))["result"]) == "finished"


async def test_the_end_of_input_ends_everything(provider: FixtureProvider) -> None:
    async with served(provider) as (client, there):
        modern = Modern(client)
        await modern.ask("confirm")
        await modern.start("tools/call", {"name": "slow"})
        await provider.event("slow runs").wait()
        await modern.start("subscriptions/listen", {"notifications": {}})
        await client.next("notifications/subscriptions/acknowledged")
        await there.aclose()
        with anyio.fail_after(5):
            for name in ("confirm", "slow"):
                await provider.event(f"ended {name}").wait()
                assert provider.ended[name] == "cancelled"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_as_a_process_of_its_own_both_eras_and_the_last_words(backend: str) -> None:
    process = subprocess.Popen(
        [sys.executable, str(FIXTURE), "stdio", backend],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def say(**members: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")
        process.stdin.flush()

    def hear() -> dict[str, Any]:
        assert process.stdout is not None
        message: dict[str, Any] = json.loads(process.stdout.readline())
        return message

    try:
        say(id=1, method="server/discover", params=with_meta())
        assert hear()["result"]["supportedVersions"] == [VERSION]
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        say(id=2, method="initialize", params=params)
        assert hear()["result"]["protocolVersion"] == "2025-11-25"
        call = {"name": "confirm", "arguments": {"question": "Zoë \u2028?"}}
        say(id=3, method="tools/call", params=with_meta(call))
        asked = Asked("tools/call", call, hear()["result"])
        assert asked.requests[asked.key]["params"]["message"] == "Zoë \u2028?"
        say(id=4, method="tools/call", params=with_meta(asked.next({asked.key: ACCEPT})))
        assert value_of(hear()["result"])["reply"] == "Accept"
        say(id="s", method="subscriptions/listen", params=with_meta({"notifications": {"toolsListChanged": True}}))
        assert hear()["method"] == "notifications/subscriptions/acknowledged"
        say(id=5, method="tools/call", params=with_meta({"name": "slow"}))
        say(id=6, method="tools/call", params=with_meta({"name": "echo", "arguments": {"value": 1}}))
        assert value_of(hear()["result"]) == 1
        rest, _ = process.communicate(timeout=5)
        last = {message["id"]: message for message in map(json.loads, rest.splitlines())}
        assert set(last) == {"s", 5}
        assert last["s"]["result"]["resultType"] == "complete"
        assert last[5]["error"]["code"] == -32603
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
