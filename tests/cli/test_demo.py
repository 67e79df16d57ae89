"""`tesseron-py demo`: the story at a terminal, without one, and with given answers."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tesseron_py.cli import demo, person

CODE = re.compile(r"(?<=session )[A-Z0-9]{4}-[A-Z0-9]{2}\b")
COMMAND = [sys.executable, "-m", "tesseron_py", "demo"]


def tell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )


class Terminal:
    """A person at a pseudo-terminal."""

    def __init__(self) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:  # pragma: no cover
            os.execv(COMMAND[0], COMMAND)
        self.shown = ""
        self.code = ""

    def wait_for(self, text: str) -> None:
        """Read until the program shows `text` after all that was waited for before."""
        deadline = time.monotonic() + 20
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            self.shown += os.read(self.descriptor, 65536).decode("utf-8", "replace")
        before, self.shown = self.shown.split(text, 1)
        if code := CODE.search(before):
            self.code = code[0]

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def give_code(self) -> None:
        """Read the code that is shown, and type it as a person might."""
        self.wait_for("Tell your agent: ")
        self.wait_for("type the code, for the agent: ")
        self.type(f"{self.code.lower()}\n")
        self.wait_for("connected to 'Todo list'")

    def end(self) -> tuple[str, int]:
        """The rest of what is shown, and the exit code."""
        try:
            while piece := os.read(self.descriptor, 65536):
                self.shown += piece.decode("utf-8", "replace")
        except OSError:  # the other end of a terminal is gone
            pass
        os.close(self.descriptor)
        return self.shown, os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_without_a_terminal_the_story_is_told_with_accept_and_with_decline() -> None:
    told = tell()
    assert told.returncode == 0
    assert told.stderr == ""
    accepted, declined = told.stdout.split("──── The person says decline ────")
    for story in (accepted, declined):
        assert "listens on ws://127.0.0.1:" in story
        code = CODE.search(story)
        assert code is not None
        assert f"gives the agent the code {code[0]}" in story
        assert "the agent sees" in story
        assert "calls import_todos" in story
        assert "100 %  added 'read the post'" in story
        assert "Remove 5 completed todos?" in story
        assert "Where does 'read the post' go?" in story
    assert "→ 5 todos are gone." in accepted
    assert '"project":"home"' in accepted
    assert "→ moved." in accepted
    assert '{"open":1,"done":0}' in accepted
    assert "→ Nothing was removed: there was no yes." in declined
    assert "→ nothing moved." in declined
    assert '{"open":1,"done":5}' in declined


@pytest.mark.parametrize(
    ("answers", "removed", "moved"),
    [("accept,decline", True, False), ("cancel, accept", False, True), ("", False, False), ("decline", False, False)],
)
def test_answers_can_be_given(answers: str, removed: bool, moved: bool) -> None:
    told = tell("--answers", answers)
    assert told.returncode == 0
    assert ("→ 5 todos are gone." in told.stdout) == removed
    assert ("→ moved." in told.stdout) == moved


def test_an_answer_that_is_none_is_refused() -> None:
    told = tell("--answers", "accept,maybe")
    assert told.returncode == 2
    assert "'maybe' is no answer; they are accept, decline and cancel" in told.stderr
    assert "Traceback" not in told.stderr


def test_at_a_terminal_the_person_is_asked_and_their_answer_counts() -> None:
    terminal = Terminal()
    terminal.give_code()
    terminal.wait_for("Remove 5 completed todos?")
    terminal.wait_for("[y/N] ")
    terminal.type("y\n")
    terminal.wait_for("→ 5 todos are gone.")
    terminal.wait_for("Project (home/work/someday; Enter: no) ")
    terminal.type("garden\n")
    terminal.wait_for("that does not fit")
    terminal.type("work\n")
    terminal.wait_for("Position (integer; Enter: default 1) ")
    terminal.type("100\n")
    terminal.wait_for("that does not fit")
    terminal.type("\n")
    terminal.wait_for('"project":"work"')
    shown, code = terminal.end()
    assert '{"open":1,"done":0}' in shown
    assert code == 0


@pytest.mark.parametrize("said", ["\n", "n\n", "maybe\n", "\x04"])
def test_at_a_terminal_anything_but_a_yes_is_none(said: str) -> None:
    terminal = Terminal()
    terminal.give_code()
    terminal.wait_for("[y/N] ")
    terminal.type(said)
    terminal.wait_for("→ Nothing was removed: there was no yes.")
    terminal.wait_for("Enter: no) ")
    terminal.type("\n")
    shown, code = terminal.end()
    assert "→ nothing moved." in shown
    assert code == 0


def test_a_wrong_code_is_refused_and_the_right_one_taken() -> None:
    terminal = Terminal()
    terminal.wait_for("type the code, for the agent: ")
    terminal.type("\n")
    terminal.wait_for("type the code, for the agent: ")
    terminal.type("hello\n")
    terminal.wait_for("A claim code looks like AB3X-7K")
    terminal.wait_for("type the code, for the agent: ")
    terminal.type("ZZZZ-ZZ\n")
    terminal.wait_for("No app on this machine has that claim code")
    terminal.wait_for("type the code, for the agent: ")
    terminal.type(f"{terminal.code}\n")
    terminal.wait_for("connected to 'Todo list'")
    terminal.wait_for("[y/N] ")
    terminal.type("\x03")
    assert terminal.end()[1] == 130


def test_without_its_code_the_story_ends() -> None:
    terminal = Terminal()
    terminal.wait_for("type the code, for the agent: ")
    terminal.type("\x04")
    shown, code = terminal.end()
    assert "error: without its claim code the app cannot be used" in shown
    assert "Traceback" not in shown
    assert code == 1


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    terminal = Terminal()
    terminal.give_code()
    terminal.wait_for("[y/N] ")
    terminal.type("\x03")
    shown, code = terminal.end()
    assert code == 130
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ({"type": "integer", "minimum": 1}, "2", 2),
        ({"type": "integer", "minimum": 1}, "0", None),
        ({"type": "integer"}, "2.5", None),
        ({"type": "number", "maximum": 3}, "2.5", 2.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "boolean"}, "perhaps", None),
        ({"type": "string"}, "text", "text"),
        ({"type": "string", "enum": ["a"]}, "b", None),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "a", "a"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "A", None),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a, b", ["a", "b"]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, "a", ["a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a, c", None),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_field(field: dict[str, object], typed: str, value: object) -> None:
    assert person._read(typed, field) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "number", "minimum": 2}, 2),
        ({"type": "boolean"}, True),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "a"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 2}, ["a", "b"]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": []}, []),
    ],
)
def test_a_scripted_yes_fills_in_the_first_thing_that_fits(field: dict[str, object], value: object) -> None:
    assert person._first(field) == value


def test_the_example_is_found_or_missed_clearly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert demo.todo_example().app.id == "todo"
    monkeypatch.setattr(demo, "__file__", str(tmp_path / "a" / "b" / "demo.py"))
    with pytest.raises(demo.Failure, match=r"examples/todo\.py"):
        demo.todo_example()
