"""Calls that wait between two requests of their client: started by the first leg, owned by none.

It owns which call a `requestState` leads to, the keys its questions have, and how long it and its result are kept. What
the calls do is the provider's; how a leg is answered is `leg.py`'s. No task waits for a parked call.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import TooManyPrompts
from ..home import Home
from ..invocation import Form, Invocation, Outcome, Question, Unavailable, Url
from .exchange import Pending
from .questions import reply_from_result
from .repeats import size_of

logger = logging.getLogger("tesseron_py.mcp.parked")

OVERHEAD: Final = 1024
"""What a kept result costs besides its text, in bytes."""
_LOOKS: Final = 16
"""How often it is looked, within the shortest time that counts, for what is overdue."""


class ParkedCall:
    """One call with questions that a client was asked, or had been.

    Attributes:
        id: What a state names it by.
        pending: The call, and how its result is made.
        asked: How many questions have been put: the number of the last.
    """

    __slots__ = ("_owner", "_put", "asked", "id", "left", "pending", "size")

    def __init__(self, owner: Parked, id: bytes, pending: Pending) -> None:
        self._owner = owner
        self.id: bytes = id
        self.pending: Pending = pending
        self.asked: int = 0
        self.left: float = 0.0
        self.size: int = 0
        self._put: dict[str, tuple[int, Question]] = {}

    @property
    def invocation(self) -> Invocation:
        return self.pending.invocation

    def ended(self, outcome: Outcome) -> None:
        """It has its result, and needs nothing else any more."""
        self._put.clear()
        self._owner._ended(self, outcome)

    def was_put(self, question: Question) -> bool:
        """Whether a client has been asked it already."""
        return self._key_of(question) is not None

    def key(self, question: Question) -> str:
        """The key under which it is asked: its own, or a random one; the same in every round."""
        known = self._key_of(question)
        if known is None:
            if self._put:  # what nobody asks any more leaves its key to others
                open = {asked.id for asked in self.invocation.view().open}
                self._put = {key: put for key, put in self._put.items() if put[1].id in open}
            known = question.key
            if known is None or known in self._put:
                known = secrets.token_urlsafe(12)
            self.asked += 1
            self._put[known] = self.asked, question
        return known

    def _key_of(self, question: Question) -> str | None:
        return next((key for key, (_, put) in self._put.items() if put.id == question.id), None)

    def put_off(self, key: str) -> None:
        """The question of this key is not put now, and may be later."""
        del self._put[key]

    def refuse(self, key: str, reply: Unavailable) -> None:
        """The question of this key could not be put after all."""
        _, question = self._put.pop(key)
        self.invocation.answer(question.id, reply)

    def answer(self, responses: Mapping[str, Any], asked: int) -> None:
        """Hand in a leg's answers: each to the question of its key, if that had been put when the leg's state was made.

        A key of an earlier round does not answer a later question of the same name. What is no answer at all (for a
        form: no object, or one without a string `action`) is passed over, so that the question is asked again.
        """
        for key, response in responses.items():
            number, question = self._put.get(key, (0, None))
            if question is None or number > asked or not isinstance(response, Mapping):
                continue
            if isinstance(question.body, Form | Url) and not isinstance(response.get("action"), str):
                continue
            del self._put[key]
            self.invocation.answer(question.id, reply_from_result(question.body, response))


class Parked:
    """The parked calls of one endpoint.

    Args:
        home: Who keeps the time.
        most: Calls that may wait at once; the next is refused, none is sent away for it.
        lifetime: Seconds after which a call that nobody has come back for is cancelled.
        grace: Seconds for which a result is kept for legs that are repeated.
        room: Bytes of results that are kept in all; the oldest go first.
    """

    def __init__(self, home: Home, *, most: int, lifetime: float, grace: float, room: int) -> None:
        self._home = home
        self._most = most
        self._lifetime = lifetime
        self._grace = grace
        self._room = room
        self._waiting: dict[bytes, ParkedCall] = {}
        self._kept: dict[bytes, ParkedCall] = {}
        self._of: dict[Invocation, ParkedCall] = {}
        self._size = 0
        self._looking = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def kept(self) -> int:
        """How many results are kept."""
        return len(self._kept)

    def __iter__(self) -> Iterator[ParkedCall]:
        """Those that wait."""
        return iter(list(self._waiting.values()))

    def find(self, id: bytes) -> ParkedCall | None:
        """The call, waiting or with its result; `None` when it is gone."""
        return self._waiting.get(id) or self._kept.get(id)

    def park(self, pending: Pending) -> ParkedCall:
        """The parked call of what a leg waits for; one more, if this is the first time that it asks.

        Raises:
            TooManyPrompts: As many wait as may.
        """
        call = self._of.get(pending.invocation)
        if call is None:
            if len(self._waiting) >= self._most:
                message = f"{self._most} calls wait for their answers here, which is as many as may; try again later"
                raise TooManyPrompts(message, {"reason": "too_many_parked_calls", "limit": self._most})
            call = ParkedCall(self, secrets.token_bytes(16), pending)
            self._waiting[call.id] = self._of[pending.invocation] = call
            pending.invocation.then(call.ended)
        call.left = self._home.time()
        pending.invocation.park(call.left + self._lifetime)
        self._look_in()
        return call

    def of(self, pending: Pending) -> ParkedCall | None:
        """The parked call of what a leg waits for, if it has asked before."""
        return self._of.get(pending.invocation)

    def weigh(self, pending: Pending, size: int) -> None:
        """A leg has made the text of the call's result; now its size is known, in bytes."""
        call = self._of.get(pending.invocation)
        if call is not None and call.id in self._kept:
            self._size += size - call.size
            call.size = size
            self._make_room()

    def _ended(self, call: ParkedCall, outcome: Outcome) -> None:
        del self._waiting[call.id]
        self._kept[call.id] = call
        call.left = self._home.time()
        # A leg that waits for the result is about to make its text, and then its size is known for nothing.
        call.size = 0 if call.invocation.readers else size_of(outcome)
        self._size += OVERHEAD + call.size
        self._make_room()
        self._look_in()

    def _make_room(self) -> None:
        while self._size > self._room:
            self._forget(next(iter(self._kept.values())))

    def _forget(self, call: ParkedCall) -> None:
        del self._kept[call.id]
        del self._of[call.invocation]
        self._size -= OVERHEAD + call.size

    def _look_in(self) -> None:
        if not self._looking and self._home.is_open:
            self._looking = True
            self._home.call_at(self._home.time() + min(self._lifetime, self._grace) / _LOOKS, self._look)

    def _look(self) -> None:
        """One timer looks now and then, since one for each call would cost each call more than this costs all."""
        self._looking = False
        now = self._home.time()
        for call in list(self._kept.values()):
            if call.left + self._grace > now:
                break
            self._forget(call)
        for call in list(self._waiting.values()):
            if call.left + self._lifetime <= now and not call.invocation.readers:
                logger.info("A call is cancelled: its client has not come back for %g s", self._lifetime)
                call.invocation.cancel("The client did not come back")
        if self._waiting or self._kept:
            self._look_in()


GONE: Final = (
    "The call is not here any more: nobody came back for it in time, its result was kept long enough, or it was begun"
    " in another process or before a restart. Nothing more is done; call again without the requestState if it is to be"
    " done anew"
)
"""What a leg hears whose state is good, and whose call is gone."""
