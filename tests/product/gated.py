"""An app that does nothing without a yes, and says in each way there is that nothing was done."""

from __future__ import annotations

from tesseron_py import Context, Tesseron

app = Tesseron("gated")
removed: list[str] = []


@app.action
async def asks(ctx: Context) -> bool:
    """Ask in the handler, and give the answer back."""
    return await ctx.confirm("Remove everything?")


@app.action("gated").confirm("Remove everything?")
async def gated() -> str:
    """Remove everything."""
    removed.append("gated")
    return "Everything was removed."


@app.action("kept").confirm("Remove everything?", on_refusal="Nothing was removed.")
async def kept() -> str:
    """Remove everything, or say that it was not done."""
    removed.append("kept")
    return "Everything was removed."


@app.action("strict").confirm("Remove everything?").strict_output()
async def strict() -> str:
    """Remove everything, or fail."""
    removed.append("strict")
    return "Everything was removed."


@app.action("removed")
async def what_was_removed() -> list[str]:
    """What went on without a yes."""
    return removed
