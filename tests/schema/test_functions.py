"""Every kind of function that people have: what is published of it, what it takes, and what it is then called with."""

from __future__ import annotations

import asyncio
import collections
import collections.abc
import contextlib
import dataclasses
import enum
import fractions
import functools
import inspect
import re
import sys
import typing
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path, PurePosixPath
from types import GenericAlias, ModuleType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Never,
    NewType,
    NotRequired,
    Optional,
    ParamSpec,
    Protocol,
    Required,
    TypeVar,
    Union,
)
from uuid import UUID

import annotated_types as at
import pydantic
import pytest
import typing_extensions as te
from pydantic import BaseModel, Field

from tesseron_py import Context, RegistrationError, SyncContext, action
from tesseron_py.errors import InvalidInput
from tesseron_py.schema.signature import HandlerSignature, read_handler

from .functions import postponed, written

T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
Either = TypeVar("Either", int, str)
P = ParamSpec("P")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Size(enum.StrEnum):
    S = "s"
    L = "l"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.Flag):
    R = 1
    W = 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


UserId = NewType("UserId", int)
Email = NewType("Email", Annotated[str, Field(pattern="@")])  # type: ignore[valid-newtype]  # pydantic takes it
Positive = te.TypeAliasType("Positive", Annotated[int, Field(ge=1)])
Nested = te.TypeAliasType("Nested", "dict[str, Nested] | list[Nested] | int")
Pairs = te.TypeAliasType("Pairs", list[tuple[T, int]], type_params=(T,))


class Foreign:
    """What another library reads in an annotation."""

    def __repr__(self) -> str:
        return "Foreign()"


@dataclasses.dataclass(slots=True, kw_only=True)
class Slotted:
    a: int
    b: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Initial:
    a: int
    b: dataclasses.InitVar[int]
    c: ClassVar[int] = 1
    d: int = dataclasses.field(init=False, default=9)

    def __post_init__(self, b: int) -> None:
        self.a += b


@pydantic.dataclasses.dataclass
class Checked:
    a: int = Field(ge=1, description="An a")


class Total(te.TypedDict, total=False):
    a: Required[int]
    b: str
    c: te.ReadOnly[int]


class Some(te.TypedDict):
    a: int
    b: NotRequired[str | None]


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Box(BaseModel, Generic[T]):
    v: T


class Cat(BaseModel):
    kind: Literal["cat"]
    n: int


class Dog(BaseModel):
    kind: Literal["dog"]
    s: str


class Tree(BaseModel):
    kids: list[te.Self] = []
    v: int = 0


class Shape(Protocol):
    x: int


class Plain:
    def __init__(self, a: int) -> None:
        self.a = a


def kind_of(value: Any) -> Any:
    return value["kind"] if isinstance(value, dict) else value.kind


def published(fn: Callable[..., Any]) -> dict[str, Any]:
    """What is published of a handler, titles left out."""
    return untitled(read_handler(fn, name="act").input_schema)


def untitled(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    return [untitled(each) for each in schema] if isinstance(schema, list) else schema


def takes(annotation: Any) -> HandlerSignature:
    def fn(x): ...  # type: ignore[no-untyped-def]

    fn.__annotations__ = {"x": annotation}
    return read_handler(fn, name="act")


def called(fn: Callable[..., Any], raw: Mapping[str, Any], context: Any = None) -> Any:
    """What a handler gives for an agent's arguments."""
    result = read_handler(fn, name="act").bind(raw).call(fn, context)
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    return result


def refusal(fn: Callable[..., Any]) -> str:
    with pytest.raises(RegistrationError) as refused:
        read_handler(fn, name="act")
    return str(refused.value)


# Annotations ------------------------------------------------------------------------------------------------------

AN_INTEGER = {"type": "integer"}
A_STRING = {"type": "string"}
INTEGERS = {"type": "array", "items": AN_INTEGER}
COLORS = {"type": "string", "enum": ["red", "blue"]}
CAT = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": ["cat"]}, "n": AN_INTEGER},
    "required": ["kind", "n"],
    "additionalProperties": False,
}
DOG = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": ["dog"]}, "s": A_STRING},
    "required": ["kind", "s"],
    "additionalProperties": False,
}
NUMBER_OR_STRING = {"anyOf": [{"type": "number"}, A_STRING]}


def closed(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


UTC = pydantic.TypeAdapter(datetime).validate_python("2026-01-31T12:00:00Z")

TYPES: list[tuple[Any, dict[str, Any], list[tuple[Any, Any]], list[Any]]] = [
    # JSON's own
    (int, AN_INTEGER, [(3, 3), (3.0, 3), (10**20, 10**20)], ["3", True, 0.5, None]),
    (float, {"type": "number"}, [(3, 3.0), (0.5, 0.5)], ["3", True]),
    (str, A_STRING, [("3", "3")], [3, None]),
    (bool, {"type": "boolean"}, [(True, True)], [1, "true"]),
    (None, {"type": "null"}, [(None, None)], [1]),
    (Any, {}, [(1, 1), (None, None), ({"a": []}, {"a": []})], []),
    (object, {}, [(1, 1), (None, None), ([], [])], []),
    (pydantic.JsonValue, {}, [({"a": [None]}, {"a": [None]})], []),
    # new types and aliases
    (UserId, AN_INTEGER, [(3, 3)], ["3"]),
    (Email, {"type": "string", "pattern": "@"}, [("a@b", "a@b")], ["ab"]),
    (Positive, {"type": "integer", "minimum": 1}, [(1, 1)], [0]),
    (Nested, {"anyOf": [{"type": "object", "additionalProperties": {}}, {"type": "array", "items": {}}, AN_INTEGER]},
     [({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]})], [{"a": ["x"]}]),
    (list[Positive], {"type": "array", "items": {"type": "integer", "minimum": 1}}, [([1], [1])], [[0]]),
    # metadata in any order
    (Annotated[int, Field(description="A"), at.Gt(3)], {"type": "integer", "minimum": 4, "description": "A"},
     [(4, 4)], [3]),
    (Annotated[int, at.Gt(3), Field(le=9), "text", Field(multiple_of=2, description="A")],
     {"type": "integer", "description": "A", "minimum": 4, "maximum": 9, "multipleOf": 2}, [(4, 4)], [3, 10, 5]),
    (Annotated[int, te.Doc("A"), at.Interval(ge=1, lt=3)],
     {"type": "integer", "description": "A", "minimum": 1, "maximum": 2}, [(1, 1)], [3]),
    (Annotated[int, "A"], {"type": "integer", "description": "A"}, [(1, 1)], []),
    (Annotated[Annotated[int, Field(ge=1)], Field(le=3)], {"type": "integer", "minimum": 1, "maximum": 3},
     [(3, 3)], [0, 4]),
    (Annotated[int, Foreign(), Field(ge=1)], {"type": "integer", "minimum": 1}, [(1, 1)], [0]),
    (Annotated[int, pydantic.AfterValidator(lambda v: v * 2)], AN_INTEGER, [(3, 6)], ["x"]),
    (Annotated[int, pydantic.BeforeValidator(lambda v: v or 1)], AN_INTEGER, [(0, 1)], []),
    (Annotated[int, pydantic.PlainValidator(lambda v: v)], {}, [("a", "a")], []),
    # constrained
    (pydantic.conint(ge=1, lt=9), {"type": "integer", "minimum": 1, "maximum": 8}, [(1, 1)], [9]),
    (pydantic.constr(min_length=2, pattern="^a"), {"type": "string", "minLength": 2, "pattern": "^a"},
     [("ab", "ab")], ["a", "ba"]),
    (Annotated[str, pydantic.StringConstraints(strip_whitespace=True, to_upper=True), at.Len(1, 3)],
     {"type": "string", "minLength": 1}, [(" a ", "A")], ["", "abcd"]),
    (pydantic.condecimal(max_digits=3, decimal_places=1), NUMBER_OR_STRING,
     [("1.5", Decimal("1.5")), (1.5, Decimal("1.5"))], ["1.55"]),
    (pydantic.PositiveInt, {"type": "integer", "minimum": 1}, [(1, 1)], [0]),
    (pydantic.StrictStr, A_STRING, [("a", "a")], [1]),
    (Annotated[list[int], at.Len(1, 2)], INTEGERS | {"minItems": 1, "maxItems": 2}, [([1], [1])], [[], [1, 2, 3]]),
    # choices
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, [("a", "a")], ["c", 1]),
    (Literal["a"], {"type": "string", "enum": ["a"]}, [("a", "a")], ["b"]),
    (Literal["a", 1], {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]},
     [("a", "a"), (1, 1), (1.0, 1)], [True]),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, [(1, 1), (1.0, 1)], [True, "1"]),
    (Literal[True], {"type": "boolean", "enum": [True]}, [(True, True)], [False, 1]),
    (Literal[Color.RED], {"type": "string", "enum": ["red"]}, [("red", Color.RED)], ["blue"]),
    (Literal[None], {"type": "null"}, [(None, None)], [1]),
    (Color, COLORS, [("red", Color.RED)], ["RED", 1]),
    (Mixed, {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["two"]}]},
     [(1, Mixed.ONE), ("two", Mixed.TWO)], ["1", True]),
    (Size, {"type": "string", "enum": ["s", "l"]}, [("s", Size.S)], ["x"]),
    (Level, {"type": "integer", "enum": [1, 2]}, [(1, Level.LOW), (1.0, Level.LOW)], [3, "1", True]),
    (Mode, {"type": "integer", "description": "A sum of any of 1 (R), 2 (W)"},
     [(1, Mode.R), (3, Mode.R | Mode.W), (0, Mode(0))], [4, "R"]),
    (Bits, {"type": "integer", "description": "A sum of any of 1 (A), 2 (B)"},
     [(1, Bits.A), (3, Bits.A | Bits.B)], ["1"]),
    # unions
    (int | None, AN_INTEGER, [(1, 1), (None, None)], ["1"]),
    (Optional[Annotated[int, Field(ge=1)]], {"type": "integer", "minimum": 1}, [(1, 1), (None, None)], [0]),  # noqa: UP045  # old
    (int | str, {"anyOf": [AN_INTEGER, A_STRING]}, [(1, 1), ("1", "1")], [True]),
    (Union[int, str, None], {"anyOf": [AN_INTEGER, A_STRING]}, [(1, 1), ("a", "a"), (None, None)], [[]]),  # noqa: UP007  # old
    (int | list[int], {"anyOf": [AN_INTEGER, INTEGERS]}, [(1, 1), ([1], [1])], [["a"]]),
    (Cat | Dog, {"anyOf": [CAT, DOG]},
     [({"kind": "dog", "s": "x"}, Dog(kind="dog", s="x"))], [{"kind": "dog", "n": 1}]),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"anyOf": [CAT, DOG]},
     [({"kind": "cat", "n": 1}, Cat(kind="cat", n=1))], [{"kind": "cow"}, {"kind": "cat", "s": "x"}, {}]),
    (Annotated[Annotated[Cat, pydantic.Tag("cat")] | Annotated[Dog, pydantic.Tag("dog")],
               pydantic.Discriminator(kind_of)],
     {"anyOf": [CAT, DOG]}, [({"kind": "cat", "n": 1}, Cat(kind="cat", n=1))], [{"kind": "dog", "n": 1}]),
    # objects
    (Slotted, closed(["a"], a=AN_INTEGER, b=INTEGERS),
     [({"a": 1}, Slotted(a=1)), ({"a": 1, "b": [2]}, Slotted(a=1, b=[2]))], [{"b": []}, {"a": 1, "c": 1}, 1]),
    (Initial, closed(["a", "b"], a=AN_INTEGER, b=AN_INTEGER),
     [({"a": 1, "b": 2}, Initial(1, 2))], [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "d": 3}]),
    (Checked, closed(["a"], a={"type": "integer", "minimum": 1, "description": "An a"}),
     [({"a": 1}, Checked(1))], [{"a": 0}]),
    (Total, closed(["a"], a=AN_INTEGER, b=A_STRING, c=AN_INTEGER),
     [({"a": 1}, {"a": 1}), ({"a": 1, "b": "x", "c": 2}, {"a": 1, "b": "x", "c": 2})], [{}]),
    (Some, closed(["a"], a=AN_INTEGER, b=A_STRING),
     [({"a": 1}, {"a": 1}), ({"a": 1, "b": "x"}, {"a": 1, "b": "x"})], [{"a": 1, "b": 2}]),
    (Box[int], closed(["v"], v=AN_INTEGER), [({"v": 1}, Box[int](v=1))], [{"v": "1"}]),
    (Box[list[Color]], closed(["v"], v={"type": "array", "items": COLORS}),
     [({"v": ["red"]}, Box[list[Color]](v=[Color.RED]))], [{"v": ["x"]}]),
    (Box, closed(["v"], v={}), [({"v": "any"}, Box(v="any"))], [{}]),
    (Tree, closed(kids={"type": "array", "items": {"type": "object"}, "default": []}, v=AN_INTEGER | {"default": 0}),
     [({"kids": [{"kids": [{"v": 3}]}]}, Tree(kids=[Tree(kids=[Tree(v=3)])]))], [{"kids": [{"kids": [{"v": "3"}]}]}]),
    (dict, {"type": "object", "additionalProperties": True}, [({"a": 1}, {"a": 1})], [[]]),
    (dict[int, str], {"type": "object", "additionalProperties": A_STRING}, [({"1": "a"}, {1: "a"})], [{"x": "a"}]),
    (dict[date, int], {"type": "object", "additionalProperties": AN_INTEGER},
     [({"2026-01-31": 1}, {date(2026, 1, 31): 1})], [{"x": 1}]),
    (Mapping[str, int], {"type": "object", "additionalProperties": AN_INTEGER}, [({"a": 1}, {"a": 1})], [{"a": "1"}]),
    (collections.OrderedDict[str, int], {"type": "object", "additionalProperties": AN_INTEGER},
     [({"a": 1}, collections.OrderedDict(a=1))], [{"a": "1"}]),
    (collections.Counter[str], {"type": "object", "additionalProperties": AN_INTEGER},
     [({"a": 1}, collections.Counter("a"))], [{"a": "x"}]),
    (collections.defaultdict[str, list[int]], {"type": "object", "additionalProperties": INTEGERS},
     [({"a": [1]}, collections.defaultdict(list, a=[1]))], [{"a": 1}]),
    # lists
    (list, {"type": "array", "items": {}}, [([1, "a"], [1, "a"])], [{}]),
    (list[int], INTEGERS, [([1, 2.0], [1, 2])], [["1"], 1]),
    (set[int], INTEGERS, [([1, 1], {1})], [["a"]]),
    (frozenset[str], {"type": "array", "items": A_STRING}, [(["a"], frozenset("a"))], [[1]]),
    (collections.abc.Set[int], INTEGERS, [([1], frozenset({1}))], [["a"]]),
    (tuple[int, ...], INTEGERS, [([1, 2], (1, 2)), ([], ())], [["a"]]),
    (collections.abc.Sequence[int], INTEGERS, [([1], [1])], [["a"], "1"]),
    (collections.deque[int], INTEGERS, [([1], collections.deque([1]))], [["a"]]),
    (pydantic.RootModel[list[int]], INTEGERS, [([1], pydantic.RootModel[list[int]]([1]))], [["a"]]),
    # dates and the like
    (datetime, {"type": "string", "format": "date-time"},
     [("2026-01-31T12:00:00Z", UTC), ("2026-01-31T12:00:00", datetime(2026, 1, 31, 12))], ["noon", 1700000000]),
    (date, {"type": "string", "format": "date"}, [("2026-01-31", date(2026, 1, 31))], ["2026-02-30", 20000]),
    (time, {"type": "string", "format": "time"}, [("12:30:00", time(12, 30))], ["25:00"]),
    (timedelta, {"type": "string", "format": "duration"}, [("PT1H30M", timedelta(minutes=90))], ["1h", 3600]),
    (pydantic.AwareDatetime, {"type": "string", "format": "date-time"},
     [("2026-01-31T12:00:00Z", UTC)], ["2026-01-31T12:00:00"]),
    (pydantic.NaiveDatetime, A_STRING, [("2026-01-31T12:00:00", datetime(2026, 1, 31, 12))], ["2026-01-31T12:00:00Z"]),
    (UUID, {"type": "string", "format": "uuid"}, [("00000000-0000-0000-0000-000000000001", UUID(int=1))], ["1", 1]),
    (Decimal, NUMBER_OR_STRING, [("1.50", Decimal("1.50")), (1.5, Decimal("1.5")), (2, Decimal(2))], [True, "x"]),
    (fractions.Fraction, NUMBER_OR_STRING, [("1/3", fractions.Fraction(1, 3))], ["x"]),
    (complex, A_STRING, [("1+2j", 1 + 2j)], ["x"]),
    (Path, A_STRING, [("a/b", Path("a/b"))], [1]),
    (PurePosixPath, A_STRING, [("a/b", PurePosixPath("a/b"))], [1]),
    (pydantic.FilePath, A_STRING, [(__file__, Path(__file__))], ["/nowhere/at/all"]),
    (bytes, {"type": "string", "contentEncoding": "base64"}, [("aGk=", b"hi")], ["%", 1]),
    (pydantic.HttpUrl, {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083},
     [("https://a.example/b", pydantic.HttpUrl("https://a.example/b"))], ["ftp://a.example", "x"]),
    (pydantic.AnyUrl, {"type": "string", "format": "uri", "minLength": 1},
     [("ftp://a.example/", pydantic.AnyUrl("ftp://a.example/"))], ["x"]),
    (pydantic.EmailStr, {"type": "string", "format": "email"}, [("a@b.example.com", "a@b.example.com")], ["a"]),
    (IPv4Address, {"type": "string", "format": "ipv4"}, [("127.0.0.1", IPv4Address("127.0.0.1"))], ["300.0.0.1", 1]),
    (IPv6Network, A_STRING, [("::/64", IPv6Network("::/64"))], ["x"]),
    (re.Pattern, {"type": "string", "format": "regex"}, [("a+", re.compile("a+"))], ["("]),
    (re.Pattern[str], {"type": "string", "format": "regex"}, [("a+", re.compile("a+"))], ["("]),
    # pydantic's own
    (pydantic.SecretStr, {"type": "string", "writeOnly": True}, [("x", pydantic.SecretStr("x"))], [1]),
    (pydantic.SkipValidation[int], AN_INTEGER, [(1, 1), ("x", "x")], []),
    (pydantic.Json[list[int]], {"type": "string", "contentMediaType": "application/json", "contentSchema": INTEGERS},
     [("[1]", [1])], ["x", [1]]),
    # type variables with something to go by
    (Bound, AN_INTEGER, [(1, 1)], ["1"]),
    (list[Either], {"type": "array", "items": {"anyOf": [AN_INTEGER, A_STRING]}}, [([1, "1"], [1, "1"])], [[True]]),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "schema", "taken", "refused"), TYPES, ids=[str(row[0])[:60] for row in TYPES])
def test_types(annotation: Any, schema: dict[str, Any], taken: list[tuple[Any, Any]], refused: list[Any]) -> None:
    signature = takes(annotation)
    assert untitled(signature.input_schema["properties"]["x"]) == schema
    for raw, value in taken:
        got = signature.bind({"x": raw}).call(lambda x: x, None)
        assert got == value
        assert type(got) is type(value)
    for raw in refused:
        with pytest.raises(InvalidInput) as wrong:
            signature.bind({"x": raw})
        assert all(issue["path"][0] == "x" for issue in wrong.value.data)


# What is taken where the schema says less, or says it in another's words.
LOOSE: list[tuple[Any, list[tuple[Any, Any]], list[Any]]] = [
    (tuple[int, str], [([1, "a"], (1, "a"))], [[1], [1, "a", 2], ["a", 1]]),
    (tuple[()], [([], ())], [[1]]),
    (Pair, [([1], Pair(1)), ([1, "y"], Pair(1, "y"))], [[1, 2], []]),
    (dict[Color, int], [({"red": 1}, {Color.RED: 1})], [{"x": 1}]),
    (zoneinfo.ZoneInfo, [("Europe/Rome", zoneinfo.ZoneInfo("Europe/Rome"))], ["Mars/Base"]),
    (pydantic.ByteSize, [("1KB", 1000), (3, 3)], [True]),
    (pydantic.Base64Bytes, [("aGk=", b"hi")], [1]),
    (pydantic.ImportString, [("math.pi", 3.141592653589793)], ["no.where"]),
    (Pairs[str], [([["a", 1]], [("a", 1)])], [[[1, 1]]]),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "taken", "refused"), LOOSE, ids=[str(row[0])[:60] for row in LOOSE])
def test_types_whose_schema_is_looser(annotation: Any, taken: list[tuple[Any, Any]], refused: list[Any]) -> None:
    signature = takes(annotation)
    for raw, value in taken:
        assert signature.bind({"x": raw}).call(lambda x: x, None) == value
    for raw in refused:
        with pytest.raises(InvalidInput):
            signature.bind({"x": raw})


def test_an_iterable_is_taken_as_a_list() -> None:
    signature = takes(collections.abc.Iterable[int])
    assert signature.input_schema["properties"]["x"] == INTEGERS
    assert list(signature.bind({"x": [1, 2]}).call(lambda x: x, None)) == [1, 2]


NO_VALUES = "the parameter 'x' has a type JSON has no values for, "

NO_TYPES: list[tuple[Any, str, str | None]] = [
    (collections.abc.Callable, NO_VALUES, "x: …"),
    (collections.abc.Callable[[int], int], NO_VALUES, "x: …"),
    (collections.abc.Callable[[int], int] | None, NO_VALUES, "x: …"),
    (Shape, NO_VALUES, None),
    (Plain, NO_VALUES, None),
    (pydantic.InstanceOf[Plain], NO_VALUES, None),
    (Never, NO_VALUES, None),
    (range, NO_VALUES, "x: list[int]"),
    (slice, NO_VALUES, None),
    (bytearray, NO_VALUES, "x: bytes"),
    (Exception, NO_VALUES, None),
    (collections.abc.Iterator[int], NO_VALUES, "x: list[int]"),
    (collections.abc.Collection[int], NO_VALUES, "x: list[int]"),
    (collections.ChainMap[str, int], NO_VALUES, "x: dict[str, int]"),
    (te.LiteralString, NO_VALUES, "x: str"),
    (te.Unpack[Some], NO_VALUES, "x: Some"),
    (te.TypeIs[int], NO_VALUES, None),
    (Optional, NO_VALUES, None),
    (Literal, NO_VALUES, None),
    (Generic, NO_VALUES, None),
    (5, NO_VALUES, None),
    (..., NO_VALUES, None),
    (type[int],
     "the parameter 'x' takes a class (type[int]), and JSON has no classes; take its name, and look", "x: str"),
    (list[type], "the parameter 'x' takes a class (list[type]), and JSON has no classes", "x: str"),
    (Final[int],
     "the parameter 'x' is annotated Final[int], and Final is for variables; write what it takes", "x: int"),
    (Final, "the parameter 'x' is annotated Final, and Final is for variables; write what it takes", "x: str"),
    (ClassVar[int], "the parameter 'x' is annotated ClassVar[int], and ClassVar is for classes", "x: int"),
    ("ClassVar[int]", "the parameter 'x' is annotated ClassVar[int], and ClassVar is for classes", "x: int"),
    (dataclasses.InitVar[int], "the parameter 'x' is annotated InitVar[int], and InitVar is for dataclasses", "x: int"),
    (Required[int], "the parameter 'x' is annotated Required[int], and Required is for TypedDicts", "x: int"),
    (NotRequired[int], "the parameter 'x' is annotated NotRequired[int], and NotRequired is for TypedDicts", "x: int"),
    (te.ReadOnly[int], "the parameter 'x' is annotated ReadOnly[int], and ReadOnly is for TypedDicts", "x: int"),
    (te.Self, "the parameter 'x' is annotated Self, and the handler is no method of an object; name the class", None),
    (T, "the parameter 'x' has the type variable T, of which nothing says what it stands for; write a type", "x: Any"),
    (dict[str, list[T]],
     "the parameter 'x' has the type variable T, of which nothing says what", "x: dict[str, list[Any]]"),
    ("Nowhere", "the annotation of 'x', 'Nowhere' cannot be resolved (name 'Nowhere' is not defined); define or", None),
    ("Optoinal[int]",
     "the annotation of 'x', 'Optoinal[int]' cannot be resolved (name 'Optoinal' is not defined)", None),
    ("Colr",
     "the annotation of 'x', 'Colr' cannot be resolved (name 'Colr' is not defined); did you mean 'Color'?",
     "x: Color"),
    (pydantic.OnErrorOmit[int], "the parameter 'x': OnErrorOmit leaves an item out of a list", None),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "message", "mended"), NO_TYPES, ids=[str(row[0])[:60] for row in NO_TYPES])
def test_what_is_no_type_of_a_parameter(annotation: Any, message: str, mended: str | None) -> None:
    with pytest.raises(RegistrationError) as refused:
        takes(annotation)
    place, _, rest = str(refused.value).partition(": ")
    assert place.endswith(f"({__file__}:{takes.__code__.co_firstlineno + 1})")
    assert rest.startswith(message)
    assert rest.partition("  write:  ")[2] == ("" if mended is None else f"def fn({mended})")


def test_an_email_without_the_package_that_checks_it_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "email_validator", None)
    with pytest.raises(
        RegistrationError, match=r"the parameter 'x', EmailStr, needs a package: email-validator is not"
    ):
        takes(pydantic.EmailStr)


# Defaults ---------------------------------------------------------------------------------------------------------


def test_defaults_of_every_kind() -> None:
    made: list[int] = []

    def fn(
        a: int = 1,
        b: list[int] = [2],  # noqa: B006  # the case
        c: int = Field(3),
        d: list[int] = Field(default_factory=lambda: made),  # noqa: B008  # how defaults are made
        e: Annotated[list[int], Field(default_factory=lambda: made)] = None,  # type: ignore[assignment]  # noqa: RUF013
        f: Annotated[int, Field(default_factory=lambda: 0)] = 6,
        g: Annotated[int, Field(default=0)] = 7,
        h: Color = Color.RED,
        i: Slotted = Slotted(a=9),  # noqa: B008  # the case
        j: int | None = None,
        k: Annotated[int, Field(default=11)] = Field(description="eleven"),  # type: ignore[assignment]
        l: str = ...,  # type: ignore[assignment]  # noqa: E741
    ) -> dict[str, Any]:
        return locals()

    signature = read_handler(fn, name="act")
    assert signature.input_schema["required"] == ["l"]  # pydantic's mark of a required one
    got = called(fn, {"l": "given"})
    assert got["d"] is made
    assert got == {
        "a": 1, "b": [2], "c": 3, "d": [], "e": None, "f": 6, "g": 7, "h": Color.RED, "i": Slotted(a=9), "j": None,
        "k": 11, "l": "given",
    }  # fmt: skip
    properties = signature.input_schema["properties"]
    assert {name: each["default"] for name, each in properties.items() if "default" in each} == {
        "a": 1, "b": [2], "c": 3, "g": 7, "h": "red", "i": {"a": 9, "b": []}, "k": 11,
    }  # fmt: skip


# Annotations that are text ----------------------------------------------------------------------------------------

VALUES = {
    "a": 1, "b": "x", "c": "red", "d": {"items": [{"sku": "A"}], "parent": {"items": []}}, "e": {"x": 1},
    "f": {"depth": 1}, "g": [1], "h": 7, "i": "abc", "j": [{"n": None}], "l": 4,
}  # fmt: skip


def test_field_11_postponed_annotations_of_a_module() -> None:
    signature = read_handler(postponed.many, name="act")
    assert signature.context_parameter == "ctx"
    assert signature.is_async
    assert list(signature.input_schema["properties"]) == list("abcdefghijklm")
    assert signature.input_schema["required"] == list("abcdefghij")
    assert signature.return_annotation is postponed.Order
    assert signature.bind(VALUES).call(lambda **given: given, "the context") == {
        "ctx": "the context",
        "a": 1,
        "b": "x",
        "c": postponed.Color.RED,
        "d": postponed.Order(items=[postponed.Later(sku="A")], parent=postponed.Order(items=[])),
        "e": postponed.Point(1),
        "f": {"depth": 1},
        "g": postponed.Pair(1),
        "h": 7,
        "i": "abc",
        "j": [{"n": None}],
        "k": None,
        "l": 4,
        "m": [],
    }
    with pytest.raises(InvalidInput) as refused:
        signature.bind({**VALUES, "a": 0, "i": "abcd", "d": {"items": [{}]}})
    assert [issue["path"] for issue in refused.value.data] == [["a"], ["d", "items", 0, "sku"], ["i"]]


def test_the_context_may_be_imported_for_type_checkers_alone() -> None:
    signature = read_handler(postponed.in_thread, name="act")
    assert (signature.context_parameter, list(signature.input_schema["properties"])) == ("ctx", ["text"])


def test_quotes_in_and_out_of_postponed_modules() -> None:
    assert called(postponed.quoted_too, {"text": "a", "item": [{"outer": 1}]}) == "a"
    item = {"type": "object", "properties": {"sku": A_STRING}, "required": ["sku"], "additionalProperties": False}
    assert published(written.forward) == {
        "type": "object",
        "properties": {
            "item": item,
            "items": {"type": "array", "items": item},
            "maybe": item,
            "n": {"type": "integer", "minimum": 1, "default": 1},
        },
        "required": ["item", "items"],
        "additionalProperties": False,
    }
    assert called(written.forward, {"item": {"sku": "A"}, "items": []}) == written.Item(sku="A")
    assert published(written.in_thread)["properties"] == {"text": {"type": "string", "minLength": 2}}
    assert "did you mean 'Item'?" in refusal(written.never_defined)


def test_what_is_there_for_type_checkers_alone_is_named_with_its_line() -> None:
    said = refusal(postponed.for_checkers_alone)
    assert "the annotation of 'price', 'Decimal' cannot be resolved" in said
    line = inspect.getsource(postponed).splitlines().index("    from decimal import Decimal") + 1
    assert f"`from decimal import Decimal` (line {line}) is under `if TYPE_CHECKING:`" in said


@pytest.mark.parametrize("declare", [postponed.local, postponed.local_method, postponed.shadowing])
def test_a_local_class_that_only_annotations_name(declare: Callable[[Any], Any]) -> None:
    signature, cls = declare(lambda fn: read_handler(fn, name="act"))
    (name, schema), *_ = signature.input_schema["properties"].items()
    (field,) = schema["properties"]
    raw: dict[str, Any] = {each: {field: 1} for each in (name,)} | (
        {"values": []} if "values" in signature.fields else {}
    )
    assert signature.bind(raw).values[name] == cls(**{field: 1})
    assert signature.return_annotation is cls


def test_a_class_that_is_closed_over() -> None:
    assert called(postponed.closed_over(int), {"value": 3}) == 3


@pytest.mark.parametrize("fn", [postponed.Shop().buy, postponed.Shop.sell, postponed.Shop().sell, postponed.Shop.gift])
def test_a_nested_class_in_the_methods_of_its_class(fn: Callable[..., Any]) -> None:
    assert called(fn, {"nested": {"deep": 1}}) == postponed.Shop.Nested(deep=1)
    assert read_handler(fn, name="act").return_annotation is postponed.Shop.Nested


def test_a_nested_class_hides_one_of_its_name_and_aliases_of_the_class_are_found() -> None:
    stall = postponed.Stall()
    assert called(stall.sell, {"item": {"inner": 1}, "price": 2}) == postponed.Stall.Item(inner=1)
    assert published(stall.list)["properties"]["prices"] == {"type": "object", "additionalProperties": AN_INTEGER}


def test_self_is_the_class_of_the_object() -> None:
    for owner in (postponed.Node(), postponed.Leaf()):
        cls = type(owner)
        signature = read_handler(owner.join, name="act")
        assert signature.return_annotation is cls
        raw = {"value": 3}
        bound = signature.bind({"other": raw, "more": [raw], "named": {"a": raw}})
        assert bound.values == {"other": cls(value=3), "more": [cls(value=3)], "named": {"a": cls(value=3)}}
    assert called(postponed.Leaf.made, {"other": {"leaf": 2}}) == postponed.Leaf(leaf=2)
    assert read_handler(postponed.Shop().link, name="act").return_annotation is postponed.Shop


def test_the_type_variables_of_a_class_are_bound_by_its_parameters() -> None:
    for shelf in (postponed.Shelf[int](), postponed.IntShelf()):
        signature = read_handler(shelf.put, name="act")
        assert signature.input_schema["properties"] == {"item": AN_INTEGER, "others": INTEGERS}
        assert signature.return_annotation is int
    assert "T, of which nothing says what it stands for" in refusal(postponed.Shelf().put)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is newer")
def test_newer_syntax(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (Path(__file__).parent / "functions" / "newer.txt").read_text()
    module = ModuleType("newer")
    monkeypatch.setitem(sys.modules, "newer", module)
    scope = vars(module)
    exec(compile(source, "newer.py", "exec", dont_inherit=True), scope)
    signature = read_handler(scope["aliases"], name="act")
    assert untitled(signature.input_schema["properties"]) | {"d": None} == {
        "a": AN_INTEGER,
        "b": {"type": "integer", "minimum": 1, "description": "Above zero"},
        "c": {"anyOf": [{"type": "object", "additionalProperties": {}}, AN_INTEGER]},
        "d": None,
        "e": closed(["value"], value=AN_INTEGER),
        "f": AN_INTEGER,
    }
    raw = {"a": 1, "b": 1, "c": {"x": {"y": 2}}, "d": [["k", 1]], "e": {"value": 3}}
    got = signature.bind(raw).call(lambda **given: given, None)
    assert got == raw | {"b": 1, "d": [("k", 1)], "e": scope["Box"][int](value=3), "f": None}
    for name, value in {"a": "1", "b": 0, "c": {"x": "y"}, "d": [[1, 1]], "e": {"value": "3"}}.items():
        with pytest.raises(InvalidInput):
            signature.bind({**raw, name: value})
    assert published(scope["bound"])["properties"] == {"a": AN_INTEGER, "b": INTEGERS}
    assert published(scope["quoted"])["properties"]["a"] == AN_INTEGER
    assert "T, of which nothing says what it stands for" in refusal(scope["free"])
    assert published(scope["Shelf"][int]().put)["properties"] == {"item": AN_INTEGER}


# Kinds of functions -----------------------------------------------------------------------------------------------


def passing(fn: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        return fn(*args, **kwargs)

    return wrapper


def passing_later(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return wrapper


def plain(x: int, y: str = "y") -> tuple[int, str]:
    return x, y


async def later(x: int, y: str = "y") -> tuple[int, str]:
    return x, y


class Service:
    def __init__(self, x: int, y: str = "y") -> None:
        self.x, self.y = x, y

    def method(self, x: int, y: str = "y") -> tuple[int, str]:
        return x, y

    async def later(self, x: int, y: str = "y") -> tuple[int, str]:
        return x, y

    @classmethod
    def of_class(cls, x: int, y: str = "y") -> tuple[int, str]:
        return x, y

    @staticmethod
    def static(x: int, y: str = "y") -> tuple[int, str]:
        return x, y

    whole = functools.partialmethod(method)
    half = functools.partialmethod(method, y="half")

    @functools.lru_cache  # noqa: B019  # the case
    def cached(self, x: int, y: str = "y") -> tuple[int, str]:
        return x, y

    @property
    def attribute(self) -> Callable[..., Any]:
        return plain

    def __iter__(self) -> Any:
        return iter((self.x, self.y))


class Callee:
    def __call__(self, x: int, y: str = "y") -> tuple[int, str]:
        return x, y


class CalleeLater:
    async def __call__(self, x: int, y: str = "y") -> tuple[int, str]:
        return x, y


class Created:
    x: int
    y: str

    def __new__(cls, x: int, y: str = "y") -> Any:
        return x, y


class Made(type):
    def __call__(cls, x: int, y: str = "y") -> Any:
        return x, y


class Meta(metaclass=Made):
    pass


SERVICE = Service(1)


class Inherited(Service):
    pass


@dataclasses.dataclass
class Data:
    x: int
    y: str = "y"

    def __iter__(self) -> Any:
        return iter((self.x, self.y))


class Tuple(NamedTuple):
    x: int
    y: str = "y"


@typing.overload
def overloaded(x: int) -> tuple[int, str]: ...
@typing.overload
def overloaded(x: int, y: str) -> tuple[int, str]: ...
def overloaded(x: int, y: str = "y") -> tuple[int, str]:
    return x, y


def announced(**given: Any) -> tuple[int, str]:
    return given["x"], given.get("y", "y")


announced.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]


def lists(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return next(iter(fn(*args, **kwargs)))

    return wrapper


def lists_later(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await anext(fn(*args, **kwargs))

    return wrapper


@lists
def generated(x: int, y: str = "y") -> Any:
    yield x, y


@lists_later
async def generated_later(x: int, y: str = "y") -> Any:
    yield x, y


FUNCTIONS: list[tuple[str, Callable[..., Any], bool]] = [
    ("def", plain, False),
    ("async def", later, True),
    ("wrapped def", passing(passing(plain)), False),
    ("def over async def", passing(later), True),
    ("async def over def", passing_later(plain), True),
    ("both ways", passing(passing_later(passing(plain))), True),
    ("partial", functools.partial(plain), False),
    ("partial of an async def", functools.partial(later), True),
    ("partial of a wrapper", functools.partial(passing(later)), True),
    ("partial of a partial", functools.partial(functools.partial(plain)), False),
    ("wrapper of a partial", passing(functools.partial(later)), True),
    ("method", SERVICE.method, False),
    ("async method", SERVICE.later, True),
    ("class method", Service.of_class, False),
    ("static method", Service.static, False),
    ("static method of an object", SERVICE.static, False),
    ("partial of a method", functools.partial(SERVICE.later), True),
    ("partialmethod", SERVICE.whole, False),
    ("cached method", SERVICE.cached, False),
    ("property", SERVICE.attribute, False),
    ("object", Callee(), False),
    ("async object", CalleeLater(), True),
    ("partial of an object", functools.partial(Callee()), False),
    ("wrapper of an object's call", passing(Callee().__call__), False),
    ("class", Service, False),
    ("class that inherits", Inherited, False),
    ("dataclass", Data, False),
    ("named tuple", Tuple, False),
    ("class with __new__", Created, False),
    ("class of a metaclass", Meta, False),
    ("lru_cache", functools.lru_cache(plain), False),
    ("cache of a maximum", functools.lru_cache(maxsize=2)(plain), False),
    ("overloads", overloaded, False),
    ("__signature__", announced, False),
    ("a decorator's generator", generated, False),
    ("a decorator's async generator", generated_later, True),
    ("staticmethod object", staticmethod(plain), False),
    ("validate_call", pydantic.validate_call(plain), False),
]


@pytest.mark.parametrize(("fn", "is_async"), [row[1:] for row in FUNCTIONS], ids=[row[0] for row in FUNCTIONS])
def test_kinds_of_functions(fn: Callable[..., Any], is_async: bool) -> None:
    declared = action("act").handler(fn)
    assert declared.signature.is_async is is_async
    assert untitled(declared.input_schema) == {
        "type": "object",
        "properties": {"x": AN_INTEGER, "y": {"type": "string", "default": "y"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert tuple(called(fn, {"x": 1.0})) == (1, "y")
    assert tuple(called(fn, {"x": 1, "y": "z"})) == (1, "z")
    with pytest.raises(InvalidInput):
        called(fn, {"x": "1"})


def test_what_a_partial_binds_is_gone() -> None:
    for fn in (functools.partial(plain, y="half"), SERVICE.half):
        assert list(published(fn)["properties"]) == ["x"]
        assert called(fn, {"x": 1}) == (1, "half")
    first = functools.partial(passing(later), 1)
    assert list(published(first)["properties"]) == ["y"]
    assert called(first, {}) == (1, "y")


def test_a_lambda_with_annotations() -> None:
    fn = lambda x, ctx: x  # noqa: E731  # the case
    fn.__annotations__ = {"x": int}
    assert called(fn, {"x": 3}) == 3
    assert called(lambda: 5, {}) == 5


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (print, "*args has no names an agent could give"),
        (len, "the parameter 'obj' is positional-only"),
        (max, "its parameters cannot be read"),
        (int, "its parameters cannot be read"),
        (Some, "its parameters cannot be read"),
        (lambda x: x, "the parameter 'x' has no annotation"),
        (Service.method, "'self' is not bound to anything"),
        (functools.singledispatch(plain), "a single-dispatch function chooses by its first positional argument"),
        (contextlib.contextmanager(plain), None),
    ],
)
def test_what_is_no_handler(fn: Callable[..., Any], message: str | None) -> None:
    assert (message or "a context manager gives no output") in refusal(fn)


def test_overloads_without_an_annotated_implementation() -> None:
    scope: dict[str, Any] = {}
    exec(
        "from typing import overload\n@overload\ndef fn(x: int) -> int: ...\n@overload\ndef fn(x: str) -> str: ...\n"
        "def fn(x): return x",
        scope,
    )
    assert "the parameter 'x' has no annotation" in refusal(scope["fn"])


def test_what_cannot_be_called_is_told_what_to_give() -> None:
    async def act() -> None: ...

    coroutine = act()
    for thing, mend in (
        (coroutine, "cannot be called; give the function itself, without calling it: act"),
        (vars(Service)["of_class"], "a class method is an action once its class is there: app.action(Thing.of_class)"),
        (vars(Service)["attribute"], "cannot be called"),
    ):
        with pytest.raises(RegistrationError) as refused:
            action("act").handler(thing)
        assert mend in str(refused.value)
    coroutine.close()


@pytest.mark.parametrize(
    "annotation",
    [Context, "Context", "Context | None", Optional[Context], Annotated[Context, "mine"], "Annotated[Context, 1]"],  # noqa: UP045
)
def test_every_way_to_write_the_context(annotation: Any) -> None:
    async def fn(x: int, here=None) -> Any:  # type: ignore[no-untyped-def]
        return x, here

    fn.__annotations__["here"] = annotation
    assert read_handler(fn, name="act").context_parameter == "here"
    assert called(fn, {"x": 1}, "the context") == (1, "the context")


def test_aliases_of_generics_keep_what_is_not_bound() -> None:
    class Owner(Generic[T]):
        def fn(
            self,
            a: T | None,
            b: Annotated[T, Field(description="b")],
            c: tuple[T, ...],
            d: list[T],
            e: Literal["T"],
            f: Box[int],
        ) -> None: ...

    assert isinstance(list[int], GenericAlias)
    assert untitled(published(Owner[int]().fn))["properties"] == {
        "a": AN_INTEGER,
        "b": {"type": "integer", "description": "b"},
        "c": INTEGERS,
        "d": INTEGERS,
        "e": {"type": "string", "enum": ["T"]},
        "f": closed(["v"], v=AN_INTEGER),
    }


def test_a_sync_context_in_a_def() -> None:
    def fn(ctx: SyncContext, x: int) -> Any:
        return ctx, x

    assert called(fn, {"x": 1}, "the context") == ("the context", 1)
