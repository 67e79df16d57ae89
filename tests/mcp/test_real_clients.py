"""The endpoint as the official clients see it: `mcp` 2.3 and 1.30, and the main path of `fastmcp`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from fixture_provider import TOOLS, FixtureProvider
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from web import serving

from tesseron_py.mcp.http import HttpEndpoint

HERE = Path(__file__).parent
FIXTURE = [sys.executable, str(HERE / "fixture_provider.py"), "stdio"]
OLD = HERE.parents[1] / ".venv-mcp1" / "bin" / "python"

pytestmark = pytest.mark.filterwarnings("ignore")  # the clients' own warnings are not ours

DAY = {
    "asked": ["accept", "decline", "cancel", "error", "Log in there", "Question 0", "Question 1", "Question 2"],
    "logs": [["info", "a info entry"], ["warning", "a warn entry"], ["error", "a error entry"]],
    "progress": [[0, 100, None], [50, 100, "half"], [100, 100, None]],
    "changes": ["notifications/tools/list_changed"],
    "version": "2025-11-25",
    "tools": len(TOOLS),
    "resources": 3,
    "templates": 1,
    "prompts": 2,
    "text": "héllo",
    "prompt": "Hello Zoë",
    "echo": ["Zoë \u2028", 1],
    "accept": "Accept",
    "decline": "Decline",
    "cancel": "Cancel",
    "error": "Cancel",
    "url": "Accept",
    "max_tokens": 1024,
    "sample": "hi",
    "roots": "file:///home",
    "many": ["Accept", "Accept", "Accept"],
    "structured": {"n": 1},
    "failed": [True, "Out of stock", {"tesseron/error": {"code": -32005, "data": {"sku": "A1"}}}],
    "blocks": ["text", "image", "audio", "resource", "resource_link"],
    "unknown": -32602,
}
MODERN_DAY = DAY | {
    "version": "2026-07-28",
    "error": "the client raises it itself",
}
"""What is different in the modern era: a client whose callback fails does not come back with an answer."""


@asynccontextmanager
async def serving_fixture() -> AsyncIterator[str]:
    """The fixture over HTTP."""
    provider = FixtureProvider()
    endpoint = HttpEndpoint(provider)
    async with serving(endpoint) as url:
        try:
            yield f"{url}/mcp"
        finally:
            with anyio.CancelScope(shield=True):
                await endpoint.aclose()
                await provider.home.aclose()


class Person:
    """Answers what is asked, and remembers what was told."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {"asked": [], "logs": [], "progress": [], "changes": []}
        self.changed = anyio.Event()

    async def elicit(self, context: Any, params: Any) -> Any:
        self.told["asked"].append(params.message)
        if params.message == "error":
            return types.ErrorData(code=-32000, message="No UI here")
        if params.message in ("decline", "cancel"):
            return types.ElicitResult(action=params.message)
        if getattr(params, "url", None):
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content={"approve": True})

    async def sample(self, context: Any, params: Any) -> Any:
        self.told["max_tokens"] = params.max_tokens
        content = types.TextContent(type="text", text="hi")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(self, context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri="file:///home")])

    async def log(self, params: Any) -> None:
        self.told["logs"].append([params.level, params.data])

    async def message(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        if "changed" in message.method:
            self.told["changes"].append(message.method)
            self.changed.set()

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.told["progress"].append([done, total, message])


async def spend_a_day(address: Any, mode: str) -> dict[str, Any]:
    """The scenario of `mcp1_day.py`, with the newer client."""
    person = Person()
    told = person.told
    async with Client(
        address,
        mode=mode,
        elicitation_callback=person.elicit,
        sampling_callback=person.sample,
        list_roots_callback=person.roots,
        logging_callback=person.log,
        message_handler=person.message,
        log_level="info",
    ) as client:
        modern = client.protocol_version == MODERN_DAY["version"]
        told["version"] = client.protocol_version
        told["tools"] = len((await client.list_tools()).tools)
        told["resources"] = len((await client.list_resources()).resources)
        told["templates"] = len((await client.list_resource_templates()).resource_templates)
        told["prompts"] = len((await client.list_prompts()).prompts)
        told["text"] = (await client.read_resource("test://text")).contents[0].text
        told["prompt"] = (await client.get_prompt("greet", {"who": "Zoë"})).messages[0].content.text

        async def call(tool: str, arguments: Any = None) -> Any:
            return json.loads((await client.call_tool(tool, arguments)).content[0].text)

        told["echo"] = await call("echo", {"value": ["Zoë \u2028", 1]})
        for question in ("accept", "decline", "cancel"):
            told[question] = (await call("confirm", {"question": question}))["reply"]
        if modern:
            with pytest.raises(MCPError, match="No UI here"):
                await call("confirm", {"question": "error"})
            told["error"] = "the client raises it itself"
        else:
            told["error"] = (await call("confirm", {"question": "error"}))["reply"]
        told["url"] = (await call("visit"))["reply"]
        told["sample"] = (await call("sample"))["content"]["content"]["text"]
        told["roots"] = (await call("roots"))["content"]["roots"][0]["uri"]
        told["many"] = [shown["reply"] for shown in await call("many", {"count": 3})]
        told["structured"] = (await client.call_tool("structured")).structured_content
        failed = await client.call_tool("strict_fail")
        meta = {key: value for key, value in failed.meta.items() if key != "io.modelcontextprotocol/serverInfo"}
        told["failed"] = [failed.is_error, failed.content[0].text, meta]
        told["blocks"] = [block.type for block in (await client.call_tool("blocks")).content]
        await client.call_tool("progress", progress_callback=person.progress)
        await client.call_tool("log")
        with pytest.raises(MCPError) as caught:
            await client.call_tool("no_such_tool")
        told["unknown"] = caught.value.error.code
        if modern:
            async with client.listen(tools_list_changed=True) as changes:
                await client.call_tool("grow")
                with anyio.fail_after(5):
                    assert type(await anext(aiter(changes))).__name__ == "ToolsListChanged"
        else:
            await client.call_tool("grow")
            with anyio.fail_after(5):
                await person.changed.wait()
    return in_order(told)


def in_order(told: dict[str, Any]) -> dict[str, Any]:
    """With what was asked at once in one order: which task of trio's starts first, is chance."""
    return {**told, "asked": told["asked"][:5] + sorted(told["asked"][5:])}


MODES = [("legacy", DAY), ("auto", MODERN_DAY), ("2026-07-28", MODERN_DAY)]


@pytest.mark.parametrize(("mode", "day"), MODES, ids=[mode for mode, _ in MODES])
async def test_a_day_of_mcp_2_over_http(mode: str, day: Any) -> None:
    async with serving_fixture() as url:
        with anyio.fail_after(30):
            assert await spend_a_day(url, mode) == day


@pytest.mark.parametrize(("mode", "day"), MODES, ids=[mode for mode, _ in MODES])
async def test_a_day_of_mcp_2_on_stdio(mode: str, day: Any, anyio_backend: str) -> None:
    with anyio.fail_after(30):
        parameters = StdioServerParameters(command=FIXTURE[0], args=[*FIXTURE[1:], anyio_backend])
        assert await spend_a_day(parameters, mode) == day


@pytest.mark.skipif(not OLD.exists(), reason="the environment of mcp 1.30 is not there (make venv)")
async def test_a_day_of_mcp_1_over_http() -> None:
    async with serving_fixture() as url:
        with anyio.fail_after(60):
            day = await anyio.run_process([str(OLD), str(HERE / "mcp1_day.py"), url])
        assert in_order(json.loads(day.stdout)) == DAY


@pytest.mark.skipif(not OLD.exists(), reason="the environment of mcp 1.30 is not there (make venv)")
async def test_a_day_of_mcp_1_on_stdio(anyio_backend: str) -> None:
    with anyio.fail_after(60):
        day = await anyio.run_process([str(OLD), str(HERE / "mcp1_day.py"), *FIXTURE, anyio_backend])
    assert in_order(json.loads(day.stdout)) == DAY


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_main_path_of_fastmcp(anyio_backend: str) -> None:
    from fastmcp import Client as FastClient
    from fastmcp.client.transports import StdioTransport

    asked: list[str] = []

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> Any:
        asked.append(message)
        return {"approve": True}

    async def day(address: Any) -> None:
        async with FastClient(address, elicitation_handler=answer) as client:
            assert len(await client.list_tools()) == len(TOOLS)
            result = await client.call_tool("echo", {"value": {"a": 1}})
            assert json.loads(result.content[0].text) == {"a": 1}
            result = await client.call_tool("confirm")
            assert json.loads(result.content[0].text) == {"reply": "Accept", "content": {"approve": True}}
            assert (await client.call_tool("structured")).structured_content == {"n": 1}
            failed = await client.call_tool("fail", raise_on_error=False)
            assert failed.is_error
            assert (await client.read_resource("test://text"))[0].text == "héllo"

    with anyio.fail_after(60):
        async with serving_fixture() as url:
            await day(url)
        await day(StdioTransport(FIXTURE[0], FIXTURE[1:]))
    assert asked == ["Sure?", "Sure?"]
