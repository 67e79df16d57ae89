"""Hosts as processes: how they start, how they end, and what becomes of those that do it wrong."""

from __future__ import annotations

import ast
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tesseron_py.testing import conformance
from tesseron_py.testing.conformance.host import Host, HostFailed
from tesseron_py.testing.conformance.runner import (
    Outcome,
    own_scenarios,
    run_scenario,
    run_scenarios,
    unsupported_by_environment,
)

from .playing import scenario

PYTHON = sys.executable
# What a host does at least: it says where it listens, takes whoever connects, and ends with its stdin.
LISTENS = """
import os, socket, sys, threading, time
listener = socket.socket(socket.AF_UNIX)
place = os.path.join(os.environ["HOME"], "s")
listener.bind(place)
listener.listen()
def accept():
    global peer
    peer, _ = listener.accept()
threading.Thread(target=accept, daemon=True).start()
print("tesseron-conformance-uds=" + place, flush=True)
"""
ENDS = "sys.stdin.read()\n"
STEPS = [{"expectSilence": True, "timeoutMs": 20}]


def run(tmp_path: Path, code: str, steps: Any = STEPS, **options: Any) -> Outcome:
    return run_scenario(scenario(tmp_path, steps, ["uds"]), [PYTHON, "-c", code], **options)


def test_a_host_that_does_right_passes(tmp_path: Path) -> None:
    code = LISTENS + "print(sorted(os.environ), file=sys.stderr)\n" + ENDS
    outcome = run(tmp_path, code)
    assert (outcome.id, outcome.status, outcome.problem, outcome.remarks) == ("a/b", "passed", None, ())
    assert outcome.path == tmp_path / "scenario.json"
    assert 0 < outcome.seconds < 20
    assert "TESSERON_CONFORMANCE_FIXTURE" in outcome.stderr
    assert any("step 1 (expectSilence)" in line for line in outcome.transcript)


def test_a_host_has_a_home_of_its_own_which_goes_with_it(tmp_path: Path) -> None:
    code = (
        LISTENS
        + "print(os.environ['HOME'], os.environ['TESSERON_HOME'], os.environ['TESSERON_CONFORMANCE_FIXTURE'],"
        + " file=sys.stderr)\n"
        + ENDS
    )
    home, tesseron, fixture = run(tmp_path, code).stderr.split()
    assert (Path(tesseron), Path(fixture)) == (Path(home) / ".tesseron", tmp_path / "scenario.json")
    assert not Path(home).exists()
    assert home != os.environ["HOME"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; sys.exit('boom')", "the host ended before it printed where it listens (exit code 1)"),
        ("import os, time; os.close(1); time.sleep(60)", "printed where it listens (it has closed its stdout)"),
        ("print('hello')", "is to begin with 'tesseron-conformance-uds=', and it printed 'hello'"),
        ("print('tesseron-conformance-url=ws://127.0.0.1:1/')", "is to begin with 'tesseron-conformance-uds='"),
        ("print('tesseron-conformance-uds=/none')", "/none cannot be connected to: No such file or directory"),
        (LISTENS + "print('and more', flush=True)\n" + ENDS, "printed another: 'and more'"),
        (LISTENS + "print('more\\n' * 100_000, flush=True)\n" + ENDS, "printed another: 'more'"),
        (LISTENS + "sys.exit(3)", "the connection ended"),
    ],
)
def test_a_host_that_starts_wrong_fails(tmp_path: Path, code: str, says: str) -> None:
    outcome = run(tmp_path, code, [{"recv": {}}] if "sys.exit(3)" in code else STEPS)
    assert outcome.status == "failed"
    assert says in (outcome.problem or "")
    if "boom" in code:
        assert "boom" in outcome.stderr


def test_a_host_that_says_nothing_fails_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tesseron_py.testing.conformance.host.STARTING", 0.3)
    outcome = run(tmp_path, "import time; time.sleep(60)")
    assert outcome.problem == "the host printed nothing within 0.3 s"
    assert outcome.remarks == ("the host did not end when its stdin was closed, and was killed",)


def test_a_host_that_cannot_be_started_fails(tmp_path: Path) -> None:
    outcome = run_scenario(scenario(tmp_path, STEPS), ["/no/such/host"])
    assert "the host cannot be started: " in (outcome.problem or "")


def test_a_host_that_does_not_end_is_killed_with_what_it_started(tmp_path: Path) -> None:
    code = (
        LISTENS
        + "import subprocess\n"
        + "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        + "print(child.pid, file=sys.stderr, flush=True)\ntime.sleep(60)"
    )
    outcome = run(tmp_path, code, [{"expectSilence": True, "timeoutMs": 500}])
    assert outcome.status == "passed"
    assert outcome.remarks == ("the host did not end when its stdin was closed, and was killed",)
    child = int(outcome.stderr)
    assert not Path(f"/proc/{child}").exists() or "zombie" in Path(f"/proc/{child}/status").read_text()


def test_a_noisy_host_does_not_block_and_is_shown_at_its_end(tmp_path: Path) -> None:
    outcome = run(tmp_path, LISTENS + "print('x' * 1_000_000 + 'last', file=sys.stderr)\n" + ENDS)
    assert outcome.status == "passed"
    assert outcome.stderr.endswith("last\n")
    assert len(outcome.stderr) <= 16 * 1024


def test_a_host_is_stopped_by_stdin_and_by_signals(tmp_path: Path) -> None:
    assert run(tmp_path, LISTENS + ENDS, [{"stopHost": True}, {"expectClosed": True}]).status == "passed"
    assert run(tmp_path, LISTENS + ENDS, [{"stopHost": {"signal": "SIGTERM"}}]).status == "passed"
    assert run(tmp_path, LISTENS + "time.sleep(60)", [{"stopHost": {"signal": "SIGKILL"}}]).status == "passed"
    stubborn = run(tmp_path, LISTENS + "time.sleep(60)", [{"stopHost": True, "timeoutMs": 100}])
    assert "was told to end (its stdin closed), and goes on" in (stubborn.problem or "")


def test_an_error_of_the_scenario_is_a_failure(tmp_path: Path) -> None:
    outcome = run(tmp_path, LISTENS + ENDS, [{"send": {"id": "~ref:none"}}])
    assert outcome.problem == "step 1 (send): ~ref:none: nothing was captured under that name before"


def test_what_the_host_lacks_is_skipped_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(tmp_path, "1/0", unsupported=["uds", "resume"])
    assert (outcome.status, outcome.problem) == ("skipped", "requires uds, which the host lacks")
    monkeypatch.setenv("TESSERON_CONFORMANCE_UNSUPPORTED", " uds, resume ,,")
    assert unsupported_by_environment() == ["uds", "resume"]
    monkeypatch.setattr("tesseron_py.testing.conformance.runner.has_unix_sockets", lambda: False)
    outcome = run(tmp_path, "1/0")
    assert (outcome.status, outcome.problem) == ("skipped", "requires uds, which this system lacks")


def files(directory: Path, count: int, steps: Any = STEPS) -> list[Path]:
    paths = [directory / f"{number}.json" for number in range(count)]
    for path in paths:
        path.write_text(json.dumps({"id": path.stem, "requires": ["uds"], "steps": steps}))
    return paths


def test_several_run_at_once_and_are_told_in_order(tmp_path: Path) -> None:
    paths = files(tmp_path, 5)
    paths[2].write_text("{")
    outcomes = list(run_scenarios(paths, [PYTHON, "-c", LISTENS + ENDS], jobs=3))
    assert [outcome.id for outcome in outcomes] == ["0", "1", "2", "3", "4"]
    assert [outcome.status for outcome in outcomes] == ["passed", "passed", "failed", "passed", "passed"]
    assert "is no JSON" in (outcomes[2].problem or "")


def test_the_runner_judges_with_nothing_of_the_library_itself() -> None:
    """A mistake of the library's own host or bindings must not hide itself."""
    directory = Path(conformance.__file__).parent
    for path in directory.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, f"{path.name} imports from {'.' * node.level}{node.module}"
                assert not (node.module or "").startswith("tesseron_py")
            elif isinstance(node, ast.Import):
                assert all(not alias.name.startswith(("tesseron_py", "anyio")) for alias in node.names), path.name


def test_a_run_that_is_given_up_ends_its_hosts_at_once(tmp_path: Path) -> None:
    steps = [{"recv": {}, "timeoutMs": 60_000}]
    first, *others = files(tmp_path, 6, steps)
    first.write_text(json.dumps({"requires": ["uds"], "steps": STEPS}))
    outcomes = run_scenarios([first, *others], [PYTHON, "-c", LISTENS + ENDS], jobs=2)
    assert next(outcomes).status == "passed"
    closing = threading.Thread(target=outcomes.close)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()


def test_a_host_that_never_started_can_be_ended(tmp_path: Path) -> None:
    host = Host(["/no/such/host"], scenario(tmp_path, STEPS))
    with pytest.raises(HostFailed):
        host.start()
    host.end()
    assert host.extra_line is None


def test_a_host_that_is_given_up_while_it_starts_is_killed(tmp_path: Path) -> None:
    host = Host([PYTHON, "-c", "import time; time.sleep(60)"], scenario(tmp_path, STEPS))
    host.kill()
    with pytest.raises(HostFailed, match="ended before it printed where it listens"):
        host.start()
    host.end()


def test_the_own_scenarios_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_scenarios() == Path(__file__).parent / "scenarios"
    (tmp_path / "scenarios").mkdir()
    monkeypatch.setattr("tesseron_py.testing.conformance.runner.__file__", str(tmp_path / "runner.py"))
    assert own_scenarios() == tmp_path / "scenarios"
