"""Asking again: what was wrong, field by field and in plain words, and what was typed as the defaults."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    PastDate,
    field_validator,
    model_validator,
)

from tesseron_py import Context, Tesseron
from tesseron_py.errors import ActionError, InvalidAnswer
from tesseron_py.mcp.forms import normalise
from tesseron_py.schema.again import LINES, LONGEST_KEPT
from tesseron_py.schema.elicitation import AnswerForm, form_for, form_for_json_schema
from tesseron_py.testing import ActionFailed, Agent, accept


class Seat(StrEnum):
    WINDOW = "window"
    AISLE = "aisle"


class Hotel(BaseModel):
    name: str = Field(min_length=2)
    nights: int = 1


class Trip(BaseModel):
    luggage: Annotated[int, Field(title="Pieces of luggage", ge=0, le=3)]
    price: float | None = None
    insured: bool = False
    seat: Seat = Seat.AISLE
    extras: set[Literal["wifi", "meal"]] = set()
    mail: Annotated[str, Field(json_schema_extra={"format": "email"})] = "a@b.example"
    pin: Annotated[str, Field(min_length=4, json_schema_extra={"writeOnly": True})]
    hotel: Hotel | None = None

    @field_validator("pin")
    @classmethod
    def safe(cls, pin: str) -> str:
        if pin == "1234":
            raise ValueError(f"{pin} is known to everybody")
        return pin

    @model_validator(mode="after")
    def paid(self) -> Trip:
        if self.insured and self.price is None:
            raise ValueError("an insured trip has a price")
        return self


def again(form: AnswerForm, content: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The lines below the question, and the defaults of the form."""
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(content)
    asked = form.schema
    question, asked_again = form.again("How do you travel?", content, refused.value)
    schema = asked_again.schema
    head, empty, title, *lines = question.split("\n")
    assert (head, empty, title) == ("How do you travel?", "", "The last answer did not fit:")
    assert form.schema is asked
    without = {name: {**each, "default": None} for name, each in schema["properties"].items()}
    assert without == {name: {**each, "default": None} for name, each in asked["properties"].items()}
    assert {**schema, "properties": 0} == {**asked, "properties": 0}
    return lines, {name: each["default"] for name, each in schema["properties"].items() if "default" in each}


KEPT = {"insured": False, "seat": "aisle", "mail": "a@b.example", "hotel.nights": 1}


def test_each_field_has_its_title_what_is_expected_and_what_was_given() -> None:
    lines, defaults = again(
        form_for(Trip),
        {"luggage": -3, "price": "12,50", "insured": "maybe", "seat": "roof", "hotel.nights": 2, "pin": "12345"},
    )
    assert lines == [
        "- Price: a number that can be read in one way only is expected, without a comma or a group of thousands, you"
        ' gave "12,50"',
        '- Seat: one of "window", "aisle" is expected, you gave "roof"',
        "- Pieces of luggage: at least 0 is expected, you gave -3",
        '- Insured: true or false is expected, you gave "maybe"',
        "- Hotel.Name: it is missing",
    ]
    assert defaults == {**KEPT, "luggage": -3, "hotel.nights": 2}


def test_what_was_typed_is_kept_where_a_client_can_show_it() -> None:
    typed = {
        "luggage": "9", "price": 3, "insured": "yes", "seat": "window", "extras.meal": True, "extras.wifi": "no",
        "mail": "c@d.example", "pin": "99999", "hotel.name": "Zur Post",
    }  # fmt: skip
    lines, defaults = again(form_for(Trip), typed)
    assert lines == ['- Pieces of luggage: at most 3 is expected, you gave "9"']
    assert defaults == {
        **KEPT, "luggage": 9, "price": 3, "insured": True, "seat": "window", "extras.meal": True, "extras.wifi": False,
        "mail": "c@d.example", "hotel.name": "Zur Post",
    }  # fmt: skip
    odd = {"luggage": 1.5, "price": "much", "seat": ["window"], "mail": "nobody", "extras.meal": 1, "hotel.name": 7}
    _, defaults = again(form_for(Trip), odd)
    assert defaults == KEPT
    _, defaults = again(form_for(Trip, lists=True), {"extras": ["meal"], "luggage": "x", "pin": ""})
    assert defaults == {**KEPT, "extras": ["meal"]}
    _, defaults = again(form_for(Trip, lists=True), {"extras": ["meal", "sofa"], "luggage": None, "seat": None})
    assert defaults == {**KEPT, "extras": []}


@pytest.mark.parametrize("pin", ["123", "1234", 1234, ["hunter2"], True])
def test_a_secret_is_shown_nowhere(pin: Any) -> None:
    form = form_for(Trip)
    with pytest.raises(InvalidAnswer) as refused:
        form.parse({"luggage": 1, "pin": pin})
    question, asked_again = form.again("?", {"luggage": 1, "pin": pin}, refused.value)
    schema = asked_again.schema
    assert str(pin) not in question
    assert question.splitlines()[3].startswith("- Pin: ")
    assert "default" not in schema["properties"]["pin"]


def test_a_fault_of_the_whole_tells_no_secret() -> None:
    class Login(BaseModel):
        pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]
        size: int = Field(ge=2)

        @model_validator(mode="after")
        def fits(self) -> Login:
            raise ValueError(f"nobody has {self.pin}")

    lines, _ = again(form_for(Login), {"pin": "hunter2", "size": 2})
    assert lines == ["- what you gave does not fit"]
    lines, _ = again(form_for(Login), {"pin": "2", "size": 1})
    assert lines == ["- Size: at least 2 is expected, you gave 1"]


def test_a_very_long_text_does_not_come_back() -> None:
    class Form(BaseModel):
        text: str
        n: int

    for length, kept in ((LONGEST_KEPT, True), (LONGEST_KEPT + 1, False)):
        _, defaults = again(form_for(Form), {"text": "x" * length, "n": "?"})
        assert ("text" in defaults) is kept


def test_a_fault_of_the_whole_has_no_title() -> None:
    lines, defaults = again(form_for(Trip), {"luggage": 1, "pin": "99999", "insured": True})
    assert lines == ["- an insured trip has a price"]
    assert defaults["insured"] is True


def test_choices_are_named_and_not_what_was_ticked() -> None:
    class Form(BaseModel):
        size: Annotated[list[Literal["s", "l"]], Field(min_length=1, title="Sizes")]

    assert again(form_for(Form), {"size.s": False, "size.l": False}) == (
        ["- Sizes: at least 1 of the choices is expected"],
        {"size.s": False, "size.l": False},
    )
    lines, _ = again(form_for(Form, lists=True), {"size": ["s", "s"]})
    assert lines == ['- Sizes: each choice is expected once at most, you gave ["s","s"]']


def test_what_was_given_is_cut_short_and_cannot_act() -> None:
    lines, _ = again(form_for(int), {"value": "\x1b[2J\u202e" + "x" * 500})
    assert len(lines) == 1
    assert lines[0].startswith('- Value: a whole number is expected, you gave "\\u001b[2J\\u202exxx')
    assert len(lines[0]) < 130
    lines, _ = again(form_for(int), {"value": {"a": "b"}})
    assert lines == ["- Value: a whole number is expected"]

    class Wordy(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def no(cls, text: str) -> str:
            raise ValueError(f"not\n{text}")

    lines, _ = again(form_for(Wordy), {"text": "\x1b" + "y" * 5000})
    assert lines[0].startswith("- Text: not\\n\\x1byyy")
    assert len(lines[0]) < 400


def test_no_more_lines_than_a_person_reads() -> None:
    properties = {f"f{n}": {"type": "integer"} for n in range(LINES + 5)}
    form = form_for_json_schema({"type": "object", "properties": properties})
    lines, _ = again(form, dict.fromkeys(properties, "x"))
    assert len(lines) == LINES + 1
    assert lines[-1] == "- and 5 more"


def test_a_json_schema_is_asked_again_likewise() -> None:
    form = form_for_json_schema(
        {
            "type": "object",
            "properties": {
                "count": {"type": ["integer", "null"], "title": "How many", "minimum": 0},
                "name": {"title": "Name"},
                "code": {"type": "string", "format": "password"},
                "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
                "odd": {"type": "string", "title": ""},
            },
            "required": ["code"],
            "additionalProperties": False,
            "x-own": 1,
        }
    )
    lines, defaults = again(form, {"count": "-1", "name": "Ada", "code": 7, "size": "s", "odd": True, "\x1b": 1})
    assert lines == [
        '- How many: at least 0 is expected, you gave "-1"',
        "- code: a string is expected",
        "- odd: a string is expected, you gave true",
        '- \\x1b: unknown field "\\u001b"',
    ]
    assert defaults == {"count": -1, "name": "Ada", "size": "s"}


def test_what_is_left_alone_is_what_the_form_shows() -> None:
    class Wipe(BaseModel):
        n: Annotated[int, Field(ge=0)]
        wipe: bool = True
        size: Literal["s", "l"] = "s"
        tags: set[Literal["x", "y"]] = {"x"}
        day: int | None = None

    typed = {"n": -1, "wipe": False, "size": "l", "tags.x": False, "tags.y": True, "day": 3}
    form = form_for(Wipe)
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(typed)
    _, second = form.again("?", typed, refused.value)
    kept = Wipe(n=1, wipe=False, size="l", tags={"y"}, day=3)
    assert second.parse({"n": 1}) == kept
    assert second.parse({"n": 1, "wipe": None, "size": ""}) == kept
    assert second.parse({"n": 1, "day": ""}) == Wipe(n=1, wipe=False, size="l", tags={"y"})
    assert second.parse({"n": 1, "wipe": True, "size": "s", "tags.y": False}).tags == set()
    assert form.parse({"n": 1}) == Wipe(n=1)

    with pytest.raises(InvalidAnswer, match="required, but missing") as refused:
        second.parse({"day": "", "wipe": "yes"})
    _, third = second.again("?", {"day": "", "wipe": "yes"}, refused.value)
    assert "default" not in third.schema["properties"]["day"]
    assert third.parse({"n": 1}) == Wipe(n=1, wipe=True, size="l", tags={"y"})

    _, older = form.again("?", typed, refused.value, booleans_only=True)
    shown = {name: each["default"] for name, each in older.schema["properties"].items() if "default" in each}
    assert shown == {"wipe": False, "size": "s", "tags.x": False, "tags.y": True}
    assert older.parse({"n": 1}) == Wipe(n=1, wipe=False, tags={"y"})


def test_what_is_emptied_and_taken_for_what_the_form_shows_is_told_as_that() -> None:
    class Stay(BaseModel):
        nights: Annotated[int, Field(ge=0)] = 5

    form = form_for(Stay)
    with pytest.raises(InvalidAnswer) as refused:
        form.parse({"nights": -1})
    _, second = form.again("?", {"nights": -1}, refused.value)
    with pytest.raises(InvalidAnswer) as refused:
        second.parse({"nights": ""})
    question, third = second.again("?", {"nights": ""}, refused.value)
    assert question.splitlines()[3:] == ["- Nights: at least 0 is expected, you gave -1"]
    assert third.schema["properties"]["nights"]["default"] == -1


def test_what_is_left_alone_in_an_object_is_what_the_form_shows() -> None:
    class Stay(BaseModel):
        n: Annotated[int, Field(ge=0)]
        hotel: Hotel | None = None

    form = form_for(Stay)
    typed = {"n": -1, "hotel.name": "Post", "hotel.nights": 3}
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(typed)
    _, second = form.again("?", typed, refused.value)
    assert second.parse({"n": 1}).hotel == Hotel(name="Post", nights=3)
    assert second.parse({"n": 1, "hotel.name": "Ring", "hotel.nights": ""}).hotel == Hotel(name="Ring", nights=3)


def test_a_json_schema_is_asked_again_with_what_was_typed() -> None:
    form = form_for_json_schema(
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 0},
                "wipe": {"type": "boolean", "default": True},
                "maybe": {"type": ["boolean", "null"]},
                "word": {"type": "string", "minLength": 2},
            },
            "required": ["n"],
        }
    )
    typed = {"n": -1, "wipe": False, "maybe": True, "word": "ab"}
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(typed)
    _, second = form.again("?", typed, refused.value)
    assert second.parse({"n": 1}) == {**typed, "n": 1}
    assert second.parse({"n": 1, "wipe": None, "maybe": None, "word": ""}) == {"n": 1, "wipe": False, "maybe": None}


def test_what_no_form_showed_is_not_given() -> None:
    properties = {
        "n": {"type": "integer", "minimum": 0},
        "either": {"type": ["integer", "string"]},
        "fixed": {"type": "string", "const": "x"},
        "odd": {"enum": [1, "a"]},
    }
    form = form_for_json_schema({"type": "object", "properties": properties, "required": ["n"]})
    typed = {"n": -1, "either": "abc", "fixed": "y", "odd": 1}
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(typed)
    _, second = form.again("?", typed, refused.value)
    shown = normalise(second.schema, "2025-11-25")["properties"]
    assert {name for name, each in shown.items() if "default" in each} == {"n"}
    assert second.parse({"n": 1}) == {"n": 1}


def test_a_field_that_was_emptied_is_said_to_be_empty() -> None:
    class Form(BaseModel):
        n: int
        day: date

    lines, _ = again(form_for(Form), {"n": "", "day": " "})
    assert lines == [
        "- N: a whole number is expected, you left it empty",
        "- Day: a date such as 2026-01-31 is expected, you left it empty",
    ]


def test_a_pattern_is_told_in_the_words_of_its_author() -> None:
    class Form(BaseModel):
        pin: Annotated[str, Field(pattern=r"^\d{4}$", description="Four digits.", examples=["1234", "0000"])]
        code: Annotated[str, Field(pattern="^[a-z]+$", examples=["abc"])]
        word: Annotated[str, Field(pattern="^x")]

    message, lines = told(form_for(Form), {"pin": "12", "code": "A", "word": "y"})
    assert lines == [
        '- Pin: it is not of the form that is expected: Four digits, for example "1234", "0000" (its pattern is'
        ' ^\\d{4}$), you gave "12"',
        '- Code: it is not of the form that is expected: for example "abc" (its pattern is ^[a-z]+$), you gave "A"',
        '- Word: it is not of the form that is expected (its pattern is ^x), you gave "y"',
    ]
    assert "a string that matches ^[a-z]+$ is expected" in message
    properties = {"pin": {"type": "string", "title": "Pin", "pattern": "^x", "description": "Starts with an x"}}
    _, lines = told(form_for_json_schema({"type": "object", "properties": properties}), {"pin": "a"})
    assert lines == [
        '- Pin: it is not of the form that is expected: Starts with an x (its pattern is ^x), you gave "a"'
    ]


def test_a_name_that_nobody_asked_for_is_cut_short() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid")
        n: int

    lines, _ = again(form_for(Strict), {"n": 1, "K" * 5000: 1})
    assert len(lines) == 1
    assert len(lines[0]) < 300


def told(form: AnswerForm, content: dict[str, Any]) -> tuple[str, list[str]]:
    """What an agent hears of an answer, and what the person does."""
    with pytest.raises(InvalidAnswer) as refused:
        form.parse(content)
    question, _ = form.again("?", content, refused.value)
    message = f"{refused.value} {refused.value.message} {refused.value.data}"
    return message, question.splitlines()[3:]


def test_an_agent_hears_nothing_of_what_a_person_gave(caplog: pytest.LogCaptureFixture) -> None:
    class Person(BaseModel):
        pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = ""
        name: str = ""
        iban: str = ""
        nights: int = 1
        zone: ZoneInfo | None = None
        mail: EmailStr = "a@b.example"

        @field_validator("pin")
        @classmethod
        def strong(cls, pin: str) -> str:
            raise ValueError(f"{pin[::-1]} is too weak")

        @field_validator("name", "iban")
        @classmethod
        def known(cls, text: str) -> str:
            if text == "Nobody":
                raise ValueError("there is no such person")
            if text == "Eve":
                raise ActionError("Eve is not served")
            return {}[text.upper()] if text.isdigit() else cls._refused(text)

        @classmethod
        def _refused(cls, text: str) -> str:
            raise ValueError(f"not {text.upper()!r}")

        @field_validator("nights")
        @classmethod
        def few(cls, nights: int) -> int:
            raise ValueError(f"{nights:,} nights")

    form = form_for(Person)
    for name, given, hidden in [
        ("pin", "hunter2", "2retnuh"),
        ("name", "Ada Lovelace", "LOVELACE"),
        ("nights", 12345, "12,345"),
        ("zone", "Secret/Place", "Secret"),
        ("mail", "bob@<hidden>.example", "<"),
    ]:
        message, lines = told(form, {name: given})
        assert hidden not in message
        assert str(given) not in message
        assert "what was given does not fit" in message
        assert len(lines) == 1
    message, lines = told(form, {"iban": "0770"})
    assert "0770" not in message + caplog.text
    assert lines == ["- what was given cannot be checked"]
    assert "a validator raised KeyError at " in caplog.text
    with pytest.raises(ActionError, match="Eve"):
        form.parse({"name": "Eve"})
    assert told(form, {"name": "Ada"})[1] == ["- Name: not 'ADA', you gave \"Ada\""]
    message, lines = told(form, {"name": "Nobody"})
    assert "there is no such person" not in message
    assert lines == ['- Name: there is no such person, you gave "Nobody"']


class Pick(Enum):
    WINDOW = "w"


@pytest.mark.parametrize(
    ("kind", "given", "written"),
    [
        (timedelta, "PT1H30M", "1:30:00"),
        (bool, "yes", "True"),
        (bool, False, "False"),
        (Pick, "w", "WINDOW"),
        (UUID, "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6", "a1b2c3d4-e5f6-a7b8-c9d0-e1f2a3b4c5d6"),
        (float, "1e3", "1000.0"),
        (Decimal, "1e3", "1E+3"),
        (str, "!!", "!!"),
        (str, "\U0001f600", "\U0001f600"),
        (str, "_", "_"),
        (datetime, "2026-01-31T12:00:00Z", "2026"),
    ],
)
def test_an_agent_hears_nothing_of_it_however_a_validator_writes_it(kind: Any, given: Any, written: str) -> None:
    def refuse(value: Any) -> Any:
        raise ValueError(f"<{value}> is not allowed")

    form = form_for(Annotated[kind, AfterValidator(refuse)])
    with pytest.raises(InvalidAnswer) as refused:
        form.parse({next(iter(form.schema["properties"])): given})
    assert written in refused.value.told[0]["message"]
    assert [issue["message"] for issue in refused.value.data] == ["what was given does not fit"]
    assert written not in str(refused.value)


def test_an_agent_hears_pydantics_own_words_where_they_hold_the_limit_alone() -> None:
    class Form(BaseModel):
        price: Annotated[Decimal, Field(decimal_places=2)] = Decimal(0)
        born: PastDate = date(2000, 1, 1)
        page: HttpUrl | None = None

    given = {"price": "0.12345", "born": "2999-01-01", "page": "ftp://hidden.example"}
    message, _ = told(form_for(Form), given)
    assert "price: Decimal input should have no more than 2 decimal places" in message
    assert "born: Date should be in the past" in message
    assert "page: URL scheme should be 'http' or 'https'" in message
    assert not [each for each in given.values() if each in message]


def test_of_an_object_with_a_secret_an_agent_hears_no_words_but_ours() -> None:
    class Login(BaseModel):
        pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]

        @model_validator(mode="after")
        def fits(self) -> Login:
            raise ValueError(f"nobody has {ord(self.pin[0])}")

    class Form(BaseModel):
        login: Login

    for type, content in ((Login, {"pin": "h"}), (Form, {"login.pin": "h"})):
        message, _ = told(form_for(type), content)
        assert "nobody" not in message


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_handler_gets_what_the_second_form_showed(era: Any) -> None:
    class Wipe(BaseModel):
        n: Annotated[int, Field(ge=0)]
        wipe: bool = True

    app = Tesseron("again")

    @app.action
    async def wipe(ctx: Context) -> str:
        return repr(await ctx.ask("Which?", Wipe, attempts=2))

    answers = [accept({"n": -1, "wipe": False}), accept({"n": 1})]
    async with Agent(app, answers=answers, era=era) as agent:
        assert await agent.call("wipe") == "Accepted(value=Wipe(n=1, wipe=False))"
        assert agent.questions[1].schema["properties"]["wipe"]["default"] is False


async def test_an_agent_hears_no_secret() -> None:
    class Login(BaseModel):
        pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]

        @field_validator("pin")
        @classmethod
        def strong(cls, pin: str) -> str:
            raise ValueError(f"{pin!r} is too weak")

    app = Tesseron("again")

    @app.action
    async def login(ctx: Context) -> str:
        return repr(await ctx.ask("Which?", Login))

    async with Agent(app, answers=[accept({"pin": "hunter2"})]) as agent:
        with pytest.raises(ActionFailed) as failed:
            await agent.call("login")
    assert "hunter2" not in f"{failed.value} {failed.value.message} {failed.value.data}"
    assert "what was given does not fit" in failed.value.message


class Between(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def in_order(self) -> Between:
        if self.low > self.high:
            raise ValueError(f"{self.low} is above {self.high}")
        return self


def test_a_required_field_that_did_not_come_again_is_missing_and_keeps_what_was_typed() -> None:
    form = form_for(Between, lists=True)
    for content, line in [({"low": 3, "high": 1}, "- 3 is above 1"), ({"low": 3}, "- High: it is missing")]:
        with pytest.raises(InvalidAnswer) as refused:
            form.parse(content)
        question, form = form.again("Which?", content, refused.value)
        assert question.splitlines()[-1] == line
        assert {name: each["default"] for name, each in form.schema["properties"].items()} == {"low": 3, "high": 1}
