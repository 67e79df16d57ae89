"""The nodes of a core schema: which entries of one lead to others.

The keys of a node are pydantic's words. Those of `fields` and `choices` are names and tags of an author's, and may be
the same words: a field may be called `config` or `default`. All that walks through core schemas asks here, so that
nothing takes the one for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["LEADING", "children", "with_children"]

LEADING: Final = frozenset(
    {
        "arguments_schema", "choices", "computed_fields", "definitions", "extras_keys_schema", "extras_schema",
        "fields", "items_schema", "json_schema", "json_schema_input_schema", "keys_schema", "lax_schema",
        "python_schema", "return_schema", "schema", "steps", "strict_schema", "values_schema", "var_args_schema",
        "var_kwargs_schema",
    }
)  # fmt: skip
"""The entries that hold nodes: one, a list of them (in a union some with a label), or a mapping of names or tags."""

_BY_NAME: Final = frozenset({"fields", "choices"})


def children(node: Mapping[str, Any]) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """The nodes right below a node, each with the name of the field that it is, or `None`."""
    for key, value in node.items():
        if key not in LEADING:
            continue
        if isinstance(value, dict):
            if key in _BY_NAME:
                for name, each in value.items():
                    if isinstance(each, dict):
                        yield name if key == "fields" else None, each
            else:
                yield None, value
        elif isinstance(value, (list, tuple)):
            for item in value:
                each = item[0] if isinstance(item, tuple) else item
                if isinstance(each, dict):
                    yield each.get("name"), each


def with_children(node: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """A node with what `change` makes of each node right below it; itself, where that is each of them as it was."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key in LEADING and (new := _changed(value, change, by_name=key in _BY_NAME)) is not value:
            found[key] = new
    return {**node, **found} if found else node


def _changed(value: Any, change: Callable[[dict[str, Any]], Any], *, by_name: bool = False) -> Any:
    if isinstance(value, dict):
        if not by_name:
            return change(value)
        named = {name: _changed(each, change) for name, each in value.items()}
        return value if all(named[name] is each for name, each in value.items()) else named
    if isinstance(value, (list, tuple)):
        listed = [_changed(each, change) for each in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else type(value)(listed)
    return value
