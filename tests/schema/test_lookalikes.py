"""Values that look like another in Python or to pydantic, and are another in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum, IntEnum, IntFlag
from typing import Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, NaiveDatetime, PastDate
from typing_extensions import TypedDict

from tesseron_py.errors import InvalidAnswer, InvalidInput, RegistrationError
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.generate import output_schema
from tesseron_py.schema.signature import read_handler


def bound(declared: Any, value: Any) -> Any:
    """What a handler gets for `value` in its parameter of the type `declared`."""

    def handler(it: Any) -> None: ...

    handler.__annotations__["it"] = declared
    return read_handler(handler, name="act").bind({"it": value}).values["it"]


def refusal(declared: Any, value: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        bound(declared, value)
    (issue,) = refused.value.data
    return str(issue["message"])


# Digits are no date -----------------------------------------------------------------------------------------------

DATE = "a date such as 2026-01-31"
DATETIME = "a date and time such as 2026-01-31T12:00:00Z"


@pytest.mark.parametrize("text", ["0", "20260131", "1.5", "-3", "86400", "1769817600", "x", ""])
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (date, DATE),
        (PastDate, DATE),
        (date | None, DATE),
        (datetime, DATETIME),
        (AwareDatetime, DATETIME),
        (NaiveDatetime, DATETIME),
        (date | datetime, f"{DATE} or {DATETIME}"),
    ],
)
def test_digits_are_no_date(declared: Any, expected: str, text: str) -> None:
    assert refusal(declared, text) == f'{expected} is expected, got "{text}"'


@pytest.mark.parametrize("value", [0, 20260131, True, None, [], {}])
def test_nor_is_anything_else(value: Any) -> None:
    assert refusal(date, value).startswith(f"{DATE} is expected, got ")


@pytest.mark.parametrize("text", ["0", "20260131"])
def test_a_person_types_no_seconds_either(text: str) -> None:
    for declared in (date, datetime):
        with pytest.raises(InvalidAnswer):
            form_for(declared).parse({"value": text})


class Report(BaseModel):
    day: date = date(2026, 1, 1)
    days: dict[date, int] = {}


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (date, "2026-01-31", date(2026, 1, 31)),
        (datetime, "2026-01-31T10:00:00", datetime(2026, 1, 31, 10)),
        (date | datetime, "2026-01-31T10:00:00", datetime(2026, 1, 31, 10)),
        (datetime | str, "2026-01-31T10:00:00", datetime(2026, 1, 31, 10)),
        (datetime | str, "20260131", "20260131"),
        (str | datetime, "2026-01-31T10:00:00", "2026-01-31T10:00:00"),
        (datetime | int, 20260131, 20260131),
        (Report, {"days": {"2026-01-31": 1}}, Report(days={date(2026, 1, 31): 1})),
    ],
)
def test_dates_are_read_as_before(declared: Any, value: Any, expected: Any) -> None:
    found = bound(declared, value)
    assert found == expected
    assert type(found) is type(expected)


def test_the_name_of_an_entry_is_no_date_of_digits() -> None:
    assert refusal(Report, {"days": {"0": 1}}) == f'{DATE} is expected, got "0"'


def test_the_rest_of_a_date_says_what_it_said() -> None:
    assert refusal(AwareDatetime, "2026-01-31T10:00:00").startswith("a time with an offset, such as")
    assert "past" in refusal(PastDate, "9999-01-01")


# `true` is not 1 --------------------------------------------------------------------------------------------------


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Answer(Enum):
    YES = True


class Bits(IntFlag):
    A = 1
    B = 2


class ByNumber(BaseModel):
    v: Literal[1]


class BySwitch(BaseModel):
    v: bool


class ByTrue(BaseModel):
    v: Literal[True]


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (float | Literal[True], 1, 1.0),
        (float | Literal[True], 1.0, 1.0),
        (float | Literal[True], True, True),
        (Literal[1, 2, 3] | bool, True, True),
        (Literal[1, 2, 3] | bool, 1, 1),
        (Literal[0, 1] | bool, False, False),
        (bool | Literal[0, 1], 0, 0),
        (list[Literal[1] | bool], [True, 1.0], [True, 1]),
        (ByNumber | BySwitch, {"v": True}, BySwitch(v=True)),
        (ByNumber | BySwitch, {"v": 1}, ByNumber(v=1)),
        (ByTrue | ByNumber, {"v": 1.0}, ByNumber(v=1)),
        (Literal[Level.LOW] | bool, True, True),
        (Literal[Answer.YES] | float, 1, 1.0),
        (Literal[1, True], True, True),
        (Literal[1, True], 1, 1),
        (Level | bool, True, True),
        (Level | bool, 1, Level.LOW),
        (Bits | bool, True, True),
        (Bits | bool, 3, Bits.A | Bits.B),
    ],
)
def test_a_union_takes_each_for_itself(declared: Any, value: Any, expected: Any) -> None:
    found = bound(declared, value)
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(expected, list):
        assert [*map(type, found)] == [*map(type, expected)]


class Levels(BaseModel):
    low: Level
    high: Level | bool = Level.HIGH
    more: list[Level] = []


def test_a_type_that_is_named_twice_is_read_alike() -> None:
    found = bound(Levels, {"low": 1.0, "high": True, "more": [2]})
    assert found == Levels(low=Level.LOW, high=True, more=[Level.HIGH])
    assert found.high is True
    assert refusal(Levels, {"low": 1, "more": [True]}) == "1 or 2 is expected, got true"


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        (Literal[1, 2, "a"], True, "1, 2 or 'a' is expected, got true"),
        (Literal[True], 1.0, "true is expected, got 1"),
        (Literal[True, "a"], 0, "true or 'a' is expected, got 0"),
        (Level, True, "1 or 2 is expected, got true"),
        (Answer, 1, "true is expected, got 1"),
        (Bits, False, "1 or 2 is expected, got false"),
        (Literal[Level.LOW] | None, True, "1 is expected, got true"),
    ],
)
def test_a_choice_is_taken_for_no_other(declared: Any, value: Any, message: str) -> None:
    assert refusal(declared, value) == message


# One model that is open opens no other ----------------------------------------------------------------------------


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    a: int = 1


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Size:
    x: int


class Keys(TypedDict):
    x: int


class Kept(BaseModel):
    model_config = ConfigDict(extra="allow")

    point: Point


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (Open | Point, {"x": 1, "zz": 2}, Open.model_validate({"x": 1, "zz": 2})),
        (Point | Open, {"x": 1, "zz": 2}, Open.model_validate({"x": 1, "zz": 2})),
        (Open | Point, {"x": 1}, Point(x=1)),
        (Open | Size, {"x": 1, "zz": 2}, Open.model_validate({"x": 1, "zz": 2})),
        (Open | Keys, {"x": 1, "zz": 2}, Open.model_validate({"x": 1, "zz": 2})),
        (Kept, {"point": {"x": 1}, "more": 2}, Kept.model_validate({"point": {"x": 1}, "more": 2})),
    ],
)
def test_field_17_an_unknown_field_goes_to_who_takes_it(declared: Any, value: Any, expected: Any) -> None:
    found = bound(declared, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (list[Open | Point] | dict[str, Point], {"k": {"x": 1, "zz": 2}}),
        (Kept, {"point": {"x": 1, "zz": 2}}),
        (Kept, {"point": {"x": 1, "zz": 2}, "more": 3}),
        (tuple[Open, Size], [{"b": 1}, {"x": 1, "zz": 2}]),
        (tuple[Open, Keys], [{"b": 1}, {"x": 1, "zz": 2}]),
    ],
)
def test_field_17_and_is_refused_where_nobody_does(declared: Any, value: Any) -> None:
    assert refusal(declared, value).startswith('unknown argument "zz"')


# Choices and names that JSON has, or has not ----------------------------------------------------------------------


class Colour(Enum):
    RED = "r"
    GREEN = "g"
    CRIMSON = RED


class Same(Enum):
    ONE = 1
    TRUE = True


class Kinds(Enum):
    ONE = 1
    TWO = "two"


def schema_of(declared: Any) -> Any:
    def handler(it: Any) -> None: ...

    handler.__annotations__["it"] = declared
    return read_handler(handler, name="act").input_schema["properties"]["it"]


def test_a_member_with_two_names_is_one_choice() -> None:
    assert schema_of(Colour) == {"type": "string", "enum": ["r", "g"]}
    assert schema_of(Same) == {"type": "integer", "enum": [1]}
    assert refusal(Same, "x") == '1 is expected, got "x"'
    assert refusal(Colour, "x") == "'r' or 'g' is expected, got \"x\""
    assert bound(Colour, "r") is Colour.CRIMSON is Colour.RED
    assert form_for(Colour).schema["properties"]["value"]["enum"] == ["r", "g"]


class Counts(BaseModel):
    by_level: dict[Level, int] = {}


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        (Literal[b"x"], "JSON has no bytes such as b'x' to choose; use strings"),
        (list[Literal["a", b"x"]], "JSON has no bytes such as b'x' to choose; use strings"),
        (dict[Literal[1, 2], int], "the names in a JSON object are strings, and 1 is none"),
        (dict[Level, int], "the names in a JSON object are strings, and 1 is none"),
        (dict[Kinds, int], "the names in a JSON object are strings, and 1 is none"),
        (dict[Bits, int], "the names in a JSON object are strings, and 1 is none"),
        (dict[None, int], "the names in a JSON object are strings, and None is none"),
        (dict[tuple[int, int], str], "the names in a JSON object are strings, and a tuple is none"),
        (list[dict[Literal[True] | None, str]], "the names in a JSON object are strings, and True is none"),
        (Counts, "the names in a JSON object are strings, and 1 is none"),
    ],
)
def test_what_no_call_could_give_is_refused_at_registration(declared: Any, why: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        schema_of(declared)
    assert why in str(refused.value)


def test_an_output_may_have_such_names_and_promises_nothing_of_them() -> None:
    assert output_schema(dict[Level, int]) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert schema_of(dict[Colour, int])["properties"].keys() == {"r", "g"}
    assert bound(dict[bool, int], {"true": 1}) == {True: 1}
