"""Changes in the modern era: one `subscriptions/listen` stream, renewed without a gap, opened again when it breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from client_peers import PATIENCE, ByHand, discovered
from test_client import Outcome, beside

from tesseron_py.bindings.memory import pair
from tesseron_py.mcp import client_listen, client_modern
from tesseron_py.mcp.client import McpClient, McpError, NoAnswer, PipeTransport, RequestTimeout, TransportEnded
from tesseron_py.mcp.provider import ResourcesChanged, ResourceUpdated, ToolsChanged

TAG = "io.modelcontextprotocol/subscriptionId"
LISTS = {"tools": {"listChanged": True}, "resources": {"listChanged": True}, "prompts": {"listChanged": False}}
WANTED = {"toolsListChanged": True, "resourcesListChanged": True}


class Publisher(ByHand):
    """A server played by hand that tells of changes."""

    async def subscribed(self, **wanted: Any) -> int:
        """The next request opens a stream for exactly this; gives its id."""
        request = await self.take()
        assert request["method"] == "subscriptions/listen"
        assert request["params"]["notifications"] == wanted
        assert "io.modelcontextprotocol/protocolVersion" in request["params"]["_meta"]
        return int(request["id"])

    async def acknowledge(self, id: int, **honoured: Any) -> None:
        await self.publish(id, "notifications/subscriptions/acknowledged", notifications=honoured)

    async def publish(self, id: int, method: str, **params: Any) -> None:
        await self.tell(method, {**params, "_meta": {TAG: id}})

    async def cancelled(self) -> int:
        notice = await self.take()
        assert notice["method"] == "notifications/cancelled"
        return int(notice["params"]["requestId"])


@asynccontextmanager
async def published(
    capabilities: dict[str, Any] | None = None, *, opened: bool = False, **options: Any
) -> AsyncIterator[tuple[McpClient, Publisher, TaskGroup]]:
    here, there = pair()
    server = Publisher(there)
    async with anyio.create_task_group() as tasks:

        async def greet() -> None:
            await server.put(discovered((await server.take())["id"], capabilities=capabilities or {}))
            if opened:
                await server.acknowledge(await server.subscribed(**WANTED), **WANTED)

        tasks.start_soon(greet)
        with anyio.fail_after(PATIENCE):
            async with McpClient(PipeTransport(here), era="modern", **options) as client:
                yield client, server, tasks
        tasks.cancel_scope.cancel()


async def followed(server: Publisher, follow: Outcome, *uris: str) -> int:
    id = await server.subscribed(resourceSubscriptions=list(uris))
    await server.acknowledge(id, resourceSubscriptions=list(uris))
    await follow.wait()
    return id


async def sync(client: McpClient, server: Publisher, tasks: TaskGroup) -> None:
    """All that was sent before has been read."""
    ping = beside(tasks, client.ping)
    await server.answer(await server.take(), {})
    await ping.wait()


async def test_lists_are_followed_from_the_start_where_somebody_wants_to_know() -> None:
    changes: list[Any] = []
    async with published(LISTS, opened=True, on_change=changes.append) as (client, server, tasks):
        await server.publish(2, "notifications/tools/list_changed")
        await server.publish(2, "notifications/resources/list_changed")
        await server.publish(99, "notifications/tools/list_changed")  # of a stream that is none
        await server.tell("notifications/resources/list_changed", {"_meta": 7})  # of none, and told all the same
        await sync(client, server, tasks)
    assert changes == [ToolsChanged(), ResourcesChanged(), ResourcesChanged()]


@pytest.mark.parametrize(("capabilities", "options"), [(LISTS, {}), ({"tools": {}}, {"on_change": print})])
async def test_nothing_is_followed_that_nobody_wants_or_nobody_tells(
    capabilities: dict[str, Any], options: dict[str, Any]
) -> None:
    async with published(capabilities, **options) as (client, server, tasks):
        await sync(client, server, tasks)


@pytest.mark.parametrize("refused", [True, False])
async def test_a_server_that_does_not_tell_is_left_in_peace(refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_modern, "LISTENING", 0.05)
    here, there = pair()
    server = Publisher(there)
    greeted = anyio.Event()

    async def greet() -> None:
        await server.put(discovered((await server.take())["id"], capabilities=LISTS))
        id = await server.subscribed(**WANTED)
        if refused:
            await server.put({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "No"}})
        else:
            assert await server.cancelled() == id
        greeted.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(greet)
        async with McpClient(PipeTransport(here), era="modern", on_change=print) as client:
            await greeted.wait()
            await sync(client, server, tasks)


async def test_a_resource_is_followed_once_it_is_acknowledged_and_no_longer_when_it_is_not_wanted() -> None:
    changes: list[Any] = []
    async with published(on_change=changes.append) as (client, server, tasks):
        first = await followed(server, beside(tasks, lambda: client.subscribe("x://a")), "x://a")
        await server.publish(first, "notifications/resources/updated", uri="x://a")
        await client.subscribe("x://a")  # it is followed already

        second = beside(tasks, lambda: client.subscribe("x://b"))
        id = await server.subscribed(resourceSubscriptions=["x://a", "x://b"])
        await server.publish(first, "notifications/resources/updated", uri="x://a")  # the old one holds until then
        await server.acknowledge(id, resourceSubscriptions=["x://a", "x://b"])
        await second.wait()
        assert await server.cancelled() == first
        await server.publish(first, "notifications/resources/updated", uri="x://old")
        await server.publish(id, "notifications/resources/updated", uri="x://b")

        third = await followed_after(server, beside(tasks, lambda: client.unsubscribe("x://a")), id, "x://b")
        await client.unsubscribe("x://a")
        last = beside(tasks, lambda: client.unsubscribe("x://b"))
        assert await server.cancelled() == third
        await last.wait()
        await sync(client, server, tasks)
    assert changes == [ResourceUpdated("x://a"), ResourceUpdated("x://a"), ResourceUpdated("x://b")]


async def followed_after(server: Publisher, follow: Outcome, old: int, *uris: str) -> int:
    id = await followed(server, follow, *uris)
    assert await server.cancelled() == old
    return id


@pytest.mark.parametrize("honoured", [{}, {"resourceSubscriptions": []}, {"resourceSubscriptions": 7}])
async def test_a_resource_that_the_server_does_not_tell_of_is_an_error(honoured: dict[str, Any]) -> None:
    async with published() as (client, server, tasks):
        follow = beside(tasks, lambda: client.subscribe("x://a"))
        await server.acknowledge(await server.subscribed(resourceSubscriptions=["x://a"]), **honoured)
        with pytest.raises(NoAnswer, match="does not tell of changes of x://a"):
            await follow.wait()


async def test_a_resource_that_cannot_be_followed_leaves_the_others_followed() -> None:
    changes: list[Any] = []
    async with published(on_change=changes.append) as (client, server, tasks):
        first = await followed(server, beside(tasks, lambda: client.subscribe("x://a")), "x://a")
        follow = beside(tasks, lambda: client.subscribe("x://b"))
        id = await server.subscribed(resourceSubscriptions=["x://a", "x://b"])
        await server.put({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "Too many"}})
        with pytest.raises(McpError, match="Too many"):
            await follow.wait()
        await server.publish(first, "notifications/resources/updated", uri="x://a")
        await sync(client, server, tasks)
    assert changes == [ResourceUpdated("x://a")]


async def test_a_subscription_that_is_not_acknowledged_is_given_up() -> None:
    async with published(timeout=0.05) as (client, server, _):
        with pytest.raises(RequestTimeout, match=r"subscriptions/listen: not acknowledged within 0\.05 s"):
            await client.subscribe("x://a")
        id = await server.subscribed(resourceSubscriptions=["x://a"])
        assert await server.cancelled() == id


@pytest.mark.parametrize("how", ["result", "cancelled", "error"])
async def test_a_stream_that_ends_is_opened_again(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_listen, "FIRST_RETRY", 0.01)
    monkeypatch.setattr(client_listen, "LAST_RETRY", 0.02)
    changes: list[Any] = []
    async with published(on_change=changes.append) as (client, server, tasks):
        id = await followed(server, beside(tasks, lambda: client.subscribe("x://a")), "x://a")
        for _ in range(2):
            if how == "result":
                await server.put({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}})
            elif how == "cancelled":
                await server.tell("notifications/cancelled", {"requestId": id})
            else:
                await server.put({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "Full"}})
            id = await server.subscribed(resourceSubscriptions=["x://a"])
            await server.put({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "Not yet"}})
            id = await server.subscribed(resourceSubscriptions=["x://a"])
            await server.acknowledge(id, resourceSubscriptions=["x://a"])
        await server.publish(id, "notifications/resources/updated", uri="x://a")
        await sync(client, server, tasks)
    assert changes == [ResourceUpdated("x://a")]


async def test_a_stream_that_was_replaced_while_it_was_to_be_opened_again_stays_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_listen, "FIRST_RETRY", 0.05)
    async with published() as (client, server, tasks):
        id = await followed(server, beside(tasks, lambda: client.subscribe("x://a")), "x://a")
        await server.put({"jsonrpc": "2.0", "id": id, "result": {}})
        await followed(server, beside(tasks, lambda: client.subscribe("x://b")), "x://a", "x://b")
        await anyio.wait_all_tasks_blocked()
        await anyio.sleep(0.1)  # longer than the pause, after which nothing must come
        await sync(client, server, tasks)


async def test_the_end_of_the_connection_is_the_end_of_the_stream() -> None:
    async with published() as (client, server, tasks):
        await followed(server, beside(tasks, lambda: client.subscribe("x://a")), "x://a")
        await server.channel.aclose()
        with pytest.raises(TransportEnded):
            await client.subscribe("x://b")


async def test_a_closed_client_follows_nothing() -> None:
    async with published() as (client, _server, _):
        await client.aclose()
        with pytest.raises(TransportEnded, match="The client is closed"):
            await client.subscribe("x://b")


async def test_a_connection_that_ends_while_a_stream_is_opened_again_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_listen, "FIRST_RETRY", 0.01)
    async with published() as (client, server, tasks):
        id = await followed(server, beside(tasks, lambda: client.subscribe("x://a")), "x://a")
        await server.put({"jsonrpc": "2.0", "id": id, "result": {}})
        await server.subscribed(resourceSubscriptions=["x://a"])
        await server.channel.aclose()
        await anyio.wait_all_tasks_blocked()
        assert client._home.running == 0
