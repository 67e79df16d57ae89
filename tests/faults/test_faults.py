"""A small share of the laboratory: each fault once, and a prompt's life cut here and there, on either event loop.

`TESSERON_FAULTS=5000` plays so many histories instead. What fails names the command that plays it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .faults import FAULTS
from .histories import draw
from .ledger import Ledger
from .mutants import MUTANTS
from .site import ROOT
from .wires import Meter, Trap

HISTORIES = int(os.environ.get("TESSERON_FAULTS", "0"))
STANDING = {"ws+stdio/asyncio", "uds+http/trio", "http+http/asyncio"}
"""The topologies that are put up."""


def one_of_each() -> list[int]:
    """For each fault the first history on one of these topologies."""
    found: dict[str, int] = {}
    for seed in range(10_000):
        history = draw(seed)
        if str(history.topology) in STANDING:
            found.setdefault(history.fault, seed)
        if len(found) == len(FAULTS):
            break
    return sorted(found.values())


def laboratory(*options: str) -> None:
    command = [sys.executable, "-m", "tests.faults", *options]
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    played = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert played.returncode == 0, f"{played.stdout}\n{played.stderr}"


def test_whatever_fails_nothing_happens_without_a_yes_or_twice_and_everything_ends() -> None:
    if HISTORIES:
        laboratory("--histories", str(HISTORIES))
    else:
        laboratory(*(option for seed in one_of_each() for option in ("--seed", str(seed))))


def test_a_connection_may_be_cut_at_any_byte_of_a_prompt() -> None:
    laboratory("--every-byte", "--stride", "241", "--topology", "ws+http/trio")


def test_a_history_is_the_same_each_time_it_is_drawn() -> None:
    for seed in range(50):
        first, second = draw(seed), draw(seed)
        assert (first.topology, first.fault, first.plans) == (second.topology, second.fault, second.plans)
        assert first.dice.random() == second.dice.random()


def test_a_trap_is_sprung_by_the_byte_after_its_place() -> None:
    meter = Meter()
    meter.arm(trap := Trap("up", 5, "close"))
    assert meter.split("down", b"0123456789") == (b"0123456789", b"", None)
    assert meter.split("up", b"012") == (b"012", b"", None)
    assert meter.split("up", b"34") == (b"34", b"", None)
    assert meter.split("up", b"567") == (b"", b"567", trap)
    assert meter.split("up", b"8") == (b"8", b"", None)
    assert meter.passed == {"up": 9, "down": 10}


def note(ledger: Ledger, text: str) -> None:
    ledger.heard(1, text.replace("'", '"').encode())


def test_the_ledger_sees_an_effect_without_a_yes_and_one_that_comes_twice() -> None:
    ledger = Ledger()
    note(ledger, "{'event': 'begun', 'run': 'r', 'tag': 't'}")
    note(ledger, "{'event': 'asks', 'run': 'r', 'label': 'r/0'}")
    note(ledger, "{'event': 'effect', 'run': 'r', 'labels': ['r/0']}")
    assert ledger.wrongs == ["r had its effect, and nobody said yes to r/0"]
    ledger.said_yes("r/0")
    note(ledger, "{'event': 'effect', 'run': 'r', 'labels': ['r/0']}")
    assert ledger.wrongs[1:] == ["r had its effect 2 times"]
    note(ledger, "{'event': 'ended', 'run': 'r'}")
    assert ledger.running() == []


def test_a_yes_at_a_gate_is_good_for_one_run() -> None:
    ledger = Ledger()
    ledger.said_yes("t")
    for run in ("r", "s"):
        note(ledger, f"{{'event': 'begun', 'run': '{run}', 'tag': 't'}}")
        note(ledger, f"{{'event': 'effect', 'run': '{run}', 'labels': ['t']}}")
    assert ledger.wrongs == ["t had 2 effects for 1 yeses"]


def test_what_the_mutants_break_is_there_to_be_broken() -> None:
    for name, mutant in MUTANTS.items():
        text = (Path(ROOT) / "tesseron_py" / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.sound) == 1, name
