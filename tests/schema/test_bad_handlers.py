"""What cannot be an action's handler, and what its author reads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AliasPath, BaseModel, Field
from pydantic_core import core_schema

from tesseron_py.errors import RegistrationError
from tesseron_py.schema.handler import return_annotation
from tesseron_py.schema.signature import read_handler

if TYPE_CHECKING:
    from collections import OrderedDict as OnlyForCheckers

    from tesseron_py import Context, SyncContext


class Query(BaseModel):
    sku: str


class Unfinished(BaseModel):
    other: Nowhere  # noqa: F821  # that it is unknown is the case


class Odd:
    pass


class Flaky:
    """A type whose own hook fails, but not always."""

    calls = 0

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        cls.calls += 1
        if cls.calls == 1:
            raise RuntimeError
        return core_schema.str_schema()


def stars(name: str, *rest: str) -> None: ...
def double_stars(name: str, **rest: str) -> None: ...
def bare(name) -> None: ...  # type: ignore[no-untyped-def]
async def bare_context(context) -> None: ...  # type: ignore[no-untyped-def]
def positional(name: str, /) -> None: ...
def unresolved(name: OnlyForCheckers) -> None: ...
def unresolved_return(name: str) -> OnlyForCheckers: ...
def context_in_def(ctx: Context) -> None: ...
async def sync_context_in_async(ctx: SyncContext) -> None: ...
async def two_contexts(ctx: Context, again: Context) -> None: ...
async def generator(name: str):  # type: ignore[no-untyped-def]
    yield name


def plain_generator(name: str):  # type: ignore[no-untyped-def]
    yield name


def odd(thing: Odd, name: str = "") -> None: ...
def callback(then: Callable[[], None]) -> None: ...
def unfinished(thing: Unfinished) -> None: ...
def path(name: Annotated[str, Field(validation_alias=AliasPath("a", "b"))]) -> None: ...
def path_default(name: str = Field(validation_alias=AliasPath("a", "b"))) -> None: ...
def same_names(a: Annotated[str, Field(alias="x")], x: int) -> None: ...
def flaky(thing: Flaky) -> None: ...


CASES: list[tuple[Callable[..., Any], str]] = [
    (stars, "*rest has no names an agent could give; name every parameter, or take the input as one value"),
    (double_stars, "**rest has no names an agent could give; name every parameter, or take the input as"),
    (bare, "the parameter 'name' has no annotation; write what it takes, such as `name: str`"),
    (
        bare_context,
        "the parameter 'context' has no annotation; write what it takes, such as `context: str`; the call's own context"
        " is `context: Context`, in a `def` `context: SyncContext`",
    ),
    (positional, "the parameter 'name' is positional-only, and agents give names; remove the `/`"),
    (
        unresolved,
        "the annotation of 'name', 'OnlyForCheckers' cannot be resolved (name 'OnlyForCheckers' is not defined); define"
        " or import it at module level, before the handler and not only under TYPE_CHECKING or inside a function",
    ),
    (unresolved_return, "the return annotation 'OnlyForCheckers' cannot be resolved (name"),
    (
        context_in_def,
        "a `def` handler runs in a worker thread and takes SyncContext; write `ctx: SyncContext`, or make it an"
        " `async def`",
    ),
    (sync_context_in_async, "an `async def` handler takes Context; write `ctx: Context`"),
    (two_contexts, "'ctx' and 'again' both take the context; keep one"),
    (generator, "an async generator gives no output; return a list, or report with progress"),
    (plain_generator, "a generator gives no output; return a list, or report with progress"),
    (odd, "the parameter 'thing' has a type JSON has no values for, Odd (Unable to generate pydantic-core schema for"),
    (callback, "the parameter 'then' has a type JSON has no values for, collections.abc.Callable[[], None] (Cannot"),
    (unfinished, "the parameter 'thing' has a type JSON has no values for, Unfinished ("),
    (path, "the alias of 'name' is a path into other data; give it a name of its own"),
    (path_default, "the alias of 'name' is a path into other data; give it a name of its own"),
    (same_names, "two parameters have the same name on the wire; rename an alias"),
    (flaky, "its parameters have no JSON Schema (RuntimeError)"),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "message"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_field_14_a_handler_that_cannot_be_one_is_refused_where_it_is_declared(
    fn: Callable[..., Any], message: str
) -> None:
    with pytest.raises(RegistrationError) as refused:
        read_handler(fn, name="act")
    place = f"{fn.__qualname__} ({__file__}:{fn.__code__.co_firstlineno}): "
    assert str(refused.value).startswith(place + message)
    assert "errors.pydantic.dev" not in str(refused.value)


def test_the_place_is_the_functions_own_also_behind_wrappers() -> None:
    @functools.wraps(bare)
    def wrapper(*args: Any, **kwargs: Any) -> None: ...

    for fn in (wrapper, functools.partial(bare)):
        with pytest.raises(RegistrationError, match=rf"^bare \(.*:{bare.__code__.co_firstlineno}\): "):
            read_handler(fn, name="act")


def test_a_generator_that_a_decorator_makes_a_list_of_is_a_handler() -> None:
    @functools.wraps(plain_generator)
    def listed(name: str) -> list[str]:
        return list(plain_generator(name))

    assert read_handler(listed, name="act").input_schema["required"] == ["name"]
    for fn in (functools.partial(plain_generator), Counter().count, Counter()):
        with pytest.raises(RegistrationError, match="a generator gives no output"):
            read_handler(fn, name="act")


class Counter:
    def count(self):  # type: ignore[no-untyped-def]
        yield 1

    __call__ = count


def test_a_function_is_no_type_of_an_input() -> None:
    def drop(name: str) -> None: ...

    for function in (drop, print, functools.partial(drop)):
        with pytest.raises(RegistrationError, match=r"is a function; give \.input"):
            read_handler(odd, name="act", input_type=function)


def test_a_builtin_without_a_signature_is_refused() -> None:
    with pytest.raises(RegistrationError, match=r"its parameters cannot be read .*wrap it in a `def`"):
        read_handler(dict, name="act")


def test_a_return_annotation_alone_is_refused_likewise() -> None:
    with pytest.raises(RegistrationError, match=r"unresolved_return .*the return annotation 'OnlyForCheckers'"):
        return_annotation(unresolved_return)


# After .input(…) ------------------------------------------------------------------------------------------------


def no_parameter() -> None: ...
def one_too_many(query: Query, extra: str) -> None: ...
def takes(query: Any) -> None: ...


@pytest.mark.parametrize(
    ("fn", "declared", "message"),
    [
        (no_parameter, Query, "it has no parameter for its input; add one, such as `query: Query`"),
        (
            one_too_many,
            Query,
            "the input is one value, for 'query', and nothing would be passed for 'extra'; give it a",
        ),
        (takes, int, "the input type int is not an object on the wire, and agents give named arguments; use a model"),
        (takes, list[Query], "the input type list[tests.schema.test_bad_handlers.Query] is not an object on the wire"),
        (takes, Query | int, "is not an object on the wire"),
        (takes, Odd, "the input type Odd has no JSON Schema (Unable to generate pydantic-core schema for"),
        (takes, Unfinished, "the input type Unfinished has no JSON Schema ("),
        (takes, threading.Lock, "is a function; give .input(…) a type"),
    ],
)
def test_an_input_type_that_is_none(fn: Callable[..., Any], declared: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        read_handler(fn, name="act", input_type=declared)
    assert message in str(refused.value)
    assert f"{__file__}:{fn.__code__.co_firstlineno}" in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, 'the JSON Schema of an input has "type": "object" at its root, not None'),
        ({"type": "array"}, 'has "type": "object" at its root, not \'array\''),
        ({"type": "object", "properties": {"a": object()}}, "the JSON Schema is no JSON ("),
        ("nope", "the JSON Schema is no JSON ("),
    ],
)
def test_a_json_schema_that_is_no_input(schema: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        read_handler(takes, name="act", json_schema=schema)
    assert message in str(refused.value)


def test_a_json_schema_and_a_type_at_once() -> None:
    with pytest.raises(RegistrationError, match="give the input a type or a JSON Schema, not both"):
        read_handler(takes, name="act", input_type=Query, json_schema={"type": "object"})


def test_more_parameters_than_the_json_schema_fills() -> None:
    with pytest.raises(RegistrationError, match="nothing would be passed for 'extra'"):
        read_handler(one_too_many, name="act", json_schema={"type": "object"})
