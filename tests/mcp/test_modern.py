"""What a request of the modern era is, and how it is refused: the error table and the order in which it is checked."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from fixture_provider import BareProvider, FixtureProvider
from modern_desk import VERSION, modern_desk, with_meta

from tesseron_py.invocation import Done, Invocation
from tesseron_py.mcp.modern import speaks_modern
from tesseron_py.mcp.provider import ResourcesChanged, Tool, ToolsChanged

MCP = "io.modelcontextprotocol/"
SERVER = {"name": "fixture", "version": "1.2.3", "title": "The fixture"}
GONE = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]


class Given:
    """The headers of a request."""

    def __init__(self, **headers: str) -> None:
        self._values = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}

    def all(self, name: bytes) -> list[bytes]:
        return [self._values[name]] if name in self._values else []


def headers(method: str, name: str | None = None, version: str = VERSION, **more: str) -> Given:
    named = {} if name is None else {"mcp_name": name}
    return Given(mcp_protocol_version=version, mcp_method=method, **named, **more)


@pytest.fixture
def provider() -> FixtureProvider:
    return FixtureProvider()


# The era -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "modern"),
    [
        ("tools/list", with_meta(), True),
        ("tools/list", with_meta(version="2030-01-01"), True),
        ("tools/list", with_meta(version="x"), True),
        ("tools/list", with_meta(version="2025-11-25"), False),
        ("tools/list", with_meta(version=5), False),
        ("tools/list", {"_meta": {"progressToken": 1}}, False),
        ("tools/list", {"_meta": [MCP + "protocolVersion"]}, False),
        ("tools/list", {}, False),
        ("tools/list", None, False),
        ("tools/list", [with_meta()], False),
        ("no/such", with_meta(), True),
        ("server/discover", None, True),
        ("subscriptions/listen", {}, True),
        ("initialize", with_meta(), False),
        ("initialize", None, False),
        ("ping", with_meta(), True),
    ],
)
def test_each_message_says_its_own_era(method: str, params: Any, modern: bool) -> None:
    assert speaks_modern(method, params) is modern


# Results -----------------------------------------------------------------------------------------------------------


async def test_discover_says_what_is_served(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        assert await client.send("server/discover").result() == {
            "resultType": "complete",
            "supportedVersions": [VERSION],
            "capabilities": {
                "tools": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "logging": {},
                "prompts": {},
                "completions": {},
            },
            "instructions": "Call echo.",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {MCP + "serverInfo": SERVER},
        }


async def test_what_the_provider_lacks_is_not_declared_and_not_a_method(provider: FixtureProvider) -> None:
    async with modern_desk(BareProvider(provider)) as client:
        result = await client.send("server/discover").result()
        assert set(result["capabilities"]) == {"tools", "resources", "logging"}
        assert "instructions" not in result
        for method in ("prompts/list", "prompts/get", "resources/templates/list", "completion/complete"):
            status, error = await client.refused(method)
            assert (status, error["code"]) == (404, -32601)
    await provider.home.aclose()


@pytest.mark.parametrize(
    ("method", "params", "cached"),
    [
        ("server/discover", {}, True),
        ("tools/list", {}, True),
        ("resources/list", {}, True),
        ("resources/templates/list", {}, True),
        ("prompts/list", {}, True),
        ("resources/read", {"uri": "test://text"}, True),
        ("tools/call", {"name": "echo", "arguments": {"value": 1}}, False),
        ("tools/call", {"name": "fail"}, False),
        ("tools/call", {"name": "confirm"}, False),
        ("prompts/get", {"name": "greet"}, False),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"},
                                 "argument": {"name": "who", "value": "Z"}}, False),
    ],
)  # fmt: skip
async def test_every_result_says_what_it_is_and_who_gives_it(method: str, params: Any, cached: bool) -> None:
    async with modern_desk() as client:
        result = await client.send(method, params).result()
        assert result["resultType"] == ("input_required" if params.get("name") == "confirm" else "complete")
        assert result["_meta"][MCP + "serverInfo"] == SERVER
        assert ("ttlMs" in result, "cacheScope" in result) == (cached, cached)
        if cached:
            assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


async def test_a_result_keeps_its_own_meta() -> None:
    async with modern_desk() as client:
        result = await client.calling("echo", {"value": "[1]"}).result()
        assert result["_meta"] == {"tesseron/string": True, MCP + "serverInfo": SERVER}


async def test_discover_is_answered_before_the_provider_is_ready(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with modern_desk(provider) as client:
        assert (await client.send("server/discover").result())["supportedVersions"] == [VERSION]
        status, _ = await client.refused("no/such")
        assert status == 404
        listing, echoing = client.send("tools/list"), client.calling("echo", {"value": 7})
        await anyio.wait_all_tasks_blocked()
        assert not listing.ended.is_set()
        assert client.modern.running == 2
        provider.gate.set()
        assert (await listing.result())["tools"]
        assert await echoing.value() == 7
        assert provider.readied == 1


async def test_a_provider_that_fails_to_get_ready_fails_that_request(provider: FixtureProvider) -> None:
    provider.not_ready = ImportError("No module named 'shop'")
    async with modern_desk(provider) as client:
        for method in ("tools/list", "tools/call"):
            status, error = await client.refused(method, {"name": "echo"})
            assert (status, error["code"], error["message"]) == (200, -32603, "No module named 'shop'")
        provider.not_ready = None
        assert await client.call("echo", {"value": 1}) == 1


async def test_tools_come_in_a_stable_order(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        lists = [[tool["name"] for tool in (await client.send("tools/list").result())["tools"]] for _ in range(2)]
        assert lists[0] == lists[1] == [tool.name for tool in provider.listed]


# The error table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (None, "protocolVersion"),
        ([], "protocolVersion"),
        ({}, "protocolVersion"),
        ({"_meta": None}, "protocolVersion"),
        ({"_meta": []}, "protocolVersion"),
        (with_meta(version=5), "protocolVersion"),
        (with_meta(version=None), "protocolVersion"),
        (with_meta(capabilities=None), "clientCapabilities"),
        (with_meta(capabilities=[]), "clientCapabilities"),
        (with_meta(version="x", capabilities=True), "clientCapabilities"),
    ],
)
@pytest.mark.parametrize("method", ["tools/call", "server/discover", "subscriptions/listen", "no/such"])
async def test_missing_meta_is_400_and_comes_first(method: str, params: Any, named: str) -> None:
    async with modern_desk() as client:
        status, error = await client.refused(method, params, bare=True, headers=headers("other"))
        assert (status, error["code"]) == (400, -32602)
        assert MCP + named in error["message"]


@pytest.mark.parametrize("info", [None, 5, {}, {"name": None}])
async def test_client_info_never_decides_anything(info: Any) -> None:
    async with modern_desk() as client:
        assert await client.call("echo", {"value": 1}, **{MCP + "clientInfo": info}) == 1


async def test_headers_come_before_the_version() -> None:
    async with modern_desk() as client:
        for given in (Given(), headers("server/discover", version="2025-11-25"), headers("tools/list", version="x")):
            status, error = await client.refused("server/discover", version="x", headers=given)
            assert (status, error["code"]) == (400, -32020)
        status, error = await client.refused(
            "server/discover", version="x", headers=headers("server/discover", version="x")
        )
        assert (status, error["code"]) == (400, -32022)


@pytest.mark.parametrize("version", ["2025-11-25", "2030-01-01", "", "x"])
async def test_the_version_comes_before_the_method(version: str) -> None:
    async with modern_desk() as client:
        status, error = await client.refused("no/such", version=version)
        assert (status, error["code"]) == (400, -32022)
        assert error["data"] == {"supported": [VERSION], "requested": version}


@pytest.mark.parametrize("method", ["no/such", "", "TOOLS/LIST", "tools", "notifications/cancelled", *GONE])
async def test_an_unknown_method_is_404(method: str) -> None:
    async with modern_desk() as client:
        status, error = await client.refused(method, capabilities={})
        assert (status, error["code"], error["message"]) == (404, -32601, f"Method not found: {method}")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "no_such_tool"}),
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": "echo", "arguments": [1]}),
        ("tools/list", {"cursor": "x"}),
        ("resources/read", {"uri": "test://nowhere"}),
        ("resources/read", {}),
        ("prompts/get", {"name": "nobody"}),
        ("completion/complete", {}),
    ],
)
async def test_what_is_wrong_with_the_params_is_a_json_rpc_error(method: str, params: Any) -> None:
    async with modern_desk() as client:
        status, error = await client.refused(method, params)
        assert (status, error["code"]) == (200, -32602)
        if params.get("uri"):
            assert error["data"] == {"uri": "test://nowhere"}


@pytest.mark.parametrize("level", ["warn", "", 5, ["info"], {}])
async def test_a_level_that_is_none_is_refused(level: Any) -> None:
    async with modern_desk() as client:
        status, error = await client.refused("tools/call", {"name": "log"}, level=level)
        assert (status, error["code"]) == (200, -32602)
        assert "emergency" in error["message"]


async def test_only_what_a_request_wants_is_logged() -> None:
    async with modern_desk() as client:
        for level, count in ((None, 0), ("debug", 4), ("warning", 2), ("emergency", 0)):
            sent = client.calling("log", level=level)
            assert await sent.value() == "logged"
            assert len(sent.frames) == count


async def test_what_nobody_foresaw_is_told_without_details(caplog: pytest.LogCaptureFixture) -> None:
    async with modern_desk() as client:
        status, error = await client.refused("tools/call", {"name": "broken"})
        assert (status, error["code"]) == (200, -32603)
        assert "secret" not in error["message"]
        assert "secret detail" in caplog.text


async def test_a_result_that_is_none_of_its_kind_is_an_answer_all_the_same(
    provider: FixtureProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def get_prompt(name: str, arguments: Any, caller: Any) -> Invocation:
        invocation = Invocation(provider.home)
        invocation.finish(Done("no prompt"))
        return invocation

    monkeypatch.setattr(provider, "get_prompt", get_prompt)
    async with modern_desk(provider) as client:
        status, error = await client.refused("prompts/get", {"name": "greet"})
        assert (status, error["code"]) == (200, -32603)
        assert "the server's log says why" in error["message"]
        assert "AttributeError" in caplog.text


async def test_as_many_requests_run_as_may(provider: FixtureProvider) -> None:
    async with modern_desk(provider, requests=2) as client:
        running = [client.calling("slow"), client.send("subscriptions/listen", {"notifications": {}})]
        await provider.event("slow runs").wait()
        status, error = await client.refused("server/discover")
        assert (status, error["code"]) == (503, -32603)
        assert "2 requests are running" in error["message"]
        provider.event("go").set()
        assert await running[0].value() == "finished"
        assert (await client.send("server/discover").result())["supportedVersions"]


async def test_the_same_id_may_be_in_flight_twice(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        one, two = client.calling("slow", id="x"), client.calling("slow", id="x")
        await provider.event("slow runs").wait()
        provider.event("go").set()
        assert [await one.value(), await two.value()] == ["finished", "finished"]


# Tools --------------------------------------------------------------------------------------------------------------

ANNOTATED: dict[str, Any] = {"type": "object", "properties": {"value": {"type": "string", "x-mcp-header": "Value"}}}


async def test_mirrored_parameters_are_checked_where_there_are_headers(provider: FixtureProvider) -> None:
    provider.listed = [Tool("echo", "Echoes", ANNOTATED)]
    async with modern_desk(provider) as client:
        assert await client.call("echo", {"value": "a"}) == "a"
        right = headers("tools/call", "echo", mcp_param_value="a")
        assert await client.call("echo", {"value": "a"}, headers=right) == "a"
        for given, arguments in ((headers("tools/call", "echo"), {"value": "a"}), (right, {"value": "b"}), (right, {})):
            status, error = await client.refused("tools/call", {"name": "echo", "arguments": arguments}, headers=given)
            assert (status, error["code"]) == (400, -32020)
        status, error = await client.refused("tools/call", {"name": 5}, headers=headers("tools/call"))
        assert (status, error["code"]) == (200, -32602)
        assert len(provider.callers) == 2


async def test_later_legs_have_the_headers_too(provider: FixtureProvider) -> None:
    provider.listed = [Tool("confirm", "Asks", ANNOTATED)]
    async with modern_desk(provider) as client:
        right = headers("tools/call", "confirm", mcp_param_value="a")
        asked = await client.ask("confirm", {"value": "a"}, headers=right)
        status, error = await client.refused("tools/call", asked.accepting(), headers=headers("tools/call", "confirm"))
        assert (status, error["code"]) == (400, -32020)
        assert (await client.send("tools/call", asked.accepting(), headers=right).value())["reply"] == "Accept"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"x-mcp-header": ""}}},
        {"type": "array", "properties": {"value": {"type": "integer", "x-mcp-header": "Value"}}},
        {"type": "object", "properties": {"value": {"type": "integer", "x-mcp-header": "Value"}}, "x": object()},
    ],
)
async def test_an_annotation_that_is_not_listed_is_no_reason_to_refuse_a_call(
    provider: FixtureProvider, schema: Any
) -> None:
    provider.listed = [Tool("echo", "Echoes", schema)]
    async with modern_desk(provider) as client:
        [tool] = (await client.send("tools/list").result())["tools"]
        assert "x-mcp-header" not in repr(tool)
        assert await client.call("echo", {"value": 1}, headers=headers("tools/call", "echo")) == 1


async def test_a_null_annotation_is_none_and_the_others_hold(provider: FixtureProvider) -> None:
    null = {"type": "string", "x-mcp-header": None}
    provider.listed = [Tool("echo", "Echoes", {**ANNOTATED, "properties": {**ANNOTATED["properties"], "b": null}})]
    async with modern_desk(provider) as client:
        [tool] = (await client.send("tools/list").result())["tools"]
        assert tool["inputSchema"]["properties"]["value"]["x-mcp-header"] == "Value"
        params = {"name": "echo", "arguments": {"value": "a"}}
        status, error = await client.refused("tools/call", params, headers=headers("tools/call", "echo"))
        assert (status, error["code"]) == (400, -32020)


async def test_a_provider_that_fails_to_forget_is_logged(
    provider: FixtureProvider, caplog: pytest.LogCaptureFixture
) -> None:
    async with modern_desk(provider) as client:
        await client.call("echo")
        provider.clients.clear()
        client.modern.close("done")
        assert "Detaching a client failed" in caplog.text


async def test_what_is_known_of_tools_follows_their_changes(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        assert provider.clients == []
        assert "structuredContent" not in await client.calling("echo").result()
        [watcher] = provider.clients
        provider.listed = [Tool("echo", "Echoes", {"type": "object"}, output_schema={"type": "object"})]
        provider.change(ResourcesChanged())
        assert "structuredContent" not in await client.calling("echo", {"value": {"n": 1}}).result()
        provider.change(ToolsChanged())
        assert (await client.calling("echo", {"value": {"n": 1}}).result())["structuredContent"] == {"n": 1}
        assert provider.clients == [watcher]
        client.modern.close("done")
        assert provider.clients == []


async def test_a_structure_may_be_any_value(provider: FixtureProvider) -> None:
    provider.listed = [Tool("echo", "Echoes", {"type": "object"}, output_schema={"type": "integer"})]
    async with modern_desk(provider) as client:
        assert (await client.calling("echo", {"value": 5}).result())["structuredContent"] == 5
