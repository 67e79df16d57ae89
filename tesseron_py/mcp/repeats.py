"""Calls that a client may repeat without doing anything twice: the same key, tool and arguments join the first call.

The key comes in `_meta["tesseron-py/idempotencyKey"]` (§11 of our notes on Tesseron). A call can be joined while it
runs and for a grace period after its end. One that was given up has no result, and may have had its effect all the
same: for as long, its key is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..errors import ActionCancelled, InternalError
from ..home import Home
from ..invocation import Done, Failed, Invocation, Outcome
from ..jsontext import encode

IDEMPOTENCY_KEY: Final = "tesseron-py/idempotencyKey"
GRACE: Final = 60.0
"""Seconds for which a result is kept."""
MOST: Final = 1024
ROOM: Final = 64 * 1024 * 1024
"""Bytes of results that are kept in all; the oldest go first."""

GIVEN_UP: Final = (
    "The call of this idempotency key was given up before it had a result: its client hung up, cancelled it, or did not"
    " come back. It may have had its effect by then, so it is not begun anew; look whether it had, and call with"
    " another key if it is to be done again"
)

Key: TypeAlias = tuple[str, str, str, str]


class _Call:
    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.size = 0


class Repeats:
    """The calls that can be joined.

    Args:
        home: Who keeps the time.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._calls: dict[Key, _Call] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._calls)

    def join(
        self, principal: str, name: str, arguments: Mapping[str, Any], key: str, start: Callable[[], Invocation]
    ) -> Invocation:
        """The call of this key, tool and arguments; `start` begins it where there is none.

        Raises:
            ActionCancelled: There was one, and it was given up.
            InternalError: As many run as can be told apart.
        """
        import json  # few clients send a key, and every client waits for what is imported at the start

        whole = (principal, name, key, json.dumps(arguments, sort_keys=True, default=str))
        call = self._calls.get(whole)
        if call is None:
            if len(self._calls) >= MOST:
                self._make_room()
            call = self._calls[whole] = _Call(start())
            call.invocation.then(lambda outcome: self._ended(whole, call, outcome))
        elif _was_given_up(call.invocation.outcome):
            raise ActionCancelled(GIVEN_UP)
        return call.invocation

    def _make_room(self) -> None:
        """Forget the oldest that has ended; one that runs and is forgotten could be begun a second time."""
        for key, call in self._calls.items():
            if call.invocation.outcome is not None:
                return self._forget(key)
        message = f"{MOST} calls with idempotency keys run, which is as many as may; try again later"
        raise InternalError(message, {"reason": "too_many_keyed_calls", "limit": MOST})

    def _ended(self, key: Key, call: _Call, outcome: Outcome) -> None:
        if self._calls.get(key) is not call:
            return
        call.size = size_of(outcome)
        self._size += call.size
        while self._size > ROOM:
            self._forget(next(key for key, kept in self._calls.items() if kept.size))
        if self._home.is_open:
            self._home.call_at(self._home.time() + GRACE, lambda: self._expire(key, call))

    def _expire(self, key: Key, call: _Call) -> None:
        if self._calls.get(key) is call:
            self._forget(key)

    def _forget(self, key: Key) -> None:
        self._size -= self._calls.pop(key).size


def _was_given_up(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, ActionCancelled)


def size_of(outcome: Outcome) -> int:
    """About how many bytes a result takes."""
    value = getattr(outcome.value, "value", outcome.value) if isinstance(outcome, Done) else None
    try:
        return len(encode(value)) + 1
    except ValueError:
        return 1
