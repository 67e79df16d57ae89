"""What is left of a claim after a restart: with a pairing that is kept everything, and else a new code."""

from __future__ import annotations

import json
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .house import CLAIM, CODE, PENDING, AgentProcess, Traces, gateway, running_app
from .processes import Server

TOOL = "depot__echo"


@pytest.fixture
def traces(tesseron_home: Path) -> Traces:
    """What is left in this test's `~/.tesseron`."""
    return Traces(tesseron_home)


@pytest.fixture(params=["ws", "uds", "plain", "http"])
def kind(request: pytest.FixtureRequest) -> str:
    """How app and gateway meet, and who mints the code."""
    return str(request.param)


@contextmanager
def started(kind: str, pairing: Path) -> Iterator[Server]:
    """The app, with its pairing kept in that file."""
    if kind == "http":
        with Server([sys.executable, "-m", "tests.product.dial_out", str(pairing)]) as app:
            app.wait_line("dials")
            yield app
    else:
        options = {"ws": [], "uds": ["--uds"], "plain": ["--plain"]}[kind]
        with running_app(*options, "--pairing", str(pairing)) as app:
            yield app


def works(agent: AgentProcess) -> None:
    """From the agent to the person and back."""
    agent.tools_until(lambda tools: TOOL in tools)
    call = agent.begin("depot__outcome", how="confirm", tag="")
    agent.answer(agent.prompt(), "yes")
    assert agent.result(call)["text"] == "True"


def test_an_app_that_was_killed_goes_on_with_its_pairing(kind: str, tmp_path: Path, traces: Traces) -> None:
    pairing = tmp_path / "kept" / "pairing.json"
    with gateway() as (url, _), AgentProcess(url) as agent:
        with started(kind, pairing) as app:
            agent.value(CLAIM, code=app.wait_line(CODE)[1])
            works(agent)
            first = json.loads(pairing.read_text())
            assert stat.S_IMODE(pairing.stat().st_mode) == 0o600
            app.kill()
        for how in ("killed", "told to stop"):
            with started(kind, pairing) as app:
                app.wait_line("resumed with claude")
                works(agent)
                assert "claim the Tesseron session" not in app.errors
                kept = json.loads(pairing.read_text())
                assert kept["sessionId"] == first["sessionId"]
                assert kept["resumeToken"] != first["resumeToken"]
                first = kept
                assert agent.value(PENDING) == []
                if how == "killed":
                    app.kill()
                else:
                    app.end(signal.SIGTERM)
        agent.tools_until(lambda tools: TOOL not in tools)
        traces.until(lambda: traces.manifests() == [] and traces.breadcrumbs() == [])


def test_a_gateway_that_does_not_know_the_pairing_gives_a_new_code(kind: str, tmp_path: Path) -> None:
    pairing = tmp_path / "pairing.json"
    with gateway() as (url, _), AgentProcess(url) as agent, started(kind, pairing) as app:
        agent.value(CLAIM, code=app.wait_line(CODE)[1])
        works(agent)
        app.kill()
    first = json.loads(pairing.read_text())
    with gateway() as (url, _), AgentProcess(url) as agent, started(kind, pairing) as app:
        code = app.wait_line(CODE)[1]
        assert json.loads(pairing.read_text()) == first  # it may have been another gateway
        assert agent.value(CLAIM, code=code)["app_id"] == "depot"
        works(agent)
        app.wait_line("claimed by claude")
        assert json.loads(pairing.read_text())["sessionId"] != first["sessionId"]


def test_a_session_past_its_time_is_claimed_anew(tmp_path: Path) -> None:
    pairing = tmp_path / "pairing.json"
    with gateway(env={"TESSERON_RESUME_TTL_MS": "1"}) as (url, _), AgentProcess(url) as agent:
        codes = []
        for _ in range(2):
            with started("ws", pairing) as app:
                codes.append(app.wait_line(CODE)[1])
                agent.value(CLAIM, code=codes[-1])
                works(agent)
                app.kill()
            agent.tools_until(lambda tools: TOOL not in tools)
        assert codes[0] != codes[1]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1, "appId": "depot", "sessionId": 7}'])
def test_a_pairing_that_cannot_be_read_is_none(content: str, tmp_path: Path) -> None:
    pairing = tmp_path / "pairing.json"
    pairing.write_text(content)
    with started("ws", pairing) as app:
        assert app.wait_line(CODE)


def test_field_96_an_app_that_comes_back_without_its_pairing_is_recovered_by_its_agent(traces: Traces) -> None:
    with gateway() as (url, _), AgentProcess(url) as agent, AgentProcess(url, "codex") as other:
        with running_app("--plain") as app:
            agent.value(CLAIM, code=app.wait_line(CODE)[1])
            works(agent)
            app.kill()
        agent.tools_until(lambda tools: TOOL not in tools)
        code, message = agent.failure(TOOL, text="?")
        assert (code, "The depot" in message, CLAIM in message) == (-32009, True, True)
        with running_app("--plain") as app:
            shown = app.wait_line(CODE)[1]
            code, message = agent.failure(TOOL, text="?")
            assert (code, shown in message) == (-32009, True)
            (entry,) = other.value(PENDING)
            assert entry["code"] == shown  # another session of the principal that held the app
            agent.value(CLAIM, code=shown)
            works(agent)
