"""The question of a confirm gate shows what the handler gets, or else what the agent gave; never anything third."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, RootModel, SecretStr
from typing_extensions import TypedDict

from tesseron_py import RegistrationError, action
from tesseron_py.actions import AnyAction


def question_of(declared: AnyAction, raw: dict[str, Any]) -> str:
    assert declared.gate is not None
    return declared.gate.question(declared.signature.bind(raw).values)


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


def test_two_names_that_are_each_others_leave_none() -> None:
    def swap(target: Source, source: Annotated[str, Field(alias="source")], dest: Target) -> None: ...

    declared = action("swap").confirm("From {source}, {target}, {dest}?").handler(swap)
    assert question_of(declared, {"source": "A", "target": "B", "dest": "C"}) == "From A, B, C?"

    def crossed(a: Annotated[str, Field(alias="b")], b: Annotated[str, Field(alias="a")]) -> None: ...

    with pytest.raises(RegistrationError, match=r"name one that is clear \(none\), or rename the alias"):
        action("crossed").confirm("{a}?").handler(crossed)
