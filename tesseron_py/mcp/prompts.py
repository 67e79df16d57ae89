"""The questions that wait with one client: which of our requests is which question of which call.

It owns the ids of our requests and their number, and nothing of how they get to the client. An answer counts for the
session it came in, and once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..invocation import Invocation, Malformed, Question, Reply
from .questions import reply_from_response

_OURS = re.compile(r"q-([1-9][0-9]{0,17})", re.ASCII)


class Prompts:
    """The open prompts of one session, at most `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: dict[str, tuple[Invocation, Question]] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def full(self) -> bool:
        return len(self._open) >= self.limit

    def put(self, invocation: Invocation, question: Question) -> str:
        """Keep the question until it is answered or withdrawn; the id is that of the request to send."""
        self._last += 1
        id = f"q-{self._last}"
        self._open[id] = (invocation, question)
        return id

    def withdraw(self, id: str) -> bool:
        """Nobody waits for the answer any more; `False` when it has come, and the client need not be told."""
        return self._open.pop(id, None) is not None

    def answer(self, id: Any, message: Mapping[str, Any]) -> bool:
        """Hand a response to the call that asked; `False` for one that nobody waits for, which is dropped."""
        return self._settle(id, lambda question: reply_from_response(question.body, message))

    def issued(self, id: Any) -> bool:
        """Whether a request of ours had that id, open or not."""
        found = _OURS.fullmatch(id) if isinstance(id, str) else None
        return found is not None and int(found[1]) <= self._last

    def spoil(self, id: Any) -> bool:
        """A message with this id is neither response nor request: the question has had its answer, and it is none."""
        return self._settle(id, lambda _: Malformed(None))

    def _settle(self, id: Any, reply: Callable[[Question], Reply]) -> bool:
        waiting = self._open.pop(id, None) if isinstance(id, str) else None
        if waiting is None:
            return False
        invocation, question = waiting
        invocation.answer(question.id, reply(question))
        return True
