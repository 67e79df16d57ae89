"""Aliases by which nobody can give a field: what a schema would tell of is refused, and what is taken it cannot tell.

Found when a type is declared. A field that has one other name, or its own, can be given and is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .nodes import children
from .unusable import UnusableType

__all__ = ["by_name", "check_aliases", "single_aliases"]

_HAS_CONFIG: Final = frozenset({"model", "dataclass", "typed-dict"})
_FIELDS: Final = frozenset({"model-field", "dataclass-field", "typed-dict-field"})


def single_aliases(field: Mapping[str, Any]) -> Iterator[str]:
    """The aliases of a field in a core schema that are a name; others are a path into what is given."""
    alias = field.get("validation_alias")
    if isinstance(alias, str):
        yield alias
    elif isinstance(alias, list):  # a path, or several: a path of one step is a name
        for path in alias if alias and isinstance(alias[0], list) else [alias]:
            if len(path) == 1 and isinstance(path[0], str):
                yield path[0]


def by_name(config: Mapping[str, Any] | None) -> bool:
    """Whether a type takes its fields by their names alone, so that they are published by those."""
    return config is not None and config.get("validate_by_alias", True) is False


def check_aliases(schema: Any) -> None:
    """Look for fields in a core schema that cannot be given by a name.

    Raises:
        UnusableType: There is one; the message names it and says how to mend it.
    """
    _check(schema, {}, "")


def _check(node: Mapping[str, Any], config: Mapping[str, Any], owner: str) -> None:
    if node.get("type") in _HAS_CONFIG:
        config, cls = node.get("config") or {}, node.get("cls")
        owner = "" if cls is None else f"{cls.__name__}."
    for name, each in children(node):
        if each.get("type") in _FIELDS and each.get("validation_alias") is not None:
            _check_field(f"{owner}{name}", each, config)
        _check(each, config, owner)


def _check_field(where: str, field: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    if by_name(config) or config.get("validate_by_name", False):
        return
    if not list(single_aliases(field)):
        raise UnusableType(f"the alias of {where} is a path into other data; give it a name of its own")
