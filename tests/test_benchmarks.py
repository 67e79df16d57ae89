"""The benchmarks run and say what they measured. How fast anything is, is not tested: that depends on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMISED = {
    "import": 1.3,
    "app-hop": 1.9,
    "app-confirm": 1.7,
    "mcp-http-echo": 0.65,
    "mcp-http-confirm": 0.65,
    "stdio-first-reply": 0.45,
    "stdio-memory": 0.6,
}


def run(*options: str) -> subprocess.CompletedProcess[str]:
    # What is measured must not be slowed down by a measurement of coverage.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-m", "benchmarks", *options]
    return subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_a_quick_run_prints_a_table_and_writes_every_row(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    done = run("--quick", "--output", str(results))
    assert done.returncode == 0, done.stderr
    rows = json.loads(results.read_text())
    assert {row["name"]: row["target"] for row in rows if row["target"] is not None} == PROMISED
    for row in rows:
        assert list(row) == ["name", "peer", "ours", "theirs", "ratio", "target", "spread"]
        assert row["peer"]
        assert row["ours"] > 0
        assert row["theirs"] > 0
        assert row["ratio"] > 0
        assert row["spread"] >= 0
        assert any(line.startswith(row["name"] + " ") for line in done.stdout.splitlines())


def test_one_benchmark_alone(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    done = run("--quick", "--only", "import", "--output", str(results))
    assert done.returncode == 0, done.stderr
    assert [row["name"] for row in json.loads(results.read_text())] == ["import"]


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    done = run("--only", "speed")
    assert done.returncode == 2
    assert "'speed'" in done.stderr
    assert "app-hop" in done.stderr
