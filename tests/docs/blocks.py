"""The fenced blocks of the documentation, read into facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(.*)$")
_NAME = re.compile(r"# ([\w-]+\.(?:py|txt))")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        document: The file it is in.
        line: Where its text begins, counted from 1.
        kind: The first word after the fence, such as `python`.
        flags: The other words.
        text: What is between the fences, with a newline at its end.
    """

    document: Path
    line: int
    kind: str
    flags: tuple[str, ...]
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file it shows, where its first line is a comment with a name: `# shop.py`."""
        match = _NAME.fullmatch(self.text.partition("\n")[0])
        return match[1] if match else None

    @property
    def place(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the lines that are shown below it."""

    line: str
    shown: tuple[str, ...]


def blocks_of(document: Path) -> list[Block]:
    """The fenced blocks of a Markdown file, in order."""
    blocks: list[Block] = []
    info: str | None = None
    begin, lines = 0, list[str]()
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence is None:
            lines.append(line)
        elif info is None:
            info, begin, lines = fence[1].strip(), number + 1, []
        else:
            kind, *flags = info.split() or [""]
            blocks.append(Block(document, begin, kind, tuple(flags), "".join(f"{line}\n" for line in lines)))
            info = None
    assert info is None, f"{document}: a block does not end"
    return blocks


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block: lines that begin with `$ `, and lines with `> ` that go on with one."""
    commands: list[tuple[list[str], list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(([line[2:]], []))
        elif line.startswith("> ") and commands and not commands[-1][1]:
            commands[-1][0].append(line[2:])
        else:
            assert commands, f"{block.place}: a console block begins with a command"
            commands[-1][1].append(line)
    return [Command("\n".join(words), tuple(shown)) for words, shown in commands]


def shows(shown: tuple[str, ...], said: list[str]) -> bool:
    """Whether what was said is what is shown; `…` stands for anything in a line, alone for any number of lines."""
    if not shown:
        return not said
    first, rest = shown[0], shown[1:]
    if first == "…":
        return any(shows(rest, said[skipped:]) for skipped in range(len(said) + 1))
    pattern = ".*".join(map(re.escape, first.split("…")))
    return bool(said) and re.fullmatch(pattern, said[0]) is not None and shows(rest, said[1:])
