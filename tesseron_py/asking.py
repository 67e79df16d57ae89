"""A question on its way, and the author's view of what comes back."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

if TYPE_CHECKING:
    from typing import Never

T_co = TypeVar("T_co", covariant=True)


class Asking(Coroutine[Any, Any, T_co], Generic[T_co]):
    """A question on its way. Await it, or hand it to any task API of asyncio, trio or anyio.

    It has no truth value: `if ctx.confirm(…):` without `await` raises instead of running the body.
    """

    __slots__ = ("_coroutine", "_how")

    def __init__(self, coroutine: Coroutine[Any, Any, T_co], how: str) -> None:
        self._coroutine = coroutine
        self._how = how

    def __await__(self) -> Generator[Any, Any, T_co]:
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        return self._coroutine.send(value)

    @overload
    def throw(
        self,
        kind: type[BaseException],
        value: BaseException | object = None,
        trace: TracebackType | None = None,
        /,
    ) -> Any: ...
    @overload
    def throw(self, kind: BaseException, value: None = None, trace: TracebackType | None = None, /) -> Any: ...
    def throw(self, kind: Any, value: Any = None, trace: Any = None, /) -> Any:
        # Callers may use the three arguments that generators took before Python 3.12; the coroutine gets one.
        error = value if isinstance(value, BaseException) else kind
        if isinstance(error, type):
            error = error() if value is None else error(value)
        return self._coroutine.throw(error if trace is None else error.with_traceback(trace))

    def close(self) -> None:
        self._coroutine.close()

    def __bool__(self) -> Never:
        self._coroutine.close()
        raise TypeError(f"nobody was asked yet: write `await {self._how}`")

    def __repr__(self) -> str:
        return f"<Asking {self._how}>"


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T_co]):
    """The person accepted, and `value` is what they gave, validated."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Declined:
    """The answer was no, from a person or from a client by itself. False in a condition."""

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Cancelled:
    """There was no decision: dismissed, timed out, or the client failed. False in a condition."""

    def __bool__(self) -> Literal[False]:
        return False
