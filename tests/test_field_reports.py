"""Every report from the field has a test of its own, so that none of them can vanish unseen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROWS = (
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31, 33, 34, 35, 36, 37, 38,
    39, 40, 41, 42, 43, 44, 45, 47, 48, 49, 50, 51, 52, 53, 56, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72,
    73, 74, 75, 79, 80, 81, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 99, 100, 101,
)  # fmt: skip
"""The numbers of the reports; those that are missing were never given."""
_NUMBERED = re.compile(r"test_field_(\d+)_")


def functions() -> Iterator[tuple[str, str]]:
    """Every function that pytest collects as a numbered test, with its file: of a module, and with no mark to skip."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_field_"):
                marks = " ".join(map(ast.unparse, node.decorator_list))
                if "skip" not in marks and "xfail" not in marks:
                    yield node.name, str(path.relative_to(TESTS))


FUNCTIONS = tuple(functions())


@pytest.mark.parametrize("row", ROWS)
def test_a_report_has_a_test_that_carries_its_number(row: int) -> None:
    assert [name for name, _ in FUNCTIONS if name.startswith(f"test_field_{row}_")]


def test_a_number_is_that_of_a_report() -> None:
    assert len(ROWS) == len(set(ROWS)) == 84
    for name, file in FUNCTIONS:
        number = _NUMBERED.match(name)
        assert number is not None, f"{file}: {name} has no number"
        assert int(number[1]) in ROWS, f"{file}: {name} has the number of no report"


def test_no_name_hides_another_of_its_module() -> None:
    assert len(FUNCTIONS) == len(set(FUNCTIONS))
