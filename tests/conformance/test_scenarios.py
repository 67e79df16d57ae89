"""The library's own host against every scenario: the project's, and the public corpus where it is beside the clone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tesseron_py.testing.conformance import Outcome, find_scenarios, own_scenarios, run_scenarios

HOST = [sys.executable, "-m", "tesseron_py.testing.conformance_host"]
SHARED = Path(__file__).parents[3] / "shared" / "conformance" / "fixtures"
OURS = find_scenarios(own_scenarios())
CORPUS = find_scenarios(SHARED) if SHARED.is_dir() else []
ON_TRIO = ("bind", "elicitation", "handshake", "resources", "resume")
"""Rooms of ours that run on the other event loop, too: what it does in another order shows there."""


def outcomes_of(paths: list[Path]) -> Mapping[Path, Outcome]:
    outcomes = run_scenarios(paths, HOST, jobs=max(os.cpu_count() or 1, 2))
    return dict(zip(paths, outcomes, strict=True))


@pytest.fixture(scope="module")
def outcomes() -> Mapping[Path, Outcome]:
    """All of them, run beside each other."""
    return outcomes_of(OURS + CORPUS)


def check(outcome: Outcome) -> None:
    assert outcome.status == "passed", "\n".join([str(outcome.problem), *outcome.transcript, outcome.stderr])


@pytest.mark.parametrize("path", OURS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_scenario_of_ours(path: Path, outcomes: Mapping[Path, Outcome]) -> None:
    check(outcomes[path])


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_scenario_of_the_corpus(path: Path, outcomes: Mapping[Path, Outcome]) -> None:
    check(outcomes[path])


@pytest.mark.skipif(not CORPUS, reason=f"the public corpus is not here: {SHARED}")
def test_the_corpus_is_here() -> None:
    assert len(CORPUS) >= 20


def test_scenarios_on_trio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERON_CONFORMANCE_BACKEND", "trio")
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)  # the hosts above are measured; these only start faster without
    for outcome in outcomes_of([path for path in OURS if path.parent.name in ON_TRIO]).values():
        check(outcome)
