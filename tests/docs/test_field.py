"""What people ran into and a page has to say: each statement is there, where a reader looks for it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tesseron_py import Limits
from tesseron_py.cli.main import COMMANDS
from tesseron_py.invocation import QUESTION_DEADLINE

from .blocks import ROOT

DOCS = ROOT / "docs"
PACKAGE = ROOT / "tesseron_py"


def says(page: str, *words: str) -> str:
    """The paragraph, list entry or row of a page that has all these words, whatever its lines and marks."""
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = re.split(r"\n\s*\n|\n(?=- |\| )", text)
    plain = [re.sub(r"[\s*`]+", " ", part) for part in parts]
    found = [part for part in plain if all(word.lower() in part.lower() for word in words)]
    assert found, f"{page} has nothing about {words}"
    return found[0]


def test_field_10_the_page_tells_of_dead_forms_the_way_out_and_the_time_a_question_has() -> None:
    says("asking.md", "some clients cannot submit an empty form", "hangs", "--confirm-form empty")
    says("asking.md", "required", "without a default")
    says("asking.md", "questions wait at most 30 minutes", "dismissed", "Limits(question=")
    assert Limits().question == QUESTION_DEADLINE == 30 * 60
    assert {"mcp", "gateway"} <= COMMANDS.keys()
    assert (DOCS / "command-line.md").read_text(encoding="utf-8").count("--confirm-form {approve,empty}") == 2


def test_field_35_the_page_says_that_a_choice_outside_is_an_error() -> None:
    says("asking.md", "outside the choices", "is an error", "not the default", "widest")
    says("asking.md", "default", "not looking", "careful")


def test_field_39_the_page_says_that_clients_decline_by_themselves() -> None:
    says("asking.md", "clients decline by themselves", "does not prove that a person looks", "do not write", "refused")


CLAIM = re.compile(
    r"\b(person|user|human|somebody)\b[^.;:]{0,40}\b(refused|declined|rejected|denied|said no|was asked)\b",
    re.IGNORECASE,
)


def texts(path: Path) -> list[str]:
    """The strings of a module that are no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_field_39_no_text_of_ours_says_that_a_person_refused(path: Path) -> None:
    assert [text for text in texts(path) if CLAIM.search(text)] == []


def test_field_79_the_pages_say_what_is_different_on_windows() -> None:
    says("security.md", "Windows", "chmod")
    says("bindings.md", "Unix socket", "Windows has none")
    says("bindings.md", "Windows", "modes mean nothing", "profile directory")


def test_field_101_the_page_says_that_a_parameter_is_no_yes() -> None:
    says("asking.md", "model may pass confirm=true", "filled in by the model", "only ctx.confirm", "asks a person")
    says("asking.md", "a no is final", "asked again")
