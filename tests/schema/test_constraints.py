"""Constraints that can never hold: refused where they are declared, and not with every call."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import annotated_types
import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, EmailStr, Field, HttpUrl, SecretStr, conint, constr
from typing_extensions import TypeAliasType

from tesseron_py.errors import RegistrationError
from tesseron_py.schema.signature import read_handler


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

    with pytest.raises(RegistrationError, match="the input type Named cannot be held to: name: the constraint ge=3 is"):
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
