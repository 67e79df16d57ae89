"""Choices are read by what they are in JSON, and one that JSON has nothing for is refused when it is declared."""

from __future__ import annotations

import enum
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from tesseron_py.errors import InvalidInput, InvalidSchema, RegistrationError
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.members import json_value, unreadable
from tesseron_py.schema.signature import HandlerSignature, read_handler


def takes(declared: Any) -> HandlerSignature:
    def act(value: Any) -> None: ...

    act.__annotations__["value"] = declared
    return read_handler(act, name="act")


class Inner(enum.Enum):
    TEN = 10


SPELLED: list[tuple[list[Any], list[Any]]] = [
    ([date(2020, 1, 1), date(2021, 1, 1)], ["2020-01-01", "2021-01-01"]),
    ([datetime(2020, 1, 1, 12), 3], ["2020-01-01T12:00:00", 3]),
    ([time(12), time(13)], ["12:00:00", "13:00:00"]),
    ([Decimal("1.5"), Decimal("2")], ["1.5", "2"]),
    ([UUID(int=1), UUID(int=2)], [str(UUID(int=1)), str(UUID(int=2))]),
    ([timedelta(hours=1), timedelta(1)], ["PT1H", "P1D"]),
    ([Path("a/b"), "x"], ["a/b", "x"]),
    ([Inner.TEN, "x"], [10, "x"]),
]


@pytest.mark.parametrize(("values", "written"), SPELLED)
def test_members_are_read_by_what_they_are_in_json(values: list[Any], written: list[Any]) -> None:
    choice: Any = enum.Enum("Choice", {f"M{index}": value for index, value in enumerate(values)})
    signature, members = takes(choice), list(choice)
    for text, member in zip(written, members, strict=True):
        assert signature.bind({"value": text}).values["value"] is member
        assert form_for(choice).parse({"value": text}) is member
    with pytest.raises(InvalidInput, match=r"value: .* or .* is expected, got \"none of them\""):
        signature.bind({"value": "none of them"})
    one: Any = Literal[members[0]]
    assert takes(one).bind({"value": written[0]}).values["value"] is members[0]


def test_a_refusal_names_what_may_be_given() -> None:
    choice: Any = enum.Enum("Choice", {"A": Decimal("1.5"), "B": date(2020, 1, 1)})
    with pytest.raises(InvalidInput, match=r"value: '1\.5' or '2020-01-01' is expected, got ."):
        takes(choice).bind({"value": "x"})


def test_an_enum_that_takes_more_than_its_members_goes_on_doing_so() -> None:
    class Day(enum.Enum):
        FIRST = date(2020, 1, 1)

        @classmethod
        def _missing_(cls, value: object) -> Day | None:
            return cls.FIRST if value == "first" else None

    assert takes(Day).bind({"value": "first"}).values["value"] is Day.FIRST
    assert takes(Day).bind({"value": "2020-01-01"}).values["value"] is Day.FIRST


def test_a_tag_is_read_so_too() -> None:
    class Day(enum.Enum):
        FIRST = date(2020, 1, 1)
        SECOND = date(2020, 1, 2)

    class One(BaseModel):
        day: Literal[Day.FIRST]

    class Two(BaseModel):
        day: Literal[Day.SECOND]

    signature = takes(Annotated[One | Two, Field(discriminator="day")])
    assert signature.bind({"value": {"day": "2020-01-02"}}).values["value"] == Two(day=Day.SECOND)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([b"x", b"y"], r"bytes such as b'x'"),
        ([(1, 2), (3, 4)], r"tuple such as \(1, 2\)"),
        ([frozenset({1}), 2], r"frozenset such as frozenset\(\{1\}\)"),
        ([2, float("inf")], r"number such as inf"),
        ([{"a": [float("nan")]}, 2], r"dict such as"),
        ([object(), 2], r"object such as"),
    ],
)
def test_what_json_has_no_value_for_is_refused_at_once(values: list[Any], what: str) -> None:
    choice: Any = enum.Enum("Choice", {f"M{index}": value for index, value in enumerate(values)})
    with pytest.raises(RegistrationError, match=rf"JSON has no {what}.* to choose; use strings"):
        takes(choice)
    with pytest.raises(InvalidSchema):
        form_for(choice)


def test_lists_and_objects_are_json() -> None:
    choice: Any = enum.Enum("Choice", {"A": {"k": 1}, "B": [1, "a"], "C": None})
    assert takes(choice).bind({"value": {"k": 1}}).values["value"] is choice.A
    assert takes(choice).bind({"value": [1, "a"]}).values["value"] is choice.B
    assert unreadable(choice) is None
    assert json_value(True) is True


class Pair(NamedTuple):
    left: int
    at: time
    marks: frozenset[int] = frozenset()
    next: Pair | None = None


def test_a_named_tuple_is_a_list_for_an_agent_and_an_object_in_a_form() -> None:
    signature = takes(list[Pair])
    found = signature.bind({"value": [[1, "12:00", [1, 1], [2, "13:00"]]]}).values["value"]
    assert found == [Pair(1, time(12), frozenset({1}), Pair(2, time(13)))]
    with pytest.raises(InvalidInput) as refused:
        signature.bind({"value": [{"left": 1, "at": "12:00"}, [1, "12:00", [], {"left": 1, "at": "12:00"}], ["a"]]})
    assert refused.value.data == [
        {"message": "a list is expected, got an object", "path": ["value", 0]},
        {"message": "a list is expected, got an object", "path": ["value", 1, 3]},
        {"message": 'a whole number is expected, got "a"', "path": ["value", 2, 0]},
        {"message": "required, but missing", "path": ["value", 2, 1]},
    ]
    with pytest.raises(InvalidInput, match="a list is expected, got 3"):
        signature.bind({"value": [3]})

    class Span(NamedTuple):
        start: int
        end: int = 5

    assert form_for(Span).parse({"start": 1}) == Span(1)
