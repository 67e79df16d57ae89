"""Their side: the same tools on the low-level server of the official `mcp` package.

A tool does what a handler of that server must do and no more: it checks no arguments. In the modern era a question is a
result, which the handler makes by hand; the repeated call starts the handler anew.
"""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from benchmarks.servers.delivery import Delivery
from benchmarks.work import LARGE, NOTES

APPROVE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Yes lets the action go ahead."},
    },
    "required": ["approve"],
}
TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
DELIVERY: dict[str, Any] = Delivery.model_json_schema()
QUESTIONS = {"clear": ("Remove 5 done tasks?", APPROVE), "order": ("Where does it go?", DELIVERY)}
NONE: dict[str, Any] = {"type": "object"}
SCHEMAS = {"echo": TEXT, "clear": NONE, "order": NONE, "large": NONE, "report": NONE}


async def list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(
        tools=[Tool(name=name, description=f"The tool {name}.", input_schema=SCHEMAS[name]) for name in SCHEMAS]
    )


async def call_tool(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    match params.name:
        case "echo":
            return _text((params.arguments or {})["text"])
        case "large":
            return _text(LARGE)
        case "report":
            for step in range(1, NOTES + 1):
                await ctx.session.report_progress(step, NOTES, f"step {step}")
            return _text("done")
    message, schema = QUESTIONS[params.name]
    answer: Any
    if ctx.protocol_version != "2026-07-28":
        answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    else:
        answer = (params.input_responses or {}).get("answer")
        if not isinstance(answer, ElicitResult):
            form = ElicitRequestFormParams(message=message, requested_schema=schema)
            return InputRequiredResult(input_requests={"answer": ElicitRequest(params=form)}, request_state="asked")
    if params.name == "clear":
        return _text("5" if answer.action == "accept" and answer.content == {"approve": True} else "0")
    if answer.action != "accept":
        return _text("nothing")
    delivery = Delivery.model_validate(answer.content)
    return _text(f"{delivery.quantity} for {delivery.name}")


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


def make_server() -> Server[Any]:
    """The server. The hook for input schemas is set, else it would list its tools for every call of the modern era."""
    return Server(
        "tasks", version="0", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=SCHEMAS.get
    )
