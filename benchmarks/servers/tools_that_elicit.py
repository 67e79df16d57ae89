"""Their side: the same tools on a server whose context has `elicit`: `mcp` 1.30, and `fastmcp` in the older era."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from benchmarks.servers.delivery import Delivery
from benchmarks.work import LARGE, NOTES


class Approval(BaseModel):
    """The person's yes or no."""

    approve: bool


def add_tools(server: Any, context: Any) -> None:
    """Give `server` the tools; `context` is the class of its contexts."""

    async def echo(text: str) -> str:
        """Say it again."""
        return text

    async def clear(ctx: Any) -> int:
        """Remove the done tasks, if the person agrees."""
        answer = await ctx.elicit("Remove 5 done tasks?", Approval)
        return 5 if answer.action == "accept" and answer.data.approve else 0

    async def order(ctx: Any) -> str:
        """Order something."""
        answer = await ctx.elicit("Where does it go?", Delivery)
        return f"{answer.data.quantity} for {answer.data.name}" if answer.action == "accept" else "nothing"

    async def large() -> str:
        """Give a megabyte."""
        return LARGE

    async def report(ctx: Any) -> str:
        """Say a hundred times how far it is."""
        for step in range(1, NOTES + 1):
            await ctx.report_progress(step, NOTES, f"step {step}")
        return "done"

    for asks in (clear, order, report):
        asks.__annotations__["ctx"] = context
    for tool in (echo, clear, order, large, report):
        server.tool()(tool)
