"""A day of the client of `mcp` 1.30 with one server, told as JSON. Run with the Python of `.venv-mcp1`.

python mcp1_day.py URL | python mcp1_day.py COMMAND…
"""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import anyio
import mcp.types as types
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

told: dict[str, Any] = {"asked": [], "logs": [], "progress": [], "changes": []}
changed = anyio.Event()


async def elicit(context: Any, params: Any) -> Any:
    told["asked"].append(params.message)
    if params.message == "error":
        return types.ErrorData(code=-32000, message="No UI here")
    if params.message == "decline":
        return types.ElicitResult(action="decline")
    if params.message == "cancel":
        return types.ElicitResult(action="cancel")
    if hasattr(params, "url"):
        return types.ElicitResult(action="accept")
    return types.ElicitResult(action="accept", content={"approve": True})


async def sample(context: Any, params: Any) -> Any:
    told["max_tokens"] = params.maxTokens
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="hi"), model="m")


async def roots(context: Any) -> Any:
    return types.ListRootsResult(roots=[types.Root(uri="file:///home")])


async def log(params: Any) -> None:
    told["logs"].append([params.level, params.data])


async def message(message: Any) -> None:
    if isinstance(message, Exception):
        raise message
    if isinstance(message, types.ServerNotification) and "changed" in message.root.method:
        told["changes"].append(message.root.method)
        changed.set()


async def progress(done: float, total: float | None, text: str | None) -> None:
    told["progress"].append([done, total, text])


async def main(address: list[str]) -> None:
    async with AsyncExitStack() as stack:
        if address[0].startswith("http"):
            read, write, _ = await stack.enter_async_context(streamable_http_client(address[0]))
        else:
            parameters = StdioServerParameters(command=address[0], args=address[1:])
            read, write = await stack.enter_async_context(stdio_client(parameters))
        session = await stack.enter_async_context(
            ClientSession(
                read,
                write,
                elicitation_callback=elicit,
                sampling_callback=sample,
                list_roots_callback=roots,
                logging_callback=log,
                message_handler=message,
            )
        )
        server = await session.initialize()
        told["version"] = server.protocolVersion
        told["tools"] = len((await session.list_tools()).tools)
        told["resources"] = len((await session.list_resources()).resources)
        told["templates"] = len((await session.list_resource_templates()).resourceTemplates)
        told["prompts"] = len((await session.list_prompts()).prompts)
        told["text"] = (await session.read_resource("test://text")).contents[0].text
        told["prompt"] = (await session.get_prompt("greet", {"who": "Zoë"})).messages[0].content.text

        async def call(tool: str, arguments: Any = None) -> Any:
            return json.loads((await session.call_tool(tool, arguments)).content[0].text)

        told["echo"] = await call("echo", {"value": ["Zoë \u2028", 1]})
        for question in ("accept", "decline", "cancel", "error"):
            told[question] = (await call("confirm", {"question": question}))["reply"]
        told["url"] = (await call("visit"))["reply"]
        told["sample"] = (await call("sample"))["content"]["content"]["text"]
        told["roots"] = (await call("roots"))["content"]["roots"][0]["uri"]
        # One client asks its person one thing after the other, whatever comes at once.
        told["many"] = [shown["reply"] for shown in await call("many", {"count": 3})]
        told["structured"] = (await session.call_tool("structured")).structuredContent
        failed = await session.call_tool("strict_fail")
        told["failed"] = [failed.isError, failed.content[0].text, failed.meta]
        told["blocks"] = [block.type for block in (await session.call_tool("blocks")).content]
        await session.call_tool("progress", progress_callback=progress)
        await session.call_tool("log")
        try:
            await session.call_tool("no_such_tool")
        except McpError as error:
            told["unknown"] = error.error.code
        await session.call_tool("grow")
        with anyio.fail_after(5):
            await changed.wait()
        print(json.dumps(told))


anyio.run(main, sys.argv[1:])
