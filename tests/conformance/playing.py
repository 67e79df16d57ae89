"""Plays steps against a scripted host, for the tests of the runner's own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tesseron_py.testing.conformance.player import Player
from tesseron_py.testing.conformance.scenario import Scenario, load_scenario
from tesseron_py.testing.conformance.transcript import Transcript

from .scripted_host import ScriptedHost


def scenario(directory: Path, steps: list[Any], requires: Iterable[str] = (), **more: Any) -> Scenario:
    """A scenario of these steps, read from a file in `directory`."""
    path = directory / "scenario.json"
    path.write_text(json.dumps({"id": "a/b", "requires": list(requires), "steps": steps, **more}))
    return load_scenario(path)


def play(
    steps: list[Any], script: list[dict[str, Any]], *, uds: bool = False, manifest: Any = None, stubborn: bool = False
) -> ScriptedHost:
    """Play the steps; gives the host, which is closed.

    Args:
        steps: The scenario's.
        script: What the host does, a connection after the other.
        uds: Whether it listens on a Unix socket.
        manifest: What stands in its manifest; text as it stands.
        stubborn: It does not end when it is told to.

    Raises:
        StepFailed: The host failed.
        ScenarioError: The scenario makes no sense.
    """
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        if manifest is not None:
            instances = home / ".tesseron" / "instances"
            instances.mkdir(parents=True)
            text = manifest if isinstance(manifest, str) else json.dumps(manifest)
            (instances / "inst-1.json").write_text(text)
        with ScriptedHost(script, home, uds=uds) as host:
            host.stubborn = stubborn
            Player(scenario(home, steps, ["uds"] if uds else []), host, Transcript()).play()
        return host
