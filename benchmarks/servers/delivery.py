"""The form of five fields that every peer asks for."""

from __future__ import annotations

from pydantic import BaseModel


class Delivery(BaseModel):
    """What is ordered, and where it goes."""

    name: str
    street: str
    quantity: int
    price: float
    express: bool = False
