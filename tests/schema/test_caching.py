"""What is built of a type is built once, and of types that differ apart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from tesseron_py.schema.caching import cached_by_type
from tesseron_py.schema.elicitation import form_for


class First(BaseModel):
    x: int


class Second(BaseModel):
    x: int


def made() -> tuple[Any, list[Any]]:
    built: list[Any] = []

    @cached_by_type
    def build(schema_type: Any) -> int:
        built.append(schema_type)
        return len(built)

    return build, built


@pytest.mark.parametrize(
    "of",
    [
        lambda: First,
        lambda: list[int],
        lambda: First | Second,
        lambda: Literal["a", 1],
        lambda: dict[str, Literal["a"] | None],
        lambda: Annotated[int, "a number"],
    ],
)
def test_one_type_is_built_once(of: Any) -> None:
    build, built = made()
    assert build(of()) == build(of()) == 1
    assert built == [of()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (First | Second, Second | First),
        (Literal["keep", "delete"], Literal["delete", "keep"]),
        (list[First | Second], list[Second | First]),
        (dict[str, list[Literal[1, 2]]], dict[str, list[Literal[2, 1]]]),
    ],
)
def test_types_that_are_equal_and_not_the_same_are_built_apart(one: Any, other: Any) -> None:
    build, _ = made()
    assert one == other
    assert (build(one), build(other), build(one)) == (1, 2, 1)


def test_what_cannot_be_hashed_is_built_each_time() -> None:
    build, _ = made()
    assert [build(Annotated[int, Field(json_schema_extra={"a": 1})]) for _ in range(2)] == [1, 2]
    assert build(Annotated[int, {"a": 1}]) == 3


def test_an_error_is_the_authors_own() -> None:
    @cached_by_type
    def fails(schema_type: Any) -> None:
        raise TypeError(schema_type)

    with pytest.raises(TypeError, match="int"):
        fails(int)


def test_a_form_shows_its_own_order() -> None:
    for choices in (("keep", "delete"), ("delete", "keep")):
        assert form_for(Literal[choices]).schema["properties"]["value"]["enum"] == list(choices)
