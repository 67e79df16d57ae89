"""Our client with the official servers of `mcp` 2.3 in both eras: a child process, and HTTP with streams or JSON."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tesseron_py.invocation import Accept, Decline
from tesseron_py.mcp.client import (
    EraChoice,
    Log,
    McpClient,
    McpError,
    MissingCapability,
    Progress,
    Question,
    RequestTimeout,
    Transport,
    value_of,
)
from tesseron_py.mcp.client_http import HttpTransport
from tesseron_py.mcp.client_process import ProcessTransport
from tesseron_py.mcp.provider import ResourceUpdated, ToolsChanged

SERVER = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("foreign_server.py"))]
PATIENCE = 60.0


@pytest.fixture(scope="module", params=["stdio", "http", "http-json"])
def make_transport(request: pytest.FixtureRequest) -> Iterator[Callable[[], Transport]]:
    kind = request.param
    if kind == "stdio":
        yield lambda: ProcessTransport([*SERVER, "stdio"])
        return
    with subprocess.Popen([*SERVER, kind], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield lambda: HttpTransport(f"http://127.0.0.1:{port}/mcp")
        finally:
            process.kill()  # with JSON bodies it does not notice that a call was given up, and would wait for its end


@pytest.fixture
def streams(request: pytest.FixtureRequest) -> bool:
    """Whether the server can say something before it answers; with JSON bodies it cannot."""
    return request.node.callspec.params["make_transport"] != "http-json"


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
async def test_a_working_day_with_an_official_server(
    make_transport: Callable[[], Transport], streams: bool, era: EraChoice
) -> None:
    asked: list[Question] = []
    seen: list[Any] = []
    changed = anyio.Event()

    async def answer(question: Question) -> Accept | Decline:
        asked.append(question)
        return Accept({"warehouse": "W-7"}) if question.message == "Which?" or question.url else Decline()

    def on_change(change: object) -> None:
        seen.append(change)
        changed.set()

    with anyio.fail_after(PATIENCE):
        async with McpClient(
            make_transport(),
            answer=answer,
            url=True,
            on_progress=seen.append,
            on_log=seen.append,
            on_change=on_change,
            era=era,
        ) as client:
            legacy = era == "legacy"
            assert client.era == ("legacy" if legacy else "modern")
            assert (client.server.name, client.server.version) == ("foreign", "7.1")
            assert client.server.instructions == "Ask first."
            assert client.server.protocol_version == ("2025-11-25" if legacy else "2026-07-28")
            assert {"echo", "add", "ask"} <= {tool["name"] for tool in await client.tools()}
            await client.ping()

            assert (
                await client.call("echo", {"text": "snow \u2603\u2028 \U0001f600"})
            ).value == "snow \u2603\u2028 \U0001f600"
            assert (await client.call("add", {"a": 1, "b": 2})).value == {"sum": 3}
            assert len((await client.call("big", {"size": 2_000_000})).text) == 2_000_000
            assert (await client.call("blocks")).text == "a\nb"
            failed = await client.call("fail")
            assert failed.is_error
            assert "The cart is locked" in failed.text

            assert {resource["uri"] for resource in await client.resources()} == {"foreign://stats", "foreign://motto"}
            assert value_of(await client.read("foreign://stats")) == {"open": 3}
            assert value_of(await client.read("foreign://motto")) == "Ask first"
            with pytest.raises(McpError):
                await client.read("foreign://nothing")
            with pytest.raises(McpError) as raised:
                await client.request("no/such")
            assert raised.value.code == -32601

            with pytest.raises(RequestTimeout):
                await client.call("forever", timeout=0.2)

            if streams or not legacy:  # in the modern era a question is a result, which needs no stream
                assert (await client.call("ask", {"question": "Which?"})).value == "accept:W-7"
                assert (await client.call("ask", {"question": "Really?"})).value == "decline:"
                assert (await client.call("ask_url")).value == "accept"
                assert [(question.kind, question.call) for question in asked] == [
                    ("form", "ask"), ("form", "ask"), ("url", "ask_url"),
                ]  # fmt: skip
            if streams:
                assert (await client.call("steps", {"count": 2})).value == "done"
                assert seen == [
                    Progress("steps", 1, 2, "step 1"),
                    Progress("steps", 2, 2, "step 2"),
                    Log("info", {"steps": 2}),
                ]
                assert (await client.call("grow")).value == "grown"
                await changed.wait()
                assert seen[-1] == ToolsChanged()


async def test_calls_at_once(make_transport: Callable[[], Transport]) -> None:
    results: dict[int, Any] = {}

    with anyio.fail_after(PATIENCE):
        async with McpClient(make_transport()) as client:

            async def add(n: int) -> None:
                results[n] = (await client.call("add", {"a": n, "b": n})).value

            async with anyio.create_task_group() as tasks:
                for n in range(20):
                    tasks.start_soon(add, n)
    assert results == {n: {"sum": 2 * n} for n in range(20)}


async def test_a_modern_day_of_questions_with_an_official_server(make_transport: Callable[[], Transport]) -> None:
    asked: list[str] = []

    async def answer(question: Question) -> Accept | Decline:
        asked.append(question.message)
        return Accept({"warehouse": "W-7"}) if question.message == "first" else Decline()

    async def sample(params: Any) -> dict[str, Any]:
        assert params["messages"][0]["content"]["text"] == "hello"
        return {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}

    with anyio.fail_after(PATIENCE):
        async with McpClient(
            make_transport(), answer=answer, sampling=sample, roots=[{"uri": "file:///work"}], era="modern"
        ) as client:
            assert (await client.call("everything")).value == "accept decline hi file:///work"
            assert asked == ["first", "second"]
            assert (await client.call("rounds", {"ask": 5, "wait": 2})).value == "5 rounds"
            assert asked[2:] == [f"round {n}" for n in range(5)]
            with pytest.raises(MissingCapability, match=r"does not offer: sampling \(tools\)"):
                await client.call("needs")
            for arguments in ({"name": "eu"}, {"name": " ü\n", "far": True}):
                wanted = f"{arguments['name']}:{arguments.get('far', False)}"
                assert (await client.call("region", arguments)).text == wanted


async def test_resources_are_followed_on_an_official_server(make_transport: Callable[[], Transport]) -> None:
    changes: list[Any] = []
    changed = anyio.Event()

    def on_change(change: Any) -> None:
        changes.append(change)
        changed.set()

    with anyio.fail_after(PATIENCE):
        async with McpClient(make_transport(), on_change=on_change, era="modern") as client:
            await client.subscribe("foreign://stats")
            await client.subscribe("foreign://motto")
            await client.call("touch", {"uri": "foreign://stats"})
            await changed.wait()
            changed = anyio.Event()
            await client.unsubscribe("foreign://stats")
            await client.call("touch", {"uri": "foreign://stats"})
            await client.call("touch", {"uri": "foreign://motto"})
            await changed.wait()
    assert changes == [ResourceUpdated("foreign://stats"), ResourceUpdated("foreign://motto")]
