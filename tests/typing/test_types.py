"""Types are promises: both checkers, strict, say what the marks of these files expect, and notice what is loosened.

Loosened copies of the package, each under a name of its own, go through the checkers together with the package itself,
as starting a checker costs more than a copy. A copy is loosened in several places that do not hide one another;
`TESSERON_TYPES_ALONE=1` makes it a copy for each, which takes minutes.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from . import sample_shop
from .checking import CHECKERS, ROOT, Said, check, expected
from .loosened import LOOSENED, Loosened

HERE = Path(__file__).parent
CLEAN = [HERE / "public_surface.py", HERE / "sample_shop.py"]
WRONG = [HERE / "wrong" / "wrong_use.py", HERE / "wrong" / "forgotten_await.py"]
FILES = [*CLEAN, *WRONG]
ALONE = os.environ.get("TESSERON_TYPES_ALONE") == "1"


def copy_of(case: str) -> str:
    """The name of the package that a case is tried in."""
    number = [*LOOSENED].index(case) if ALONE else LOOSENED[case].copy
    return f"tesseron_loose{number}"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[Said, str]]:
    """What the checkers say of `FILES`, by the name of the package that these import."""
    directory = tmp_path_factory.mktemp("types")
    packages: dict[str, list[Loosened]] = {"tesseron_py": []}
    for case, loosened in LOOSENED.items():
        packages.setdefault(copy_of(case), []).append(loosened)
    files: dict[str, tuple[str, str]] = {}
    for package, changes in packages.items():
        shutil.copytree(ROOT / "tesseron_py", directory / package, ignore=shutil.ignore_patterns("__pycache__"))
        for change in changes:
            module = directory / package / change.module
            text = module.read_text(encoding="utf-8")
            assert text.count(change.tight) == 1, f"{change.module} has no such signature any more: {change.tight}"
            module.write_text(text.replace(change.tight, change.loose), encoding="utf-8")
        for file in FILES:
            name = f"{package}_{file.name}"
            files[name] = (package, file.name)
            text = re.sub(r"\btesseron_py\b", package, file.read_text(encoding="utf-8"))
            (directory / name).write_text(text, encoding="utf-8")
    found: dict[str, dict[Said, str]] = {package: {} for package in packages}
    for each, message in check(directory, files, packages).items():
        package, name = files[each.file]
        found[package][Said(each.checker, name, each.line, each.rule)] = message
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_both_checkers_say_what_is_expected_of_every_line_and_nothing_else(
    file: Path, said: dict[str, dict[Said, str]]
) -> None:
    marked = expected(file)
    found = {each: message for each, message in said["tesseron_py"].items() if each.file == file.name}
    assert not marked if file in CLEAN else {each.checker for each in marked} == {*CHECKERS}
    assert sorted(marked - {*found}) == []
    assert {each: message for each, message in found.items() if each not in marked} == {}


@pytest.mark.parametrize("case", LOOSENED)
def test_a_signature_that_is_loosened_is_noticed(case: str, said: dict[str, dict[Said, str]]) -> None:
    loosened = LOOSENED[case]
    now, before = {*said[copy_of(case)]}, {*said["tesseron_py"]}
    noticed = {(each.checker, each.file, each.line) for each in now ^ before}
    lines = {
        (file.name, number)
        for file in FILES
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if loosened.seen in line
    }
    assert lines
    for checker in loosened.by:
        assert any((checker, *line) in noticed for line in lines), checker


async def test_the_sample_runs() -> None:
    await sample_shop.try_orders()
    sample_shop.try_without_a_loop()
