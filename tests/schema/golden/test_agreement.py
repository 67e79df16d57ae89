"""Validation and published schema are of one mind, for types and values that nobody has thought of."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, NotRequired
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import BaseModel, Field, TypeAdapter, create_model
from typing_extensions import TypedDict

from tesseron_py.schema.formats import FORMATS
from tesseron_py.schema.generate import schemas_of
from tesseron_py.schema.inline import inline_schema
from tesseron_py.schema.issues import Mismatch
from tesseron_py.schema.output import output_for
from tesseron_py.schema.validation import JsonValidator
from tesseron_py.unset import UNSET

from .types import STRICTER


class Word(enum.StrEnum):
    A = "a"
    B = "b"


class Number(enum.Enum):
    ONE = 1
    TWO = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


FORMAT_CHECKER = FormatChecker(())
for name, (fits, _) in FORMATS.items():
    FORMAT_CHECKER.checks(name)(lambda value, fits=fits: not isinstance(value, str) or fits(value))

# What validation says when it refuses what the schema takes, by reason.
SAYS: Final[Mapping[str, str]] = {
    "text": r"a (date|UUID|duration|decimal number|finite number)|base64 is expected|Decimal input|decimal number",
    "limit": r"a multiple of|at (least|most) \S+ is expected|[12](,| or) [12](,? or .*)? is expected|digits"
    r"|exceeded maximum size",
    "tuple": r"a length of at least",
    "recursion": r".",
    "names": r"$^",
    "author": r"$^",
}


def test_every_reason_has_its_words() -> None:
    assert SAYS.keys() == STRICTER.keys()


# Types --------------------------------------------------------------------------------------------------------------

leaves = st.sampled_from(
    [
        str, int, float, bool, date, datetime, UUID, Decimal, bytes, timedelta, Word, Number, Rights, Any,
        Annotated[int, Field(ge=0, lt=40)],
        Annotated[int, Field(multiple_of=3)],
        Annotated[float, Field(gt=0, le=30)],
        Annotated[float, Field(multiple_of=0.5)],
        Annotated[float, Field(multiple_of=0.1)],
        Annotated[str, Field(min_length=1, max_length=2)],
        Annotated[str, Field(pattern=r"^[a-z]\w*$")],
        Annotated[Decimal, Field(ge=1)],
        Literal["a", "30"],
        Literal[0, 1],
        Literal[True, "true"],
        Literal[1, 0.5, "a", None],
    ]
)  # fmt: skip
names = st.sampled_from(["a", "b", "kind", "$ref", "x y", 'q"/~'])


@st.composite
def fields(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, tuple[Any, bool]]:
    """Names with their types, and whether they are required."""
    return {name: (draw(inner), draw(st.booleans())) for name in draw(st.lists(names, unique=True, max_size=3))}


@st.composite
def models(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    given: dict[str, Any] = {}
    for index, (name, (declared, required)) in enumerate(draw(fields(inner)).items()):
        optional = st.sampled_from([(declared | None, None), (int, 5), (list[int], [1]), (Word, Word.B)])
        kind, default = (declared, ...) if required else draw(optional)
        given[f"f{index}"] = (kind, Field(default, alias=name))
    return create_model("Model", **given)


@st.composite
def typed_dicts(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    found = draw(fields(inner))
    make: Any = TypedDict
    return make("Typed", {name: type if required else NotRequired[type] for name, (type, required) in found.items()})


@st.composite
def dataclasses_(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    kinds = draw(st.lists(inner, max_size=3))
    return dataclasses.make_dataclass("Data", [(name, kind) for name, kind in zip("abc", kinds, strict=False)])


@st.composite
def tagged(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    cat = create_model("Cat", kind=(Literal["a"], "a"), n=(draw(inner), ...))
    dog = create_model("Dog", kind=(Literal["b", "c"], ...), m=(draw(inner) | None, None))
    return Annotated[cat | dog, Field(discriminator="kind")]


def composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from([str, Literal["a", "b"], Word])
    return st.one_of(
        inner.map(lambda each: each | None),
        inner.map(lambda each: list[each]),
        inner.map(lambda each: Annotated[list[each], Field(min_length=1, max_length=2)]),
        st.sampled_from([set[int], frozenset[Word], Annotated[set[str], Field(min_length=2)]]),
        st.tuples(keys, inner).map(lambda pair: dict[pair[0], pair[1]]),
        st.tuples(inner, inner).map(lambda pair: tuple[pair[0], pair[1]]),
        inner.map(lambda each: tuple[each, ...]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        models(inner),
        typed_dicts(inner),
        dataclasses_(inner),
        tagged(inner),
    )


types = st.recursive(leaves, composed, max_leaves=5)

# Values: those of a schema, and others that are near ------------------------------------------------------------------

NEAR: Final = [
    None, True, False, 0, 1, 2, 3, 30, 30.0, 0.5, 0.3, -1, 2**64, "", "a", "b", "c", "30", "0.5", "true", "abc",
    "2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31T12:00", "6f9619ff-8b86-4011-b42d-00cf4fc964ff", "aGk=", "PT1H",
    [], {}, [1, 1], ["a", "a"], {"a": 1}, {"kind": "a"}, [None], [[]],
]  # fmt: skip
near = st.sampled_from(NEAR)


@st.composite
def values(draw: st.DrawFn, schema: Any) -> Any:
    """A value that a schema may take, and that is off the mark here and there."""
    if not isinstance(schema, dict) or not schema or draw(st.integers(0, 7)) == 0:
        return draw(near)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "anyOf" in schema:
        return draw(values(draw(st.sampled_from(schema["anyOf"]))))
    match schema.get("type"):
        case "object":
            found = {
                name: draw(values(each))
                for name, each in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or draw(st.booleans())
            }
            if found and draw(st.integers(0, 5)) == 0:
                del found[draw(st.sampled_from(list(found)))]
            if draw(st.integers(0, 5)) == 0 or "properties" not in schema:
                found[draw(names)] = draw(values(schema.get("additionalProperties")))
            return found
        case "array":
            if prefix := schema.get("prefixItems"):
                return [draw(values(each)) for each in prefix]
            return draw(st.lists(values(schema.get("items")), max_size=3))
        case "string":
            return draw(st.sampled_from([each for each in NEAR if isinstance(each, str)]))
        case "integer" | "number":
            return draw(st.sampled_from([0, 1, 2, 3, 30, 30.0, 0.5, 0.3, -1, 2**64, 39, 40]))
    return draw(near)


# The property -------------------------------------------------------------------------------------------------------


def nulls_told(schema: Any) -> Any:
    """A schema that keeps null, and says that what need not be there may be null, and the reverse."""
    if isinstance(schema, list):
        return [nulls_told(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    told = {
        key: {name: nulls_told(each) for name, each in value.items()} if key == "properties" else nulls_told(value)
        for key, value in schema.items()
        if key not in ("default", "enum", "required")
    }
    told |= {key: schema[key] for key in ("enum",) if key in schema}
    properties = schema.get("properties", {})
    takes_null = {name for name, each in properties.items() if Draft202012Validator(each).is_valid(None)}
    required = [name for name in schema.get("required", ()) if name not in takes_null or properties[name] == {}]
    if "properties" in told and schema.get("type") == "object":
        told["properties"] = {
            name: each if name in required else {"anyOf": [each, {"type": "null"}]}
            for name, each in told["properties"].items()
        }
    if required:
        told["required"] = required
    return told


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_the_two_never_disagree(data: st.DataObject) -> None:
    declared = data.draw(types, "type")
    adapter: TypeAdapter[Any] = TypeAdapter(declared)
    schemas = schemas_of(adapter, "input")
    published = Draft202012Validator(schemas.published, format_checker=FORMAT_CHECKER)
    published.check_schema(schemas.published)
    with_null = inline_schema(schemas.document, keep_null=True, closed=True, mended=True)
    loose = Draft202012Validator(nulls_told(with_null))
    validator = JsonValidator(
        adapter, schemas.document, schemas.published, refuse_unknown=True, noun="argument", show=True
    )
    output = output_for(lambda: None, name="act", declared=declared, returned=UNSET)
    for _ in range(3):
        value = data.draw(values(schemas.published), "value")
        try:
            read = validator(value)
        except Mismatch as error:
            if published.is_valid(value):
                said = "; ".join(issue.message for issue in error.issues)
                reasons = {reason for reason, words in SAYS.items() if reason != "recursion" and re.search(words, said)}
                assert reasons, f"{schemas.published} takes {value!r}, and validation says {said}"
        else:
            assert loose.is_valid(value), f"{schemas.published} refuses {value!r}, and validation takes it"
            # What was read can be put out, and what is put out is what was promised.
            if output is not None:  # of anything, nothing is promised
                Draft202012Validator(output.schema, format_checker=FORMAT_CHECKER).validate(output.check(read))


class Deep(BaseModel):
    deep: Deep | None = None
    n: int = 0


def test_below_a_recursion_validation_goes_on() -> None:
    adapter = TypeAdapter(Deep)
    schemas = schemas_of(adapter, "input")
    value = {"deep": {"deep": {"n": "x"}}}
    assert Draft202012Validator(schemas.published).is_valid(value)
    validator = JsonValidator(
        adapter, schemas.document, schemas.published, refuse_unknown=True, noun="argument", show=True
    )
    try:
        validator(value)
    except Mismatch as error:
        assert [issue.path for issue in error.issues] == [["deep", "deep", "n"]]  # noqa: PT017  # both are looked at
    else:
        raise AssertionError
