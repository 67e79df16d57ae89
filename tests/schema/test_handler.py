"""Reading a callable: its parameters, its context, whether it is async."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest

from tesseron_py.context import Context as TheContext
from tesseron_py.context import SyncContext as TheSyncContext
from tesseron_py.errors import RegistrationError
from tesseron_py.schema.handler import Handler, Unresolved, place_of, read, return_annotation
from tesseron_py.unset import UNSET

if TYPE_CHECKING:
    import tesseron_py.context
    from tesseron_py import Context, SyncContext


def names(handler: Handler) -> list[str]:
    return [parameter.name for parameter in handler.parameters]


def passed_on(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


def passed_on_later(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


class Narrower(TheContext):
    pass


async def first(ctx: Context, text: str) -> str:
    return text


async def last(text: str, ctx: Optional[Context] = None) -> str:  # noqa: UP045  # the old spelling is the case
    return text


async def annotated(text: str, *, context: Annotated[Context, "note"]) -> str:
    return text


async def spelled_out(text: str, ctx: tesseron_py.context.Context) -> str:
    return text


async def unannotated(text: str, ctx) -> str:  # type: ignore[no-untyped-def]
    return text


def in_thread(text: str, ctx: SyncContext) -> str:
    return text


def in_thread_unannotated(ctx, text: str) -> str:  # type: ignore[no-untyped-def]
    return text


def either(ctx: Context | SyncContext, text: str) -> str:
    return text


async def absent(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("fn", "context"),
    [
        (first, "ctx"),
        (last, "ctx"),
        (annotated, "context"),
        (spelled_out, "ctx"),
        (unannotated, "ctx"),
        (in_thread, "ctx"),
        (in_thread_unannotated, "ctx"),
        (either, "ctx"),
        (absent, None),
    ],
)
def test_field_11_the_context_is_found_wherever_it_stands(fn: Callable[..., Any], context: str | None) -> None:
    handler = read(fn)
    assert handler.context == context
    assert names(handler) == ["text"]
    assert handler.parameters[0].annotation is str
    assert handler.returns is str
    assert handler.is_async is inspect.iscoroutinefunction(fn)


def test_a_subclass_of_the_context_is_the_context() -> None:
    async def fn(mine: Narrower) -> None: ...

    assert read(fn).context == "mine"


def test_a_parameter_named_ctx_with_another_type_is_input() -> None:
    def fn(ctx: int) -> None: ...

    handler = read(fn)
    assert (names(handler), handler.context) == (["ctx"], None)


class Shop:
    async def remove(self, name: str) -> str:
        return name

    @classmethod
    def build(cls, name: str) -> str:
        return name

    @staticmethod
    def sell(name: str) -> str:
        return name

    async def __call__(self, name: str, ctx: Context) -> str:
        return name


@pytest.mark.parametrize(
    ("fn", "is_async"),
    [(Shop().remove, True), (Shop.build, False), (Shop.sell, False), (Shop().sell, False), (Shop(), True)],
)
def test_self_is_no_parameter(fn: Callable[..., Any], is_async: bool) -> None:
    handler = read(fn)
    assert names(handler) == ["name"]
    assert handler.is_async is is_async


def test_what_a_partial_has_bound_is_no_parameter() -> None:
    async def move(item: str, source: str, target: str, speed: int = 1) -> str:
        return item

    handler = read(functools.partial(functools.partial(move, "cup"), target="shelf"))
    assert names(handler) == ["source", "speed"]
    assert handler.is_async


def test_field_13_a_wrapped_handler_keeps_its_signature() -> None:
    handler = read(passed_on(passed_on(first)))
    assert (names(handler), handler.context, handler.returns) == (["text"], "ctx", str)


def test_field_86_a_plain_wrapper_around_an_async_handler_is_async() -> None:
    assert read(passed_on(first)).is_async
    assert read(passed_on(functools.partial(first))).is_async
    assert not read(passed_on(in_thread)).is_async


def test_an_async_wrapper_around_a_plain_function_gives_an_awaitable_too() -> None:
    def work(text: str) -> str:
        return text

    assert read(passed_on_later(work)).is_async


def test_a_class_is_called_like_a_function() -> None:
    class Order:
        def __init__(self, item: str, count: int = 1) -> None:
            self.item = item

    handler = read(Order)
    assert (names(handler), handler.is_async, handler.returns) == (["item", "count"], False, Order)


def test_a_wrapper_that_names_itself_ends() -> None:
    def fn(text: str) -> str:
        return text

    fn.__wrapped__ = fn  # type: ignore[attr-defined]
    with pytest.raises(RegistrationError, match="cannot be read"):
        read(fn)


def test_postponed_annotations_see_what_the_function_closes_over() -> None:
    class Local:
        pass

    def fn(item: Local) -> list[Local]:
        return [Local()]

    handler = read(fn)
    assert handler.parameters[0].annotation is Local
    assert handler.returns == list[Local]


def test_a_name_that_is_not_assigned_yet_is_unresolved() -> None:
    def fn(item: Later) -> str:
        return str(Later)

    parameter = read(fn).parameters[0]
    assert isinstance(parameter.annotation, Unresolved)
    assert "name 'Later' is not defined" in parameter.annotation.mend()
    Later = str


def test_an_annotation_may_be_any_broken_expression() -> None:
    def fn(item: str) -> None: ...

    for text in ("str[", "1 / 0", "raise", "str.nothing", "list[Nowhere]"):
        fn.__annotations__["item"] = text
        found = read(fn).parameters[0].annotation
        assert isinstance(found, Unresolved)
        assert found.reason
    fn.__annotations__["item"] = list["Nowhere"]  # type: ignore[name-defined]  # noqa: F821
    assert isinstance(read(fn).parameters[0].annotation, Unresolved)


def test_an_error_without_a_text_is_named_by_its_class() -> None:
    class Broken:
        @property
        def part(self) -> Any:
            raise LookupError

    broken = Broken()

    def fn(item: broken.part) -> Any:
        return broken

    found = read(fn).parameters[0].annotation
    assert isinstance(found, Unresolved)
    assert found.reason == "LookupError"


@pytest.mark.parametrize("fn", [first, passed_on(first), functools.partial(first)])
def test_the_return_annotation_alone(fn: Callable[..., Any]) -> None:
    assert return_annotation(fn) is str


def test_without_a_return_annotation_there_is_none() -> None:
    def fn():  # type: ignore[no-untyped-def]
        pass

    assert return_annotation(fn) is UNSET
    assert return_annotation(dict) is UNSET  # a builtin whose signature cannot be read


def test_where_a_function_stands() -> None:
    line = first.__code__.co_firstlineno
    assert place_of(passed_on(first)) == f"first ({__file__}:{line})"
    assert place_of(Shop()).startswith("Shop.__call__ (")
    assert place_of(len) == "len"


def test_the_names_of_both_contexts_are_the_modules_own() -> None:
    # A module that has a `Context` of its own means that one.
    scope: dict[str, Any] = {"Context": int}
    exec("def fn(ctx: 'Context', other: 'SyncContext'): ...", scope)
    handler = read(scope["fn"])
    assert (names(handler), handler.context) == (["ctx"], "other")
    assert handler.parameters[0].annotation is int
    assert TheSyncContext.__name__ == "SyncContext"


def test_a_signature_may_name_parameters_that_nothing_else_does() -> None:
    class Odd:
        """Its class is not where its name says."""

    def fn(item: Odd.Inner, other: int) -> None: ...  # type: ignore[name-defined]

    fn.__qualname__ = "Nowhere.at.all.fn"
    found = read(fn).parameters
    assert isinstance(found[0].annotation, Unresolved)
    assert found[1].annotation is int
