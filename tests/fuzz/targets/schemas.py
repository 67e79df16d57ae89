"""Schemas of others, and answers to them."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema

from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.jsontext import decode, encode
from tesseron_py.mcp.forms import NoSuchForm, normalise
from tesseron_py.mcp.safe_schema import safe_schema
from tesseron_py.schema.elicitation import form_for_json_schema
from tesseron_py.schema.flat import equal, shown_type
from tesseron_py.schema.inline import inline_schema
from tesseron_py.schema.references import References
from tesseron_py.schema.spelling import spelled_value
from tesseron_py.schema.subset import check_subset

from ..draw import Draw

VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
_FIELD_KEYS = {
    "type", "title", "description", "default", "minLength", "maxLength", "format", "enum", "enumNames", "oneOf",
    "minimum", "maximum", "items", "minItems", "maxItems",
}  # fmt: skip


def schemas_target(data: bytes) -> None:
    """Any JSON for a schema: each of the readers gives what it promises, or refuses it in its own words.

    What comes out goes on the wire, and read once more it stays what it is.
    """
    try:
        schema = decode(data)
    except ValueError:
        schema = _drawn_schema(Draw(data))
    if isinstance(schema, dict):
        _inlined(schema)
        for version in VERSIONS:
            _normalised(schema, version)
        form = None
        try:
            form = form_for_json_schema(schema)
        except InvalidSchema as error:
            assert str(error)
        if form is not None:
            assert form.schema == schema
            check_subset(schema)
            for version in VERSIONS:
                _normalised(form.schema, version)
            try:
                form.parse({})
            except InvalidAnswer as error:
                encode(error.data)
    try:
        check_subset(schema)
    except InvalidSchema:
        pass
    for object_root in (True, False):
        try:
            safe = safe_schema(schema, object_root=object_root)
        except ValueError:
            raise AssertionError("what came in as a message nests no deeper than one") from None
        encode(safe)
        assert not object_root or safe["type"] == "object"
        assert safe_schema(safe, object_root=object_root) == safe


def _inlined(schema: dict[str, Any]) -> None:
    for options in ({}, {"keep_null": True}, {"closed": True}):
        before = encode(schema)
        inlined = inline_schema(schema, **options)
        assert encode(schema) == before, "it was changed"
        for part in _subschemas(inlined):
            assert "$ref" not in part, inlined
            assert not isinstance(part.get("type"), list), inlined
    References(schema).nullability(schema)


def _subschemas(schema: Any) -> Any:
    """The schemas within a schema: what stands below names and values is data."""
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            if key in ("properties", "patternProperties", "dependentSchemas") and isinstance(value, dict):
                for each in value.values():
                    yield from _subschemas(each)
            elif key in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
                yield from _subschemas(value)
            elif key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
                for each in value:
                    yield from _subschemas(each)


def _normalised(schema: dict[str, Any], version: str) -> None:
    try:
        form = normalise(schema, version)
    except NoSuchForm as error:
        assert str(error)
        return
    assert form["type"] == "object"
    assert form.keys() <= {"type", "properties", "required"}
    assert set(form.get("required", ())) <= form["properties"].keys()
    for field in form["properties"].values():
        assert field.keys() <= _FIELD_KEYS, field
        assert field["type"] in ("string", "number", "integer", "boolean", "array"), field
        assert version != "2025-06-18" or ("oneOf" not in field and field["type"] != "array"), field
    encode(form)
    assert normalise(form, version) == form, "it does not stay what it is"


_TYPES = ("string", "number", "integer", "boolean")
_KEYWORDS = (
    "enum", "const", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "oneOf", "anyOf", "title", "default", "type",
)  # fmt: skip


def _drawn_schema(draw: Draw) -> dict[str, Any]:
    properties = {f"p{number}": _drawn_field(draw) for number in range(draw.below(4))}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if draw.flag():
        schema["required"] = [name for name in (*properties, "other") if draw.flag()]
    match draw.below(4):
        case 1:
            schema["additionalProperties"] = False
        case 2:
            schema["additionalProperties"] = True
    return schema


def _drawn_field(draw: Draw, depth: int = 1) -> dict[str, Any]:
    field: dict[str, Any] = {}
    if draw.below(4):
        field["type"] = draw.one_of(_TYPES)
    for _ in range(draw.below(4)):
        keyword = draw.one_of(_KEYWORDS)
        match keyword:
            case "enum":
                field[keyword] = [draw.scalar() for _ in range(1 + draw.below(3))]
            case "oneOf" | "anyOf":
                if depth:
                    field[keyword] = [_drawn_field(draw, depth - 1) for _ in range(1 + draw.below(3))]
            case "type":
                field[keyword] = [draw.one_of(_TYPES), draw.one_of((*_TYPES, "null"))]
            case "minLength" | "maxLength":
                field[keyword] = draw.below(5)
            case "const" | "default" | "title":
                field[keyword] = draw.scalar()
            case _:
                field[keyword] = draw.number()
    return field


def answers_target(data: bytes) -> None:
    """A flat schema takes every answer that JSON Schema takes, and gives nothing that it does not.

    What it takes beyond that is a text which spells the value, and what nobody filled in. A text that spells a value of
    the type that a client shows is that value, also where it is refused. Values and bounds are those that floats hold.
    """
    draw = Draw(data)
    schema = _drawn_schema(draw)
    try:
        form = form_for_json_schema(schema)
    except InvalidSchema:
        return
    answer = {f"p{number}": draw.json(1) for number in range(draw.below(5))}
    if draw.flag():
        answer["other"] = draw.scalar()
    if _beyond_floats(schema) or _beyond_floats(answer):
        try:
            form.parse(answer)
        except InvalidAnswer:
            pass
        return
    fields, required = schema["properties"], schema.get("required", ())
    try:
        given = form.parse(answer)
    except InvalidAnswer as error:
        assert error.data
        spelled = any(
            isinstance(answer.get(name), str) and spelled_value(answer[name], shown_type(field)) is not None
            for name, field in fields.items()
        )
        valid = _is_valid(schema, _without_optional_nulls(schema, answer))
        assert spelled or not valid, f"it is refused: {json.dumps(schema)} {json.dumps(answer)}"
        return
    told = f"it is taken: {json.dumps(schema)} {json.dumps(answer)} {given}"
    assert set(required) <= answer.keys(), told
    assert schema.get("additionalProperties") is not False or answer.keys() <= fields.keys(), told
    for name in given.keys() - fields.keys():
        assert equal(given[name], answer[name]), told
    for name, field in fields.items():
        if name not in given:
            assert name not in required, told
            assert answer.get(name) is None or not answer[name].strip(), told
        else:
            assert _is_valid(field, given[name]), told
            assert equal(given[name], answer[name]) or _spells(answer[name], given[name]), told


def _is_valid(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def _spells(text: Any, value: Any) -> bool:
    return isinstance(text, str) and any(
        equal(spelled_value(text, type), value) for type in ("boolean", "integer", "number")
    )


def _without_optional_nulls(schema: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as we read it: a null that its optional field does not take is no answer."""
    kept = dict(answer)
    for name, field in schema["properties"].items():
        is_null = name in kept and kept[name] is None and name not in schema.get("required", ())
        if is_null and not _is_valid(field, None):
            del kept[name]
    return kept


def _beyond_floats(value: Any) -> bool:
    """Whether it holds numbers that the other validator, which divides floats, is not exact about."""
    if isinstance(value, dict):
        return "multipleOf" in value or any(map(_beyond_floats, value.values()))
    if isinstance(value, list):
        return any(map(_beyond_floats, value))
    return (
        isinstance(value, float | int)
        and not isinstance(value, bool)
        and (not math.isfinite(value) or abs(value) > 2**53)
    )
