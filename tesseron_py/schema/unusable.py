"""Types that can be declared and never be used, in words for whoever declares one.

A constraint that no value can be held to, a pattern that is no regular expression, an alias by which nothing can be
given, a name that is not defined.
"""

from __future__ import annotations

from pydantic import PydanticUserError
from pydantic_core import SchemaError

__all__ = ["UnusableType", "unusable"]


class UnusableType(ValueError):
    """What cannot be used in a type, and how to mend it, in one line."""


def unusable(error: Exception) -> UnusableType | None:
    """What is unusable in a type, where that is why its schema could not be built; `None` for any other error."""
    if isinstance(error, UnusableType):
        return error
    if isinstance(error, PydanticUserError) and error.code == "typed-dict-version":
        return UnusableType(
            "before Python 3.12 a TypedDict has to come from typing_extensions; write"
            " `from typing_extensions import TypedDict`"
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
