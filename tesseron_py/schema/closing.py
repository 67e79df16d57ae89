"""Core schemas whose objects refuse what they do not name, each for itself, except where an author allows more.

pydantic's own switch refuses it everywhere at once. That suits a type in which nothing is open; where something is, an
object beside it would drop unknown fields without a word.
"""

from __future__ import annotations

from typing import Any, Final

from .nodes import with_children

_HAS_CONFIG: Final = frozenset({"model", "dataclass", "typed-dict"})
_HAS_FIELDS: Final = frozenset({"model-fields", "dataclass-args", "typed-dict"})


def closed_schema(schema: Any) -> Any:
    """The core schema `schema` with `extra="forbid"` for every object that is not `extra="allow"`."""
    return _closed(schema, None)


def _closed(node: Any, configured: Any) -> Any:
    kind = node.get("type")  # a parameter has none
    if kind in _HAS_CONFIG:
        configured = (node.get("config") or {}).get("extra_fields_behavior")
    found = with_children(node, lambda each: _closed(each, configured))
    if kind in _HAS_FIELDS and node.get("extra_behavior", configured) != "allow":
        return {**found, "extra_behavior": "forbid"}
    return found
