"""JSON values against types: the messages, and what is corrected before pydantic looks."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Union
from uuid import UUID

import pytest
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NaiveDatetime,
    TypeAdapter,
    field_validator,
)
from typing_extensions import TypeAliasType

from tesseron_py.schema.corrections import Corrections
from tesseron_py.schema.generate import schemas_of
from tesseron_py.schema.issues import Issue, Mismatch, described, kind, shortened, spelled, summary
from tesseron_py.schema.validation import JsonValidator


def validator(type: Any, *, refuse_unknown: bool = True, show: bool = True) -> JsonValidator:
    adapter: TypeAdapter[Any] = TypeAdapter(type)
    schemas = schemas_of(adapter, "input" if refuse_unknown else "sample")
    return JsonValidator(
        adapter, schemas.document, schemas.published, refuse_unknown=refuse_unknown, noun="argument", show=show
    )


def issues(type: Any, value: Any, *, show: bool = True, refuse_unknown: bool = True) -> list[tuple[str, list[Any]]]:
    with pytest.raises(Mismatch) as refused:
        validator(type, show=show, refuse_unknown=refuse_unknown)(value)
    return [(issue.message, issue.path) for issue in refused.value.issues]


class Choosy(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def check(cls, n: int) -> int:
        if n == 13:
            raise AssertionError("not that one")
        if n > 100:
            raise ValueError("too many: try fewer")
        return n


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]  # noqa: UP007  # the old spelling is allowed


DAY = "a date such as 2026-01-31 is expected"
MOMENT = "a date and time such as 2026-01-31T12:00:00Z is expected"
OFFSET = "a time with an offset, such as 2026-01-31T12:00:00Z, is expected"


@pytest.mark.parametrize(
    ("type", "value", "expected", "kind"),
    [
        (complex, "x", "a complex number as a string, such as 1+2j, is expected", None),
        (complex, [1, 2], "a complex number as a string, such as 1+2j, is expected", "a list"),
        (str, 30, "a string is expected", "a number"),
        (int, "30", "a whole number is expected", "a string"),
        (int, 0.5, "a whole number is expected", "a number"),
        (int, True, "a whole number is expected", "a boolean"),
        (float, None, "a number is expected", "null"),
        (FiniteFloat, "x", "a number is expected", "a string"),
        (bool, 1, "true or false is expected", "a number"),
        (None, 1, "null is expected", None),
        (Decimal, "x", "a decimal number is expected", None),
        (bytes, 1, "a string is expected", "a number"),
        (list[int], "ab", "a list is expected", "a string"),
        (tuple[int], {}, "a list is expected", "an object"),
        (set[int], 1, "a list is expected", "a number"),
        (frozenset[int], 1, "a list is expected", "a number"),
        (dict[str, int], [], "an object is expected", "a list"),
        (Choosy, [], "an object is expected", "a list"),
        (date, "2026-13-01", DAY, None),
        (date, 7, DAY, "a number"),
        (datetime, "noon", MOMENT, None),
        (datetime, 7, MOMENT, "a number"),
        (time, "noon", "a time such as 12:30:00 is expected", None),
        (timedelta, "long", "a duration such as PT1H30M is expected", None),
        (NaiveDatetime, "2026-01-31T12:00:00Z", "a time without an offset is expected", None),
        (AwareDatetime, "2026-01-31T12:00:00", OFFSET, None),
        (UUID, "x", "a UUID is expected", None),
        (Annotated[str, Field(min_length=2)], "a", "at least 2 characters are expected", None),
        (Annotated[str, Field(max_length=2)], "abc", "at most 2 characters are expected", None),
        (Annotated[str, Field(pattern="^a{1}$")], "b", "a string that matches ^a{1}$ is expected", None),
        (Annotated[list[int], Field(min_length=1)], [], "a length of at least 1 is expected", None),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "a length of at most 1 is expected", None),
        (Annotated[int, Field(gt=1)], 1, "more than 1 is expected", None),
        (Annotated[int, Field(ge=1)], 0, "at least 1 is expected", None),
        (Annotated[int, Field(lt=1)], 1, "less than 1 is expected", None),
        (Annotated[int, Field(le=1)], 2, "at most 1 is expected", None),
        (Annotated[int, Field(multiple_of=2)], 3, "a multiple of 2 is expected", None),
        (Literal["a", "b"], "c", "'a' or 'b' is expected", None),
        (int, "x" * 100, "a whole number is expected", "a string"),
    ],
)
def test_messages_say_what_is_expected(type: Any, value: Any, expected: str, kind: str | None) -> None:
    given = json.dumps(value)
    given = given if len(given) < 60 else given[:59] + "…"
    given = {list: "a list", dict: "an object"}.get(value.__class__, given)
    assert issues(type, value) == [(f"{expected}, got {given}", [])]
    assert issues(type, value, show=False) == [(f"{expected}, got {kind}" if kind else expected, [])]


def test_an_authors_own_message_is_kept() -> None:
    assert issues(Choosy, {"n": 101}) == [("too many: try fewer", ["n"])]
    assert issues(Choosy, {"n": 13}) == [("not that one", ["n"])]


def test_field_90_every_issue_is_listed_with_its_place() -> None:
    type = dict[str, list[Choosy]]
    assert issues(type, {"a": [{"n": "x"}, {"n": 1}, {}], "b": 5}) == [
        ('a whole number is expected, got "x"', ["a", 0, "n"]),
        ("required, but missing", ["a", 2, "n"]),
        ("a list is expected, got 5", ["b"]),
    ]


def test_paths_hold_no_names_of_union_members_or_validators() -> None:
    assert issues(int | list[Choosy], [{"n": "x"}]) == [
        ('a whole number is expected, got "x"', [0, "n"]),
    ]
    assert issues(list[Pet], [{"kind": "cat", "lives": 9, "x": 1}, {"kind": "dog"}]) == [
        ('unknown argument "x"; known are "kind", "lives"', [0, "x"]),
        ("required, but missing", [1, "name"]),
    ]
    assert issues(Pet, {"kind": "cow"}) == [("'cat' or 'dog' is expected, got \"cow\"", ["kind"])]
    assert issues(int | Literal["a"] | float, "b") == [("'a' or a number is expected, got \"b\"", [])]


def test_the_key_of_a_dict_has_its_place() -> None:
    assert issues(dict[Literal["a"], int], {"b": 1}) == [("'a' is expected, got \"b\"", ["b"])]


def test_only_the_first_issues_are_spelled_out() -> None:
    found = [Issue("wrong", ["items", n, "name"]) for n in range(7)]
    assert summary(found) == "; ".join(f"items[{n}].name: wrong" for n in range(5)) + "; and 2 more"
    assert summary(found[:1]) == "items[0].name: wrong"
    assert summary([Issue("wrong", [])]) == "wrong"
    assert spelled([0, "a"]) == "[0].a"


def test_values_in_messages() -> None:
    assert described(["a"]) == '"a"'
    assert described(list(range(30))).endswith("18, 19, …")
    assert shortened(object()) == "a object"
    assert [kind(value) for value in (None, True, 1, 1.5, "", [], {})] == [
        "null", "a boolean", "a number", "a number", "a string", "a list", "an object",
    ]  # fmt: skip


def test_a_value_that_is_no_json() -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    ((message, path),) = issues(Any, deep)
    assert (message[:26], path) == ("it cannot be read as JSON:", [])


# Corrections -----------------------------------------------------------------------------------------------------


class Flags(BaseModel):
    level: Literal[0, 1, "high"]
    on: Literal[True] = True
    size: Literal[1.0, 2.5] | None = None
    mixed: Literal[1] | bool | str = "x"
    free: Literal[1] | Any = None


class Deep(BaseModel):
    flags: list[Flags] = []
    by_name: dict[str, Flags] = {}
    pair: tuple[Flags, int, str | None] | None = None
    deep: Deep | None = None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("level", True, "0, 1 or 'high' is expected, got true"),
        ("level", False, "0, 1 or 'high' is expected, got false"),
        ("on", 1, "true is expected, got 1"),
        ("on", 1.0, "true is expected, got 1"),
        ("size", True, "1.0 or 2.5 is expected, got true"),
    ],
)
def test_a_choice_that_is_equal_in_python_only_is_none(name: str, value: Any, message: str) -> None:
    flags = {"level": 1} | {name: value}
    assert issues(Flags, flags) == [(message, [name])]
    assert issues(Deep, {"flags": [flags]}) == [(message, ["flags", 0, name])]
    assert issues(Deep, {"by_name": {"a": flags}}) == [(message, ["by_name", "a", name])]
    assert issues(Deep, {"pair": [flags, 1, None]}) == [(message, ["pair", 0, name])]
    assert issues(Deep, {"deep": {"deep": {"flags": [flags]}}}) == [(message, ["deep", "deep", "flags", 0, name])]


class Row(BaseModel):
    kind: Literal[1, "row"]
    note: str | None
    count: int = 3


class Column(BaseModel):
    width: int
    rows: list[Row] = []


class Word(enum.Enum):
    A = "a"
    ONE = 1


class ByWord(BaseModel):
    word: Literal[Word.A]


class ByOne(BaseModel):
    word: Literal[Word.ONE]


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


@pytest.mark.parametrize(
    ("type", "given", "found"),
    [
        (Row | Column, {"kind": "row"}, Row(kind="row", note=None)),
        (Row | Column | None, {"kind": 1.0, "count": None}, Row(kind=1, note=None)),
        (Row | str, {"kind": 1, "note": "a"}, Row(kind=1, note="a")),
        (Column | Row, {"width": 2, "rows": [{"kind": 1, "count": None}]},
         Column(width=2, rows=[Row(kind=1, note=None)])),
        (list[Row] | list[Column], [{"width": 1}], [Column(width=1)]),
        (list[Row] | dict[str, Row], {"a": {"kind": 1}}, {"a": Row(kind=1, note=None)}),
        (dict[str, Row | int], {"a": {"kind": 1}, "b": 2.0}, {"a": Row(kind=1, note=None), "b": 2}),
        (list[tuple[Row, int] | Row], [[{"kind": 1}, 1]], [(Row(kind=1, note=None), 1)]),
        (Row | Any, {"kind": 1, "x": None}, {"kind": 1, "x": None}),
    ],
)  # fmt: skip
def test_null_is_corrected_below_unions(type: Any, given: Any, found: Any) -> None:
    assert validator(type)(given) == found


def test_a_choice_below_a_union_is_no_boolean() -> None:
    assert issues(Row | str, {"kind": True, "note": "a"}) == [("1 or 'row' is expected, got true", ["kind"])]
    assert issues(list[Column | str], [{"width": 1, "rows": [{"kind": True}]}])[0] == (
        "1 or 'row' is expected, got true", [0, "rows", 0, "kind"],
    )  # fmt: skip


def test_members_of_an_enum_in_a_literal_are_read_by_their_values() -> None:
    assert validator(Literal[Word.A, "b"])("a") is Word.A
    assert validator(Literal[Word.A, "b"])("b") == "b"
    assert validator(Literal[Word.ONE])(1.0) is Word.ONE
    assert issues(Literal[Word.ONE], True)[0] == ("1 is expected, got true", [])
    assert validator(list[Annotated[ByWord | ByOne, Field(discriminator="word")]])([{"word": "a"}, {"word": 1}]) == [
        ByWord(word=Word.A), ByOne(word=Word.ONE),
    ]  # fmt: skip


def test_a_flag_is_a_sum_of_its_members() -> None:
    assert validator(Rights)(3) == Rights.READ | Rights.WRITE
    assert validator(Rights | str)(2.0) is Rights.WRITE
    assert issues(Rights, True) == [("1 or 2 is expected, got true", [])]
    assert issues(list[Rights], [8])[0][1] == [0]


def test_an_iterable_is_validated_at_once() -> None:
    assert validator(Iterable[int])([1, 2.0]) == [1, 2]
    assert issues(Iterable[int], "12") == [('a list is expected, got "12"', [])]
    assert issues(dict[str, Iterable[int]], {"a": ["x"]}) == [('a whole number is expected, got "x"', ["a", 0])]


HUGE = 10**400


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (int, HUGE),
        (Any, -HUGE),
        (float | None, HUGE),
        (dict[str, list[float]], {"a": [1.5, HUGE]}),
        (tuple[float, int], [1.5, HUGE]),
    ],
)
def test_a_number_that_no_float_can_be_is_refused_everywhere(type: Any, value: Any) -> None:
    assert issues(type, value) == [("it cannot be read as JSON: a number is too large for a float", [])]


@pytest.mark.parametrize("type", [int, Any, float | int])
def test_an_integer_may_be_as_large_as_a_float(type: Any) -> None:
    largest = int(sys.float_info.max)
    assert validator(type)(largest) == largest
    assert validator(float)(2**1023) == 2.0**1023
    assert validator(str)(str(HUGE)) == str(HUGE)


def test_what_is_equal_in_json_is_the_choice() -> None:
    found = validator(Flags)({"level": 1.0, "on": True, "size": 1, "mixed": True, "free": True})
    assert found == Flags(level=1, size=1.0, mixed=True, free=True)
    assert validator(Deep)({"pair": [{"level": "high"}, 2.0, None]}).pair[1] == 2


def test_both_kinds_of_issue_are_listed_together() -> None:
    assert issues(Flags, {"level": True, "size": "x", "q": 1}) == [
        ("0, 1 or 'high' is expected, got true", ["level"]),
        ('1.0 or 2.5 is expected, got "x"', ["size"]),
        ('unknown argument "q"; known are "level", "on", "size", "mixed", "free"', ["q"]),
    ]


Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | Literal[1] | str | None")


def test_recursive_types_are_corrected_without_end() -> None:
    assert validator(Json)({"a": [1, "x", None]}) == {"a": [1, "x", None]}
    assert issues(list[Json], [True])[0] == ("an object, a list, 1 or a string is expected, got true", [0])


@pytest.mark.parametrize(
    "document",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        {"anyOf": [{"$ref": "#"}, {"const": 1}]},
        {"type": ["string", "boolean"]},
        {"properties": {"a": True, "b": {"$ref": "#/nowhere"}}, "required": ["a"]},
        {"prefixItems": [{"const": 0}, True], "items": {"enum": [1]}},
        {"additionalProperties": {"properties": {"a": {"type": "null"}}, "required": ["a"]}},
    ],
)
def test_any_document_can_be_read(document: dict[str, Any]) -> None:
    corrections = Corrections(document)
    for value in (None, 1.0, "x", {"a": None, "b": {}}, [None, 1.0, [2.0]]):
        corrected = corrections.apply(value)
        assert corrected == value or isinstance(corrected, dict)


def test_nested_nulls_and_missing_fields_are_corrected_too() -> None:
    class Row(BaseModel):
        name: str | None
        count: int = 3

    class Table(BaseModel):
        rows: list[Row]

    found = validator(Table)({"rows": [{"count": None}, {"name": "a"}]})
    assert found == Table(rows=[Row(name=None), Row(name="a")])


# Unknown fields ---------------------------------------------------------------------------------------------------


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = ""


class Loose(BaseModel):
    closed: Closed = Closed()
    label: str = ""


def test_without_refusal_every_model_does_as_it_says() -> None:
    assert validator(Loose, refuse_unknown=False)({"x": 1}) == Loose()
    assert issues(Loose, {"x": 1, "closed": {"nam": ""}}, refuse_unknown=False) == [
        ('unknown argument "nam"; did you mean "name"?', ["closed", "nam"])
    ]


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")
    pet: Cat | Closed | None = None


def test_below_a_union_an_open_alternative_lets_unknown_fields_through() -> None:
    assert validator(list[Anything | int])([{"a": 1}, 2]) == [Anything.model_validate({"a": 1}), 2]
    assert ('unknown argument "b"; known are "kind", "lives", "name"', ["pet", "b"]) in issues(
        Anything, {"pet": {"b": 1}}
    )
