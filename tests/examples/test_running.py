"""The examples that run by themselves, each in a process of its own: found or dialled, claimed, lost and resumed."""

from __future__ import annotations

import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ..product.house import CLAIM, PENDING, AgentProcess, gateway
from ..product.processes import Server, environment

CODE = r"claim the Tesseron session (\S+)"


@contextmanager
def example(name: str, *arguments: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    """The example's process; its lines are those of both its outputs. It is ended with Ctrl-C."""
    command = ["sh", "-c", 'exec "$0" "$@" >&2', sys.executable, f"examples/{name}.py", *arguments]
    with Server(command, env) as server:
        yield server
        if server.process.poll() is None:
            server.end(signal.SIGINT)


def confirmed(agent: AgentProcess, tool: str, how: str, **arguments: object) -> object:
    """What a call gives whose question is answered like this."""
    call = agent.begin(tool, **arguments)
    agent.answer(agent.prompt(), how)
    result = agent.result(call)
    assert not result["is_error"], result
    return result["text"]


def test_the_printer_listens_and_says_who_has_it() -> None:
    with example("printer") as printer:
        with gateway() as (url, _), AgentProcess(url) as agent:
            agent.value(CLAIM, code=printer.wait_line(CODE)[1])
            printer.wait_line("claimed by claude")
            assert agent.value("printer__print_labels", text="tea", copies=2)
            assert confirmed(agent, "printer__print_labels", "yes", text="mug", copies=300)
            assert confirmed(agent, "printer__empty_queue", "decline") == "0"
            assert int(str(confirmed(agent, "printer__empty_queue", "yes"))) > 100
        printer.wait_line("the gateway has left")
        shown = printer.said
        with gateway() as (url, _), AgentProcess(url) as agent:
            # Another gateway does not know the session: the printer shows a code of that one.
            agent.value(CLAIM, code=printer.wait_line(CODE, shown)[1])
            assert agent.value("printer__print_labels", text="tea", copies=1) == "1"


def test_the_backup_service_stays_with_its_agent_over_a_restart(tmp_path: Path) -> None:
    source, env = tmp_path / "letters", {"BACKUP_HOME": str(tmp_path / "backup")}
    source.mkdir()
    (source / "letter.txt").write_text("Dear reader")
    with gateway() as (url, _), AgentProcess(url) as agent:
        with example("backup", env=env) as service:
            agent.value(CLAIM, code=service.wait_line(CODE)[1])
            name = agent.value("backup__back_up", directory=str(source))
            assert (tmp_path / "backup" / "kept" / name / "letter.txt").read_text() == "Dear reader"
            assert ((tmp_path / "backup" / "pairing.json").stat().st_mode & 0o777) == 0o600
        agent.tools_until(lambda tools: "backup__prune" not in tools)
        with example("backup", env=env) as service:
            service.wait_line("resumed with claude")
            agent.tools_until(lambda tools: "backup__prune" in tools)
            second = agent.value("backup__back_up", directory=str(source))
            assert confirmed(agent, "backup__prune", "decline", keep=1) == '{"cancelled":true}'
            assert confirmed(agent, "backup__prune", "yes", keep=1) == f'["{second}"]'
            assert "claim the Tesseron session" not in service.errors


def test_a_job_in_a_container_dials_with_what_it_is_given(tmp_path: Path) -> None:
    token = {"TESSERON_TOKEN": "s3cret"}
    with gateway(env=token) as (url, _), AgentProcess(url, token="s3cret") as agent:
        origin = url.removesuffix("/mcp")
        # Of the gateway's `~/.tesseron` a container has nothing.
        container = {"TESSERON_HOME": str(tmp_path / "container"), **token}
        with example("dial_out", origin, env=container) as job:
            code = job.wait_line(CODE)[1]
            assert [entry["app_name"] for entry in agent.value(PENDING)] == ["A long job"]
            agent.value(CLAIM, code=code)
            assert confirmed(agent, "job__stop", "decline") == "The job goes on."
            assert re.fullmatch(r"The job was stopped after \d+ steps\.", str(confirmed(agent, "job__stop", "yes")))
            assert job.end(None) < 10
        assert not (tmp_path / "container").exists()


def test_without_the_token_a_job_in_a_container_gets_nowhere(tmp_path: Path) -> None:
    with gateway(env={"TESSERON_TOKEN": "s3cret"}) as (url, _):
        origin = url.removesuffix("/mcp")
        for token, says in (
            ({}, "give the token of one that is elsewhere"),
            ({"TESSERON_TOKEN": "guess"}, "wants another token"),
        ):
            env = {**environment(), "TESSERON_HOME": str(tmp_path / "container"), **token}
            with (
                pytest.raises(AssertionError, match=f"ConnectionError: .*{says}"),
                Server([sys.executable, "examples/dial_out.py", origin], env) as job,
            ):
                job.end(None)


def test_the_guest_book_serves_pages_and_agents_from_threads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with example("guest_book", str(port)) as book, gateway() as (url, _), AgentProcess(url) as agent:
        book.wait_line("Pages at")
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as page:
            found = re.search(CODE, page.get("/agent").text)
            assert found is not None
            agent.value(CLAIM, code=found[1])
            assert agent.value("guests__write_entry", text="Hello") == "3"
            assert page.get("/").text.splitlines()[-1] == "Hello"
            assert confirmed(agent, "guests__remove_entry", "decline", number=2)
            assert "watches" in page.get("/").text
            # The pages go on while the person makes up their mind.
            call = agent.begin("guests__remove_entry", number=2)
            prompt = agent.prompt()
            assert "watches" in page.get("/").text
            agent.answer(prompt, "yes")
            assert not agent.result(call)["is_error"]
            assert "watches" not in page.get("/").text
            assert page.get("/agent").text == "claude has the guest book.\n"
            assert agent.failure("guests__remove_entry", number=9) == (-32005, "There are 2 entries")
            assert page.get("/none").status_code == 404
