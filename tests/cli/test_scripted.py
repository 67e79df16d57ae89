"""The answers a script queues: each question takes one, in order, and no question that shows nothing takes any."""

from __future__ import annotations

from typing import Any

import pytest

from tesseron_py.cli.scripted import QueuedAnswers, _complain
from tesseron_py.invocation import Accept, Cancel, Decline
from tesseron_py.mcp.client import Question


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
            ['  note: this is no yes; a yes is elicit-accept {"approve": true}'],
        ),
        (
            {"approve": {"type": "boolean"}},
            {"approve": "yes"},
            ['  note: this is no yes; a yes is elicit-accept {"approve": true}'],
        ),
        (
            {"who": {"enum": ["ann", "bob"]}, "n": {"type": "integer"}},
            {"who": "ann"},
            ["  form: who (ann/bob), n (integer, optional)"],
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


def test_an_error_whose_data_cannot_be_printed_is_printed_without(capsys: pytest.CaptureFixture[str]) -> None:
    deep: list[Any] = []
    for _ in range(195):
        deep = [deep]
    _complain("@x", "it broke", -32005, deep)
    assert capsys.readouterr().err == "error: @x: it broke (-32005)\n"
