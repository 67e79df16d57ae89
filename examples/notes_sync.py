"""Notes in a SQLite database, with plain `def` handlers: they run in worker threads and may block.

tesseron-py mcp examples.notes_sync:app
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import Annotated

from pydantic import BaseModel, Field

from tesseron_py import SyncContext, Tesseron


class Notes:
    """The database. Several threads use its one connection, one at a time."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False)
        self._lock = Lock()
        self.run("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)")

    def run(self, statement: str, *values: str) -> list[str]:
        with self._lock, self._connection:
            return [row[0] for row in self._connection.execute(statement, values)]

    def close(self) -> None:
        self._connection.close()


@asynccontextmanager
async def lifespan(app: Tesseron) -> AsyncGenerator[Notes]:
    notes = Notes(os.environ.get("NOTES_DB", ":memory:"))
    yield notes  # ctx.state, in every handler
    notes.close()


app = Tesseron("notes", "Notes", lifespan=lifespan)


class Target(BaseModel):
    """Where an export goes."""

    path: Annotated[str, Field(title="File", min_length=1)]
    overwrite: Annotated[bool, Field(title="Replace the file if it is there")] = False


@app.action
def add_note(text: Annotated[str, Field(min_length=1)], ctx: SyncContext) -> int:
    """Add a note. Gives how many there are."""
    notes: Notes = ctx.state
    notes.run("INSERT INTO notes VALUES (?)", text)
    return len(notes.run("SELECT text FROM notes"))


@app.action("find_notes").annotate(read_only=True)
def find_notes(ctx: SyncContext, part: str = "") -> list[str]:
    """The notes that contain `part`."""
    notes: Notes = ctx.state
    return notes.run("SELECT text FROM notes WHERE instr(text, ?) ORDER BY rowid", part)


@app.action("delete_notes").annotate(destructive=True).confirm("Delete every note that contains “{part}”?")
def delete_notes(part: Annotated[str, Field(min_length=1)], ctx: SyncContext) -> int:
    """Delete the notes that contain `part`. Gives how many they were."""
    notes: Notes = ctx.state
    return len(notes.run("DELETE FROM notes WHERE instr(text, ?) RETURNING text", part))


@app.action
def export_notes(ctx: SyncContext) -> str:
    """Write the notes to a file; the person says which."""
    target = ctx.elicit("Which file do the notes go to?", Target)
    if target is None:
        return "Nothing was written."
    path = Path(target.path).expanduser()
    if path.exists() and not target.overwrite and not ctx.confirm(f"{path} is there already. Replace it?"):
        return "Nothing was written."
    notes: Notes = ctx.state
    texts = notes.run("SELECT text FROM notes ORDER BY rowid")
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts, start=1):
            if ctx.cancelled:  # the agent gave the call up; a thread has to look for itself
                break
            file.write(f"{text}\n")
            ctx.progress(100 * number / len(texts))
    return f"{len(texts)} notes are in {path}."
