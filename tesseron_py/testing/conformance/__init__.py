"""The protocol's conformance runner: it plays the gateway of scripted scenarios against any host.

It uses none of the library's own host, gateway or bindings, so that a mistake of theirs cannot hide itself: sockets,
the Sans-I/O frames of `websockets`, and `json`. The scenarios' format is described in `tests/conformance/README.md`;
the host of ours that it can be run against is `tesseron_py.testing.conformance_host`.

Example:
    ```python
    command = [sys.executable, "-m", "tesseron_py.testing.conformance_host"]
    for outcome in run_scenarios(find_scenarios("fixtures"), command, jobs=4):
        print(outcome.status, outcome.id, outcome.problem or "")
    ```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .runner import Outcome as Outcome
    from .runner import own_scenarios as own_scenarios
    from .runner import run_scenario as run_scenario
    from .runner import run_scenarios as run_scenarios
    from .scenario import Scenario as Scenario
    from .scenario import ScenarioError as ScenarioError
    from .scenario import find_scenarios as find_scenarios
    from .scenario import load_scenario as load_scenario

_HOMES = {
    "Outcome": "runner",
    "Scenario": "scenario",
    "ScenarioError": "scenario",
    "find_scenarios": "scenario",
    "load_scenario": "scenario",
    "own_scenarios": "runner",
    "run_scenario": "runner",
    "run_scenarios": "runner",
}

__all__ = [
    "Outcome",
    "Scenario",
    "ScenarioError",
    "find_scenarios",
    "load_scenario",
    "own_scenarios",
    "run_scenario",
    "run_scenarios",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
