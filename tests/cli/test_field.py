"""What people ran into at a terminal: text that acts, and locales that lack what is said."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tesseron_py.cli.person import Person, Scripted, Typing
from tesseron_py.mcp.client import Question

HOSTILE = "Remove 5 todos?\x1b[2J\x1b]0;owned\x07\r\u202e\u200b"
WORDS = "Zoë 🎉 Привет 中文"
NARROW = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}

APP = """
from tesseron_py import ActionError, Context, Tesseron

app = Tesseron("shop")

@app.action
async def echo(text: str, ctx: Context) -> str:
    print("said", text)
    if not await ctx.confirm(f"Say {text}?"):
        raise ActionError(f"Not said: {text}")
    return text
"""


class Typed(Typing):
    """Somebody who types what they are told to."""

    def __init__(self, *lines: bytes) -> None:
        super().__init__()
        self._lines: Any = self._said(list(lines))

    async def _said(self, lines: list[bytes]) -> Any:
        for line in lines:
            yield line


@pytest.mark.parametrize("person", [Scripted(["accept"]), Typed(b"x"), Typed()], ids=["scripted", "typing", "gone"])
async def test_field_53_a_question_shows_what_is_in_it_and_does_nothing(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    field = {"type": "string", "title": "Where?\x1b[31m"}
    await person.answer(Question(HOSTILE, {"properties": {"where": field}, "required": ["where"]}))
    shown = capsys.readouterr().out
    assert r"Remove 5 todos?\x1b[2J\x1b]0;owned\x07\r\u202e\u200b" in shown
    assert re.findall(r"[^\x20-\x7e\n┌│└─]", shown) == []


def test_field_81_a_script_is_played_in_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(APP, encoding="utf-8")
    call = f"@echo {json.dumps({'text': WORDS}, ensure_ascii=False)}\n"
    done = subprocess.run(
        [sys.executable, "-m", "tesseron_py", "agent", "--app", "words:app", "--elicit"],
        input=f'elicit-accept {{"approve": true}}\nelicit-decline\n{call}{call}'.encode(),
        cwd=tmp_path,
        env={**os.environ, **NARROW},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert [json.loads(line) for line in done.stdout.decode().splitlines()] == [WORDS]
    said = done.stderr.decode()
    assert f"? Say {WORDS}?" in said
    assert f"error: @echo: Not said: {WORDS}" in said
    assert "Traceback" not in said
    assert done.returncode == 1
