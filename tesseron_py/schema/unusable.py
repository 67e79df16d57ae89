"""Types that can be declared and never be used, in words for whoever declares one.

A constraint that no value can be held to, a pattern that is no regular expression, an alias by which nothing can be
given, a name that is not defined, a class that is only there to be inherited from.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel, PydanticUserError
from pydantic_core import SchemaError

from .nodes import children

__all__ = ["UnusableType", "check_values", "unusable"]


class UnusableType(ValueError):
    """What cannot be used in a type, and how to mend it, in one line."""


def check_values(schema: Mapping[str, Any], *, enums: bool) -> None:
    """Look for classes in a core schema that have no values.

    Args:
        schema: The core schema.
        enums: Whether to look for enums without members; a form itself names the field of one.

    Raises:
        UnusableType: There is one; the message says what to write instead.
    """
    kind = schema.get("type")
    if kind == "model" and schema["cls"] is BaseModel:
        raise UnusableType(
            "BaseModel itself has no values; write a model of your own, or dict[str, Any] for any object"
        )
    # pydantic makes this of an enum without members.
    cls = schema.get("cls") if enums and kind == "is-instance" else None
    if isinstance(cls, type) and issubclass(cls, Enum) and not list(cls):
        raise UnusableType(
            f"{cls.__qualname__} has no members to choose from; write an Enum that has some, or Literal[…]"
        )
    for _, each in children(schema):
        check_values(each, enums=enums)


def unusable(error: Exception) -> UnusableType | None:
    """What is unusable in a type, where that is why its schema could not be built; `None` for any other error."""
    if isinstance(error, UnusableType):
        return error
    if isinstance(error, PydanticUserError) and error.code == "typed-dict-version":
        return UnusableType(
            "before Python 3.12 a TypedDict has to come from typing_extensions; write"
            " `from typing_extensions import TypedDict`"
        )
    if isinstance(error, SchemaError) and "'on_error = omit'" in str(error):
        return UnusableType(
            "OnErrorOmit leaves an item out of a list, a set or a dict, and nothing can be left out here; write the"
            " type without it, or list[OnErrorOmit[…]]"
        )
    return _pattern(error) if isinstance(error, SchemaError) else None


def _pattern(error: SchemaError) -> UnusableType | None:
    """What is wrong with a pattern that pydantic could not compile."""
    _, found, shown = str(error).partition("regex parse error:\n")
    if not found:
        return None
    *lines, last = shown.rstrip().splitlines()
    pattern = lines[0].strip() if lines else ""
    why = last.removeprefix("error: ")
    if "not supported" in why:
        return UnusableType(
            f"the pattern {pattern!r} has what pydantic's own regular expressions have not: {why}; give it as"
            " re.compile(…), or write it without"
        )
    return UnusableType(f"the pattern {pattern!r} is no regular expression: {why}")
