"""Runs scenarios: each with a host of its own, several at once, and every one ends in an `Outcome`."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .connection import has_unix_sockets
from .host import Host, HostFailed
from .player import Player, StepFailed
from .scenario import Scenario, ScenarioError, load_scenario
from .transcript import Transcript


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one scenario.

    Attributes:
        id: The scenario's.
        path: Its file.
        status: Skipped means that the host lacks what the scenario requires.
        seconds: How long it took, the host's start included.
        problem: Why it failed or was skipped: the step, what was expected, what came.
        transcript: What happened, a line an event.
        stderr: The newest of what the host said on stderr.
        remarks: What is worth knowing and no failure.
    """

    id: str
    path: Path
    status: Literal["passed", "failed", "skipped"]
    seconds: float = 0.0
    problem: str | None = None
    transcript: Sequence[str] = ()
    stderr: str = ""
    remarks: Sequence[str] = field(default=())


class _Hosts:
    """The hosts that run, so that all can be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Host] = set()
        self._over = False

    def add(self, host: Host) -> None:
        with self._lock:
            if self._over:
                raise HostFailed("the run was given up")
            self._running.add(host)

    def discard(self, host: Host) -> None:
        with self._lock:
            self._running.discard(host)

    def kill(self) -> None:
        with self._lock:
            self._over = True
            running = tuple(self._running)
        for host in running:
            host.kill()


def run_scenario(scenario: Scenario, command: Sequence[str], *, unsupported: Iterable[str] = ()) -> Outcome:
    """Start the host, play the scenario, end the host. Never raises for what a host does.

    Args:
        scenario: What happens.
        command: What starts the host.
        unsupported: The capability tags that the host lacks.
    """
    return _run(scenario, command, frozenset(unsupported), _Hosts())


def run_scenarios(
    paths: Iterable[str | Path],
    command: Sequence[str],
    *,
    jobs: int = 1,
    unsupported: Iterable[str] = (),
) -> Generator[Outcome]:
    """Run the scenarios of these files; a file that is none is a failed one.

    Args:
        paths: The files.
        command: What starts a host.
        jobs: How many run at once.
        unsupported: The capability tags that the host lacks.

    Yields:
        An outcome per file, in their order, each as soon as it and those before it are there.
    """
    lacking, hosts = frozenset(unsupported), _Hosts()

    def run(path: str | Path) -> Outcome:
        try:
            scenario = load_scenario(path)
        except ScenarioError as error:
            return Outcome(Path(path).stem, Path(path), "failed", problem=str(error))
        return _run(scenario, command, lacking, hosts)

    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        yield from pool.map(run, paths)
    finally:
        hosts.kill()
        pool.shutdown(cancel_futures=True)


def own_scenarios() -> Path:
    """The directory of the project's own scenarios: of a clone, or the copy in a wheel."""
    packaged = Path(__file__).with_name("scenarios")
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "tests" / "conformance" / "scenarios"


def unsupported_by_environment() -> list[str]:
    """The tags in `TESSERON_CONFORMANCE_UNSUPPORTED`, a comma list."""
    return [tag.strip() for tag in os.environ.get("TESSERON_CONFORMANCE_UNSUPPORTED", "").split(",") if tag.strip()]


def _run(scenario: Scenario, command: Sequence[str], unsupported: frozenset[str], hosts: _Hosts) -> Outcome:
    lacking = [tag for tag in scenario.requires if tag in unsupported]
    if lacking:
        reason = f"requires {', '.join(lacking)}, which the host lacks"
        return Outcome(scenario.id, scenario.path, "skipped", problem=reason)
    if scenario.binding == "uds" and not has_unix_sockets():
        return Outcome(scenario.id, scenario.path, "skipped", problem="requires uds, which this system lacks")
    transcript = Transcript()
    host = Host(command, scenario)
    problem: str | None = None
    try:
        hosts.add(host)
        host.start()
        transcript.add("·", f"the host listens on {host.address}")
        Player(scenario, host, transcript).play()
    except (HostFailed, StepFailed, ScenarioError) as failure:
        problem = str(failure)
    except OSError as error:
        problem = f"the runner could not go on: {error}"
    finally:
        host.end()
        hosts.discard(host)
    if problem is None and (extra := host.extra_line) is not None:
        problem = f"the host is to print one line on stdout, and printed another: {extra!r}"
    return Outcome(
        scenario.id,
        scenario.path,
        "passed" if problem is None else "failed",
        transcript.seconds,
        problem,
        tuple(transcript.lines),
        host.stderr,
        ("the host did not end when its stdin was closed, and was killed",) if host.stubborn else (),
    )
