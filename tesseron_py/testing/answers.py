"""Scripted answers: what the person in a test says, and what they were asked."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..errors import InvalidAnswer
from ..schema.again import DID_NOT_FIT
from ..schema.issues import Issue, summary
from ..unset import UNSET
from .filling import filled, members_of, plain_value, shortcomings

logger = logging.getLogger("tesseron_py.testing")

_LONGEST: Final = 400
"""Characters of an answer that a note shows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. Made by `accept`, `decline` and `cancel`."""

    action: Literal["accept", "decline", "cancel"]
    given: Any = UNSET

    @property
    def spelled(self) -> str:
        """As a test has it: `accept({'day': '1 May'})`."""
        return f"{self.action}({'' if self.given is UNSET else repr(self.given)})"


def accept(given: Any = UNSET, /) -> Answer:
    """The person accepts.

    Args:
        given: What they fill in. A mapping, or an object of the type that is asked for, is the form's content; what an
            object in it holds may be nested, or have dots in its name as the form has it. Anything else is the value of
            a form with one field. Left out, it is a plain yes.
    """
    return Answer("accept", given)


def decline() -> Answer:
    """The person says no."""
    return Answer("decline")


def cancel() -> Answer:
    """The person dismisses the question."""
    return Answer("cancel")


_MAKERS: tuple[object, ...] = (accept, decline, cancel)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was put to the person of a test.

    Attributes:
        question: What they read.
        schema: The form, as the client got it; empty for a URL.
        action: The action that asked, where it is known: always when one call runs at a time.
        answer: What they said.
        url: Where they were sent, or `None`.
    """

    question: str
    schema: Mapping[str, Any]
    action: str | None
    answer: Answer
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question on its way to the script; what a callable answer is given."""

    question: str
    schema: Mapping[str, Any]
    action: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Accepted:
    """An accepted form: what was asked, as which question of the test, and the content that went out."""

    number: int
    asked: Asked
    content: Mapping[str, Any]


Answering: TypeAlias = Callable[[Prompt], "Answer | Awaitable[Answer]"]
Answers: TypeAlias = "Iterable[Answer | Answering] | Answering"


class Script:
    """The answers of a test, in order. When none is left the answer is cancel.

    Args:
        answers: Answers, or functions that give one for a question; or one such function for every question.
        hears: Whether `did_not_fit` is called for what does not fit; without it, the next question tells of it.

    Raises:
        TypeError: What stands in the script is no answer.
    """

    def __init__(self, answers: Answers = (), *, hears: bool = True) -> None:
        if isinstance(answers, (Answer, str)) or not (callable(answers) or isinstance(answers, Iterable)):
            raise TypeError(f"answers is a list, such as [accept()], or a function of the question; not {answers!r}")
        self._always = answers if callable(answers) else None
        self._left: deque[Answer | Answering] = deque(() if callable(answers) else answers)
        for given in self._left:
            if any(given is maker for maker in _MAKERS):
                raise TypeError("a scripted answer is accept(…), decline() or cancel(); here its brackets are missing")
            if not callable(given):
                _checked(given)
        self.asked: list[Asked] = []
        """What was asked, oldest first."""
        self.notes: list[str] = []
        """Where the script and the questions did not go together; each is in the log, too."""
        self._hears = hears
        self._accepted: list[_Accepted] = []

    async def answer(self, prompt: Prompt) -> Answer:
        """The answer to `prompt`, which is noted.

        Raises:
            TypeError: What stands in the script is no answer.
        """
        given: Any = self._next(prompt)
        if callable(given):
            given = given(prompt)
            if inspect.isawaitable(given):
                given = await given
        return self._noted(prompt, given)

    def answer_now(self, prompt: Prompt) -> Answer:
        """The same where nothing can wait.

        Raises:
            TypeError: What stands in the script is no answer, or is one that has to be awaited.
        """
        given: Any = self._next(prompt)
        if callable(given):
            given = given(prompt)
        if inspect.iscoroutine(given):
            given.close()
        return self._noted(prompt, given)

    def _next(self, prompt: Prompt) -> Any:
        first, again, faults = prompt.question.partition(f"\n\n{DID_NOT_FIT}\n")
        if again and not self._hears:
            self._note_unfit(self._latest(lambda each: _first(each.asked.question) == first), faults)
        if self._always is not None:
            return self._always
        if self._left:
            return self._left.popleft()
        self._note(f"no scripted answer was left for {_shown(prompt)}, so it was dismissed")
        return cancel()

    def content(self, answer: Answer, prompt: Prompt) -> dict[str, Any]:
        """What an accepted form holds; what it has or lacks is noted.

        Raises:
            TypeError: As for `content_of`.
        """
        content = content_of(answer, prompt.schema)
        if prompt.url is None:
            self._accepted.append(_Accepted(len(self.asked), self.asked[-1], content))
        for found in shortcomings(content, prompt.schema) if prompt.url is None else ():
            self._note(f"the answer to {_shown(prompt)} {found}")
        return content

    def did_not_fit(self, question: str, content: Mapping[str, Any], error: InvalidAnswer) -> None:
        """An accepted answer did not fit; it is noted which one, and why.

        Args:
            question: What was asked, as it was put.
            content: What came.
            error: Why it does not fit.
        """
        asked = self._latest(lambda each: each.asked.question == question and each.content == content)
        issues = _issues_of(error.told) or _issues_of(error.data) or [Issue(error.message, [])]
        self._note_unfit(asked or self._latest(lambda each: each.asked.question == question), _listed(issues))

    def refused(self, action: str, message: str, data: object, *, after: int) -> None:
        """A call has failed; where that is for an answer which did not fit, it is noted which one, and why.

        Args:
            action: What was called.
            message: Its error.
            data: What came with it.
            after: How many questions there had been before it.
        """
        issues = _issues_of(data)
        if issues and message == summary(issues):
            asked = self._latest(lambda each: each.number > after and each.asked.action in (action, None))
            if asked is not None:
                self._note_unfit(asked, _listed(issues))

    def _latest(self, is_it: Callable[[_Accepted], bool]) -> _Accepted | None:
        return next(filter(is_it, reversed(self._accepted)), None)

    def _note_unfit(self, one: _Accepted | None, faults: str) -> None:
        if one is None:  # one that the script did not give
            return self._note(f"an answer did not fit:\n{faults}")
        self._accepted.remove(one)
        which = "the answer" if self._always is not None else f"answer {one.number}"
        shown = _cut(one.asked.answer.spelled, _LONGEST)
        return self._note(f"{which} to {_shown(one.asked)}, {shown}, did not fit:\n{faults}")

    def _note(self, note: str) -> None:
        self.notes.append(note)
        logger.warning("%s", note)  # with what was answered: nobody's secret, as it stands in the test

    def _noted(self, prompt: Prompt, given: Any) -> Answer:
        answer = _checked(given)
        self.asked.append(Asked(prompt.question, prompt.schema, prompt.action, answer, prompt.url))
        return answer


def _checked(given: object) -> Answer:
    if not isinstance(given, Answer):
        raise TypeError(f"a scripted answer is accept(…), decline() or cancel(), not {given!r}")
    return given


def _first(question: str) -> str:
    """A question as it was asked first, without what was wrong with an answer to it."""
    return question.partition(f"\n\n{DID_NOT_FIT}\n")[0]


def _shown(prompt: Prompt | Asked) -> str:
    return repr(_cut(prompt.question.partition("\n")[0], 80))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _issues_of(data: object) -> list[Issue]:
    """The issues that an error lists in its data; none where it lists something else."""
    found: list[Issue] = []
    for each in data if isinstance(data, (list, tuple)) else ():
        match each:
            case {"message": str(message), "path": list(path)}:
                found.append(Issue(message, path))
            case _:
                return []
    return found


def _listed(issues: Iterable[Issue]) -> str:
    return "\n".join(f"- {issue}" for issue in issues)


def content_of(answer: Answer, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What an accepted form holds.

    Raises:
        TypeError: A single value was given, and the form has several fields, or is a confirm's.
    """
    fields = schema.get("properties") or {}
    if answer.given is UNSET:
        return {"approve": True} if list(fields) == ["approve"] else {}
    if members_of(answer.given) is not None:
        return filled(answer.given, fields)
    if len(fields) != 1:
        raise TypeError(
            f"accept({answer.given!r}) answers a question with one field, and this one has {len(fields)}"
            f" ({', '.join(fields) or 'none'}); write accept({{…}})"
        )
    if list(fields) == ["approve"] and not isinstance(answer.given, bool):
        raise TypeError(f"accept({answer.given!r}) answers a question for a value, and this one is a confirm: accept()")
    return {next(iter(fields)): plain_value(answer.given)}
