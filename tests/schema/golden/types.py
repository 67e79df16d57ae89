"""The types whose published schemas are kept as files, each with values that are taken and values that are refused.

`takes` are values that validation and schema both take, `refuses` values that both refuse. Where only one of the two
does, the value stands under the reason, in `takes_more` (of LOOSER) or `refuses_more` (of STRICTER); there are no other
reasons, and `docs/types.md` lists them.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from re import Pattern
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, NewType, NotRequired, Optional, TypeVar, Union

from annotated_types import Ge, Gt, Interval, Len, MultipleOf
from pydantic import (
    AfterValidator,
    AliasChoices,
    AnyUrl,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Discriminator,
    EmailStr,
    Field,
    FutureDate,
    HttpUrl,
    Json,
    JsonValue,
    NaiveDatetime,
    PositiveInt,
    RootModel,
    SecretStr,
    SkipValidation,
    StringConstraints,
    Tag,
    computed_field,
    field_serializer,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType, TypedDict

LOOSER: Final[Mapping[str, str]] = {
    "null": "null of what is optional counts as absent, and null is taken where the type takes it",
    "again": "a model may have more names for a field than the one that is published",
    "author": "a function of the author's takes more",
}
"""Why validation takes a value that the published schema refuses."""

STRICTER: Final[Mapping[str, str]] = {
    "text": "a string holds a date, a number, a path or something else that a schema has no word or only a format for",
    "limit": "the limit cannot be told, or not in a way that all clients read alike",
    "names": "the names of a dict are of a type",
    "tuple": "the length of what is left of a set, or the end of a tuple, cannot be told",
    "recursion": "what lies below a recursion is not published",
    "author": "a function of the author's refuses more",
}
"""Why validation refuses a value that the published schema takes."""


@dataclass(frozen=True)
class Taken:
    """A type that is taken, and JSON values for it.

    Attributes:
        name: The name of its file.
        declared: The type.
        default: The default of the parameter; `...` is none.
    """

    name: str
    declared: Any
    takes: Sequence[Any]
    refuses: Sequence[Any] = ()
    takes_more: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    refuses_more: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    default: Any = ...


@dataclass(frozen=True)
class Given:
    """A type of an output, values of it, and what they are as JSON."""

    name: str
    declared: Any
    gives: Sequence[tuple[Any, Any]]


# The types ---------------------------------------------------------------------------------------------------------


class Size(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


class Colour(enum.Enum):
    """The colour of the paint."""

    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    WORD = "word"
    ONE = 1
    HALF = 0.5
    NOTHING = None


class Only(enum.Enum):
    X = "x"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Bits(enum.IntFlag):
    """Bits of a register."""

    A = 1
    B = 8


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    number: Annotated[int, Field(ge=1, description="The number of the house")] = 1
    note: str | None = None


class Titled(BaseModel):
    model_config = ConfigDict(title="A parcel")
    weight: Annotated[float, Field(gt=0, title="Weight in kg", examples=[1.5])]


class Order(BaseModel):
    address: Address
    others: list[Address] = []
    size: Size = Size.SMALL
    due: datetime | None = None
    at: Address = Address(street="Main St")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Aliased(BaseModel):
    inner: int = Field(alias="externalX")


class Named(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)
    inner: int = Field(alias="externalX")


class Choosing(BaseModel):
    inner: int = Field(validation_alias=AliasChoices("first", "second"))


class Trimmed(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_max_length=3)
    word: str


class Empty(BaseModel):
    pass


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Left(BaseModel):
    right: Right | None = None


class Right(BaseModel):
    left: Left | None = None


@dataclass
class Point:
    x: float
    y: float = 0.0


@dataclass(kw_only=True, slots=True)
class Described:
    """A place on the map."""

    point: Point
    labels: list[str] = field(default_factory=list)


@dataclass
class Started:
    n: int
    start: dataclasses.InitVar[int] = 0


@pydantic_dataclass
class Checked:
    n: PositiveInt


class Movie(TypedDict):
    title: str
    year: NotRequired[int]
    id: int


class Loose(TypedDict, total=False):
    a: int
    b: str


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Same(NamedTuple):
    x: float
    y: float


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog", "puppy"]
    name: str


class Black(BaseModel):
    kind: Literal["cat"]
    colour: Literal["black"]
    age: int


class White(BaseModel):
    kind: Literal["cat"]
    colour: Literal["white"]


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T


class Tags(RootModel[dict[str, list[str]]]):
    pass


class Priced(BaseModel):
    price: Decimal
    at: datetime
    took: timedelta
    day: date
    id: uuid.UUID
    raw: bytes
    path: Path
    link: AnyUrl
    tags: set[str]
    size: Size

    @computed_field
    def doubled(self) -> Decimal:
        return self.price * 2

    @field_serializer("took")
    def seconds(self, took: timedelta) -> float:
        return took.total_seconds()


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
Cats = Annotated[Black | White, Field(discriminator="colour")]
UserId = NewType("UserId", int)
Celsius = TypeAliasType("Celsius", Annotated[float, Field(ge=-273.15)])
Tree2 = TypeAliasType("Tree2", "dict[str, Tree2] | str")


def even(n: int) -> int:
    if n % 2:
        raise ValueError("an even number is expected")
    return n


def kind_of(value: Any) -> str:
    return "text" if isinstance(value, str) else "number"


def lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


NOT_STRINGS = (30, 0.5, True, None, [], {})
NOT_NUMBERS = ("30", True, None, [], {})
NOT_LISTS = ("a", 1, None, {})
NOT_OBJECTS = ("a", 1, None, [])
MOMENT = "2026-01-31T12:00:00Z"
ID = "6f9619ff-8b86-4011-b42d-00cf4fc964ff"

PARAMETERS: Final = [
    # Plain values
    Taken("str", str, ["", "a", "30", '["a"]'], NOT_STRINGS),
    Taken("int", int, [30, 30.0, -1, 2**70, 1e22], [0.5, *NOT_NUMBERS]),
    Taken("float", float, [30, 0.5, -1e300], NOT_NUMBERS, refuses_more={"limit": [10**400]}),
    Taken("bool", bool, [True, False], [1, 0, "true", None]),
    Taken("none", None, [None], [0, "", False]),
    Taken("any", Any, [None, 1, "a", [{}], {"a": None}]),
    Taken("object", object, [None, 1, "a", [{}], {"a": None}]),
    Taken("json_value", JsonValue, [None, 1, "a", [{}], {"a": None}]),
    Taken("str_default", str, ["a"], [1], {"null": [None]}, default="a"),
    Taken("str_or_none", str | None, ["a"], [1], {"null": [None]}),
    Taken("optional_str_default_none", Optional[str], ["a"], [1], {"null": [None]}, default=None),  # noqa: UP045  # old
    Taken("null_default_of_str", str, ["a"], [1], {"null": [None]}, default=None),
    Taken("wrong_default", Annotated[int, Field(ge=1)], [1], [0], {"null": [None]}, default=0),
    Taken("infinite_default", float, [1.5], ["inf"], {"null": [None]}, default=float("inf")),
    Taken("new_type", UserId, [7], [0.5, "7"]),
    Taken("type_alias", Celsius, [20], [-300]),
    Taken("final", Annotated[str, Field(deprecated=True)], ["a"], [1]),
    # Numbers and strings with limits
    Taken("int_between", Annotated[int, Field(ge=1, le=500, description="How many")], [1, 500], [0, 501, 1.5]),
    Taken("int_exclusive", Annotated[int, Field(gt=0, lt=10)], [1, 9], [0, 10]),
    Taken("int_multiple", Annotated[int, MultipleOf(3)], [3, 6.0], [4]),
    Taken("positive_int", PositiveInt, [1], [0]),
    Taken("float_interval", Annotated[float, Interval(gt=0, le=0.5)], [0.5, 0.1], [0, 0.6]),
    Taken("float_multiple_half", Annotated[float, Field(multiple_of=0.5)], [0.5, 2], [0.3]),
    Taken("float_multiple_cent", Annotated[float, Field(multiple_of=0.01)], [0.07, 0.3], [], {}, {"limit": [0.005]}),
    Taken("metadata_in_any_order", Annotated[int, Ge(2), Field(description="D"), Gt(0)], [2], [1]),
    Taken("str_lengths", Annotated[str, Field(min_length=2, max_length=3)], ["ab", "🎉é"], ["a", "abcd"]),
    Taken("str_len", Annotated[str, Len(1)], ["a"], [""]),
    Taken("str_pattern", Annotated[str, Field(pattern="^[A-Z][0-9]+$")], ["A1"], ["a1", "A"]),
    Taken("str_pattern_named", Annotated[str, Field(pattern=r"\A(?P<y>\d{4})\-\d\d\z")], ["2026-01"], ["26-01"]),
    Taken("str_pattern_of_rust", Annotated[str, Field(pattern=r"(?i)^\p{L}+$")], ["Zoë"], [1], {}, {"limit": ["1"]}),
    Taken(
        "str_stripped",
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=3)],
        ["a", "  abc  "],
        [""],
        {},
        {"limit": ["abcd", "  "]},
    ),
    Taken("secret", SecretStr, ["s"], [1]),
    # Choices
    Taken("literal", Literal["a", "b"], ["a", "b"], ["c", 1, None]),
    Taken("literal_one", Literal["a"], ["a"], ["b"]),
    Taken("literal_ints", Literal[0, 1], [0, 1.0], [2, True, False, "1"]),
    Taken("literal_mixed", Literal[1, "a", False], [1, "a", False], [True, 0, "1"]),
    Taken("literal_or_none", Literal["a", None], ["a"], ["b"], {"null": [None]}),
    Taken("str_enum", Size, ["small"], ["SMALL", "huge", 1]),
    Taken("str_enum_default", Size, ["small"], ["huge"], {"null": [None]}, default=Size.LARGE),
    Taken("enum", Colour, ["red"], ["RED", None]),
    Taken("enum_one", Only, ["x"], ["y"]),
    Taken("int_enum", Level, [1, 2.0], [3, True, "1"]),
    Taken("mixed_enum", Mixed, ["word", 1, 0.5], ["x", 2, True], {"null": [None]}),
    Taken("flag", Rights, [1, 5, 0], ["READ", 1.5, True], {}, {"limit": [8]}),
    Taken("int_flag", Bits, [1, 9], ["A", 0.5]),
    Taken("list_of_literals", list[Literal["a", "b"]], [[], ["a", "a"]], [["c"], "a"]),
    Taken("set_of_enum", set[Size], [[], ["small"]], [["huge"]]),
    # Dates, times and other texts
    Taken("date", date, ["2026-01-31"], [20260131, None], {}, {"text": ["2026-02-30", "today"]}),
    Taken("datetime", datetime, [MOMENT, "2026-01-31T12:00:00", "2026-01-31T12:00"], [7], {}, {"text": ["noon"]}),
    Taken("aware_datetime", AwareDatetime, [MOMENT], [7], {}, {"text": ["2026-01-31T12:00:00"]}),
    Taken("naive_datetime", NaiveDatetime, ["2026-01-31T12:00:00"], [7], {}, {"text": [MOMENT]}),
    Taken("time", time, ["12:30", "12:30:00Z"], [12], {}, {"text": ["noon"]}),
    Taken("timedelta", timedelta, ["PT1H30M", "-P1D", "01:30:00"], [5, 1.5], {}, {"text": ["long"]}),
    Taken("datetime_default", datetime, [MOMENT], [7], {"null": [None]}, default=datetime(2026, 1, 31, 12)),
    Taken("aware_default", datetime, [MOMENT], [7], {"null": [None]}, default=datetime(2026, 1, 31, 12, tzinfo=UTC)),
    Taken("future_date", FutureDate, ["2999-01-31"], [1], {}, {"text": ["2000-01-31"]}),
    Taken("uuid", uuid.UUID, [ID, ID.replace("-", "")], [1], {}, {"text": ["x"]}),
    Taken("uuid4", Annotated[uuid.UUID, Field()], [ID], [1]),
    Taken("decimal", Decimal, [1, 0.5, "0.10", "1e5"], [True, None, []], {}, {"text": ["x", "NaN"]}),
    Taken(
        "decimal_limits",
        Annotated[Decimal, Field(ge=0, le=Decimal("99.5"), max_digits=4, decimal_places=2)],
        [1.25, "1.25"],
        [-1, 100],
        {},
        {"text": ["-1"], "limit": [1.255]},
    ),
    Taken("fraction", Fraction, ["1/3", 2], [True], {}, {"text": ["x"]}),
    Taken("complex", complex, ["1+2j"], [[]], {}, {"text": ["x"]}),
    Taken("path", Path, ["a/b"], [1]),
    Taken("bytes", bytes, ["aGk=", "aGk"], [1], {}, {"text": ["hi!"]}),
    Taken("bytes_length", Annotated[bytes, Field(max_length=2)], ["aGk="], [1], {}, {"limit": ["aGlp"]}),
    Taken("base64_bytes", Base64Bytes, ["aGk="], [1]),
    Taken("any_url", AnyUrl, ["urn:a:b", "https://x.example/a?b=c"], [1, ""], {}, {"text": ["x"]}),
    Taken("http_url", HttpUrl, ["https://x.example"], [1], {}, {"text": ["ftp://x.example"]}),
    Taken("email", EmailStr, ["a@b.example"], [1], {}, {"text": ["x"]}),
    Taken("ipv4", IPv4Address, ["127.0.0.1"], [1], {}, {"text": ["1.2.3"]}),
    Taken("ipv6", IPv6Address, ["::1"], [1], {}, {"text": ["1.2.3.4"]}),
    Taken("pattern", Pattern[str], ["^a+$"], [1], {}, {"text": ["a("]}),
    Taken("byte_size", ByteSize, [5, "1KB"], [-1, True]),
    Taken("json_text", Json[list[int]], ["[1]"], [[1]], {}, {"text": ["[", '["a"]']}),
    # Lists, sets, tuples
    Taken("list", list, [[], [1, "a", None]], NOT_LISTS),
    Taken("list_of_int", list[int], [[], [1, 2.0]], [["1"], [None], *NOT_LISTS]),
    Taken("list_of_optional", list[int | None], [[1]], [["1"]], {"null": [[None, 1]]}),
    Taken("list_lengths", Annotated[list[int], Field(min_length=1, max_length=2)], [[1], [1, 2]], [[], [1, 2, 3]]),
    Taken("list_default", list[int], [[1]], [1], {"null": [None]}, default=[1, 2]),
    Taken("list_factory", Annotated[list[int], Field(default_factory=list)], [[1]], [1], {"null": [None]}),
    Taken("nested_lists", list[list[str]], [[["a"], []]], [["a"], [[1]]]),
    Taken("set", set[int], [[], [1, 1]], [["1"], 1]),
    Taken("set_lengths", Annotated[set[int], Field(min_length=2)], [[1, 2]], [[1]], {}, {"tuple": [[1, 1]]}),
    Taken("set_default", set[str], [["a"]], [1], {"null": [None]}, default={"b", "a"}),
    Taken("frozenset", frozenset[str], [["a", "a"]], [[1]]),
    Taken("tuple", tuple[int, str], [[1, "a"]], [[1], ["a", 1], [1, "a", 2], "a"]),
    Taken("tuple_alike", tuple[float, float], [[1, 2.5]], [[1], [1, "2"], [1, 2, 3]]),
    Taken("tuple_variadic", tuple[int, ...], [[], [1, 2]], [["a"]]),
    Taken("tuple_empty", tuple[()], [[]], [[1]]),
    Taken("named_tuple", Pair, [[1], [1, "a"]], [[], ["a"], {"left": 1}]),
    Taken("named_tuple_alike", Same, [[1, 2]], [[1]]),
    Taken("sequence", Sequence[int], [[1]], [["a"], "a"]),
    Taken("iterable", Iterable[int], [[1]], [["a"], "a", 1]),
    Taken("deque", collections.deque[int], [[1]], [["a"]]),
    # Dicts
    Taken("dict", dict, [{}, {"a": [1]}], NOT_OBJECTS),
    Taken("dict_of_int", dict[str, int], [{}, {"a": 1}], [{"a": "1"}, *NOT_OBJECTS]),
    Taken("dict_of_names", dict[Literal["a", "b"], int], [{}, {"a": 1}], [{"c": 1}, {"a": "1"}]),
    Taken("dict_by_enum", dict[Size, bool], [{"small": True}], [{"huge": True}, {"small": 1}]),
    Taken("dict_by_int", dict[int, str], [{"1": "a"}], [{"1": 1}], {}, {"names": [{"a": "a"}]}),
    Taken("dict_by_pattern", dict[Annotated[str, Field(pattern="^x-")], int], [{"x-a": 1}], [{"a": 1}, {"x-a": "1"}]),
    Taken("dict_by_date", dict[date, int], [{"2026-01-31": 1}], [{"2026-01-31": "1"}], {}, {"names": [{"a": 1}]}),
    Taken("dict_lengths", Annotated[dict[str, int], Field(min_length=1)], [{"a": 1}], [{}]),
    Taken("mapping", Mapping[str, int], [{"a": 1}], [{"a": "1"}]),
    Taken("counter", collections.Counter[str], [{"a": 1}], [{"a": "1"}]),
    Taken("defaultdict", collections.defaultdict[str, list[int]], [{"a": [1]}], [{"a": 1}]),
    # Unions
    Taken("int_or_str", int | str, [1, "1", 1.0], [0.5, True, None]),
    Taken("int_or_float", int | float, [1, 0.5], ["1"]),
    Taken("many_or_none", Union[int, str, list[int], None], [1, "a", [1]], [0.5, ["a"]], {"null": [None]}),  # noqa: UP007  # old
    Taken("decimal_or_str", Decimal | str, [1, "a"], [True]),
    Taken("model_or_str", Address | str, [{"street": "a"}, "a"], [{}, {"street": 1}, 1]),
    Taken(
        "tagged",
        Pet,
        [{"kind": "cat"}, {"kind": "dog", "name": "Rex"}],
        [{"lives": 9}, {"kind": "cow"}, {"kind": "dog"}],
    ),
    Taken("tagged_or_none", Pet | None, [{"kind": "cat"}], [{}], {"null": [None]}),
    Taken(
        "tagged_twice",
        Annotated[Cats | Dog, Field(discriminator="kind")],
        [{"kind": "cat", "colour": "white"}],
        [{"kind": "cat"}, {"kind": "cat", "colour": "black"}],
    ),
    Taken(
        "tagged_by_function",
        Annotated[Annotated[str, Tag("text")] | Annotated[float, Tag("number")], Discriminator(kind_of)],
        ["a", 1.5],
        [None, []],
    ),
    # Models and their like
    Taken(
        "model",
        Address,
        [{"street": "a"}],
        [{}, {"street": 1}, {"street": "a", "x": 1}],
        {"null": [{"street": "a", "note": None}]},
    ),
    Taken("model_titled", Titled, [{"weight": 1}], [{"weight": 0}]),
    Taken("model_default", Address, [{"street": "a"}], [{}], {"null": [None]}, default=Address(street="a", number=2)),
    Taken("list_of_models", list[Address], [[{"street": "a"}]], [[{}], [{"street": "a", "x": 1}]]),
    Taken("dict_of_models", dict[str, Address], [{"x": {"street": "a"}}], [{"x": {}}]),
    Taken("generic", Box[int], [{"content": 1}], [{"content": "1"}]),
    Taken("root_model", Tags, [{"a": ["b"]}], [{"a": "b"}]),
    Taken(
        "recursive",
        Tree,
        [{"name": "a", "children": [{"name": "b"}]}],
        [{"children": []}, {"name": "a", "children": [1]}],
        {},
        {"recursion": [{"name": "a", "children": [{}]}]},
    ),
    Taken("recursive_alias", Tree2, ["a", {"b": {"c": "d"}}], [1], {}, {"recursion": [{"b": {"c": 1}}]}),
    Taken(
        "dataclass",
        Point,
        [{"x": 1}, {"x": 1, "y": 0.5}],
        [{}, {"x": "1"}, {"x": 1, "z": 0}],
        {"null": [{"x": 1, "y": None}]},
    ),
    Taken("dataclass_described", Described, [{"point": {"x": 1}}], [{"point": {}}]),
    Taken("dataclass_init_var", Started, [{"n": 1, "start": 2}], [{}]),
    Taken("dataclass_of_pydantic", Checked, [{"n": 1}], [{"n": 0}]),
    Taken("typed_dict", Movie, [{"title": "a", "id": 1}], [{"title": "a"}, {"title": "a", "id": 1, "x": 1}]),
    Taken("typed_dict_partial", Loose, [{}, {"a": 1}], [{"a": "1"}, {"c": 1}]),
    # The author's own functions
    Taken("validated_after", Annotated[int, AfterValidator(even)], [2], ["2"], {}, {"author": [3]}),
    Taken("validated_before", Annotated[Literal["a"], BeforeValidator(lower)], ["a"], ["b"], {"author": ["A"]}),
    Taken("not_validated", SkipValidation[int], [1], [], {"author": ["x"]}),
    Taken(
        "schema_of_the_author",
        Annotated[str, Field(json_schema_extra={"x-widget": "area", "format": "phone"})],
        ["1"],
        [1],
    ),
]

INPUTS: Final = [
    Taken(
        "model",
        Address,
        [{"street": "a"}],
        [{}, {"street": 1}, {"street": "a", "x": 1}, {"street": "a", "number": 0}],
        {"null": [{"street": "a", "number": None}]},
    ),
    Taken("model_titled", Titled, [{"weight": 1}], [{"weight": 0}]),
    Taken(
        "model_nested",
        Order,
        [{"address": {"street": "a"}, "due": MOMENT}],
        [{"address": {}}, {"address": {"street": "a"}, "size": "huge"}],
        {"null": [{"address": {"street": "a"}, "due": None}]},
    ),
    Taken("model_open", Open, [{"name": "a", "x": [1]}], [{"x": 1}]),
    Taken("model_aliased", Aliased, [{"externalX": 1}], [{"inner": 1}]),
    Taken("model_by_name", Named, [{"externalX": 1}], [{}], {"again": [{"inner": 1}]}),
    Taken("model_choosing", Choosing, [{"first": 1}], [{}], {"again": [{"second": 1}]}),
    Taken("model_trimmed", Trimmed, [{"word": " abc "}], [{"word": 1}], {}, {"limit": [{"word": "abcd"}]}),
    Taken("model_empty", Empty, [{}], [{"a": 1}]),
    Taken("model_generic", Box[list[int]], [{"content": [1]}], [{"content": 1}]),
    Taken(
        "model_recursive",
        Tree,
        [{"name": "a", "children": [{"name": "b"}]}],
        [{}],
        {},
        {"recursion": [{"name": "a", "children": [{}]}]},
    ),
    Taken(
        "models_recursive",
        Left,
        [{}, {"right": {"left": {}}}],
        [{"right": 1}],
        {"null": [{"right": None}]},
        {"recursion": [{"right": {"left": {"x": 1}}}]},
    ),
    Taken(
        "model_priced",
        Box[Decimal | None],
        [{"content": "1.5"}, {}],
        [{"content": True}],
        {"null": [{"content": None}]},
    ),
    Taken("dataclass", Point, [{"x": 1}], [{}, {"x": "1"}]),
    Taken("dataclass_described", Described, [{"point": {"x": 1}, "labels": ["a"]}], [{"point": {}}]),
    Taken("typed_dict", Movie, [{"title": "a", "id": 1}], [{"title": "a"}]),
    Taken("typed_dict_partial", Loose, [{}, {"a": 1}], [{"a": "1"}]),
    Taken("root_model", Tags, [{"a": ["b"]}], [{"a": "b"}]),
    Taken("dict", dict[str, int], [{"a": 1}], [{"a": "1"}]),
    Taken("dict_of_names", dict[Literal["a", "b"], int], [{"a": 1}], [{"c": 1}]),
]

NOON = datetime(2026, 1, 31, 12)
OUTPUTS: Final = [
    Given("str", str, [("a", "a")]),
    Given("int", int, [(1, 1)]),
    Given("float", float, [(1, 1), (0.5, 0.5)]),
    Given("bool", bool, [(True, True)]),
    Given("any", list[Any], [([1, {"a": NOON}], [1, {"a": "2026-01-31T12:00:00"}])]),
    Given("str_or_none", str | None, [("a", "a"), (None, None)]),
    Given("datetime", datetime, [(NOON, "2026-01-31T12:00:00"), (NOON.replace(tzinfo=UTC), MOMENT)]),
    Given("date", date, [(date(2026, 1, 31), "2026-01-31")]),
    Given("time", time, [(time(12, 30), "12:30:00")]),
    Given("timedelta", timedelta, [(timedelta(hours=-1), "-PT1H")]),
    Given("decimal", Decimal, [(Decimal("1.50"), "1.50"), (Decimal("1E+5"), "1E+5")]),
    Given("decimal_limits", Annotated[Decimal, Field(ge=0, max_digits=4)], [(Decimal("1.5"), "1.5")]),
    Given("uuid", uuid.UUID, [(uuid.UUID(ID), ID)]),
    Given("bytes", bytes, [(b"hi", "aGk=")]),
    Given("path", Path, [(Path("a"), "a")]),
    Given("url", AnyUrl, [(AnyUrl("https://x.example/a|b"), "https://x.example/a|b")]),
    Given("str_pattern", Annotated[str, Field(pattern=r"^\d+$", max_length=3)], [("12", "12")]),
    Given("float_multiple", Annotated[float, Field(multiple_of=0.1, ge=0)], [(0.3, 0.3)]),
    Given("enum", Colour, [(Colour.RED, "red")]),
    Given("mixed_enum", Mixed, [(Mixed.ONE, 1), (Mixed.NOTHING, None)]),
    Given("flag", Rights, [(Rights.READ | Rights.RUN, 5)]),
    Given("literal", Literal["a"], [("a", "a")]),
    Given("list_of_models", list[Address], [([Address(street="a")], [{"street": "a", "number": 1, "note": None}])]),
    Given("set", set[str | Path], [({"a"}, ["a"])]),
    Given("tuple", tuple[int, str | None], [((1, None), [1, None])]),
    Given("named_tuple", Pair, [(Pair(1), [1, "r"])]),
    Given("dict", dict[str, float], [({"a": 1.5}, {"a": 1.5})]),
    Given("dict_by_int", dict[int, str], [({1: "a"}, {"1": "a"})]),
    Given("dict_of_names", dict[Literal["a", "b"], int], [({"a": 1}, {"a": 1})]),
    Given("model", Address, [(Address(street="a"), {"street": "a", "number": 1, "note": None})]),
    Given(
        "model_priced",
        Priced,
        [
            (
                Priced(
                    price=Decimal("1.5"),
                    at=NOON,
                    took=timedelta(minutes=1),
                    day=date(2026, 1, 31),
                    id=uuid.UUID(ID),
                    raw=b"hi",
                    path=Path("a"),
                    link=AnyUrl("https://x.example"),
                    tags={"t"},
                    size=Size.LARGE,
                ),
                {
                    "price": "1.5",
                    "at": "2026-01-31T12:00:00",
                    "took": 60.0,
                    "day": "2026-01-31",
                    "id": ID,
                    "raw": "aGk=",
                    "path": "a",
                    "link": "https://x.example/",
                    "tags": ["t"],
                    "size": "large",
                    "doubled": "3.0",
                },
            )
        ],
    ),
    Given(
        "model_recursive",
        Tree,
        [(Tree(name="a", children=[Tree(name="b")]), {"name": "a", "children": [{"name": "b", "children": []}]})],
    ),
    Given("model_aliased", Aliased, [(Aliased(externalX=1), {"externalX": 1})]),
    Given("model_open", Open, [(Open.model_validate({"name": "a", "x": 1}), {"name": "a", "x": 1})]),
    Given("tagged", Pet, [(Cat(), {"kind": "cat", "lives": 9})]),
    Given("union", int | Address | None, [(1, 1), (None, None)]),
    Given("generic", Box[Decimal], [(Box[Decimal](content=Decimal(1)), {"content": "1"})]),
    Given("dataclass", Described, [(Described(point=Point(1)), {"point": {"x": 1.0, "y": 0.0}, "labels": []})]),
    Given("typed_dict", Movie, [({"title": "a", "id": 1}, {"title": "a", "id": 1})]),
    Given("root_model", Tags, [(Tags({"a": ["b"]}), {"a": ["b"]})]),
]
