"""An app that asks for more than one flat form can say: objects in objects, several choices, titles."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from tesseron_py import Accepted, Context, Tesseron

app = Tesseron("forms", "Forms")


class Seat(Enum):
    WINDOW = "w"
    AISLE = "a"

    @property
    def label(self) -> str:
        return f"At the {self.name.lower()}"


class Address(BaseModel):
    street: Annotated[str, Field(title="Street", min_length=2)]
    country: Literal["AT", "DE"] = "AT"

    @field_validator("street")
    @classmethod
    def _spelled(cls, street: str) -> str:
        if not street[0].isupper():
            raise ValueError("a street begins with a capital letter")
        return street


class Trip(BaseModel):
    address: Address
    billing: Address | None = None
    seat: Seat = Seat.AISLE
    extras: set[Literal["wifi", "meal"]] = {"wifi"}
    seats: list[Seat]
    bags: Annotated[int, Field(ge=0, title="Pieces of luggage")] = 0


@app.action
async def book(ctx: Context) -> str:
    """Book a trip; the person says how."""
    answer = await ctx.ask("How do you travel?", Trip, attempts=2)
    if not isinstance(answer, Accepted):
        return repr(answer)
    trip = answer.value
    return " ".join(
        [
            trip.address.street,
            trip.address.country,
            trip.billing.street if trip.billing else "-",
            trip.seat.name,
            ",".join(sorted(trip.extras)),
            ",".join(seat.name for seat in trip.seats),
            str(trip.bags),
        ]
    )
