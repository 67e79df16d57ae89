"""What a person cannot be asked for, and what the author reads."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import Base64Bytes, BaseModel, Field, SecretStr

from tesseron_py.errors import ErrorCode, InvalidSchema
from tesseron_py.schema.elicitation import check_subset, form_for, form_for_json_schema
from tesseron_py.schema.sampling import sample_form

FREE = "a list of free values; for several of some choices use set[…] or list[…] of an Enum or a Literal"
UNION = "a union; decide for one type, or ask first which it is"
ITSELF = "it contains itself, and a form ends somewhere; ask for it in a question of its own"


class Tree(BaseModel):
    children: list[Tree] = []


class Chain(BaseModel):
    name: str
    next: Optional[Chain] = None  # noqa: UP045  # the old spelling


class Tags(BaseModel):
    title: str
    tags: list[str]


class Nested(BaseModel):
    inner: Tags


class Far(BaseModel):
    next: Chain


class Three(BaseModel):
    x: int


class Two(BaseModel):
    three: Three


class One(BaseModel):
    two: Two


class Deep(BaseModel):
    one: One


class Secret(BaseModel):
    pin: SecretStr


class Place(BaseModel):
    street: str


class Dotted(BaseModel):
    text: str = Field(alias="at.street")
    at: Place


class Boolean(BaseModel):
    size: set[Literal["s", "l"]]
    text: str = Field(alias="size.s")


class SameTitle(BaseModel):
    pick: Annotated[Literal["a", "b"], Field(json_schema_extra={"enumNames": ["A", "A"]})]


class Mapped(BaseModel):
    prices: dict[str, int]


class Mixed(BaseModel):
    number_or_text: int | str


class Free(BaseModel):
    anything: Any


class Nothing(BaseModel):
    nothing: None


class Odd(enum.Enum):
    A = (1, 2)


class OddChoice(BaseModel):
    odd: Odd


class NoChoice(enum.Enum):
    pass


class NoFlag(enum.Flag):
    pass


class SameText(BaseModel):
    pick: Literal[1, "1"]


class WrongTitles(BaseModel):
    pick: Annotated[
        Literal["a", "b"],
        Field(json_schema_extra={"oneOf": [{"const": "a", "title": "A"}, {"const": "z", "title": "Z"}]}),
    ]


class Plain:
    pass


@dataclass
class Pair:
    a: int
    b: int


class Unfinished(BaseModel):
    other: Nowhere  # type: ignore[name-defined]  # noqa: F821  # that it is unknown is the case


@pytest.mark.parametrize(
    ("type", "message"),
    [
        (Tags, f"tags: it is {FREE}"),
        (Tree, "children: it is a list of objects; ask for them one after the other"),
        (Chain, f"next: {ITSELF}"),
        (Nested, f"inner.tags: it is {FREE}"),
        (Far, f"next.next: {ITSELF}"),
        (Mapped, "prices: it is a dict; use a model, a dataclass or a TypedDict, whose fields are known"),
        (Mixed, f"number_or_text: it is {UNION}"),
        (
            Free,
            "anything: it is of no certain type; annotate it as a string, a number, a bool, a date, an Enum or a",
        ),
        (Nothing, "nothing: it is nothing but null; leave it out"),
        (Deep, "one.two.three: it is an object 3 levels deep, and a form can hold 2; ask for it in a question of its"),
        (
            Secret,
            "pin: it is a secret, which MCP forbids to ask for in a form; send the person to a page of yours with",
        ),
        (bytes, "value: it is bytes, which nobody can type; ask for a str and encode it, or have a file uploaded on a"),
        (Base64Bytes, "value: it is bytes, which nobody can type"),
        (tuple[int, str], "value: it is a tuple; use a NamedTuple, a dataclass or a model"),
        (Dotted, "at.street: two fields have this name in the form, ['at.street'] and ['at', 'street']; rename one of"),
        (Boolean, "size.s: two fields have this name in the form, ['size'] and ['size.s']; rename one of them"),
        (SameTitle, 'pick: two of its choices have the same title, one of "A", "A"; a person cannot tell them apart'),
        (OddChoice, "odd: its choices are not all strings, numbers or booleans; a form has no others"),
        (NoChoice, "value: it is a choice without choices"),
        (set[NoChoice], "value: it is a choice without choices"),
        (NoFlag, "value: it is a choice without choices"),
        (SameText, 'pick: two of its choices read the same, one of "1", "1"; a person cannot tell them'),
        (WrongTitles, 'pick: its titles are for one of "a", "z", and its choices are one of "a", "b"'),
        (list[str], f"value: it is {FREE}"),
        (int | str, f"value: it is {UNION}"),
        (Tags | Mixed, f"value: it is {UNION}"),
        (None, "value: it is nothing but null; leave it out"),
        (dict[str, int], "dict[str, int] has no fields of its own to ask for; use a model, a dataclass or a TypedDict"),
        (
            Callable[[], None],
            "collections.abc.Callable[[], None] holds what cannot be asked for; use a model, a dataclass or a TypedDict"
            " of JSON types (Cannot generate a JsonSchema for",
        ),
        (Plain, "Plain is a class whose fields are not known; use a model, a dataclass or a TypedDict"),
        (Plain(), "an object of Plain is no type to ask for; give the class, Plain"),
        (Three(x=1), "an object of Three is no type to ask for; give the class, Three"),
        (Pair(1, 2), "an object of Pair is no type to ask for; give the class, Pair"),
        (3, "an object of int is no type to ask for; give the class, int"),
        (
            Plain | None,
            "Plain | None holds what cannot be asked for; use a model, a dataclass or a TypedDict of JSON types (Unable"
            " to generate pydantic-core schema for <class 'tests.schema.test_bad_schemas.Plain'>)",
        ),
        (Annotated[str, Field(pattern="(")], "cannot be asked for: the pattern '(' is no regular expression: unclosed"),
        (Annotated[str, Field(ge=3)], "cannot be asked for: the constraint ge=3 is for numbers, and cannot be applied"),
        (["ann", "bob"], "['ann', 'bob'] is no type to ask for; choices are Literal[…] or an Enum, and a JSON Schema"),
        ({"type": "object"}, "is no type to ask for; choices are Literal[…] or an Enum, and a JSON Schema goes into"),
        (
            Unfinished,
            "Unfinished cannot be asked for: the annotation of Unfinished.other, 'Nowhere' cannot be resolved",
        ),
        ("Nowhere", "'Nowhere' is a text, no type to ask for; a text is asked for with str"),
    ],
)
def test_field_7_8_a_type_that_is_no_form_is_refused_by_its_field(type: Any, message: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        form_for(type)
    assert message in refused.value.message
    assert refused.value.code == ErrorCode.INVALID_PARAMS
    assert "errors.pydantic.dev" not in refused.value.message
    assert "arbitrary_types_allowed" not in refused.value.message


def test_all_fields_that_cannot_be_asked_for_are_named_at_once() -> None:
    class Wrong(BaseModel):
        tags: list[str]
        number_or_text: int | str
        fine: date
        inner: Mapped
        further: Two

    with pytest.raises(InvalidSchema) as refused:
        form_for(Wrong)
    assert refused.value.message.splitlines() == [
        f"{Wrong.__qualname__} cannot be asked for:",
        f"  - tags: it is {FREE}",
        f"  - number_or_text: it is {UNION}",
        "  - inner.prices: it is a dict; use a model, a dataclass or a TypedDict, whose fields are known",
    ]


ASKABLE = "string, number, integer, boolean; ask for each value in a property of its own"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("not-an-object", 'a form\'s schema is a JSON object, not "not-an-object"'),
        (None, "a form's schema is a JSON object, not null"),
        ([], "a form's schema is a JSON object, not []"),
        ({}, 'a form\'s schema has "type": "object" at its root, not null'),
        ({"type": "string"}, 'a form\'s schema has "type": "object" at its root, not "string"'),
        ({"type": ["object"]}, 'a form\'s schema has "type": "object" at its root, not ["object"]'),
        ({"type": "object", "oneOf": [{"type": "object"}]}, "a form's schema has no 'oneOf' at its root; list plain"),
        (
            {"type": "object", "anyOf": [{}]},
            "a form's schema has no 'anyOf' at its root; list plain properties instead",
        ),
        ({"type": "object", "allOf": []}, "a form's schema has no 'allOf' at its root; list plain properties instead"),
        ({"type": "object", "not": {}}, "a form's schema has no 'not' at its root; list plain properties instead"),
        ({"type": "object", "properties": []}, '"properties" of a form\'s schema is an object, not []'),
        ({"type": "object", "properties": {"a": True}}, 'the property "a" of a form is a schema object, not true'),
        (
            {"type": "object", "properties": {"a": {"type": "array"}}},
            f'the property "a" has the type "array", and a person can only be asked for {ASKABLE}',
        ),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, f'"a" has the type "object", {"and a person"}'),
        ({"type": "object", "properties": {"a": {"type": "null"}}}, 'the property "a" has the type "null", and a'),
        ({"type": "object", "properties": {"a": {"type": None}}}, 'the property "a" has the type null, and a person'),
        ({"type": "object", "properties": {"a": {"type": {"x": 1}}}}, 'the property "a" has the type {"x":1}, and a'),
        ({"type": "object", "properties": {"a": {"type": []}}}, 'the property "a" has the type [], and a person'),
        (
            {"type": "object", "properties": {"a": {"type": ["null", "string"]}}},
            'has the type ["null","string"], and a',
        ),
    ],
)
def test_a_schema_outside_the_subset_is_refused_by_both_ends(schema: Any, message: str) -> None:
    for check in (check_subset, form_for_json_schema):
        with pytest.raises(InvalidSchema) as refused:
            check(schema)
        assert message in refused.value.message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": None},
        {"type": "object", "properties": {}, "required": []},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"enum": [1]}, "b": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"type": ["string", "array"]}}},
        {"type": "object", "oneOf": None, "anyOf": False, "not": 0, "allOf": ""},
        {"type": "object", "$defs": {}, "title": "T", "required": ["x"]},
    ],
)
def test_what_is_inside_the_subset_on_purpose(schema: Any) -> None:
    check_subset(schema)


def prop(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": keywords}}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            prop(items={}),
            "the property \"a\" of a form has 'items', which would not be checked; leave it out, or ask with",
        ),
        (prop(minimun=1), "has 'minimun', which would not be checked"),
        (prop(allOf=[]), "has 'allOf', which would not be checked"),
        (prop(oneOf=[{"$ref": "#"}]), "has '$ref', which would not be checked"),
        (prop(minLength="x"), '\'minLength\' of the property "a" of a form is wrong: a number is needed, not "x"'),
        (prop(minimum=True), "'minimum' of the property \"a\" of a form is wrong: a number is needed, not true"),
        (prop(multipleOf=0), "'multipleOf' of the property \"a\" of a form is wrong: it is above 0"),
        (prop(pattern="("), "'pattern' of the property \"a\" of a form is wrong: missing )"),
        (prop(pattern=5), "'pattern' of the property \"a\" of a form is wrong: "),
        (prop(format=[]), "'format' of the property \"a\" of a form is wrong: "),
        (prop(enum=[]), "'enum' of the property \"a\" of a form is wrong: a list of choices is needed"),
        (prop(enum="ab"), "'enum' of the property \"a\" of a form is wrong: a list of choices is needed"),
        (
            prop(oneOf=["a"]),
            '\'oneOf\' of the property "a" of a form is wrong: a list of choices such as {"const": "a"',
        ),
        (prop(anyOf={}), "'anyOf' of the property \"a\" of a form is wrong: a list of choices such as"),
        (prop(type=["string", 5]), 'the type of the property "a" of a form is no name: ["string",5]'),
        ({"type": "object", "required": "a"}, '"required" of a form\'s schema is a list of names, not "a"'),
        ({"type": "object", "required": [1]}, '"required" of a form\'s schema is a list of names, not [1]'),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            '"additionalProperties" of a form\'s schema is',
        ),
        ({"type": "object", "minProperties": 1}, "a form's schema has no 'minProperties' at its root, which would not"),
        ({"type": "object", "properties": {"a": {"default": object()}}}, "a form's schema is JSON: "),
    ],
)
def test_a_constraint_that_would_not_be_checked_is_refused(schema: Any, message: str) -> None:
    check_subset(schema)
    with pytest.raises(InvalidSchema) as refused:
        form_for_json_schema(schema)
    assert message in refused.value.message


def test_a_function_is_no_type_to_ask_for_and_is_not_called() -> None:
    called: list[str] = []

    def drop(name: str) -> None:
        called.append(name)

    for function in (drop, print, called.append, functools.partial(drop), lambda: None):
        for form in (form_for, sample_form):
            with pytest.raises(InvalidSchema, match=r"is a function, no type.*it would be called"):
                form(function)
    assert called == []
