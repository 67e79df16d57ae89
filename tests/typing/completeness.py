"""Whether every public symbol has a type that all checkers agree on: `pyright --verifytypes`, run by `make check`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYRIGHT = str(Path(sys.executable).with_name("pyright"))


def main() -> int:
    """Print what is incomplete, and how many symbols were looked at; 1 when something is."""
    with tempfile.TemporaryDirectory() as directory:
        # pyright looks for the package among installed ones, and an editable one is none to it.
        shutil.copytree(ROOT / "tesseron_py", Path(directory) / "tesseron_py")
        command = [PYRIGHT, "--verifytypes", "tesseron_py", "--ignoreexternal", "--outputjson"]
        result = subprocess.run(
            [*command, "--pythonpath", sys.executable],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": directory},
            capture_output=True,
            text=True,
            check=False,
        )
    report = json.loads(result.stdout)["typeCompleteness"]
    # A logger is what `logging.getLogger` gives, whatever the checker.
    symbols = [symbol for symbol in report["symbols"] if not symbol["name"].endswith(".logger")]
    bad = [symbol for symbol in symbols if not symbol["isTypeKnown"]]
    for symbol in bad:
        print(symbol["name"], *(found["message"] for found in symbol["diagnostics"]), sep="\n  ")
    print(f"{len(symbols) - len(bad)} public symbols have complete types, {len(bad)} have not")
    return 1 if bad or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
