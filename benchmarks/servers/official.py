"""Their side: the same tools on the low-level server of the official `mcp` package.

`echo` does what a handler of that server must do and no more: it checks no arguments.
"""

from __future__ import annotations

from typing import Any

from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

APPROVE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Yes lets the action go ahead."},
    },
    "required": ["approve"],
}
TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(
        tools=[
            Tool(name="echo", description="Say it again.", input_schema=TEXT),
            Tool(name="clear", description="Remove the done tasks.", input_schema={"type": "object"}),
        ]
    )


async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
    if params.name == "echo":
        return _text((params.arguments or {})["text"])
    answer = await ctx.session.elicit_form("Remove 5 done tasks?", APPROVE, related_request_id=ctx.request_id)
    approved = answer.action == "accept" and answer.content == {"approve": True}
    return _text("5" if approved else "0")


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


def make_server() -> Server[Any]:
    return Server("tasks", version="0", on_list_tools=list_tools, on_call_tool=call_tool)
