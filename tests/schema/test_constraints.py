"""Constraints that can never hold: refused where they are declared, and not with every call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import annotated_types
import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    SecretStr,
    TypeAdapter,
    conint,
    constr,
)
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, TypedDict

from tesseron_py.errors import RegistrationError
from tesseron_py.schema.constraints import check_constraints
from tesseron_py.schema.signature import read_handler
from tesseron_py.schema.unusable import UnusableType


class Named(BaseModel):
    count: int = 0
    name: Annotated[str, Field(ge=3)] = "a"


class Tree(BaseModel):
    children: list[Tree] = []
    depth: Annotated[int, Field(ge=1)] = 1


class BadTree(BaseModel):
    children: list[BadTree] = []
    depth: Annotated[int, Field(min_length=1)] = 1


Nested = TypeAliasType("Nested", "list[Nested] | str")


def declare(type: Any) -> Any:
    def act(a: Any, b: list[str]) -> int: ...

    act.__annotations__["a"] = type
    return read_handler(act, name="act")


def applied(constraint: str, meant: str, to: str) -> str:
    return (
        f"the constraint {constraint} is for {meant}, and cannot be applied to {to}; take it away, or put it at the"
        " type that it is for"
    )


NUMBERS, SIZED = "numbers", "texts and lists"


@pytest.mark.parametrize(
    ("type", "message"),
    [
        (Annotated[str, Field(ge=3)], applied("ge=3", NUMBERS, "str")),
        (Annotated[str | None, Field(gt=3)], applied("gt=3", NUMBERS, "str")),
        (Annotated[int | str, Field(gt=3)], applied("gt=3", NUMBERS, "str")),
        (Annotated[str, Field(multiple_of=3)], applied("multiple_of=3", NUMBERS, "str")),
        (Annotated[str, Field(max_digits=3)], applied("max_digits=3", NUMBERS, "str")),
        (Annotated[list[int], Field(le=3)], applied("le=3", NUMBERS, "list")),
        (Annotated[dict[str, int], Field(lt=3)], applied("lt=3", NUMBERS, "dict")),
        (Annotated[Literal["a"], Field(ge=3)], applied("ge=3", NUMBERS, "Literal['a']")),
        (list[Annotated[str, Field(min_length=1), Field(ge=3)]], applied("ge=3", NUMBERS, "str")),
        (Annotated[str, BeforeValidator(str), Field(ge=3)], applied("ge=3", NUMBERS, "str")),
        (Annotated[Nested, Field(ge=3)], applied("ge=3", NUMBERS, "list")),
        (Annotated[int, Field(pattern="a"), Field(ge=3)], applied("pattern='a'", "texts", "int")),
        (Annotated[int, Field(min_length=2)], applied("min_length=2", SIZED, "int")),
        (Annotated[float, Field(max_length=3)], applied("max_length=3", SIZED, "float")),
        (Annotated[str | int, Field(max_length=3)], applied("max_length=3", SIZED, "int")),
        (Annotated[int, Field(pattern="a")], applied("pattern='a'", "texts", "int")),
        (Named, f"name: {applied('ge=3', NUMBERS, 'str')}"),
        (dict[str, Named], f"name: {applied('ge=3', NUMBERS, 'str')}"),
        (BadTree, f"depth: {applied('min_length=1', SIZED, 'int')}"),
        (Annotated[str, Field(pattern="(")], "the pattern '(' is no regular expression: unclosed group"),
        (Annotated[str, Field(pattern="[a-")] | None, "the pattern '[a-' is no regular expression: unclosed character"),
        (
            Annotated[str, Field(pattern="a(?=b)")],
            "the pattern 'a(?=b)' has what pydantic's own regular expressions have not: look-around, including"
            " look-ahead and look-behind, is not supported; give it as re.compile(…), or write it without",
        ),
    ],
)
def test_a_constraint_that_can_never_hold_is_refused_where_it_is_declared(type: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        declare(type)
    said = str(refused.value)
    assert f"the parameter 'a': {message}" in said
    assert "found:  def act(" in said
    assert "write:" not in said
    assert "JSON has no values" not in said


def test_an_input_type_with_one_is_refused_too() -> None:
    def act(query: Named) -> None: ...

    with pytest.raises(RegistrationError, match="the input type Named cannot be used: name: the constraint ge=3 is"):
        read_handler(act, name="act", input_type=Named)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (Annotated[str, AfterValidator(len), Field(ge=3)], "abc"),
        (Annotated[str, AfterValidator(str.strip), Field(pattern="a")], " a "),
        (Annotated[str, Field(ge="b")], "c"),
        (Annotated[str, Field(pattern=re.compile("a(?=b)"))], "ab"),
        (Annotated[str | list[int], Field(max_length=3)], [1]),
        (Annotated[str, annotated_types.Len(3)], "abc"),
        (Annotated[int, Field(ge=3)], 3),
        (Annotated[int | None, Field(gt=3)], 4),
        (Annotated[int | float, Field(gt=3)], 4.5),
        (Annotated[int, BeforeValidator(int), Field(ge=1)], "3"),
        (Annotated[int, annotated_types.Predicate(lambda n: n > 3)], 4),
        (Annotated[Literal[1, 2], Field(ge=1)], 1),
        (Annotated[Any, Field(ge=3)], 3),
        (Annotated[Fraction, Field(gt=3)], "7/2"),
        (Annotated[Decimal, Field(max_digits=3)], "1.5"),
        (Annotated[date, Field(gt=date(2020, 1, 1))], "2026-01-31"),
        (Annotated[timedelta, Field(gt=timedelta(1))], "P2D"),
        (Annotated[list[int], Field(min_length=1)], [1]),
        (Annotated[set[int], Field(min_length=1)], [1]),
        (Annotated[dict[str, int], Field(min_length=1)], {"a": 1}),
        (Annotated[HttpUrl, Field(max_length=33)], "https://example.com/"),
        (Annotated[SecretStr, Field(min_length=3)], "abc"),
        (EmailStr, "a@example.com"),
        (conint(ge=3), 3),
        (constr(pattern="a"), "a"),
        (Tree, {"children": [{}]}),
    ],
)
def test_constraints_that_can_hold_are_taken(type: Any, value: Any) -> None:
    declare(type).bind({"a": value, "b": []})


NONE_LEFT = "no value is left between"


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)

    a: int


@dataclass
class Point:
    x: int = 1


@dataclass(frozen=True)
class Fixed:
    x: int = 1


class Pair(NamedTuple):
    left: list[int]


class Keys(TypedDict):
    x: int


class Holding(BaseModel):
    inner: set[list[int]] = set()


Lists = TypeAliasType("Lists", "list[Lists] | dict[str, int]")


@pytest.mark.parametrize(
    ("type", "message"),
    [
        (Annotated[int, Field(ge=5, le=1)], f"{NONE_LEFT} ge=5 and le=1; change one"),
        (Annotated[int, Field(ge=5), Field(le=1)], f"{NONE_LEFT} ge=5 and le=1"),
        (Annotated[int | None, Field(ge=5, le=1)], f"{NONE_LEFT} ge=5 and le=1"),
        (Annotated[int | float, Field(gt=5, le=1)], f"{NONE_LEFT} gt=5 and le=1"),
        (Annotated[int, Field(gt=5, lt=6)], f"{NONE_LEFT} gt=5 and lt=6"),
        (Annotated[float, Field(gt=5, le=5)], f"{NONE_LEFT} gt=5"),
        (Annotated[float, Field(ge=5, lt=5)], f"{NONE_LEFT} ge=5"),
        (Annotated[Decimal, Field(ge=5, lt=1)], f"{NONE_LEFT} ge=5 and lt=1"),
        (Annotated[str, Field(min_length=3, max_length=2)], f"{NONE_LEFT} min_length=3 and max_length=2"),
        (Annotated[list[int], Field(min_length=3, max_length=2)], f"{NONE_LEFT} min_length=3 and max_length=2"),
        (Annotated[date, Field(ge=date(2021, 1, 1), le=date(2020, 1, 1))], f"{NONE_LEFT} ge=datetime.date(2021, 1, 1)"),
        (set[dict[str, int]], "a set has no room for dicts, which Python cannot hash; use a list"),
        (frozenset[list[int]], "a frozenset has no room for lists, which Python cannot hash; use a list"),
        (set[Named], "a set has no room for Named, which"),
        (set[Point], "a set has no room for Point, which"),
        (set[Keys], "a set has no room for dicts, which"),
        (set[dict[str, int] | list[int]], "a set has no room for dicts, which"),
        (set[tuple[int, list[int]]], "a set has no room for lists, which"),
        (set[Pair], "a set has no room for lists, which"),
        (set[Lists], "a set has no room for lists, which"),
        (set[Annotated[list[int], Field(max_length=3)]], "a set has no room for lists, which"),
        (Holding, "inner: a set has no room for lists, which"),
    ],
)
def test_a_type_that_no_value_fits_is_refused_where_it_is_declared(type: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        declare(type)
    assert f"the parameter 'a': {message}" in str(refused.value)


AWARE, NAIVE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1)  # a naive one


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (Annotated[int, Field(ge=5, le=5)], 5),
        (Annotated[int, Field(gt=5, lt=7)], 6),
        (Annotated[float, Field(gt=5, lt=6)], 5.5),
        (Annotated[float, Field(ge=5, le=5)], 5),
        (Annotated[datetime, Field(ge=NAIVE, le=NAIVE)], "2030-01-01T00:00:00"),
        (set[Frozen], [{"a": 1}]),
        (set[Fixed], [{"x": 1}]),
        (set[dict[str, int] | int], [1]),
        (set[tuple[list[int], ...]], [[]]),
        (set[tuple[int, str]], [[1, "a"]]),
        (set[Annotated[Any, AfterValidator(str)]], [1]),
    ],
)
def test_a_type_that_some_value_fits_is_taken(type: Any, value: Any) -> None:
    declare(type).bind({"a": value, "b": []})


def test_limits_that_cannot_be_compared_are_left_to_pydantic() -> None:
    assert declare(Annotated[datetime, Field(ge=AWARE, le=NAIVE)])


def test_a_reference_is_followed_once() -> None:
    def after(schema: core_schema.CoreSchema) -> core_schema.CoreSchema:
        return TypeAdapter(Annotated[Any, Field(ge=3)]).core_schema | {"schema": schema}

    loop = core_schema.union_schema([core_schema.definition_reference_schema("loop"), core_schema.str_schema()])
    found = core_schema.definitions_schema(
        after(core_schema.definition_reference_schema("loop")), [loop | {"ref": "loop"}]
    )
    with pytest.raises(UnusableType, match="the constraint ge=3 is for numbers, and cannot be applied to str"):
        check_constraints(found)
