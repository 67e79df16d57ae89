"""Their side in the modern era (2026-07-28): the official low-level server over HTTP. Prints its port.

A question is a result, which the handler makes by hand; the repeated call starts the handler anew. Its state is sealed
by what the package has for that, so that an answer counts for the call it was given for, as it does on our side; with
`unsealed` it is not. The hook for input schemas is set, else the server would list its tools for every call.
"""

from __future__ import annotations

import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

from benchmarks.servers.official import APPROVE, TEXT, list_tools
from benchmarks.servers.uvicorn_on_loopback import serve

SCHEMAS: dict[str, dict[str, Any]] = {"echo": TEXT, "clear": {"type": "object"}}


async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    if params.name == "echo":
        return _text((params.arguments or {})["text"])
    answer = (params.input_responses or {}).get("approve")
    if not isinstance(answer, ElicitResult):
        form = ElicitRequestFormParams(message="Remove 5 done tasks?", requested_schema=APPROVE)
        return InputRequiredResult(input_requests={"approve": ElicitRequest(params=form)}, request_state="asked")
    return _text("5" if answer.action == "accept" and answer.content == {"approve": True} else "0")


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


server: Server[Any] = Server(
    "tasks", version="0", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=SCHEMAS.get
)
if sys.argv[1:] != ["unsealed"]:
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="tasks"))
serve(server.streamable_http_app())
