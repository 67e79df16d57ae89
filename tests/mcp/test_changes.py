"""Changes that wait to be told, coalesced."""

from __future__ import annotations

import json

import anyio
import pytest

from tesseron_py.invocation import Log
from tesseron_py.mcp.changes import MAX_LOGGED, Changes
from tesseron_py.mcp.provider import Logged, ResourcesChanged, ResourceUpdated, ToolsChanged


async def test_many_changes_are_one_message_each_oldest_first() -> None:
    changes, sent = Changes(), []

    async def send(text: str) -> None:
        sent.append(json.loads(text))

    for _ in range(100):
        changes.add(ResourceUpdated("test://b"))
        changes.add(ToolsChanged())
        changes.add(ResourceUpdated("test://a"))
        changes.add(ResourcesChanged())
    await changes.wait()
    await changes.tell(send)
    assert [(m["method"].removeprefix("notifications/"), m.get("params")) for m in sent] == [
        ("resources/updated", {"uri": "test://b"}),
        ("tools/list_changed", None),
        ("resources/updated", {"uri": "test://a"}),
        ("resources/list_changed", None),
    ]
    await changes.tell(send)
    assert len(sent) == 4


async def test_what_could_not_be_sent_still_waits() -> None:
    changes, sent = Changes(), []

    async def fail(text: str) -> None:
        raise OSError("gone")

    async def send(text: str) -> None:
        sent.append(text)

    changes.add(ToolsChanged())
    changes.add(ResourcesChanged())
    with pytest.raises(OSError, match="gone"):
        await changes.tell(fail)
    await changes.tell(send)
    assert len(sent) == 2


async def test_who_waits_wakes_with_the_first_change() -> None:
    changes = Changes()
    woken: list[str] = []

    async def wait(name: str) -> None:
        await changes.wait()
        woken.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait, "a")
            group.start_soon(wait, "b")
            await anyio.wait_all_tasks_blocked()
            assert woken == []
            changes.add(ToolsChanged())
    assert sorted(woken) == ["a", "b"]


async def test_log_entries_wait_each_for_itself_and_bounded() -> None:
    changes, sent = Changes(), []

    async def send(text: str) -> None:
        sent.append(json.loads(text))

    changes.add(ToolsChanged())
    for number in range(MAX_LOGGED + 5):
        changes.add(Logged(Log("warn", "full", {"n": number}), "shop"))
    await changes.tell(send)
    assert sent[0]["method"] == "notifications/tools/list_changed"
    assert [message["params"]["data"]["n"] for message in sent[1:]] == list(range(5, MAX_LOGGED + 5))
    assert sent[1] == {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "warning", "logger": "shop", "data": {"n": 5, "message": "full"}},
    }
