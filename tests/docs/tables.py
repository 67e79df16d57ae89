"""The tables of a guide, read into facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes:
        line: Where it is, counted from 1.
        table: The heading of the table's first column.
        cells: What stands in the row, as it is written.
    """

    line: int
    table: str
    cells: tuple[str, ...]


def rows_of(document: Path) -> Iterator[Row]:
    """The rows of every table of a Markdown file, in order; blocks are no tables."""
    heading: str | None = None
    in_block = False
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        in_block ^= line.startswith("```")
        if in_block or not line.startswith("|"):
            heading = None
            continue
        cells = tuple(cell.strip() for cell in _CELL.split(line)[1:-1])
        if heading is None:
            heading = cells[0]
        elif not re.fullmatch(r"-+", cells[0]):
            yield Row(number, heading, cells)


def codes(cell: str) -> list[str]:
    """The pieces of code in a cell. One that begins or ends with a backtick has a space there."""
    found = [match[2].replace("\\|", "|") for match in _CODE.finditer(cell)]
    return [each[1:-1] if each[0] == each[-1] == " " and each.strip() else each for each in found]


def fits(shown: str, said: str) -> bool:
    """Whether `said` is what is shown, where `…` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), said, re.DOTALL) is not None
