"""More than one of something on one machine: gateways, agents, users, instances of an app, and apps by the hundred."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from .house import CLAIM, CODE, PENDING, AgentProcess, Traces, gateway, running_app
from .processes import Server

TOOL = "depot__echo"


@pytest.fixture
def traces(tesseron_home: Path) -> Traces:
    """What is left in this test's `~/.tesseron`."""
    return Traces(tesseron_home)


def asked_at_once(agents: Sequence[AgentProcess], answers: Sequence[str], *, times: int = 5) -> list[set[str]]:
    """What comes of calls that all agents make at the same time and all persons answer, each in their own way.

    A question that reaches the wrong person, or an answer the wrong call, is seen in it.
    """
    calls = [[agent.begin("depot__outcome", how="confirm", tag="") for _ in range(times)] for agent in agents]
    prompts = [[agent.prompt() for _ in range(times)] for agent in agents]
    assert [agent.heard("prompt") for agent in agents] == [[]] * len(agents)
    for asked in zip(*prompts, strict=True):
        for agent, prompt, answer in zip(agents, asked, answers, strict=True):
            agent.answer(prompt, answer)
    return [{agent.result(call)["text"] for call in begun} for agent, begun in zip(agents, calls, strict=True)]


@pytest.mark.parametrize("binding", ["ws", "uds"])
def test_field_93_with_two_gateways_the_paste_decides(binding: str, traces: Traces) -> None:
    options = ["--uds"] if binding == "uds" else []
    with (
        gateway() as (one, _),
        gateway() as (two, _),
        running_app(*options) as app,
        AgentProcess(one) as here,
        AgentProcess(two, "codex") as there,
    ):
        code = app.wait_line(CODE)[1]
        for agent in (here, there):
            assert [entry["app_name"] for entry in agent.value(PENDING)] == ["The depot"]
        # Both paste it in the same breath. One of them gets the app, the other is told.
        claims = [(agent, agent.begin(CLAIM, code=code)) for agent in (here, there)]
        results = [(agent, agent.result(call)) for agent, call in claims]
        ((winner, won),) = [(agent, result) for agent, result in results if not result["is_error"]]
        ((loser, lost),) = [(agent, result) for agent, result in results if result["is_error"]]
        assert "depot" in won["text"]
        assert lost["structured"] == {"code": -32009}
        assert "The depot" in lost["text"]
        assert code not in lost["text"]
        assert winner.value(TOOL, text="mine") == "mine"
        assert TOOL not in loser.tools()
        name = "claude" if winner is here else "codex"
        app.wait_line(f"claimed by {name}")
        (manifest,) = traces.manifests()
        assert manifest["hostMintedClaim"]["boundAgent"]["name"] == name
        traces.until(lambda: loser.value(PENDING) == [])


def test_field_94_a_code_pasted_at_the_wrong_gateway_names_the_right_one(traces: Traces) -> None:
    with (
        gateway() as (one, first),
        gateway() as (two, second),
        running_app("--plain") as app,
        AgentProcess(one) as here,
        AgentProcess(two, "codex") as there,
    ):
        code = app.wait_line(CODE)[1]
        traces.until(lambda: traces.breadcrumbs() == [code])
        got = {
            process.process.pid: [entry["app_name"] for entry in agent.value(PENDING)]
            for agent, process in ((here, first), (there, second))
        }
        (owner,) = [pid for pid, names in got.items() if names]
        right, wrong = (here, there) if owner == first.process.pid else (there, here)
        failed, message = wrong.failure(CLAIM, code=code)
        assert failed == -32009
        assert "'The depot'" in message
        assert f"process {owner}" in message
        assert right.value(CLAIM, code=code)["app_id"] == "depot"
        assert right.value(TOOL, text="mine") == "mine"
        assert TOOL not in wrong.tools()
        assert traces.breadcrumbs() == []


def test_field_92_an_app_restarted_on_its_port_has_a_new_code(traces: Traces) -> None:
    with gateway() as (url, _), ExitStack() as stack:
        agent = stack.enter_context(AgentProcess(url))
        codes = []
        with running_app() as app:
            port = app.wait_line(r"ws://127.0.0.1:(\d+)/")[1]
            app.end(signal.SIGTERM)
        for _ in range(3):
            with running_app("--port", port) as app:
                codes.append(app.wait_line(CODE)[1])
                assert agent.value(CLAIM, code=codes[-1].lower())["app_id"] == "depot"
                assert agent.value(TOOL, text=codes[-1]) == codes[-1]
                assert agent.tools().count(TOOL) == 1
                app.kill()
            agent.tools_until(lambda tools: TOOL not in tools)
            assert agent.failure(CLAIM, code=codes[-1])[0] == -32009
        assert len(set(codes)) == 3
        traces.until(lambda: traces.manifests() == [])


# Whose prompt it is


def test_field_50_two_agents_of_one_principal_are_asked_each_about_its_own_calls() -> None:
    with gateway() as (url, _), running_app() as app, AgentProcess(url) as one, AgentProcess(url, "codex") as two:
        one.value(CLAIM, code=app.wait_line(CODE)[1])
        two.tools_until(lambda tools: TOOL in tools)
        assert asked_at_once([one, two], ["yes", "decline"]) == [{"True"}, {"False"}]


def test_field_50_the_persons_at_two_gateways_are_asked_each_about_their_own_app() -> None:
    with (
        gateway() as (here, _),
        gateway() as (there, _),
        running_app() as first,
        running_app("--uds") as second,
        AgentProcess(here) as one,
        AgentProcess(there, "codex") as two,
    ):
        one.value(CLAIM, code=first.wait_line(CODE)[1])
        two.value(CLAIM, code=second.wait_line(CODE)[1])
        assert asked_at_once([one, two], ["no", "yes"]) == [{"False"}, {"True"}]


def test_field_50_two_users_have_nothing_of_each_other(tmp_path: Path) -> None:
    with ExitStack() as stack:
        agents: list[AgentProcess] = []
        urls: list[str] = []
        for user in ("ann", "bob"):
            env = {"TESSERON_HOME": str(tmp_path / user), "TESSERON_TOKEN": f"token-of-{user}"}
            url, _ = stack.enter_context(gateway(env=env))
            app = stack.enter_context(running_app(env=env))
            agent = stack.enter_context(AgentProcess(url, user, f"token-of-{user}"))
            agent.value(CLAIM, code=app.wait_line(CODE)[1])
            agents.append(agent)
            urls.append(url)
        ann, bob = agents
        assert ann.value(PENDING) == bob.value(PENDING) == []
        assert asked_at_once([ann, bob], ["yes", "cancel"]) == [{"True"}, {"False"}]
        with pytest.raises(AssertionError, match="bearer token"), AgentProcess(urls[0], "bob", "token-of-bob"):
            raise RuntimeError("bob got in")


# Two hundred apps

COUNT = 200


def test_two_hundred_apps_on_one_gateway(traces: Traces, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    command, env = [sys.executable, "-m", "tests.product.crowd", str(COUNT)], {"TMPDIR": str(tmp_path)}
    with Server(command, env) as crowd, gateway() as (url, process):
        began = time.monotonic()
        codes = {f"app_{number}": crowd.wait_line(rf"app_{number} waits with (\S+)")[1] for number in range(COUNT)}
        assert len(set(codes.values())) == COUNT
        with AgentProcess(url) as agent:
            names = sorted(entry["app_name"] for entry in agent.value(PENDING))
            assert names == sorted(f"App {number}" for number in range(COUNT))
            said.append(f"all waiting after {time.monotonic() - began:.2f} s")
            chosen = random.sample(range(COUNT), 12)
            for number in chosen:
                began = time.monotonic()
                assert agent.value(CLAIM, code=codes[f"app_{number}"])["app_id"] == f"app_{number}"
                agent.tools_until(lambda tools, app=f"app_{number}": f"{app}__who" in tools)
                claimed = time.monotonic()
                assert agent.value(f"app_{number}__who") == str(number)
                said.append(f"app {number}: claimed and listed in {claimed - began:.3f} s, called in ")
                said[-1] += f"{time.monotonic() - claimed:.3f} s"
            # All of them ask at once.
            calls = {number: agent.begin(f"app_{number}__sure") for number in chosen}
            prompts = {prompt["call"]: prompt for prompt in (agent.prompt() for _ in chosen)}
            for number in chosen:
                prompt = prompts[f"app_{number}__sure"]
                assert prompt["message"] == f"Is it {number}?"
                agent.answer(prompt, "yes" if number % 2 else "no")
            for number, call in calls.items():
                assert agent.result(call)["text"] == ("true" if number % 2 else "false")
            assert len(agent.value(PENDING)) == COUNT - 12
            crowd.kill()
            agent.tools_until(lambda tools: not any(tool.startswith("app_") for tool in tools))
            traces.until(lambda: traces.manifests() == [] and traces.breadcrumbs() == [])
        memory = psutil.Process(process.process.pid).memory_info().rss / 2**20
    with capsys.disabled():
        print(f"\n{COUNT} apps; the gateway has {memory:.0f} MB", *said, sep="\n  ")
    assert memory < 200
