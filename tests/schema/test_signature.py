"""An action's input: what is published of it, and what its handler gets."""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, NaiveDatetime, SecretStr
from typing_extensions import TypedDict

from tesseron_py.errors import InvalidInput
from tesseron_py.schema.signature import HandlerSignature, read_handler

if TYPE_CHECKING:
    from tesseron_py import Context


def accept(**arguments: Any) -> dict[str, Any]:
    return arguments


def given_to(signature: HandlerSignature, raw: Any) -> Any:
    """What the handler is called with, the context aside."""
    return signature.bind(raw).call(accept, "the context")


def signature_of(fn: Callable[..., Any]) -> HandlerSignature:
    return read_handler(fn, name="act")


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    street: str
    zip: str | None
    note: str | None = None


# What is published ----------------------------------------------------------------------------------------------


async def add_todo(
    text: str, ctx: Context, tag: str | None = None, priority: int = 1, *, due: date | None = None
) -> str:
    return text


def test_the_parameters_are_the_schema() -> None:
    signature = signature_of(add_todo)
    assert signature.input_schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "tag": {"type": "string"},
            "priority": {"type": "integer", "default": 1},
            "due": {"type": "string", "format": "date"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert signature.context_parameter == "ctx"
    assert signature.is_async
    assert signature.return_annotation is str
    assert signature.fields == {"text", "tag", "priority", "due"}


def test_field_23_without_a_required_field_there_is_no_required() -> None:
    def nothing() -> None: ...
    def optional(x: int = 1) -> None: ...

    assert signature_of(nothing).input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert "required" not in signature_of(optional).input_schema


def nested(address: Address, old: Optional[Address], all: list[Address]) -> None:  # noqa: UP045  # the old spelling
    pass


def test_field_3_5_6_22_one_tree_without_references_type_lists_or_null() -> None:
    text = json.dumps(signature_of(nested).input_schema)
    for word in ("$ref", "$defs", "$schema", "null", "anyOf", '"type": ['):
        assert word not in text
    address = {
        "type": "object",
        "properties": {"street": {"type": "string"}, "zip": {"type": "string"}, "note": {"type": "string"}},
        "required": ["street"],
        "additionalProperties": False,
    }
    schema = signature_of(nested).input_schema
    assert schema["properties"]["address"] == schema["properties"]["old"] == address
    assert schema["properties"]["all"]["items"] == address
    assert schema["required"] == ["address", "all"]


class Tree(BaseModel):
    name: str
    children: list[Tree] = []
    parent: Optional[Tree] = None  # noqa: UP045  # the old spelling


def plant(tree: Tree) -> None: ...


def test_field_7_a_recursive_model_is_cut_short_and_validated_whole() -> None:
    for signature in (signature_of(plant), read_handler(plant, name="act", input_type=Tree)):
        assert "$ref" not in json.dumps(signature.input_schema)
    tree = signature_of(plant).input_schema["properties"]["tree"]
    assert tree["properties"]["children"]["items"] == {"type": "object"}
    assert tree["properties"]["parent"] == {"type": "object"}
    raw = {"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}}
    assert given_to(signature_of(plant), raw)["tree"].children[0].children[0].name == "c"
    raw["tree"]["children"][0]["children"][0] = {"name": 5, "parent": {}}  # type: ignore[index]
    with pytest.raises(InvalidInput) as refused:
        signature_of(plant).bind(raw)
    assert [issue["path"] for issue in refused.value.data] == [
        ["tree", "children", 0, "children", 0, "name"],
        ["tree", "children", 0, "children", 0, "parent", "name"],
    ]


def described(
    count: Annotated[int, Field(ge=1, le=9, description="How many")] = 2,
    word: str = Field("a", min_length=1, description="A word"),
    made: list[int] = Field(default_factory=lambda: [1]),  # noqa: B008  # how defaults are made
    size: Size = Size.SMALL,
    kind: Literal["x", "y", None] = None,
    odd: Any = object(),  # noqa: B008  # a default JSON cannot hold
    ratio: float = float("inf"),
    when: NaiveDatetime | None = None,
    both: int | str = 0,
) -> None:
    pass


def test_field_27_types_limits_descriptions_choices_and_defaults_are_published() -> None:
    assert signature_of(described).input_schema["properties"] == {
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many", "default": 2},
        "word": {"type": "string", "minLength": 1, "description": "A word", "default": "a"},
        "made": {"type": "array", "items": {"type": "integer"}},
        "size": {"type": "string", "enum": ["small", "large"], "default": "small"},
        "kind": {"type": "string", "enum": ["x", "y"]},
        "odd": {},
        "ratio": {"type": "number"},
        "when": {"type": "string"},
        "both": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 0},
    }


def test_defaults_of_every_kind_reach_the_handler() -> None:
    got = given_to(signature_of(described), {})
    assert got.pop("odd") is not None
    assert got == {
        "count": 2,
        "word": "a",
        "made": [1],
        "size": Size.SMALL,
        "kind": None,
        "ratio": float("inf"),
        "when": None,
        "both": 0,
    }


def odd_names(schema: int, json: int, copy: int, _x: int, model_config: int, cls: int, dict: int, __y: int = 0) -> None:
    pass


def test_no_parameter_name_is_special() -> None:
    raw = {"schema": 1, "json": 2, "copy": 3, "_x": 4, "model_config": 5, "cls": 6, "dict": 7, "__y": 8}
    assert given_to(signature_of(odd_names), raw) == raw


# Aliases --------------------------------------------------------------------------------------------------------


def aliased(
    x: Annotated[int, Field(alias="externalX")],
    y: Annotated[int, Field(validation_alias=AliasChoices("firstY", "secondY"))] = 0,
    z: int = Field(3, validation_alias="externalZ"),
) -> None:
    pass


def test_field_16_what_is_published_is_what_is_taken() -> None:
    signature = signature_of(aliased)
    assert list(signature.input_schema["properties"]) == ["externalX", "firstY", "externalZ"]
    assert given_to(signature, {"externalX": 1, "firstY": 2, "externalZ": 4}) == {"x": 1, "y": 2, "z": 4}
    assert given_to(signature, {"externalX": 1, "secondY": 5}) == {"x": 1, "y": 5, "z": 3}
    assert signature.fields == {"x", "externalX", "y", "firstY", "z", "externalZ"}
    assert signature.bind({"externalX": 1}).values == {
        "x": 1, "externalX": 1, "y": 0, "firstY": 0, "z": 3, "externalZ": 3,
    }  # fmt: skip
    with pytest.raises(InvalidInput) as refused:
        signature.bind({"x": 1})
    assert [issue["path"] for issue in refused.value.data] == [["externalX"], ["x"]]


# JSON rules -----------------------------------------------------------------------------------------------------


def typed(
    i: int = 0,
    f: float = 0.0,
    s: str = "",
    b: bool = False,
    d: Decimal = Decimal(0),
    day: date | None = None,
    at: datetime | None = None,
    span: timedelta | None = None,
    id: UUID | None = None,
    size: Size = Size.SMALL,
    tags: set[str] = set(),  # noqa: B006  # never changed
    pair: tuple[int, str] = (0, ""),
    raw: bytes = b"",
    path: Path | None = None,
    level: Literal[0, 1, 2] = 0,
    consent: Literal[True] = True,
    any: Any = None,
    maybe_level: Literal[1, "one"] | None = None,
    counts: dict[str, int] | None = None,
) -> None:
    pass


TYPED = signature_of(typed)


@pytest.mark.parametrize(
    ("name", "value", "got"),
    [
        ("i", 30, 30),
        ("i", 30.0, 30),
        ("i", 1e20, 10**20),
        ("f", 3, 3.0),
        ("f", 3.0, 3.0),
        ("f", 1e300, 1e300),
        ("s", "12345", "12345"),
        ("s", '["a"]', '["a"]'),
        ("s", "null", "null"),
        ("s", "true 1.0", "true 1.0"),
        ("d", 1.5, Decimal("1.5")),
        ("d", "1.50", Decimal("1.50")),
        ("day", "2026-01-31", date(2026, 1, 31)),
        ("at", "2026-01-31T10:00:00", datetime(2026, 1, 31, 10)),
        ("span", "PT1H", timedelta(hours=1)),
        ("id", "00000000-0000-0000-0000-000000000001", UUID(int=1)),
        ("size", "large", Size.LARGE),
        ("tags", ["a", "a"], {"a"}),
        ("pair", [1.0, "a"], (1, "a")),
        ("raw", "aGk=", b"hi"),
        ("path", "a/b", Path("a/b")),
        ("level", 1, 1),
        ("level", 1.0, 1),
        ("consent", True, True),
        ("any", {"a": [True, None]}, {"a": [True, None]}),
        ("maybe_level", "one", "one"),
        ("counts", {"a": 2.0}, {"a": 2}),
    ],
)
def test_field_15_json_rules_for_what_is_taken(name: str, value: Any, got: Any) -> None:
    found = given_to(TYPED, {name: value})[name]
    assert found == got
    assert type(found) is type(got)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("i", "30"), ("i", True), ("i", 0.5), ("i", [1]), ("f", "3"), ("f", True), ("s", 12345), ("s", True),
        ("b", 1), ("b", "true"), ("b", 1.0), ("d", True), ("d", "x"), ("day", 20000), ("day", "2026-02-30"),
        ("at", 1700000000), ("id", "x"), ("size", "huge"), ("size", 1), ("tags", "a"), ("pair", [True, "a"]),
        ("raw", 1), ("level", True), ("level", False), ("level", "1"), ("level", 3), ("consent", 1),
        ("consent", 1.0), ("consent", False), ("maybe_level", True), ("counts", {"a": True}), ("span", 3600),
    ],
)  # fmt: skip
def test_json_rules_for_what_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        TYPED.bind({name: value})
    assert refused.value.data
    assert all(issue["path"][0] == name for issue in refused.value.data)


def test_field_4_null_counts_as_absent_where_there_is_a_default_and_no_null() -> None:
    def fn(x: str = None, n: int = 7, y: int | None = 5, z: Any = 1) -> None: ...  # noqa: RUF013  # the case

    signature = signature_of(fn)
    assert signature.input_schema["properties"]["x"] == {"type": "string"}
    got = given_to(signature, {"x": None, "n": None, "y": None, "z": None})
    assert got == {"x": None, "n": 7, "y": None, "z": None}
    with pytest.raises(InvalidInput, match=r"^text: a string is expected, got null$"):
        signature_of(add_todo).bind({"text": None})


def test_an_optional_parameter_may_be_left_out_even_without_a_default() -> None:
    def fn(a: str | None, b: Annotated[int | None, "note"], c: Annotated[int | None, Field(default=4)]) -> None: ...

    assert "required" not in signature_of(fn).input_schema
    assert given_to(signature_of(fn), {}) == {"a": None, "b": None, "c": 4}


def test_an_authors_model_may_be_given_without_its_optional_fields() -> None:
    got = given_to(signature_of(nested), {"address": {"street": "a"}, "all": [{"street": "b", "zip": None}]})
    assert got == {"address": Address(street="a", zip=None), "old": None, "all": [Address(street="b", zip=None)]}


@pytest.mark.parametrize("raw", [None, {}])
def test_no_arguments_are_an_empty_object(raw: Any) -> None:
    def fn(x: int = 3) -> None: ...

    assert given_to(signature_of(fn), raw) == {"x": 3}


def test_another_mapping_is_an_object_too() -> None:
    class Frozen(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return {"text": "a"}[key]

        def __iter__(self) -> Any:
            return iter(("text",))

        def __len__(self) -> int:
            return 1

    assert given_to(signature_of(add_todo), Frozen())["text"] == "a"


def test_what_came_is_not_changed() -> None:
    raw = {"i": 3.0, "s": None, "counts": {"a": 1.0}}
    TYPED.bind(raw)
    assert raw == {"i": 3.0, "s": None, "counts": {"a": 1.0}}
    assert isinstance(raw["i"], float)


# Unknown arguments ----------------------------------------------------------------------------------------------


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 0


class Lenient(BaseModel):
    model_config = ConfigDict(strict=False, coerce_numbers_to_str=True)
    n: int = Field(0, strict=False)
    s: str = ""
    inner: Open = Open()
    more: dict[str, Address] = {}


@dataclass
class Box:
    width: int
    label: str = field(default="")


class Options(TypedDict):
    depth: int
    name: NotRequired[str]


def take(value: Any) -> None: ...


def test_field_17_nested_unknown_arguments_are_refused_too() -> None:
    def fn(box: Box, options: Options, address: Address) -> None: ...

    raw = {"box": {"width": 1, "lable": ""}, "options": {"depth": 1, "x": 1}, "address": {"street": "a", "q": 1}}
    with pytest.raises(InvalidInput) as refused:
        signature_of(fn).bind(raw)
    assert refused.value.data == [
        {"message": 'unknown argument "lable"; did you mean "label"?', "path": ["box", "lable"]},
        {"message": 'unknown argument "x"; known are "depth", "name"', "path": ["options", "x"]},
        {"message": 'unknown argument "q"; known are "street", "zip", "note"', "path": ["address", "q"]},
    ]


def test_only_a_model_that_allows_unknown_arguments_gets_them() -> None:
    signature = read_handler(take, name="act", input_type=Open)
    assert signature.input_schema["additionalProperties"] is True
    assert given_to(signature, {"a": 1, "b": 2})["value"].model_extra == {"b": 2}

    signature = read_handler(take, name="act", input_type=Lenient)
    raw = {"inner": {"more": 1}, "more": {"x": {"street": "a"}}}
    assert given_to(signature, raw)["value"].inner.model_extra == {"more": 1}
    with pytest.raises(InvalidInput) as refused:
        signature.bind({"inner": {"more": 1}, "x": 1, "more": {"x": {"street": "a", "q": 1}}})
    assert [issue["path"] for issue in refused.value.data] == [["more", "x", "q"], ["x"]]


def test_what_an_open_model_refuses_by_itself_is_refused() -> None:
    def fn(open: Open) -> None: ...

    with pytest.raises(InvalidInput, match="a whole number"):
        signature_of(fn).bind({"open": {"a": "1", "b": 2}})


class Login(BaseModel):
    user: str = Field(max_length=9)
    password: SecretStr = Field(min_length=9)
    old: list[SecretStr] = []
    pin: Annotated[SecretStr, Field(min_length=9)] | int = 0


def test_a_secret_is_in_no_message() -> None:
    raw = {"user": "hunter2" * 2, "password": "hunter2", "old": [7], "pin": "hunter2"}
    with pytest.raises(InvalidInput) as refused:
        read_handler(take, name="act", input_type=Login).bind(raw)
    assert refused.value.data == [
        {"message": 'at most 9 characters are expected, got "hunter2hunter2"', "path": ["user"]},
        {"message": "a length of at least 9 is expected", "path": ["password"]},
        {"message": "a string is expected, got a number", "path": ["old", 0]},
        {"message": "a length of at least 9 is expected", "path": ["pin"]},
    ]


class Typed(BaseModel):
    """Unknown fields of it are validated once the first look has let them through."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]


def test_unknown_arguments_with_a_type_are_validated() -> None:
    signature = read_handler(take, name="act", input_type=Typed)
    assert given_to(signature, {"a": 1.0})["value"].model_extra == {"a": 1}
    with pytest.raises(InvalidInput, match=r"^a: a whole number is expected, got \"x\"$"):
        signature.bind({"a": "x"})


def test_strict_json_rules_win_over_a_lenient_model() -> None:
    signature = read_handler(take, name="act", input_type=Lenient)
    with pytest.raises(InvalidInput) as refused:
        signature.bind({"n": "3", "s": 5})
    assert [issue["path"] for issue in refused.value.data] == [["n"], ["s"]]


# After .input(…) -------------------------------------------------------------------------------------------------


class Stock(BaseModel):
    """A question about stock."""

    sku: str = Field(alias="SKU")
    count: int = 1


def ask_stock(ctx, query: Stock, cached: bool = False) -> None:  # type: ignore[no-untyped-def]
    pass


def test_one_value_goes_into_the_first_parameter_that_is_not_the_context() -> None:
    signature = read_handler(ask_stock, name="act", input_type=Stock)
    assert signature.context_parameter == "ctx"
    assert signature.input_schema["required"] == ["SKU"]
    assert signature.input_schema["description"] == "A question about stock."
    bound = signature.bind({"SKU": "A1"})
    assert bound.call(accept, "the context") == {"query": Stock(SKU="A1"), "ctx": "the context"}
    assert bound.values == {"sku": "A1", "SKU": "A1", "count": 1}
    assert signature.fields == {"sku", "SKU", "count"}


def test_the_parameter_needs_no_annotation_that_can_be_resolved() -> None:
    def fn(query: Nowhere, ctx) -> None: ...  # type: ignore[name-defined,no-untyped-def]  # noqa: F821

    assert given_to(read_handler(fn, name="act", input_type=Stock), {"SKU": "A1"})["query"].sku == "A1"


@pytest.mark.parametrize(
    ("declared", "raw", "value", "values"),
    [
        (Box, {"width": 2.0}, Box(2), {"width": 2, "label": ""}),
        (Options, {"depth": 1}, {"depth": 1}, {"depth": 1}),
        (dict[str, Any], {"a": 1}, {"a": 1}, {}),
        (Stock | None, {"SKU": "A1"}, Stock(SKU="A1"), {"sku": "A1", "SKU": "A1", "count": 1}),
        (Tree, {"name": "a"}, Tree(name="a"), {"name": "a", "children": [], "parent": None}),
    ],
)
def test_every_kind_of_object_can_be_the_input(declared: Any, raw: Any, value: Any, values: dict[str, Any]) -> None:
    signature = read_handler(take, name="act", input_type=declared)
    assert signature.input_schema["type"] == "object"
    assert given_to(signature, raw) == {"value": value}
    assert signature.bind(raw).values == values


class Paths(BaseModel):
    deep: int = Field(0, validation_alias=AliasChoices("flat", "other"))


def test_the_first_of_several_aliases_is_the_name() -> None:
    signature = read_handler(take, name="act", input_type=Paths)
    assert signature.fields == {"deep", "flat"}
    assert given_to(signature, {"other": 3})["value"].deep == 3


# A JSON Schema of the author's ------------------------------------------------------------------------------------

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": {"type": ["integer", "null"]}},
}


def test_a_json_schema_is_published_as_it_stands() -> None:
    signature = read_handler(take, name="act", json_schema=SCHEMA)
    assert signature.input_schema == SCHEMA
    assert signature.input_schema is not SCHEMA
    assert signature.fields == {"a"}
    raw = {"a": 1.0, "b": None}
    assert given_to(signature, raw) == {"value": raw}
    assert signature.bind(raw).values == {"a": 1.0}


def test_validate_gives_the_value() -> None:
    signature = read_handler(take, name="act", json_schema={"type": "object"}, validate=len)
    assert given_to(signature, {"a": 1}) == {"value": 1}
    assert signature.bind({"a": 1}).values == {}


def test_what_validate_refuses_is_invalid_input() -> None:
    def refuse(raw: dict[str, Any]) -> Any:
        raise ValueError(raw.get("say", ""))

    signature = read_handler(take, name="act", json_schema={"type": "object"}, validate=refuse)
    with pytest.raises(InvalidInput) as refused:
        signature.bind({"say": "a is missing"})
    assert (refused.value.message, refused.value.data) == ("a is missing", [{"message": "a is missing", "path": []}])
    with pytest.raises(InvalidInput, match="the arguments do not fit"):
        signature.bind({})

    signature = read_handler(take, name="act", json_schema={"type": "object"}, validate=Address.model_validate)
    with pytest.raises(InvalidInput) as refused:
        signature.bind({"street": 1, "zip": "z"})
    assert refused.value.data == [{"message": "a string is expected, got 1", "path": ["street"]}]


def test_a_handler_without_a_parameter_is_called_without_the_value() -> None:
    def fn(ctx) -> None: ...  # type: ignore[no-untyped-def]

    signature = read_handler(fn, name="act", json_schema=SCHEMA)
    assert signature.bind({"a": 1}).call(accept, 7) == {"ctx": 7}
    assert signature.bind({"a": 1}).values == {"a": 1}


# A call ---------------------------------------------------------------------------------------------------------


def test_a_call_is_the_function_with_its_arguments() -> None:
    seen: list[Any] = []

    def fn(a: int, *, ctx: Any = None, b: int = 2) -> int:
        seen.append((a, ctx, b))
        return a

    assert signature_of(fn).bind({"a": 1, "ctx": "given"}).call(fn, "context") == 1
    assert seen == [(1, "given", 2)]


def test_a_partial_keeps_what_it_has_bound() -> None:
    def fn(a: int, b: int, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    bound = functools.partial(fn, b=5)
    signature = signature_of(bound)
    assert list(signature.input_schema["properties"]) == ["a", "c"]
    assert signature.bind({"a": 1}).call(bound, None) == (1, 5, 3)


# Whatever comes ---------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5)
json_values = st.recursive(
    scalars | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
SIGNATURES = [TYPED, signature_of(plant), signature_of(nested), signature_of(described)]


@given(
    st.sampled_from(SIGNATURES).flatmap(
        lambda signature: st.tuples(
            st.just(signature),
            st.dictionaries(st.sampled_from(sorted(signature.fields)) | st.text(max_size=3), json_values),
        )
    )
)
def test_arguments_are_bound_or_refused_and_nothing_else(case: tuple[HandlerSignature, dict[str, Any]]) -> None:
    signature, raw = case
    issues: Any = None
    try:
        assert signature.bind(raw).values.keys() <= signature.fields
    except InvalidInput as error:
        issues = error.data
    assert issues != []
    assert json.loads(json.dumps(issues)) == issues


@given(st.fixed_dictionaries({}, optional={"i": st.integers() | st.floats(-5, 5), "s": st.text(), "level": scalars}))
def test_what_the_schema_takes_the_handler_takes(raw: dict[str, Any]) -> None:
    schema = TYPED.input_schema
    try:
        TYPED.bind(raw)
        taken = True
    except InvalidInput:
        taken = False
    without_null = {name: value for name, value in raw.items() if value is not None}
    assert taken is jsonschema.Draft202012Validator(schema).is_valid(without_null)
