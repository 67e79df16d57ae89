"""`docs/bad-input.md` says what bad input gets; every row is tried, and the tests that it names are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .bad_input import GUIDE, SEE, command, write_shop
from .blocks import ROOT
from .shell import Shell
from .tables import Row, codes, fits, rows_of

ROWS = list(rows_of(GUIDE))


def place(row: Row) -> str:
    return f"line-{row.line}"


def check(row: Row, said: tuple[str, ...]) -> None:
    shown = [codes(cell)[0] for cell in row.cells[1:-1]]
    assert len(shown) == len(said)
    for here, there in zip(shown, said, strict=True):
        assert fits(here, there), f"{GUIDE.name}:{row.line} shows {here!r}, and it is {there!r}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.table != "command"], ids=place)
async def test_every_row_holds(row: Row) -> None:
    check(row, await SEE[row.table](row.cells[0]))


def test_command_lines(tmp_path: Path) -> None:
    write_shop(tmp_path)
    with Shell(tmp_path) as shell:
        for row in ROWS:
            if row.table == "command":
                check(row, command(row.cells[0], shell))


def test_every_named_test_is_there() -> None:
    named: str | None = None
    for row in ROWS:
        last = row.cells[-1]
        assert (last == "the same") == (not codes(last)), last
        if last != "the same":
            named = codes(last)[0]
            path, _, name = named.partition("::")
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            functions = {
                each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            assert name in functions, f"{GUIDE.name}:{row.line}: there is no {named}"
        assert named is not None


def test_every_table_has_rows_and_no_message_is_bare() -> None:
    assert {row.table for row in ROWS} == {*SEE, "command"}
    for row in ROWS:
        for cell in row.cells[1:-1]:
            assert len(re.sub(r"[`…\s]", "", codes(cell)[0])) > 0, row
