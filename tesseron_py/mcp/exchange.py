"""One request of a client, from its arrival to its response: the conversation of a call that waits.

An `Exchange` runs in the carrier's own task. It puts the call's new questions to the client, withdraws those that are
gone, passes progress and log on, and says what the response is. It knows neither the methods of MCP (`legacy.py`) nor
how a message travels: an `Outlet` is where one request's own messages go.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import anyio

from ..errors import InternalError, TesseronError
from ..invocation import TOO_MANY_PROMPTS, Failed, Invocation, Outcome, Question, Share, Unavailable, View
from ..web.asgi import Gone
from .envelope import Request, error_text, notification_text, request_text, result_text, size_above
from .limits import EndpointLimits
from .messages import CANCELLED, INTERNAL_ERROR, ProtocolError
from .notes import Notes
from .prompts import Prompts
from .provider import Caller
from .questions import to_request
from .readiness import Readiness

logger = logging.getLogger("tesseron_py.mcp.exchange")


class Outlet(Protocol):
    """Where the messages of one request go, besides and before its response. One task uses it at a time."""

    @property
    def can_stream(self) -> bool:
        """Whether anything but the response can be sent."""
        ...

    @property
    def frame(self) -> int:
        """Bytes one message may have."""
        ...

    @property
    def room(self) -> int:
        """Bytes the response may have, as things stand."""
        ...

    async def send(self, text: str) -> None:
        """Send one message.

        Raises:
            Gone: The client does not take it.
        """
        ...

    async def keep_alive(self) -> None:
        """Show that the call is alive, where the carrier has a way that is no message.

        Raises:
            Gone: The client does not take it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Pending:
    """A result that may take its time.

    Attributes:
        invocation: What is waited for.
        conclude: The result, from how it ended. Raises `ProtocolError`, or `ValueError` for what cannot be encoded;
            given a `Failed` it never raises the latter.
    """

    invocation: Invocation
    conclude: Callable[[Outcome], Mapping[str, Any]]


Begin: TypeAlias = Callable[["Exchange"], "Mapping[str, Any] | Pending"]


class Exchange:
    """One request and what comes of it.

    A carrier calls `settle` or `run` until `over`, then `finish`, whatever happened.

    Args:
        request: The request.
        outlet: Where its own messages go.
        begin: Starts it: a result, or what to wait for. Raises `ProtocolError` to refuse.
        caller: Who asks, and what the client can do during this request.
        version: The revision that is spoken.
        prompts: The session's open questions.
        notes: The notifications of this request.
        limits: The endpoint's limits.
    """

    def __init__(
        self,
        request: Request,
        outlet: Outlet,
        begin: Begin,
        *,
        caller: Caller | None,
        version: str,
        prompts: Prompts,
        notes: Notes,
        limits: EndpointLimits,
    ) -> None:
        self.request = request
        self.params: Mapping[str, Any] = request.params if isinstance(request.params, dict) else {}
        self.version = version
        self.on_finish: Callable[[Exchange], None] | None = None
        """Called once, when the exchange is finished."""
        self.status: int = 200
        """The HTTP status of its response, where that is not a stream already."""
        self._caller = caller
        self._outlet = outlet
        self._begin = begin
        self._prompts = prompts
        self._notes = notes
        self._limits = limits
        self._pending: Pending | None = None
        self._share: Share | None = None
        self._text: str | None = None
        self._cancelled = False
        self._finished = False
        self._shown: dict[int, str] = {}
        self._seen = 0
        self._unsent: list[str] = []
        self._waits: anyio.CancelScope | None = None

    @property
    def caller(self) -> Caller:
        """Who asks; there is one as soon as the session is initialized."""
        assert self._caller is not None
        return self._caller

    @property
    def over(self) -> bool:
        """Whether the response is there, or there will be none, and nothing need be sent before it."""
        if self._text is not None or self._cancelled:
            return not self._shown and not self._unsent
        if self._pending is None or self._shown or self._unsent:
            return False
        return self._pending.invocation.outcome is not None and not self._news()

    @property
    def started(self) -> bool:
        return self._pending is not None or self._text is not None

    def start(self) -> None:
        """Begin with it. A refusal becomes its response."""
        if self.started or self._cancelled:
            return
        try:
            begun = self._begin(self)
            if isinstance(begun, Pending):
                self._pending, self._share = begun, begun.invocation.join()
            else:
                self._text = self._fitting(result_text(self.request.id, self._result(begun)))
        except Exception as error:
            self.refuse(error)

    def not_begun(self, error: TesseronError, conclude: Callable[[Outcome], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The result of a call that the provider refused before it was one."""
        return conclude(Failed(error))

    def refuse(self, error: Exception) -> None:
        """Answer with an error; one that nobody foresaw is logged, and the client is told no more than that."""
        if not isinstance(error, ProtocolError):
            logger.error("Answering %s failed", self.request.method, exc_info=error)
            message = f"Internal error: answering {self.request.method} failed; the server's log says why"
            error = ProtocolError(INTERNAL_ERROR, message)
        self._text = self._error(error)

    async def settle(self) -> None:
        """Give the call a moment to end, before a carrier takes the trouble of watching its connection."""
        pending = self._pending
        if pending is None or self.over:
            return
        invocation = pending.invocation
        until = invocation.time() + self._limits.patience
        view = invocation.view()
        while view.outcome is None and not view.open and not self._news() and invocation.time() < until:
            view = await self._changed(invocation, view, until)

    async def run(self, readiness: Readiness) -> None:
        """Carry the conversation on until the call is over or given up. Raises nothing of its own."""
        try:
            if not self.started and not self._cancelled:
                with anyio.CancelScope() as self._waits:
                    await readiness.wait()
                self._waits = None
                self.start()
            if self._pending is not None:
                await self._converse(self._pending.invocation)
        except ProtocolError as error:
            self.refuse(error)
        except Gone as error:
            self.cancel(str(error))

    def cancel(self, reason: str) -> None:
        """Nobody waits for the response any more: the call is cancelled, and there will be none."""
        if self._cancelled:
            return
        self._cancelled = True
        if self._share is not None:
            self._share.give_up(reason)
        if self._waits is not None:
            self._waits.cancel()

    def finish(self) -> str | None:
        """The text of the response; `None` when there is to be none. The call is over with this in any case."""
        if self._finished:
            return None if self._cancelled else self._text
        self._finished = True
        if self._share is not None:
            self._share.give_up("The client is gone")
        for id in self._shown.values():
            self._prompts.withdraw(id)
        self._shown.clear()
        if self.on_finish is not None:
            self.on_finish(self)
        if self._cancelled:
            return None
        if self._text is None and self._pending is not None:
            if self._pending.invocation.outcome is None:  # its own task is ended from outside, and others wait for it
                self._cancelled = True
                return None
            self._conclude(self._pending)
        return self._text

    # The conversation

    async def _converse(self, invocation: Invocation) -> None:
        limits, streams = self._limits, self._outlet.can_stream
        view = invocation.view()
        alive_until = anyio.current_time() + limits.silence
        while True:
            self._news()
            unsent, self._unsent = self._unsent, []
            for text in unsent:
                await self._outlet.send(text)
            if unsent:  # sending took its time; what is asked by now may be something else
                view = invocation.view()
            if await self._attend(invocation, view):
                return
            if self._cancelled and self._shown:
                view = invocation.view()  # it was cancelled while a question was being sent, which is to be withdrawn
                continue
            if self._cancelled and view.outcome is None:
                return  # it has other readers, and goes on for them
            if view.outcome is not None:
                if not self._news():  # what the call told last, it may have told while others were sent
                    return
                continue
            if not streams:
                view = await self._changed(invocation, view)
                continue
            with anyio.CancelScope(deadline=alive_until):
                view = await self._changed(invocation, view)
            if anyio.current_time() >= alive_until:
                alive_until = anyio.current_time() + limits.silence
                await self._outlet.keep_alive()
                beat = self._notes.beat()
                if beat is not None:
                    await self._outlet.send(beat)

    async def _changed(self, invocation: Invocation, view: View, until: float = math.inf) -> View:
        notes_after = self._seen if self._outlet.can_stream else None
        return await invocation.changed(view.version, notes_after=notes_after, until=until)

    def _news(self) -> bool:
        """Whether there is something to tell, now that new notes are looked at."""
        if self._pending is None or not self._outlet.can_stream:
            return False
        for number, note in self._pending.invocation.notes_after(self._seen):
            self._seen = number
            text = self._notes.text(note)
            if text is None:
                continue
            if (size := size_above(text, self._outlet.frame)) is not None:
                logger.warning("A notification of %d bytes is dropped: a client takes %d", size, self._outlet.frame)
                continue
            self._unsent.append(text)
        return bool(self._unsent)

    async def _attend(self, invocation: Invocation, view: View) -> bool:
        """Put what is newly asked, and withdraw what nobody asks any more and the client has not answered.

        Returns:
            Whether the response is made with that, though the call is not over.
        """
        questions, shown = () if self._cancelled else view.open, self._shown
        if shown:
            still = {question.id for question in questions}
            for number in [number for number in shown if number not in still]:
                id = shown.pop(number)
                if self._prompts.withdraw(id):
                    params = {"requestId": id, "reason": "The question is no longer asked"}
                    await self._outlet.send(notification_text(CANCELLED, params))
        for question in questions:
            if self._cancelled:
                break
            if question.id in shown:
                continue
            text = self._put(invocation, question)
            if isinstance(text, Unavailable):
                invocation.answer(question.id, text)
            else:
                await self._outlet.send(text)
        return False

    def _put(self, invocation: Invocation, question: Question) -> str | Unavailable:
        asked = to_request(question.body, self.version, self.caller.capabilities)
        if isinstance(asked, Unavailable):
            return asked
        if self._prompts.full:
            return Unavailable(TOO_MANY_PROMPTS, self._prompts.limit)
        id = self._prompts.put(invocation, question)
        try:
            text = request_text(id, *asked)
            size = size_above(text, self._outlet.frame)
            problem = None if size is None else f"it is {size} bytes long, and this client takes {self._outlet.frame}"
        except ValueError as error:
            text, problem = "", str(error)
        if problem is not None:
            self._prompts.withdraw(id)
            return Unavailable(f"the question cannot be sent: {problem}")
        self._shown[question.id] = id
        return text

    # The response

    def _conclude(self, pending: Pending) -> None:
        outcome = pending.invocation.outcome
        assert outcome is not None
        try:
            self._text = self._response(pending, outcome)
        except ValueError as error:
            self._text = self._response(pending, Failed(InternalError(f"The result cannot be sent as JSON: {error}")))
        except Exception as error:  # without a response, the client would wait for it
            self.refuse(error)
            return
        size = size_above(self._text, self._outlet.room)
        if size is not None:
            message = f"The result is {size} bytes long, and this client takes {self._outlet.room}; ask for less"
            self._text = self._response(pending, Failed(InternalError(message)))

    def _response(self, pending: Pending, outcome: Outcome) -> str:
        try:
            return result_text(self.request.id, self._result(pending.conclude(outcome)))
        except ProtocolError as error:
            return self._fitting(self._error(error))

    def _result(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result as it goes out."""
        return result

    def _error(self, error: ProtocolError) -> str:
        self.status = error.status
        return error_text(self.request.id, error.code, error.message, error.data)

    def _fitting(self, text: str) -> str:
        size = size_above(text, self._outlet.room)
        if size is None:
            return text
        message = f"The response is {size} bytes long, and this client takes {self._outlet.room}"
        return error_text(self.request.id, INTERNAL_ERROR, message)
