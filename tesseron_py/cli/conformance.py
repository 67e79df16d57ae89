"""`tesseron-py conformance`: play the protocol's scenarios against a host, and say which of them it failed and how."""

from __future__ import annotations

import argparse
import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..plain import plain
from .failure import Failure

if TYPE_CHECKING:
    from ..testing.conformance.runner import Outcome

STDERR_LINES = 20
"""Lines of a failed host's stderr that are shown: the newest."""

_ABOUT = """
The host is started anew for every scenario, with the scenario's file in
TESSERON_CONFORMANCE_FIXTURE and a home directory of its own. It prints
tesseron-conformance-url=ws://127.0.0.1:PORT/ (or tesseron-conformance-uds=PATH)
and ends when its stdin is closed.

TESSERON_CONFORMANCE_UNSUPPORTED is a comma list of what the host lacks, like uds;
scenarios that require it are skipped, and reported.

Exit code: 0, 1 when a scenario failed, 2 for a command line that cannot be understood.

  tesseron-py conformance --host "python -m tesseron_py.testing.conformance_host"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _ABOUT
    parser.add_argument("--host", metavar="CMD", required=True, help="what starts the host")
    parser.add_argument(
        "--fixtures", metavar="DIR", type=Path, help="scenarios to play, *.json below DIR (default: this project's own)"
    )
    parser.add_argument("--only", metavar="GLOB", help="only scenarios whose id matches, like 'bind/*'")
    parser.add_argument(
        "--jobs", metavar="N", type=_jobs, default=os.cpu_count() or 1, help="how many run at once (default: one a CPU)"
    )
    parser.add_argument("--verbose", action="store_true", help="show what happened in those that passed, too")


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 256):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of jobs, 1 to 256")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Play them; the last line says how many passed, failed and were skipped.

    Raises:
        Failure: There are no such scenarios, or no command.
    """
    import shlex
    from contextlib import closing

    from ..testing.conformance.runner import own_scenarios, run_scenarios, unsupported_by_environment

    try:
        command = shlex.split(options.host, posix=os.name == "posix")
    except ValueError as error:
        raise Failure(f"--host: {error}", 2) from error
    if not command:
        raise Failure("--host: the command that starts the host is empty", 2)
    paths = _chosen(options.fixtures if options.fixtures is not None else own_scenarios(), options.only)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    outcomes = run_scenarios(paths, command, jobs=options.jobs, unsupported=unsupported_by_environment())
    with closing(outcomes):
        for outcome in outcomes:
            counts[outcome.status] += 1
            _report(outcome, verbose=options.verbose)
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 1 if counts["failed"] else 0


def _chosen(directory: Path, only: str | None) -> list[Path]:
    from ..testing.conformance.scenario import ScenarioError, find_scenarios, load_scenario

    def is_chosen(path: Path) -> bool:
        try:
            id = load_scenario(path).id
        except ScenarioError:
            id = path.stem  # it fails when it is run, which says why
        return only is None or fnmatch.fnmatchcase(id, only)

    try:
        found = find_scenarios(directory)
    except ScenarioError as error:
        raise Failure(f"--fixtures: {error}", 2) from error
    chosen = [path for path in found if is_chosen(path)]
    if not chosen:
        raise Failure(f"--only: none of the {len(found)} scenarios in {directory} has an id like {only!r}", 2)
    return chosen


_WORDS = {"passed": "ok  ", "failed": "FAIL", "skipped": "skip"}


def _report(outcome: Outcome, *, verbose: bool) -> None:
    print(plain(f"{_WORDS[outcome.status]} {outcome.id}"), end="")
    print(f"  ({outcome.seconds:.1f} s)" if outcome.status == "passed" else "")
    lines = [outcome.problem] if outcome.problem is not None else []
    lines += outcome.remarks
    if outcome.status == "failed":
        lines.append(f"in {outcome.path}")
    if outcome.status == "failed" or verbose:
        lines += [f"| {line}" for line in outcome.transcript]
        lines += [f"stderr: {line}" for line in outcome.stderr.splitlines()[-STDERR_LINES:]]
    for line in lines:
        print(f"     {plain(line)}", flush=True)
