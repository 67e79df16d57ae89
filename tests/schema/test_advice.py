"""What is most often a mistake of a handler's author is logged, with the handler's place, and taken."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from tesseron_py.actions import action
from tesseron_py.context import SyncContext
from tesseron_py.schema import docstring
from tesseron_py.schema.handler import place_of


class Size(Enum):
    SMALL = "small"


class Point(BaseModel):
    x: int = 0


NOTHING: Any = object()
MISSING = type("Missing", (str,), {})("")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "tesseron_py.schema")
    return lambda: [f"{each.levelname}: {each.getMessage()}" for each in caplog.records]


# Defaults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "default", "why"),
    [
        (int, "x", '"x", is not what its type takes (a whole number is expected, got "x")'),
        (int, "3", '"3", is not what its type takes (a whole number is expected, got "3")'),
        (Annotated[int, Field(ge=5)], 3, "3, is not what its type takes (at least 5 is expected, got 3)"),
        (int, Field(3, ge=5), "3, is not what its type takes (at least 5 is expected, got 3)"),
        (list[int], ["a"], '["a"], is not what its type takes ([0]: a whole number is expected, got "a")'),
        (str, 3, "3, is not what its type takes (a string is expected, got 3)"),
        (date | None, "soon", '"soon", is not what its type takes (a date such as 2026-01-31 is expected, got "soon")'),
        (Size, "huge", '"huge", is not what its type takes (\'small\' is expected, got "huge")'),
    ],
)
def test_a_default_that_its_own_type_refuses_is_told(
    annotation: Any, default: Any, why: str, logged: Callable[[], list[str]]
) -> None:
    def act(a: Any = default) -> None: ...

    act.__annotations__["a"] = annotation
    declared = action("act").handler(act)
    assert "default" not in declared.input_schema["properties"]["a"]
    assert logged() == [
        f"WARNING: {place_of(act)}: the default of 'a', {why}, so no agent is shown it; calls without 'a' get it all"
        " the same"
    ]


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (int, 3), (int, None), (int | None, None), (int, NOTHING), (str, MISSING), (float, 3), (float, math.inf),
        (Size, Size.SMALL), (Size, "small"), (date, date(2026, 1, 31)), (Decimal, 1), (list[int], []), (list[int], ()),
        (tuple[int, ...], (1, 2)), (set[int], frozenset({1})), (dict[str, int], {}), (Point, Point()), (Any, "x"),
        (int, Field(3, ge=1)), (list[int], Field(default_factory=list)), (bytes, b"\xff"), (str, Field("x", alias="b")),
        (str, "lone \ud800 surrogate"), (dict[str, Any], {"a": NOTHING}),
    ],
)  # fmt: skip
def test_others_are_taken_in_silence(annotation: Any, default: Any, logged: Callable[[], list[str]]) -> None:
    def act(a: Any = default) -> None: ...

    act.__annotations__["a"] = annotation
    action("act").handler(act)
    assert logged() == []


# Docstrings -------------------------------------------------------------------------------------------------------


def misspelt(text: str, ctx: SyncContext) -> str:
    """Add a todo.

    Args:
        txet: What is to be done.
        urgency: How soon.
        ctx: The context.

    Returns:
        Its id.
    """


def test_a_parameter_that_there_is_not_stays_in_the_description_and_is_told(logged: Callable[[], list[str]]) -> None:
    declared = action("act").handler(misspelt)
    assert declared.description == ("Add a todo.\n\nReturns: Its id.\n\ntxet: What is to be done.\nurgency: How soon.")
    assert declared.input_schema["properties"] == {"text": {"type": "string"}}
    place = place_of(misspelt)
    assert logged() == [
        f"WARNING: {place}: its docstring describes a parameter 'txet', which it does not have; is 'text' meant?",
        f"WARNING: {place}: its docstring describes a parameter 'urgency', which it does not have",
    ]


def bound(tenant: str, text: str, *, store: str) -> None:
    """Add a todo.

    Args:
        tenant: Whose it is.
        text: What is to be done.
        text.length: At most a line.
        store: Where it is kept.
    """


def query(point: Point) -> None:
    """Look it up.

    Args:
        point: Where.
        x: How far.
    """


class Store:
    """A store.

    Attributes:
        path: Where it is.
    """

    def put(self, text: str) -> None:
        """Put it.

        Args:
            self: The store.
            text: The text.
        """


def test_what_is_bound_and_what_is_given_as_one_value_is_no_mistake(logged: Callable[[], list[str]]) -> None:
    declared = action("act").handler(functools.partial(bound, "t", store="s"))
    assert declared.description == "Add a todo."
    declared = action("act").input(Point).handler(query)
    assert declared.description == "Look it up.\n\nx: How far."
    action("act").handler(Store().put)

    @functools.wraps(bound)
    def wrapper(*args: Any, **kwargs: Any) -> None: ...

    action("act").handler(wrapper)
    assert logged() == []


def test_without_the_parser_it_is_said_once_what_agents_get(
    monkeypatch: pytest.MonkeyPatch, logged: Callable[[], list[str]]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "griffe", None)
    docstring._parsers.cache_clear()
    try:
        action("act").handler(misspelt)
        action("act").handler(bound)
    finally:
        docstring._parsers.cache_clear()
    assert logged() == [
        "INFO: A docstring describes parameters, and agents get it whole: griffe, which reads it, is not installed;"
        ' pip install "tesseron-py[docstrings]"'
    ]
