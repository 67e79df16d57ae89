"""A service that is restarted now and then and stays with its agent: it keeps its pairing in a file.

python examples/backup.py
claude mcp add --transport http tesseron http://127.0.0.1:7475/mcp
tesseron-py gateway --http 127.0.0.1:7475
"""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tesseron_py import ActionError, Tesseron

HOME = Path(os.environ.get("BACKUP_HOME", Path.home() / ".local" / "share" / "backup"))
PAIRING = HOME / "pairing.json"  # whoever has it can pass for this service: it is made readable for you alone
KEPT = HOME / "kept"

app = Tesseron("backup", "Backups")


def read_kept() -> list[str]:
    """The names of the backups, the oldest first."""
    return sorted(path.name for path in KEPT.iterdir()) if KEPT.exists() else []


kept = app.resource("kept").read(read_kept)


@app.action("back_up").annotate(read_only=False)
def back_up(directory: str) -> str:
    """Copy a directory. Gives the name of the backup."""
    source = Path(directory).expanduser()
    if not source.is_dir():
        raise ActionError(f"{source} is no directory")
    name = f"{source.name}-{datetime.now():%Y%m%d-%H%M%S-%f}"
    shutil.copytree(source, KEPT / name)
    kept.publish(read_kept())
    return name


@app.action("prune").annotate(destructive=True).confirm("Delete all backups but the newest {keep}?")
def prune(keep: Annotated[int, Field(ge=1)]) -> list[str]:
    """Delete old backups. Gives the names of those that are left."""
    for name in read_kept()[:-keep]:
        shutil.rmtree(KEPT / name)
    kept.publish(read_kept())
    return read_kept()


if __name__ == "__main__":
    app.run("uds", pairing=PAIRING)
