"""An app whose import takes as long as the test wants: it says that it began, and then waits for a word in a pipe."""

from __future__ import annotations

import os
from pathlib import Path

from tesseron_py import Tesseron

Path(os.environ["SLOW_BEGAN"]).touch()
with open(os.environ["SLOW_PIPE"], encoding="utf-8") as pipe:
    pipe.readline()

app = Tesseron("slow", version="9")


@app.action
async def ready() -> str:
    """Say that the import is over."""
    return "ready"
