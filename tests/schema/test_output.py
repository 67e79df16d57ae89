"""The check of a strict action's output: what goes out fits the published type, whatever object it came in."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import (
    AfterValidator,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PostgresDsn,
    PrivateAttr,
    RootModel,
    SecretStr,
    ValidationError,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticSerializationError, core_schema

from tesseron_py.app import Tesseron
from tesseron_py.errors import ActionError, RegistrationError
from tesseron_py.schema.fitting import structure_of
from tesseron_py.schema.output import Output, output_for
from tesseron_py.unset import UNSET


class Inner(BaseModel):
    n: int


class Out(BaseModel):
    n: int
    size: Literal["s", "m"] = "s"
    inner: Inner | None = None
    named: str = Field("x", alias="Named")
    raw: bytes = b""


@dataclass
class Plain:
    n: int


class Priced(BaseModel):
    price: float

    @field_validator("price", mode="before")
    @classmethod
    def read(cls, value: str) -> float:
        return float(value.removesuffix(" EUR"))


def output(declared: Any) -> Output:
    found = output_for(lambda: None, name="act", declared=UNSET, returned=declared)
    assert found is not None
    return found


def mutated() -> Out:
    out = Out(n=1)
    out.n = "oops"  # type: ignore[assignment]
    return out


MISFITS: list[tuple[Any, Any, list[Any]]] = [
    (Out, mutated(), ["n"]),
    (Out, Out.model_construct(n="oops"), ["n"]),
    (Out, Out.model_construct(n=1, size="xl"), ["size"]),
    (Out, Out(n=1, inner=Inner.model_construct(n=None)), ["inner", "n"]),
    (list[Out], [Out(n=1), mutated()], [1, "n"]),
    (Plain, Plain("oops"), ["n"]),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("declared", "value", "path"), MISFITS)
def test_an_instance_that_no_longer_fits_is_refused(declared: Any, value: Any, path: list[Any]) -> None:
    with warnings.catch_warnings(record=True) as warned, pytest.raises(ActionError, match="does not fit") as refused:
        warnings.simplefilter("always")
        output(declared).check(value)
    assert [issue["path"] for issue in refused.value.data] == [path]
    assert warned == []


def test_a_valid_instance_is_not_validated_again() -> None:
    assert output(Priced).check(Priced.model_validate({"price": "3 EUR"})) == {"price": 3.0}


class Shade(Enum):
    DARK = "dark"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = Field(9, ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


class Names(RootModel[list[str]]):
    pass


class Everything(BaseModel):
    """What the structure has to be found through."""

    model_config = ConfigDict(use_enum_values=True, arbitrary_types_allowed=True)
    shade: Shade = Shade.DARK
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] = Cat()
    names: Names = Names(["a"])
    below: list[Everything] = []
    day: date = date(2026, 1, 2)
    path: Path = Path("a")
    price: Decimal = Decimal("1.5")
    near: Annotated[int, AfterValidator(lambda n: n + 1)] = 1
    tags: set[str] = set()
    either: int | str | None = None
    typed: dict[str, Cat] = {}
    secret: SecretStr = SecretStr("s")
    _private: int = PrivateAttr(1)

    def model_post_init(self, context: Any) -> None:
        MADE.append(self)

    @computed_field
    def doubled(self) -> int:
        return self._private * 2


MADE: list[Any] = []


def test_a_valid_instance_is_written_without_any_of_its_authors_hooks() -> None:
    value = Everything.model_validate(
        {"shade": "dark", "near": 1, "below": [{"near": 5}], "typed": {"a": {"lives": 3}}, "tags": ["x"]}
    )
    value._private = 4
    made = len(MADE)
    plain = output(Everything).check(value)
    assert len(MADE) == made
    assert (plain["near"], plain["below"][0]["near"], plain["doubled"], plain["shade"]) == (2, 6, 8, "dark")


def change(**changes: Any) -> Everything:
    return Everything().model_copy(update=changes)


@pytest.mark.parametrize(
    "value",
    [
        change(pet=Cat.model_construct(lives=10)),
        change(pet="cat"),
        change(names=Names.model_construct(root=[1])),
        change(below=[change(near="x")]),
        change(day="yesterday"),
        change(tags={1}),
        change(typed={"a": 5}),
        change(either=[]),
    ],
    ids=repr,
)
def test_what_does_not_fit_is_found_at_any_depth(value: Everything) -> None:
    with pytest.raises(ActionError, match="does not fit"):
        output(Everything).check(value)


def test_a_dataclass_with_fields_of_every_kind() -> None:
    @dataclass(slots=True)
    class Counted:
        n: int
        start: InitVar[int] = 0
        total: int = field(init=False, default=0)

        def __post_init__(self, start: int) -> None:
            self.total = self.n + start

    assert output(Counted).check(Counted(1, 2)) == {"n": 1, "total": 3}
    with pytest.raises(ActionError, match="does not fit"):
        output(Counted).check(Counted("1x", "2"))  # type: ignore[arg-type]


def test_what_cannot_be_written_is_an_error_of_its_own() -> None:
    class Odd(BaseModel):
        n: Any

    with pytest.raises(PydanticSerializationError):
        output(Odd).check(Odd(n=object()))


def test_a_type_without_models_needs_no_second_look() -> None:
    assert output(list[int])._structure is None
    assert output(list[int]).check([1]) == [1]


class Celsius:
    """A type whose schema is all functions."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        writes = core_schema.plain_serializer_function_ser_schema(
            lambda value: value.degrees, return_schema=core_schema.float_schema()
        )
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(value), serialization=writes
        )


class Weather(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    now: Celsius
    next: Weather | None = None

    @model_validator(mode="after")
    def look(self) -> Weather:
        return self


def test_types_of_functions_alone_are_taken_as_they_are() -> None:
    value = Weather(now=Celsius(3.0), next=Weather(now=Celsius(4.0)))
    assert output(Weather).check(value) == {"now": 3.0, "next": {"now": 4.0, "next": None}}
    with pytest.raises(ActionError, match="does not fit"):
        output(Weather).check(Weather.model_construct(now=Celsius(3.0), next=5))


def test_a_form_of_schema_that_is_not_known_is_not_looked_into() -> None:
    model = {"type": "model", "cls": Inner, "schema": {"type": "computed", "fields": {}}}
    structure = structure_of(model)
    assert structure.validate_python(Inner(n=1)) == Inner(n=1)
    with pytest.raises(ValidationError):
        structure.validate_python(1)
    assert structure_of({"type": "list", "items_schema": model, "min_length": "many"}) is None


class Linked(BaseModel):
    link: AnyUrl
    more: list[HttpUrl] = []
    host: PostgresDsn | None = None


def test_a_url_fits() -> None:
    link = AnyUrl("https://x.example/a")
    assert output(Linked).check(Linked(link=link))["link"] == "https://x.example/a"
    assert output(list[Linked]).check([Linked(link=link, more=["https://y.example"])])[0]["more"] == [  # type: ignore[list-item]
        "https://y.example/"
    ]


class Moment(BaseModel):
    at: datetime
    until: datetime | None = None
    daily: time
    aware: AwareDatetime
    took: timedelta


def test_field_21_a_time_without_an_offset_goes_out_as_it_is_and_nothing_else_was_promised() -> None:
    noon = datetime(2026, 1, 31, 12)
    found = output(Moment)
    moment = Moment(at=noon, daily=noon.time(), aware=noon.replace(tzinfo=UTC), took=timedelta(days=-1))
    written = found.check(moment)
    assert (written["at"], written["daily"]) == ("2026-01-31T12:00:00", "12:00:00")
    formats = FormatChecker(())
    for name in ("date-time", "time", "duration"):
        formats.checks(name)(lambda value: False)  # none of them is promised
    Draft202012Validator(found.schema, format_checker=formats).validate(written)
    assert "format" not in json.dumps(found.schema)


class Configured(BaseModel):
    model_config = ConfigDict(ser_json_temporal="seconds", ser_json_bytes="hex")
    at: datetime
    raw: bytes


def test_what_a_model_says_of_its_output_is_what_is_published() -> None:
    found = output(Configured)
    written = found.check(Configured(at=datetime(2026, 1, 31, tzinfo=UTC), raw=b"\xff"))
    Draft202012Validator(found.schema).validate(written)
    assert isinstance(written["at"], (int, float))


class Counted(BaseModel):
    values: list[int]

    @computed_field
    def size(self) -> Annotated[int, Field(ge=1)]:
        return len(self.values)

    @field_serializer("values")
    def texts(self, values: list[int]) -> Annotated[list[str], Field(max_length=2)]:
        return [str(value) for value in values]


def test_what_functions_write_is_held_to_their_annotations() -> None:
    assert output(Counted).check(Counted(values=[1])) == {"values": ["1"], "size": 1}
    for values in ([], [1, 2, 3]):
        with pytest.raises(ActionError, match="what its own annotation does not allow"):
            output(Counted).check(Counted(values=values))


def test_what_is_no_number_in_json_and_what_is_of_another_type_do_not_fit() -> None:
    with pytest.raises(ActionError, match=r"a\[1\]: NaN and infinity are no JSON numbers"):
        output(dict[str, list[float]]).check({"a": [1.0, float("nan")]})
    with pytest.raises(ActionError, match="a whole number is expected"):
        output(list[int]).check(["x"])


def test_an_output_type_without_a_schema_is_refused_when_it_is_named_and_else_says_nothing() -> None:
    with pytest.raises(RegistrationError, match="has no JSON Schema"):
        output_for(lambda: None, name="act", declared=Callable[[], None], returned=UNSET)
    assert output_for(lambda: None, name="act", declared=UNSET, returned=Callable[[], None]) is None
    assert output_for(lambda: None, name="act", declared=UNSET, returned=None) is None


class Plain:
    """JSON has no values for it."""


class Abstract(ABC):
    @abstractmethod
    def area(self) -> float: ...


class Awaited:
    def __await__(self) -> Iterator[Any]:
        return iter(())


def test_a_result_that_json_has_no_values_for_is_told_where_it_is_declared(caplog: pytest.LogCaptureFixture) -> None:
    def gives() -> Plain:
        return Plain()

    def shape() -> Abstract: ...

    def later() -> Awaited:
        return Awaited()

    for fn in (gives, shape, later, Plain):
        assert Tesseron("shop").action(fn.__name__).handler(fn).output_schema is None
    said = [record.getMessage() for record in caplog.records if record.name == "tesseron_py.schema"]
    end = (
        "and JSON has no values for those, so its calls will fail; use a model, a dataclass, a TypedDict or a JSON type"
    )
    assert said == [
        f"{gives.__qualname__} ({__file__}:{gives.__code__.co_firstlineno}): it returns Plain, {end}",
        f"Plain: calling it gives one of its objects, {end}",
    ]


def test_a_class_of_objects_that_json_has_values_for_is_an_action() -> None:
    class Point(BaseModel):
        x: int

    assert Tesseron("shop").action("point").handler(Point).output_schema is not None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"x": int}, "has no JSON Schema (a dict is no type); use a model"),
        ([int], "has no JSON Schema (a list is no type); use a model"),
        (lambda: 1, "is a function; give .output(…) a type"),
        (print, "is a function; give .output(…) a type"),
        (Annotated[str, Field(ge=3)], "cannot be used: the constraint ge=3 is for numbers"),
    ],
)
def test_an_output_that_is_no_type_is_refused_where_it_is_declared(declared: Any, message: str) -> None:
    app = Tesseron("shop")
    with pytest.raises(RegistrationError) as refused:
        app.action("act").output(declared).handler(lambda: 1)
    assert message in str(refused.value)


def test_a_return_annotation_that_cannot_be_used_promises_nothing() -> None:
    assert output_for(lambda: 1, name="act", declared=UNSET, returned=Annotated[str, Field(ge=3)]) is None
