"""One client at a session, from `initialize` to its end, without a carrier."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_schemas
import pytest
from desk import DeskOutlet, desk, value_of
from fixture_provider import BareProvider, FixtureProvider, Running, show

from tesseron_py.invocation import Log, Sample, Unavailable
from tesseron_py.mcp.provider import Logged, ResourcesChanged, ResourceUpdated, Tool, ToolsChanged

INIT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


@pytest.fixture
def provider() -> FixtureProvider:
    return FixtureProvider()


# Opening ----------------------------------------------------------------------------------------------------------


async def test_initialize_says_who_serves_and_what_it_offers(provider: FixtureProvider) -> None:
    async with desk(provider, initialize=False) as client:
        assert await client.initialize() == {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "logging": {},
                "prompts": {},
                "completions": {},
            },
            "serverInfo": {"name": "fixture", "version": "1.2.3", "title": "The fixture"},
            "instructions": "Call echo.",
        }
        await client.request("tools/list")
        [seen] = provider.clients
        assert (seen.name, seen.version, seen.principal, seen.era) == ("desk", "1", "local", "legacy")
        assert "on_change" not in repr(seen)


async def test_what_the_provider_lacks_is_not_declared_and_not_a_method(provider: FixtureProvider) -> None:
    async with desk(BareProvider(provider), initialize=False) as client:
        result = await client.initialize()
        assert set(result["capabilities"]) == {"tools", "resources", "logging"}
        assert "instructions" not in result
        for method in ("prompts/list", "prompts/get", "resources/templates/list", "completion/complete"):
            assert (await client.refused(method, {}))["code"] == -32601


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
async def test_the_clients_revision_or_our_newest(wanted: str, spoken: str) -> None:
    async with desk(initialize=False) as client:
        assert (await client.initialize(wanted))["protocolVersion"] == spoken


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 1}, [], {"protocolVersion": None}])
async def test_initialize_without_a_revision_is_refused_with_the_mend(params: Any) -> None:
    async with desk(initialize=False) as client:
        assert (await client.refused("initialize", params))["code"] == -32602
        assert await client.initialize()


@pytest.mark.parametrize("odd", [None, [], 5, {"name": 5, "version": []}, {}, {"name": ""}])
async def test_odd_client_info_and_capabilities_are_tolerated(provider: FixtureProvider, odd: Any) -> None:
    async with desk(provider, initialize=False) as client:
        params = {"protocolVersion": "2025-11-25", "clientInfo": odd, "capabilities": odd}
        assert await client.request("initialize", params)
        assert await client.call("echo", {"value": 1}) == 1
        assert (provider.clients[0].name, provider.clients[0].version) == ("mcp-client", "")


async def test_before_initialize_only_ping_is_answered(provider: FixtureProvider) -> None:
    async with desk(provider, initialize=False) as client:
        assert await client.request("ping") == {}
        error = await client.refused("tools/list")
        assert error["code"] == -32600
        assert "send initialize first" in error["message"]
        assert (await client.refused("server/discover", {}))["code"] == -32601
        client.notify("notifications/initialized")
        assert provider.clients == []


async def test_initialize_is_answered_before_the_provider_is_ready(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with desk(provider) as client:
        assert await client.request("ping") == {}
        assert await client.request("logging/setLevel", {"level": "debug"}) == {}
        listing, echoing = client.start("tools/list"), client.calling("echo", {"value": 7})
        await anyio.wait_all_tasks_blocked()
        assert not listing.ended.is_set()
        assert provider.clients == []
        provider.gate.set()
        with anyio.fail_after(5):
            assert (await listing.result())["tools"]
            assert value_of(await echoing.result()) == 7
        assert len(provider.clients) == 1
        assert provider.readied == 1


async def test_a_provider_that_fails_to_get_ready_fails_that_request(provider: FixtureProvider) -> None:
    provider.not_ready = ImportError("No module named 'shop'")
    async with desk(provider) as client:
        for _ in range(2):
            error = await client.refused("tools/list")
            assert (error["code"], error["message"]) == (-32603, "No module named 'shop'")
        assert await client.request("ping") == {}
        provider.not_ready = None
        assert await client.call("echo", {"value": 1}) == 1


async def test_a_call_can_be_cancelled_before_the_provider_is_ready(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with desk(provider) as client:
        calling = client.calling("echo", id="early")
        await anyio.wait_all_tasks_blocked()
        client.notify("notifications/cancelled", {"requestId": "early"})
        with anyio.fail_after(5):
            await calling.ended.wait()
        assert calling.response is None
        provider.gate.set()
        assert await client.call("echo", {"value": 1}) == 1
        assert len(provider.callers) == 1


async def test_a_second_initialize_starts_afresh(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        asking = client.calling("confirm")
        prompt = await client.next("elicitation/create")
        await client.request("resources/subscribe", {"uri": "test://text"})
        await client.initialize("2025-06-18", {})
        with anyio.fail_after(5):
            await asking.ended.wait()
        assert asking.response is None
        assert (await client.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
        assert await client.call("echo", {"value": 1}) == 1
        assert len(provider.detached) == len(provider.clients) == 1
        provider.clients[0].on_change(ResourceUpdated("test://text"))
        assert client.changes == []


# Requests ---------------------------------------------------------------------------------------------------------


async def test_every_list_is_valid_and_stable() -> None:
    for version in ("2024-11-05", "2025-03-26", *mcp_schemas.VERSIONS):
        async with desk(version=version) as client:
            tools = (await client.request("tools/list"))["tools"]
            assert tools[0] == {
                "name": "echo",
                "title": "Tool echo",
                "description": "The tool echo",
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": True},
                "_meta": {"fixture": True},
            }
            assert (await client.request("tools/list", {"cursor": None}))["tools"] == tools
            assert len((await client.request("resources/list", {}))["resources"]) == 3
            assert len((await client.request("resources/templates/list"))["resourceTemplates"]) == 1
            assert [p["name"] for p in (await client.request("prompts/list"))["prompts"]] == ["greet", "plain"]
            for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
                assert (await client.refused(method, {"cursor": "x"}))["code"] == -32602


async def test_a_bad_tool_does_not_void_the_list(provider: FixtureProvider) -> None:
    provider.listed = [Tool("a.b", "", {}), Tool("bad", "", {"type": "array"}), Tool("good", "", {})]
    async with desk(provider) as client:
        assert [tool["name"] for tool in (await client.request("tools/list"))["tools"]] == ["bad", "good"]


async def test_arguments_may_be_absent_or_null() -> None:
    async with desk() as client:
        assert await client.call("echo") == {}
        assert value_of(await client.request("tools/call", {"name": "echo", "arguments": None})) == {}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "echo", "arguments": [1]}),
        ("tools/call", {"name": 5}),
        ("tools/call", {}),
        ("tools/call", [1]),
        ("tools/call", {"name": "no_such_tool"}),
        ("resources/read", {}),
        ("resources/subscribe", {"uri": 5}),
        ("prompts/get", {"name": "no_such_prompt"}),
        ("prompts/get", {"name": "greet", "arguments": {"who": 5}}),
        ("prompts/get", {"name": "greet", "arguments": [1]}),
        ("prompts/get", {"name": "failing"}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {}, "argument": {"name": "a"}}),
        ("completion/complete", {"ref": {}, "argument": {"name": "a", "value": "b"}}),
        (
            "completion/complete",
            {"ref": {"name": "greet"}, "argument": {"name": "a", "value": ""}, "context": {"arguments": {"x": 1}}},
        ),
        ("logging/setLevel", {}),
        ("logging/setLevel", {"level": "loud"}),
        ("logging/setLevel", {"level": ["info"]}),
    ],
)
async def test_wrong_params_are_refused_and_say_what_is_wrong(method: str, params: Any) -> None:
    async with desk() as client:
        error = await client.refused(method, params)
        assert error["code"] == -32602
        assert error["message"]
        assert await client.call("echo", {"value": 1}) == 1


@pytest.mark.parametrize("method", ["no/such", "", "notifications/cancelled", "notifications/initialized", "tasks/get"])
async def test_field_63_what_is_no_method_is_refused(method: str) -> None:
    async with desk() as client:
        slow = client.calling("slow", id=77)
        assert (await client.refused(method, {"requestId": 77}))["code"] == -32601
        assert not slow.ended.is_set()


async def test_tool_results_of_every_kind() -> None:
    for version in mcp_schemas.VERSIONS:
        async with desk(version=version) as client:
            assert await client.call("echo", {"value": "text"}) == "text"
            assert await client.request("tools/call", {"name": "structured"}) == {
                "content": [{"type": "text", "text": '{"n":1}'}],
                "structuredContent": {"n": 1},
            }
            kinds = [b["type"] for b in (await client.request("tools/call", {"name": "blocks"}))["content"]]
            assert kinds == ["text", "image", "audio", "resource", "resource_link"]


async def test_a_failing_tool_is_a_result(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        result = await client.request(
            "tools/call", {"name": "fail", "arguments": {"code": -32004, "message": "No", "data": [1]}}
        )
        assert result["isError"] is True
        assert result["structuredContent"] == {"code": -32004, "data": [1]}
        result = await client.request("tools/call", {"name": "strict_fail"})
        assert result["_meta"] == {"tesseron/error": {"code": -32005, "data": {"sku": "A1"}}}
        result = await client.request("tools/call", {"name": "refused"})
        assert result["structuredContent"] == {"code": -32005, "data": {"why": "test"}}
        result = await client.request("tools/call", {"name": "odd"})
        assert "cannot be sent as JSON" in result["content"][0]["text"]
        # A structured tool that does not keep its word.
        result = await client.request("tools/call", {"name": "structured", "arguments": {"value": "text"}})
        assert result["isError"] is True


async def test_a_fault_of_the_provider_is_not_spelt_out_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    async with desk() as client:
        error = await client.refused("tools/call", {"name": "broken"})
        assert error["code"] == -32603
        assert "secret" not in json.dumps(error)
        assert "secret detail" in caplog.text


async def test_the_output_schema_that_counts_is_the_listed_one(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        assert "structuredContent" in await client.request("tools/call", {"name": "structured"})
        provider.listed = [Tool("structured", "", {}, output_schema={"type": "array"})]
        provider.change(ToolsChanged())
        assert "structuredContent" not in await client.request("tools/call", {"name": "structured"})


async def test_resources() -> None:
    async with desk() as client:
        read = {
            uri: await client.request("resources/read", {"uri": f"test://{uri}"}) for uri in ("text", "blob", "json")
        }
        assert [read[uri]["contents"][0] for uri in read] == [
            {"uri": "test://text", "mimeType": "text/plain", "text": "héllo"},
            {"uri": "test://blob", "mimeType": "image/png", "blob": "AP8="},
            {"uri": "test://json", "mimeType": "application/json", "text": '{"n":1}'},
        ]
        assert (await client.request("resources/read", {"uri": "test://empty"}))["contents"][0]["text"] == ""
        for uri in ("test://nowhere", "test://gone", "test://refused"):
            error = await client.refused("resources/read", {"uri": uri})
            assert (error["code"], error["data"]) == (-32002, {"uri": uri})
        error = await client.refused("resources/read", {"uri": "test://failing"})
        assert (error["code"], error["data"]) == (-32603, {"code": -32005, "data": {"disk": 1}})
        error = await client.refused("resources/read", {"uri": "test://odd"})
        assert "cannot be sent as JSON" in error["message"]


async def test_prompts_and_completions() -> None:
    async with desk() as client:
        result = await client.request("prompts/get", {"name": "greet", "arguments": {"who": "Zoë"}})
        assert result["description"] == "A greeting"
        assert result["messages"][0]["content"]["text"] == "Hello Zoë"
        for name in ("refused", "failing"):
            assert await client.refused("prompts/get", {"name": name})
        params: dict[str, Any] = {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "who", "value": "x"},
            "context": {"arguments": {"other": "seen"}},
        }
        assert (await client.request("completion/complete", params))["completion"]["values"] == ["xa", "xb", "seen"]
        params["ref"]["name"] = "many"
        del params["context"]
        completion = (await client.request("completion/complete", params))["completion"]
        assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 250, True)
        params["ref"]["name"] = "failing"
        assert (await client.refused("completion/complete", params))["code"] == -32603


async def test_subscriptions_tell_of_what_is_followed_and_nothing_else(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        uri = {"uri": "test://text"}
        assert await client.request("resources/subscribe", uri) == {}
        assert await client.request("resources/subscribe", uri) == {}
        provider.update("test://text")
        provider.clients[0].on_change(ResourceUpdated("test://json"))
        provider.change(ResourcesChanged())
        assert [json.loads(text) for text in client.changes] == [
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri},
            {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"},
        ]
        for text in client.changes:
            mcp_schemas.check("2025-11-25", json.loads(text))
        assert await client.request("resources/unsubscribe", uri) == {}
        provider.clients[0].on_change(ResourceUpdated("test://text"))
        assert len(client.changes) == 2
        assert provider.subscriptions == {provider.clients[0]: set()}


@pytest.mark.parametrize(("uri", "code"), [("nowhere:", -32002), ("test://gone", -32002), ("test://failing", -32603)])
async def test_a_subscription_that_is_refused_is_none(provider: FixtureProvider, uri: str, code: int) -> None:
    async with desk(provider, subscriptions=1) as client:
        assert (await client.refused("resources/subscribe", {"uri": uri}))["code"] == code
        provider.clients[0].on_change(ResourceUpdated(uri))
        assert client.changes == []
        assert await client.request("resources/subscribe", {"uri": "test://text"}) == {}
        assert (await client.refused("resources/subscribe", {"uri": uri}))["code"] == -32603
        # What is followed stays so, even when asking again fails.
        assert await client.request("resources/subscribe", {"uri": "test://text"}) == {}


async def test_what_is_followed_stays_so_when_asking_again_is_refused(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        uri = {"uri": "test://text"}
        await client.request("resources/subscribe", uri)
        provider.withdrawn.add("test://text")
        assert (await client.refused("resources/subscribe", uri))["code"] == -32002
        provider.update("test://text")
        assert len(client.changes) == 1


# Asking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ({"result": {"action": "accept", "content": {"approve": True}}}, ("Accept", {"approve": True})),
        ({"result": {"action": "accept", "content": {"approve": False}}}, ("Accept", {"approve": False})),
        ({"result": {"action": "accept"}}, ("Accept", {})),
        ({"result": {"action": "decline", "content": {"approve": True}}}, ("Decline", None)),
        ({"result": {"action": "cancel"}}, ("Cancel", None)),
        ({"error": {"code": -1, "message": "No UI"}}, ("Cancel", None)),
        ({"result": {"action": "reject"}}, ("Malformed", None)),
        ({"result": {"action": "accept", "content": [1]}}, ("Malformed", None)),
        ({"result": 5}, ("Malformed", None)),
        ({"error": None}, ("Malformed", None)),
        ({}, ("Malformed", None)),
    ],
)
async def test_every_answer_has_its_reply(answer: Any, reply: Any) -> None:
    for version in mcp_schemas.VERSIONS:
        async with desk(version=version) as client:
            calling = client.calling("confirm")
            prompt = await client.next("elicitation/create")
            assert prompt["params"]["message"] == "Sure?"
            client.send({"jsonrpc": "2.0", "id": prompt["id"], **answer})
            with anyio.fail_after(5):
                shown = value_of(await calling.result())
            assert (shown["reply"], shown.get("content")) == reply
            assert client.quiet()
            assert client.session.open_prompts == 0


async def test_url_sampling_and_roots_are_asked_and_answered_likewise() -> None:
    async with desk() as client:
        calling = client.calling("visit")
        prompt = await client.next("elicitation/create")
        assert (prompt["params"]["mode"], prompt["params"]["url"]) == ("url", "https://example.com/login")
        client.answer(prompt)
        assert value_of(await calling.result()) == {"reply": "Accept", "content": {}}

        calling = client.calling("sample")
        prompt = await client.next("sampling/createMessage")
        assert prompt["params"]["maxTokens"] == 1024
        result = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
        client.send({"jsonrpc": "2.0", "id": prompt["id"], "result": result})
        assert value_of(await calling.result()) == {"reply": "Accept", "content": result}

        calling = client.calling("roots")
        prompt = await client.next("roots/list")
        client.send({"jsonrpc": "2.0", "id": prompt["id"], "result": {"roots": []}})
        assert value_of(await calling.result()) == {"reply": "Accept", "content": {"roots": []}}


@pytest.mark.parametrize(
    ("version", "capabilities"), [("2025-11-25", {}), ("2025-03-26", {"elicitation": {}}), ("2024-11-05", None)]
)
async def test_field_38_a_client_that_cannot_ask_gets_no_frame(version: str, capabilities: Any) -> None:
    async with desk(version=version, capabilities=capabilities) as client:
        for tool in ("confirm", "visit"):
            shown = await client.call(tool)
            assert shown["reply"] == "Unavailable"
            assert "cannot" in shown["reason"]
        assert client.quiet()


async def test_field_73_an_outlet_that_cannot_stream_makes_the_client_unable(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        json_only = DeskOutlet(client, can_stream=False)
        for tool in ("confirm", "visit", "sample", "roots"):
            assert (await client.call(tool, outlet=json_only))["reply"] == "Unavailable"
        assert await client.call("progress", outlet=json_only, token=1) == "done"
        assert await client.call("log", outlet=json_only) == "logged"
        assert client.quiet()
        assert not any(caller.capabilities.form or caller.capabilities.progress for caller in provider.callers)
        assert await client.call("echo", {"value": 1}, token=1) == 1
        assert provider.callers[-1].capabilities.form
        assert provider.callers[-1].capabilities.progress


async def test_field_40_only_url_is_no_form() -> None:
    async with desk(capabilities={"elicitation": {"url": {}}}) as client:
        assert (await client.call("confirm"))["reply"] == "Unavailable"


async def test_a_form_the_revision_cannot_show_is_unavailable() -> None:
    several = {"schema": {"properties": {"x": {"type": "array", "items": {"enum": ["a"]}}}}}
    async with desk(version="2025-06-18") as client:
        shown = await client.call("elicit", several)
        assert shown["reply"] == "Unavailable"
        assert "'x'" in shown["reason"]
        assert client.quiet()


async def test_field_51_prompts_answered_in_reverse_each_get_their_own() -> None:
    async with desk() as client:
        first, second = client.calling("confirm", {"question": "1?"}), client.calling("confirm", {"question": "2?"})
        many = client.calling("many", {"count": 3})
        prompts = [await client.next("elicitation/create") for _ in range(5)]
        assert len({prompt["id"] for prompt in prompts}) == 5
        for prompt in reversed(prompts):
            client.answer(prompt, asked=prompt["params"]["message"])
        with anyio.fail_after(5):
            assert value_of(await first.result())["content"] == {"asked": "1?"}
            assert value_of(await second.result())["content"] == {"asked": "2?"}
            replies = [shown["content"]["asked"] for shown in value_of(await many.result())]
        assert replies == ["Question 0", "Question 1", "Question 2"]


async def test_too_many_prompts_says_how_many_may_be() -> None:
    provider = FixtureProvider()

    async def limit(_: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        reply = await running.confirm()
        assert isinstance(reply, Unavailable)
        return reply.limit

    provider.handlers["limit"] = limit
    async with desk(provider, prompts=2) as client:
        client.calling("many", {"count": 2})
        for _ in range(2):
            await client.next("elicitation/create")
        assert await client.call("limit") == 2


async def test_the_33rd_prompt_of_a_session_fails_at_once_and_room_comes_back() -> None:
    async with desk() as client:
        calls = [client.calling("many", {"count": 16, "as": f"many {i}"}) for i in range(2)]
        prompts = [await client.next("elicitation/create") for _ in range(32)]
        assert client.session.open_prompts == 32
        assert await client.call("confirm") == {"reply": "Unavailable", "reason": "too_many_prompts"}
        assert client.quiet()
        client.answer(prompts[0])
        one_more = client.calling("confirm")
        prompts.append(await client.next("elicitation/create"))
        for prompt in prompts[1:]:
            client.answer(prompt, "decline")
        with anyio.fail_after(5):
            assert value_of(await one_more.result())["reply"] == "Decline"
            for call in calls:
                await call.result()
        assert client.session.open_prompts == 0


async def test_one_call_that_asks_too_much_fails_alone() -> None:
    async with desk(prompts=100) as client:
        calling = client.calling("many", {"count": 33})
        with anyio.fail_after(5):
            result = await calling.result()
        assert result["isError"] is True


async def test_late_repeated_and_foreign_answers_are_dropped() -> None:
    async with desk() as client, desk() as other:
        calling, foreign = client.calling("confirm"), other.calling("confirm")
        prompt, other_prompt = await client.next(), await other.next()
        assert prompt["id"] == other_prompt["id"]
        for id in ("q-99", None, 1, [], {}, True):
            client.send({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}})
        assert not calling.ended.is_set()
        client.answer(prompt, "decline")
        client.answer(prompt, approve=True)
        with anyio.fail_after(5):
            assert value_of(await calling.result())["reply"] == "Decline"
        client.answer(prompt, approve=True)
        assert not foreign.ended.is_set()
        other.answer(other_prompt, approve=True)
        assert value_of(await foreign.result())["content"] == {"approve": True}


async def test_a_message_that_is_none_with_a_prompts_id_is_its_answer() -> None:
    async with desk() as client:
        calling = client.calling("confirm")
        prompt = await client.next()
        client.send({"jsonrpc": "2.0", "id": prompt["id"], "approve": True})
        with anyio.fail_after(5):
            assert value_of(await calling.result())["reply"] == "Malformed"
        client.send('{"jsonrpc":"2.0","id":5}')
        client.send("not json")


async def test_a_prompt_nobody_answers_in_time_counts_as_cancel_and_is_withdrawn() -> None:
    async with desk(FixtureProvider(deadline=0.05)) as client:
        calling = client.calling("confirm")
        prompt = await client.next("elicitation/create")
        withdrawn = await client.next("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == prompt["id"]
        with anyio.fail_after(5):
            assert value_of(await calling.result()) == {"reply": "Cancel", "reason": "nobody answered in time"}
        client.answer(prompt, approve=True)
        assert client.session.open_prompts == 0


async def test_a_question_its_asker_gives_up_is_withdrawn(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        calling = client.calling("impatient")
        prompt = await client.next("elicitation/create")
        provider.event("give up").set()
        assert (await client.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
        with anyio.fail_after(5):
            assert value_of(await calling.result()) == "gave up"


async def test_a_question_that_cannot_be_sent_is_unavailable(provider: FixtureProvider) -> None:
    async def deep(_: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        return show(await running.ask(Sample({"messages": [], "deep": json.loads("[" * 195 + "]" * 195)})))

    provider.handlers["deep"] = deep
    async with desk(provider, frame=1000) as client:
        shown = await client.call("confirm", {"question": "x" * 1000})
        assert shown["reply"] == "Unavailable"
        assert "this client takes 1000" in shown["reason"]
        shown = await client.call("deep")
        assert shown["reply"] == "Unavailable"
        assert "nests deeper" in shown["reason"]
        assert client.session.open_prompts == 0


# Cancelling -------------------------------------------------------------------------------------------------------


async def test_field_65_a_cancelled_call_is_silent_and_its_prompts_are_withdrawn(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        calling = client.calling("many", {"count": 2}, id="c")
        prompts = [await client.next() for _ in range(2)]
        client.notify("notifications/cancelled", {"requestId": "c", "reason": "changed my mind"})
        client.notify("notifications/cancelled", {"requestId": "c"})
        withdrawn = {(await client.next("notifications/cancelled"))["params"]["requestId"] for _ in range(2)}
        assert withdrawn == {prompt["id"] for prompt in prompts}
        with anyio.fail_after(5):
            await calling.ended.wait()
            await provider.event("ended many").wait()
        assert calling.response is None
        assert client.session.running == client.session.open_prompts == 0
        client.answer(prompts[0])
        assert await client.call("echo", {"value": 1}, id="c") == 1


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": None}, {"requestId": [1]}, {"requestId": "1"}])
async def test_cancelling_what_is_not_running_does_nothing(provider: FixtureProvider, params: Any) -> None:
    async with desk(provider) as client:
        calling = client.calling("slow", id=1)
        client.notify("notifications/cancelled", params)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": True}})
        client.notify("notifications/roots/list_changed")
        client.notify("no/such")
        provider.event("go").set()
        with anyio.fail_after(5):
            assert value_of(await calling.result()) == "finished"


async def test_a_client_that_hangs_up_ends_its_call(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        outlet = DeskOutlet(client)
        outlet.gone = True
        calling = client.calling("confirm", outlet=outlet)
        with anyio.fail_after(5):
            await calling.ended.wait()
            await provider.event("ended confirm").wait()
        assert calling.response is None
        assert client.session.open_prompts == 0


async def test_a_carrier_that_stops_cancels_the_call(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                client._group, outer = group, client._group
                client.calling("confirm")
                await client.next("elicitation/create")
                scope.cancel()
        client._group = outer
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
        assert client.session.running == client.session.open_prompts == 0


async def test_two_requests_with_one_id_the_first_is_untouched(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        first = client.calling("slow", id=1)
        other = client.calling("echo", {"value": 2}, id="1")
        assert value_of(await other.result()) == 2
        error = await client.refused("ping", id=1)
        assert error["code"] == -32600
        provider.event("go").set()
        with anyio.fail_after(5):
            assert value_of(await first.result()) == "finished"
        assert await client.request("ping", id=1) == {}


async def test_calls_at_once_are_bounded(provider: FixtureProvider) -> None:
    async with desk(provider, calls=2) as client:
        running = [client.calling("slow"), client.calling("slow")]
        error = await client.refused("tools/list")
        assert error["code"] == -32603
        assert "2 requests are running" in error["message"]
        provider.event("go").set()
        with anyio.fail_after(5):
            for call in running:
                await call.result()
        assert await client.call("echo", {"value": 1}) == 1


async def test_closing_ends_everything(provider: FixtureProvider, caplog: pytest.LogCaptureFixture) -> None:
    async with desk(provider) as client:
        asking, slow = client.calling("confirm"), client.calling("slow")
        prompt = await client.next("elicitation/create")
        client.session.close("Bye")
        assert (await client.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
        with anyio.fail_after(5):
            await asking.ended.wait()
            await slow.ended.wait()
        assert asking.response is slow.response is None
        assert provider.clients == []
        assert (await client.refused("ping"))["code"] == -32600
        client.session.close("Bye again")
        assert len(provider.detached) == 1


async def test_a_provider_that_cannot_let_go_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    provider = FixtureProvider()
    provider.detach = lambda client: 1 / 0
    async with desk(provider) as client:
        assert await client.call("echo", {"value": 1}) == 1
    assert "Detaching a client failed" in caplog.text


# Progress and log -------------------------------------------------------------------------------------------------


async def test_progress_comes_before_the_result() -> None:
    async with desk() as client:
        calling = client.calling("progress", token="t")
        progress = [(await client.next("notifications/progress"))["params"] for _ in range(3)]
        assert [entry["progress"] for entry in progress] == [0, 50, 100]
        assert progress[1]["message"] == "half"
        assert {entry["progressToken"] for entry in progress} == {"t"}
        with anyio.fail_after(5):
            assert value_of(await calling.result()) == "done"
        assert client.quiet()


async def test_field_67_what_is_said_after_the_result_is_dropped() -> None:
    async with desk() as client:
        assert await client.call("chatty", token=1) == "done"
        assert client.quiet()


@pytest.mark.parametrize("token", [None, 1.5, True, [], {}])
async def test_field_68_without_a_token_that_is_one_there_is_no_progress(provider: FixtureProvider, token: Any) -> None:
    async with desk(provider) as client:
        assert await client.call("progress", token=token) == "done"
        assert not provider.callers[0].capabilities.progress
        assert client.quiet()


async def test_log_entries_follow_the_level_of_the_session() -> None:
    async with desk() as client:
        assert await client.call("log") == "logged"
        assert [(await client.next())["params"]["level"] for _ in range(3)] == ["info", "warning", "error"]
        await client.request("logging/setLevel", {"level": "error"})
        assert await client.call("log", {"meta": {"user": 1}}) == "logged"
        assert (await client.next("notifications/message"))["params"] == {
            "level": "error",
            "logger": "fixture",
            "data": {"user": 1, "message": "a error entry"},
        }
        assert client.quiet()


async def test_a_note_that_is_too_large_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async with desk(frame=500) as client:
        assert await client.call("log", {"levels": ["info"], "meta": {"x": "y" * 500}}) == "logged"
        assert client.quiet()
        assert "is dropped" in caplog.text


async def test_a_call_that_takes_long_shows_that_it_is_alive(provider: FixtureProvider) -> None:
    async with desk(provider, silence=0.02) as client:
        calling = client.calling("slow", token=7)
        beats = [(await client.next("notifications/progress"))["params"]["progress"] for _ in range(3)]
        assert beats == [0.001, 0.002, 0.003]
        assert client.outlet.beats >= 3
        provider.event("go").set()
        with anyio.fail_after(5):
            await calling.result()


# Sizes ------------------------------------------------------------------------------------------------------------


async def test_a_result_that_is_too_large_becomes_a_clear_error(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        small = DeskOutlet(client, room=700)
        with anyio.fail_after(5):
            result = await client.calling("big", {"size": 700}, outlet=small).result()
        assert result["isError"] is True
        assert "this client takes 700" in result["content"][0]["text"]
        assert await client.call("big", {"size": 500}, outlet=small) == "x" * 500
        error = await client.refused("tools/list", outlet=small)
        assert error["code"] == -32603
        assert "this client takes 700" in error["message"]
        with anyio.fail_after(5):
            result = await client.calling("fail", {"data": "x" * 700}, outlet=small).result()
        assert "this client takes 700" in result["content"][0]["text"]


async def test_what_is_logged_outside_of_a_call_goes_by_the_sessions_level(provider: FixtureProvider) -> None:
    async with desk(provider) as client:
        await client.request("tools/list")

        def heard() -> list[str]:
            messages = [json.loads(text) for text in client.changes]
            return [m["params"]["data"] for m in messages if m["method"] == "notifications/message"]

        for level in ("debug", "info", "warn"):
            provider.change(Logged(Log(level, level), "shop"))
        assert heard() == ["info", "warn"]
        await client.request("logging/setLevel", {"level": "error"})
        provider.change(Logged(Log("warn", "again"), "shop"))
        assert heard() == ["info", "warn"]
