"""The page about types: every row of its table holds, and its reasons are all there are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tesseron_py.schema.signature import read_handler
from tests.schema.golden.types import LOOSER, STRICTER

from .blocks import ROOT, blocks_of
from .tables import Row, codes, rows_of

PAGE = ROOT / "docs" / "types.md"
ROWS = list(rows_of(PAGE))


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page's first two blocks define."""
    found: dict[str, Any] = {"__name__": "page"}
    for block in [block for block in blocks_of(PAGE) if block.kind == "python"][:2]:
        exec(compile(block.text, str(PAGE), "exec", dont_inherit=True), found)
    return found


@pytest.mark.parametrize("row", [row for row in ROWS if row.table == "type"], ids=lambda row: row.cells[0])
def test_a_type_is_published_and_read_as_it_is_shown(row: Row, names: dict[str, Any]) -> None:
    declared, schema, given, value = (codes(cell)[0] for cell in row.cells)

    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = eval(declared, names)
    signature = read_handler(handler, name="act")
    assert json.dumps(signature.input_schema["properties"]["value"]) == json.dumps(json.loads(schema))
    found = signature.bind({"value": json.loads(given)}).values["value"]
    expected = eval(value, names)
    assert found == expected
    assert type(found) is type(expected)


def test_the_reasons_are_those_of_the_tests() -> None:
    assert {row.cells[0]: row.cells[1] for row in ROWS if row.table == "more is taken"} == LOOSER
    assert {row.cells[0]: row.cells[1] for row in ROWS if row.table == "more is refused"} == STRICTER
