"""A web shop: its pages and its agents work on the same cart.

uvicorn --app-dir examples shop_fastapi:web --port 8000
claude mcp add --transport http shop http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

from tesseron_py import ActionError, Context, Tesseron

PRICES = {"tea": 4.5, "mug": 9.0, "kettle": 39.0}

cart: dict[str, int] = {}

app = Tesseron("shop", "The shop", description="Tea and what goes with it.")


class Cart(BaseModel):
    """What is in the cart, and what it costs."""

    items: dict[str, int]
    total: float


class Delivery(BaseModel):
    """Where an order goes."""

    address: Annotated[str, Field(title="Address", min_length=5)]
    speed: Annotated[Literal["standard", "express"], Field(title="Speed")] = "standard"


Amount = Annotated[int, Field(ge=1, le=20)]


def read_cart() -> Cart:
    """What is in the cart, and what it costs."""
    total = sum(PRICES[name] * amount for name, amount in cart.items())
    return Cart(items=dict(cart), total=total)


cart_resource = app.resource("cart").read(read_cart)


def put(name: str, amount: int) -> Cart:
    """Put something into the cart; the pages and the agents both come through here."""
    if name not in PRICES:
        raise ActionError(f"There is no {name!r} here; there are {', '.join(PRICES)}")
    cart[name] = cart.get(name, 0) + amount
    cart_resource.publish(read_cart())
    return read_cart()


def empty() -> None:
    cart.clear()
    cart_resource.publish(read_cart())


@app.action("list_products").annotate(read_only=True)
def list_products() -> dict[str, float]:
    """Every product and its price."""
    return PRICES


@app.action
def add_to_cart(name: str, amount: Amount = 1) -> Cart:
    """Put a product into the cart."""
    return put(name, amount)


@app.action("empty_cart").annotate(destructive=True).confirm("Empty the cart?")
async def empty_cart() -> Cart:
    """Take everything out of the cart."""
    empty()
    return read_cart()


@app.action("order").annotate(requires_confirmation=True, requires_elicitation=True)
async def order(ctx: Context) -> str:
    """Order what is in the cart. The person says where it goes and confirms what it costs."""
    total = read_cart().total
    if not cart:
        raise ActionError("The cart is empty")
    delivery = await ctx.elicit("Where does it go?", Delivery)
    if delivery is None:
        return "Nothing was ordered."
    if delivery.speed == "express":
        total += 5
    if not await ctx.confirm(f"Order for {total:.2f} €, to {delivery.address}?"):
        return "Nothing was ordered."
    empty()
    return f"Ordered for {total:.2f} €."


# The web application around it

endpoint = app.asgi()


@asynccontextmanager
async def lifespan(web: FastAPI) -> AsyncGenerator[None]:
    yield
    await endpoint.aclose()


web = FastAPI(title="The shop", lifespan=lifespan)


@web.get("/cart")
def show_cart() -> Cart:
    return read_cart()


@web.post("/cart/{name}")
def put_into_cart(name: str, amount: Amount = 1) -> Cart:
    try:
        return put(name, amount)
    except ActionError as error:
        raise HTTPException(404, str(error)) from error


web.mount("/", endpoint)  # last, so that the pages come first; MCP is at /mcp
