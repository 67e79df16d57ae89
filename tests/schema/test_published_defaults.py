"""Defaults that are published: each is the default when it is sent back; others are known to the function alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    Base64Bytes,
    Base64Str,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    Secret,
    SecretBytes,
    SecretStr,
    create_model,
    field_serializer,
)

from tesseron_py.schema.defaults import holds_secret
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.signature import HandlerSignature, read_handler

LISTED = [SecretStr("r")]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Cents(BaseModel):
    amount: int = 1

    @field_serializer("amount")
    def as_cents(self, amount: int) -> int:
        return amount * 100


class Hiding(BaseModel):
    shown: int = 1
    hidden: int = Field(default=2, exclude=True)


class Login(BaseModel):
    password: SecretStr = SecretStr("real")
    user: str = "x"


class Shifted(BaseModel):
    number: Annotated[int, PlainSerializer(lambda number: number + 1)] = 1


class Nullable(BaseModel):
    number: int | None = 5


class Needed(BaseModel):
    number: int | None
    other: float = 2.0


class Node(BaseModel):
    name: str = "n"
    inner: Node | None = None


class Lowered(BaseModel):
    model_config = ConfigDict(str_to_lower=True)
    name: str = "X"
    other: str = "y"


class Validated(BaseModel):
    model_config = ConfigDict(validate_default=True)
    doubled: Annotated[int, AfterValidator(lambda number: number * 2)] = 3


class Unequal:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = None


def taking(declared: Any, default: Any) -> HandlerSignature:
    def handler(value: Any = default) -> None: ...

    handler.__annotations__["value"] = declared
    return read_handler(handler, name="x")


def published(declared: Any, default: Any) -> Any:
    """What is published of a parameter's default, and by it what of a field's; `None` where there is none."""
    of_parameter = taking(declared, default).input_schema["properties"]["value"].get("default")
    model = create_model("Holding", value=(declared, default))
    of_field = read_handler(_of(model), name="x").input_schema["properties"]["holding"]["properties"]["value"]
    assert of_field.get("default") == of_parameter
    return of_parameter


def _of(model: type[BaseModel]) -> Callable[..., None]:
    def handler(holding: Any) -> None: ...

    handler.__annotations__["holding"] = model
    return handler


@pytest.mark.parametrize(
    ("declared", "default"),
    [
        (Cents, Cents(amount=2)),
        (Hiding, Hiding(hidden=9)),
        (Hiding | int, Hiding(hidden=9)),
        (dict[str, Hiding], {"a": Hiding(hidden=9)}),
        (Shifted, Shifted(number=5)),
        (Login, Login()),
        (Login, Login(password=SecretStr("**********"))),
        (SecretStr, SecretStr("real")),
        (SecretStr, SecretStr("")),
        (list[SecretStr], LISTED),
        (dict[str, SecretStr], {"a": SecretStr("**********")}),
        (tuple[int, SecretStr], (1, SecretStr("**********"))),
        (SecretStr | int, SecretStr("**********")),
        (SecretBytes, SecretBytes(b"real")),
        (Secret[int], Secret(5)),
        (Base64Bytes, b"hi"),
        (Base64Str, "hi"),
        (Nullable, Nullable(number=None)),
        (Annotated[int, AfterValidator(lambda number: number * 2)], 3),
        (Annotated[str, AfterValidator(lambda text: 1 / 0)], "x"),
        (Annotated[str, AfterValidator(lambda text: Unequal())], "x"),
    ],
)
def test_what_would_be_another_value_is_not_published(declared: Any, default: Any) -> None:
    assert published(declared, default) is None
    assert taking(declared, default).bind({}).values["value"] == default


@pytest.mark.parametrize(
    ("declared", "default", "expected"),
    [
        (Cents, Cents(amount=0), {"amount": 0}),
        (Needed, Needed(number=None), {"other": 2.0}),
        (Node, Node(inner=Node(name="m")), {"name": "n", "inner": {"name": "m", "inner": None}}),
        (bytes, b"\xff", "/w=="),
        (timedelta, timedelta(hours=1), "PT1H"),
        (Colour, "red", "red"),
        (set[Colour], {Colour.BLUE}, ["blue"]),
        (list[int], (1, 2), [1, 2]),
        (int, 1.0, 1.0),
    ],
)
def test_what_is_the_same_value_is_published(declared: Any, default: Any, expected: Any) -> None:
    assert published(declared, default) == expected


def test_a_class_changes_what_its_fields_are_read_as() -> None:
    properties = read_handler(_of(Lowered), name="x").input_schema["properties"]["holding"]["properties"]
    assert "default" not in properties["name"]
    assert properties["other"]["default"] == "y"


def test_a_default_that_is_validated_is_compared_as_what_it_becomes() -> None:
    signature = read_handler(_of(Validated), name="x")
    assert signature.input_schema["properties"]["holding"]["properties"]["doubled"]["default"] == 3
    left_out, sent = (signature.bind({"holding": each}).values["holding"] for each in ({}, {"doubled": 3}))
    assert left_out == sent


def test_an_object_in_its_own_definition_is_read_with_it() -> None:
    class Tree(BaseModel):
        name: str = "t"
        left: Node = Node(name="l", inner=Node())
        right: Node | None = Node(name="r")

    properties = read_handler(_of(Tree), name="x").input_schema["properties"]["holding"]["properties"]
    assert properties["left"]["default"] == {"name": "l", "inner": {"name": "n", "inner": None}}
    assert properties["right"]["default"] == {"name": "r"}


class Asked(BaseModel):
    day: date = date(2026, 1, 31)
    written: Annotated[str, AfterValidator(str.upper)] = "hi"
    shifted: Annotated[int, AfterValidator(lambda number: number + 1)] = 3
    plain: int = 4


class Around(BaseModel):
    inner: Asked = Asked(plain=7)
    other: Cents = Cents(amount=2)


def test_a_form_shows_only_defaults_that_stay_what_they_are() -> None:
    form = form_for(Asked, lists=True)
    shown = {name: each["default"] for name, each in form.schema["properties"].items() if "default" in each}
    assert shown == {"day": "2026-01-31", "plain": 4}
    assert form.parse(shown) == form.parse({}) == Asked()


def test_nor_does_a_form_show_one_of_an_object_within() -> None:
    form = form_for(Around, lists=True)
    shown = {name: each["default"] for name, each in form.schema["properties"].items() if "default" in each}
    assert shown == {"other.amount": 2}
    assert form.parse(shown) == form.parse({}) == Around()


@pytest.mark.parametrize("schema", [True, {}, {"anyOf": [{}]}, {"items": {}}])
def test_what_says_nothing_of_secrets_has_none(schema: Any) -> None:
    assert not holds_secret([1, {"a": "b"}], schema)
