"""The benchmarks run and say what they measured. How fast anything is, is not tested: that depends on the machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.measure import row_of

ROOT = Path(__file__).resolve().parent.parent
PROMISED = {
    "import": 1.3,
    "app-hop": 1.9,
    "app-confirm": 1.7,
    "mcp-http-echo": 0.65,
    "mcp-http-confirm": 0.65,
    "modern-echo": 0.85,
    "modern-confirm": 0.65,
    "parked-memory": 1.0,
    "parked-answer": 1.5,
    "stdio-first-reply": 0.45,
    "stdio-memory": 0.6,
    "gateway-first-reply": 1.0,
    "gateway-memory": 1.0,
    "gateway-memory-after-list": 1.0,
    "path-echo": 1.25,
    "path-confirm": 1.25,
    "path-echo-unix": 1.0,
    "path-confirm-unix": 1.0,
    "claim": 1.0,
    "claim-unix": 1.0,
    "redial": 1.0,
    "redial-unix": 1.0,
    "memory-gateway": 1.1,
    "memory-app": 1.1,
}
LIMITS = {
    "parked-memory": 16384.0,
    "gateway-first-reply": 0.150,
    "gateway-memory": 40e6,
    "gateway-memory-after-list": 40e6,
    "claim": 0.050,
    "claim-unix": 0.050,
    "redial": 0.200,
    "redial-unix": 0.200,
}
"""What is promised in seconds or bytes: the other side of these rows."""


def run(*options: str) -> subprocess.CompletedProcess[str]:
    # What is measured must not be slowed down by a measurement of coverage.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-m", "benchmarks", *options]
    return subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def test_a_quick_run_prints_a_table_and_writes_every_row(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    done = run("--quick", "--output", str(results))
    assert done.returncode == 0, done.stderr
    rows = json.loads(results.read_text())
    assert {row["name"]: row["target"] for row in rows if row["target"] is not None} == PROMISED
    for row in rows:
        assert list(row) == ["name", "peer", "ours", "theirs", "ratio", "target", "spread", "noise"]
        assert row["peer"]
        assert row["ours"] > 0
        assert row["theirs"] > 0
        assert row["ratio"] > 0
        assert row["spread"] >= 0
        assert row["noise"] >= 0
        assert row["noise"] == 0 or row["target"] == 1.0
        assert row["theirs"] == LIMITS.get(row["name"], row["theirs"])
        (line,) = (line for line in done.stdout.splitlines() if line.startswith(row["name"] + " "))
        missed = row["target"] is not None and row["ratio"] - row["noise"] > row["target"]
        assert (" missed " in line, " met " in line) == (missed, row["target"] is not None and not missed)
    for confirms in range(50, 501, 50):
        assert re.search(rf"^ *{confirms} confirms: gateway [\d.]+ MiB, app [\d.]+ MiB$", done.stderr, re.MULTILINE)


def test_a_ratio_of_equals_is_missed_only_by_more_than_chance() -> None:
    even = [(1.0 + offset / 100, 1.0) for offset in range(-48, 52)]
    row = row_of("equal", "itself", even, target=1.0, noise=True)
    assert row.ratio == pytest.approx(1.015)
    assert row.noise == pytest.approx(0.095)
    assert not row.misses
    assert row_of("equal", "itself", even, target=1.0).misses
    assert row_of("slower", "itself", [(ours + 0.1, theirs) for ours, theirs in even], target=1.0, noise=True).misses
    assert not row_of("informs", "itself", even).misses


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


def test_a_gateway_on_stdio_loads_nothing_that_only_apps_and_http_need() -> None:
    program = (
        "import sys, tesseron_py.cli.gateway, tesseron_py.gateway.gateway, tesseron_py.mcp.stdio\n"
        "late = 'websockets', 'httpx', 'pydantic', 'tesseron_py.gateway.apps', 'tesseron_py.mcp.http'\n"
        "print(*[name for name in late if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == []
