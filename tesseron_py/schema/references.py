"""Where a `$ref` leads, and whether a schema takes null: what reading a JSON Schema needs before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final
from urllib.parse import unquote

BITS: Final = "x-tesseron-bits"
"""In a document: the members of a flag, of which an integer may be a sum. It is not published."""


class Nullability(Enum):
    """Whether a schema takes null."""

    NO = "no"
    YES = "yes"
    """It says so: a union with null, a type list with null, null among the choices."""
    ANY = "any"
    """It takes anything, so null, too."""


class References:
    """The references within one schema document."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def resolve(self, reference: object) -> Mapping[str, Any] | None:
        """The schema a JSON pointer such as `#/$defs/Todo` leads to; `None` where it leads nowhere in this document."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        here: Any = self._root
        for step in unquote(reference[1:]).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            here = here.get(step) if isinstance(here, Mapping) else None
        return here if isinstance(here, Mapping) else None

    def nullability(self, schema: object, _following: frozenset[str] = frozenset()) -> Nullability:
        """Whether `schema` takes null, as far as that can be told without running it."""
        if not isinstance(schema, Mapping):
            return Nullability.NO if schema is False else Nullability.ANY
        if "$ref" in schema:
            reference = str(schema["$ref"])
            if reference in _following:
                return Nullability.NO
            return self.nullability(self.resolve(reference), _following | {reference})
        if "const" in schema:
            return Nullability.YES if schema["const"] is None else Nullability.NO
        if isinstance(schema.get("enum"), list):
            return Nullability.YES if any(value is None for value in schema["enum"]) else Nullability.NO
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                found = {self.nullability(option, _following) for option in schema[keyword]}
                return next((each for each in (Nullability.YES, Nullability.ANY) if each in found), Nullability.NO)
        if isinstance(schema.get("allOf"), list):
            found = {self.nullability(option, _following) for option in schema["allOf"]}
            return next((each for each in (Nullability.NO, Nullability.YES) if each in found), Nullability.ANY)
        match schema.get("type"):
            case None:
                return Nullability.ANY
            case "null":
                return Nullability.YES
            case list(types) if "null" in types:
                return Nullability.YES
        return Nullability.NO
