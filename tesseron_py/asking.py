"""A question on its way, and the author's view of what comes back."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, final, overload

if TYPE_CHECKING:
    from typing import Never

T_co = TypeVar("T_co", covariant=True)


class Asking(Coroutine[Any, Any, T_co], Generic[T_co]):
    """A question on its way. Await it, or hand it to any task API of asyncio, trio or anyio.

    It has no truth value, equals nothing and is no text: `if ctx.confirm(…):` without `await` raises instead of running
    the body. One that is forgotten altogether fails the call; see `Unasked`.
    """

    __slots__ = ("_coroutine", "_how", "_unasked")

    def __init__(self, coroutine: Coroutine[Any, Any, T_co], how: str, unasked: Unasked) -> None:
        self._coroutine = coroutine
        self._how = how
        self._unasked = unasked
        unasked.add(self)

    def __await__(self) -> Generator[Any, Any, T_co]:
        self._unasked.discard(self)
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        self._unasked.discard(self)
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
        self._unasked.discard(self)
        # Callers may use the three arguments that generators took before Python 3.12; the coroutine gets one.
        error = value if isinstance(value, BaseException) else kind
        if isinstance(error, type):
            error = error() if value is None else error(value)
        return self._coroutine.throw(error if trace is None else error.with_traceback(trace))

    def close(self) -> None:
        self._unasked.discard(self)
        self._coroutine.close()

    def _refuse(self) -> Never:
        self.close()
        raise TypeError(f"nobody was asked yet: write `await {self._how}`")

    def __bool__(self) -> Never:  # noqa: PLE0304  # it returns nothing at all
        self._refuse()

    def __eq__(self, other: object) -> bool:
        return other is self or self._refuse()

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __format__(self, spec: str, /) -> Never:
        self._refuse()

    def __repr__(self) -> str:
        return f"<Asking {self._how}>"


class Unasked:
    """The questions of one call that nobody has awaited yet.

    An author who forgets the `await` before a confirm does what it was to guard. That cannot be undone, but it does not
    stay unseen: the call fails, and says which line it is.
    """

    __slots__ = ("_questions",)

    def __init__(self) -> None:
        self._questions: dict[Asking[Any], tuple[str, int]] | None = None

    def add(self, question: Asking[Any]) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        if self._questions is None:
            self._questions = {}
        self._questions[question] = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("?", 0)

    def discard(self, question: Asking[Any]) -> None:
        if self._questions is not None:
            self._questions.pop(question, None)
            if not self._questions:
                self._questions = None  # the answer may be long in coming

    def check(self) -> None:
        """The handler has returned.

        Raises:
            RuntimeError: There is a question that it did not await.
        """
        forgotten = list((self._questions or {}).items())
        for question, _ in forgotten:
            question.close()
        for question, (file, line) in forgotten:
            raise RuntimeError(
                f"nobody was asked, since the question was not awaited: write `await {question._how}` at"
                f" {os.path.basename(file)}, line {line}"
            )


_PACKAGE: Final = os.path.join(os.path.dirname(__file__), "")


@final
@dataclass(frozen=True, slots=True)
class Accepted(Generic[T_co]):
    """The person accepted, and `value` is what they gave, validated. True in a condition, whatever the value is."""

    value: T_co

    def __bool__(self) -> Literal[True]:
        return True


@final
@dataclass(frozen=True, slots=True)
class Declined:
    """The answer was no, from a person or from a client by itself. False in a condition."""

    def __bool__(self) -> Literal[False]:
        return False


@final
@dataclass(frozen=True, slots=True)
class Cancelled:
    """There was no decision: dismissed, timed out, or the client failed. False in a condition."""

    def __bool__(self) -> Literal[False]:
        return False
