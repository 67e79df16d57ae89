"""Names of an author's are no words of pydantic's, whatever they are, wherever a core schema is walked through."""

from __future__ import annotations

import dataclasses
import keyword
from typing import Annotated, Any, Final, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic_core import core_schema
from typing_extensions import TypedDict, is_typeddict

from tesseron_py.errors import InvalidInput, InvalidSchema, RegistrationError
from tesseron_py.schema.constraints import check_constraints
from tesseron_py.schema.elicitation import form_for
from tesseron_py.schema.nodes import LEADING, children, with_children
from tesseron_py.schema.output import output_for
from tesseron_py.schema.signature import HandlerSignature, read_handler
from tesseron_py.schema.unusable import UnusableType
from tesseron_py.unset import UNSET

from .golden.types import INPUTS, OUTPUTS, PARAMETERS, Given, Taken

typed_dict: Any = TypedDict


def entries() -> dict[str, str]:
    """Every entry that a node may have in this pydantic, and what it holds."""
    found: dict[str, str] = {}
    for kind in vars(core_schema).values():
        if is_typeddict(kind) and not kind.__name__.endswith("SerSchema"):
            found |= {key: str(value) for key, value in kind.__annotations__.items()}
    return found


# Keywords of core schemas and of JSON Schema, and others that are names in both.
WORDS: Final = sorted(
    {
        *(name for name in entries() if name.isidentifier()),
        *Draft202012Validator.VALIDATORS,
        "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description", "examples", "format",
        "function", "contentEncoding", "contentMediaType", "contentSchema", "readOnly", "title", "unevaluatedItems",
        "writeOnly",
    }
)  # fmt: skip
PLAIN: Final = "plain"


def test_every_entry_that_holds_nodes_is_known() -> None:
    holding = {key for key, what in entries().items() if any(each in what for each in ("CoreSchema", "Parameter]"))}
    holding |= {key for key, what in entries().items() if any(each in what for each in ("Field]", "ComputedField]"))}
    assert {"schema", "fields", "choices", "arguments_schema"} <= holding
    assert holding <= LEADING


def test_children_are_nodes_with_the_names_of_fields() -> None:
    class Both(BaseModel):
        config: int
        default: Literal["default"] = "default"

    fields = TypeAdapter(Both).core_schema["schema"]
    assert [name for name, _ in children(fields)] == ["config", "default"]

    @dataclasses.dataclass
    class Data:
        members: int

    arguments = TypeAdapter(Data).core_schema["schema"]
    assert [name for name, _ in children(arguments)] == ["members"]
    node = {"type": "union", "choices": [({"type": "int"}, "a"), {"type": "str"}], "metadata": {"schema": {}}}
    assert list(children(node)) == [(None, {"type": "int"}), (None, {"type": "str"})]
    assert with_children(node, lambda each: each) is node
    changed = with_children(node, lambda each: {"type": "any"} if each["type"] == "int" else each)
    assert changed == {**node, "choices": [({"type": "any"}, "a"), {"type": "str"}]}


# Behaviour does not depend on names -----------------------------------------------------------------------------------


def by_parameter(name: str, case: Taken) -> HandlerSignature:
    namespace: dict[str, Any] = {}
    exec(f"def act({name}): pass", namespace)
    namespace["act"].__annotations__[name] = case.declared
    return read_handler(namespace["act"], name="act")


def in_a_model(name: str, case: Taken) -> HandlerSignature:
    model = create_model("Model", inner=(case.declared, Field(alias=name)))
    return read_handler(lambda value: None, name="act", input_type=model)


def in_a_typed_dict(name: str, case: Taken) -> HandlerSignature:
    return read_handler(lambda value: None, name="act", input_type=typed_dict("Typed", {name: case.declared}))


def in_a_dataclass(name: str, case: Taken) -> HandlerSignature:
    made = dataclasses.make_dataclass("Data", [(name, case.declared)])
    return read_handler(lambda value: None, name="act", input_type=made)


def in_an_attribute(name: str, case: Taken) -> HandlerSignature:
    return read_handler(
        lambda value: None, name="act", input_type=create_model("Model", **{name: (case.declared, ...)})
    )


def outcome(build: Any, name: str, case: Taken) -> list[Any]:
    """What a type does below a name: its schema, and what is read of values."""
    try:
        signature = build(name, case)
    except RegistrationError as error:
        return [type(error)]
    found: list[Any] = [signature.input_schema["properties"][name], signature.input_schema.get("required") == [name]]
    some = [case.takes, case.refuses, *case.takes_more.values(), *case.refuses_more.values()]
    for value in [*(each for values in some for each in values), True, 1, "20260131", "aGk="]:
        try:
            read = signature.bind({name: value}).values[name]
        except InvalidInput as error:
            found.append([[issue["message"], issue["path"][1:]] for issue in error.data])
        else:
            found.append((type(read), repr(read) if not hasattr(read, "__next__") else None))
    return found


IN_PYTHON: Final = [each for each in WORDS if each.isidentifier() and not keyword.iskeyword(each)]
ATTRIBUTES: Final = [each for each in IN_PYTHON if not hasattr(BaseModel, each) and not each.startswith("model_")]
PLACES: Final = [
    (by_parameter, [each for each in IN_PYTHON if not each.startswith(("ctx", "context", "self", "cls"))]),
    (in_a_model, WORDS),
    (in_a_typed_dict, WORDS),
    (in_a_dataclass, IN_PYTHON),
    (in_an_attribute, ATTRIBUTES),
]
EXPECTED: dict[Any, list[Any]] = {}


@settings(max_examples=250, deadline=None)
@given(st.sampled_from([*PARAMETERS, *INPUTS]), st.data())
def test_no_type_depends_on_the_name_of_its_field(case: Taken, data: st.DataObject) -> None:
    build, names = data.draw(st.sampled_from(PLACES))
    name = data.draw(st.sampled_from(names))
    key = (build, case.name, id(case))
    if key not in EXPECTED:
        EXPECTED[key] = outcome(build, PLAIN, case)
    assert outcome(build, name, case) == EXPECTED[key]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PARAMETERS), st.sampled_from(WORDS))
def test_nor_does_a_form(case: Taken, name: str) -> None:
    def answers(name: str) -> list[Any]:
        try:
            form = form_for(typed_dict("Typed", {name: case.declared}))
        except InvalidSchema:
            return [InvalidSchema]
        found: list[Any] = []
        for value in [*case.takes, *case.refuses, True, 1, "20260131"]:
            try:
                found.append(repr(form.parse({name: value})[name]))
            except Exception as error:  # whatever it is, it is the same
                found.append(type(error))
        return found

    assert answers(name) == answers(PLAIN)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(OUTPUTS), st.sampled_from(WORDS))
def test_nor_does_an_output(case: Given, name: str) -> None:
    def written(name: str) -> tuple[Any, list[Any]]:
        output = output_for(
            lambda: None, name="act", declared=typed_dict("Typed", {name: case.declared}), returned=UNSET
        )
        assert output is not None
        return output.schema["properties"][name], [output.check({name: value})[name] for value, _ in case.gives]

    assert written(name) == written(PLAIN)


NAMES: Final = ["config", "metadata", "default", "expected", "members", "serialization", "type", "schema", "fields"]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    a: int = 1


class Closed(BaseModel):
    x: int
    y: int = 0


@pytest.mark.parametrize("name", NAMES)
def test_what_is_open_keeps_all_it_is_given_whatever_it_is_called(name: str) -> None:
    case = Taken("open", Closed | Open, [])
    assert by_parameter(name, case).bind({name: {"x": 1, "zz": 2}}).values[name] == Open(x=1, zz=2)


@pytest.mark.parametrize("name", NAMES)
def test_a_tag_may_be_any_word(name: str) -> None:
    one = create_model("One", kind=(Literal[name], ...), data=(bytes, ...))
    two = create_model("Two", kind=(Literal["two"], ...))
    signature = by_parameter("value", Taken("tagged", Annotated[one | two, Field(discriminator="kind")], []))
    assert signature.bind({"value": {"kind": name, "data": "aGk="}}).values["value"].data == b"hi"


@pytest.mark.parametrize("name", NAMES)
def test_a_constraint_that_cannot_hold_is_found_below_any_name(name: str) -> None:
    bad = typed_dict("Bad", {name: Annotated[str, Field(ge=3)]})
    with pytest.raises(UnusableType, match=f"^{name}: the constraint ge=3"):
        check_constraints(TypeAdapter(bad).core_schema)
