"""The threat model names tests that are there, and every fuzz target."""

from __future__ import annotations

import re
from pathlib import Path

from ..fuzz.targets import MODULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text("utf-8")


def test_each_test_that_is_named_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 30
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), file
        assert not test or f"def {test}(" in path.read_text("utf-8"), f"{file}::{test}"
    told = {Path(file).name for file, _ in named}
    here = {file.name for file in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert here <= told


def test_each_target_is_named() -> None:
    cells = re.findall(r"targets? ((?:`\w+`(?:, )?)+)", PAGE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named <= MODULES.keys()
    assert MODULES.keys() - named == {"script", "answers", "binding"}
