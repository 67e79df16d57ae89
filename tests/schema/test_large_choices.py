"""Choices that are integers of more than 64 bits, which JSON has and pydantic reads as no member of an enum."""

from __future__ import annotations

import enum
from typing import Any, Literal

import pytest

from tesseron_py.errors import InvalidInput
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.signature import read_handler


class Mask(enum.IntEnum):
    HIGH = 2**63
    LOW = -(2**63) - 1
    MOST = 2**63 - 1
    ONE = 1


class Mixed(enum.Enum):
    HIGH = 2**64
    HALF = 0.5
    TEXT = "t"


class Bits(enum.Flag):
    FIRST = 1
    LAST = 2**70


class Lenient(enum.Enum):
    HIGH = 2**63
    OTHER = 2

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.OTHER


def read(declared: Any, value: Any) -> Any:
    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = declared
    return read_handler(handler, name="x").bind({"value": value}).values["value"]


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        *[(Mask, each.value, each) for each in Mask],
        *[(Mixed, each.value, each) for each in Mixed],
        *[(Bits, each.value, each) for each in (*Bits, Bits.FIRST | Bits.LAST)],
        (Lenient, 2**63, Lenient.HIGH),
        (Lenient, 2**65, Lenient.OTHER),
        (Literal[2**63, 1], 2**63, 2**63),
        (Literal[2**63, 1], 1, 1),
        (Literal[Mixed.HIGH], 2**64, Mixed.HIGH),
        (set[Mask], [2**63], {Mask.HIGH}),
        (Mask | None, 2**63, Mask.HIGH),
    ],
)
def test_what_is_published_is_accepted(declared: Any, value: Any, expected: Any) -> None:
    assert read(declared, value) == expected


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Mask, 2**63 + 1),
        (Mask, 5),
        (Mask, True),
        (Mask, str(2**63)),
        (Mixed, 2**65),
        (Bits, 2**71),
        (Literal[2**63, 1], 2**63 + 1),
        (Literal[2**63, 1], True),
    ],
)
def test_nothing_else_is(declared: Any, value: Any) -> None:
    with pytest.raises(InvalidInput, match="is expected, got"):
        read(declared, value)


@pytest.mark.parametrize("declared", [Mask, Literal[2**63, 1]])
def test_a_form_asks_for_it_as_text(declared: Any) -> None:
    form = form_for(declared)
    assert [int(form.parse({"value": text})) for text in form.schema["properties"]["value"]["enum"]] == [
        int(each) for each in (Mask if declared is Mask else (2**63, 1))
    ]
