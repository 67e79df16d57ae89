"""What docstrings say of parameters, in the three styles, and what stays in the description of the action."""

from __future__ import annotations

import functools
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import Doc, TypeAliasType, TypedDict

from tesseron_py import Context, action
from tesseron_py.schema import docstring
from tesseron_py.schema.docstring import Documentation, documentation_of, read


def google(text: str, count: int, ctx: Context, *, tag: str = "") -> str:
    """Add a todo.

    The list is kept sorted.

    Args:
        text (str): What to do,
            in a few words.
        count: How often: once, if it
            is left out.
        ctx: The call's context.
        tag (str, optional): One of:
            - home
            - work
        unknown: Nobody.

    Returns:
        str: The todo's id.

    Raises:
        ValueError: The text is empty.

    Example:
        >>> google("milk", 1)

    Note:
        Todos are never deleted.

        Not even done ones.
    """
    return text


def numpy(text: str, count: int, total: int, ctx: Context, tag: str = "") -> str:
    """
    Add a todo.

    The list is kept sorted.

    Parameters
    ----------
    text : str
        What to do,
        in a few words.
    count, total : int
        How often.
    ctx
        The call's context.

    Other Parameters
    ----------------
    tag : {'home', 'work'}, default: ''
        Where it belongs.

        Not checked.

    Returns
    -------
    str
        The todo's id.

    Raises
    ------
    ValueError
        The text is empty.

    See Also
    --------
    remove : The other way.

    Notes
    -----
    Todos are never deleted.

    Examples
    --------
    >>> numpy("milk", 1, 1)
    """
    return text


def sphinx(text: str, count: int, ctx: Context, tag: str = "") -> str:
    """Add a todo; see :func:`numpy`.

    The list is kept sorted.

    :param text: What to do,
        in a few words.
    :type text: str
    :param int count: How often.
    :arg ctx: The call's context.
    :keyword tag: Where it belongs.
    :returns: The todo's id.
    :rtype: str
    :raises ValueError: The text is empty.
    """
    return text


STYLES: list[tuple[Callable[..., Any], str, dict[str, str]]] = [
    (
        google,
        "Add a todo.\n\nThe list is kept sorted.\n\nReturns: The todo's id.\n\n"
        "Note: Todos are never deleted.\n\nNot even done ones.\n\nunknown: Nobody.",
        {
            "text": "What to do, in a few words.",
            "count": "How often: once, if it is left out.",
            "tag": "One of:\n- home\n- work",
        },
    ),
    (
        numpy,
        "Add a todo.\n\nThe list is kept sorted.\n\nReturns: The todo's id.\n\nNotes: Todos are never deleted.",
        {
            "text": "What to do, in a few words.",
            "count": "How often.",
            "total": "How often.",
            "tag": "Where it belongs.\n\nNot checked.",
        },
    ),
    (
        sphinx,
        "Add a todo; see :func:`numpy`.\n\nThe list is kept sorted.\n\nReturns: The todo's id.",
        {"text": "What to do, in a few words.", "count": "How often.", "tag": "Where it belongs."},
    ),
]


def descriptions(schema: Mapping[str, Any]) -> dict[str, str]:
    return {name: each["description"] for name, each in schema["properties"].items() if "description" in each}


def published(fn: Callable[..., Any], **options: Any) -> dict[str, str]:
    builder = action("act").input(options["input"]) if options else action("act")
    return descriptions(builder.handler(fn).input_schema)


@pytest.fixture
def no_griffe(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "griffe", None)
    docstring._parsers.cache_clear()
    yield
    docstring._parsers.cache_clear()


def worked_out(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        """Another text."""
        return fn(*args, **kwargs)

    return wrapper


# Handlers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fn", "description", "parameters"), STYLES, ids=["google", "numpy", "sphinx"])
def test_each_style_describes_the_parameters_and_leaves_the_rest(
    fn: Callable[..., Any], description: str, parameters: dict[str, str]
) -> None:
    # ctx is annotated with the context of an async handler; here only what is said matters.
    async def handler(*args: Any, **kwargs: Any) -> Any: ...

    declared = action("act").handler(functools.wraps(fn)(handler))
    assert declared.description == description
    assert descriptions(declared.input_schema) == parameters


@pytest.mark.parametrize(("fn", "description", "parameters"), STYLES, ids=["google", "numpy", "sphinx"])
@pytest.mark.usefixtures("no_griffe")
def test_without_the_parser_a_docstring_is_taken_whole(
    fn: Callable[..., Any], description: str, parameters: dict[str, str]
) -> None:
    found = documentation_of(fn)
    assert found.parameters == {}
    assert "The text is empty." in found.description
    assert found.description.startswith("Add a todo")


def test_what_the_author_says_at_the_parameter_wins() -> None:
    Name = TypeAliasType("Name", Annotated[str, Field(description="alias")])

    class Address(BaseModel):
        """Where one lives."""

        street: str

    def fn(
        a: Annotated[str, Field(description="field")],
        b: Annotated[str, Doc("doc")],
        c: Annotated[str, "text"],
        d: Name,
        e: Annotated[str, "text", Doc("doc"), Field(description="field"), Field(min_length=1)],
        f: Annotated[str, "two", "texts"],
        h: Annotated[str, Field(min_length=1)],
        i: Address,
        j: Annotated[Address, Field(description="field")],
        g: str = Field("", description="field"),
        k: str = Field(""),
        l: Optional[Annotated[int, Doc("doc")]] = None,  # noqa: E741, UP045  # the old spelling
        m: Annotated[int, Doc("doc")] | str | None = None,
        n: int = 3,
    ) -> None:
        """Do.

        Args:
            a: docstring
            b: docstring
            c: docstring
            d: docstring
            e: docstring
            f: docstring
            g: docstring
            h: docstring
            i: docstring
            j: docstring
            k: docstring
            l: docstring
            m: docstring
            n: docstring
        """

    assert published(fn) == {
        "a": "field",
        "b": "doc",
        "c": "text",
        "d": "alias",
        "e": "field",
        "f": "docstring",
        "g": "field",
        "h": "docstring",
        "i": "docstring",
        "j": "field",
        "k": "docstring",
        "l": "doc",
        "m": "docstring",
        "n": "docstring",
    }


def test_an_explicit_description_of_the_action_wins_and_parameters_keep_theirs() -> None:
    def fn(a: str) -> None:
        """Do.

        Args:
            a: An a.
        """

    declared = action("act").describe("Else.").handler(fn)
    assert declared.description == "Else."
    assert descriptions(declared.input_schema) == {"a": "An a."}


class Shop:
    """A shop.

    Args:
        name: Of the shop.
    """

    def __init__(self, name: str, size: int = 1) -> None:
        """Open it.

        Args:
            name: Another text.
            size: In square metres.
        """

    def sell(self, sku: str) -> None:
        """Sell.

        Args:
            sku: Which.
        """

    @classmethod
    def build(cls, sku: str) -> None:
        """Build.

        :param sku: Which.
        """

    async def __call__(self, sku: str, amount: int = 1) -> None:
        """Buy.

        Args:
            sku: Which.
            amount: How many.
        """


class Outlet(Shop):
    def sell(self, sku: str) -> None: ...


class Silent:
    def __call__(self, sku: str) -> None:
        """Say nothing.

        Args:
            sku: Which.
        """


@pytest.mark.parametrize(
    ("fn", "description", "parameters"),
    [
        (Shop("a").sell, "Sell.", {"sku": "Which."}),
        (Outlet("a").sell, "Sell.", {"sku": "Which."}),
        (Shop.build, "Build.", {"sku": "Which."}),
        (worked_out(Shop("a").sell), "Sell.", {"sku": "Which."}),
        (functools.partial(Shop("a").sell), "Sell.", {"sku": "Which."}),
        (functools.partial(worked_out(google), count=1, ctx=None), STYLES[0][1], {}),
        (Shop, "A shop.", {"name": "Of the shop.", "size": "In square metres."}),
        (Outlet, "Open it.", {"name": "Another text.", "size": "In square metres."}),
        (Shop("a"), "A shop.", {"sku": "Which.", "amount": "How many."}),
        (Silent(), "Say nothing.", {"sku": "Which."}),
    ],
)
def test_every_kind_of_handler_has_its_docstring(
    fn: Callable[..., Any], description: str, parameters: dict[str, str]
) -> None:
    declared = action("act").handler(fn)
    assert declared.description == description
    assert parameters.items() <= descriptions(declared.input_schema).items()


@dataclass
class Made:
    a: int


class Pair(NamedTuple):
    a: int


class Modelled(BaseModel):
    a: int


@pytest.mark.parametrize("cls", [Made, Pair, Modelled])
def test_a_docstring_that_nobody_wrote_says_nothing(cls: type) -> None:
    assert action("act").handler(cls).description == ""


# Types ------------------------------------------------------------------------------------------------------------


class Inner(BaseModel):
    """An inner one.

    Attributes:
        depth: How deep.
    """

    depth: int


class Query(BaseModel):
    """What to look for.

    Attributes:
        sku_code: The article.
        count: How many.
        inner: The nested one.
        plain: Without a docstring.
        nobody: Not there.
    """

    sku_code: str = Field(alias="skuCode")
    count: int = Field(1, description="field")
    inner: Inner
    inners: list[Inner] = []
    plain: dict[str, int] = {}


class Attributed(BaseModel):
    """What to look for."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    sku: str
    """The article,
    by its number."""


@dataclass
class Box:
    """A box.

    :param width: In metres.
    :param label: What stands on it.
    """

    width: int
    label: str = field(default="")


class Options(TypedDict):
    """Options.

    Parameters
    ----------
    depth : int
        How deep.
    """

    depth: int


class Silently(TypedDict):
    """
    Args:
        depth: How deep.
    """

    depth: int


def take(value: Any) -> None: ...


@pytest.mark.parametrize(
    ("declared", "description", "parameters"),
    [
        (
            Query,
            "What to look for.",
            {"skuCode": "The article.", "count": "field", "inner": "The nested one.", "plain": "Without a docstring."},
        ),
        (Attributed, "What to look for.", {"sku": "The article,\nby its number."}),
        (Box, "A box.", {"width": "In metres.", "label": "What stands on it."}),
        (Options, "Options.", {"depth": "How deep."}),
        (Silently, None, {"depth": "How deep."}),
    ],
)
def test_the_docstring_of_an_inputs_type_describes_its_fields(
    declared: Any, description: str | None, parameters: dict[str, str]
) -> None:
    schema = action("act").input(declared).handler(take).input_schema
    assert schema.get("description") == description
    assert descriptions(schema) == parameters


def test_nested_types_are_described_as_well() -> None:
    schema = action("act").input(Query).handler(take).input_schema
    for inner in (schema["properties"]["inner"], schema["properties"]["inners"]["items"]):
        assert descriptions(inner) == {"depth": "How deep."}
    assert schema["properties"]["inners"]["items"]["description"] == "An inner one."

    def fn(inner: Inner) -> None: ...

    assert action("act").handler(fn).input_schema["properties"]["inner"]["description"] == "An inner one."


def test_what_is_said_of_the_one_parameter_describes_the_input() -> None:
    class Plain(BaseModel):
        a: int

    def fn(value: Any) -> None:
        """Do.

        Args:
            value: What to look for.
        """

    assert action("act").input(Plain).handler(fn).input_schema["description"] == "What to look for."
    assert action("act").input(Inner).handler(fn).input_schema["description"] == "An inner one."


# Texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("Note: careful. Parameters are good.\n\nExample: do it.", None, {}),
        ("Add.\n\nReturns:\n    The sum.", None, {}),  # a section of parameters is what makes it worth reading
        ("Add.\nArgs:\n    a: An a.\nReturns:\n    The sum: with tax.",
         "Add.\n\nReturns: The sum: with tax.", {"a": "An a."}),
        ("Args:\n    a: An a.", "", {"a": "An a."}),
        ("Add.\n\nArgs:\n    *a: An a.\n    **b: A b.", "Add.", {"a": "An a.", "b": "A b."}),
        ("Add.\n\nArgs:\n    a: See::\n\n            x = 1\n\n    b: A b.",
         "Add.", {"a": "See::\n\n    x = 1", "b": "A b."}),
        ("Add.\n\nArgs:\n    a: An a.\n\nReturns:\n    int\n", "Add.\n\nReturns: int", {"a": "An a."}),
        ("Add.\n\nArgs:\n    a: An a.\n\nReturns:\n    list[int] | None: All.",
         "Add.\n\nReturns: All.", {"a": "An a."}),
        ("Add.\n\nArgs:\n    a: An a.\n\nTodo:\n    More.", "Add.", {"a": "An a."}),
        ("Add.\n\nArgs:\n    a: An a.\n\nWarning: Hot\n    Very.", None, {"a": "An a."}),
        ("Add.\n\nKeyword Args:\n    a: An a.", "Add.", {"a": "An a."}),
        ("Add.\n\nArgs:\n    a:\n    b: A b.", "Add.", {"b": "A b."}),
        ("Add.\n\nParameters\n----------\na\n    An a.\n\nReturns\n-------\nint\n", "Add.", {"a": "An a."}),
        ("Add.\n\nParameters\n----------\n\nReturns\n-------\nint\n", None, {}),
        ("Add.\n\nDeprecated\n----------\n1.0\n    Use more.\n\nParameters\n----------\na\n    An a.",
         "Add.\n\nDeprecated since 1.0: Use more.", {"a": "An a."}),
        ("Add.\n\nArgs:\n  name\n    : foo\n   - bar\nArgs:", None, {}),
        ("Add.\n\nArgs:\nno indent: here", None, {}),
        ("Add :param-like: words.", None, {}),
        ("Add.\n\nArgs:\n    a : An a.\n    b\u00a0: A b.\n    c (int: A c.", "Add.",
         {"a": "An a.", "b": "A b.", "c": "A c."}),
        ("Add.\n\n:param a: An a.\n\nIt loses all.\n\n:param b: A b.\n", "Add.\n\nIt loses all.",
         {"a": "An a.", "b": "A b."}),
        ("Add.\n\n:param a: An a,\nand more.\n\n    Even more.\n:param b: A b.\n\nIt loses all.\n",
         "Add.\n\nIt loses all.", {"a": "An a, and more.\n\n    Even more.", "b": "A b."}),
        ("Add.\n\n:param a An a.\n:param : None.\n:param b: A b.\n:return\n",
         "Add.\n\n:param a An a.\n:param : None.\n\n:return", {"b": "A b."}),
        (":param a: An a.\n:type a: int\n:returns: A sum.", "Returns: A sum.", {"a": "An a."}),
    ],
)  # fmt: skip
def test_texts(text: str, description: str | None, parameters: dict[str, str]) -> None:
    found = read(text)
    if description is None and parameters:
        assert found.parameters == parameters
    else:
        assert found == Documentation(text.strip() if description is None else description, parameters)


pieces = st.sampled_from(
    ["Args:", "Parameters", "----------", ":param a: x", ":param", "    a: b", "  a (int", "Returns:", "", "    ",
     "a : int",
     "Note:", "::", "    - x", ":type a:", ":returns: y", "Raises:", "Examples", ">>> 1", "\\*a", "    **k: v", "\t"]
)  # fmt: skip


@given(st.lists(pieces | st.text(max_size=8), max_size=12).map("\n".join))
def test_no_docstring_breaks_anything(text: str) -> None:
    found = read(text)
    assert all(isinstance(each, str) and each for each in found.parameters.values())
    if not found.parameters:
        assert found.description == text.strip()


def test_nothing_is_logged_of_a_docstring(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in (
            "Add.\n\nArgs:\n    nobody (int): x\n    odd\n",
            "Add.\n\n:param nobody: x\n:return: y\n:raises: z\n",
        ):
            read(text)
        read("Add.\n\nParameters\n----------\nnobody\n    x\n\nReturns\n-------\n")
    assert caplog.records == []


def test_a_parser_that_fails_is_as_if_there_were_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(text: str) -> list[Any]:
        raise IndexError

    monkeypatch.setattr(docstring, "_parsers", lambda: {"google": failing})
    assert read("Add.\n\nArgs:\n    a: An a.") == Documentation("Add.\n\nArgs:\n    a: An a.")


LIGHT = '''
import sys
from tesseron_py import Tesseron
app = Tesseron("shop")
@app.action
def add(a: int) -> int:
    """Add. Returns: the sum, Args: no."""
    return a
assert "griffe" not in sys.modules
@app.action
def more(a: int) -> int:
    """More.

    Args:
        a: An a.
    """
    return a
assert "griffe" in sys.modules
'''


def test_the_parser_is_imported_for_a_docstring_with_parameters_alone() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True, timeout=60)
