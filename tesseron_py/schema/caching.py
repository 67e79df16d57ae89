"""One result per type: what is built of a type is built once and kept, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar

T = TypeVar("T")

KEPT: Final = 256
"""Types whose results are kept; the one unused for longest goes first."""


def cached_by_type(build: Callable[[Any], T]) -> Callable[[Any], T]:
    """`build` with its results kept; a type that cannot be hashed, as `Annotated` with a dict, is built each time."""
    cached = lru_cache(KEPT)(build)

    @wraps(build)
    def lookup(schema_type: Any) -> T:
        try:
            hash(schema_type)
        except TypeError:
            return build(schema_type)
        return cached(schema_type)

    return lookup
