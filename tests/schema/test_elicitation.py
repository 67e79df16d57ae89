"""Forms for people: what a type asks for, and what an answer becomes."""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AnyUrl,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NaiveDatetime,
    RootModel,
    TypeAdapter,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from tesseron_py.errors import InvalidAnswer
from tesseron_py.schema.caching import KEPT
from tesseron_py.schema.elicitation import AnswerForm, check_subset, form_for, form_for_json_schema, plain_form


class Severity(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


class Ticket(BaseModel):
    """A ticket; this goes to no form."""

    title: str = Field(min_length=2, max_length=40, pattern="^[A-Z]", description="One line")
    severity: Severity = Severity.LOW
    level: Level | None = None
    colour: Literal["red", "green"]
    note: str | None
    age: int = Field(gt=0, lt=150)
    weight: float = Field(gt=0.5, le=9)
    urgent: bool = False
    due: date = date(2026, 1, 31)
    mail: str = Field("a@b.example", json_schema_extra={"format": "email"})
    price: Decimal = Decimal("1.50")


TICKET: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "title": "Title", "description": "One line", "minLength": 2, "maxLength": 40},
        "severity": {"type": "string", "title": "Severity", "enum": ["low", "high"], "default": "low"},
        "level": {"type": "string", "title": "Level", "enum": ["1", "2"]},
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "green"]},
        "note": {"type": "string", "title": "Note"},
        "age": {"type": "integer", "title": "Age", "minimum": 1, "maximum": 149},
        "weight": {"type": "number", "title": "Weight", "minimum": 0.5, "maximum": 9},
        "urgent": {"type": "boolean", "title": "Urgent", "default": False},
        "due": {"type": "string", "title": "Due", "format": "date", "default": "2026-01-31"},
        "mail": {"type": "string", "title": "Mail", "format": "email", "default": "a@b.example"},
        "price": {"type": "string", "title": "Price", "default": "1.50"},
    },
    "required": ["title", "colour", "age", "weight"],
}


def issues(form: AnswerForm, content: Any) -> list[tuple[str, list[Any]]]:
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(content)
    return [(issue["message"], issue["path"]) for issue in refused.value.data]


# What is asked --------------------------------------------------------------------------------------------------


def test_a_form_is_flat_typed_and_says_all_a_form_can() -> None:
    assert form_for(Ticket).schema == TICKET


def field_schema(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of one field of a form."""
    namespace = {"__annotations__": {"f": annotation}} | ({} if default is ... else {"f": default})
    schema = form_for(type("Form", (BaseModel,), namespace)).schema
    found: dict[str, Any] = schema["properties"]["f"]
    assert found.pop("title") == "F"
    return found | ({"optional": True} if not schema["required"] else {})


TITLED = {"oneOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Berry"}]}
NAMED = {"enum": ["a", "b"], "enumNames": ["Apple", "Berry"]}


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (str, ..., {"type": "string"}),
        (Optional[str], None, {"type": "string", "optional": True}),  # noqa: UP045  # the old spelling
        (str | None, ..., {"type": "string", "optional": True}),
        (int, 0, {"type": "integer", "default": 0, "optional": True}),
        (int, "wrong", {"type": "integer", "optional": True}),
        (int, True, {"type": "integer", "optional": True}),
        (float, 1, {"type": "number", "default": 1.0, "optional": True}),
        (float, float("inf"), {"type": "number", "optional": True}),
        (int | float, 1, {"type": "number", "default": 1, "optional": True}),
        (float | int | None, None, {"type": "number", "optional": True}),
        (Annotated[int, Field(ge=1, le=9)] | Annotated[float, Field(ge=1, le=8)], ...,
         {"type": "number", "minimum": 1}),
        (bool, None, {"type": "boolean", "optional": True}),
        (str, "", {"type": "string", "default": "", "optional": True}),
        (Annotated[int, Field(ge=1, gt=3, le=9, lt=20)], ..., {"type": "integer", "minimum": 4, "maximum": 9}),
        (Annotated[int, Field(json_schema_extra={"exclusiveMinimum": 0.5, "exclusiveMaximum": 2.5})], ...,
         {"type": "integer", "minimum": 1, "maximum": 2}),
        (Annotated[float, Field(gt=1, lt=2)], ..., {"type": "number", "minimum": 1, "maximum": 2}),
        (Annotated[int, Field(multiple_of=5)], ..., {"type": "integer"}),
        (Annotated[str, Field(json_schema_extra={"minLength": "x", "format": "color"})], ..., {"type": "string"}),
        (date, ..., {"type": "string", "format": "date"}),
        (datetime, ..., {"type": "string", "format": "date-time"}),
        (datetime, datetime(2026, 1, 1), {"type": "string", "format": "date-time", "optional": True}),
        (AwareDatetime, datetime.fromisoformat("2026-01-01T00:00:00+00:00"),
         {"type": "string", "format": "date-time", "default": "2026-01-01T00:00:00Z", "optional": True}),
        (NaiveDatetime, datetime(2026, 1, 1), {"type": "string", "default": "2026-01-01T00:00:00", "optional": True}),
        (time, ..., {"type": "string"}),
        (timedelta, ..., {"type": "string"}),
        (UUID, ..., {"type": "string"}),
        (Path, ..., {"type": "string"}),
        (Decimal, Decimal("0.10"), {"type": "string", "default": "0.10", "optional": True}),
        (Annotated[AnyUrl, Field(max_length=99)], ...,
         {"type": "string", "format": "uri", "minLength": 1, "maxLength": 99}),
        (Severity, ..., {"type": "string", "enum": ["low", "high"]}),
        (Optional[Severity], Severity.HIGH,  # noqa: UP045  # the old spelling
         {"type": "string", "enum": ["low", "high"], "default": "high", "optional": True}),
        (Level, Level.TWO, {"type": "string", "enum": ["1", "2"], "default": "2", "optional": True}),
        (Literal["only"], ..., {"type": "string", "enum": ["only"]}),
        (Literal[1, 2.5, "x", True, None], ...,
         {"type": "string", "enum": ["1", "2.5", "x", "true"], "optional": True}),
        (Literal[True], ..., {"type": "string", "enum": ["true"]}),
        (Literal["a"] | Literal["b"], ..., {"type": "string", "enum": ["a", "b"]}),
        (Annotated[Literal["a", "b"], Field(json_schema_extra=TITLED)], "b",
         {"type": "string", **NAMED, "default": "b", "optional": True}),
        (Annotated[str, Field(json_schema_extra=TITLED)], ..., {"type": "string", **NAMED}),
        (Annotated[str, Field(json_schema_extra={"enum": ["a"]})], ..., {"type": "string", "enum": ["a"]}),
        (Annotated[Literal["a", "b"], Field(json_schema_extra={"enumNames": ["Apple", "Berry"]})], ...,
         {"type": "string", **NAMED}),
        (Annotated[Literal["a", "b"], Field(json_schema_extra={"enumNames": ["Apple"]})], ...,
         {"type": "string", "enum": ["a", "b"]}),
        (Annotated[Literal[1, 2], Field(json_schema_extra={"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]})],
         ..., {"type": "string", "enum": ["1", "2"], "enumNames": ["One", "2"]}),
        (Annotated[str, Field(json_schema_extra={"oneOf": [{"const": "a"}, {"const": "b"}]})], ...,
         {"type": "string", "enum": ["a", "b"]}),
    ],
)  # fmt: skip
def test_field_2_9_every_askable_type_has_a_plain_field(
    annotation: Any, default: Any, expected: dict[str, Any]
) -> None:
    assert field_schema(annotation, default) == expected


class Empty(BaseModel):
    pass


@dataclass
class Point:
    x: int
    label: Annotated[str, Field(title="Its name")] = ""


POINT = {
    "x": {"type": "integer", "title": "X"},
    "label": {"type": "string", "title": "Its name", "default": ""},
}


class Pick(TypedDict):
    choice: Literal["a", "b"]
    why: NotRequired[str]


class Aliased(BaseModel):
    external: int = Field(alias="externalX")


@pytest.mark.parametrize(
    ("type", "properties", "required"),
    [
        (Empty, {}, []),
        (Point, POINT, ["x"]),
        (Pick,
         {"choice": {"type": "string", "title": "Choice", "enum": ["a", "b"]},
          "why": {"type": "string", "title": "Why"}},
         ["choice"]),
        (Aliased, {"externalX": {"type": "integer", "title": "External X"}}, ["externalX"]),
        (Point | None, POINT, ["x"]),
        (str, {"response": {"type": "string", "title": "Response"}}, ["response"]),
        (int, {"value": {"type": "integer", "title": "Value"}}, ["value"]),
        (Severity, {"value": {"type": "string", "title": "Severity", "enum": ["low", "high"]}}, ["value"]),
        (Annotated[str, Field(min_length=3)],
         {"value": {"type": "string", "title": "Value", "minLength": 3}}, ["value"]),
        (Annotated[int, Field(ge=1, title="Count", description="How many")],
         {"value": {"type": "integer", "title": "Count", "description": "How many", "minimum": 1}}, ["value"]),
        (int | None, {"value": {"type": "integer", "title": "Value"}}, []),
        (RootModel[int], {"value": {"type": "integer", "title": "RootModel[int]"}}, ["value"]),
    ],
)  # fmt: skip
def test_every_kind_of_type_is_a_form(type: Any, properties: dict[str, Any], required: list[str]) -> None:
    assert form_for(type).schema == {"type": "object", "properties": properties, "required": required}


def test_a_question_without_a_schema_asks_for_a_string() -> None:
    assert plain_form() is form_for()
    assert plain_form().parse({"response": ""}) == ""
    assert plain_form().parse({"response": "12345"}) == "12345"


@pytest.mark.parametrize("type", [Ticket, Empty, Point, Pick, str, Severity, int | None])
def test_what_is_derived_is_inside_the_subset(type: Any) -> None:
    schema = form_for(type).schema
    check_subset(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(schema)
    for word in ("$ref", "$defs", "anyOf", "allOf", "null", "pattern", '"type": ['):
        assert word not in text


def test_forms_are_kept_within_bounds() -> None:
    assert form_for(Ticket) is form_for(Ticket)
    for n in range(KEPT):
        form_for(Annotated[int, Field(ge=n)])
    assert form_for(Ticket).schema == TICKET
    unhashable = Annotated[int, {"a": "dict"}]
    assert form_for(unhashable).schema == form_for(int).schema


# What an answer becomes -----------------------------------------------------------------------------------------


def test_an_answer_is_the_model() -> None:
    content = {"title": "Fix", "colour": "red", "age": 30.0, "weight": 3, "level": "2", "price": "0.10", "extra": 1}
    ticket = form_for(Ticket).parse(content)
    assert ticket == Ticket(
        title="Fix", colour="red", age=30, weight=3.0, level=Level.TWO, price=Decimal("0.10"), note=None
    )
    assert content["level"] == "2"
    assert isinstance(ticket.age, int)


@pytest.mark.parametrize(
    ("type", "content", "value"),
    [
        (bool, {"value": False}, False),
        (int, {"value": 0}, 0),
        (int, {"value": 3.0}, 3),
        (float, {"value": 3}, 3.0),
        (int | float, {"value": 3}, 3),
        (int | float, {"value": "2.5"}, 2.5),
        (str, {"response": ""}, ""),
        (Severity, {"value": "low"}, Severity.LOW),
        (Level, {"value": "1"}, Level.ONE),
        (Level, {"value": 2}, Level.TWO),
        (Level, {"value": 2.0}, Level.TWO),
        (Literal[0, "0x"], {"value": "0"}, 0),
        (Literal[True, "maybe"], {"value": "true"}, True),
        (Literal[True], {"value": True}, True),
        (date, {"value": "2026-01-31"}, date(2026, 1, 31)),
        (datetime, {"value": "2026-01-31T12:00"}, datetime(2026, 1, 31, 12)),
        (Decimal, {"value": "1.10"}, Decimal("1.10")),
        (UUID, {"value": str(UUID(int=7))}, UUID(int=7)),
        (Annotated[int, Field(ge=1)], {"value": 1}, 1),
        (int | None, {"value": None}, None),
        (int | None, None, None),
        (int | None, {"value": 4}, 4),
        (RootModel[int], {"value": 4}, RootModel[int](4)),
        (Empty, None, Empty()),
        (Empty, {"extra": 1}, Empty()),
        (Point, {"x": 1, "label": None}, Point(1)),
        (Pick, {"choice": "a", "why": None}, {"choice": "a"}),
        (Aliased, {"externalX": 1}, Aliased(externalX=1)),
        (Point | None, {"x": 1}, Point(1)),
    ],
)
def test_field_29_answers_survive_as_they_are(type: Any, content: Any, value: Any) -> None:
    found = form_for(type).parse(content)
    assert found == value
    assert found.__class__ is value.__class__


def test_a_null_in_an_optional_field_is_none_given() -> None:
    class Form(BaseModel):
        a: str | None
        b: str | None = "kept"
        c: Severity | None = Severity.HIGH

    assert form_for(Form).parse({"a": None, "b": None, "c": None}) == Form(a=None)


def test_what_the_author_checks_is_checked() -> None:
    class Range(BaseModel):
        low: int
        high: int

        @field_validator("low")
        @classmethod
        def positive(cls, low: int) -> int:
            if low < 0:
                raise ValueError("low is not below 0")
            return low

        @model_validator(mode="after")
        def ordered(self) -> Range:
            if self.low > self.high:
                raise ValueError("low is not above high")
            return self

    assert form_for(Range).parse({"low": 1, "high": 2}) == Range(low=1, high=2)
    for answer, told, path in (
        ({"low": 3, "high": 2}, "low is not above high", []),
        ({"low": -3, "high": 2}, "low is not below 0", ["low"]),
    ):
        with pytest.raises(InvalidAnswer) as refused:
            form_for(Range).parse(answer)
        assert refused.value.told == [{"message": told, "path": path}]
        assert refused.value.data == [{"message": "what was given does not fit", "path": path}]


def test_a_model_may_refuse_what_it_did_not_ask_for() -> None:
    class Form(BaseModel):
        model_config = ConfigDict(extra="forbid")
        name: str

    assert issues(form_for(Form), {"name": "a", "nam": "b"}) == [('unknown field "nam"; did you mean "name"?', ["nam"])]


class Stubborn(enum.Enum):
    SAFE = "safe"
    ALL = "all"

    @classmethod
    def _missing_(cls, value: object) -> Stubborn:
        return cls.ALL


def test_field_35_a_choice_outside_the_published_ones_is_none() -> None:
    assert issues(form_for(Stubborn), {"value": "everything"}) == [('one of "safe", "all" is expected', ["value"])]
    titled = form_for(Annotated[str, Field(json_schema_extra=TITLED)])
    assert titled.parse({"value": "a"}) == "a"
    assert issues(titled, {"value": "c"}) == [('one of "a", "b" is expected', ["value"])]


# A JSON Schema of the author's -----------------------------------------------------------------------------------


def test_a_json_schema_goes_out_as_it_stands() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"], "x-widget": "slider"}, "s": {"title": "S"}},
        "required": ["n"],
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    form = form_for_json_schema(schema)
    assert form.schema == schema
    assert form.schema is not schema
    assert form.parse({"n": 3.0, "s": "x", "other": 1}) == {"n": 3, "s": "x"}
    assert form.parse({"n": None, "s": None}) == {"n": None, "s": None}


def test_an_answer_that_is_no_json_is_none() -> None:
    for form in (form_for_json_schema({"type": "object", "properties": {"a": {}}}), form_for(Pick)):
        ((message, path),) = issues(form, {"a": object()})
        assert (message[:26], path) == ("it cannot be read as JSON:", [])


# Whatever comes ---------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-5, 200) | st.floats() | st.text(max_size=4)
contents = scalars | st.dictionaries(
    st.sampled_from([*TICKET["properties"], "value", "response", "n", "x"]), scalars | st.lists(scalars, max_size=2)
)
FORMS = [form_for(each) for each in (Ticket, Point, Pick, str, Level, int | None, Empty)]


@given(st.sampled_from(FORMS), contents)
def test_an_answer_is_a_value_or_invalid_and_nothing_else(form: AnswerForm, content: Any) -> None:
    found: Any = None
    try:
        form.parse(content)
    except InvalidAnswer as error:
        found = error.data
    assert found != []
    assert json.loads(json.dumps(found)) == found


valid = st.fixed_dictionaries(
    {"title": st.sampled_from(["Ab", "X1"]), "colour": st.sampled_from(["red", "green"]),
     "age": st.integers(1, 149), "weight": st.floats(0.6, 9)},
    optional={"level": st.sampled_from(["1", "2"]), "note": st.text(max_size=3), "urgent": st.booleans(),
              "due": st.dates().map(str), "severity": st.sampled_from(["low", "high"])},
)  # fmt: skip


@given(valid)
def test_what_fits_the_form_is_taken(content: dict[str, Any]) -> None:
    jsonschema.validate(content, TICKET)
    ticket = form_for(Ticket).parse(content)
    written = json.loads(TypeAdapter(Ticket).dump_json(ticket))
    assert {
        name: str(value) if name == "level" else value for name, value in written.items() if name in content
    } == content


def test_a_pattern_of_a_type_holds_as_clients_have_it() -> None:
    class Trimmed(BaseModel):
        model_config = ConfigDict(str_strip_whitespace=True)
        code: Annotated[str, Field(pattern="^[a-z]+$")] = "a"

    class Form(BaseModel):
        rust: Annotated[str, Field(pattern=r"^\d{4}$")] = "1234"
        python: Annotated[str, Field(pattern=re.compile(r"^\d{4}$"))] = "1234"
        named: Annotated[str, Field(pattern=re.compile(r"\A(?P<y>\w)\Z"))] = "a"
        loose: Annotated[str, Field(pattern=re.compile("^abc$", re.IGNORECASE))] = "abc"
        upper: Annotated[str, BeforeValidator(str.upper), Field(pattern="^[A-Z]+$")] = "A"
        trimmed: Trimmed = Trimmed()
        shown: Annotated[str, Field(pattern="^b$")] = "none of it"

    form = form_for(Form)
    for name in ("rust", "python"):
        assert getattr(form.parse({name: "5678"}), name) == "5678"
        for wrong in ("\u0663" * 4, "5678\n", "567"):
            with pytest.raises(InvalidAnswer) as refused:
                form.parse({name: wrong})
            message = r"a string that matches ^\d{4}$ is expected"
            assert refused.value.data == [{"message": message, "path": [name]}]
    with pytest.raises(InvalidAnswer, match="named"):
        form.parse({"named": "\u00e9"})
    assert form.parse({"loose": "ABC", "upper": "abc", "trimmed.code": " ab "}) == Form(
        loose="ABC", upper="ABC", trimmed=Trimmed(code="ab")
    )


class Contact(BaseModel):
    name: str = "somebody"
    phone: Annotated[str, Field(pattern=r"^\+?\d{5,15}$")] | None = None
    zip: Annotated[str, Field(pattern=r"^\d{5}$")] = "10115"
    blank: Annotated[str, Field(pattern=r"^\s*$")] = "\t"
    spaces: Annotated[str, Field(pattern=r"^ +$")] | None = None
    short: Annotated[str, Field(pattern=r"^ *$", min_length=2)] | None = None
    behind: Annotated[str, Field(pattern=re.compile(r"(?<=a)b(?!c)(?i:d)"))] | None = None
    anything: Annotated[str, Field(pattern=re.compile(r"(?i:d)*(?<!a)"))] = "d"


def test_a_text_is_left_empty_where_its_pattern_has_no_empty_one() -> None:
    form = form_for(Contact)
    nothing = {"phone": "", "zip": "", "spaces": "", "short": "", "behind": ""}
    assert form.parse(nothing) == Contact()
    assert form.parse({"phone": " ", "zip": "\n", "short": " "}) == Contact()
    taken = {"name": "", "blank": "", "spaces": " ", "short": "  ", "anything": ""}
    assert form.parse(taken).model_dump() == {**Contact().model_dump(), **taken}
    with pytest.raises(InvalidAnswer):
        form.parse({"phone": "x"})


def test_so_it_is_in_a_json_schema() -> None:
    properties = {
        "phone": {"type": "string", "pattern": r"^\d{5}$"},
        "spaces": {"type": "string", "pattern": "^ *$"},
        "needed": {"type": "string", "pattern": "^a*$"},
    }
    form = form_for_json_schema({"type": "object", "properties": properties, "required": ["needed"]})
    assert form.parse({"phone": "", "spaces": "", "needed": ""}) == {"spaces": "", "needed": ""}
    assert form.parse({"phone": " ", "spaces": " ", "needed": "a"}) == {"spaces": " ", "needed": "a"}
    for wrong in ({"phone": "x", "needed": ""}, {"needed": " "}):
        with pytest.raises(InvalidAnswer):
            form.parse(wrong)
