"""A function's `def` line as text, for messages: as its source has it, and corrected.

Read only when something is wrong with a function, so it may look into the source.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from .annotations import unquoted

_WIDTH: Final = 100  # longer ones are wrapped
_DEFAULT: Final = 40  # characters of a default that are shown
_ANNOTATION: Final = 120
_MANY: Final = 12  # with more parameters only the faulty ones are shown
_INDENT: Final = " " * 10  # as deep as `  found:  `
_MODULES: Final = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])|<locals>\.")

_VARIANCE: Final = re.compile(r"(?<![\w'\"])[~+-](?=[A-Za-z_])")  # before the name of a type variable
_CLASS: Final = re.compile(r"<class '(\w+)'>")
_GENERATOR: Final = re.compile(r"(?:\w+\.)*(?:Async)?(?:Iterator|Iterable|Generator)\[.*\]", re.DOTALL)

_POSITIONAL_ONLY: Final = inspect.Parameter.POSITIONAL_ONLY
_PLAIN: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_STARS: Final = inspect.Parameter.VAR_POSITIONAL
_KEYWORD_ONLY: Final = inspect.Parameter.KEYWORD_ONLY


@dataclass
class Written:
    """One parameter as it is written."""

    name: str
    kind: Any = _PLAIN
    annotation: str | None = None
    default: str | None = None

    def replace_word(self, old: str, new: str) -> None:
        self.annotation = re.sub(rf"\b{re.escape(old)}\b", new, self.annotation or "")

    def __str__(self) -> str:
        stars = {_STARS: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(self.kind, "")
        text = stars + self.name
        if self.annotation is not None:
            text += f": {_shortened(self.annotation, _ANNOTATION)}"
        if self.default is not None:
            default = _shortened(self.default, _DEFAULT)
            text += f" = {default}" if self.annotation is not None else f"={default}"
        return text


@dataclass
class Definition:
    """The first line of a function."""

    name: str
    is_async: bool
    parameters: list[Written]
    returns: str | None = None
    faulty: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> Written | None:
        return next((each for each in self.parameters if each.name == name), None)

    def corrected(self, edits: list[Callable[[Definition], None]]) -> Definition:
        changed = copy.deepcopy(self)
        if edits and changed.name == "<lambda>":
            changed.name = "handler"  # a lambda cannot be annotated
        for edit in edits:
            edit(changed)
        return changed

    # Edits

    def drop(self, name: str) -> None:
        self.parameters = [each for each in self.parameters if each.name != name]

    def add(self, name: str, annotation: str) -> None:
        self.parameters.insert(0, Written(name, annotation=annotation))
        self.faulty.add(name)

    def annotate(self, name: str, annotation: str) -> None:
        if (parameter := self[name]) is not None:
            parameter.annotation = annotation

    def give_default(self, name: str, default: str) -> None:
        if (parameter := self[name]) is not None:
            parameter.default = default

    def give_names(self) -> None:
        """No parameter is positional-only any more."""
        for each in self.parameters:
            if each.kind is _POSITIONAL_ONLY:
                each.kind = _PLAIN

    def return_annotation(self, annotation: str) -> None:
        self.returns = annotation

    def return_list(self) -> None:
        """Instead of a generator."""
        items = _arguments_of(self.returns or "") if _GENERATOR.fullmatch(self.returns or "") else []
        self.returns = f"list[{items[0]}]" if items else "list[…]"

    def unpack(self, name: str) -> None:
        """`*rest: str` becomes a list, `**rest: str` a dict; without an annotation it goes."""
        parameter = self[name]
        if parameter is None:
            return
        if parameter.annotation is None or parameter.annotation.startswith(("P.", "Any", "object")):
            self.drop(name)
        elif parameter.kind is _STARS:
            parameter.annotation = _list_of(parameter.annotation)
        elif (options := re.fullmatch(r"(?:\w+\.)?Unpack\[(.+)\]", parameter.annotation)) is not None:
            parameter.annotation = options[1]
        elif parameter.annotation.startswith("*"):  # what `Unpack[…]` is where there is no source
            parameter.annotation = parameter.annotation[1:]
        else:
            parameter.annotation = f"dict[str, {parameter.annotation}]"
        was_stars = parameter.kind is _STARS
        parameter.kind = _KEYWORD_ONLY
        if was_stars and self._may_be_plain():
            for each in self.parameters:
                if each.kind is _KEYWORD_ONLY:
                    each.kind = _PLAIN

    def _may_be_plain(self) -> bool:
        had_default = False
        for each in self.parameters:
            if each.kind in (_POSITIONAL_ONLY, _PLAIN, _KEYWORD_ONLY):
                if had_default and each.default is None:
                    return False
                had_default = had_default or each.default is not None
        return True

    # As text

    def __str__(self) -> str:
        if self.name == "<lambda>":
            return f"lambda {', '.join(self._parts(self.parameters))}: …"
        head = f"{'async ' if self.is_async else ''}def {self.name}("
        tail = f") -> {_shortened(self.returns, _ANNOTATION)}" if self.returns is not None else ")"
        shown = self.parameters
        if len(shown) > _MANY:
            shown = list(self._only_faulty())
        parts = list(self._parts(shown))
        line = f"{head}{', '.join(parts)}{tail}"
        if len(line) <= _WIDTH:
            return line
        return "\n".join([head, *(f"{_INDENT}    {part}," for part in parts), f"{_INDENT}{tail}"])

    def _only_faulty(self) -> Iterator[Written]:
        left_out = False
        for each in self.parameters:
            if each.name in self.faulty:
                yield each
                left_out = False
            elif not left_out:
                yield Written("…", each.kind)
                left_out = True

    @staticmethod
    def _parts(parameters: list[Written]) -> Iterator[str]:
        stars_seen = False
        for index, each in enumerate(parameters):
            if each.kind is _STARS:
                stars_seen = True
            elif each.kind is _KEYWORD_ONLY and not stars_seen:
                stars_seen = True
                yield "*"
            yield str(each)
            after = parameters[index + 1] if index + 1 < len(parameters) else None
            if each.kind is _POSITIONAL_ONLY and (after is None or after.kind is not _POSITIONAL_ONLY):
                yield "/"


def _list_of(annotation: str) -> str:
    """What takes the place of `*rest: annotation`: a tuple that is unpacked is itself the type of the whole."""
    if annotation.startswith("*"):
        return annotation[1:]
    unpacked = re.fullmatch(r"(?:\w+\.)?Unpack\[(.+)\]", annotation, re.DOTALL)
    return f"list[{annotation}]" if unpacked is None else unpacked[1]


def _arguments_of(annotation: str) -> list[str]:
    """What stands between the brackets of a generic type."""
    try:
        tree = ast.parse(annotation, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    if not isinstance(tree, ast.Subscript):
        return []
    inside = tree.slice
    return [ast.unparse(each) for each in (inside.elts if isinstance(inside, ast.Tuple) else [inside])]


def definition_of(fn: Any, innermost: Any, *, is_async: bool) -> Definition | None:
    """How `fn` is written, what it has bound left out; `None` when that cannot be said.

    Args:
        fn: The handler.
        innermost: The function that it wraps, or itself.
        is_async: Whether it counts as `async def`.
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError, NameError):
        return None
    name = getattr(innermost, "__name__", None)
    if not isinstance(name, str):
        return None
    source = _source(innermost)
    arguments, defaults = _as_written(source) if source is not None else ({}, {})
    known = arguments.keys() >= signature.parameters.keys()
    parameters = [
        Written(
            each.name,
            each.kind,
            (arguments.get(each.name) if known else None) or _annotation(each.annotation),
            None if each.default is inspect.Parameter.empty else defaults.get(each.name, _value(each.default)),
        )
        for each in signature.parameters.values()
    ]
    if inspect.ismethod(fn) and innermost.__code__.co_argcount:
        parameters.insert(0, Written(innermost.__code__.co_varnames[0]))
    returns = _annotation(signature.return_annotation)
    if known and source is not None:
        returns = None if source.returns is None else _unquoted(source.returns)
    return Definition(name, is_async, parameters, returns)


def spelled(annotation: Any) -> str:
    """A type as an author writes it: without its modules."""
    return _annotation(annotation) or ""


def _annotation(annotation: Any) -> str | None:
    if annotation is inspect.Parameter.empty:
        return None
    if annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, str):
        return unquoted(annotation)
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__qualname__.rpartition(".")[2]
    text = _CLASS.sub(r"\1", _MODULES.sub("", repr(annotation)))
    return _VARIANCE.sub("", text).replace("NoneType", "None")


def _value(value: Any) -> str:
    text = _MODULES.sub("", repr(value))
    return getattr(value, "__name__", "…") if text.startswith("<") else text


def _shortened(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _source(fn: Any) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The syntax tree of a function, found by its file and line."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return None
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename, getattr(fn, "__globals__", None))))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if node.name == code.co_name and first == code.co_firstlineno:
                return node
    return None


def _as_written(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[dict[str, Any], dict[str, str]]:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    every = [*positional, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    annotations = {each.arg: None if each.annotation is None else _unquoted(each.annotation) for each in every}
    defaults: dict[str, str] = {}
    for each, default in zip(reversed(positional), reversed(given.defaults), strict=False):
        defaults[each.arg] = ast.unparse(default)
    for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if value is not None:
            defaults[each.arg] = ast.unparse(value)
    return annotations, defaults


def _unquoted(annotation: ast.expr) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)
