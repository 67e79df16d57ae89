"""Fuzz every target for a share of the time, or play one input again.

    python -m tests.fuzz --seconds 60                 all targets
    python -m tests.fuzz --seconds 60 app gateway     these
    python -m tests.fuzz --replay FILE app            one input, with its traceback

What is found beyond the corpus is kept in `.fuzz/TARGET` and used by the next run. An input that breaks an invariant is
put into `.fuzz/found/TARGET`, and the command that plays it again is printed; the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .corpus import CORPUS
from .targets import MODULES, target

ROOT: Final = Path(__file__).parents[2]
LONGEST: Final = 4096
"""Bytes of an input."""
SLOW: Final = 20
"""Seconds that one input may take."""


@dataclass(frozen=True)
class Outcome:
    """What became of one target."""

    name: str
    runs: int
    features: int
    seconds: float
    found: list[Path]
    said: str


def fuzz(name: str, seconds: int, work: Path) -> Outcome:
    """Fuzz one target."""
    learned, broken = work / name, work / "found" / name
    for folder in (learned, broken):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(broken.iterdir())
    began = time.monotonic()
    process = subprocess.run(
        [
            sys.executable, "-m", "tests.fuzz.worker", name,
            f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={SLOW}", f"-artifact_prefix={broken}/",
            "-rss_limit_mb=2048", "-print_final_stats=1", str(learned), str(CORPUS / name),
        ],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    runs = re.search(r"stat::number_of_executed_units: (\d+)", process.stdout)
    features = re.findall(r"ft: (\d+)", process.stdout)
    return Outcome(
        name,
        int(runs[1]) if runs else 0,
        int(features[-1]) if features else 0,
        time.monotonic() - began,
        sorted(set(broken.iterdir()) - before),
        process.stdout if process.returncode else "",
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz what reads foreign input.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"by default all: {', '.join(MODULES)}")
    parser.add_argument("--seconds", type=int, default=60, help="in all, shared by the targets")
    parser.add_argument("--jobs", type=int, default=1, help="targets at once; each then has as much more time")
    parser.add_argument("--work", type=Path, default=ROOT / ".fuzz", help="where findings are kept")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="play this input against the one target")
    options = parser.parse_args()
    unknown = set(options.targets) - MODULES.keys()
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if options.replay is not None:
        if len(options.targets) != 1:
            parser.error("--replay takes one target")
        target(options.targets[0])(options.replay.read_bytes())
        print("it holds")
        return 0
    if find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install --group fuzz (CPython 3.11 to 3.13, Linux)")
    names = options.targets or list(MODULES)
    each = max(1, options.seconds * options.jobs // len(names))
    broken: list[str] = []
    print(f"{'target':<10} {'seconds':>7} {'runs':>9} {'features':>8}", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda name: fuzz(name, each, options.work.resolve()), names):
            print(f"{outcome.name:<10} {outcome.seconds:>7.0f} {outcome.runs:>9} {outcome.features:>8}", flush=True)
            if outcome.said:
                said = [line for line in outcome.said.splitlines() if not line.startswith("INFO:")]
                print("\n".join(said)[-6000:], flush=True)
                broken.append(f"{outcome.name} is broken, as it says above")
            broken += [f"{outcome.name} is broken by {file}; again: {_again(file, outcome)}" for file in outcome.found]
    print(*broken or ["nothing is broken"], sep="\n")
    return 1 if broken else 0


def _again(file: Path, outcome: Outcome) -> str:
    return f"python -m tests.fuzz --replay {file} {outcome.name}"


if __name__ == "__main__":
    sys.exit(main())
