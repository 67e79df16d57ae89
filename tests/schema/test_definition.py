"""The first line of a function as text."""

from __future__ import annotations

import ast
import inspect
import linecache
from typing import Any, Generic, Literal, TypeVar

import pytest

from tesseron_py.schema.definition import Definition, Written, definition_of, spelled

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def made(source: str, shown: str | None = None) -> Any:
    """A function, and what its file says of it."""
    scope: dict[str, Any] = {}
    name = f"{abs(hash((source, shown)))}.py"
    text = source if shown is None else shown
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(source, name, "exec", dont_inherit=True), scope)
    return scope["fn"]


def line(fn: Any) -> str:
    return str(definition_of(fn, fn, is_async=inspect.iscoroutinefunction(fn)))


@pytest.mark.parametrize(
    "source",
    [
        "def fn()",
        "def fn() -> None",
        "async def fn(a, b: int, /, c=1, *, d: str = 'x', **e: int) -> list[str]",
        "def fn(a: int, /)",
        "def fn(*a: int, b: int = 1)",
        "def fn(a: 'int | None' = None) -> 'int'",
        "def fn(a: int = 1 + 1, b: float = -0.5)",
    ],
)
def test_it_is_as_the_source_has_it(source: str) -> None:
    assert line(made(f"import functools\n\n{source}: ...\n")) == source.replace("'int | None'", "int | None").replace(
        "'int'", "int"
    )


def test_a_decorated_function_is_found_by_its_first_decorator() -> None:
    source = "def same(fn): return fn\n@same\n@same\ndef fn(a: int = 1 + 1): ...\n"
    assert line(made(source)) == "def fn(a: int = 1 + 1)"


@pytest.mark.parametrize("shown", ["def fn(other): ...", "def (", "x = 1\n\n\ndef fn(a): ...", "", "\0"])
def test_a_source_that_is_another_by_now_is_not_used(shown: str) -> None:
    assert line(made("def fn(a: int = 1 + 1): ...", shown)) == "def fn(a: int = 2)"


def test_what_has_no_signature_or_name_has_no_definition() -> None:
    assert definition_of(dict, dict, is_async=False) is None

    class Nameless:
        def __call__(self, a: int) -> None: ...

    nameless = Nameless()
    assert definition_of(nameless, nameless, is_async=False) is None


def test_an_edit_of_what_is_gone_does_nothing() -> None:
    definition = Definition("fn", False, [Written("a", annotation="int")])
    definition.annotate("b", "int")
    definition.give_default("b", "1")
    definition.unpack("b")
    definition.drop("b")
    assert str(definition) == "def fn(a: int)"


@pytest.mark.parametrize(
    ("source", "mended"),
    [
        ("def fn(a: int = 1, /, *rest: int): ...", "def fn(a: int = 1, *, rest: list[int])"),
        ("def fn(a: int, /, *rest: int): ...", "def fn(a: int, rest: list[int])"),
        ("def fn(a: int, *rest: int, b: int = 1): ...", "def fn(a: int, rest: list[int], b: int = 1)"),
    ],
)
def test_what_takes_the_place_of_stars_can_be_written(source: str, mended: str) -> None:
    definition = definition_of(made(source), made(source), is_async=False)
    assert definition is not None
    definition.unpack("rest")
    definition.give_names()
    assert str(definition) == mended
    ast.parse(f"{mended}: ...")


def test_keywords_of_a_typed_dict_are_one_value_without_their_source_too() -> None:
    definition = Definition("fn", False, [Written("rest", inspect.Parameter.VAR_KEYWORD, "*Options")])
    definition.unpack("rest")
    assert str(definition) == "def fn(*, rest: Options)"


def test_values_without_a_spelling_are_left_out() -> None:
    def fn(a=object(), b=len, c=line, d="x"): ...  # type: ignore[no-untyped-def]  # noqa: B008  # never called

    assert str(definition_of(fn, made("def fn(): ..."), is_async=False)) == "def fn(a=…, b=len, c=line, d='x')"


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"),
        (None, "None"),
        (type(None), "None"),
        (Definition, "Definition"),
        (dict[str, Definition], "dict[str, Definition]"),
        (int | None, "int | None"),
        (Literal["-a", "~b"], "Literal['-a', '~b']"),
        (list[T], "list[T]"),
        (T_co, "T_co"),
        (Generic, "Generic"),
        ("'quoted'", "quoted"),
        (inspect.Parameter.empty, ""),
    ],
)
def test_types_are_spelled_without_their_modules(annotation: Any, text: str) -> None:
    assert spelled(annotation) == text
