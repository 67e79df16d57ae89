"""A server written with the official `mcp` package, as a foreign peer for our client: over stdio, or HTTP on a port.

python foreign_server.py stdio
python foreign_server.py http PORT
"""

from __future__ import annotations

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

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


@server.tool(structured_output=False)
async def ask(question: str, ctx: Context) -> str:
    """Ask the person."""
    result = await ctx.elicit(question, Pick)
    return f"{result.action}:{result.data.warehouse if result.action == 'accept' else ''}"


@server.tool(structured_output=False)
async def ask_url(ctx: Context) -> str:
    """Send the person to a page."""
    return (await ctx.elicit_url("Sign in", "https://example.test/login", "e-1")).action


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
    return "grown"


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
