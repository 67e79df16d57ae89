"""The schemas a person can be asked with: Tesseron 1.2 §5's subset, in one place for host and gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidSchema
from .issues import shortened

ASKABLE = ("string", "number", "integer", "boolean")
"""The types a property may have."""


def check_subset(schema: Any, *, lists: bool = False) -> None:
    """Refuse a schema outside the subset, as host and gateway do before anything is sent (Tesseron 1.2 §5).

    Accepted on purpose: a property without `type`; a `type` list, which is judged by its first entry.

    Args:
        schema: What is to be asked.
        lists: Between our own ends: a property may be a list of choices, too, as MCP has them since 2025-11-25.

    Raises:
        InvalidSchema: It is outside; the message names the property and the mend.
    """
    if not isinstance(schema, Mapping):
        raise InvalidSchema(f"a form's schema is a JSON object, not {shortened(schema)}")
    if schema.get("type") != "object":
        raise InvalidSchema(f'a form\'s schema has "type": "object" at its root, not {shortened(schema.get("type"))}')
    for keyword in ("oneOf", "anyOf", "allOf", "not"):
        # Truthy as the protocol's first implementations mean it: an empty list or object is there.
        if schema.get(keyword) not in (None, False, 0, ""):
            raise InvalidSchema(f"a form's schema has no {keyword!r} at its root; list plain properties instead")
    properties = schema.get("properties")
    if properties is None:
        return
    if not isinstance(properties, Mapping):
        raise InvalidSchema(f'"properties" of a form\'s schema is an object, not {shortened(properties)}')
    for name, each in properties.items():
        if not isinstance(each, Mapping):
            raise InvalidSchema(f"the property {shortened(name)} of a form is a schema object, not {shortened(each)}")
        if "type" not in each:
            continue
        found = each["type"]
        judged = next(iter(found), None) if isinstance(found, list) else found
        if lists and judged == "array" and _is_choice_of_several(each):
            continue
        if judged not in ASKABLE:
            raise InvalidSchema(
                f"the property {shortened(name)} has the type {shortened(found)}, and a person can only be asked for"
                f" {', '.join(ASKABLE)}; ask for each value in a property of its own"
            )


def _is_choice_of_several(schema: Mapping[str, Any]) -> bool:
    """Whether what a list may hold is known: an `enum` of strings, or titled choices."""
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return False
    choices, options = items.get("enum"), items.get("anyOf")
    if isinstance(choices, list):
        return items.get("type") == "string" and bool(choices) and all(isinstance(each, str) for each in choices)
    return (
        isinstance(options, list)
        and bool(options)
        and all(
            isinstance(each, Mapping) and isinstance(each.get("const"), str) and isinstance(each.get("title"), str)
            for each in options
        )
    )
