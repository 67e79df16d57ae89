"""Progress and log entries of a call, as notifications."""

from __future__ import annotations

import itertools
import json
from typing import Any

import mcp_schemas
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.invocation import Log, Note, Progress
from tesseron_py.mcp.notes import Notes


def told(notes: Notes, *entries: Note) -> list[dict[str, Any]]:
    """The params of the notifications for these notes, each valid in every revision."""
    texts = [notes.text(entry) for entry in entries]
    messages = [json.loads(text) for text in texts if text is not None]
    for message in messages:
        for version in mcp_schemas.VERSIONS:
            mcp_schemas.check(version, message)
    return [message["params"] for message in messages]


def with_token(token: str | int | None = "t", level: str | None = "info") -> Notes:
    return Notes(token, lambda: level, "fixture")


def test_progress_is_the_percentage_of_100() -> None:
    assert told(with_token(7), Progress(0), Progress(50, "half"), Progress(100.0, "done")) == [
        {"progressToken": 7, "progress": 0, "total": 100},
        {"progressToken": 7, "progress": 50, "total": 100, "message": "half"},
        {"progressToken": 7, "progress": 100, "total": 100, "message": "done"},
    ]


def test_field_68_without_a_token_there_is_no_progress() -> None:
    notes = with_token(None)
    assert told(notes, Progress(1), Progress(2, "x")) == []
    assert notes.beat() is None
    assert told(with_token(0), Progress(1))[0]["progressToken"] == 0
    assert told(with_token(""), Progress(1))[0]["progressToken"] == ""


def test_progress_that_does_not_rise_goes_out_for_its_message_alone() -> None:
    params = told(with_token(), Progress(50), Progress(50), Progress(20, "back"), Progress(50.0005), Progress(51))
    assert [(entry["progress"], entry.get("message")) for entry in params] == [(50, None), (50.001, "back"), (51, None)]


def test_progress_without_a_value_goes_out_for_its_message_alone() -> None:
    params = told(
        with_token(), Progress(), Progress(None, "a"), Progress(float("nan"), "b"), Progress(data=1), Progress(5)
    )
    assert [(entry["progress"], entry.get("message")) for entry in params] == [(0.001, "a"), (0.002, "b"), (5, None)]


def test_a_beat_rises_by_a_thousandth() -> None:
    notes = with_token()
    assert [json.loads(notes.beat() or "")["params"]["progress"] for _ in range(3)] == [0.001, 0.002, 0.003]
    assert told(notes, Progress(40))[0]["progress"] == 40
    assert json.loads(notes.beat() or "")["params"]["progress"] == 40.001


steps = st.none() | st.floats(0, 100) | st.integers(0, 100) | st.just(float("nan"))


@given(st.lists(st.tuples(steps, st.none() | st.text(max_size=3), st.booleans())))
def test_progress_always_rises_and_loses_no_message(entries: list[tuple[float | None, str | None, bool]]) -> None:
    notes = with_token()
    sent: list[dict[str, Any]] = []
    for percent, message, beat in entries:
        sent += told(notes, Progress(percent, message))
        if beat:
            sent.append(json.loads(notes.beat() or "")["params"])
    values = [entry["progress"] for entry in sent]
    assert all(before < after for before, after in itertools.pairwise(values))
    assert [entry["message"] for entry in sent if "message" in entry] == [m for _, m, _ in entries if m]


def test_levels_are_mcps_and_below_the_clients_nothing_is_told() -> None:
    entries = [Log(level, "x") for level in ("debug", "info", "warn", "error", "odd")]
    assert [p["level"] for p in told(with_token(level="debug"), *entries)] == [
        "debug", "info", "warning", "error", "info",
    ]  # fmt: skip
    assert [p["level"] for p in told(with_token(level="notice"), *entries)] == ["warning", "error"]
    assert told(with_token(level="emergency"), *entries) == []
    assert told(with_token(level=None), *entries) == []


def test_an_entry_is_its_message_or_an_object_with_what_goes_along() -> None:
    notes = with_token()
    assert told(notes, Log("info", "x"))[0] == {"level": "info", "logger": "fixture", "data": "x"}
    assert told(notes, Log("info", "x", {}))[0]["data"] == "x"
    assert told(notes, Log("info", "x", {"user": 1, "message": "y"}))[0]["data"] == {"user": 1, "message": "x"}
    assert told(notes, Log("info", "x", [1]))[0]["data"] == {"message": "x", "meta": [1]}
    assert told(notes, Log("info", "x", {"odd": object()}))[0]["data"] == "x"
