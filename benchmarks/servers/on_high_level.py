"""Their side: the same tools on `MCPServer`, the high-level server of the official package.

A tool asks by a parameter that is resolved by a question, which works in both eras.
"""

from __future__ import annotations

import sys
from typing import Annotated

from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    DeclinedElicitation,
    Elicit,
    MCPServer,
    Resolve,
)
from pydantic import BaseModel

from benchmarks.servers.delivery import Delivery
from benchmarks.servers.uvicorn_on_loopback import serve
from benchmarks.work import LARGE, NOTES

server = MCPServer("tasks", version="0", log_level="WARNING")


class Approval(BaseModel):
    """The person's yes or no."""

    approve: bool


Answered = AcceptedElicitation[Approval] | DeclinedElicitation | CancelledElicitation
Delivered = AcceptedElicitation[Delivery] | DeclinedElicitation | CancelledElicitation


def approval() -> Elicit[Approval]:
    return Elicit("Remove 5 done tasks?", Approval)


def delivery() -> Elicit[Delivery]:
    return Elicit("Where does it go?", Delivery)


@server.tool()
async def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def clear(approval: Annotated[Answered, Resolve(approval)]) -> int:
    """Remove the done tasks, if the person agrees."""
    return 5 if approval.action == "accept" and approval.data.approve else 0


@server.tool()
async def order(delivery: Annotated[Delivered, Resolve(delivery)]) -> str:
    """Order something."""
    return f"{delivery.data.quantity} for {delivery.data.name}" if delivery.action == "accept" else "nothing"


@server.tool()
async def large() -> str:
    """Give a megabyte."""
    return LARGE


@server.tool()
async def report(ctx: Context) -> str:
    """Say a hundred times how far it is."""
    for step in range(1, NOTES + 1):
        await ctx.report_progress(step, NOTES, f"step {step}")
    return "done"


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        serve(server.streamable_http_app())
    else:
        server.run("stdio")
