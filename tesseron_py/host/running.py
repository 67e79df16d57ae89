"""One call that an app runs: its answer, its clock, and the line its handler asks over.

The answer goes out exactly once, and at once when the call is cancelled or its time is up, whatever the handler does
next (Tesseron 1.2 §4).
"""

from __future__ import annotations

import inspect
import logging
import math
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from ..bindings.channel import TooLarge
from ..content import blocks_of
from ..context import Bridge, Context, SyncContext, running
from ..errors import (
    ActionCancelled,
    ActionError,
    ActionTimeout,
    ElicitationNotAvailable,
    InvalidSchema,
    TesseronError,
)
from ..protocol.messages import ELICIT, WITHDRAW, AgentInfo, Capabilities
from ..schema.binary import with_base64
from ..schema.handler import place_of

if TYPE_CHECKING:
    from ..actions import AnyAction
    from ..home import Task, Timer
    from ..protocol.jsonrpc import Request
    from .session import Session

logger = logging.getLogger("tesseron_py.host")


class RunningCall:
    """A call of an action, from its request to its answer; the `Line` of its context."""

    __slots__ = (
        "_action",
        "_agent",
        "_asking",
        "_asking_since",
        "_capabilities",
        "_deadline",
        "_needs_thread",
        "_raw",
        "_request",
        "_route",
        "_session",
        "_timer",
        "invocation_id",
        "over",
        "revision",
        "task",
    )

    def __init__(
        self,
        session: Session,
        request: Request,
        action: AnyAction,
        *,
        raw: Any,
        invocation_id: str,
        route: str | None,
        agent: AgentInfo | None,
        capabilities: Capabilities | None,
        revision: str | None,
    ) -> None:
        self._session = session
        self._request = request
        self._action = action
        self._raw = raw
        self._agent = agent
        self._capabilities = capabilities
        self.revision: str | None = revision
        """The revision of MCP that the caller's client speaks, where the gateway says it."""
        self.invocation_id: str = invocation_id
        self.over: bool = False
        """The answer is on its way; nothing more is asked or reported."""
        self.task: Task | None = None
        """What runs it."""
        self._route = route
        self._timer: Timer | None = None
        self._deadline = math.inf
        self._asking = 0
        self._asking_since = 0.0
        self._needs_thread = False

    # The line of the context

    def go_on(self, agent: AgentInfo, capabilities: Capabilities, revision: str | None) -> None:
        """The call goes on for another caller: what its handler sees from now on, also in a thread."""
        self._agent, self._capabilities, self.revision = agent, capabilities, revision

    @property
    def agent(self) -> AgentInfo:
        return self._agent if self._agent is not None else self._session.agent

    @property
    def capabilities(self) -> Capabilities:
        can = self._capabilities if self._capabilities is not None else self._session.capabilities
        if can.elicitation_url and not self._session.extended:
            # Another gateway would take the question for a bare confirm, and a yes to that is none to a page.
            return replace(can, elicitation_url=False)
        return can

    @property
    def cancelled(self) -> bool:
        return self.over

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if self.over:
            raise ActionCancelled("The call is over; nothing can be asked any more")
        if not self._session.extended:
            params.pop("key", None)
        self._pause()
        try:
            asked = self._session.request(method, params, on_abandon=self._withdraw if method == ELICIT else None)
            del params  # the reply may be long in coming
            reply = await asked
        finally:
            self._resume()
        if self.over:  # the answer and the end came at once: an answer to a call that is over is none
            await anyio.lowlevel.checkpoint()  # where the cancellation arrives, unless the author shields from it
            raise ActionCancelled("The call ended while the question was open")
        return reply

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        if not self.over:
            await self._session.notify(method, params)

    def _withdraw(self, request_id: int) -> None:
        # The handler gave one question up; a gateway of ours takes it back from the person.
        if self._session.extended and not self.over:
            self._session.notify_soon(WITHDRAW, {"invocationId": self.invocation_id, "requestId": request_id})

    # The clock, which stands still while a question is open

    def _start_clock(self) -> None:
        if self._action.timeout is not None:
            self._deadline = self._session.home.time() + self._action.timeout
            self._timer = self._session.home.call_at(self._deadline, self._look)

    def _pause(self) -> None:
        self._asking += 1
        if self._asking == 1:
            self._asking_since = self._session.home.time()

    def _resume(self) -> None:
        self._asking -= 1
        if self._asking == 0:
            self._deadline += self._session.home.time() - self._asking_since
            if self._timer is None:
                self._look()

    def _look(self) -> None:
        """The time may be up. One timer that looks costs less than moving it with every question."""
        self._timer = None
        if self._asking or self.over or self._action.timeout is None:
            return
        home, workers = self._session.home, self._session.workers
        if home.time() >= self._deadline and self._needs_thread and workers.abandoned < workers.size:
            # Others have the threads, and theirs is the time; threads that nobody's call holds may never come back.
            self._deadline = home.time() + self._action.timeout
        if home.time() < self._deadline:
            self._timer = home.call_at(self._deadline, self._look)
        else:
            self.end(ActionTimeout(f"The action {self._action.name!r} did not end within {self._action.timeout:g} s"))

    def _got_thread(self) -> None:
        """A `def` handler's time begins when it has a thread."""
        self._needs_thread = False
        if self._action.timeout is not None:
            self._deadline = self._session.home.time() + self._action.timeout

    # Its end

    def end(self, error: TesseronError | None) -> None:
        """The call is over before its handler is: answer with `error`, unless `None`, and cancel the handler."""
        if self.over:
            return
        self._close()
        if error is not None:
            self._session.refuse_soon(self._request, error)
        if self.task is not None:
            self.task.cancel()

    def _close(self) -> None:
        self.over = True
        self._session.forget_call(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def run(self) -> None:
        """Run the handler and answer."""
        try:
            if self.over:
                return
            result: dict[str, Any] | None = None
            error: TesseronError | None = None
            try:
                self._start_clock()
                result = await self._perform()
            except anyio.get_cancelled_exc_class():
                if self.over or not self._session.home.is_open:
                    raise
                # Nobody cancelled this call: the handler's own doing.
                error = ActionError(f"The action {self._action.name!r} cancelled itself")
            except BaseException as problem:  # an exit of the handler's own is its error, and ends nothing else
                error = self._session.error_of(f"The action {self._action.name!r}", problem)
            if self.over:
                return
            # From here on `end` does nothing, so that the answer, which may have to wait for the gateway, goes out
            # whole.
            self._close()
            if error is None:
                error = await self._session.answer(self._request, result, self._action)
            if error is not None:
                await self._session.refuse(self._request, error)
        finally:
            self._session.handler_ended(self)

    async def _perform(self) -> dict[str, Any]:
        action = self._action
        # It knows this call, so this call does not know it: a circle would be left to the garbage collector.
        context = Context(
            self,
            action=action.name,
            invocation_id=self.invocation_id,
            state=self._session.state,
            route=self._route,
        )
        bound = action.signature.bind(self._raw)
        self._raw = None  # the call may wait for long
        if action.annotations.requires_elicitation and not self.capabilities.elicitation:
            raise ElicitationNotAvailable(
                f"The action {action.name!r} needs to ask the person, and this agent's client cannot"
            )
        asked = self.capabilities.elicitation  # the answer may come with another caller
        if action.gate is not None and not await action.gate.opens(context, bound.shown):
            call = self._session.run_author_function
            return self._result(await action.gate.refusal(call, strict=action.strict, asked=asked))
        self._check_wanted()
        if action.signature.is_async:
            running.set(context)
            output = bound.call(action.fn, context)
            del bound  # the call may wait for long
        else:
            self._needs_thread = True
            output = await self._session.workers.run(
                self._in_thread(bound.call, context), name=f"The action {action.name!r}", on_slot=self._got_thread
            )
        if inspect.isawaitable(output):  # a `def` may return a coroutine, and what wraps an `async def` a plain value
            running.set(context)  # it runs in here
            try:
                output = await output
            except ActionCancelled as error:
                if self.over or action.signature.is_async or action.signature.context_parameter is None:
                    raise
                raise RuntimeError(
                    "its `def` gave a coroutine, which runs in the event loop when the `def` has returned, and there"
                    " SyncContext asks nothing; make it an `async def` that takes Context"
                ) from error
        context.check_asked()
        return self._result(output)

    def _check_wanted(self) -> None:
        if self.over:
            raise ActionCancelled("The call was over before its handler began")

    def _in_thread(self, call: Callable[..., Any], context: Context) -> Callable[[Bridge], Any]:
        def run(bridge: Bridge) -> Any:
            self._check_wanted()
            sync = SyncContext(context, bridge)
            running.set(sync)
            return call(self._action.fn, sync)

        return run

    def _result(self, output: Any) -> dict[str, Any]:
        blocks = blocks_of(output)
        if blocks is not None and not self._action.strict:
            output = blocks if isinstance(output, (list, tuple)) else blocks[0]
        elif self._action.strict and self._action.output is not None:
            output = self._action.output.check(output)
        else:
            output = with_base64(output)
        result: dict[str, Any] = {"invocationId": self.invocation_id, "output": output}
        if blocks is not None and self._session.extended:
            result["content"] = blocks
        return result


def error_of(what: str, problem: BaseException, *, masked: bool) -> TesseronError:
    """What an exception of an author's function is on the wire; the log has all of it.

    A `TesseronError` stays what it is, also alone in a group; the log has only those that the agent cannot mend and the
    author can, where they came from. Anything else is -32005 with its text, or `masked` with a neutral text and a
    reference that stands in the log beside the traceback.
    """
    while isinstance(problem, BaseExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    if isinstance(problem, TesseronError):
        if isinstance(problem, InvalidSchema):
            logger.error("%s failed", what, exc_info=problem)
        if isinstance(problem.message, str):
            return problem
        return TesseronError(problem.code, _text(problem.message), problem.data)
    if masked:
        reference = secrets.token_hex(4)
        logger.error("%s failed (reference %s)", what, reference, exc_info=problem)
        return ActionError(f"It failed; the app's log has the details under reference {reference}")
    logger.error("%s failed", what, exc_info=problem)
    text = _text(problem)
    if isinstance(problem, KeyError) and text:
        text = f"KeyError: {text}"  # whose text is the key alone
    return ActionError(text or type(problem).__name__)


def unencodable(what: str, problem: ValueError, *, masked: bool, action: AnyAction | None = None) -> TesseronError:
    """The error of something that cannot go on the wire; the log has what `masked` keeps from it, and the action."""
    if isinstance(problem, TooLarge):
        return ActionError(f"{what} cannot go on the wire: {problem}")
    whose = "" if action is None else f" of the action {action.name!r}, {place_of(action.fn)},"
    error = error_of(f"Encoding {what[0].lower()}{what[1:]}{whose}", problem, masked=masked)
    return ActionError(f"{what} cannot go on the wire: {error.message}")


def _text(said: object) -> str:
    """What an author's exception says of itself, as far as it can."""
    try:
        text = str(said)
    except Exception:
        return type(said).__name__
    return text
