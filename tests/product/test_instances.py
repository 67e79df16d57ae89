"""`tesseron-py instances`, in every state of an app; and directories that cannot be used, which every command says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tesseron_py import directory

from .conftest import APP
from .house import CLAIM, CODE, AgentProcess, Traces, gateway, running_app
from .processes import PATIENCE, ROOT, SOON, TESSERON, Server, environment
from .raw import Pipe


@pytest.fixture
def traces(tesseron_home: Path) -> Traces:
    """What is left in this test's `~/.tesseron`."""
    return Traces(tesseron_home)


def command(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return ended([TESSERON, *arguments], environment(env))


def ended(command: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What a process did that ends by itself."""
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)


def instances() -> list[list[str]]:
    """The rows that are listed, in cells."""
    done = command("instances")
    assert (done.returncode, done.stderr) == (0, ""), done
    return [line.split("  ") for line in done.stdout.splitlines()]


def row() -> list[str]:
    """The cells of the one row there is."""
    (cells,) = instances()
    return [cell.strip() for cell in cells if cell.strip()]


NOTHING = [["No app runs on this machine. Start one with: tesseron-py run MODULE:APP"]]


def test_the_life_of_an_app_as_it_is_listed(traces: Traces) -> None:
    assert instances() == NOTHING
    with running_app() as app:
        url, code, pid = app.wait_line(r"ws://\S+")[0], app.wait_line(CODE)[1], f"pid {app.process.pid}"
        name, state, age, *rest = row()
        assert (name, state, rest) == ("The depot", f"waits, code {code}", [pid, url])
        assert age.endswith(" s")
        with gateway() as (there, _), AgentProcess(there) as agent:
            agent.value(CLAIM, code=code)
            app.wait_line("claimed by")
            name, state, _, *rest = row()
            assert (name, state, rest) == ("The depot", "claimed by claude", [pid, url])
        app.wait_line("dropped|the gateway has left")
        traces.until(lambda: "helloHandledByHost" not in traces.manifests()[0])
        name, state, _, _, place = row()  # it waits for its gateway to come back
        assert (name, state, place != url) == ("The depot", "claimed by claude", True)
        app.kill()
    assert instances() == NOTHING  # and what was left of it is gone
    assert traces.manifests() == []


def test_apps_are_listed_the_oldest_first_whatever_their_binding() -> None:
    with running_app() as one, running_app("--uds") as two, running_app("--plain") as three:
        rows = instances()
        for cells, app in zip(rows, (one, two, three), strict=True):
            assert f"pid {app.process.pid}" in map(str.strip, cells)
        assert two.wait_line("listens on (/.*)")[1] in " ".join(rows[1])
        assert "for any gateway" in " ".join(rows[2])
        assert len({line.index("pid ") for line in ("  ".join(cells) for cells in rows)}) == 1


def test_what_is_in_the_directory_is_not_believed(traces: Traces) -> None:
    place = directory.private(directory.INSTANCES)
    directory.write(place / "odd.json", {**manifest(), "appName": "Nice\x1b[2J\n app", "addedAt": -5, "pid": "x"})
    (place / "half.json").write_text('{"version": 2, "inst')
    directory.write(place / "dead.json", manifest(pid=2**22 + 12345))
    done = command("instances")
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("Nice\\x1b[2J")
    assert line.endswith("ws://127.0.0.1:9/")
    assert "\x1b" not in done.stdout + done.stderr
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("warning: ")
    assert "half.json cannot be read and is ignored" in warning
    assert not (place / "dead.json").exists()


def manifest(**changes: Any) -> dict[str, Any]:
    transport = {"kind": "ws", "url": "ws://127.0.0.1:9/"}
    about = {"version": 2, "instanceId": "i", "appName": "An app", "addedAt": 1, "pid": os.getpid()}
    return {**about, "transport": transport, **changes}


# Directories that cannot be used


@pytest.fixture(params=["a file", "no file system to write to", "somebody else's"])
def unusable(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment whose directory cannot be used."""
    match request.param:
        case "a file":
            (tmp_path / "file").write_text("")
            return {"TESSERON_HOME": str(tmp_path / "file")}
        case "no file system to write to":
            return {"TESSERON_HOME": "/proc/tesseron"}
        case _:
            if os.geteuid() != 0:
                return {"TESSERON_HOME": "/"}
            theirs = tmp_path / "theirs"
            theirs.mkdir()
            os.chown(theirs, 65534, 65534)
            return {"TESSERON_HOME": str(theirs)}


def one_line(text: str) -> str:
    """The one error line there is, without a traceback."""
    assert "Traceback" not in text, text
    (line,) = [line for line in text.splitlines() if line.startswith("error: ")]
    return line


def test_a_directory_that_cannot_be_used_is_said_by_run(unusable: dict[str, str]) -> None:
    for options in ([], ["--uds"], ["--plain"]):
        done = command("run", APP, *options, env=unusable)
        assert (done.returncode, done.stdout) == (1, "")
        assert "TESSERON_HOME" in one_line(done.stderr)
        assert unusable["TESSERON_HOME"] in done.stderr


def test_a_directory_that_cannot_be_used_is_said_by_instances(unusable: dict[str, str]) -> None:
    done = command("instances", env=unusable)
    assert (done.returncode, done.stdout) == (1, "")
    assert "TESSERON_HOME" in one_line(done.stderr)


def test_a_gateway_without_its_directory_says_so_and_serves(unusable: dict[str, str]) -> None:
    with gateway(env=unusable) as (url, server):
        server.wait_line("error: Apps on this machine cannot be found: .*TESSERON_HOME")
        with AgentProcess(url) as agent:
            code, message = agent.failure(CLAIM, code="AB3X-7K")
            assert (code, "TESSERON_HOME" in message) == (-32603, True)
            assert len(agent.tools()) == 5
        assert server.end(signal.SIGTERM) < SOON
    with Pipe([TESSERON, "gateway"], unusable) as pipe:
        pipe.open()
        pipe.server.wait_line("error: Apps on this machine cannot be found: .*TESSERON_HOME")
        pipe.close()
        assert pipe.server.end(None) < SOON


HOMELESS = """
import pathlib, sys
def home(): raise RuntimeError("Could not determine home directory.")
pathlib.Path.home = home
from tesseron_py.cli.main import main
sys.exit(main())
"""
"""`tesseron-py` of a user that the system knows no home of, as in a container that runs under any number."""


@pytest.mark.parametrize("arguments", [["run", APP], ["instances"]])
def test_without_a_home_directory_there_is_a_clear_line(arguments: list[str]) -> None:
    env = environment()
    del env["TESSERON_HOME"]
    done = ended([sys.executable, "-c", HOMELESS, *arguments], env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no home directory" in one_line(done.stderr)
    assert "set HOME, or TESSERON_HOME" in done.stderr


def test_without_a_home_directory_a_gateway_says_so_and_serves() -> None:
    program = f"import os; del os.environ['TESSERON_HOME']\n{HOMELESS}"
    with Server([sys.executable, "-c", program, "gateway", "--http", "127.0.0.1:0"]) as server:
        url = server.wait_line(r"gateway at (http://\S+)")[1]
        server.wait_line("error: .*there is no home directory.*set HOME")
        with AgentProcess(url) as agent:
            assert len(agent.tools()) == 5


def test_a_pairing_that_cannot_be_kept_is_said_and_the_app_serves() -> None:
    with running_app("--pairing", "/proc/pairing.json") as app, gateway() as (url, _), AgentProcess(url) as agent:
        agent.value(CLAIM, code=app.wait_line(CODE)[1])
        assert agent.value("depot__echo", text="on") == "on"
        app.wait_line("warning: The pairing cannot be kept in /proc/pairing.json")
