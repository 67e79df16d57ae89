"""Constraints that can never hold, found when a type is declared: pydantic tells of most of them with every value only.

A limit for numbers at a string, a length at a number, a pattern that is no regular expression.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_core import SchemaError

from .nodes import children

__all__ = ["UnusableConstraint", "check_constraints", "unusable_pattern"]


class UnusableConstraint(ValueError):
    """What is wrong with a constraint, in one line."""


def check_constraints(schema: Any) -> None:
    """Look for constraints in a core schema that no value of their type can be held to.

    Raises:
        UnusableConstraint: There is one; the message names it, its type, and the field that has it.
    """
    _Walk().node(schema, "")


def unusable_pattern(error: Exception) -> UnusableConstraint | None:
    """What is wrong with a pattern that pydantic could not compile; `None` for any other error."""
    text = str(error)
    _, found, shown = text.partition("regex parse error:\n")
    if not isinstance(error, SchemaError) or not found:
        return None
    *lines, last = shown.rstrip().splitlines()
    pattern = lines[0].strip() if lines else ""
    why = last.removeprefix("error: ")
    if "not supported" in why:
        return UnusableConstraint(
            f"the pattern {pattern!r} has what pydantic's own regular expressions have not: {why}; give it as"
            " re.compile(…), or write it without"
        )
    return UnusableConstraint(f"the pattern {pattern!r} is no regular expression: {why}")


# One value of each kind, to try a constraint with: what it does with any value of that kind it does with this one.
_SAMPLES: Final[Mapping[str, tuple[Any, str]]] = {
    "str": ("", "str"),
    "bytes": (b"", "bytes"),
    "bool": (False, "bool"),
    "int": (0, "int"),
    "float": (0.0, "float"),
    "list": ([], "list"),
    "set": (set(), "set"),
    "frozenset": (frozenset(), "frozenset"),
    "tuple": ((), "tuple"),
    "dict": ({}, "dict"),
    "typed-dict": ({}, "TypedDict"),
}
_ITS_OWN: Final = "pydantic._internal._validators"
_INCOMPATIBLE: Final = "_apply_constraint_with_incompatibility_info"
_OF_STRINGS: Final = ("pattern", "strip_whitespace", "to_lower", "to_upper")
_FITTING: Final = {"min_length": "texts and lists", "max_length": "texts and lists", "pattern": "texts"}


class _Walk:
    def __init__(self) -> None:
        self._definitions: dict[str, Any] = {}

    def node(self, node: Any, field: str) -> None:
        """Look at a core schema; `field` is the innermost field with a name around it."""
        match node:
            case {"type": "definitions", "definitions": [*definitions]}:
                self._definitions.update({each["ref"]: each for each in definitions if "ref" in each})
            case {"type": "function-after", "function": {"function": functools.partial() as function}}:
                if function.func.__module__ == _ITS_OWN:
                    self._try(function, node["schema"], field)
            case {
                "type": "chain",
                "steps": [first, {"type": "function-wrap", "function": {"function": function}} as then],
            }:
                if getattr(function, "__name__", "") == _INCOMPATIBLE:
                    self._check_text(then["schema"], first, field)
        for name, each in children(node):
            self.node(each, field if name is None else name)

    def _try(self, function: functools.partial[Any], schema: Any, field: str) -> None:
        for sample, kind in self._samples(schema, frozenset()):
            try:
                function(sample)
            except TypeError:
                name, limit = next(iter(function.keywords.items()))
                raise _unusable(name, limit, kind, field) from None
            except ValueError:
                continue  # it does not hold for this value, and so it can be told

    def _check_text(self, text: Mapping[str, Any], schema: Any, field: str) -> None:
        name = next((each for each in _OF_STRINGS if each in text), None)
        for sample, kind in self._samples(schema, frozenset()):
            if name is not None and not isinstance(sample, str):
                raise _unusable(name, text[name], kind, field)

    def _samples(self, schema: Any, followed: frozenset[str]) -> Iterator[tuple[Any, str]]:
        """Values that a schema may give, and their kinds, as far as that is certain."""
        kind = schema.get("type")
        if kind in _SAMPLES:
            yield _SAMPLES[kind]
        elif kind == "literal":
            yield from ((each, f"Literal[{each!r}]") for each in schema["expected"])
        elif kind == "definition-ref":
            reference = schema["schema_ref"]
            if reference in self._definitions and reference not in followed:
                yield from self._samples(self._definitions[reference], followed | {reference})
        elif kind == "union":
            for each in schema["choices"]:
                yield from self._samples(each[0] if isinstance(each, tuple) else each, followed)
        elif kind == "chain":
            yield from self._samples(schema["steps"][-1], followed)
        elif kind in ("nullable", "default", "definitions", "function-before") or self._keeps(schema):
            yield from self._samples(schema["schema"], followed)

    @staticmethod
    def _keeps(schema: Mapping[str, Any]) -> bool:
        """Whether it is a constraint, after which a value is what it was."""
        function = (schema.get("function") or {}).get("function") if schema.get("type") == "function-after" else None
        return isinstance(function, functools.partial) and function.func.__module__ == _ITS_OWN


def _unusable(name: str, limit: Any, kind: str, field: str) -> UnusableConstraint:
    where = f"{field}: " if field else ""
    return UnusableConstraint(
        f"{where}the constraint {name}={limit!r} is for {_FITTING.get(name, 'numbers')}, and cannot be applied to"
        f" {kind}; take it away, or put it at the type that it is for"
    )
