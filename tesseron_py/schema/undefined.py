"""Names in the annotations of a model that nothing defines: which it is, where it stands, and the mend.

pydantic leaves such a model for later, and says of it only that it is not complete.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator
from typing import Any, ForwardRef, get_args

from pydantic import TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation

from .annotations import Scope, names_around
from .unusable import UnusableType

__all__ = ["check_defined"]


def check_defined(adapter: TypeAdapter[Any]) -> None:
    """Complete a type whose annotations were not all defined when it was made.

    Raises:
        UnusableType: One is not defined yet; the message names the field, the name, and the mend.
    """
    if adapter.pydantic_complete:
        return
    declared = getattr(adapter, "_type", None)
    try:
        # Without a namespace it would look for the name among those of the functions that lead here.
        adapter.rebuild(raise_errors=True, _types_namespace=_around(declared))
    except PydanticUndefinedAnnotation as error:
        raise UnusableType(_told(declared, error)) from error


def _around(declared: Any) -> dict[str, Any]:
    """What the annotations of local classes name in the functions that those are in.

    Models remember where they were made; standard dataclasses, TypedDicts and NamedTuples do not.
    """
    found: dict[str, Any] = {}
    for cls in _classes(declared, set()):
        if local := names_around(cls):
            texts = [text for annotation in vars(cls)["__annotations__"].values() for text in _texts(annotation)]
            found |= {name: local[name] for text in texts for name in _names(text) if name in local}
    return found


def _told(declared: Any, error: PydanticUndefinedAnnotation) -> str:
    missing = NameError(f"name {error.name!r} is not defined", name=error.name)
    seen: set[type] = set()
    for cls in _classes(declared, seen):
        for field, annotation in vars(cls).get("__annotations__", {}).items():
            if any(error.name in _names(text) for text in _texts(annotation)):
                found = Scope.of_class(cls).unresolved(_text(annotation), missing)
                below = next((each for each in seen if each is not cls and cls in each.__mro__), None)
                if below is not None and error.name in vars(sys.modules.get(cls.__module__, builtins)):
                    # It was not complete when it was inherited from, and pydantic looks where the subclass is.
                    return (
                        f"the annotation of {cls.__qualname__}.{field}, {found.text!r}, cannot be resolved where"
                        f" {below.__qualname__} inherits it; call {cls.__qualname__}.model_rebuild() before"
                        f" {below.__qualname__} is defined, or import {error.name} into {below.__module__}"
                    )
                return f"the annotation of {cls.__qualname__}.{field}, {found.mend()}"
    return f"{missing}; define or import it at module level"


def _classes(annotation: Any, seen: set[type]) -> Iterator[type]:
    """The classes in an annotation, with those in the annotations of their fields."""
    if inspect.isclass(annotation):
        if annotation in seen:
            return
        seen.add(annotation)
        for cls in annotation.__mro__:
            if fields := vars(cls).get("__annotations__"):
                yield cls
                module = sys.modules.get(cls.__module__)
                around = {**({} if module is None else vars(module)), **names_around(cls)}
                for each in fields.values():
                    yield from _classes(each, seen)
                    for name in (name for text in _texts(each) for name in _names(text)):
                        yield from _classes(around.get(name), seen)
    for each in get_args(annotation):
        yield from _classes(each, seen)


def _texts(annotation: Any) -> Iterator[str]:
    """What of an annotation is text still."""
    if isinstance(annotation, str):
        yield annotation
    elif isinstance(annotation, ForwardRef):
        yield annotation.__forward_arg__
    for each in get_args(annotation):
        yield from _texts(each)


def _text(annotation: Any) -> Any:
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation


def _names(text: str) -> set[str]:
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return set()
    found = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    inner = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return found.union(*(_names(each) for each in inner if each != text))
