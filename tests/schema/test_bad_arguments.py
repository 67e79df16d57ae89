"""Arguments that do not fit, and what the agent reads."""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from tesseron_py.errors import ErrorCode, InvalidInput
from tesseron_py.schema.signature import read_handler


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Item(BaseModel):
    sku: str
    amount: int = Field(1, ge=1, le=99)


def order(
    text: str,
    count: int = 1,
    price: float = 0.0,
    express: bool = False,
    size: Size = Size.SMALL,
    level: Literal[1, 2] = 1,
    day: date | None = None,
    at: datetime | None = None,
    id: UUID | None = None,
    items: list[Item] = [],  # noqa: B006  # never changed
    topic: str = Field("any", min_length=2, pattern="^[a-z]+$"),
) -> None:
    pass


ORDER = read_handler(order, name="order")
KNOWN = 'known are "text", "count", "price", "express", "size", "level", "day", "at", "id", "items", "topic"'


@pytest.mark.parametrize(
    ("raw", "message", "paths"),
    [
        ([1], "the arguments are an object of names and values, not a list", [[]]),
        ("text", "the arguments are an object of names and values, not a string", [[]]),
        (0, "the arguments are an object of names and values, not a number", [[]]),
        ({}, "text: required, but missing", [["text"]]),
        ({"text": 30}, "text: a string is expected, got 30", [["text"]]),
        ({"text": None}, "text: a string is expected, got null", [["text"]]),
        ({"text": "a", "count": "30"}, 'count: a whole number is expected, got "30"', [["count"]]),
        ({"text": "a", "count": 0.5}, "count: a whole number is expected, got 0.5", [["count"]]),
        ({"text": "a", "count": True}, "count: a whole number is expected, got true", [["count"]]),
        ({"text": "a", "price": "9.99"}, 'price: a number is expected, got "9.99"', [["price"]]),
        ({"text": "a", "express": "false"}, 'express: true or false is expected, got "false"', [["express"]]),
        ({"text": "a", "express": 1}, "express: true or false is expected, got 1", [["express"]]),
        ({"text": "a", "size": "huge"}, "size: 'small' or 'large' is expected, got \"huge\"", [["size"]]),
        ({"text": "a", "level": 3}, "level: 1 or 2 is expected, got 3", [["level"]]),
        ({"text": "a", "level": True}, "level: 1 or 2 is expected, got true", [["level"]]),
        ({"text": "a", "day": "31.1.2026"}, 'day: a date such as 2026-01-31 is expected, got "31.1.2026"', [["day"]]),
        ({"text": "a", "day": "20260131"}, 'day: a date such as 2026-01-31 is expected, got "20260131"', [["day"]]),
        (
            {"text": "a", "at": "noon"},
            'at: a date and time such as 2026-01-31T12:00:00Z is expected, got "noon"',
            [["at"]],
        ),
        ({"text": "a", "id": "7"}, 'id: a UUID is expected, got "7"', [["id"]]),
        ({"text": "a", "items": {}}, "items: a list is expected, got an object", [["items"]]),
        ({"text": "a", "items": ["x"]}, 'items[0]: an object is expected, got "x"', [["items", 0]]),
        (
            {"text": "a", "items": [{"sku": "A1"}, {"amount": 0}]},
            "items[1].sku: required, but missing; items[1].amount: at least 1 is expected, got 0",
            [["items", 1, "sku"], ["items", 1, "amount"]],
        ),
        (
            {"text": "a", "items": [{"sku": "A1", "ammount": 2}]},
            'items[0].ammount: unknown argument "ammount"; did you mean "amount"?',
            [["items", 0, "ammount"]],
        ),
        ({"text": "a", "topic": "x"}, 'topic: at least 2 characters are expected, got "x"', [["topic"]]),
        ({"text": "a", "topic": "X1"}, 'topic: a string that matches ^[a-z]+$ is expected, got "X1"', [["topic"]]),
        ({"text": "a", "topc": "x"}, 'topc: unknown argument "topc"; did you mean "topic"?', [["topc"]]),
        ({"text": "a", "path": "x"}, f'path: unknown argument "path"; {KNOWN}', [["path"]]),
        (
            {"text": 1, "count": "x", "price": "x", "express": 0, "size": 1, "day": 1, "id": 1},
            'text: a string is expected, got 1; count: a whole number is expected, got "x"; price: a number is'
            " expected, got \"x\"; express: true or false is expected, got 0; size: 'small' or 'large' is expected,"
            " got 1; and 2 more",
            [["text"], ["count"], ["price"], ["express"], ["size"], ["day"], ["id"]],
        ),
    ],
)
def test_field_17_90_the_agent_reads_what_is_wrong_where_and_how_to_mend_it(
    raw: Any, message: str, paths: list[list[Any]]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        ORDER.bind(raw)
    assert refused.value.code == ErrorCode.INPUT_VALIDATION
    assert refused.value.message == message
    assert [issue["path"] for issue in refused.value.data] == paths
    assert all(set(issue) == {"message", "path"} for issue in refused.value.data)
