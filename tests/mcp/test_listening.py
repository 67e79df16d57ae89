"""`subscriptions/listen`: what is acknowledged, what is told and what is not, and how a stream ends."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from fixture_provider import FixtureProvider
from modern_desk import ModernDesk, Sent, modern_desk

from tesseron_py.errors import NotFound
from tesseron_py.invocation import Invocation, Log
from tesseron_py.mcp.provider import Client, Logged, ResourcesChanged, ResourceUpdated, ToolsChanged

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"


class Slow(FixtureProvider):
    """Follows `test://slow…` once the event `follow` is set, and refuses or fails with others."""

    def subscribe(self, uri: str, client: Client) -> Invocation:
        if uri == "test://denied":
            raise NotFound("Not for you")
        if uri == "test://broken":
            raise RuntimeError("secret detail")
        if not uri.startswith("test://slow"):
            return super().subscribe(uri, client)
        invocation = Invocation(self.home, on_cancel=self.event(f"cancelled {uri}").set)

        async def follow() -> None:
            await self.event("follow").wait()
            super(Slow, self).subscribe(uri, client)
            invocation.finish(self._finished(None).outcome)  # type: ignore[arg-type]

        self.home.start(follow)
        return invocation


@pytest.fixture
def provider() -> FixtureProvider:
    return FixtureProvider()


def listening(client: ModernDesk, *, id: Any = None, **wanted: Any) -> Sent:
    return client.send("subscriptions/listen", {"notifications": wanted}, id=id)


async def acknowledged(stream: Sent) -> dict[str, Any]:
    params = (await stream.next(ACKNOWLEDGED))["params"]
    granted: dict[str, Any] = params["notifications"]
    return granted


# What is told --------------------------------------------------------------------------------------------------------


async def test_first_comes_what_will_be_told(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, id="s-1", toolsListChanged=True, resourceSubscriptions=["test://text"])
        first = await stream.next()
        assert first == {
            "jsonrpc": "2.0",
            "method": ACKNOWLEDGED,
            "params": {
                "_meta": {SUBSCRIPTION: "s-1"},
                "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["test://text"]},
            },
        }
        provider.update("test://text")
        assert await stream.next() == {
            "jsonrpc": "2.0",
            "method": UPDATED,
            "params": {"_meta": {SUBSCRIPTION: "s-1"}, "uri": "test://text"},
        }
        provider.change(ToolsChanged())
        assert await stream.next() == {"jsonrpc": "2.0", "method": TOOLS, "params": {"_meta": {SUBSCRIPTION: "s-1"}}}


@pytest.mark.parametrize(
    ("wanted", "granted", "told"),
    [
        ({}, {}, []),
        ({"toolsListChanged": False, "resourcesListChanged": None}, {}, []),
        ({"toolsListChanged": True}, {"toolsListChanged": True}, [TOOLS]),
        ({"resourcesListChanged": True}, {"resourcesListChanged": True}, [RESOURCES]),
        ({"promptsListChanged": True, "x": 1}, {}, []),
        ({"resourceSubscriptions": []}, {}, []),
        ({"resourceSubscriptions": None}, {}, []),
        ({"resourceSubscriptions": ["test://text"] * 2}, {"resourceSubscriptions": ["test://text"]}, [UPDATED]),
        ({"resourceSubscriptions": ["test://json"]}, {"resourceSubscriptions": ["test://json"]}, []),
    ],
)  # fmt: skip
async def test_nothing_is_told_that_was_not_wished_for(
    provider: FixtureProvider, wanted: Any, granted: Any, told: list[str]
) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, **wanted)
        assert await acknowledged(stream) == granted
        provider.change(Logged(Log("error", "something"), "x"))
        provider.change(ToolsChanged())
        provider.change(ResourcesChanged())
        provider.change(ResourceUpdated("test://text"))
        await anyio.wait_all_tasks_blocked()
        assert [frame["method"] for frame in stream.frames[1:]] == told


async def test_resources_that_cannot_be_followed_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    provider = Slow()
    async with modern_desk(provider) as client:
        uris = ["nowhere://x", "test://text", "test://failing", "test://gone", "test://denied", "test://broken"]
        stream = listening(client, resourceSubscriptions=uris)
        assert await acknowledged(stream) == {"resourceSubscriptions": ["test://text"]}
        assert "secret detail" in caplog.text
        provider.update("test://text")
        await stream.next(UPDATED)


async def test_what_takes_too_long_to_follow_is_left_out_and_all_have_one_time() -> None:
    provider = Slow()
    async with modern_desk(provider, silence=0.05) as client:
        uris = ["test://text", *(f"test://slow{n}" for n in range(50)), "test://json"]
        with anyio.fail_after(2):
            stream = listening(client, resourceSubscriptions=uris)
            assert await acknowledged(stream) == {"resourceSubscriptions": ["test://text", "test://json"]}
            await provider.event("cancelled test://slow49").wait()


async def test_following_may_take_a_while() -> None:
    provider = Slow()
    async with modern_desk(provider) as client:
        stream = listening(client, resourceSubscriptions=["test://slow", "test://text"], toolsListChanged=True)
        await anyio.wait_all_tasks_blocked()
        assert stream.frames == []
        provider.change(ToolsChanged())
        provider.event("follow").set()
        assert (await acknowledged(stream))["resourceSubscriptions"] == ["test://slow", "test://text"]
        await stream.next(TOOLS)  # what happened meanwhile is told afterwards


async def test_changes_are_coalesced(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, toolsListChanged=True, resourceSubscriptions=["test://text"])
        await acknowledged(stream)
        for _ in range(100):
            provider.change(ToolsChanged())
            provider.update("test://text")
        await anyio.wait_all_tasks_blocked()
        assert [frame["method"] for frame in stream.frames[1:]] == [TOOLS, UPDATED]


async def test_two_streams_of_one_client_are_told_each_their_own(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        one = listening(client, id=1, toolsListChanged=True, resourceSubscriptions=["test://text"])
        two = listening(client, id="1", resourceSubscriptions=["test://text", "test://json"])
        await acknowledged(one), await acknowledged(two)
        provider.update("test://text")
        provider.update("test://json")
        provider.change(ToolsChanged())
        await anyio.wait_all_tasks_blocked()
        assert [(f["params"].get("uri"), f["params"]["_meta"][SUBSCRIPTION]) for f in one.frames[1:]] == [
            ("test://text", 1), (None, 1),
        ]  # fmt: skip
        assert [(f["params"]["uri"], f["params"]["_meta"][SUBSCRIPTION]) for f in two.frames[1:]] == [
            ("test://text", "1"), ("test://json", "1"),
        ]  # fmt: skip
        one.close()
        assert await one.end() is None
        provider.update("test://text")
        assert (await two.next(UPDATED))["params"]["uri"] == "test://text"
        assert [client.name for client in provider.detached] == ["modern"]


async def test_a_tool_that_changes_the_tools_is_heard_of(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, toolsListChanged=True)
        await acknowledged(stream)
        assert await client.call("grow") == "grown"
        await stream.next(TOOLS)


# How it is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": []},
        {"notifications": {"toolsListChanged": "yes"}},
        {"notifications": {"resourcesListChanged": 1}},
        {"notifications": {"promptsListChanged": {"x": 1}}},
        {"notifications": {"resourceSubscriptions": "test://text"}},
        {"notifications": {"resourceSubscriptions": [5]}},
        {"notifications": {"resourceSubscriptions": {}}},
    ],
)
async def test_a_filter_that_is_none_is_refused(params: Any) -> None:
    async with modern_desk() as client:
        status, error = await client.refused("subscriptions/listen", params)
        assert (status, error["code"]) == (200, -32602)


async def test_who_takes_no_stream_gets_none() -> None:
    async with modern_desk() as client:
        status, error = await client.refused(
            "subscriptions/listen", {"notifications": {}}, outlet={"can_stream": False}
        )
        assert (status, error["code"]) == (406, -32602)
        assert "text/event-stream" in error["message"]


async def test_streams_and_their_resources_are_bounded(provider: FixtureProvider) -> None:
    async with modern_desk(provider, streams=2, subscriptions=3) as client:
        status, error = await client.refused(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a", "b", "c", "d"]}}
        )
        assert (status, error["code"]) == (200, -32602)
        assert "at most 3" in error["message"]
        first, second = listening(client), listening(client)
        await acknowledged(first), await acknowledged(second)
        status, error = await client.refused("subscriptions/listen", {"notifications": {}})
        assert (status, error["code"]) == (503, -32603)
        assert "2 streams are open" in error["message"]
        first.close()
        await first.end()
        assert await acknowledged(listening(client)) == {}


# How it ends ---------------------------------------------------------------------------------------------------------


async def test_the_client_ends_it_without_another_word(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, resourceSubscriptions=["test://text"])
        await acknowledged(stream)
        assert len(provider.clients) == 1
        stream.close()
        assert await stream.end() is None
        assert provider.clients == []
        assert provider.subscriptions == {}
        assert client.modern.running == 0


async def test_the_server_ends_it_with_a_result(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, id=7, toolsListChanged=True)
        await acknowledged(stream)
        client.modern.close("The server is closing")
        result = await stream.result()
        assert result["resultType"] == "complete"
        assert result["_meta"][SUBSCRIPTION] == 7
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"
        assert provider.clients == []
        stream.conversation.end()
        stream.close()


async def test_who_takes_no_more_of_it_is_forgotten(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client, toolsListChanged=True)
        await acknowledged(stream)
        stream.outlet.gone = True
        provider.change(ToolsChanged())
        assert await stream.end() is None
        assert provider.clients == []


async def test_silence_is_kept_alive(provider: FixtureProvider) -> None:
    async with modern_desk(provider, silence=0.02) as client:
        stream = listening(client, toolsListChanged=True)
        await acknowledged(stream)
        with anyio.fail_after(5):
            await stream.outlet.beaten.wait()
        provider.change(ToolsChanged())
        await stream.next(TOOLS)


async def test_it_waits_for_the_provider(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with modern_desk(provider) as client:
        stream, left, ended = (listening(client, toolsListChanged=True) for _ in range(3))
        await anyio.wait_all_tasks_blocked()
        left.close()
        assert await left.end() is None
        ended.conversation.end()
        assert (await ended.result())["resultType"] == "complete"
        assert provider.clients == provider.detached == []
        provider.gate.set()
        assert await acknowledged(stream) == {"toolsListChanged": True}


async def test_what_is_over_before_it_runs_is_never_attached(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        await client.call("echo")
        stream = listening(client, toolsListChanged=True)
        stream.close()
        await stream.conversation.run(client.readiness)
        assert await stream.end() is None
        assert len(provider.clients) == 1  # who watches the tools
        assert provider.detached == []


async def test_a_provider_that_fails_to_get_ready_fails_the_stream(provider: FixtureProvider) -> None:
    provider.not_ready = ImportError("No module named 'shop'")
    async with modern_desk(provider) as client:
        error = await listening(client).error()
        assert (error["code"], error["message"]) == (-32603, "No module named 'shop'")


async def test_a_provider_that_fails_to_take_it_ends_it(
    provider: FixtureProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def attach(client: Client) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(provider, "attach", attach)
    async with modern_desk(provider) as client:
        error = await listening(client).error()
        assert error["code"] == -32603
        assert "secret" not in error["message"]
        assert "secret detail" in caplog.text
        assert client.modern.running == 0


async def test_a_provider_that_fails_to_forget_is_logged(
    provider: FixtureProvider, caplog: pytest.LogCaptureFixture
) -> None:
    async with modern_desk(provider) as client:
        stream = listening(client)
        await acknowledged(stream)
        provider.clients.clear()
        stream.close()
        assert await stream.end() is None
        assert "Detaching a client failed" in caplog.text
        assert client.modern.running == 0
