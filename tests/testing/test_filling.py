"""A form filled in by a test: with dicts, with objects of the type that is asked for, with either shape of choices."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, Flag
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, Field, computed_field

from tesseron_py import Accepted, Cancelled, Context, InvalidAnswer, SyncContext, Tesseron
from tesseron_py.testing import ActionFailed, Agent, SyncAgent, accept, cancel, context, sync_context
from tesseron_py.testing.filling import filled, shortcomings

app = Tesseron("travel")


class Seat(Enum):
    WINDOW = 1
    AISLE = 2


class Extras(Flag):
    MEAL = 1
    BAG = 2


class Home(BaseModel):
    street: Annotated[str, Field(min_length=2)]
    zip: Annotated[str, Field(alias="zipCode")]


class Trip(BaseModel):
    day: date
    home: Home
    second: Home | None = None
    seat: Seat = Seat.AISLE
    extras: Extras = Extras(0)
    meals: set[Literal["lunch", "dinner"]] = set()
    note: str | None = None

    @computed_field
    @property
    def weekday(self) -> int:
        return self.day.weekday()


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Parcel:
    to: Point
    tags: list[Literal["a", "b"]] = field(default_factory=list)


class Nothing(BaseModel):
    pass


def told(trip: Trip) -> str:
    """The trip as text; a set is in no order."""
    return repr([(name, sorted(each) if isinstance(each, set) else each) for name, each in trip])


@app.action
async def trip(ctx: Context, attempts: int = 1) -> str:
    match await ctx.ask("Which trip?", Trip, attempts=attempts):
        case Accepted(value):
            return told(value)
        case Cancelled():
            return "cancelled"
    return "declined"


@app.action
async def parcel(ctx: Context) -> str:
    return repr(await ctx.elicit("Which parcel?", Parcel))


@app.action
async def seat(ctx: Context) -> str:
    return repr(await ctx.elicit("Which seat?", Seat))


@app.action
async def meals(ctx: Context) -> list[str] | None:
    chosen = await ctx.elicit("Which meals?", set[Literal["lunch", "dinner"]])
    return None if chosen is None else sorted(chosen)


@app.action
async def nothing(ctx: Context) -> str:
    return repr(await ctx.ask("Nothing?", Nothing))


@app.action
def home(ctx: SyncContext) -> str:
    try:
        return repr(ctx.elicit("Where?", Home))
    except InvalidAnswer:
        return "no home"


TRIP = Trip(
    day=date(2026, 7, 1),
    home=Home(street="Ring 1", zipCode="1010"),
    seat=Seat.WINDOW,
    extras=Extras.MEAL | Extras.BAG,
    meals={"lunch", "dinner"},
)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_form_takes_an_object_nested_dicts_or_names_with_dots(era: Any) -> None:
    home = {"street": "Ring 1", "zipCode": "1010"}
    rest = {"extras": ["MEAL", "BAG"], "meals": ["dinner", "lunch"], "seat": "1"}
    answers = [
        accept(TRIP),
        accept({"day": date(2026, 7, 1), "home": Home(street="Ring 1", zipCode="1010"), "second": None, **rest}),
        accept({"day": "2026-07-01", "home": home, **rest, "seat": Seat.WINDOW}),
        accept({"day": "2026-07-01", **{f"home.{name}": value for name, value in home.items()}, **rest}),
        accept(Parcel(Point(1), ["b"])),
        accept({"to": {"x": 1}, "tags.b": True, "tags.a": False}),
        accept(Seat.WINDOW),
        accept({"lunch"}),
        accept({"value.lunch": False, "value.dinner": True}),
    ]
    async with Agent(app, answers, era=era) as agent:
        for _ in range(4):
            assert await agent.call("trip") == told(TRIP)
        for _ in range(2):
            assert await agent.call("parcel") == repr(Parcel(Point(1), ["b"]))
        assert await agent.call("seat") == repr(Seat.WINDOW)
        assert await agent.call("meals") == ["lunch"]
        assert await agent.call("meals") == ["dinner"]
        assert agent.notes == []


async def test_an_answer_that_did_not_fit_and_one_that_was_not_there_are_told(caplog: pytest.LogCaptureFixture) -> None:
    wrong = {"day": "2026-07-01", "home": {"street": "R", "zipCode": "1010"}}
    async with Agent(app, answers=[accept(wrong)]) as agent:
        assert await agent.call("trip", {"attempts": 3}) == "cancelled"
        assert [note.splitlines()[0] for note in agent.notes] == [
            f"answer 1 to 'Which trip?', accept({wrong!r}), did not fit:",
            "no scripted answer was left for 'Which trip?', so it was dismissed",
        ]
        assert agent.notes[0].splitlines()[1:] == [
            "- home.street: at least 2 characters are expected",
        ]
    said = [record.getMessage() for record in caplog.records if record.name == "tesseron_py.testing"]
    assert said == agent.notes


async def test_a_name_that_the_form_does_not_have_is_told_with_the_failure() -> None:
    answers = [accept({"day": "2026-07-01", "hom": {"street": "Ring 1"}, "home.zip": "1010"}), accept(TRIP)]
    async with Agent(app, answers) as agent:
        with pytest.raises(ActionFailed) as failed:
            await agent.call("trip")
        assert failed.value.code == -32005
        assert failed.value.__notes__ == agent.notes
        assert agent.notes == [
            "the answer to 'Which trip?' has 'hom', which the form does not; did you mean 'home'?",
            "the answer to 'Which trip?' has 'home.zip', which the form does not; did you mean 'home.zipCode'?",
            "the answer to 'Which trip?' has no 'home.street', 'home.zipCode', which the form wants",
            f"answer 1 to 'Which trip?', {answers[0].spelled}, did not fit:\n"
            "- home.street: required, but missing\n"
            "- home.zipCode: required, but missing",
        ]
        assert await agent.call("trip") == told(TRIP)
        assert len(agent.notes) == 4


async def test_a_form_without_fields_is_a_confirm() -> None:
    async with Agent(app, answers=[accept(), accept({}), accept(Nothing()), accept({"approve": True})]) as agent:
        assert await agent.call("nothing") == "Accepted(value=Nothing())"
        for _ in range(2):
            assert await agent.call("nothing") == "Declined()"
        assert agent.notes == ["the answer to 'Nothing?' has no 'approve', which the form wants"] * 2
        assert await agent.call("nothing") == "Accepted(value=Nothing())"


def test_plain_tests_are_told_as_well() -> None:
    with SyncAgent(app, answers=[accept(Home(street="Ring 1", zipCode="1010")), accept({"street": "Ring 1"})]) as agent:
        assert agent.call("home") == "Home(street='Ring 1', zip='1010')"
        assert agent.call("home") == "no home"
        assert agent.call("home") == "None"
        assert agent.notes == [
            "the answer to 'Where?' has no 'zipCode', which the form wants",
            "answer 2 to 'Where?', accept({'street': 'Ring 1'}), did not fit:\n- zipCode: required, but missing",
            "no scripted answer was left for 'Where?', so it was dismissed",
        ]


async def test_contexts_of_handlers_alone_are_told_as_well() -> None:
    ctx = context(answers=[accept(TRIP), cancel()])
    assert await trip(ctx) == told(TRIP)
    assert await trip(ctx) == "cancelled"
    assert ctx.notes == []
    assert await trip(ctx) == "cancelled"
    assert ctx.notes == ["no scripted answer was left for 'Which trip?', so it was dismissed"]

    sync = sync_context()
    assert home(sync) == "None"
    assert len(sync.notes) == 1


async def test_a_long_question_is_told_in_short(caplog: pytest.LogCaptureFixture) -> None:
    ctx = context()
    with caplog.at_level(logging.WARNING, "tesseron_py.testing"):
        assert not await ctx.confirm("Really? " * 30 + "\nYes?")
    assert len(ctx.notes[0]) < 150
    assert ctx.notes[0] in caplog.text


BOXES = ("name", "meals.lunch", "meals.dinner", "flags.1", "flags.2")


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({"meals": ["lunch"]}, {"meals.lunch": True, "meals.dinner": False}),
        ({"meals": {"dinner", "lunch"}}, {"meals.lunch": True, "meals.dinner": True}),
        ({"flags": [2]}, {"flags.1": False, "flags.2": True}),
        ({"meals": ["brunch"]}, {"meals.lunch": False, "meals.dinner": False, "meals.brunch": True}),
        ({"meals": "lunch"}, {"meals": "lunch"}),
        ({"meals": None, "name": None}, {"name": None}),
        ({"name": {"a": date(2026, 1, 2)}}, {"name": {"a": "2026-01-02"}}),
        ({"name": (1, [Seat.AISLE])}, {"name": [1, [2]]}),
        ({"meals.lunch": True}, {"meals.lunch": True}),
        ({"name": Seat}, {"name": Seat}),
    ],
)
def test_choices_are_boxes_where_the_form_has_boxes(given: Any, content: Any) -> None:
    assert filled(given, BOXES) == content


def test_boxes_are_a_list_where_the_form_has_a_list() -> None:
    assert filled({"meals.lunch": True, "meals.dinner": False, "x.y": True}, ["meals"]) == {
        "meals": ["lunch"],
        "x.y": True,
    }
    assert filled({"meals.lunch": False}, ["meals"]) == {"meals": []}
    assert filled({"meals": ["dinner"], "meals.lunch": True}, ["meals"]) == {"meals": ["dinner", "lunch"]}
    assert filled({"meals": "x", "meals.lunch": True}, ["meals"]) == {"meals": "x"}
    assert filled({"meals.lunch": "yes"}, ["meals"]) == {"meals.lunch": "yes"}


def test_a_form_without_names_lacks_nothing() -> None:
    assert shortcomings({}, {}) == []
    assert shortcomings({"a": 1}, {}) == ["has 'a', which the form does not"]
