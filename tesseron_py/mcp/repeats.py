"""Calls that a client may repeat without doing anything twice: the same key, tool and arguments join the first call.

The key comes in `_meta["tesseron-py/idempotencyKey"]` (§11 of our notes on Tesseron). A call can be joined while it
runs and for a grace period after its end. One that was given up has no result, and may have had its effect all the
same: for as long, its key is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..errors import ActionCancelled, InternalError
from ..home import Home
from ..invocation import Done, Failed, Invocation, Outcome
from ..jsontext import encode
from .provider import Caller
from .seal import binding_of

IDEMPOTENCY_KEY: Final = "tesseron-py/idempotencyKey"
GRACE: Final = 60.0
"""Seconds for which a key is known after its call has ended."""
MOST: Final = 65_536
"""Keys that are known at once. None is forgotten before its time: its call could be begun a second time."""
ROOM: Final = 64 * 1024 * 1024
"""Bytes of results that are kept in all. The oldest results go first; their keys stay known."""

GIVEN_UP: Final = (
    "The call of this idempotency key was given up before it had a result: its client hung up, cancelled it, or did not"
    " come back. It may have had its effect by then, so it is not begun anew; look whether it had, and call with"
    " another key if it is to be done again"
)
LOST: Final = (
    "The call of this idempotency key has ended, and there was no room to keep its result. It is not begun anew; look"
    " what it did, and call with another key if it is to be done again"
)


class _Call:
    """A call whose key is known; without its invocation once the result is no longer kept."""

    __slots__ = ("invocation", "size")

    def __init__(self, invocation: Invocation) -> None:
        self.invocation: Invocation | None = invocation
        self.size = 0


class Repeats:
    """The calls that can be joined.

    Args:
        home: Who keeps the time.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._calls: dict[bytes, _Call] = {}
        self._results: dict[bytes, _Call] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._calls)

    def join(
        self, caller: Caller, name: str, arguments: Mapping[str, Any], key: str, start: Callable[[], Invocation]
    ) -> Invocation:
        """The call of this principal's key, tool and arguments, which goes on for `caller`; `start` begins a new one.

        Raises:
            ActionCancelled: There was one, and it was given up.
            InternalError: There was one, and its result could not be kept; or as many keys are known as may be.
        """
        whole = binding_of(caller.client.principal, key, name, arguments)
        call = self._calls.get(whole)
        if call is None:
            if len(self._calls) >= MOST:
                message = f"{MOST} idempotency keys are in use, which is as many as may; try again in a minute"
                raise InternalError(message, {"reason": "too_many_keyed_calls", "limit": MOST})
            invocation = start()
            call = self._calls[whole] = _Call(invocation)
            invocation.then(lambda outcome: self._ended(whole, call, outcome))
            return invocation
        if call.invocation is None:
            raise InternalError(LOST, {"reason": "result_not_kept"})
        if was_given_up(call.invocation.outcome):
            raise ActionCancelled(GIVEN_UP)
        call.invocation.go_on(caller)
        return call.invocation

    def _ended(self, key: bytes, call: _Call, outcome: Outcome) -> None:
        call.size = size_of(outcome)
        self._size += call.size
        self._results[key] = call
        while self._size > ROOM:
            self._drop_result(next(iter(self._results)))
        if self._home.is_open:
            self._home.call_at(self._home.time() + GRACE, lambda: self._expire(key))

    def _drop_result(self, key: bytes) -> None:
        call = self._results.pop(key)
        call.invocation = None
        self._size -= call.size

    def _expire(self, key: bytes) -> None:
        if key in self._results:
            self._drop_result(key)
        del self._calls[key]


def was_given_up(outcome: Outcome | None) -> bool:
    """Whether a call ended because nobody waited for it any more."""
    return isinstance(outcome, Failed) and isinstance(outcome.error, ActionCancelled)


def size_of(outcome: Outcome) -> int:
    """About how many bytes a result takes."""
    value = getattr(outcome.value, "value", outcome.value) if isinstance(outcome, Done) else None
    try:
        return len(encode(value)) + 1
    except ValueError:
        return 1
