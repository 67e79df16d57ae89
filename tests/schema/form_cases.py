"""Generated types to ask for, values of them, and what a person who means a value fills in; and what is none.

Every kind of field says how its value is written in a form, and which answers are none of its: nothing here looks into
the code that reads them.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import strategies as st
from pydantic import ConfigDict, Field, TypeAdapter, create_model

NOTHING: Any = object()
"""What is not filled in at all."""


class Size(enum.StrEnum):
    S = "s.mall"
    L = "large"


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2

    @property
    def label(self) -> str:
        return f"Level {self.value}"


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    SHARE = 4


@dataclass(frozen=True)
class Kind:
    """One kind of field.

    Attributes:
        type: Its annotation.
        values: Values that a person can give.
        texts: Of a choice or several, the published texts by the value of each.
        several: Several may be chosen.
        wrong: Answers that are none, whatever else is given.
    """

    type: Any
    values: st.SearchStrategy[Any]
    wrong: tuple[Any, ...]
    texts: Mapping[Any, str] = field(default_factory=dict)
    several: bool = False

    def written(self, value: Any) -> Any:
        """A value as the one answer of a field."""
        if self.several:
            members = [each for each in Access if each in value] if isinstance(value, Access) else value
            return [self.texts[each] for each in self.in_order(members)]
        text = self.texts[value] if self.texts else json.loads(TypeAdapter(self.type).dump_json(value))
        # A number with three places may be a group of thousands, and is written with one more.
        return f"{text}0" if self.type is Decimal and re.fullmatch(r"-?[1-9]\d{0,2}\.\d{3}", text) else text

    def in_order(self, chosen: Any) -> list[Any]:
        return [each for each in self.texts if each in chosen] if isinstance(chosen, (set, frozenset)) else list(chosen)


SIZES = {Size.S: "s.mall", Size.L: "large"}
PAIR = {"x": "x", 1: "1"}
OTHER = (None, [], {}, {"x": 1}, ["a"])
NO_TEXT = (7, True, *OTHER)


def chosen(texts: Mapping[Any, str]) -> st.SearchStrategy[list[Any]]:
    """Some of the choices, in their order."""
    return st.sets(st.sampled_from(list(texts))).map(lambda some: [each for each in texts if each in some])


NOT_CHOSEN = ("large", 5, True, {}, ["huge"], [["large"]], [None], None)
KINDS = (
    Kind(str, st.text(max_size=6), NO_TEXT),
    Kind(Annotated[str, Field(min_length=2, max_length=4)], st.text("ab ", min_size=2, max_size=4),
         ("a", "abcde", "", *NO_TEXT)),
    Kind(int, st.integers(-(10**20), 10**20), ("x", "1.0", "1,0", "+1", "01", "", " ", 1.5, True, *OTHER)),
    Kind(Annotated[int, Field(ge=-3, lt=10)], st.integers(-3, 9), (-4, 10, "10", "-4", "²", False, *OTHER)),
    Kind(float, st.floats(allow_nan=False, allow_infinity=False),
         ("1.500", "-12.345", "1,5", "NaN", "Infinity", "1e999", ".5", "", True, *OTHER)),
    Kind(Annotated[float, Field(gt=0, le=1.5)], st.floats(0.01, 1.5), (0, -1, 1.6, "0", "1.6", *OTHER)),
    Kind(bool, st.booleans(), (1, 0, 1.0, "maybe", "y", "on", "", "2", *OTHER)),
    Kind(date, st.dates(date(1000, 1, 1)), ("2026-13-01", "tomorrow", "", 20260101, True, *OTHER)),
    Kind(timedelta, st.timedeltas(timedelta(0), timedelta(9)), ("1 hour", "10:30", "P1M", "", True, *OTHER)),
    Kind(UUID, st.uuids(), ("7", "", 7, *OTHER)),
    Kind(Decimal, st.decimals(-(10**6), 10**6, places=3), ("1,5", "1.500", "x", "", "NaN", "1_0", "+1", True, *OTHER)),
    Kind(Size, st.sampled_from(Size), ("small", "LARGE", "", 0, *NO_TEXT), SIZES),
    Kind(Level, st.sampled_from(Level), ("3", "one", "", 3, True, *OTHER), {Level.ONE: "1", Level.TWO: "2"}),
    Kind(Literal["x", 1, 2.5], st.sampled_from(["x", 1, 2.5]), ("y", "", "1.0", 2, True, *OTHER), {**PAIR, 2.5: "2.5"}),
    Kind(set[Size], st.sets(st.sampled_from(Size)), (["large", "large"], *NOT_CHOSEN), SIZES, several=True),
    Kind(frozenset[Literal["x", 1]], st.frozensets(st.sampled_from(["x", 1])), (["x", "x"], *NOT_CHOSEN), PAIR,
         several=True),
    Kind(list[Size], chosen(SIZES), (["large", "large"], *NOT_CHOSEN), SIZES, several=True),
    Kind(Annotated[list[Literal["x", 1]], Field(min_length=1, max_length=1)], st.sampled_from([["x"], [1]]),
         ([], ["x", "1"], *NOT_CHOSEN), PAIR, several=True),
    Kind(Access, st.integers(0, 7).map(Access), (["READ", "READ"], 8, *NOT_CHOSEN),
         {each: str(each.name) for each in Access}, several=True),
)  # fmt: skip
NAMES = ("a", "some_name", "mixedCase", "b2", "ü", "z_")


@dataclass
class Part:
    """One field of a generated type: of a kind, or with fields of its own; `value` is what is meant with it."""

    name: str
    kind: Kind | None
    optional: bool
    value: Any
    parts: list[Part] = field(default_factory=list)
    type: Any = None
    default: Any = None

    def answer(self, prefix: str, *, lists: bool) -> dict[str, Any]:
        """What is filled in for it."""
        key = f"{prefix}{self.name}"
        if self.value is NOTHING:
            return {}
        if self.kind is None:
            return {name: each for part in self.parts for name, each in part.answer(f"{key}.", lists=lists).items()}
        if self.kind.several and not lists:
            texts = self.kind.written(self.value)
            return {f"{key}.{text}": text in texts for text in self.kind.texts.values()}
        return {key: self.kind.written(self.value)}

    def is_blank(self) -> bool:
        """Whether it is what an empty text or box says, where nothing else stood."""
        assert self.kind is not None
        has_blank = self.kind.type in (str, bool) or self.kind.several
        return has_blank and not self.value and not (self.optional and self.default)

    def is_default(self) -> bool:
        return self.optional and self.default is not None and self.value == self.default

    def meant(self) -> Any:
        if self.kind is not None:
            return self.value
        values = {part.name: part.meant() for part in self.parts if part.value is not NOTHING}
        return self.type(**values)


@dataclass
class Case:
    """A type, the value of it that is meant, and its fields."""

    type: Any
    parts: list[Part]

    @property
    def value(self) -> Any:
        return Part("", None, False, None, self.parts, self.type).meant()

    def answer(self, *, lists: bool) -> dict[str, Any]:
        return {name: each for part in self.parts for name, each in part.answer("", lists=lists).items()}

    def leaves(self) -> list[Leaf]:
        """The fields that are of a kind."""
        return _leaves("", self.parts, must=True)


@dataclass
class Leaf:
    """A field of a form: its name, and whether the form cannot go without it."""

    key: str
    kind: Kind
    must: bool

    def wrongs(self, *, lists: bool) -> list[dict[str, Any]]:
        """Answers for it that are none; `NOTHING` for what is not there."""
        if self.kind.several and not lists:
            first, *_ = texts = list(self.kind.texts.values())
            whole = {f"{self.key}.{text}": True for text in texts}
            wrong = [{**whole, f"{self.key}.{first}": each} for each in ("maybe", 1, 0, [], {"x": 1}, [True])]
            wrong += [{**whole, f"{self.key}.huge": True}, {**whole, self.key: [first]}]
            return wrong + (
                [{**whole, f"{self.key}.{first}": each} for each in (NOTHING, None, "")] if self.must else []
            )
        if self.must:
            return [{self.key: each} for each in (NOTHING, *self.kind.wrong)]
        # No choice at all may be how an object is left out.
        wrong = [each for each in self.kind.wrong if each != [] or "." not in self.key]
        return [{self.key: each} for each in wrong if each is not None and str(each).strip()]


def _leaves(prefix: str, parts: list[Part], *, must: bool) -> list[Leaf]:
    found: list[Leaf] = []
    for part in parts:
        key, needed = f"{prefix}{part.name}", must and not part.optional
        if part.kind is None:
            found += _leaves(f"{key}.", part.parts, must=needed)
        else:
            found.append(Leaf(key, part.kind, needed))
    return found


def is_given(parts: list[Part]) -> bool:
    """Whether an optional object is, by what is filled in of it.

    Empty texts and boxes alone are none; nor are defaults, where what is needed is empty or nothing is.
    """
    filled = [each for each in _filled(parts) if not each.is_blank()]
    needed = list(_needed(parts))
    return any(each is other for each in needed for other in filled) or not all(each.is_default() for each in filled)


def _filled(parts: list[Part]) -> Iterator[Part]:
    for part in parts:
        if part.value is not NOTHING:
            yield from [part] if part.kind is not None else _filled(part.parts)


def _needed(parts: list[Part]) -> Iterator[Part]:
    for part in parts:
        if not part.optional:
            yield from [part] if part.kind is not None else _needed(part.parts)


@st.composite
def parts(draw: st.DrawFn, depth: int) -> list[Part]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3))
    found: list[Part] = []
    for name in names:
        optional = draw(st.booleans())
        given_up = optional and draw(st.booleans())
        if depth and draw(st.integers(0, 2)) == 0:
            inner = draw(parts(depth - 1))
            value = NOTHING if given_up else None
            if value is None and optional and not is_given(inner):
                value = NOTHING
            found.append(Part(name, None, optional, value, inner, draw(types(inner))))
        else:
            kind = draw(st.sampled_from(KINDS))
            value = NOTHING if given_up else draw(kind.values)
            found.append(Part(name, kind, optional, value, default=draw(st.none() | kind.values)))
    return found


@st.composite
def types(draw: st.DrawFn, of: list[Part]) -> Any:
    """A type with these fields: a model, or a TypedDict."""
    fields: dict[str, Any] = {}
    for part in of:
        inner = part.type if part.kind is None else part.kind.type
        if part.optional:
            fields[part.name] = (inner, part.default) if part.default is not None else (inner | None, None)
        else:
            fields[part.name] = (inner, ...)
    return create_model(draw(st.sampled_from(["Form", "Other"])), __config__=ConfigDict(frozen=True), **fields)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A type two levels deep at most, and a value of it."""
    found = draw(parts(2))
    return Case(draw(types(found)), found)
