"""Annotations as types: what type variables stand for, and values that are no types."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Generator, Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import Unpack

from tesseron_py.errors import RegistrationError
from tesseron_py.schema.signature import read_handler

T = TypeVar("T")
U = TypeVar("U")
Model = TypeVar("Model", bound=BaseModel)
Other = TypeVar("Other", bound=BaseModel)

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


class Store(Generic[T]):
    def add(self, item: T, more: list[T]) -> None: ...


class Lists(Store[list[U]], Generic[U]): ...


class Same(Store[U]): ...


class SameName(Store[list[T]], Generic[T]):
    def put(self, one: T) -> None: ...


class Numbers(Lists[int]): ...


class Plain(Same[int]): ...


class Below(Plain): ...


class Named(SameName[str]): ...


class Point(BaseModel):
    x: int


class Color(Enum):
    RED = "r"


class Repository(Generic[Model]):
    def save(self, item: Model) -> None: ...


class Cached(Repository[Other]): ...


class Points(Cached[Point]): ...


class Both(Plain, Points): ...


def published(fn: Callable[..., Any]) -> dict[str, Any]:
    return dict(read_handler(fn, name="act").input_schema["properties"])


@pytest.mark.parametrize(
    ("owner", "item"),
    [
        (Numbers(), list_of(INTEGER)),
        (Plain(), INTEGER),
        (Below(), INTEGER),
        (Both(), INTEGER),
        (Named(), list_of(STRING)),
        (Store[str](), STRING),
        (Lists[str](), list_of(STRING)),
        (Same[str](), STRING),
        (SameName[int](), list_of(INTEGER)),
    ],
)
def test_a_type_variable_is_followed_through_every_class_between(owner: Any, item: dict[str, Any]) -> None:
    assert published(owner.add) == {"item": item, "more": list_of(item)}


def test_a_variable_of_two_classes_is_what_it_is_where_the_method_stands() -> None:
    assert published(Named().put) == {"one": STRING}


def test_a_bound_two_classes_up_is_the_type_that_was_given() -> None:
    for owner in (Points(), Both()):
        signature = read_handler(owner.save, name="act")
        assert signature.input_schema["properties"]["item"]["required"] == ["x"]
        assert signature.bind({"item": {"x": 1}}).values == {"item": Point(x=1)}


def test_what_nothing_gives_is_still_refused() -> None:
    for owner in (Store(), Same(), Lists()):
        with pytest.raises(RegistrationError, match=r"has the type variable [TU], of which nothing says"):
            read_handler(owner.add, name="act")


# Values -----------------------------------------------------------------------------------------------------------


def made(source: str) -> Any:
    """The function of one line, in a file of its own."""
    name = f"{source}.py"
    linecache.cache[name] = (len(source), None, [source], name)
    scope: dict[str, Any] = {
        "Generator": Generator,
        "Iterator": Iterator,
        "Unpack": Unpack,
        "date": date,
        "Color": Color,
        "Point": Point,
        "Path": Path,
        "Decimal": Decimal,
    }
    exec(compile(source, name, "exec", dont_inherit=True), scope)
    return scope["fn"]


@pytest.mark.parametrize(
    ("source", "message", "corrected"),
    [
        ("fn(a: [int])", "'[int]' cannot be resolved (a list is no type); did you mean 'list[int]'?", "a: list[int]"),
        ("fn(a: '[int]')", "did you mean 'list[int]'?", "a: list[int]"),
        ("fn(a: {'x': int} = None)", "(a dict is no type); did you mean 'dict[str, int]'?", "a: dict[str, int] = None"),
        ("fn(a: {str: int})", "did you mean 'dict[str, int]'?", "a: dict[str, int]"),
        ("fn(a: {int})", "(a set is no type); did you mean 'set[int]'?", "a: set[int]"),
        ("fn(a: [])", "(a list is no type); write a type", None),
        ("fn(a: [int, str])", "'[int, str]' cannot be resolved (a list is no type); write a type", None),
        ("fn(a: {1, 2})", "'{1, 2}' cannot be resolved (a set is no type); write a type", None),
        ("fn() -> {1: 2}", "the return annotation '{1: 2}' cannot be resolved (a dict is no type)", None),
        ("fn() -> [int]", "did you mean 'list[int]'?", "-> list[int]"),
        ("fn(a: list[[int]])", "has a type JSON has no values for", None),
    ],
)
def test_a_value_in_place_of_a_type_is_refused_with_the_type(source: str, message: str, corrected: str | None) -> None:
    text = refusal(source)
    assert message in text
    assert ("  write:  " in text) == (corrected is not None)
    assert corrected is None or corrected in text.partition("  write:  ")[2]


def refusal(source: str) -> str:
    with pytest.raises(RegistrationError) as refused:
        read_handler(
            made(f"def {source}: yield" if "Iterator" in source or "Gen" in source else f"def {source}: ..."),
            name="act",
        )
    return str(refused.value)


@pytest.mark.parametrize(
    ("source", "corrected"),
    [
        ("fn() -> 'Iterator[tuple[int, str]]'", "fn() -> list[tuple[int, str]]"),
        ("fn() -> 'Generator[dict[str, int], None, None]'", "fn() -> list[dict[str, int]]"),
        ("fn() -> 'typing.Iterator[int]'", "fn() -> list[int]"),
        ("fn() -> 'Iterator[int'", "fn() -> list[…]"),
        ("fn() -> 'Iterator'", "fn() -> list[…]"),
        ("fn(*rest: 'Unpack[tuple[int, str]]')", "fn(rest: tuple[int, str])"),
        ("fn(*rest: '*tuple[int, str]')", "fn(rest: tuple[int, str])"),
        ("fn(*rest: 'int')", "fn(rest: list[int])"),
        ("fn(a=date(2020, 1, 1))", "fn(a: date = date(2020, 1, 1))"),
        ("fn(a=Color.RED)", "fn(a: Color = Color.RED)"),
        ("fn(a=Point(x=1))", "fn(a: Point = Point(x=1))"),
        ("fn(a=Path('x'))", "fn(a: Path = Path('x'))"),
        ("fn(a=Decimal('1'))", "fn(a: Decimal = Decimal('1'))"),
        ("fn(a=object())", "fn(a: str = object())"),
        ("fn(a=len)", "fn(a: str = len)"),
    ],
)
def test_what_is_written_instead_can_be_written(source: str, corrected: str) -> None:
    assert refusal(source).partition("  write:  def ")[2] == corrected
