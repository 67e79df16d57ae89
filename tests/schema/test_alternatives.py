"""What an agent reads of an argument that fits no alternative of a union: how to mend it, not all there is."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Discriminator, Field, SecretStr, Tag, field_validator
from typing_extensions import TypedDict

from tesseron_py.errors import InvalidInput
from tesseron_py.schema.issues import MOST
from tesseron_py.schema.signature import read_handler


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Cow(BaseModel):
    kind: Literal["cow"]
    litres: float


class Cash(BaseModel):
    amount: float


class Card(BaseModel):
    number: str


class Transfer(TypedDict):
    iban: str
    name: str
    purpose: str


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Shirt(BaseModel):
    size: Size
    collar: int


class Sock(BaseModel):
    size: Size
    holes: int


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def check(cls, n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n


class Words(BaseModel):
    n: str


class Secret(BaseModel):
    kind: SecretStr


class Tree(BaseModel):
    left: Tree | Cash


Plain = Cat | Dog
Tagged = Annotated[Cat | Dog, Field(discriminator="kind")]


def by_kind(value: Any) -> str | None:
    return {int: "number", str: "text"}.get(type(value))


Told = Annotated[Annotated[int, Tag("number")] | Annotated[str, Tag("text")], Discriminator(by_kind)]


def found(type: Any, value: Any) -> list[tuple[str, list[Any]]]:
    def act(x: Any) -> None: ...

    act.__annotations__["x"] = type
    with pytest.raises(InvalidInput) as refused:
        read_handler(act, name="act").bind({"x": value})
    assert all(set(issue) == {"message", "path"} for issue in refused.value.data)
    assert all(issue["path"][0] == "x" for issue in refused.value.data)
    return [(issue["message"], issue["path"][1:]) for issue in refused.value.data]


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        # A tag tells.
        (Plain, {"kind": "dog"}, [("required, but missing", ["name"])]),
        (
            Plain,
            {"kind": "dog", "nam": "x"},
            [("required, but missing", ["name"]), ('unknown argument "nam"; did you mean "name"?', ["nam"])],
        ),
        (Plain, {"kind": "cat", "lives": "x"}, [('a whole number is expected, got "x"', ["lives"])]),
        (Plain, {"kind": "cat", "x": 1}, [('unknown argument "x"; known are "kind", "lives"', ["x"])]),
        (Plain, {"kind": "cow"}, [("'cat' or 'dog' is expected, got \"cow\"", ["kind"])]),
        (Plain, {"name": "x"}, [("required, but missing: 'cat' or 'dog'", ["kind"])]),
        (Plain, {}, [("required, but missing: 'cat' or 'dog'", ["kind"])]),
        (Cat | Dog | Cow, {"kind": 1}, [("'cat', 'dog' or 'cow' is expected, got 1", ["kind"])]),
        (Cat | Dog | Cow | None, {"kind": "cow"}, [("required, but missing", ["litres"])]),
        (Plain, 3, [("an object is expected, got 3", [])]),
        # So does a discriminator's.
        (Tagged, {"kind": "cow"}, [("'cat' or 'dog' is expected, got \"cow\"", ["kind"])]),
        (Tagged, {"kind": None}, [("'cat' or 'dog' is expected, got null", ["kind"])]),
        (Tagged, {}, [("required, but missing: 'cat' or 'dog'", ["kind"])]),
        (Tagged, {"kind": "dog"}, [("required, but missing", ["name"])]),
        (Tagged, [], [("an object is expected, got a list", [])]),
        (Dog | Cow, {}, [("required, but missing: 'dog' or 'cow'", ["kind"])]),
        (
            Shirt | Sock,
            {},
            [
                ("required, but missing: 'small' or 'large'", ["size"]),
                ("either (collar: required, but missing) or (holes: required, but missing)", []),
            ],
        ),
        (Tagged | int, {"kind": "cow"}, [("'cat' or 'dog' is expected, got \"cow\"", ["kind"])]),
        (Tagged | int, "x", [('an object or a whole number is expected, got "x"', [])]),
        (
            list[Tagged],
            [{"kind": "cow"}, {}, {"kind": "dog"}],
            [
                ("'cat' or 'dog' is expected, got \"cow\"", [0, "kind"]),
                ("required, but missing: 'cat' or 'dog'", [1, "kind"]),
                ("required, but missing", [2, "name"]),
            ],
        ),
        (Told, 1.5, [("it fits none of the alternatives, got 1.5", [])]),
        # What is there tells.
        (
            Cash | Card | None,
            {"amont": "3.5"},
            [("required, but missing", ["amount"]), ('unknown argument "amont"; did you mean "amount"?', ["amont"])],
        ),
        (Cash | Card | None, {"amount": "3.5"}, [('a number is expected, got "3.5"', ["amount"])]),
        (
            Cash | Transfer,
            {"iban": "x", "name": "y"},
            [("required, but missing", ["purpose"])],
        ),
        (Tree, {"left": {"left": {"amount": "x"}}}, [('a number is expected, got "x"', ["left", "left", "amount"])]),
        (Even | Words, {"n": 1}, [("either (n: odd) or (n: a string is expected, got 1)", [])]),
        # A common choice is none that tells.
        (
            Shirt | Sock,
            {"size": "huge", "collar": "x"},
            [
                ("'small' or 'large' is expected, got \"huge\"", ["size"]),
                ('a whole number is expected, got "x"', ["collar"]),
            ],
        ),
        # The kind tells.
        (int | list[int], [1, "a"], [('a whole number is expected, got "a"', [1])]),
        (list[int] | dict[str, int], {"a": "b"}, [('a whole number is expected, got "b"', ["a"])]),
        (list[int] | dict[str, int], 3, [("a list or an object is expected, got 3", [])]),
        (
            list[Cat | int] | Dog,
            [{"kind": "cat", "lives": "x"}],
            [('a whole number is expected, got "x"', [0, "lives"])],
        ),
        (
            Annotated[list[int], Field(min_length=2)] | int,
            [1],
            [("a length of at least 2 is expected, got a list", [])],
        ),
        (Annotated[int, Field(ge=3)] | list[int], 1, [("at least 3 is expected, got 1", [])]),
        (date | int, "noon", [('a date such as 2026-01-31 is expected, got "noon"', [])]),
        # Nothing tells.
        (int | Literal["all"] | list[int], "al", [("a whole number, 'all' or a list is expected, got \"al\"", [])]),
        (int | float | str, True, [("a number or a string is expected, got true", [])]),
        (Size | int, [], [("'small' or 'large', or a whole number is expected, got a list", [])]),
        (
            Annotated[str, Field(min_length=5)] | Literal["off"] | int,
            "on",
            [("at least 5 characters or 'off' is expected, got \"on\"", [])],
        ),
        (Cash | Card, {}, [("either (amount: required, but missing) or (number: required, but missing)", [])]),
        (
            Cash | Card,
            {"amount": 3, "number": "4"},
            [('either (number: unknown argument "number") or (amount: unknown argument "amount")', [])],
        ),
        (list[int] | list[bool], ["x"], [('a whole number, or true or false is expected, got "x"', [0])]),
        (
            list[int] | list[str],
            [1, "a"],
            [('either ([1]: a whole number is expected, got "a") or ([0]: a string is expected, got 1)', [])],
        ),
        # Names of entries.
        (
            dict[Literal["a"], int | str],
            {"b": []},
            [("'a' is expected, got \"b\"", ["b"]), ("a whole number or a string is expected, got a list", ["b"])],
        ),
        (dict[str, Cash | int], {"b": {}}, [("required, but missing", ["b", "amount"])]),
    ],
)
def test_a_value_that_fits_no_alternative_is_told_how_to_be_mended(
    type: Any, value: Any, expected: list[tuple[str, list[Any]]]
) -> None:
    assert found(type, value) == expected


def test_all_faults_of_the_nearest_are_listed() -> None:
    class Order(BaseModel):
        kind: Literal["order"]
        sku: str
        amount: int
        lines: list[Cash | Card]

    assert found(Cat | Order, {"kind": "order", "amount": "x", "lines": [{"number": 1}, 5]}) == [
        ("required, but missing", ["sku"]),
        ('a whole number is expected, got "x"', ["amount"]),
        ("a string is expected, got 1", ["lines", 0, "number"]),
        ("an object is expected, got 5", ["lines", 1]),
    ]


def test_many_alternatives_are_not_all_told() -> None:
    fields = [TypedDict(f"T{n}", {f"name_of_{n}" * 2: int}) for n in range(7)]
    union = fields[0]
    for each in fields[1:]:
        union = union | each
    ((message, path),) = found(union, {})
    assert path == []
    assert message.count("required") == 4
    assert message.endswith("or one of 3 more")


def test_a_secret_tag_is_not_shown() -> None:
    assert found(Cat | Secret, {"kind": 5}) == [("a string is expected, got a number", ["kind"])]


def test_an_unknown_argument_never_passes_for_an_alternative() -> None:
    class Left(BaseModel):
        a: int = 0

    class Right(BaseModel):
        b: int = 0

    class Open(BaseModel):
        model_config = {"extra": "allow"}
        side: Left | Right

    assert found(Open, {"side": {"a": 1, "b": 2, "zz": 3}, "more": 1}) == [
        ('unknown argument "zz"; known are "a", "b"', ["side", "zz"]),
        ('either (b: unknown argument "b") or (a: unknown argument "a")', ["side"]),
    ]


class Left(BaseModel):
    kids: list[Left | Right] = []
    left: int = 0


class Right(BaseModel):
    kids: list[Left | Right] = []
    right: int = 0


def test_no_more_is_told_of_a_union_in_a_union_than_can_be_read() -> None:
    """Each level is tried in two ways, so that a hundred characters have thousands of faults."""

    def act(value: Left | Right) -> None: ...

    value: dict[str, Any] = {"right": "x"}
    for _ in range(11):
        value = {"kids": [value]}
    with pytest.raises(InvalidInput) as caught:
        read_handler(act, name="act").bind({"value": value})
    assert len(caught.value.data) < 50
    assert "more faults, which are too many to tell" in caught.value.data[-1]["message"]


def test_of_a_long_list_the_first_faults_are_told() -> None:
    def act(values: list[int]) -> None: ...

    with pytest.raises(InvalidInput) as caught:
        read_handler(act, name="act").bind({"values": ["x"] * 1500})
    assert len(caught.value.data) == MOST + 1
    assert caught.value.data[MOST - 1]["path"] == ["values", MOST - 1]
    assert caught.value.data[MOST] == {"message": "500 more faults, which are too many to tell", "path": []}
