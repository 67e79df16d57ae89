"""The benchmarks run and say what they measured. How fast anything is, is not tested: that depends on the machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.__main__ import GROUPS, NAMES
from benchmarks.measure import row_of, single
from benchmarks.plot import picture

ROOT = Path(__file__).resolve().parent.parent
PROMISED = {
    "import": 1.3,
    "app-hop": 1.9,
    "app-confirm": 1.7,
    "websocket-invoke": 1.5,
    "websocket-confirm": 1.4,
    "mcp-http-echo": 0.65,
    "mcp-http-confirm": 0.65,
    "modern-echo": 0.85,
    "modern-confirm": 0.65,
    **{
        f"http-{era}{row}": target
        for era in ("", "modern-")
        for row, target in {
            "echo:floor": 1.6,
            "confirm:floor": 1.6,
            "confirm:mcp": 0.55,
            "confirms-100:mcp": 0.5,
        }.items()
    },
    "stdio-confirms-100:mcp": 0.5,
    "stdio-modern-confirms-100:mcp": 0.5,
    "parked-memory": 1.0,
    "parked-prompt-memory": 1.0,
    "parked-answer": 1.5,
    "start-first-reply:mcp": 0.32,
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
    "parked-prompt-memory": 10_000.0,
    "gateway-first-reply": 0.150,
    "gateway-memory": 40e6,
    "gateway-memory-after-list": 40e6,
    "claim": 0.050,
    "claim-unix": 0.050,
    "redial": 0.200,
    "redial-unix": 0.200,
}
"""What is promised in seconds or bytes: the other side of these rows."""

OURS = ("imports", "start", "start-gateway", "websocket", "unix", "parked", "path", "pairing", "memory")
"""Groups in which nobody else's server is started, or one."""
SIDE_BY_SIDE = ("http", "http-modern", "stdio", "stdio-modern")


def rows_of(groups: tuple[str, ...], *peers: str) -> list[str]:
    return [name for group in groups for name in GROUPS[group][0] if name.partition(":")[2] in peers]


# Every kind of row. All peers do a piece of work once; to start them for each would take minutes.
PEERS = [
    *rows_of(SIDE_BY_SIDE, "floor", "mcp", ""),
    *(name for name in rows_of(("http",), "mcp-json", "mcp-high", "mcp1", "fastmcp") if name.startswith("http-echo")),
    *rows_of(("start-all", "held"), "mcp"),
    *rows_of(("growth",), "1", "10"),
]


def run(*options: str) -> subprocess.CompletedProcess[str]:
    # What is measured must not be slowed down by a measurement of coverage.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-m", "benchmarks", *options]
    return subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("names", [OURS, PEERS], ids=["ours", "peers"])
def test_a_run_prints_a_table_and_writes_every_row(names: Sequence[str], tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    done = run("--once", *(f"--only={name}" for name in names), "--output", str(results))
    assert done.returncode == 0, done.stderr
    rows = json.loads(results.read_text())
    # A peer whose environment has not been made is left out, and it is said.
    asked = {row for name in names for row in (GROUPS[name][0] if name in GROUPS else (name,))}
    absent = {name for name in asked if name.endswith(":mcp1") and "mcp 1.30.0" in done.stderr}
    assert {row["name"] for row in rows} == asked - absent
    assert {row["name"]: row["target"] for row in rows if row["target"] is not None} == {
        name: target for name, target in PROMISED.items() if name in asked
    }
    for row in rows:
        check(row, done.stdout)
    if "memory" in names:
        for confirms in range(1, 11):
            line = rf"^ *{confirms} confirms: gateway [\d.]+ MiB, app [\d.]+ MiB$"
            assert re.search(line, done.stderr, re.MULTILINE)
    *_, table = results.with_suffix(".md").read_text().partition("## All rows")
    assert [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")] == [
        row["name"] for row in rows
    ]


def check(row: dict[str, Any], printed: str) -> None:
    fields = ["name", "peer", "ours", "theirs", "ratio", "target", "spread", "noise", "ours_p95", "theirs_p95"]
    assert list(row) == fields
    assert row["peer"]
    assert row["ours"] > 0
    assert row["theirs"] > 0
    assert row["ratio"] > 0
    assert row["spread"] >= 0
    assert row["noise"] >= 0
    assert row["noise"] == 0 or row["target"] == 1.0
    assert row["theirs"] == LIMITS.get(row["name"], row["theirs"])
    assert (row["ours_p95"] is None) == (row["theirs_p95"] is None)
    (line,) = (line for line in printed.splitlines() if line.startswith(row["name"] + " "))
    missed = row["target"] is not None and row["ratio"] - row["noise"] > row["target"]
    assert (" missed " in line, " met " in line) == (missed, row["target"] is not None and not missed)


def test_every_promise_is_of_a_row_and_no_name_is_that_of_two() -> None:
    assert set(PROMISED) <= set(NAMES)
    assert len({*NAMES, *GROUPS}) == len(NAMES) + len(GROUPS)


def test_a_picture_has_a_panel_for_each_thing_that_grows() -> None:
    rows = [single(name, "the smallest", 2e-3, 1e-3) for name in GROUPS["growth"][0]]
    svg = ElementTree.fromstring(picture(rows))
    kinds = {name.partition(":")[0] for name in GROUPS["growth"][0]}
    lines = [element for element in svg.iter() if element.tag.endswith("polyline")]
    dots = [element for element in svg.iter() if element.tag.endswith("circle")]
    assert len(lines) == 2 * len(kinds)
    assert len(dots) == len(rows)


def test_a_server_holds_a_small_load_without_an_error() -> None:
    done = run("load", "--minutes", "0.02", "--sessions", "8", "--prompts", "20")
    assert done.returncode == 0, done.stderr
    *_, last, summary = done.stdout.splitlines()
    _, calls, _, sessions, waiting, errors, _, _ = last.split()
    assert int(calls) > 0
    assert (sessions, errors) == ("8", "0")
    assert 16 <= int(waiting) <= 20  # each of four clients may be at one
    assert summary.startswith("a call took ")


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
    done = run("--once", "--only", "import", "--output", str(results))
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
