"""One result per type: what is built of a type is built once and kept, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

T = TypeVar("T")

KEPT: Final = 256
"""Types whose results are kept; the one unused for longest goes first."""


def cached_by_type(build: Callable[[Any], T]) -> Callable[[Any], T]:
    """`build` with its results kept; a type that cannot be hashed, as `Annotated` with a dict, is built each time.

    Types that are equal may still be different: in a union and a `Literal` the order counts, in pydantic and in a form.
    """

    @lru_cache(KEPT)
    def cached(schema_type: Any, order: Any) -> T:
        return build(schema_type)

    @wraps(build)
    def lookup(schema_type: Any) -> T:
        order = None if isinstance(schema_type, type) else _order(schema_type)
        try:
            hash((schema_type, order))
        except TypeError:
            return build(schema_type)
        return cached(schema_type, order)

    return lookup


def _order(annotation: Any) -> Any:
    """What tells apart annotations that are equal."""
    args = get_args(annotation)
    if not args:
        return None
    origin = get_origin(annotation)
    if origin is Literal:
        return tuple((type(each), each) for each in args)
    if origin is Annotated:
        return _order(args[0]), *((type(each), each) for each in args[1:])
    inside = tuple(_order(each) for each in args)
    return (args, inside) if origin is Union or origin is UnionType else inside
