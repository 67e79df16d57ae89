"""The library's own host: what it refuses to start with, and the corners of fixtures that scenarios do not reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tesseron_py.errors import InternalError, InvalidInput, RegistrationError
from tesseron_py.host.host import Host
from tesseron_py.testing import ActionFailed, Agent, accept, conformance_host
from tesseron_py.testing.fixture_app import FixtureApp, FixtureError


def host(fixture: str | None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The host, whose stdin is closed from the beginning."""
    env = {**os.environ, **environment}
    env.pop("TESSERON_CONFORMANCE_FIXTURE", None)
    if fixture is not None:
        env["TESSERON_CONFORMANCE_FIXTURE"] = fixture
    return subprocess.run(
        [sys.executable, "-m", "tesseron_py.testing.conformance_host"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=env,
        timeout=30,
        check=False,
    )


def test_a_host_serves_until_its_stdin_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    left: list[int] = []
    monkeypatch.setenv("TESSERON_CONFORMANCE_FIXTURE", written(tmp_path, {"fixture": {}}))
    monkeypatch.setattr(conformance_host, "leave_now", left.append)
    reader, writer = os.pipe()
    os.write(writer, b"what it is told is nothing\n")
    os.close(writer)
    stdin = os.dup(0)
    try:
        os.dup2(reader, 0)
        assert conformance_host.main() == 0
        assert left == []
        monkeypatch.setattr(Host, "stubborn", 1)
        assert conformance_host.main() == 0
        assert left == [0]
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
        os.close(reader)
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("tesseron-conformance-url=ws://127.0.0.1:") for line in lines)


def written(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "x.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "TESSERON_CONFORMANCE_FIXTURE does not name a scenario's file"),
        ("{", "cannot be read"),
        ([], "is no object with a fixture"),
        ({"fixture": []}, "is no object with a fixture"),
        ({"fixture": {"actions": [{"name": "a b"}]}}, "is no name for an action"),
        ({"fixture": {"actions": [{"name": "a", "inputSchema": {"type": "objekt"}}]}}, "is no JSON Schema"),
    ],
)
def test_a_host_without_a_usable_fixture_says_so(tmp_path: Path, content: Any, says: str) -> None:
    done = host(written(tmp_path, content) if content is not None else None)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_host_keeps_out_of_the_way_of_this_machines_gateways(tmp_path: Path) -> None:
    fixture, home = written(tmp_path, {"fixture": {}}), tmp_path / "home"
    home.mkdir()
    environment = {"HOME": str(home), "TMPDIR": str(tmp_path), "TESSERON_HOME": ""}
    done = host(fixture, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tesseron-conformance-url=ws://127.0.0.1:")
    assert done.stdout.count("\n") == 1
    assert list(home.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "x.json"]


async def test_an_input_may_be_anything_or_what_a_schema_says_whose_root_is_no_object() -> None:
    actions = [{"name": "any"}, {"name": "list", "inputSchema": {"type": "array", "items": {"type": "integer"}}}]
    async with anyio.create_task_group() as group:
        app = FixtureApp({"actions": actions}, group).build()
        free, listed = app.actions["any"], app.actions["list"]
        assert free.input_schema == {"type": "object"}
        assert listed.input_schema == actions[1]["inputSchema"]
        for value in (None, 5, "x", [1], {"a": 1}):
            assert await free.signature.bind(value).call(free.fn, None) is None
        listed.signature.bind([1, 2])
        with pytest.raises(InvalidInput) as error:
            listed.signature.bind([1, "x", "y"])
        assert [issue["path"] for issue in error.value.data] == [[1], [2]]


async def test_a_handler_that_is_not_to_be_called_says_that_it_was() -> None:
    async with anyio.create_task_group() as group:
        app = FixtureApp({"actions": [{"name": "never", "assertHandlerNotCalled": True}]}, group).build()
        async with Agent(app) as agent:
            with pytest.raises(ActionFailed, match="the handler of 'never' was called") as error:
                await agent.call("never")
            assert error.value.code == InternalError().code


async def test_an_action_goes_on_after_its_questions_unless_it_gives_back_their_answers() -> None:
    question = {"question": "Which?", "jsonSchema": {"type": "object", "properties": {}}}
    asks = {"confirms": "Sure?", "elicits": question, "samples": {"prompt": "Say hi"}, "returns": "~fill:2"}
    actions = [
        {"name": "returns", **asks},
        {"name": "fails", **asks, "raises": {"message": "no", "data": 1}},
        {"name": "quick", "blocksUntilCancelled": True, "timeoutMs": 10, "returns": 1},
    ]
    actions.append({"name": "null", "elicits": {"question": "?", "jsonSchema": None}})
    async with anyio.create_task_group() as group:
        app = FixtureApp({"actions": actions}, group).build()
        async with Agent(app, answers=lambda prompt: accept({}), sampling=str.upper) as agent:
            assert await agent.call("returns") == "xx"
            assert [asked.question for asked in agent.questions] == ["Sure?", "Which?"]
            with pytest.raises(ActionFailed, match="no"):
                await agent.call("fails")
            with pytest.raises(ActionFailed, match="did not end"):
                await agent.call("quick")
            with pytest.raises(ActionFailed, match="a form's schema is a JSON object, not null"):
                await agent.call("null")


async def test_without_jsonschema_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema.validators", None)
    async with anyio.create_task_group() as group:
        fixture = {"actions": [{"name": "add", "inputSchema": {"type": "object"}}]}
        with pytest.raises(FixtureError, match=r'pip install "tesseron-py\[conformance\]"'):
            FixtureApp(fixture, group).build()


async def test_a_name_that_is_none_is_refused() -> None:
    async with anyio.create_task_group() as group:
        with pytest.raises(RegistrationError):
            FixtureApp({"actions": [{"name": "a.b"}]}, group).build()
