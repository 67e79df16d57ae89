"""Choices with titles of the author's, and several at once."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.schema.elicitation import check_subset, form_for


class Seat(enum.Enum):
    WINDOW = "w"
    AISLE = "a"

    @property
    def label(self) -> str:
        return {"w": "At the window", "a": "At the aisle"}[self.value]


class Coin(enum.Enum):
    """Its members carry their titles."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Coin:
        member = object.__new__(cls)
        member._value_ = value
        member.label = label
        return member

    EUR = "eur", "Euro"
    USD = "usd"


class Heading(enum.StrEnum):
    """A string has a method `title`, and this has members of both names."""

    title = "title"  # type: ignore[assignment]  # that it hides a method is the case
    label = "label"


class Mark(enum.IntEnum):
    GOOD = 1
    BAD = 5

    @property
    def title(self) -> str:
        return self.name.capitalize()


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2
    BOTH = 3

    @property
    def label(self) -> str:
        return {"READ": "May read", "WRITE": "May write"}.get(str(self.name), "")


class Fruit(enum.StrEnum):
    APPLE = "apple"
    PEAR = "pear"
    PLUM = "plum"


def schema_of(type: Any, *, lists: bool = False) -> dict[str, Any]:
    schema = form_for(type, lists=lists).schema
    check_subset(schema, lists=lists)
    properties: dict[str, Any] = schema["properties"]
    return properties


@pytest.mark.parametrize(
    ("type", "choices"),
    [
        (Seat, {"enum": ["w", "a"], "enumNames": ["At the window", "At the aisle"]}),
        (Coin, {"enum": ["eur", "usd"], "enumNames": ["Euro", "usd"]}),
        (Mark, {"enum": ["1", "5"], "enumNames": ["Good", "Bad"]}),
        (Heading, {"enum": ["title", "label"]}),
        (Fruit, {"enum": ["apple", "pear", "plum"]}),
        (Annotated[Fruit, Field(json_schema_extra={"enumNames": ["A", "B", "C"]})],
         {"enum": ["apple", "pear", "plum"], "enumNames": ["A", "B", "C"]}),
        (Annotated[Seat, Field(json_schema_extra={"enumNames": ["W", "A"]})],
         {"enum": ["w", "a"], "enumNames": ["W", "A"]}),
        (Seat | Literal["any"], {"enum": ["w", "a", "any"], "enumNames": ["At the window", "At the aisle", "any"]}),
        (Seat | None, {"enum": ["w", "a"], "enumNames": ["At the window", "At the aisle"]}),
    ],
)  # fmt: skip
def test_titles_go_along_as_names_of_a_plain_enum(type: Any, choices: dict[str, Any]) -> None:
    asked = schema_of(type)["value"]
    assert asked.pop("type") == "string"
    asked.pop("title")
    assert asked == choices


def test_an_answer_is_the_choice_and_not_its_title() -> None:
    form = form_for(Seat)
    assert form.parse({"value": "a"}) is Seat.AISLE
    for wrong in ("At the aisle", "AISLE", "A", " a", ""):
        with pytest.raises(InvalidAnswer, match='one of "w", "a" is expected'):
            form.parse({"value": wrong})
    assert form_for(Mark).parse({"value": "5"}) is Mark.BAD


def test_titles_that_read_the_same_are_refused() -> None:
    class Odd(enum.Enum):
        ONE = 1
        TWO = 2
        label = "Same"

    class Twins(enum.Enum):
        ONE = 1
        TWO = 2

        @property
        def label(self) -> str:
            return "Twin"

    assert "enumNames" not in schema_of(Odd)["value"]
    with pytest.raises(InvalidSchema, match="value: two of its choices have the same title"):
        form_for(Twins)
    with pytest.raises(InvalidSchema, match="value: two of its choices have the same title"):
        form_for(set[Twins])


# Several at once ----------------------------------------------------------------------------------------------------


class Basket(BaseModel):
    fruits: Annotated[set[Fruit], Field(title="Fruit", description="As much as you like", min_length=1, max_length=2)]
    seats: frozenset[Seat] = frozenset({Seat.AISLE})
    marks: list[Mark] | None = None
    access: Access = Access.READ


def test_several_choices_are_a_list_where_clients_know_lists() -> None:
    form = form_for(Basket, lists=True)
    assert form.schema == {
        "type": "object",
        "properties": {
            "fruits": {"type": "array", "title": "Fruit", "description": "As much as you like",
                       "items": {"type": "string", "enum": ["apple", "pear", "plum"]}, "minItems": 1, "maxItems": 2},
            "seats": {"type": "array", "title": "Seats",
                      "items": {"anyOf": [{"const": "w", "title": "At the window"},
                                          {"const": "a", "title": "At the aisle"}]}, "default": ["a"]},
            "marks": {"type": "array", "title": "Marks",
                      "items": {"anyOf": [{"const": "1", "title": "Good"}, {"const": "5", "title": "Bad"}]}},
            "access": {"type": "array", "title": "Access",
                       "items": {"anyOf": [{"const": "READ", "title": "May read"},
                                           {"const": "WRITE", "title": "May write"}]}, "default": ["READ"]},
        },
        "required": ["fruits"],
    }  # fmt: skip
    assert form.parse({"fruits": ["plum", "apple"]}) == Basket(fruits={Fruit.APPLE, Fruit.PLUM})
    everything = {"fruits": ["pear"], "seats": [], "marks": ["5", "1"], "access": ["WRITE", "READ"]}
    assert form.parse(everything) == Basket(
        fruits={Fruit.PEAR}, seats=frozenset(), marks=[Mark.BAD, Mark.GOOD], access=Access.BOTH
    )


def test_elsewhere_they_are_one_boolean_each() -> None:
    form = form_for(Basket)
    assert form.schema == {
        "type": "object",
        "properties": {
            "fruits.apple": {"type": "boolean", "title": "Fruit: apple",
                             "description": "As much as you like Choose 1 to 2."},
            "fruits.pear": {"type": "boolean", "title": "Fruit: pear"},
            "fruits.plum": {"type": "boolean", "title": "Fruit: plum"},
            "seats.w": {"type": "boolean", "title": "Seats: At the window"},
            "seats.a": {"type": "boolean", "title": "Seats: At the aisle", "default": True},
            "marks.1": {"type": "boolean", "title": "Marks: Good"},
            "marks.5": {"type": "boolean", "title": "Marks: Bad"},
            "access.READ": {"type": "boolean", "title": "Access: May read", "default": True},
            "access.WRITE": {"type": "boolean", "title": "Access: May write"},
        },
        "required": ["fruits.apple", "fruits.pear", "fruits.plum"],
    }  # fmt: skip
    fruits = {"fruits.apple": False, "fruits.pear": True, "fruits.plum": True}
    assert form.parse(fruits) == Basket(fruits={Fruit.PEAR, Fruit.PLUM})
    some = {**fruits, "seats.w": True, "marks.5": True, "access.READ": False, "access.WRITE": "yes"}
    assert form.parse(some) == Basket(
        fruits={Fruit.PEAR, Fruit.PLUM}, seats=frozenset(Seat), marks=[Mark.BAD], access=Access.WRITE
    )
    assert form.parse({**some, "seats.a": False}).seats == {Seat.WINDOW}
    none = {**fruits, "seats.a": False, "marks.1": False, "access.READ": False}
    assert form.parse(none) == Basket(fruits={Fruit.PEAR, Fruit.PLUM}, seats=frozenset(), marks=[], access=Access(0))
    left = {**fruits, "seats.a": None, "marks.1": "", "access.READ": " "}
    assert form.parse(left) == Basket(fruits={Fruit.PEAR, Fruit.PLUM})


def test_a_box_that_is_left_alone_is_what_the_form_shows() -> None:
    class Rights(BaseModel):
        n: Annotated[int, Field(ge=0)] = 0
        may: set[Literal["read", "write", "admin"]] = {"read"}
        made: set[Literal["x", "y"]] = Field(default_factory=lambda: {"x"})

    form = form_for(Rights)
    assert form.parse({"may.write": True}).may == {"read", "write"}
    assert form.parse({"may.write": False}).may == {"read"}
    assert form.parse({"may.read": "no", "may.write": "yes"}).may == {"write"}
    # What nobody shows ticked is not, beside one that was answered.
    assert form.parse({"made.y": True}).made == {"y"}

    for first, may in (({"may.write": False}, {"read"}), ({"may.write": True}, {"read", "write"})):
        wrong = {"n": -1, **first}
        with pytest.raises(InvalidAnswer) as refused:
            form.parse(wrong)
        _, second = form.again("?", wrong, refused.value, booleans_only=True)
        shown = {name: each.get("default") for name, each in second.schema["properties"].items()}
        assert shown["may.read"] is True
        assert shown["may.write"] is first["may.write"]
        assert second.parse({"n": 1}).may == may


ALL = {"fruits.apple": True, "fruits.pear": True, "fruits.plum": True}


@pytest.mark.parametrize(
    ("lists", "content", "message"),
    [
        (True, {}, "fruits: required, but missing"),
        (True, {"fruits": "pear"}, 'fruits: a list of one of "apple", "pear", "plum" is expected, got a string'),
        (True, {"fruits": ["grape"]}, 'fruits: one of "apple", "pear", "plum" is expected'),
        (True, {"fruits": ["Pear"]}, 'fruits: one of "apple", "pear", "plum" is expected'),
        (True, {"fruits": ["pear", "pear"]}, "fruits: each choice is expected once at most"),
        (True, {"fruits": []}, "fruits: at least 1 of the choices is expected"),
        (True, {"fruits": ["pear", "plum", "apple"]}, "fruits: at most 2 of the choices are expected"),
        (True, {"fruits": ["pear"], "access": 3}, 'access: a list of one of "READ", "WRITE" is expected, got a number'),
        (True, {"fruits": ["pear"], "access": ["BOTH"]}, 'access: one of "READ", "WRITE" is expected'),
        (True, {"fruits.pear": True}, 'fruits: it is asked for as "fruits"'),
        (False, {}, "fruits: required, but missing"),
        (False, {"fruits": ["pear"]}, 'fruits: it is asked for as "fruits.apple", "fruits.pear", "fruits.plum"'),
        (False, {"fruits.pear": True, "fruits.plum": True}, 'fruits: "apple" is missing'),
        (False, {**ALL, "fruits.pear": 0}, 'fruits: true or false is expected for "pear", got a number'),
        (False, {**ALL, "fruits.pear": "maybe"}, 'fruits: true or false is expected for "pear", got a string'),
        (False, {**ALL, "fruits.pear": None}, 'fruits: true or false is expected for "pear", got null'),
        (False, ALL, "fruits: at most 2 of the choices are expected"),
        (False, dict.fromkeys(ALL, False), "fruits: at least 1 of the choices is expected"),
        (False, {**ALL, "fruits.pear": False, "fruits.grape": True}, 'fruits: it is asked for as "fruits.apple"'),
    ],
)  # fmt: skip
def test_field_35_what_is_not_clearly_some_of_the_choices_is_none(
    lists: bool, content: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        form_for(Basket, lists=lists).parse(content)
    assert refused.value.message.startswith(message)
    assert {tuple(issue["path"]) for issue in refused.value.data} == {(message.split(":")[0],)}


def test_several_choices_may_be_all_that_is_asked_for() -> None:
    assert schema_of(set[Seat], lists=True)["value"]["title"] == "Seat"
    assert form_for(set[Seat], lists=True).parse({"value": ["w"]}) == {Seat.WINDOW}
    assert list(schema_of(set[Seat])) == ["value.w", "value.a"]
    assert form_for(set[Seat]).parse({"value.w": True, "value.a": False}) == {Seat.WINDOW}
    assert form_for(tuple[Fruit, ...], lists=True).parse({"value": ["plum", "pear"]}) == (Fruit.PLUM, Fruit.PEAR)
    assert form_for(tuple[Fruit, ...]).parse({"value.plum": 1 == 1, "value.pear": True, "value.apple": False}) == (
        Fruit.PEAR,
        Fruit.PLUM,
    )
    assert form_for(Access, lists=True).parse({"value": ["READ", "WRITE"]}) is Access.BOTH
    names = Annotated[list[Literal["a", "b"]], Field(json_schema_extra={"enumNames": ["A!", "B!"]})]
    assert [each["title"] for each in schema_of(names).values()] == ["Value: A!", "Value: B!"]


def test_what_is_chosen_when_nobody_chooses_is_shown_in_the_order_of_the_choices() -> None:
    class Form(BaseModel):
        some: set[Fruit] = {Fruit.PLUM, Fruit.APPLE}
        ranked: list[Fruit] = [Fruit.PLUM, Fruit.APPLE]
        unknown: list[Literal["a"]] = ["b"]  # type: ignore[list-item]  # a default that is none of the choices
        twice: list[Literal["a"]] = ["a", "a"]
        most: Annotated[list[Literal["a"]], Field(max_length=1)] = []
        least: Annotated[list[Literal["a"]], Field(min_length=1)] = ["a"]

    asked = schema_of(Form, lists=True)
    shown = {name: each.get("default") for name, each in asked.items()}
    assert shown == {
        "some": ["apple", "plum"], "ranked": ["plum", "apple"], "unknown": None, "twice": None, "most": [],
        "least": ["a"],
    }  # fmt: skip
    alone = schema_of(Form)
    assert alone["most.a"]["description"] == "Choose at most 1."
    assert alone["least.a"]["description"] == "Choose at least 1."


def test_an_alias_of_a_member_is_no_choice_of_its_own() -> None:
    class Level(enum.Enum):
        LOW = "l"
        HIGH = "h"
        DEFAULT = LOW

    assert form_for(Level).schema["properties"]["value"]["enum"] == ["l", "h"]
    assert form_for(Level).parse({"value": "l"}) is Level.LOW
    assert form_for(set[Level], lists=True).parse({"value": ["h", "l"]}) == {Level.LOW, Level.HIGH}
    assert form_for(enum.Enum("Mixed", {"ONE": 1, "YES": True})).schema["properties"]["value"]["enum"] == ["1"]

    class Titled(enum.Enum):
        A = "a"
        B = A

        @property
        def label(self) -> str:
            return "The one"

    assert form_for(Titled).schema["properties"]["value"]["enumNames"] == ["The one"]
