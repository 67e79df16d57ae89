"""One call that an app runs for a client, and what it asks meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..home import Home
from ..invocation import Body, Invocation, Outcome, Reply, Sample
from ..mcp.provider import Caller
from ..protocol.jsonrpc import Id, Request
from .patience import Patience, late


class App(Protocol):
    """What a call needs of the app that runs it; `ConnectedApp` is one."""

    @property
    def name(self) -> str: ...
    @property
    def home(self) -> Home: ...
    def forget(self, call: RunningCall, /) -> None: ...
    def cancel(self, call: RunningCall, /) -> None: ...
    def goes_on(self, call: RunningCall, /) -> None: ...
    def replied(self, question: OpenQuestion, reply: Reply, /) -> None: ...


class OpenQuestion:
    """A question that an app's call has open.

    Attributes:
        call: The call.
        request: What asked it, to be answered.
        to_wire: What a reply is on the wire.
        is_sampling: It asks the client's model, not the person.
        id: The question's, within the invocation.
    """

    __slots__ = ("call", "id", "is_sampling", "request", "to_wire")

    def __init__(
        self, call: RunningCall, request: Request, to_wire: Callable[[Reply], dict[str, Any]], *, is_sampling: bool
    ) -> None:
        self.call: RunningCall = call
        self.request: Request = request
        self.to_wire: Callable[[Reply], dict[str, Any]] = to_wire
        self.is_sampling: bool = is_sampling
        self.id: int = 0

    def replied(self, reply: Reply) -> None:
        self.call.replied(self, reply)


class RunningCall:
    """One call. Thousands may wait at once, so it is one object, and what it hands out are its methods.

    Args:
        app: Who runs it.
        id: What the app knows it by.
        action: What is called.
        caller: Who calls.
        seconds: How long the app may take, by its own word; `None` for as long as it likes.

    Attributes:
        invocation: The call as its readers see it; set at once.
        caller: The newest that it goes on for.
        told: The one that an app of ours knows of.
    """

    __slots__ = (
        "_action",
        "_app",
        "_patience",
        "_questions",
        "_seconds",
        "caller",
        "id",
        "invocation",
        "told",
    )

    invocation: Invocation

    def __init__(self, app: App, id: str, action: str, caller: Caller, seconds: float | None) -> None:
        self._app = app
        self._action = action
        self._seconds = seconds
        self._patience = Patience(app.home, seconds, self._late) if seconds is not None else None
        self._questions: list[OpenQuestion] = []
        self.id: str = id
        self.caller: Caller = caller
        self.told: Caller = caller

    # For its invocation

    def cancel(self) -> None:
        """Its readers give it up."""
        self._app.cancel(self)

    def go_on(self, caller: Caller) -> None:
        """It goes on for another caller."""
        self.caller = caller
        self._app.goes_on(self)

    def ended(self, outcome: Outcome) -> None:
        """It is over."""
        if self._patience is not None:
            self._patience.stop()
            self._patience = None  # which knows this call
        self._app.forget(self)

    def _late(self) -> None:
        assert self._seconds is not None
        self._app.cancel(self)
        late(self.invocation, self._app.name, f"the call of {self._action}", self._seconds)

    # What it asks

    @property
    def sampling(self) -> int:
        """How many sampling requests it has open."""
        return sum(question.is_sampling for question in self._questions)

    def ask(self, request: Request, body: Body, key: str | None, to_wire: Callable[[Reply], dict[str, Any]]) -> None:
        """Put what a request of the app asks; the reply answers it.

        Raises:
            TesseronError: As many are open as may be, or the call is over.
        """
        question = OpenQuestion(self, request, to_wire, is_sampling=isinstance(body, Sample))
        question.id = self.invocation.ask(body, on_reply=question.replied, key=key).id
        self._questions.append(question)
        request.params = None  # it may wait for long, and is only to be answered
        self._asks()

    def withdraw(self, request_id: Id) -> None:
        """The app gives a question up; one that it has not asked is none."""
        for question in self._questions:
            if type(question.request.id) is type(request_id) and question.request.id == request_id:
                self._forget(question)
                self.invocation.withdraw(question.id)
                return

    def replied(self, question: OpenQuestion, reply: Reply) -> None:
        """One of its questions has its reply."""
        self._forget(question)
        self._app.replied(question, reply)

    def _forget(self, question: OpenQuestion) -> None:
        self._questions.remove(question)
        self._asks()

    def _asks(self) -> None:
        """The app's time stands still while a question is open."""
        if self._patience is not None:
            self._patience.asks(bool(self._questions))
