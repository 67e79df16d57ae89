"""The answers a script queues: each question takes one, in order, and no question that shows nothing takes any."""

from __future__ import annotations

from typing import Any

import pytest

from tesseron_py.cli.scripted import QueuedAnswers, _complain, _show_log, _show_progress
from tesseron_py.invocation import Accept, Cancel, Decline
from tesseron_py.mcp.client import Log, Progress, Question

NO_YES = (
    '  note: this is no yes; a confirm, and a form without fields, is accepted with elicit-accept {"approve": true}'
)


async def test_questions_take_the_answers_in_order_and_then_are_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    answers = QueuedAnswers()
    for queued in (Accept({"qty": 7}), Decline(), Cancel("the script says so")):
        answers.put(queued)
    given = [await answers.answer(Question("Sure?", {})) for _ in range(4)]
    assert given[:2] == [Accept({"qty": 7}), Decline()]
    assert all(isinstance(answer, Cancel) for answer in given[2:])
    out, err = capsys.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if line.startswith("  ")] == [
        '  answered: accept {"qty":7}',
        "  answered: decline",
        "  answered: cancel",
        "  answered: cancel (no answer is queued)",
    ]


@pytest.mark.parametrize(
    ("schema", "content", "shown"),
    [
        ({"approve": {"type": "boolean"}}, {"approve": True}, []),
        (
            {"approve": {"type": "boolean"}},
            {},
            [NO_YES],
        ),
        (
            {"approve": {"type": "boolean"}},
            {"approve": "yes"},
            [NO_YES],
        ),
        (
            {"who": {"enum": ["ann", "bob"]}, "n": {"type": "integer"}},
            {"who": "ann"},
            ["  form: who (ann/bob), n (integer, optional)"],
        ),
        (
            {
                "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
                "with": {"type": "array", "items": {"enum": ["milk", "ice"]}},
                "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
                "free": {"type": "array"},
            },
            {"size": "s"},
            [
                "  form: size (s/l), with (list of milk/ice, optional), tags (list of a, optional), "
                "free (list, optional)"
            ],
        ),
        (
            {
                "day": {"type": "string", "format": "date"},
                "at": {"type": "string", "format": "date-time"},
                "mail": {"type": "string", "format": "email"},
                "page": {"type": "string", "format": "uri"},
                "odd": {"type": "string", "format": "shape"},
            },
            {"day": "2026-01-01"},
            [
                "  form: day (date like 2026-05-01), at (date-time like 2026-05-01T12:00:00Z, optional), "
                "mail (e-mail address, optional), page (URL, optional), odd (string, optional)"
            ],
        ),
        (
            {
                "a": {"type": "integer", "minimum": 0, "maximum": 3},
                "b": {"type": "number", "minimum": 1},
                "c": {"type": "integer", "maximum": 9},
            },
            {"a": 1},
            ["  form: a (integer from 0 to 3), b (number from 1, optional), c (integer up to 9, optional)"],
        ),
        (
            {"who": {"type": "string"}},
            {"value": "ann"},
            ["  form: who (string)", "  note: the answer has no who, which the form wants"],
        ),
    ],
)
async def test_a_form_is_shown_and_what_an_answer_lacks(
    schema: dict[str, Any], content: dict[str, Any], shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    answers = QueuedAnswers()
    answers.put(Accept(content))
    question = Question("Sure?", {"properties": schema, "required": [next(iter(schema))]})
    assert await answers.answer(question) == Accept(content)
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if not line.startswith(("? ", "  answered: "))] == shown


@pytest.mark.parametrize("message", ["", "  \n", "\u200b\u2060\ufeff", "\x1b\x07", "\u00a0\u3000"])
async def test_field_53_a_blank_question_is_cancelled_and_takes_no_answer(
    message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = QueuedAnswers()
    answers.put(Accept({}))
    assert isinstance(await answers.answer(Question(message, {})), Cancel)
    err = capsys.readouterr().err
    assert "  answered: cancel (the question is blank)\n" in err
    assert "\x1b" not in err
    assert await answers.answer(Question("?", {})) == Accept({})


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"message": "going", "count": 5}, 'going {"count":5}'),
        ({"message": "going"}, "going"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ({"count": 5}, '{"count":5}'),
        ({"message": {"a": 1}}, '{"a":1}'),
    ],
)
def test_what_an_action_logs_is_shown(data: Any, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    _show_log(Log("warning", data))
    assert capsys.readouterr() == ("", f"  log warning: {shown}\n")


def test_what_is_logged_and_cannot_be_printed_is_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    deep: list[Any] = []
    for _ in range(195):
        deep = [deep]
    _show_log(Log("info", {"message": "deep", "at": deep}))
    assert capsys.readouterr().err == "  log info: deep …\n"


def test_progress_is_shown_with_and_without_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    _show_progress(Progress("work", 30, 100))
    _show_progress(Progress("work", 40, 100, "so\nfar"))
    _show_progress(Progress("work", 3, None, "three"))
    _show_progress(Progress("work", 4))  # that the call is alive is all it says
    assert capsys.readouterr().err.splitlines() == [
        "  work: 30 of 100",
        r"  work: 40 of 100: so\nfar",
        "  work: 3: three",
    ]


def test_an_error_whose_data_cannot_be_printed_is_printed_without(capsys: pytest.CaptureFixture[str]) -> None:
    deep: list[Any] = []
    for _ in range(195):
        deep = [deep]
    _complain("@x", "it broke", -32005, deep)
    assert capsys.readouterr().err == "error: @x: it broke (-32005)\n"
