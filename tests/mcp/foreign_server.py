"""A server written with the official `mcp` package, as a foreign peer for our client: over stdio, or HTTP on a port.

It speaks both eras, and its tools ask in whichever they are called in.

python foreign_server.py stdio
python foreign_server.py http
python foreign_server.py http-json
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel, Field

MODERN = "2026-07-28"

server = MCPServer("foreign", version="7.1", instructions="Ask first.", log_level="CRITICAL")


class Pick(BaseModel):
    warehouse: str


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@server.tool(structured_output=False)
def big(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool(structured_output=False)
def fail() -> str:
    """Fail."""
    raise ToolError("The cart is locked")


@server.tool()
def blocks() -> CallToolResult:
    """Two blocks."""
    return CallToolResult(content=[TextContent(type="text", text="a"), TextContent(type="text", text="b")])


def form(question: str) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=question, requestedSchema=Pick.model_json_schema()))


@server.tool(structured_output=False)
async def ask(question: str, ctx: Context) -> str | InputRequiredResult:
    """Ask the person."""
    if ctx.protocol_version != MODERN:
        result = await ctx.elicit(question, Pick)
        return f"{result.action}:{result.data.warehouse if result.action == 'accept' else ''}"
    if ctx.input_responses is None:
        return InputRequiredResult(input_requests={"which": form(question)}, request_state=question)
    answer: Any = ctx.input_responses["which"]
    return f"{answer.action}:{(answer.content or {}).get('warehouse', '')}"


@server.tool(structured_output=False)
async def ask_url(ctx: Context) -> str | InputRequiredResult:
    """Send the person to a page."""
    url = "https://example.test/login"
    if ctx.protocol_version != MODERN:
        return (await ctx.elicit_url("Sign in", url, "e-1")).action
    if ctx.input_responses is None:
        sign_in = ElicitRequest(params=ElicitRequestURLParams(message="Sign in", url=url))
        return InputRequiredResult(input_requests={"in": sign_in})
    answer: Any = ctx.input_responses["in"]
    return str(answer.action)


@server.tool(structured_output=False)
async def everything(ctx: Context) -> str | InputRequiredResult:
    """Ask for two forms, a sample and the roots, all at once (modern)."""
    if ctx.input_responses is None:
        hello = SamplingMessage(role="user", content=TextContent(type="text", text="hello"))
        sample = CreateMessageRequest(params=CreateMessageRequestParams(messages=[hello], max_tokens=10))
        questions = {"b": form("first"), "a": form("second"), "s": sample, "r": ListRootsRequest()}
        return InputRequiredResult(input_requests=questions)
    got: Any = ctx.input_responses
    return f"{got['b'].action} {got['a'].action} {got['s'].content.text} {got['r'].roots[0].uri}"


@server.tool(structured_output=False)
async def rounds(ask: int, wait: int, ctx: Context) -> str | InputRequiredResult:
    """Ask so many times in a row, having it repeated without a question before each one (modern)."""
    state = ctx.request_state or f"0/{wait}"
    asked, waits = map(int, state.split("/"))
    if waits:
        return InputRequiredResult(request_state=f"{asked}/{waits - 1}")
    if ctx.input_responses is None or asked < ask:
        return InputRequiredResult(input_requests={"q": form(f"round {asked}")}, request_state=f"{asked + 1}/0")
    return f"{asked} rounds"


@server.tool(structured_output=False)
async def needs() -> str:
    """Need what no client here has (modern)."""
    raise MCPError(-32021, "Sampling, please", {"requiredCapabilities": {"sampling": {"tools": {}}}})


@server.tool(structured_output=False)
async def region(
    name: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    far: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Far"})] = False,
) -> str:
    """Have arguments in headers, which the server checks."""
    return f"{name}:{far}"


@server.tool(structured_output=False)
async def steps(count: int, ctx: Context) -> str:
    """Report progress."""
    for step in range(1, count + 1):
        await ctx.report_progress(step, count, f"step {step}")
    await ctx.info({"steps": count})
    return "done"


@server.tool(structured_output=False)
async def forever() -> str:
    """Never end, and say so when stopped."""
    try:
        await anyio.sleep_forever()
    finally:
        print("stopped", file=sys.stderr, flush=True)
    return "never"


@server.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    """Add a tool and say so."""
    server.add_tool(lambda: "new", name="extra", description="New.")
    await ctx.session.send_tool_list_changed()
    await ctx.notify_tools_changed()
    return "grown"


@server.tool(structured_output=False)
async def touch(uri: str, ctx: Context) -> str:
    """Say that a resource has changed (modern)."""
    await ctx.notify_resource_updated(uri)
    return "touched"


@server.resource("foreign://stats", mime_type="application/json")
def stats() -> str:
    return '{"open":3}'


@server.resource("foreign://motto", mime_type="text/plain")
def motto() -> str:
    return "Ask first"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        import socket

        import uvicorn

        # Bound here, not by uvicorn, so that the port is known before the first request. asyncio switches Nagle's
        # algorithm off only where the protocol is said, which `socket.create_server` does not.
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.bind(("127.0.0.1", 0))
        sock.listen(64)
        print(sock.getsockname()[1], flush=True)
        app = server.streamable_http_app(json_response=sys.argv[1] == "http-json")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[sock])
