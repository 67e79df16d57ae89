"""Constraints that can never hold, found when a type is declared: pydantic tells of most of them with every value only.

A limit for numbers at a string, a length at a number, limits that leave nothing between them, a set of what Python
cannot have in one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .nodes import children
from .unusable import UnusableType

__all__ = ["check_constraints"]


def check_constraints(schema: Any) -> None:
    """Look for constraints in a core schema that no value of their type can be held to.

    Raises:
        UnusableType: There is one; the message names it, its type, and the field that has it.
    """
    _Walk().node(schema, "")


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
_LIMITS: Final = (("ge", "le"), ("ge", "lt"), ("gt", "le"), ("gt", "lt"), ("min_length", "max_length"))
_OPEN: Final = frozenset({("ge", "lt"), ("gt", "le"), ("gt", "lt")})
_UNHASHABLE: Final = {"list": "lists", "dict": "dicts", "set": "sets", "typed-dict": "dicts", "deque": "deques"}
_WRAPPING: Final = frozenset({"custom-error", "default", "definitions", "function-before", "named-tuple-field"})
_FITTING: Final = {"min_length": "texts and lists", "max_length": "texts and lists", "pattern": "texts"}


class _Walk:
    def __init__(self) -> None:
        self._definitions: dict[str, Any] = {}

    def node(self, node: Any, field: str) -> None:
        """Look at a core schema; `field` is the innermost field with a name around it."""
        _check_limits(node, field)
        match node:
            case {"type": "set" | "frozenset" as kind, "items_schema": items}:
                if (what := self._unhashable(items, frozenset())) is not None:
                    raise UnusableType(
                        f"{_at(field)}a {kind} has no room for {what}, which Python cannot hash; use a list"
                    )
            case {"type": "definitions", "definitions": [*definitions]}:
                self._definitions.update({each["ref"]: each for each in definitions if "ref" in each})
            case {"type": "function-after", "function": {"function": functools.partial() as function}}:
                if function.func.__module__ == _ITS_OWN:
                    self._try(function, node["schema"], field)
                    _check_limits(self._limits(node), field)
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

    def _limits(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """The limits that are put on a value one after the other."""
        found: dict[str, Any] = {}
        while self._keeps(node):
            found = {**node["function"]["function"].keywords, **found}
            node = node["schema"]
        return found

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

    def _unhashable(self, schema: Any, followed: frozenset[str]) -> str | None:
        """What the values of a schema are, where all of them are such as Python cannot hash."""
        kind = schema.get("type")
        if kind in _UNHASHABLE:
            return _UNHASHABLE[kind]
        if kind in ("model", "dataclass"):
            return str(schema["cls"].__qualname__) if schema["cls"].__hash__ is None else None
        if kind == "definition-ref":
            reference = schema["schema_ref"]
            if reference in self._definitions and reference not in followed:
                return self._unhashable(self._definitions[reference], followed | {reference})
        elif kind == "union":
            choices = [each[0] if isinstance(each, tuple) else each for each in schema["choices"]]
            found = [self._unhashable(each, followed) for each in choices]
            return None if None in found else found[0]
        elif kind == "named-tuple" or (kind == "tuple" and "variadic_item_index" not in schema):
            return next(filter(None, (self._unhashable(each, followed) for _, each in children(schema))), None)
        elif kind in _WRAPPING or self._keeps(schema):
            return self._unhashable(schema["schema"], followed)
        return None

    @staticmethod
    def _keeps(schema: Mapping[str, Any]) -> bool:
        """Whether it is a constraint, after which a value is what it was."""
        function = (schema.get("function") or {}).get("function") if schema.get("type") == "function-after" else None
        return isinstance(function, functools.partial) and function.func.__module__ == _ITS_OWN


def _check_limits(node: Mapping[str, Any], field: str) -> None:
    """Whether anything is between the limits of a node."""
    for low, high in _LIMITS:
        if node.get(low) is None or node.get(high) is None:
            continue
        try:
            if node.get("type") == "int" and (low, high) == (
                "gt",
                "lt",
            ):  # between integers that follow there is nothing
                is_empty = math.floor(node[low]) + 1 >= node[high]
            else:
                is_empty = node[low] > node[high] or (node[low] == node[high] and (low, high) in _OPEN)
        except TypeError:  # not to be compared, such as a time with an offset and one without
            continue
        if is_empty:
            raise UnusableType(
                f"{_at(field)}no value is left between {low}={node[low]!r} and {high}={node[high]!r}; change one"
            )


def _at(field: str) -> str:
    return f"{field}: " if field else ""


def _unusable(name: str, limit: Any, kind: str, field: str) -> UnusableType:
    return UnusableType(
        f"{_at(field)}the constraint {name}={limit!r} is for {_FITTING.get(name, 'numbers')}, and cannot be applied to"
        f" {kind}; take it away, or put it at the type that it is for"
    )
