"""The question of a confirm gate shows what the handler gets, or else what the agent gave; never anything third."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    RootModel,
    SecretStr,
    field_serializer,
    model_serializer,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from tesseron_py import RegistrationError, action
from tesseron_py.actions import AnyAction
from tesseron_py.jsontext import encode
from tesseron_py.schema.references import References


def question_of(declared: AnyAction, raw: dict[str, Any]) -> str:
    assert declared.gate is not None
    return declared.gate.question(declared.signature.bind(raw).shown)


def gate(question: str, declared: Any) -> AnyAction:
    def pay(payment: Any) -> None: ...

    return action("pay").confirm(question).input(declared).handler(pay)


@dataclass
class Payment:
    amount: InitVar[int] = 5
    to: str = "A"

    def __post_init__(self, amount: int) -> None:
        self.total = amount


def test_what_only_the_constructor_gets_is_shown_as_it_came() -> None:
    declared = gate("Pay {amount} € to {to}?", Payment)
    assert question_of(declared, {"amount": 1000, "to": "B"}) == "Pay 1000 € to B?"
    assert question_of(declared, {}) == "Pay (not given) € to A?"


NO_PIN = SecretStr("")


@dataclass
class Aliased:
    target: Annotated[InitVar[str], Field(validation_alias=AliasChoices("dest", "to"))]
    pin: InitVar[SecretStr] = NO_PIN


def test_it_is_found_by_each_of_its_aliases_and_a_secret_is_not_told() -> None:
    declared = gate("Send {target} with {pin}?", Aliased)
    assert question_of(declared, {"to": "B", "pin": "1234"}) == "Send B with **********?"
    assert question_of(declared, {"dest": "C"}) == "Send C with (not given)?"


class Limited(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    amount: Annotated[int, AfterValidator(lambda value: min(value, 100)), Field(alias="sum")] = 7


class Keyed(TypedDict, total=False):
    count: int


@pytest.mark.parametrize(
    ("declared", "question", "raw", "read"),
    [
        (Limited, "{amount} {sum}?", {"sum": 1000}, "100 100?"),
        (Limited, "{amount}?", {"amount": 3}, "3?"),
        (Limited, "{amount}?", {}, "7?"),
        (RootModel[Limited], "{amount}?", {"sum": 50}, "50?"),
        (Annotated[Keyed, AfterValidator(lambda value: (value["count"],))], "{count}?", {"count": 3}, "3?"),
        (Annotated[Limited, AfterValidator(lambda value: [value])], "{amount}?", {"sum": 3}, "3?"),
        (Annotated[Limited, AfterValidator(lambda value: [value])], "{amount}?", {"amount": 3}, "3?"),
    ],
)
def test_what_a_validator_makes_of_the_whole_input_is_not_searched_for_names(
    declared: Any, question: str, raw: dict[str, Any], read: str
) -> None:
    assert question_of(gate(question, declared), raw) == read


@pytest.mark.parametrize(
    ("validate", "read"),
    [
        (None, "Do x 3?"),
        (lambda raw: (raw["a"], raw["count"]), "Do x 3?"),
        (lambda raw: raw["a"], "Do x 3?"),
        (lambda raw: {**raw, "count": 1}, "Do x 1?"),
        (lambda raw: {}, "Do x 3?"),
    ],
)
def test_a_json_schema_shows_what_the_agent_gave(validate: Callable[[Any], Any] | None, read: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "count": {"type": "integer"}}}

    def do(value: Any) -> None: ...

    declared = action("do").confirm("Do {a} {count}?").input(json_schema=schema, validate=validate).handler(do)
    assert question_of(declared, {"a": "x", "count": 3}) == read


Source = Annotated[str, Field(alias="target")]
Target = Annotated[str, Field(alias="dest")]


def test_a_name_that_is_anothers_alias_is_refused() -> None:
    def swap(target: Target, source: Source) -> None: ...

    with pytest.raises(RegistrationError, match=r"swap \(.*names \{target\}, which is one field's name and another's"):
        action("swap").confirm("Move from {source} to {target}?").handler(swap)
    declared = action("swap").confirm("Move from {source} to {dest}?").handler(swap)
    assert question_of(declared, {"dest": "B", "target": "A"}) == "Move from A to B?"


@pytest.mark.parametrize("written", ["{name!r}", "{name:>5}", "{name!s:>5}"])
def test_a_format_is_refused_and_not_the_field(written: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        action("drop").confirm(f"Drop {written}?").handler(drop)
    assert f"has {written}, and a field is shown as it is, without a format; write {{name}}" in str(caught.value)


def drop(name: str) -> None: ...


def test_two_names_that_are_each_others_leave_none() -> None:
    def swap(target: Source, source: Annotated[str, Field(alias="source")], dest: Target) -> None: ...

    declared = action("swap").confirm("From {source}, {target}, {dest}?").handler(swap)
    assert question_of(declared, {"source": "A", "target": "B", "dest": "C"}) == "From A, B, C?"

    def crossed(a: Annotated[str, Field(alias="b")], b: Annotated[str, Field(alias="a")]) -> None: ...

    with pytest.raises(RegistrationError, match=r"name one that is clear \(none\), or rename the alias"):
        action("crossed").confirm("{a}?").handler(crossed)


# All of it, whatever its class writes of itself ----------------------------------------------------------------------


def of_value(declared: Any, given: Any) -> str:
    """What a question shows of a parameter of that type."""

    def pay(value: Any) -> None: ...

    pay.__annotations__["value"] = declared
    return question_of(action("pay").confirm("{value}").handler(pay), {"value": given})


class Excluded(BaseModel):
    to: str
    amount: int = Field(exclude=True)


class Rounded(BaseModel):
    amount: float

    @field_serializer("amount")
    def short(self, value: float) -> str:
        return f"{value:.0f}"


class Silent(BaseModel):
    amount: int

    @model_serializer
    def nothing(self) -> dict[str, Any]:
        return {}


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")

    pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = ""


class ByAlias(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    amount: int = Field(alias="sum", serialization_alias="hidden")


class Stepped(BaseModel):
    amount: int = Field(validation_alias=AliasChoices(AliasPath("sum"), "other"))


class Place(NamedTuple):
    x: int
    y: int = 2


class Colour(Enum):
    RED = "red"


@pydantic_dataclass
class Checked:
    amount: int = Field(alias="sum", default=3)


@pytest.mark.parametrize(
    ("declared", "given", "read"),
    [
        (Excluded, {"to": "bob", "amount": 9000}, '{"to":"bob","amount":9000}'),
        (list[Excluded], [{"to": "a", "amount": 1}], '[{"to":"a","amount":1}]'),
        (dict[date, Excluded], {"2026-01-31": {"to": "a", "amount": 1}}, '{"2026-01-31":{"to":"a","amount":1}}'),
        (Rounded, {"amount": 0.4}, '{"amount":0.4}'),
        (Silent, {"amount": 4}, '{"amount":4}'),
        (RootModel[list[Rounded]], [{"amount": 0.4}], '[{"amount":0.4}]'),
        (Extra, {"sum": 9000, "pin": "1234"}, '{"pin":"**********","sum":9000}'),
        (ByAlias, {"amount": 5}, '{"sum":5}'),
        (Checked, {"sum": 5}, '{"sum":5}'),
        (Place, [1], "[1,2]"),
        (set[Colour], ["red"], '["red"]'),
        (date, "2026-01-31", "2026-01-31"),
        (Decimal, "1.50", "1.50"),
        (Fraction, "1/3", "1/3"),
        (SecretStr, "hush", "**********"),
        (Annotated[str, AfterValidator(SecretStr)], "hush", "**********"),
        (Annotated[int, AfterValidator(lambda value: 10**310)], 1, f"1{'0' * 198}…"),
        (Stepped, {"sum": 5}, '{"sum":5}'),
        (list[SecretStr | int], ["hush", 5], '["**********","**********"]'),
    ],
)
def test_a_question_shows_every_field_of_what_the_handler_gets(declared: Any, given: Any, read: str) -> None:
    assert of_value(declared, given) == read


class Opaque:
    def __init__(self, amount: int) -> None:
        self.amount = amount

    def __str__(self) -> str:
        return "nothing to see"


@dataclass
class Bill:
    amount: InitVar[int]
    to: str = "A"


CENTS = Annotated[Any, BeforeValidator(lambda value: value), AfterValidator(Opaque)]


def deep(value: Any) -> Any:
    for _ in range(300):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("declared", "given", "read"),
    [
        (CENTS, 9000, "9000"),
        (list[CENTS], [9000, {"a": 1}], '[9000,{"a":1}]'),
        (Bill, {"amount": 5}, '{"amount":5}'),
        (dict[str, Bill], {"x": {"amount": 5, "to": "B"}}, '{"x":{"amount":5,"to":"B"}}'),
        (Annotated[int, AfterValidator(lambda value: Excluded.model_construct(to="a"))], 3, "3"),
        (Annotated[int, AfterValidator(deep)], 3, "3"),
        (Annotated[str, AfterValidator(lambda value: int)], "int", "int"),
        (Annotated[str, AfterValidator(lambda value: object())], "x", "x"),
        (Annotated[float, AfterValidator(lambda value: float("inf"))], 1, "inf"),
    ],
)
def test_what_cannot_be_read_off_it_is_shown_as_the_agent_gave_it(declared: Any, given: Any, read: str) -> None:
    assert of_value(declared, given) == read


def test_what_can_be_shown_in_neither_way_says_so() -> None:
    def pay(value: Annotated[Any, Field(default_factory=lambda: Opaque(1))]) -> None: ...

    assert question_of(action("pay").confirm("{value}?").handler(pay), {}) == "(it cannot be shown)?"


Pin = Annotated[str, Field(json_schema_extra={"writeOnly": True})]


class Card(BaseModel):
    owner: str
    pin: Pin = Field(alias="code", default="0000")
    cards: list["Card"] = []  # noqa: UP037  # the class itself


class Keys(TypedDict):
    name: str
    pin: Annotated[Pin, Field(alias="code")]


@dataclass
class Held:
    pin: Annotated[Pin, Field(validation_alias=AliasChoices("code", "secret"))]
    n: int = 1


@pytest.mark.parametrize(
    ("declared", "given", "read"),
    [
        (Pin, "hush", "**********"),
        (Pin | None, "hush", "**********"),
        (Pin | None, None, "null"),
        (list[Pin], ["hush"], '["**********"]'),
        (dict[str, Pin], {"a": "hush"}, '{"a":"**********"}'),
        (tuple[int, Pin], [1, "hush"], '[1,"**********"]'),
        (Card, {"owner": "a", "code": "1"}, '{"owner":"a","code":"**********","cards":[]}'),
        (Card | int, {"owner": "a"}, '{"owner":"a","code":"**********","cards":[]}'),
        (
            Card,
            {"owner": "a", "cards": [{"owner": "b", "cards": [{"owner": "c", "code": "hush"}]}]},
            '{"owner":"a","code":"**********","cards":[{"owner":"b","code":"**********","cards":[{"owner":"c",'
            '"code":"**********","cards":[]}]}]}',
        ),
        (Keys, {"name": "a", "code": "hush"}, '{"name":"a","pin":"**********"}'),
        (Held, {"secret": "hush"}, '{"pin":"**********","n":1}'),
        (Annotated[Held, AfterValidator(lambda value: Opaque(1))], {"secret": "hush"}, '{"secret":"**********"}'),
    ],
)
def test_what_is_marked_write_only_is_shown_nowhere(declared: Any, given: Any, read: str) -> None:
    assert of_value(declared, given) == read


class Login(BaseModel):
    name: str
    pin: Pin


class Plain(BaseModel):
    name: str


class WithPin(Plain):
    pin: Pin = "hush"
    note: str = "n"


class WithAnything(Plain):
    made: Any = Field(default=None, json_schema_extra=lambda schema: 1 / 0)


def made(declared: Any, make: Callable[[Any], Any]) -> Any:
    return Annotated[declared, AfterValidator(make)]


LOGIN = {"name": "a", "pin": "hush"}


@pytest.mark.parametrize(
    ("declared", "given", "read"),
    [
        (Json[Login], '{"name":"a","pin":"hush"}', '{"name":"a","pin":"**********"}'),
        (made(Json[Login], lambda value: value.pin), '{"name":"a","pin":"hush"}', "**********"),
        (made(Login, lambda value: value.pin), LOGIN, "**********"),
        (made(Login, lambda value: (value.name, value.pin)), LOGIN, "**********"),
        (made(Login, lambda value: [value]), LOGIN, "**********"),
        (made(Login, lambda value: {"is": value.pin}), LOGIN, '{"is":"**********"}'),
        (made(Login, lambda value: value.model_dump()), LOGIN, '{"name":"a","pin":"**********"}'),
        (made(list[Login], lambda value: {each.name: each.pin for each in value}), [LOGIN], "**********"),
        (made(dict[str, SecretStr], lambda value: [each.get_secret_value() for each in value.values()]),
         {"a": "hush"}, "**********"),
        (made(tuple[int, Pin], lambda value: (*value, value[1])), [1, "hush"], '[1,"**********","**********"]'),
        (made(Login, lambda value: WithPin(name="a")), LOGIN, '{"name":"a","pin":"**********","note":"**********"}'),
        (made(Plain, lambda value: WithPin(name="a")), {"name": "a"}, '{"name":"a","pin":"**********","note":"n"}'),
        (made(Plain, lambda value: WithAnything(name="a")), {"name": "b"}, '{"name":"b"}'),
        (Login | str, "a", "a"),
        (list[Login | str], ["a", LOGIN], '["a",{"name":"a","pin":"**********"}]'),
    ],
)  # fmt: skip
def test_nor_is_it_where_a_validator_has_made_something_else_of_it(declared: Any, given: Any, read: str) -> None:
    assert of_value(declared, given) == read


def test_nor_is_it_of_a_json_schema() -> None:
    card = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}, "n": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"card": {"$ref": "#/$defs/Card"}, "pin": {"writeOnly": True}},
        "patternProperties": {"^x": True},
        "$defs": {"Card": card},
    }

    def do(value: Any) -> None: ...

    declared = action("do").confirm("{card} {pin}").input(json_schema=schema).handler(do)
    given = {"card": {"pin": "hush", "n": 1}, "pin": "hush"}
    assert question_of(declared, given) == '{"pin":"**********","n":1} **********'


def test_nor_where_a_json_schema_says_it_under_a_condition() -> None:
    secret = {"properties": {"pin": {"writeOnly": True}}}
    card = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": True,
        "if": {"required": ["pin"]},
        "then": secret,
        "dependentSchemas": {"code": {"properties": {"code": {"writeOnly": True}}}},
    }
    loose = {"properties": {"pin": {"writeOnly": True}, "n": {}}}
    listed = {"items": {"writeOnly": True}}
    schema = {"type": "object", "properties": {"card": card, "loose": loose, "listed": listed}}

    def do(value: Any) -> None: ...

    declared = action("do").confirm("{card} {loose} {listed}").input(json_schema=schema).handler(do)
    hidden = '{"pin":"**********","code":"**********","n":1,"more":2}'
    given = {"card": {"pin": "hush", "code": "hush", "n": 1, "more": 2}, "loose": {"pin": "a", "n": 1}, "listed": [1]}
    assert question_of(declared, given) == f'{hidden} {{"pin":"**********","n":1}} ["**********"]'
    assert question_of(declared, {"loose": "hush", "listed": {"a": 1}}) == "(not given) ********** **********"


@pytest.mark.parametrize(
    ("declared", "given", "read"),
    [
        (bytes, "_-8=", "/+8="),
        (list[bytes], ["/+8="], '["/+8="]'),
        (made(bytes, bytearray), "/+8=", "/+8="),
    ],
)
def test_bytes_are_shown_as_they_are_written_everywhere_else(declared: Any, given: Any, read: str) -> None:
    assert of_value(declared, given) == read


def test_of_keys_that_are_secret_none_hides_another() -> None:
    shown = '{"**********":1,"********** (2)":2,"********** (3)":3}'
    assert of_value(dict[SecretStr, int], {"a": 1, "b": 2, "c": 3}) == shown


def test_to_show_a_deprecated_field_is_not_to_use_it() -> None:
    class Old(BaseModel):
        amount: Annotated[int, Field(deprecated=True)] = 3

    assert question_of(gate("Pay {amount}?", Old), {}) == "Pay 3?"
    assert of_value(Old, {"amount": 4}) == '{"amount":4}'


class Not(BaseModel):
    op: Literal["not"]
    of: "list[Rule]"  # noqa: UP037  # it is defined below


class Either(BaseModel):
    op: Literal["either"]
    of: "list[Rule]"  # noqa: UP037  # it is defined below


class Is(BaseModel):
    op: Literal["is"]
    name: str


Rule = Annotated[Not | Either | Is, Field(discriminator="op")]
Not.model_rebuild()
Either.model_rebuild()


def test_to_show_what_nests_deep_is_work_for_each_of_its_levels_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = 0
    resolve = References.resolve

    def counted(references: References, reference: object) -> Any:
        nonlocal resolved
        resolved += 1
        return resolve(references, reference)

    monkeypatch.setattr(References, "resolve", counted)

    def work(levels: int) -> int:
        rule: dict[str, Any] = {"op": "is", "name": "x"}
        for level in range(levels):
            rule = {"op": "not" if level % 2 else "either", "of": [rule]}
        bound = gate("{rule}?", RuleHolder).signature.bind({"rule": rule})
        nonlocal resolved
        resolved = 0
        assert '"name":"x"' in encode(bound.shown["rule"])
        return resolved

    two, few = work(2), work(8)
    assert few < 6 * two
    assert work(60) < 10 * few


class RuleHolder(BaseModel):
    rule: Rule
