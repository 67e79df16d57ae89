"""The modern era over HTTP, under a real server: statuses, eras side by side, legs, closed responses, and the end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import pytest
from fixture_provider import FixtureProvider, Running, show
from modern_desk import ACCEPT, VERSION, Asked, with_meta
from web import ModernWeb, modern_web, serving, web

from tesseron_py import Context, SyncContext, Tesseron
from tesseron_py.errors import ElicitationNotAvailable
from tesseron_py.invocation import Log, Unavailable
from tesseron_py.mcp.provider import Tool, ToolsChanged

MCP = "io.modelcontextprotocol/"


@pytest.fixture
def provider() -> FixtureProvider:
    made = FixtureProvider()
    made.handlers |= {"twice": twice, "pausing": pausing}
    return made


async def twice(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Ask, run until `go`, ask again."""
    first = await running.confirm("First?")
    provider.event("between").set()
    await provider.event("go").wait()
    return [show(first), show(await running.confirm("Second?"))]


async def pausing(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Log, and run until `go`; then ask."""
    running.invocation.note(Log("info", "begun"))
    provider.event("begun").set()
    await provider.event("go").wait()
    return show(await running.confirm())


# Statuses ------------------------------------------------------------------------------------------------------------


async def test_a_result_is_json_and_stands_for_itself(provider: FixtureProvider) -> None:
    async with modern_web(provider) as (client, endpoint):
        response = await client.post("tools/call", {"name": "echo", "arguments": {"value": "Zoë"}}, id=7)
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert "mcp-session-id" not in response.headers
        assert response.json()["id"] == 7
        assert response.json()["result"]["_meta"][MCP + "serverInfo"]["name"] == "fixture"
        assert endpoint.sessions == 0


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("version", [VERSION, "2030-01-01"])
async def test_get_and_delete_are_405(method: str, version: str) -> None:
    async with modern_web() as (client, _):
        response = await client.send(method, headers={"MCP-Protocol-Version": version, "Content-Type": None})
        assert response.status_code == 405
        assert response.headers["allow"] == "POST, OPTIONS"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"MCP-Protocol-Version": None}, -32020),
        ({"MCP-Protocol-Version": "2025-11-25"}, -32020),
        ({"MCP-Protocol-Version": "x"}, -32020),
        ({"Mcp-Method": None}, -32020),
        ({"Mcp-Method": "tools/list"}, -32020),
        ({"Mcp-Name": None}, -32020),
        ({"Mcp-Name": "ECHO"}, -32020),
        ({"Mcp-Name": "=?base64?!?="}, -32020),
    ],
)
async def test_a_header_that_is_missing_or_differs_is_400(headers: Any, code: int) -> None:
    async with modern_web() as (client, _):
        status, error = await client.refused("tools/call", {"name": "echo"}, headers=headers)
        assert (status, error["code"]) == (400, code)


async def test_header_names_have_no_case_and_names_may_be_in_base64(provider: FixtureProvider) -> None:
    provider.handlers["Zoë"] = provider.handlers["echo"]
    async with modern_web(provider) as (client, _):
        headers: Any = {
            "mcp-name": "=?base64?Wm/Dqw==?=",
            "Mcp-Name": None,
            "MCP-METHOD": "tools/call",
            "Mcp-Method": None,
        }
        result = await client.request("tools/call", {"name": "Zoë", "arguments": {"value": 1}}, headers=headers)
        assert result["content"][0]["text"] == "1"


@pytest.mark.parametrize(
    ("method", "meta", "status", "code"),
    [
        ("tools/list", {"capabilities": None}, 400, -32602),
        ("server/discover", {"capabilities": None}, 400, -32602),
        ("no/such", {}, 404, -32601),
        ("initialize", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("logging/setLevel", {}, 404, -32601),
        ("resources/subscribe", {}, 404, -32601),
        ("resources/unsubscribe", {}, 404, -32601),
        ("prompts/get", {}, 200, -32602),
    ],
)
async def test_the_error_table(method: str, meta: dict[str, Any], status: int, code: int) -> None:
    async with modern_web() as (client, _):
        got, error = await client.refused(method, **meta)
        assert (got, error["code"]) == (status, code)


async def test_a_version_that_is_not_served_is_400_and_says_which_is() -> None:
    async with modern_web() as (client, _):
        headers: Any = {"MCP-Protocol-Version": "2030-01-01"}
        status, error = await client.refused("server/discover", version="2030-01-01", headers=headers)
        assert (status, error["code"]) == (400, -32022)
        assert error["data"] == {"supported": [VERSION], "requested": "2030-01-01"}


async def test_a_notification_is_202_and_an_answer_400() -> None:
    async with modern_web() as (client, _):
        for message in (
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
            {"jsonrpc": "2.0", "method": "no/such", "params": with_meta()},
            {"jsonrpc": "2.0", "method": 5},
        ):
            response = await client.send("POST", message)
            assert (response.status_code, response.content) == (202, b"")
        headerless = await client.send("POST", {"jsonrpc": "2.0", "method": "x", "params": with_meta()},
                                       headers={"MCP-Protocol-Version": None})  # fmt: skip
        assert headerless.status_code == 202
        response = await client.send("POST", {"jsonrpc": "2.0", "id": "q-1", "result": ACCEPT})
        assert response.status_code == 400
        assert "id" not in response.json()
        for body in (b"{", b"[]", b'{"jsonrpc":"2.0","id":1}'):
            assert (await client.send("POST", body)).status_code == 400


async def needy(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """What an author's `ctx.elicit` does, after `go`."""
    running.invocation.note(Log("info", "begun"))
    await provider.event("go").wait()
    reply = await running.confirm()
    if isinstance(reply, Unavailable):
        raise ElicitationNotAvailable(reply.reason)
    return show(reply)


async def test_a_missing_capability_is_400_or_after_an_upgrade_the_last_frame(provider: FixtureProvider) -> None:
    provider.handlers["needy"] = needy
    needed = {"requiredCapabilities": {"elicitation": {}}}
    async with modern_web(provider) as (client, _):
        async with client.stream("tools/call", {"name": "needy"}, level="info", capabilities={}) as stream:
            assert stream.status == 200
            await stream.next("notifications/message")
            provider.event("go").set()
            error = (await stream.next())["error"]
            assert (error["code"], error["data"]) == (-32021, needed)
            assert await stream.ended()
        status, error = await client.refused("tools/call", {"name": "needy"}, capabilities={})
        assert (status, error["code"], error["data"]) == (400, -32021, needed)
        asked = await client.ask("needy")
        status, error = await client.refused("tools/call", asked.next(), capabilities={"elicitation": {"url": {}}})
        assert (status, error["code"], error["data"]) == (400, -32021, needed)
        assert (await client.answer_to(asked, approve=True))["resultType"] == "complete"


# Both eras -----------------------------------------------------------------------------------------------------------


async def test_both_eras_at_one_endpoint_and_each_request_says_which(provider: FixtureProvider) -> None:
    async with web(provider) as (legacy, endpoint):
        modern = ModernWeb(legacy.client)
        asked = await modern.ask("confirm")
        async with legacy.calling("confirm") as stream:
            prompt = await stream.next("elicitation/create")
            # An answer of the other era, under every id there is, answers nothing.
            assert (await modern.answer_to(asked, "decline"))["content"][0]["text"] == '{"reply":"Decline"}'
            async with modern.stream("subscriptions/listen", {"notifications": {"toolsListChanged": True}}) as listen:
                await listen.next("notifications/subscriptions/acknowledged")
                assert await legacy.call("grow") == "grown"
                await listen.next("notifications/tools/list_changed")
            await legacy.answer(prompt, approve=True)
            assert json.loads((await stream.result())["content"][0]["text"])["reply"] == "Accept"
        assert await legacy.request("ping") == {}
        assert (await modern.request("server/discover"))["supportedVersions"] == [VERSION]
        assert endpoint.sessions == 1
        # A session's header says nothing to the modern era, and a modern `_meta` none to a legacy request.
        result = await modern.request("tools/call", {"name": "echo"}, headers={"Mcp-Session-Id": "stale"})
        assert result["resultType"] == "complete"
        assert await legacy.request("ping", {"_meta": {MCP + "protocolVersion": "2025-11-25"}}) == {}


async def test_the_body_alone_makes_a_request_modern(provider: FixtureProvider) -> None:
    async with web(provider) as (legacy, _):
        response = await legacy.post("tools/call", with_meta({"name": "echo"}))
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)


async def test_the_same_id_is_in_flight_in_every_request(provider: FixtureProvider) -> None:
    async with modern_web(provider, silence=0.02) as (client, _):
        async with (
            client.stream("tools/call", {"name": "pausing"}, id=1, level="info") as one,
            client.stream("tools/call", {"name": "pausing"}, id=1, level="info") as two,
        ):
            await one.next("notifications/message"), await two.next("notifications/message")
            provider.event("go").set()
            first, second = await one.next(), await two.next()
        assert first["id"] == second["id"] == 1
        states = {first["result"]["requestState"], second["result"]["requestState"]}
        assert len(states) == 2


# The wait ------------------------------------------------------------------------------------------------------------


async def test_the_same_app_asks_in_both_eras() -> None:
    app = Tesseron("shop")
    ran: list[str] = []

    @app.action("pay").handler
    async def pay(amount: int, ctx: Context) -> str:
        ran.append("begun")
        paid = await ctx.confirm(f"Pay {amount}?")
        ran.append("ended")
        return "paid" if paid else "kept"

    async with serving(app.asgi()) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        modern = ModernWeb(http)
        for action, content, text in (
            ("accept", {"approve": True}, "paid"), ("accept", {"approve": False}, "kept"), ("accept", {}, "kept"),
            ("decline", {}, "kept"), ("cancel", {}, "kept"), ("reject", {}, "kept"),
        ):  # fmt: skip
            ran.clear()
            asked = await modern.ask("pay", {"amount": 5})
            assert asked.requests[asked.key]["params"]["message"] == "Pay 5?"
            result = await modern.answer_to(asked, action, **content)
            assert result["content"][0]["text"] == text
            for _ in range(2):
                assert await modern.answer_to(asked, "accept", approve=True) == result
            assert ran == ["begun", "ended"]


async def test_questions_of_a_task_group_are_one_result_through_an_app() -> None:
    app = Tesseron("shop")

    @app.action("survey").handler
    async def survey(ctx: Context) -> list[bool]:
        said = [False] * 5

        async def one(number: int) -> None:
            said[number] = await ctx.confirm(f"Question {number}?")

        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(one, number)
        return said

    async with serving(app.asgi()) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        client = ModernWeb(http)
        asked = await client.ask("survey")
        assert len(asked.requests) == 5
        assert (await client.answer_to(asked, approve=True))["content"][0]["text"] == "[true,true,true,true,true]"


async def test_an_action_that_needs_the_person_is_refused_before_it_runs_in_both_eras() -> None:
    app = Tesseron("shop")
    ran: list[int] = []

    @app.action("pay").annotate(requires_elicitation=True).handler
    async def pay(ctx: Context) -> bool:
        ran.append(1)
        return await ctx.confirm("Pay?")

    endpoint = app.asgi()
    async with serving(endpoint) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        from web import Web

        modern, legacy = ModernWeb(http), Web(http)
        status, error = await modern.refused("tools/call", {"name": "pay"}, capabilities={"sampling": {}})
        assert (status, error["code"]) == (400, -32021)
        assert error["data"] == {"requiredCapabilities": {"elicitation": {}}}
        await legacy.initialize(capabilities={})
        result = await legacy.request("tools/call", {"name": "pay"})
        assert result["isError"]
        assert "needs to ask the person, and this agent's client cannot" in result["content"][0]["text"]
        assert result["structuredContent"]["code"] == -32007
        assert ran == []
        asked = await modern.ask("pay")
        assert (await modern.answer_to(asked, approve=True))["content"][0]["text"] == "true"
        assert ran == [1]


@pytest.mark.parametrize("action", ["buy", "buy_in_thread"])
async def test_a_handler_sees_the_capabilities_of_the_newest_leg(action: str) -> None:
    app = Tesseron("shop")

    @app.action
    async def buy(ctx: Context) -> list[Any]:
        could = ctx.capabilities.elicitation
        await ctx.sample("What?")
        return [could, ctx.capabilities.elicitation, await ctx.confirm("Pay?"), ctx.capabilities.sampling]

    @app.action
    def buy_in_thread(ctx: SyncContext) -> list[Any]:
        could = ctx.capabilities.elicitation
        ctx.sample("What?")
        return [could, ctx.capabilities.elicitation, ctx.confirm("Pay?"), ctx.capabilities.sampling]

    sampling, both, asking = {"sampling": {}}, {"sampling": {}, "elicitation": {}}, {"elicitation": {}}
    sampled = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "that"}}
    async with serving(app.asgi()) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        client = ModernWeb(http)

        async def sampled_with(first: Any, second: Any) -> Any:
            asked = await client.ask(action, capabilities=first)
            assert asked.requests[asked.key]["method"] == "sampling/createMessage"
            return asked, await client.request(asked.method, asked.next({asked.key: sampled}), capabilities=second)

        asked, result = await sampled_with(sampling, both)
        pay = Asked(asked.method, asked.params, result)
        assert pay.requests[pay.key]["params"]["message"] == "Pay?"
        result = await client.request(pay.method, pay.next({pay.key: ACCEPT}), capabilities=asking)
        assert result["content"][0]["text"] == "[false,true,true,false]"
        _, result = await sampled_with(both, sampling)
        assert result["content"][0]["text"] == "[true,false,false,true]"


async def test_a_ten_megabyte_answer_is_413_and_the_call_waits(provider: FixtureProvider) -> None:
    async with modern_web(provider) as (client, endpoint):
        asked = await client.ask("confirm")
        huge = asked.next({asked.key: {"action": "accept", "content": {"approve": True, "x": "x" * 10_000_000}}})
        response = await client.send("POST", client.message("tools/call", huge))
        assert response.status_code == 413
        assert "4194304 bytes" in response.json()["error"]["message"]
        assert len(endpoint.modern.parked) == 1
        assert (await client.answer_to(asked, approve=True))["content"][0]["text"].startswith('{"reply":"Accept"')


async def test_two_processes_share_their_keys_and_not_their_calls() -> None:
    keys = {"state_keys": ["one key for all the processes"]}
    async with modern_web(options=keys) as (one, _), modern_web(options=keys) as (two, _), modern_web() as (three, _):
        asked = await one.ask("confirm")
        result = await two.answer_to(asked, approve=True)
        assert result["isError"]
        assert "begun in another process" in result["content"][0]["text"]
        status, error = await three.refused("tools/call", asked.accepting())
        assert (status, error["code"]) == (200, -32602)
        assert (await one.answer_to(asked, approve=True))["resultType"] == "complete"


async def test_a_short_state_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 characters"):
        async with modern_web(options={"state_keys": ["short"]}):
            pass


async def test_a_state_belongs_to_the_token_it_was_given_to() -> None:
    keys = ["one key for all the processes"]
    mine: Any = {"token": "mine", "state_keys": keys}
    yours: Any = {"token": "yours", "state_keys": keys}
    async with modern_web(options=mine) as (one, _), modern_web(options=yours) as (two, _):
        asked = Asked("tools/call", {"name": "confirm", "arguments": {}}, await one.request(
            "tools/call", {"name": "confirm", "arguments": {}}, headers={"Authorization": "Bearer mine"}
        ))  # fmt: skip
        status, error = await two.refused("tools/call", asked.accepting(), headers={"Authorization": "Bearer yours"})
        assert (status, error["code"]) == (200, -32602)
        assert (await two.post("tools/call", asked.accepting())).status_code == 401


# Streams -------------------------------------------------------------------------------------------------------------


async def test_progress_and_log_stream_on_the_leg_they_belong_to(provider: FixtureProvider) -> None:
    async with modern_web(provider) as (client, _):
        params = {"name": "pausing", "arguments": {}}
        async with client.stream("tools/call", params, id=3, level="info") as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            assert stream.headers["x-accel-buffering"] == "no"
            assert (await stream.next("notifications/message"))["params"]["data"] == "begun"
            provider.event("go").set()
            message = await stream.next()
            assert message["id"] == 3
            assert await stream.ended()
        asked = Asked("tools/call", params, message["result"])
        assert (await client.answer_to(asked, approve=True))["resultType"] == "complete"
        async with client.stream("tools/call", {"name": "progress"}, token="t") as stream:
            told = [(await stream.next("notifications/progress"))["params"] for _ in range(3)]
            assert [(params["progressToken"], params["progress"]) for params in told] == [
                ("t", 0),
                ("t", 50),
                ("t", 100),
            ]
            assert (await stream.result())["content"][0]["text"] == "done"


async def test_a_silent_call_is_kept_alive(provider: FixtureProvider) -> None:
    async with (
        modern_web(provider, silence=0.02) as (client, _),
        client.stream("tools/call", {"name": "slow"}) as stream,
    ):
        assert (await stream.chunk()).startswith(b":")
        provider.event("go").set()
        assert (await stream.result())["content"][0]["text"] == "finished"


async def test_who_accepts_json_alone_is_asked_and_told_nothing(provider: FixtureProvider) -> None:
    async with modern_web(provider) as (client, _):
        plain: Any = {"Accept": "application/json"}
        provider.event("go").set()
        asked = await client.ask("pausing", headers=plain, level="debug", token=1)
        result = await client.request(asked.method, asked.accepting(), headers=plain)
        assert result["content"][0]["text"].startswith('{"reply":"Accept"')
        status, error = await client.refused("subscriptions/listen", {"notifications": {}}, headers=plain)
        assert (status, error["code"]) == (406, -32602)


async def test_after_an_upgrade_a_message_has_the_room_of_a_frame(provider: FixtureProvider) -> None:
    async def large(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        if arguments.get("note"):
            running.invocation.note(Log("info", "begun"))
        await provider.event("go").wait()
        return "x" * 3000 if not arguments.get("ask") else show(await running.confirm("x" * 3000))

    provider.handlers["large"] = large
    async with modern_web(provider, frame=2000) as (client, _):
        for ask in (False, True):
            provider.events.clear()
            params = {"name": "large", "arguments": {"note": True, "ask": ask}}
            async with client.stream("tools/call", params, level="info") as stream:
                await stream.next("notifications/message")
                provider.event("go").set()
                text = (await stream.result())["content"][0]["text"]
                assert "this client takes 2000" in text
            del params["arguments"]["note"]
            result = await client.request("tools/call", params)
            assert result["resultType"] == ("input_required" if ask else "complete")


async def test_a_stream_of_changes(provider: FixtureProvider) -> None:
    async with modern_web(provider, silence=0.05) as (client, endpoint):
        wanted = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourceSubscriptions": ["test://text", "no://x"],
        }
        async with client.stream("subscriptions/listen", {"notifications": wanted}, id="s") as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            first = await stream.next("notifications/subscriptions/acknowledged")
            assert first["params"]["notifications"] == {
                "toolsListChanged": True,
                "resourceSubscriptions": ["test://text"],
            }
            assert (await stream.chunk()).startswith(b":")
            provider.update("test://text")
            message = await stream.next("notifications/resources/updated")
            assert message["params"] == {"uri": "test://text", "_meta": {MCP + "subscriptionId": "s"}}
            provider.change(ToolsChanged())
            await stream.next("notifications/tools/list_changed")
        with anyio.fail_after(5):
            await provider.event("detached").wait()
        assert endpoint.modern.running == 0
        assert provider.subscriptions == {}


async def test_mirrored_parameters_are_checked(provider: FixtureProvider) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "Count"}}}
    provider.listed = [Tool("echo", "Echoes", schema)]
    async with modern_web(provider) as (client, _):
        [tool] = (await client.request("tools/list"))["tools"]
        assert tool["inputSchema"] == schema
        params = {"name": "echo", "arguments": {"n": 7}}
        for value in ("7", "7.0"):
            result = await client.request("tools/call", params, headers={"Mcp-Param-Count": value})
            assert result["content"][0]["text"] == '{"n":7}'
        for value in (None, "8", "seven"):
            status, error = await client.refused("tools/call", params, headers={"Mcp-Param-Count": value})
            assert (status, error["code"]) == (400, -32020)


# Closed responses ----------------------------------------------------------------------------------------------------


async def test_closing_the_response_cancels_the_first_leg(provider: FixtureProvider) -> None:
    async with modern_web(provider, silence=0.02) as (client, endpoint):
        async with client.stream("tools/call", {"name": "slow"}) as stream:
            await stream.chunk()
        with anyio.fail_after(5):
            await provider.event("ended slow").wait()
        assert provider.ended["slow"] == "cancelled"
        assert endpoint.modern.running == 0


async def test_closing_the_connection_before_there_is_a_response_cancels(provider: FixtureProvider) -> None:
    async with modern_web(provider) as (client, _), anyio.create_task_group() as group:
        group.start_soon(client.post, "tools/call", {"name": "slow"})
        await provider.event("slow runs").wait()
        group.cancel_scope.cancel()
    with anyio.fail_after(5):
        await provider.event("ended slow").wait()
    assert provider.ended["slow"] == "cancelled"


async def test_closing_the_response_cancels_a_later_leg(provider: FixtureProvider) -> None:
    async with modern_web(provider, silence=0.02) as (client, endpoint):
        asked = await client.ask("twice")
        async with client.stream(asked.method, asked.accepting()) as stream:
            await stream.chunk()
            await provider.event("between").wait()
        with anyio.fail_after(5):
            await provider.event("ended twice").wait()
        assert provider.ended["twice"] == "cancelled"
        assert len(endpoint.modern.parked) == 0
        result = await client.request(asked.method, asked.next())
        assert result["isError"]


async def test_between_legs_nothing_is_cancelled(provider: FixtureProvider) -> None:
    async with modern_web(provider) as (client, endpoint):
        asked = await client.ask("confirm")
        await client.client.aclose()
        async with httpx.AsyncClient(base_url=client.client.base_url, timeout=20) as http:
            other = ModernWeb(http)
            assert (await other.request("server/discover"))["supportedVersions"]
            assert "confirm" not in provider.ended
            assert (await other.answer_to(asked, approve=True))["resultType"] == "complete"
        assert endpoint.modern.parked.kept == 1


async def test_with_two_legs_waiting_closing_one_leaves_the_call_to_the_other(provider: FixtureProvider) -> None:
    async with modern_web(provider, silence=0.02) as (client, endpoint):
        asked = await client.ask("twice")
        assert (await client.request(asked.method, asked.next()))["resultType"] == "input_required"
        async with client.stream(asked.method, asked.accepting()) as one:
            await one.chunk()
            async with client.stream(asked.method, asked.accepting()) as two:
                await two.chunk()
                assert endpoint.modern.running == 2
            with anyio.fail_after(5):
                while endpoint.modern.running > 1:
                    await anyio.lowlevel.checkpoint()
            assert "twice" not in provider.ended
            provider.event("go").set()
            result = (await one.next())["result"]
        assert result["resultType"] == "input_required"
        assert len(endpoint.modern.parked) == 1


# The end -------------------------------------------------------------------------------------------------------------


async def test_closing_the_endpoint_ends_everything_within_its_time(provider: FixtureProvider) -> None:
    async with modern_web(provider, closing=2.0, silence=0.02) as (client, endpoint):
        await client.ask("confirm")
        responses: list[httpx.Response] = []

        async def call() -> None:
            responses.append(
                await client.post("tools/call", {"name": "pausing"}, headers={"Accept": "application/json"})
            )

        async with (
            anyio.create_task_group() as group,
            client.stream("subscriptions/listen", {"notifications": {}}, id="s") as listening,
            client.stream("tools/call", {"name": "slow"}) as slow,
        ):
            group.start_soon(call)
            await listening.next("notifications/subscriptions/acknowledged")
            await slow.chunk()
            await provider.event("begun").wait()
            with anyio.fail_after(2):
                await endpoint.aclose()
            result = await listening.result()
            assert result["resultType"] == "complete"
            assert result["_meta"][MCP + "subscriptionId"] == "s"
            last = await slow.next()
            assert (last["error"]["code"], last["error"]["message"]) == (-32603, "The server is closing")
        [response] = responses
        assert (response.status_code, response.json()["error"]["code"]) == (503, -32603)
        with anyio.fail_after(5):
            for name in ("confirm", "slow", "pausing"):
                await provider.event(f"ended {name}").wait()
                assert provider.ended[name] == "cancelled"
        assert (await client.send("POST", client.message("tools/list"))).status_code == 503


async def test_closing_does_not_wait_for_a_client_that_reads_nothing(provider: FixtureProvider) -> None:
    async with (
        modern_web(provider, closing=0.1) as (client, endpoint),
        client.stream("subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
    ):
        with anyio.fail_after(2):
            await endpoint.aclose()


async def test_what_is_told_before_a_question_comes_before_it() -> None:
    app = Tesseron("shop")

    @app.action
    async def count(ctx: Context) -> bool:
        await ctx.progress(50, "counting")
        return await ctx.confirm("Count?")

    async with serving(app.asgi()) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        for _ in range(5):
            async with ModernWeb(http).stream("tools/call", {"name": "count"}, token="t") as stream:
                assert (await stream.next("notifications/progress"))["params"]["progress"] == 50
                assert (await stream.next())["result"]["resultType"] == "input_required"


@pytest.mark.parametrize(
    ("declared", "needed"),
    [
        ({"elicitation": {}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        ({}, {"elicitation": {"url": {}}}),
    ],
)
async def test_who_cannot_be_sent_to_a_page_hears_which_capability_that_takes(declared: Any, needed: Any) -> None:
    app = Tesseron("shop")

    @app.action
    async def login(ctx: Context) -> str:
        return repr(await ctx.ask_url("Log in", "https://example.com/login"))

    async with serving(app.asgi()) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        status, error = await ModernWeb(http).refused("tools/call", {"name": "login"}, capabilities=declared)
        assert (status, error["code"], error["data"]) == (400, -32021, {"requiredCapabilities": needed})


async def test_a_key_is_not_spent_on_a_call_that_was_not_begun() -> None:
    app = Tesseron("shop")

    @app.action("pay").annotate(requires_elicitation=True).handler
    async def pay(ctx: Context) -> bool:
        return await ctx.confirm("Pay?")

    async with serving(app.asgi()) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
        client = ModernWeb(http)
        call = {"name": "pay", "_meta": {"tesseron-py/idempotencyKey": "k-1"}}
        status, error = await client.refused("tools/call", call, capabilities={})
        assert (status, error["code"]) == (400, -32021)
        asked = await client.request("tools/call", call)
        assert asked["resultType"] == "input_required"
