"""What cannot be an action's handler, and what its author reads."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import linecache
import threading
from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, Optional, TypeVar

import pytest
from pydantic import AliasPath, BaseModel, Field, RootModel
from pydantic_core import core_schema
from typing_extensions import TypedDict, Unpack

from tesseron_py.errors import RegistrationError
from tesseron_py.schema.handler import place_of, return_annotation
from tesseron_py.schema.signature import read_handler

if TYPE_CHECKING:
    from collections import OrderedDict as OnlyForCheckers

    from tesseron_py import Context, SyncContext


class Query(BaseModel):
    sku: str


class Settings(TypedDict):
    depth: int


T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)


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
        " is `context: Context`",
    ),
    (positional, "the parameter 'name' is positional-only, and agents give names; remove the `/`"),
    (
        unresolved,
        "the annotation of 'name', 'OnlyForCheckers' cannot be resolved (name 'OnlyForCheckers' is not defined); `from"
        " collections import OrderedDict as OnlyForCheckers` (line 24) is under `if TYPE_CHECKING:`, so nothing runs"
        " it; move it out of there",
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
    (unfinished, "the parameter 'thing': the annotation of Unfinished.other, 'Nowhere' cannot be resolved ("),
    (path, "the alias of 'name' is a path into other data; give it a name of its own"),
    (path_default, "the alias of 'name' is a path into other data; give it a name of its own"),
    (same_names, "two parameters have the same name on the wire, 'x': 'a' and 'x'; rename an alias"),
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
        (
            takes,
            Unfinished,
            "the input type Unfinished cannot be used: the annotation of Unfinished.other, 'Nowhere' cannot be",
        ),
        (takes, threading.RLock, "is a function; give .input(…) a type"),
    ],
)
def test_an_input_type_that_is_none(fn: Callable[..., Any], declared: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as refused:
        read_handler(fn, name="act", input_type=declared)
    assert message in str(refused.value)
    assert f"{__file__}:{fn.__code__.co_firstlineno}" in str(refused.value)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


@pytest.mark.parametrize(
    "declared",
    [
        Cat | Dog,
        Optional[Cat | Dog],  # noqa: UP045  # typing's own union is another object than that of `|`
        Annotated[Cat | Dog, Field(discriminator="kind")],
        RootModel[Cat | Dog],
        Cat | dict[str, int],
    ],
)
def test_several_objects_are_no_input_and_told_as_such(declared: Any) -> None:
    with pytest.raises(RegistrationError) as refused:
        read_handler(takes, name="act", input_type=declared)
    said = str(refused.value)
    assert (
        "is one of several objects, and an input is one, whose names are the arguments; give .input(…) a model that has"
        " the union as a field, write an action for each, or leave out .input(…) and annotate the parameter\n" in said
    )
    assert "FieldInfo" not in said
    assert "not an object" not in said
    assert "write:  def takes(query: " in said


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


# The signature, found and corrected ------------------------------------------------------------------------------


def refused(fn: Callable[..., Any], **options: Any) -> list[str]:
    """The lines of the refusal, the place left out."""
    with pytest.raises(RegistrationError) as raised:
        read_handler(fn, name="act", **options)
    assert raised.value.args[0].startswith(place_of(fn) + ": ")
    return str(raised.value).removeprefix(place_of(fn) + ": ").splitlines()


def found(*lines: str) -> str:
    """What is below `  found:  `."""
    return "\n".join(lines).partition("  found:  ")[2].partition("\n  write:  ")[0]


def corrected(fn: Callable[..., Any], **options: Any) -> str:
    return "\n".join(refused(fn, **options)).partition("\n  write:  ")[2]


def remove(id: int, *rest: str, ctx, force=False) -> None: ...  # type: ignore[no-untyped-def]


def test_every_fault_is_said_at_once_with_the_corrected_signature() -> None:
    assert refused(remove) == [
        "it cannot be a handler as it stands:",
        "  - *rest has no names an agent could give; name every parameter, or take the input as one value with"
        " .input(…)",
        "  - the parameter 'force' has no annotation; write what it takes, such as `force: bool`",
        "  found:  def remove(id: int, *rest: str, ctx, force=False) -> None",
        "  write:  def remove(id: int, rest: list[str], ctx: SyncContext, force: bool = False) -> None",
    ]


def starred(a: int = 1, *args, b: int, **more: Any) -> None: ...  # type: ignore[no-untyped-def]
def options(a: int, **options: Unpack[Settings]) -> None: ...
def numbers(a: int, **numbers: int) -> None: ...
async def slashed(id, /, ctx: SyncContext): ...  # type: ignore[no-untyped-def]
def guessed(a=1, b=None, c=[1], d=(1.5,), e={}, f=b"", g=object()): ...  # type: ignore[no-untyped-def]  # noqa: B006, B008  # never called
def guessed_too(a=[], b={"x", 1}, c=[object()], d=True): ...  # type: ignore[no-untyped-def]  # noqa: B006, B008  # never called
def misspelt(query: Quary, how: list[strr]) -> Quary: ...  # noqa: F821  # the case
def classes(a: type[int], b: Annotated[list[type], "note"]) -> None: ...
def qualified(a: Final[int], b: NotRequired[str], c: dataclasses.InitVar[bool], d: Final) -> None: ...
def free(a: T, b: list[T], c: dict[str, Bound]) -> T: ...
def near(a: range, b: Iterator[Query], c: bytearray, d: ChainMap[str, int], e: Iterator, f: ChainMap) -> None: ...  # type: ignore[type-arg]
def called(a: Callable[[], None], b: Callable[[], None] | None = None, c: Callable[[], None] = print) -> None: ...
def yields(a: int) -> Iterator[Query]:
    yield Query(sku="")


async def yields_later(a: int) -> AsyncIterator[int]:
    yield a


def contexts(context, ctx: SyncContext, contexts) -> None: ...  # type: ignore[no-untyped-def]
def no_contexts(context: int, ctx_again) -> None: ...  # type: ignore[no-untyped-def]


CORRECTED: list[tuple[Callable[..., Any], str]] = [
    (starred, "def starred(a: int = 1, *, b: int) -> None"),
    (options, "def options(a: int, *, options: Settings) -> None"),
    (numbers, "def numbers(a: int, *, numbers: dict[str, int]) -> None"),
    (slashed, "async def slashed(id: str, ctx: Context)"),
    (
        guessed,
        "def guessed(\n"
        "              a: int = 1,\n"
        "              b: str | None = None,\n"
        "              c: list[int] = [1],\n"
        "              d: tuple[float, ...] = (1.5,),\n"
        "              e: dict[str, Any] = {},\n"
        "              f: bytes = b'',\n"
        "              g: str = object(),\n"
        "          )",
    ),
    (
        guessed_too,
        "def guessed_too(\n"
        "              a: list[str] = [],\n"
        "              b: set[str] = {'x', 1},\n"
        "              c: list[str] = [object()],\n"
        "              d: bool = True,\n"
        "          )",
    ),
    (misspelt, "def misspelt(query: Query, how: list[str]) -> Query"),
    (classes, "def classes(a: str, b: str) -> None"),
    (qualified, "def qualified(a: int, b: str, c: bool, d: str) -> None"),
    (free, "def free(a: Any, b: list[Any], c: dict[str, Bound]) -> T"),
    (
        near,
        "def near(\n"
        "              a: list[int],\n"
        "              b: list[Query],\n"
        "              c: bytes,\n"
        "              d: dict[str, int],\n"
        "              e: list[str],\n"
        "              f: dict[str, Any],\n"
        "          ) -> None",
    ),
    (called, "def called(a: …) -> None"),
    (yields, "def yields(a: int) -> list[Query]"),
    (yields_later, "async def yields_later(a: int) -> list[int]"),
    (contexts, "def contexts(context: str, ctx: SyncContext, contexts: str) -> None"),
    (no_contexts, "def no_contexts(context: int, ctx_again: SyncContext) -> None"),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "line"), CORRECTED, ids=[fn.__name__ for fn, _ in CORRECTED])
def test_the_corrected_signature(fn: Callable[..., Any], line: str) -> None:
    assert corrected(fn) == line


def long(  # that they are many is the case
    a: int,
    b: int,
    c: int,
    d: int,
    e: int,
    f,
    g: int,
    h: int,
    i: int,
    j: int,
    k: int,
    o: int,
    *,
    m: int,
    n: int,  # type: ignore[no-untyped-def]
) -> None: ...


def test_of_many_parameters_only_those_with_a_fault_are_shown() -> None:
    assert refused(long)[-2:] == ["  found:  def long(…, f, …) -> None", "  write:  def long(…, f: str, …) -> None"]


def test_long_texts_are_cut() -> None:
    def fn(a: str = "x" * 3 + "y" + "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", *b) -> None: ...  # type: ignore[no-untyped-def]

    assert found(*refused(fn)) == "def fn(a: str = 'x' * 3 + 'y' + 'zzzzzzzzzzzzzzzzzzzzzz…, *b) -> None"


def test_a_lambda_is_written_as_a_function() -> None:
    fn = lambda x, y=1, *, z=2: x  # noqa: E731  # the case
    assert refused(fn)[-2:] == [
        "  found:  lambda x, y=1, *, z=2: …",
        "  write:  def handler(x: str, y: int = 1, *, z: int = 2)",
    ]


def test_a_function_without_source_is_shown_as_python_has_it() -> None:
    scope: dict[str, Any] = {"Query": Query, "Literal": Literal}
    exec(
        "def fn(a: Query, b: Literal['x'] = 'x', c: 'list[Query]' = (), *d, e: None = None) -> Query | None: ...", scope
    )
    assert found(*refused(scope["fn"])) == (
        "def fn(a: Query, b: Literal['x'] = 'x', c: list[Query] = (), *d, e: None = None) -> Query | None"
    )
    assert refused(print)[-2] == "  found:  def print(*args, sep=' ', end='\\n', file=None, flush=False)"
    assert refused(len)[-1] == "  write:  def len(obj: str)"


class Shop:
    def remove(self, name) -> None: ...  # type: ignore[no-untyped-def]
    @classmethod
    def build(cls, name) -> None: ...  # type: ignore[no-untyped-def]

    plain = functools.singledispatchmethod(lambda self, name: name)


def test_a_method_is_shown_with_self() -> None:
    assert corrected(Shop().remove) == "def remove(self, name: str) -> None"
    assert corrected(Shop.build) == "def build(cls, name: str) -> None"


def test_a_method_that_is_not_bound_is_told_how_to_be() -> None:
    lines = refused(Shop.remove)
    assert (
        lines[1]
        == "  - 'self' is not bound to anything; declare the action with the bound method: app.action(Shop().remove)"
    )
    assert lines[-1] == "  write:  def remove(name: str) -> None"
    assert "app.action(Shop.build)" in "\n".join(refused(vars(Shop)["build"].__func__))


def test_a_decorator_without_wraps_is_told_of_it() -> None:
    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any: ...

        return wrapper

    lines = refused(decorated(remove))
    assert (
        lines[3] == "  - if it is a decorator's wrapper, give it @functools.wraps(fn), and it has the parameters of fn"
    )
    assert lines[-1] == "  found:  def wrapper(*args: Any, **kwargs: Any) -> Any"


def test_an_async_wrapper_around_a_def_with_its_context() -> None:
    def fn(ctx: SyncContext) -> None: ...

    @functools.wraps(fn)
    async def wrapper(*args: Any) -> None: ...

    assert refused(wrapper)[0].startswith(
        "an `async def` wraps it, so it runs in the event loop, where nothing may wait"
    )
    assert corrected(wrapper) == "async def fn(ctx: Context) -> None"


def test_what_gives_no_output_by_its_kind() -> None:
    @contextlib.contextmanager
    def entered(a: int) -> Iterator[int]:
        yield a

    @contextlib.asynccontextmanager
    async def entered_later(a: int) -> AsyncIterator[int]:
        yield a

    for fn in (entered, entered_later):
        assert refused(fn)[0] == (
            "a context manager gives no output; write a function that enters it and returns what it works out"
        )

    @functools.singledispatch
    def chosen(a: int) -> None: ...

    for fn in (chosen, Shop().plain):
        assert refused(fn)[0].startswith("a single-dispatch function chooses by its first positional argument")


def test_input_of_one_value_is_corrected_too() -> None:
    assert corrected(no_parameter, input_type=Query) == "def no_parameter(query: Query) -> None"
    assert corrected(one_too_many, input_type=Query) == (
        "def one_too_many(query: Query, extra: str | None = None) -> None"
    )
    assert corrected(takes, input_type=list[Query]) == "def takes(query: list[Query]) -> None"
    assert (
        corrected(remove, input_type=Query)
        == "def remove(id: Query, rest: list[str], ctx: SyncContext, force=False) -> None"
    )
    assert corrected(stars, json_schema={"type": "object"}) == "def stars(name: str, rest: list[str]) -> None"


def test_pydantics_advice_for_its_own_models_is_left_out() -> None:
    assert "arbitrary_types_allowed" not in "\n".join(refused(odd) + refused(takes, input_type=Odd))


def test_a_name_under_type_checking_is_named_with_its_line() -> None:
    scope: dict[str, Any] = {"__name__": "under"}
    source = (
        "import typing\nfrom typing import TYPE_CHECKING\nif typing.TYPE_CHECKING:\n    import decimal as dec\n"
        "    class Only: ...\n    Alias = int\n    from a.b import (C, D)\n    import os.path\n"
        "def fn(a: 'dec.Decimal', b: 'Only', c: 'Alias', d: 'D', e: 'os.PathLike', f: 'Nothing'): ...\n"
    )
    linecache.cache["under.py"] = (len(source), None, source.splitlines(True), "under.py")
    exec(compile(source, "under.py", "exec"), scope)
    lines = "\n".join(refused(scope["fn"]))
    for hidden in (
        "`import decimal as dec` (line 4)", "`class Only` (line 5)", "`Alias = …` (line 6)",
        "`from a.b import D` (line 7)", "`import os.path` (line 8)",
    ):  # fmt: skip
        assert f"; {hidden} is under `if TYPE_CHECKING:`, so nothing runs it; move it out of there" in lines
    assert "'Nothing' cannot be resolved (name 'Nothing' is not defined); define or import it" in lines
