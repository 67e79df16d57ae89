"""Reading a scenario's file: what it may say, and that nothing else is passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tesseron_py.testing import conformance
from tesseron_py.testing.conformance.scenario import (
    Opening,
    Reconnect,
    RefusesBind,
    ScenarioError,
    Send,
    Step,
    find_scenarios,
    load_scenario,
)

from .playing import scenario


def test_a_step_has_its_options(tmp_path: Path) -> None:
    steps = [
        {"recv": {}, "label": "a", "notBefore": "b", "timeoutMs": 150, "note": "why"},
        {"send": "x", "raw": True, "binary": True},
        {"reconnect": {"bindCode": "AB", "expect": {"bindErrorCode": -1, "closes": False}}},
    ]
    read = scenario(tmp_path, steps, ["uds", "resume"], title="T")
    assert (read.id, read.title, read.requires, read.binding) == ("a/b", "T", ("uds", "resume"), "uds")
    first, second, third = read.steps
    assert (first.number, first.timeout, first.label, first.not_before) == (1, 0.15, "a", "b")
    assert str(first) == "step 1 (recv, 'a')"
    assert second == Step(2, "send", Send("x", binary=True))
    assert third.action == Reconnect(Opening("AB", RefusesBind(-1, closes=False)))
    assert scenario(tmp_path, steps[:1]).binding == "ws"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ([], "step 1 is not an object"),
        ({}, "step 1 is 0 steps; a step is one of recv, recvAll, send"),
        ({"recv": {}, "send": {}}, "step 1 is 2 steps"),
        ({"recv": {}, "notbefore": "x"}, "step 1 has the unknown 'notbefore'"),
        ({"receive": {}}, "step 1 has the unknown 'receive'"),
        ({"recv": None}, "step 1 (recv): it has no frame to compare with"),
        ({"recvAll": {}}, "it takes a list of frames"),
        ({"recvAll": []}, "it takes a list of frames"),
        ({"recv": {}, "timeoutMs": "1"}, "timeoutMs is a number of milliseconds"),
        ({"recv": {}, "timeoutMs": True}, "timeoutMs is a number of milliseconds"),
        ({"recv": {}, "timeoutMs": -1}, "timeoutMs is a number of milliseconds"),
        ({"recv": {}, "label": 5}, "'label' is a string"),
        ({"recv": {}, "raw": True}, "'raw' is true or false, and goes with a send"),
        ({"send": {}, "binary": 1}, "'binary' is true or false"),
        ({"send": "text"}, 'a frame is an object; anything else is sent with "raw": true'),
        ({"connect": True}, "it takes an object, not True"),
        ({"connect": {"code": "x"}}, "there is no 'code'; known are bindCode"),
        ({"connect": {"bindCode": 5}}, "'bindCode' is a string"),
        ({"connect": {"expect": "closed"}}, '"expect" is "open"'),
        ({"connect": {"expect": {"upgradeStatus": "403"}}}, '"expect" is "open"'),
        ({"connect": {"expect": {"upgradeStatus": 403, "x": 1}}}, '"expect" is "open"'),
        ({"connect": {"expect": {"bindErrorCode": 1, "close": True}}}, '"expect" is "open"'),
        ({"connect": {"expect": {"bindErrorCode": 1, "closes": "yes"}}}, '"expect" is "open"'),
        ({"connect": {"expect": {"closes": False}}}, '"expect" is "open"'),
        ({"connect": {"subprotocols": "a"}}, '"subprotocols" is a list of strings'),
        ({"connect": {"headers": {"a": 1}}}, '"headers" is an object of strings'),
        ({"connect": {"to": "elsewhere"}}, '"to" is "manifest"'),
        ({"reconnect": False}, "it takes an object, not False"),
        ({"dropTransport": False}, "it takes an object"),
        ({"dropTransport": {}}, '"code" is a number'),
        ({"expectClosed": {"code": True}}, '"code" is a number'),
        ({"expectSilence": {"method": 5}}, "'method' is a string"),
        ({"expectSilence": "x"}, "it takes an object"),
        ({"expectFileMode": {"target": "file", "mode": "0600"}}, '"target" is parent, socket'),
        ({"expectFileMode": {"target": "socket", "mode": 600}}, '"mode" is written like "0600"'),
        ({"expectFileMode": {"target": "socket", "mode": "0888"}}, '"mode" is written like "0600"'),
        ({"expectManifest": True}, "it takes an object to compare with"),
        ({"stopHost": {"signal": "SIGSTOP"}}, '"signal" is SIGINT, SIGTERM or SIGKILL'),
    ],
)
def test_what_is_not_understood_is_an_error(tmp_path: Path, step: Any, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(tmp_path, [step])
    assert says in str(error.value)
    assert str(tmp_path / "scenario.json") in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no JSON"),
        ("\ud800".encode("utf-8", "surrogatepass"), "is no JSON"),
        ("[]", "a scenario is an object"),
        ("{}", 'it has no "steps"'),
        ('{"steps": []}', 'it has no "steps"'),
        ('{"id": 5, "steps": [{"recv": {}}]}', 'its "id" is not a string'),
        ('{"requires": "uds", "steps": [{"recv": {}}]}', 'its "requires" is not a list'),
        ('{"requires": [1], "steps": [{"recv": {}}]}', 'its "requires" is not a list'),
    ],
)
def test_a_file_that_is_no_scenario_is_an_error(tmp_path: Path, text: str | bytes, says: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError) as error:
        load_scenario(path)
    assert says in str(error.value)


def test_files_are_found_below_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there are no scenarios"):
        find_scenarios(tmp_path)
    (tmp_path / "b").mkdir()
    for name in ("b/z.json", "a.json", "b/notes.md"):
        (tmp_path / name).write_text(json.dumps({"steps": [{"recv": {}}]}))
    assert find_scenarios(tmp_path) == [tmp_path / "a.json", tmp_path / "b/z.json"]
    assert find_scenarios(tmp_path / "a.json") == [tmp_path / "a.json"]
    assert load_scenario(tmp_path / "a.json").id == "a"
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        load_scenario(tmp_path / "none.json")


def test_the_library_exports_what_it_names() -> None:
    for name in conformance.__all__:
        assert getattr(conformance, name) is not None
    assert sorted(conformance.__all__) == dir(conformance)
    with pytest.raises(AttributeError, match="nothing"):
        conformance.nothing  # type: ignore[attr-defined]  # noqa: B018
