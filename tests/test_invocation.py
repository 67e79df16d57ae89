"""`Invocation`: a call that waits, as state, for any number of readers any number of times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tesseron_py.errors import ActionCancelled, ActionError, TooManyPrompts, TransportClosed
from tesseron_py.home import Home
from tesseron_py.invocation import (
    MAX_NOTES,
    Accept,
    Cancel,
    Decline,
    Done,
    Failed,
    Form,
    Invocation,
    Log,
    Progress,
    Reply,
    View,
)

FORM = Form("Remove 5 todos?", {"type": "object", "properties": {}})


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with Home() as home:
        yield home


class Replies(list[Reply]):
    """The replies of one question."""

    def __call__(self, reply: Reply) -> None:
        self.append(reply)


async def test_a_question_is_open_until_it_is_answered_and_then_the_call_ends(home: Home) -> None:
    invocation = Invocation(home)
    assert invocation.view() == View(0, (), None)
    replies = Replies()
    question = invocation.ask(FORM, on_reply=replies, key="sure")
    view = invocation.view()
    assert view.open == (question,)
    assert (question.body, question.key) == (FORM, "sure")
    assert invocation.answer(question.id, Accept({"approve": True})) == "taken"
    assert replies == [Accept({"approve": True})]
    assert invocation.view().open == ()
    assert invocation.finish(Done(5))
    assert invocation.outcome == Done(5)
    assert invocation.view().version > view.version


async def test_a_repeated_answer_changes_nothing(home: Home) -> None:
    invocation, replies = Invocation(home), Replies()
    question = invocation.ask(FORM, on_reply=replies)
    assert invocation.answer(question.id, Decline()) == "taken"
    version = invocation.view().version
    for reply in (Accept({}), Decline(), Cancel("late")):
        assert invocation.answer(question.id, reply) == "repeat"
    assert replies == [Decline()]
    assert invocation.view().version == version


async def test_ten_answers_at_once_count_as_the_first(home: Home) -> None:
    invocation, replies = Invocation(home), Replies()
    question = invocation.ask(FORM, on_reply=replies)
    outcomes: list[str] = []

    async def answer(number: int) -> None:
        outcomes.append(invocation.answer(question.id, Accept({"n": number})))

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(answer, number)
    assert sorted(outcomes) == ["repeat"] * 9 + ["taken"]
    assert len(replies) == 1


async def test_a_question_that_never_was_is_unknown(home: Home) -> None:
    invocation = Invocation(home)
    assert invocation.answer(99, Accept({})) == "unknown"


async def test_field_51_questions_are_answered_in_any_order(home: Home) -> None:
    invocation = Invocation(home)
    replies = [Replies(), Replies()]
    first, second = (invocation.ask(FORM, on_reply=each) for each in replies)
    assert invocation.view().open == (first, second)
    assert invocation.answer(second.id, Accept({"n": 2})) == "taken"
    assert invocation.view().open == (first,)
    assert invocation.answer(first.id, Decline()) == "taken"
    assert replies == [[Decline()], [Accept({"n": 2})]]


async def test_two_readers_see_the_same_and_a_third_comes_late(home: Home) -> None:
    invocation = Invocation(home)
    seen: dict[str, list[View]] = {"a": [], "b": []}

    async def read(name: str) -> None:
        version = -1
        while True:
            view = await invocation.changed(version)
            version = view.version
            seen[name].append(view)
            if view.outcome is not None:
                return

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(read, "a")
            group.start_soon(read, "b")
            await anyio.wait_all_tasks_blocked()
            question = invocation.ask(FORM, on_reply=Replies())
            await anyio.wait_all_tasks_blocked()
            invocation.answer(question.id, Accept({}))
            await anyio.wait_all_tasks_blocked()
            invocation.finish(Done("ok"))
        assert seen["a"] == seen["b"]
        assert [len(view.open) for view in seen["a"]] == [0, 1, 0, 0]
        late = await invocation.changed(-1)
        again = await invocation.changed(late.version)
    assert late.outcome == again.outcome == Done("ok")


async def test_readers_that_waited_in_vain_leave_nothing_behind(home: Home) -> None:
    invocation = Invocation(home)
    for _ in range(3):
        with anyio.move_on_after(0.001):
            await invocation.changed(0)
        assert (await invocation.changed(0, until=home.time())).outcome is None
    assert not invocation._bells


async def test_a_dropped_reader_takes_nothing_with_it(home: Home) -> None:
    invocation = Invocation(home)
    with anyio.move_on_after(0.01):
        await invocation.changed(0)
    invocation.finish(Done(1))
    with anyio.fail_after(5):
        assert (await invocation.changed(0)).outcome == Done(1)


async def test_a_withdrawn_question_is_unknown_and_its_asker_hears_nothing(home: Home) -> None:
    invocation, replies = Invocation(home), Replies()
    question = invocation.ask(FORM, on_reply=replies)
    assert invocation.withdraw(question.id)
    assert not invocation.withdraw(question.id)
    assert invocation.view().open == ()
    assert invocation.answer(question.id, Accept({})) == "unknown"
    assert replies == []


async def test_cancelling_closes_everything_before_it_returns_and_tells_the_provider_first(home: Home) -> None:
    heard: list[object] = []
    invocation = Invocation(home, on_cancel=lambda: heard.append("cancelled"))
    question = invocation.ask(FORM, on_reply=heard.append)
    invocation.then(heard.append)
    assert invocation.cancel("the agent gave up")
    view = invocation.view()
    assert view.open == ()
    assert isinstance(view.outcome, Failed)
    assert isinstance(view.outcome.error, ActionCancelled)
    assert heard == ["cancelled", Cancel("the call was cancelled"), view.outcome]
    assert not invocation.cancel()
    assert not invocation.finish(Done(1))
    assert invocation.outcome is view.outcome
    assert invocation.answer(question.id, Accept({})) == "unknown"
    with pytest.raises(ActionCancelled, match="over"):
        invocation.ask(FORM, on_reply=Replies())


async def test_cancelled_from_both_sides_it_ends_once(home: Home) -> None:
    cancelled: list[None] = []
    invocation = Invocation(home, on_cancel=lambda: cancelled.append(None))
    assert invocation.finish(Failed(ActionCancelled("by the provider")))
    assert not invocation.cancel("by the reader")
    assert cancelled == []
    assert isinstance(invocation.outcome, Failed)
    assert invocation.outcome.error.message == "by the provider"


async def test_field_47_a_lost_provider_closes_the_questions_and_fails_the_call(home: Home) -> None:
    invocation, replies = Invocation(home), Replies()
    invocation.ask(FORM, on_reply=replies)
    assert invocation.lose("the app crashed")
    assert replies == [Cancel("the call ended")]
    assert isinstance(invocation.outcome, Failed)
    assert isinstance(invocation.outcome.error, TransportClosed)


async def test_a_question_nobody_answers_counts_as_cancelled_at_its_deadline(home: Home) -> None:
    invocation = Invocation(home, deadline=0.01)
    answered = anyio.Event()
    replies: list[Reply] = []

    def reply(value: Reply) -> None:
        replies.append(value)
        answered.set()

    question = invocation.ask(FORM, on_reply=reply)
    with anyio.fail_after(5):
        await answered.wait()
    assert replies == [Cancel("nobody answered in time")]
    assert invocation.answer(question.id, Accept({})) == "repeat"
    assert invocation.outcome is None


async def test_as_many_questions_as_may_be_and_no_more(home: Home) -> None:
    invocation = Invocation(home, max_questions=2)
    first = invocation.ask(FORM, on_reply=Replies())
    invocation.ask(FORM, on_reply=Replies())
    with pytest.raises(TooManyPrompts) as raised:
        invocation.ask(FORM, on_reply=Replies())
    assert raised.value.data == {"reason": "too_many_prompts", "limit": 2}
    invocation.answer(first.id, Decline())
    invocation.ask(FORM, on_reply=Replies())


async def test_notes_are_for_every_reader_and_end_with_the_call(home: Home) -> None:
    invocation = Invocation(home)
    invocation.note(Progress(10, "a tenth"))
    invocation.note(Log("info", "hello"))
    assert [note for _, note in invocation.notes_after(0)] == [Progress(10, "a tenth"), Log("info", "hello")]
    last = invocation.notes_after(0)[-1][0]
    assert invocation.notes_after(last) == ()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def read() -> None:
                await invocation.changed(0, notes_after=last)

            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            invocation.note(Progress(20))
    invocation.finish(Done(None))
    invocation.note(Progress(30))
    assert [note for _, note in invocation.notes_after(last)] == [Progress(20)]


async def test_notes_are_bounded_and_progress_goes_before_log(home: Home) -> None:
    invocation = Invocation(home)
    invocation.note(Log("warn", "keep me"))
    for percent in range(200):
        invocation.note(Progress(percent / 2))
    notes = [note for _, note in invocation.notes_after(0)]
    assert len(notes) == MAX_NOTES
    assert notes[0] == Log("warn", "keep me")
    assert notes[-1] == Progress(99.5)
    for number in range(200):
        invocation.note(Log("info", str(number)))
    assert [note.message for _, note in invocation.notes_after(0)] == [str(n) for n in range(200 - MAX_NOTES, 200)]


async def test_its_provider_hears_of_another_caller_before_an_answer_and_not_after_the_end(home: Home) -> None:
    heard: list[object] = []
    invocation = Invocation(home, on_caller=heard.append)
    question = invocation.ask(FORM, on_reply=heard.append)
    invocation.go_on("another")
    assert invocation.answer(question.id, Decline()) == "taken"
    assert heard == ["another", Decline()]
    invocation.finish(Done(1))
    invocation.go_on("too late")
    assert len(heard) == 2
    Invocation(home).go_on("nobody listens")


async def test_a_listener_that_fails_is_logged_and_nothing_else_fails(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object = None) -> None:
        raise RuntimeError("listener broke")

    invocation = Invocation(home, on_cancel=fail, on_caller=fail)
    invocation.ask(FORM, on_reply=fail)
    invocation.then(fail)
    invocation.go_on(None)
    assert invocation.cancel()
    invocation.then(fail)
    assert len(caplog.records) == 5


class NoTime:
    """Timers that never run, for a machine without an event loop."""

    def time(self) -> float:
        return 0.0

    def call_at(self, when: float, fn: Callable[[], None], /) -> NoTime:
        return self

    def cancel(self) -> None: ...


class Conversation(RuleBasedStateMachine):
    """In any order: each question is answered at most once, and none is open when the call is over."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: dict[int, int] = {}
        self.asked: list[int] = []
        self.withdrawn: set[int] = set()
        self.versions = [-1]
        self.invocation: Invocation

    def run_in_loop(self, fn: Callable[[], None]) -> None:
        async def main() -> None:
            fn()

        anyio.run(main)

    @rule()
    def begin(self) -> None:
        if not hasattr(self, "invocation"):
            self.invocation = Invocation(NoTime(), max_questions=3)

    @precondition(lambda self: hasattr(self, "invocation"))
    @rule()
    def ask(self) -> None:
        def ask() -> None:
            number = len(self.asked) + 1

            def heard(_: Reply) -> None:
                self.heard[number] = self.heard.get(number, 0) + 1

            try:
                self.asked.append(self.invocation.ask(FORM, on_reply=heard).id)
            except (TooManyPrompts, ActionCancelled):
                pass

        self.run_in_loop(ask)

    @precondition(lambda self: hasattr(self, "invocation"))
    @rule(id=st.integers(0, 6))
    def answer(self, id: int) -> None:
        was_open = any(question.id == id for question in self.invocation.view().open)
        assert (self.invocation.answer(id, Accept({})) == "taken") == was_open

    @precondition(lambda self: hasattr(self, "invocation"))
    @rule(id=st.integers(0, 6))
    def withdraw(self, id: int) -> None:
        if self.invocation.withdraw(id):
            self.withdrawn.add(id)

    @precondition(lambda self: hasattr(self, "invocation"))
    @rule(how=st.sampled_from(["finish", "cancel", "lose", "fail"]))
    def end(self, how: str) -> None:
        before = self.invocation.outcome
        match how:
            case "finish":
                self.invocation.finish(Done(1))
            case "cancel":
                self.invocation.cancel()
            case "lose":
                self.invocation.lose("gone")
            case _:
                self.invocation.finish(Failed(ActionError("x")))
        assert before is None or self.invocation.outcome is before

    @precondition(lambda self: hasattr(self, "invocation"))
    @invariant()
    def holds(self) -> None:
        view = self.invocation.view()
        assert all(times == 1 for times in self.heard.values())
        assert view.version >= self.versions[-1]
        self.versions.append(view.version)
        if view.outcome is not None:
            assert view.open == ()
            assert set(self.heard) == set(self.asked) - self.withdrawn


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
