"""`confirm`, `elicit`, `ask` and `current_context` for code below a `def` action: they return the value itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .asking import Accepted, Cancelled, Declined
from .context import Context, SyncContext, running
from .unset import UNSET

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = ["ask", "confirm", "current_context", "elicit"]

T = TypeVar("T")


def current_context() -> SyncContext:
    """The context of the running `def` action.

    Raises:
        LookupError: No action runs here.
        RuntimeError: The action is an `async def`; use `tesseron_py.current_context`.
    """
    return _current("current_context")


def _current(name: str) -> SyncContext:
    context = running.get(None)
    if context is None:
        raise LookupError(
            f"tesseron_py.sync.{name}() is for code below a running action, and none runs here"
            " (a thread that an action starts uses the ctx it is given, or runs in contextvars.copy_context())"
        )
    if isinstance(context, Context):
        call = "tesseron_py.current_context()" if name == "current_context" else f"await tesseron_py.{name}(…)"
        raise RuntimeError(f"below an `async def` action, write {call}; this would block its event loop")
    return context


def confirm(question: str, *, key: str | None = None) -> bool:
    """Ask the person for a yes; see `Context.confirm`."""
    return _current("confirm").confirm(question, key=key)


@overload
def elicit(question: str, *, key: str | None = None) -> str | None: ...
@overload
def elicit(question: str, *, json_schema: Mapping[str, Any], key: str | None = None) -> dict[str, Any] | None: ...
@overload
def elicit(question: str, schema: type[T], *, key: str | None = None) -> T | None: ...
@overload
def elicit(question: str, schema: TypeForm[T], *, key: str | None = None) -> T | None: ...
def elicit(
    question: str, schema: Any = UNSET, *, json_schema: Mapping[str, Any] | None = None, key: str | None = None
) -> Any:
    """Ask the person for a value; see `Context.elicit`."""
    context = _current("elicit")
    return context._call(lambda: context._context._elicit(question, schema, json_schema, key))


@overload
def ask(question: str, *, attempts: int = 1, key: str | None = None) -> Accepted[str] | Declined | Cancelled: ...
@overload
def ask(
    question: str, *, json_schema: Mapping[str, Any], attempts: int = 1, key: str | None = None
) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
@overload
def ask(
    question: str, schema: type[T], *, attempts: int = 1, key: str | None = None
) -> Accepted[T] | Declined | Cancelled: ...
@overload
def ask(
    question: str, schema: TypeForm[T], *, attempts: int = 1, key: str | None = None
) -> Accepted[T] | Declined | Cancelled: ...
def ask(
    question: str,
    schema: Any = UNSET,
    *,
    json_schema: Mapping[str, Any] | None = None,
    attempts: int = 1,
    key: str | None = None,
) -> Any:
    """Ask the person for a value, and tell a refusal from a dismissal; see `Context.ask`."""
    context = _current("ask")
    return context._call(lambda: context._context._ask(question, schema, json_schema, attempts, key))
