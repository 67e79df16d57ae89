"""Our side on stdio: an app with one action, for `tesseron-py mcp`."""

from __future__ import annotations

from tesseron_py import Tesseron

app = Tesseron("tasks", "Tasks")


@app.action
async def echo(text: str) -> str:
    """Say it again."""
    return text
