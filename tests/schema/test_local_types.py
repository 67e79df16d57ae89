"""Types that are defined within a function, and name each other there, in a module that postpones annotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from tesseron_py import Context, RegistrationError, SyncContext, Tesseron, action
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.sampling import sample_form
from tesseron_py.schema.signature import HandlerSignature
from tesseron_py.testing import Agent, accept

SKU = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"], "additionalProperties": False}


def declared(input_type: Any) -> HandlerSignature:
    def do(value: Any) -> None: ...

    return action("do").input(input_type).handler(do).signature


def dataclasses() -> Any:
    @dataclass
    class Item:
        sku: str

    @dataclass
    class Cart:
        items: list[Item]

    return Cart


def test_a_dataclass_names_another_of_its_function() -> None:
    @dataclass
    class Item:
        sku: str

    @dataclass
    class Cart:
        items: list[Item]

    signature = declared(Cart)
    assert signature.input_schema["properties"]["items"] == {"type": "array", "items": SKU}
    assert signature.bind({"items": [{"sku": "a"}]}).call(lambda value: value, None) == Cart([Item("a")])


def test_a_model_names_what_is_defined_after_it() -> None:
    class Cart(BaseModel):
        items: list[Item]

    class Item(BaseModel):
        sku: str

    signature = declared(Cart)
    assert signature.input_schema["properties"]["items"]["items"] == SKU
    assert signature.bind({"items": [{"sku": "a"}]}).call(lambda value: value.items, None) == [Item(sku="a")]


def test_a_parameter_is_such_a_type_and_so_is_a_result() -> None:
    class Item(TypedDict):
        sku: str

    class Cart(TypedDict):
        items: list[Item]

    class Pair(NamedTuple):
        item: Item
        cart: Cart

    @action
    def swap(pair: Pair, cart: Cart) -> Cart: ...

    shown = swap.signature.input_schema["properties"]
    assert shown["cart"]["properties"]["items"]["items"] == SKU
    assert shown["pair"]["prefixItems"][0]["properties"] == SKU["properties"]
    assert swap.output is not None
    assert swap.output.schema["properties"]["items"]["items"]["properties"] == SKU["properties"]


def test_one_names_what_a_function_around_its_own_defines() -> None:
    @dataclass
    class Item:
        sku: str

    def within() -> dict[str, Any]:
        @dataclass
        class Cart:
            item: Item

        return declared(Cart).input_schema["properties"]

    assert within() == {"item": SKU}


def test_a_name_of_the_module_is_found_beside_a_local_one() -> None:
    @dataclass
    class Item:
        sku: str

    @dataclass
    class Cart:
        item: Item
        about: Later

    assert declared(Cart).input_schema["properties"] == {"item": SKU, "about": SKU}


@dataclass
class Later:
    sku: str


def test_where_its_function_is_over_nobody_knows_what_it_named() -> None:
    with pytest.raises(RegistrationError, match=r"the annotation of .*Cart\.items, 'list\[Item\]' cannot be resolved"):
        declared(dataclasses())


@pytest.mark.parametrize("form", [form_for, sample_form])
def test_it_can_be_asked_for(form: Callable[..., Any]) -> None:
    @dataclass
    class Address:
        street: str

    @dataclass
    class Order:
        to: Address

    assert form(Order)


async def test_a_handler_asks_for_its_own_types_in_the_loop_and_in_a_thread() -> None:
    app = Tesseron("shop")

    @app.action
    async def ship(ctx: Context) -> str:
        @dataclass
        class Address:
            street: str

        @dataclass
        class Order:
            to: Address

        return (await ctx.elicit("Where to?", Order)).to.street

    @app.action
    def send(ctx: SyncContext) -> str:
        @dataclass
        class Address:
            street: str

        @dataclass
        class Order:
            to: Address

        order = ctx.elicit("Where to?", Order)
        assert type(order) is Order
        assert type(order.to) is Address
        return order.to.street

    async with Agent(app, answers=[accept({"to.street": "Elm"}), accept({"to.street": "Oak"})]) as agent:
        assert await agent.call("ship") == "Elm"
        assert await agent.call("send") == "Oak"
