"""mypy and pyright, run in their strict modes, and what they say of each line.

Only `test_types.py` uses it: it runs them on copies of this directory's files, and of the package, in a directory where
no configuration of ours is found, as with a user.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).parents[2]

Checker: TypeAlias = Literal["mypy", "pyright"]
CHECKERS: dict[str, Checker] = {"mypy": "mypy", "pyright": "pyright"}

_MARK = re.compile(r"#\s*E:\s*(.*)$")


@dataclass(frozen=True, order=True)
class Said:
    """One error, or what is expected to be one.

    Attributes:
        checker: Who says it.
        file: The name of the file.
        line: Counted from 1.
        rule: mypy's error code, or pyright's rule.
    """

    checker: Checker
    file: str
    line: int
    rule: str


def expected(file: Path) -> set[Said]:
    """The errors that comments of a file call for: `# E: mypy=arg-type,misc pyright=reportArgumentType`."""
    found: set[Said] = set()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        mark = _MARK.search(line)
        if mark is None:
            continue
        for word in mark[1].split():
            who, _, rules = word.partition("=")
            found |= {Said(CHECKERS[who], file.name, number, rule) for rule in rules.split(",")}
    return found


def check(directory: Path, files: Iterable[str], packages: Iterable[str]) -> dict[Said, str]:
    """What both checkers say of files of a directory, with their messages.

    Args:
        directory: Where they are, and what they import.
        files: Their names.
        packages: What they import of ours, of which nothing is said; that spares mypy the bodies of its functions.
    """
    directory, names = directory.resolve(), list(files)
    config = {"typeCheckingMode": "strict", "include": names, "pythonVersion": "3.11"}
    (directory / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    silent = ",".join(f"{package}.*" for package in packages)
    ini = f"[mypy]\nstrict = true\npython_version = 3.11\n[mypy-{silent}]\nignore_errors = true\n"
    (directory / "mypy.ini").write_text(ini, encoding="utf-8")
    pyright = subprocess.Popen(
        [str(Path(sys.executable).with_name("pyright")), "--outputjson", "--pythonpath", sys.executable],
        cwd=directory,
        stdout=subprocess.PIPE,
        text=True,
    )
    cache = ROOT / ".mypy_cache" / "types"
    mypy = subprocess.run(
        [sys.executable, "-m", "mypy", "--output=json", "--cache-dir", str(cache), *names],
        cwd=directory,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )
    said: dict[Said, str] = {}
    for line in mypy.stdout.splitlines():
        entry = json.loads(line)
        if entry["severity"] == "error" and entry["file"] in names:
            said[Said("mypy", Path(entry["file"]).name, entry["line"], entry["code"])] = entry["message"]
    for entry in json.loads(pyright.communicate(timeout=300)[0])["generalDiagnostics"]:
        if entry["severity"] != "information" and Path(entry["file"]).parent == directory:
            line_number = entry["range"]["start"]["line"] + 1
            said[Said("pyright", Path(entry["file"]).name, line_number, entry.get("rule", ""))] = entry["message"]
    return _without_what_follows(said)


def _without_what_follows(said: dict[Said, str]) -> dict[Said, str]:
    """Without the types that are unknown because of another error in the same line."""
    wrong = {(each.checker, each.file, each.line) for each in said if not each.rule.startswith("reportUnknown")}
    return {
        each: message
        for each, message in said.items()
        if not each.rule.startswith("reportUnknown") or (each.checker, each.file, each.line) not in wrong
    }
