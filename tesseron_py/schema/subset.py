"""The schemas a person can be asked with: Tesseron 1.2 §5's subset, in one place for host and gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidSchema
from .issues import shortened

ASKABLE = ("string", "number", "integer", "boolean")
"""The types a property may have."""


def check_subset(schema: Any) -> None:
    """Refuse a schema outside the subset, as host and gateway do before anything is sent (Tesseron 1.2 §5).

    Accepted on purpose: a property without `type`; a `type` list, which is judged by its first entry.

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
        if judged not in ASKABLE:
            raise InvalidSchema(
                f"the property {shortened(name)} has the type {shortened(found)}, and a person can only be asked for"
                f" {', '.join(ASKABLE)}; ask for each value in a property of its own"
            )
