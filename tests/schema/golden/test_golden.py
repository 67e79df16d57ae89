"""The published schema of every type in `types`: as it is in its file, valid, and of one mind with validation.

After a change that is meant, `GOLDEN=write pytest tests/schema/golden` writes the files anew; look at every difference.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from tesseron_py.errors import InvalidInput
from tesseron_py.schema.output import output_for
from tesseron_py.schema.signature import HandlerSignature, read_handler
from tesseron_py.unset import UNSET

from .types import INPUTS, LOOSER, OUTPUTS, PARAMETERS, STRICTER, Given, Taken

HERE = Path(__file__).parent
WRITE = os.environ.get("GOLDEN") == "write"

ORDER: Final = [
    "type", "title", "description", "format", "contentEncoding", "contentMediaType", "pattern", "minLength",
    "maxLength", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "enum", "default",
    "examples", "contentSchema", "deprecated", "readOnly", "writeOnly", "x-widget", "anyOf", "prefixItems", "items",
    "minItems", "maxItems", "properties", "propertyNames", "required", "additionalProperties", "minProperties",
]  # fmt: skip
FORMATS: Final = {"date", "date-time", "duration", "email", "ipv4", "ipv6", "regex", "time", "uri", "uuid", "phone"}


def by_parameter(case: Taken) -> HandlerSignature:
    def handler(value: Any = UNSET) -> None: ...

    handler.__annotations__["value"] = case.declared
    handler.__defaults__ = None if case.default is ... else (case.default,)
    return read_handler(handler, name="act")


def by_type(case: Taken) -> HandlerSignature:
    return read_handler(lambda value: None, name="act", input_type=case.declared)


def golden(kind: str, name: str, schema: dict[str, Any]) -> None:
    file = HERE / kind / f"{name}.json"
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    if WRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text  # the order of the keywords, too


def places(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword in ("items", "additionalProperties", "propertyNames", "contentSchema"):
        yield from places(schema.get(keyword))
    for each in [*schema.get("anyOf", ()), *schema.get("prefixItems", ()), *schema.get("properties", {}).values()]:
        yield from places(each)


def clients_take(schema: dict[str, Any], *, null: bool) -> None:
    """What clients and models were seen to refuse is not in it."""
    Draft202012Validator.check_schema(schema)
    for place in places(schema):
        keys = list(place)
        assert keys == sorted(keys, key=ORDER.index)
        assert isinstance(place.get("type", ""), str)
        assert null or place.get("type") != "null" or schema["properties"]["value"] == {"type": "null"}
        assert place.get("default", 0) is not None
        assert place.get("format", "date") in FORMATS
        assert "items" in place or place.get("type") != "array"
        assert "type" in place or "enum" not in place
        assert isinstance(place.get("items", {}), dict)
        if "default" in place:
            Draft202012Validator(place).validate(place["default"])
        if "pattern" in place:
            assert "(?P" not in place["pattern"]
            assert re.search(r"\\[AZzp]", place["pattern"]) is None


@pytest.mark.parametrize("case", PARAMETERS, ids=lambda case: case.name)
def test_a_parameter(case: Taken) -> None:
    signature = by_parameter(case)
    golden("parameters", case.name, signature.input_schema)
    clients_take(signature.input_schema, null=False)
    assert signature.input_schema["additionalProperties"] is False
    agrees(case, signature, lambda value: {"value": value})


@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case.name)
def test_an_input(case: Taken) -> None:
    signature = by_type(case)
    golden("inputs", case.name, signature.input_schema)
    clients_take(signature.input_schema, null=False)
    agrees(case, signature, lambda value: value)


def agrees(case: Taken, signature: HandlerSignature, arguments: Any) -> None:
    schema = Draft202012Validator(signature.input_schema)
    assert case.takes_more.keys() <= LOOSER.keys()
    assert case.refuses_more.keys() <= STRICTER.keys()
    taken = [
        *((value, True, True) for value in case.takes),
        *((value, False, False) for value in case.refuses),
        *((value, True, False) for values in case.takes_more.values() for value in values),
        *((value, False, True) for values in case.refuses_more.values() for value in values),
    ]
    found = [(value, takes(signature, arguments(value)), schema.is_valid(arguments(value))) for value, _, _ in taken]
    assert found == taken


def takes(signature: HandlerSignature, raw: Any) -> bool:
    try:
        signature.bind(raw)
    except InvalidInput:
        return False
    return True


@pytest.mark.parametrize("case", OUTPUTS, ids=lambda case: case.name)
def test_an_output(case: Given) -> None:
    output = output_for(lambda: None, name="act", declared=case.declared, returned=UNSET)
    assert output is not None
    golden("outputs", case.name, output.schema)
    clients_take(output.schema, null=True)
    for value, written in case.gives:
        assert output.check(value) == written
        Draft202012Validator(output.schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(written)


def test_every_file_is_that_of_a_type() -> None:
    kinds = {"parameters": PARAMETERS, "inputs": INPUTS, "outputs": OUTPUTS}
    for kind, cases in kinds.items():
        names = [case.name for case in cases]
        assert sorted(path.stem for path in (HERE / kind).iterdir()) == sorted(names)
        assert len({*names}) == len(names)
    assert len(PARAMETERS) >= 100
