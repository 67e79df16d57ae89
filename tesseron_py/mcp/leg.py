"""One request of the modern era; of a call that asks, one of its legs.

A leg ends with the result, or with what the call asks by now, and the client repeats the request with the answers. What
is between two legs is `parked.py`'s; which call a leg belongs to, `modern.py` says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint

from ..errors import ErrorCode, TesseronError
from ..invocation import Failed, Invocation, Outcome, Question, Share, Unavailable, View
from ..jsontext import encode
from .envelope import Request, result_text, size_above
from .exchange import Begin, Exchange, Outlet, Pending
from .limits import EndpointLimits
from .messages import INPUT_REQUIRED, MISSING_CAPABILITY, MODERN_VERSION, ProtocolError
from .notes import Notes
from .parked import Parked, ParkedCall
from .prompts import Prompts
from .provider import Caller
from .questions import lacking_capability, to_request
from .repeats import size_of
from .seal import State

logger = logging.getLogger("tesseron_py.mcp.leg")

QUIET: Final = 0.01
"""Seconds that a leg waits at most for more questions, so that those asked together go out together."""

_NO_PROMPTS: Final = Prompts(0)
_NEEDED: Final[Mapping[int, Mapping[str, Any]]] = {
    ErrorCode.ELICITATION_NOT_AVAILABLE: {"elicitation": {}},
    ErrorCode.SAMPLING_NOT_AVAILABLE: {"sampling": {}},
}


class Leg(Exchange):
    """One request; see `Exchange` for what is not here.

    Args:
        decorate: Adds to a result what every result of this request has.
        parked: Where its call is kept once it has asked.
        seal: Makes the `requestState` that leads to it.
    """

    def __init__(
        self,
        request: Request,
        outlet: Outlet,
        begin: Begin,
        *,
        caller: Caller | None,
        notes: Notes,
        limits: EndpointLimits,
        decorate: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        parked: Parked,
        seal: Callable[[State], str],
    ) -> None:
        super().__init__(
            request,
            outlet,
            begin,
            caller=caller,
            version=MODERN_VERSION,
            prompts=_NO_PROMPTS,
            notes=notes,
            limits=limits,
        )
        self._decorate = decorate
        self._parked = parked
        self._seal = seal
        self._weighed = False
        self._stale: ProtocolError | None = None

    def only_for_its_result(self, otherwise: ProtocolError) -> None:
        """Its state is too old for questions: it gets the call's result, or `otherwise` where the call asks again."""
        self._stale = otherwise

    def overlook(self, invocation: Invocation) -> None:
        """What the call has told until now was told to nobody, and is not told to this leg either."""
        self._seen = invocation.last_note

    def abort(self, error: ProtocolError) -> None:
        """The server ends it: the call is given up, and the client hears why."""
        if self._cancelled or self._finished:
            return
        self.refuse(error)
        if self._share is not None:
            self._share.give_up(error.message)
        if self._waits is not None:
            self._waits.cancel()

    async def settle(self) -> None:
        await super().settle()
        if self._pending is None or self.over or self._news():
            return  # what was told before a question comes before it
        invocation = self._pending.invocation
        view = invocation.view()
        if view.open and view.outcome is None:
            try:
                await self._attend(invocation, view)
            except ProtocolError as error:
                self.refuse(error)

    async def _attend(self, invocation: Invocation, view: View) -> bool:
        """Make what is asked the response, as soon as it is quiet."""
        if not view.open or view.outcome is not None:
            return False
        view = await _quiet(invocation, view)
        pending, share = self._pending, self._share
        if not view.open or view.outcome is not None or self._cancelled or pending is None or share is None:
            return False
        if self._stale is not None:
            share.leave()
            raise self._stale
        asked = self._asked(pending, view.open, share)
        if len(asked) < len(view.open):
            if asked:  # most handlers give up when one question cannot be put, and then nobody need be asked the rest
                with anyio.move_on_after(QUIET):
                    await invocation.changed(invocation.view().version)
            return False
        try:
            call = self._parked.park(pending)
        except TesseronError as error:
            share.give_up(error.message)
            self._text = self._response(pending, Failed(error))
            return True
        text = self._asking(call, asked)
        if text is None:
            return False
        self._text = text
        share.leave()
        return True

    def _asked(
        self, pending: Pending, questions: tuple[Question, ...], share: Share
    ) -> list[tuple[Question, dict[str, Any]]]:
        """Each question with the request that puts it. Those that cannot be put are left out, and answered so.

        Raises:
            ProtocolError: Another leg has put it, or can; this leg cannot go on with the call, which stays.
        """
        asked: list[tuple[Question, dict[str, Any]]] = []
        refused: list[tuple[Question, Unavailable]] = []
        call = self._parked.of(pending)
        for question in questions:
            request = to_request(question.body, self.version, self.caller.capabilities)
            if not isinstance(request, Unavailable):
                method, params = request
                asked.append((question, {"method": method, "params": params or {}}))
                continue
            needed = lacking_capability(question.body, self.caller.capabilities)
            if needed is not None and (pending.invocation.readers > 1 or (call is not None and call.was_put(question))):
                share.leave()
                raise _missing(request.reason, needed)
            refused.append((question, request))
        for question, unavailable in refused:
            pending.invocation.answer(question.id, unavailable)
        return asked

    def _asking(self, call: ParkedCall, asked: list[tuple[Question, dict[str, Any]]]) -> str | None:
        """The text of the result that asks; `None` when a question could not be sent, and was answered so.

        Questions that fit a result alone and not together are asked one after the other: the rest with a later leg.
        """
        while True:
            requests = {call.key(question): request for question, request in asked}
            state = self._seal(State(call.id, call.asked))
            result = {"resultType": INPUT_REQUIRED, "inputRequests": requests, "requestState": state}
            try:
                text = result_text(self.request.id, self._decorate(result))
                size = size_above(text, self._outlet.room)
                if size is None:
                    return text
                problem = f"it is {size} bytes long, and this client takes {self._outlet.room}"
            except ValueError as error:
                problem = str(error)
            key = _worst(requests)
            if len(asked) == 1 or not _can_be_sent(requests[key]):
                call.refuse(key, Unavailable(f"the question cannot be sent: {problem}"))
                return None
            asked = [(question, request) for question, request in asked if request is not requests[key]]
            call.put_off(key)

    def finish(self) -> str | None:
        pending = None if self._finished else self._pending
        text = super().finish()
        if pending is not None and not self._weighed and pending.invocation.outcome is not None:
            # The call ended while this leg waited, and its client is gone: nobody has made the text.
            self._parked.weigh(pending, size_of(pending.invocation.outcome))
        return text

    def _response(self, pending: Pending, outcome: Outcome) -> str:
        if isinstance(outcome, Failed) and outcome.error.code in _NEEDED:
            return self._fitting(self._error(_missing(outcome.error.message, self._needed(outcome.error))))
        text = super()._response(pending, outcome)
        if outcome is pending.invocation.outcome:  # what is kept is that, even where something else goes out
            self._weighed = True
            self._parked.weigh(pending, len(text))
        return text

    def not_begun(self, error: TesseronError, conclude: Callable[[Outcome], Mapping[str, Any]]) -> Mapping[str, Any]:
        if error.code in _NEEDED:
            raise _missing(error.message, self._needed(error))
        return super().not_begun(error, conclude)

    def _needed(self, error: TesseronError) -> Mapping[str, Any]:
        """The capability that a call failed for want of: what it says itself, or what its code does."""
        said = error.data.get("requiredCapabilities") if isinstance(error.data, Mapping) else None
        if isinstance(said, Mapping):
            return said
        if error.code == ErrorCode.ELICITATION_NOT_AVAILABLE and self.caller.capabilities.url:
            return {"elicitation": {"form": {}}}  # it has declared the other mode
        return _NEEDED[error.code]

    def _result(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._decorate(result)


async def _quiet(invocation: Invocation, view: View) -> View:
    """The view once a whole pass of the event loop has changed nothing in it, or `QUIET` has passed.

    A provider that is another process takes longer than a pass between two questions that it asks at once.
    """
    ends = invocation.time() + QUIET
    while True:
        if invocation.spread:
            with anyio.move_on_after(invocation.spread):
                await invocation.changed(view.version)
        else:
            await checkpoint()
        now = invocation.view()
        if now.version == view.version or now.outcome is not None or invocation.time() >= ends:
            return now
        view = now


def _can_be_sent(request: Mapping[str, Any]) -> bool:
    try:
        encode(request)
    except ValueError:
        return False
    return True


def _worst(requests: Mapping[str, Any]) -> str:
    """The key of the question to give up: one that cannot be encoded, else the longest."""
    sizes: dict[str, int] = {}
    for key, request in requests.items():
        try:
            sizes[key] = len(encode(request))
        except ValueError:
            return key
    return max(sizes, key=lambda key: sizes[key])


def _missing(message: str, needed: Mapping[str, Any]) -> ProtocolError:
    return ProtocolError(MISSING_CAPABILITY, message, {"requiredCapabilities": needed}, status=400)
