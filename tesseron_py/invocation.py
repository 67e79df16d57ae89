"""A call that waits, kept as state: what is asked, what came of it, and who may look.

An `Invocation` has any number of readers, each any number of times: `view()` says what is open and how it ended,
`changed()` waits for more. A queue of events would have one consumer, and a repeated leg, two legs at once, a dropped
waiter or a result read twice would hang. It knows neither MCP nor Tesseron; progress and log are a bounded side channel
and never carry a question or a result.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from .bell import Bell
from .errors import ActionCancelled, TesseronError, TooManyPrompts, TransportClosed

logger = logging.getLogger("tesseron_py.invocation")

QUESTION_DEADLINE = 30 * 60.0
"""Seconds a question waits for the person; then it counts as cancelled."""
MAX_QUESTIONS = 32
"""Questions one call may have open."""
TOGETHER = 1.0
"""Seconds within which a question's time and its caller's are up together."""
MAX_NOTES = 64
"""Progress and log entries kept for readers that are behind."""


# What can be asked -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """Ask the person to fill a form: `schema` is a flat JSON object schema."""

    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Url:
    """Ask the person to go to `url` and do there what `message` says."""

    message: str
    url: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Ask the client's model. `params` are those of MCP's `sampling/createMessage`."""

    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Roots:
    """Ask the client for its roots."""


Body: TypeAlias = Form | Url | Sample | Roots


@dataclass(frozen=True, slots=True)
class Question:
    """One open question of a call.

    Attributes:
        id: Unique within the invocation.
        key: The name its asker gave it, which is stable over repetitions, or `None`.
        body: What is asked.
        deadline: When it counts as cancelled, on `anyio.current_time()`'s clock.
    """

    id: int
    key: str | None
    body: Body
    deadline: float


# What can come back ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accept:
    """The person said yes. `content` is what they filled in, unvalidated; for `Sample` and `Roots` the whole result."""

    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Decline:
    """The person, or a client by itself, said no."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """No decision: dismissed, timed out, an error of the client, or the call is over. Counts as a refusal."""

    reason: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """An answer that is none: an unknown action, or content that is no object. Never a yes.

    `raw` is the result as it came; `None` where the message itself could not be read.
    """

    raw: Any


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The question could not be put: `reason` is `"too_many_prompts"` or says which capability the client lacks.

    `limit` is how many may be open, where that is the reason.
    """

    reason: str
    limit: int = MAX_QUESTIONS


Reply: TypeAlias = Accept | Decline | Cancel | Malformed | Unavailable

TOO_MANY_PROMPTS = "too_many_prompts"


# How it ends ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """The call has a result; what it is, is between provider and reader."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed."""

    error: TesseronError


Outcome: TypeAlias = Done | Failed


@dataclass(frozen=True, slots=True)
class View:
    """An invocation at one moment.

    Attributes:
        version: Rises with every change of `open` or `outcome`.
        open: The questions that wait, oldest first.
        outcome: How it ended, or `None` while it runs.
    """

    version: int
    open: tuple[Question, ...]
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class Progress:
    """`percent` from 0 to 100 or `None`, and what to tell the person."""

    percent: float | None = None
    message: str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class Log:
    """One log entry; `level` is one of Tesseron's: debug, info, warn, error."""

    level: str
    message: str
    meta: Any = None


Note: TypeAlias = Progress | Log


class Cancellable(Protocol):
    def cancel(self) -> None: ...


class Timers(Protocol):
    """Who calls back at a time; `home.Home` is one."""

    @property
    def time(self) -> Callable[[], float]:
        """The clock."""
        ...

    def call_at(self, when: float, fn: Callable[[], None], /) -> Cancellable: ...


class _Asked:
    """A question and what to do with its reply."""

    __slots__ = ("_invocation", "on_reply", "question", "timer")

    timer: Cancellable

    def __init__(self, invocation: Invocation, question: Question, on_reply: Callable[[Reply], None]) -> None:
        self._invocation = invocation
        self.question = question
        self.on_reply = on_reply

    def expire(self) -> None:
        self._invocation._expire(self.question)


class Share:
    """One reader's share in a call that may have several: the call is given up with the last of them."""

    __slots__ = ("_open", "invocation")

    def __init__(self, invocation: Invocation) -> None:
        self.invocation: Invocation = invocation
        self._open = True
        invocation._readers += 1

    def give_up(self, reason: str) -> None:
        """This reader waits no longer. If nobody else does, the call is cancelled. May be repeated."""
        if self._open:
            self.leave()
            if not self.invocation._readers and not self.invocation.is_between_visits:
                self.invocation.cancel(reason)
            else:
                self.invocation._changed()  # so that whoever waits on its behalf looks up

    def leave(self) -> None:
        """This reader has what it came for; the call goes on without one, too. May be repeated."""
        if self._open:
            self._open = False
            self.invocation._readers -= 1


class Invocation:
    """One call that waits.

    The provider's side is `ask`, `withdraw`, `note` and `finish`; the reader's is `view`, `changed`, `notes_after`,
    `answer`, `go_on` and `cancel`. All but `changed` return at once, and what they change is changed when they return.

    Args:
        timers: Who keeps the deadlines of questions.
        on_cancel: Called once when a reader cancels, so that the provider can stop the work.
        on_caller: Called with each caller that the call goes on for; what a caller is, is between provider and reader.
        deadline: Seconds one question may wait.
        max_questions: Questions that may be open at once.
        spread: Seconds that may be between questions which the provider asks at once; 0 where they come together.

    Example:
        ```python
        invocation = Invocation(home)
        question = invocation.ask(Form("Remove 5 todos?", schema), on_reply=tell_the_handler)
        invocation.answer(question.id, Accept({}))       # "taken"
        invocation.finish(Done(5))
        ```
    """

    __slots__ = (
        "__weakref__",
        "_answered",
        "_asked",
        "_bells",
        "_deadline",
        "_last_id",
        "_last_note",
        "_max_questions",
        "_notes",
        "_on_caller",
        "_on_cancel",
        "_outcome",
        "_parked_until",
        "_readers",
        "_then",
        "_timers",
        "_version",
        "_view",
        "spread",
    )

    def __init__(
        self,
        timers: Timers,
        *,
        on_cancel: Callable[[], None] | None = None,
        on_caller: Callable[[Any], None] | None = None,
        deadline: float = QUESTION_DEADLINE,
        max_questions: int = MAX_QUESTIONS,
        spread: float = 0.0,
    ) -> None:
        self.spread: float = spread
        self._timers = timers
        self._on_cancel = on_cancel
        self._on_caller = on_caller
        self._deadline = deadline
        self._max_questions = max_questions
        self._version = 0
        self._asked: dict[int, _Asked] = {}
        self._answered: set[int] | None = None
        self._last_id = 0
        self._outcome: Outcome | None = None
        self._notes: list[tuple[int, Note]] | None = None
        self._last_note = 0
        self._bells: dict[Bell, None] | None = None
        self._then: list[Callable[[Outcome], object]] | None = None
        self._readers = 0
        self._parked_until = math.inf
        self._view: View | None = None

    # The provider's side

    def ask(self, body: Body, *, on_reply: Callable[[Reply], None], key: str | None = None) -> Question:
        """Put a question. `on_reply` is called exactly once, unless the question is withdrawn.

        Raises:
            TooManyPrompts: As many are open as may be.
            ActionCancelled: The invocation is over.
        """
        if self._outcome is not None:
            raise ActionCancelled("The call is over; nothing can be asked any more")
        if len(self._asked) >= self._max_questions:
            raise too_many_prompts(self._max_questions)
        id = self._last_id = self._last_id + 1
        question = Question(id, key, body, self._timers.time() + self._deadline)
        asked = self._asked[id] = _Asked(self, question, on_reply)
        asked.timer = self._timers.call_at(question.deadline, asked.expire)
        self._changed()
        return question

    def withdraw(self, id: int) -> bool:
        """The asker gave the question up; nobody hears of it any more. `False` when it was not open."""
        asked = self._asked.pop(id, None)
        if asked is None:
            return False
        asked.timer.cancel()
        self._changed()
        return True

    def finish(self, outcome: Outcome) -> bool:
        """The call ended. What is still open is closed with `Cancel`. `False` when it had ended before."""
        return self._end(outcome, "the call ended", None)

    def _end(self, outcome: Outcome, reason: str, first: Callable[[], None] | None) -> bool:
        if self._outcome is not None:
            return False
        self._outcome = outcome
        self._view = None
        if first is not None:
            _guarded(lambda _: first(), None)
        asked, self._asked = self._asked, {}
        for entry in asked.values():
            entry.timer.cancel()
            _guarded(entry.on_reply, Cancel(reason))
        self._changed()
        then, self._then = self._then, None
        for fn in then or ():
            _guarded(fn, outcome)
        # A result may be kept for long, and what led to it is not to be kept with it.
        self._on_cancel = self._on_caller = None
        return True

    def note(self, note: Note) -> None:
        """Report progress or log an entry. Dropped when the call is over; the oldest goes when 64 are kept."""
        if self._outcome is not None:
            return
        if self._notes is None:
            self._notes = []
        elif len(self._notes) >= MAX_NOTES:
            # Progress is coalesced before a log entry is lost: a later one says all that an earlier one did.
            oldest = next((i for i, (_, kept) in enumerate(self._notes) if isinstance(kept, Progress)), 0)
            del self._notes[oldest]
        self._last_note += 1
        self._notes.append((self._last_note, note))
        self._wake()

    # The reader's side

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, or `None` while it runs."""
        return self._outcome

    def join(self) -> Share:
        """Become one of its readers; see `Share`."""
        return Share(self)

    @property
    def readers(self) -> int:
        """How many hold a share in it."""
        return self._readers

    def park(self, until: float) -> None:
        """From now on its questions wait between two visits of a reader, who is taken for gone after `until`.

        A question whose time is up not before that cancels the call: where somebody watches it, it is the person who
        did not answer, and here it is the caller who is gone.

        Args:
            until: On `anyio.current_time()`'s clock.
        """
        self._parked_until = until

    @property
    def is_between_visits(self) -> bool:
        """Whether it is parked with a question that somebody who is to come back has: nobody need be here for it."""
        return self._parked_until != math.inf and bool(self._asked)

    def view(self) -> View:
        """What is open and how it ended, now."""
        view = self._view
        if view is None:
            questions = tuple(asked.question for asked in self._asked.values()) if self._asked else ()
            view = View(self._version, questions, self._outcome)
            if self._outcome is None:  # one that is over may be kept for long, and is seldom looked at
                self._view = view
        return view

    async def changed(self, after: int, *, notes_after: int | None = None, until: float = math.inf) -> View:
        """The view, as soon as its version is above `after`.

        Args:
            after: A version seen before; -1 returns at once.
            notes_after: Return for a note above this number, too; `None` does not wait for notes.
            until: Return then in any case, on the clock of `time()`. Cheaper than a scope with a deadline.
        """
        if self._is_news(after, notes_after):
            return self.view()
        bell, timer, late = Bell(), None, False

        def expire() -> None:
            nonlocal late
            late = True
            bell.ring()

        try:
            if until != math.inf:
                timer = self._timers.call_at(until, expire)
            while not late and not self._is_news(after, notes_after):
                if self._bells is None:
                    self._bells = {}
                self._bells[bell] = None
                await bell.wait()
        finally:
            if timer is not None:
                timer.cancel()
            if self._bells is not None:
                self._bells.pop(bell, None)
        return self.view()

    def _is_news(self, after: int, notes_after: int | None) -> bool:
        told = notes_after is not None and self._last_note > notes_after
        return told or self._version > after or self._outcome is not None

    def time(self) -> float:
        """The time, on the clock of its timers."""
        return self._timers.time()

    @property
    def last_note(self) -> int:
        """The number of the newest note; 0 before the first."""
        return self._last_note

    def notes_after(self, number: int) -> Sequence[tuple[int, Note]]:
        """The kept notes above `number`, each with its own number, oldest first."""
        if self._last_note <= number or self._notes is None:
            return ()
        return [entry for entry in self._notes if entry[0] > number]

    def answer(self, id: int, reply: Reply) -> Literal["taken", "repeat", "unknown"]:
        """Answer a question: `taken` for the first answer, `repeat` for a later one.

        `unknown` is a question that never was, was withdrawn, or went down with its call.
        """
        asked = self._asked.pop(id, None)
        if asked is None:
            return "repeat" if self._answered is not None and id in self._answered else "unknown"
        asked.timer.cancel()
        if self._answered is None:
            self._answered = set()
        self._answered.add(id)
        self._changed()
        _guarded(asked.on_reply, reply)
        return "taken"

    def go_on(self, caller: Any) -> None:
        """The call goes on for `caller`, who may be able to do less or more than the one before.

        The provider hears of it before this returns, so before an answer that is given next. Nobody hears of it when
        the call has ended.
        """
        if self._on_caller is not None:
            _guarded(self._on_caller, caller)

    def cancel(self, reason: str = "The call was cancelled") -> bool:
        """The caller gives the call up: every question is closed and the outcome stands before this returns.

        The provider hears of the cancellation before it hears of its questions, so that a handler sees that it is
        cancelled and not that a person said no. `False` when the call had ended before.
        """
        return self._end(Failed(ActionCancelled(reason)), "the call was cancelled", self._on_cancel)

    def lose(self, reason: str) -> bool:
        """The provider's own connection is gone; the call fails with `TransportClosed`."""
        return self.finish(Failed(TransportClosed(reason)))

    def then(self, fn: Callable[[Outcome], object]) -> None:
        """Call `fn(outcome)` when the call ends; at once when it has."""
        if self._outcome is not None:
            _guarded(fn, self._outcome)
        elif self._then is None:
            self._then = [fn]
        else:
            self._then.append(fn)

    # Inside

    def _expire(self, question: Question) -> None:
        # What is asked is put a moment later: limits that are the same pass together.
        if question.deadline >= self._parked_until - TOGETHER and not self._readers:
            self.cancel("The caller did not come back with an answer in time")
        else:
            self.answer(question.id, Cancel("nobody answered in time"))

    def _changed(self) -> None:
        self._version += 1
        self._view = None
        self._wake()

    def _wake(self) -> None:
        bells, self._bells = self._bells, None
        for bell in bells or ():
            bell.ring()


def too_many_prompts(limit: int) -> TooManyPrompts:
    """The error of the question above the limit, with the data that another end tells it by."""
    return TooManyPrompts(
        f"{limit} questions are open already, which is as many as may be; wait for an answer before asking more",
        {"reason": TOO_MANY_PROMPTS, "limit": limit},
    )


def _guarded(fn: Callable[[Any], object], value: Any) -> None:
    try:
        fn(value)
    except Exception:
        logger.exception("A listener of a call failed")
