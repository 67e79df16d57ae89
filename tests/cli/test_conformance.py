"""`tesseron-py conformance`: what it reports, its last line and its exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tesseron_py.cli.main import main

HOST = f"{sys.executable} -m tesseron_py.testing.conformance_host"
HELLO = {"recv": {"id": "~capture:id", "method": "tesseron/hello"}}
GOOD = {"id": "a/good", "fixture": {}, "steps": [HELLO]}
WRONG = {"id": "a/wrong", "fixture": {}, "steps": [HELLO, {"expectClosed": True, "timeoutMs": 50}]}
UNIX = {"id": "b/unix", "requires": ["uds"], "steps": [{"recv": {}}]}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for number, content in enumerate((GOOD, WRONG, UNIX)):
        (tmp_path / f"{number}.json").write_text(json.dumps(content))
    return tmp_path


def run(*arguments: object) -> int:
    return main(["conformance", *map(str, arguments)])


def test_the_last_line_counts_and_a_failure_exits_1(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSERON_CONFORMANCE_UNSUPPORTED", "uds")
    assert run("--host", HOST, "--fixtures", directory) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 passed, 1 failed, 1 skipped"
    assert lines[0].startswith("ok   a/good  (")
    at = lines.index("FAIL a/wrong")
    assert lines[at + 1] == "     step 2 (expectClosed): the connection was to be closed, and is still open"
    assert lines[at + 2] == f"     in {directory / '1.json'}"
    assert any(" ms ← {" in line for line in lines[at:])
    at = lines.index("skip b/unix")
    assert lines[at + 1] == "     requires uds, which the host lacks"


def test_only_some_are_run_and_success_exits_0(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--host", HOST, "--fixtures", directory, "--only", "a/g*", "--jobs", 2, "--verbose") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 passed, 0 failed, 0 skipped"
    assert any(" · step 1 (recv)" in line for line in lines)


def test_what_a_host_says_does_nothing_to_the_terminal(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; sys.exit(chr(27) + '[2Jboom')"
    assert run("--host", f'{sys.executable} -c "{code}"', "--fixtures", directory / "0.json") == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "stderr: \\x1b[2Jboom" in out


def test_a_file_that_is_no_scenario_is_a_failure(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "3.json").write_text('{"steps": [{"nope": 1}]}')
    assert run("--host", HOST, "--fixtures", directory, "--only", "3") == 1
    out = capsys.readouterr().out
    assert "step 1 has the unknown 'nope'" in out
    assert out.endswith("0 passed, 1 failed, 0 skipped\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--host"),
        (["--host", ""], "the command that starts the host is empty"),
        (["--host", "a 'b"], "--host: No closing quotation"),
        (["--host", "x", "--fixtures", "/no/such/directory"], "there are no scenarios (*.json) in /no/such/directory"),
        (["--host", "x", "--only", "nothing/*"], "has an id like 'nothing/*'"),
        (["--host", "x", "--jobs", "0"], "'0' is no number of jobs, 1 to 256"),
        (["--host", "x", "--jobs", "many"], "'many' is no number of jobs"),
    ],
)
def test_a_wrong_command_line_exits_2(arguments: list[Any], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert says in capsys.readouterr().err
