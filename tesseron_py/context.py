"""What a running action holds: its context, and the ways to ask the person and the agent.

A `Context` turns what an author asks into Tesseron requests and what comes back into values; it knows a `Line` that
carries them, not the session behind it. Every question fails closed: whatever is not clearly a yes is none
(Tesseron 1.2 §5).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

from .asking import Accepted, Asking, Cancelled, Declined, Unasked
from .errors import (
    ActionCancelled,
    ActionError,
    ElicitationNotAvailable,
    InvalidAnswer,
    MalformedAnswer,
    SamplingNotAvailable,
    TesseronError,
)
from .protocol.messages import (
    CONFIRM_SCHEMA,
    ELICIT,
    LISTS_SINCE,
    LOG,
    PROGRESS,
    SAMPLE,
    AgentInfo,
    Capabilities,
)
from .schema.binary import with_base64
from .unset import UNSET

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from .schema.elicitation import AnswerForm

T = TypeVar("T")

Level: TypeAlias = Literal["debug", "info", "warn", "error"]
_LEVELS = frozenset({"debug", "info", "warn", "error"})


class Line(Protocol):
    """What carries a running action's requests and notifications."""

    @property
    def agent(self) -> AgentInfo: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def cancelled(self) -> bool: ...

    @property
    def revision(self) -> str | None:
        """The revision of MCP that this call's client speaks; `None` where the gateway does not say."""
        ...

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and wait for its result; the action's clock stands still meanwhile.

        Raises:
            TesseronError: The other end answered with an error, or is gone.
        """
        ...

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification; dropped when the call is over."""
        ...


@runtime_checkable
class Clocked(Protocol):
    """A line whose action has a clock."""

    def _pause(self) -> None:
        """The clock stands still until there were as many `_resume`."""
        ...

    def _resume(self) -> None: ...


class Bridge(Protocol):
    """How a worker thread reaches its event loop."""

    @property
    def cancelled(self) -> bool: ...

    def call(self, fn: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `fn()` in the event loop and wait for it.

        Raises:
            ActionCancelled: The call was given up, before or meanwhile.
        """
        ...


@runtime_checkable
class Parking(Protocol):
    """A bridge whose thread has a place that others wait for."""

    def ask(
        self, fn: Callable[[], Coroutine[Any, Any, T]], *, pause: Callable[[], None], resume: Callable[[], None]
    ) -> T:
        """As `Bridge.call`, for what may take long, a person or a model: meanwhile others may have the thread's place.

        Args:
            fn: What is run.
            pause: Called in the event loop when `fn()` has ended and the thread has to wait for a place.
            resume: Called in the event loop, once after each `pause`, when it has one.

        Raises:
            ActionCancelled: The call was given up, before or meanwhile.
        """
        ...


class _Facts:
    """What both kinds of context say of the running action."""

    __slots__ = ("_line", "action", "invocation_id", "route", "state")

    def __init__(self, line: Line, *, action: str, invocation_id: str, state: Any = None, route: str | None = None):
        self._line = line
        self.action: str = action
        """The name of the running action."""
        self.invocation_id: str = invocation_id
        """The id of this call, unique within its session."""
        self.state: Any = state
        """What the app's `lifespan` yielded."""
        self.route: str | None = route
        """Where in the app the caller is, as its gateway says; usually `None`."""

    @property
    def agent(self) -> AgentInfo:
        """Who calls: `id` and `name`, as the client gave them."""
        return self._line.agent

    @property
    def capabilities(self) -> Capabilities:
        """What this call's client can do."""
        return self._line.capabilities


class Context(_Facts):
    """The context of an `async def` action: declare a parameter of this type to receive it.

    Example:
        ```python
        @app.action
        async def clear_completed(ctx: Context) -> int:
            if not await ctx.confirm("Remove every completed todo?"):
                return 0
            return store.clear()
        ```
    """

    __slots__ = ("_highest", "_unasked")

    def __init__(
        self, line: Line, *, action: str, invocation_id: str, state: Any = None, route: str | None = None
    ) -> None:
        super().__init__(line, action=action, invocation_id=invocation_id, state=state, route=route)
        self._highest = 0.0
        self._unasked = Unasked()

    def check_asked(self) -> None:
        """Whoever runs the action asks this when it has returned.

        Raises:
            RuntimeError: A question was not awaited.
        """
        self._unasked.check()

    @property
    def cancelled(self) -> bool:
        """Whether the call was given up: cancelled, timed out, or its connection is gone."""
        return self._line.cancelled

    def confirm(self, question: str, *, key: str | None = None) -> Asking[bool]:
        """Ask the person for a yes.

        True only if they accepted. Declined, dismissed, timed out, a client that cannot ask, an error or an answer that
        is none: False, never an exception.

        Args:
            question: What the person reads; it should name what happens on yes.
            key: A name for this question that is the same whenever the action asks it.

        Raises:
            ValueError: The question is blank.
        """
        return Asking(self._confirm(question, key), "ctx.confirm(…)", self._unasked)

    async def _confirm(self, question: str, key: str | None) -> bool:
        _check_question(question)
        if not self.capabilities.elicitation:
            return False
        try:
            reply = await self._ask_person({"question": question, "schema": dict(CONFIRM_SCHEMA)}, key)
        except ActionCancelled:
            raise
        except TesseronError:
            return False
        try:
            action, _ = _read_reply(reply)
        except MalformedAnswer:
            return False
        return action == "accept"

    @overload
    def elicit(self, question: str, *, key: str | None = None) -> Asking[str | None]: ...
    @overload
    def elicit(
        self, question: str, *, json_schema: Mapping[str, Any], key: str | None = None
    ) -> Asking[dict[str, Any] | None]: ...
    @overload
    def elicit(self, question: str, schema: type[T], *, key: str | None = None) -> Asking[T | None]: ...
    @overload
    def elicit(self, question: str, schema: TypeForm[T], *, key: str | None = None) -> Asking[T | None]: ...
    def elicit(
        self,
        question: str,
        schema: Any = UNSET,
        *,
        json_schema: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Asking[Any]:
        """Ask the person for a value. `None` when they declined or dismissed it.

        Args:
            question: What the person reads.
            schema: A model, dataclass, TypedDict or NamedTuple, or one value's type; without it, a string.
            json_schema: Instead of `schema`: a flat JSON object schema, sent as it stands.
            key: A name for this question that is the same whenever the action asks it.

        Raises:
            InvalidAnswer: They accepted, and what they gave does not fit.
            MalformedAnswer: The answer is none.
            ElicitationNotAvailable: This call's client cannot ask; nothing was sent.
            InvalidSchema: The schema cannot be asked for; nothing was sent.
            TooManyPrompts: As many questions are open as may be.
        """
        return Asking(self._elicit(question, schema, json_schema, key), "ctx.elicit(…)", self._unasked)

    async def _elicit(self, question: str, schema: Any, json_schema: Mapping[str, Any] | None, key: str | None) -> Any:
        answer = await self._ask(question, schema, json_schema, 1, key)
        return answer.value if isinstance(answer, Accepted) else None

    @overload
    def ask(
        self, question: str, *, attempts: int = 1, key: str | None = None
    ) -> Asking[Accepted[str] | Declined | Cancelled]: ...
    @overload
    def ask(
        self, question: str, *, json_schema: Mapping[str, Any], attempts: int = 1, key: str | None = None
    ) -> Asking[Accepted[dict[str, Any]] | Declined | Cancelled]: ...
    @overload
    def ask(
        self, question: str, schema: type[T], *, attempts: int = 1, key: str | None = None
    ) -> Asking[Accepted[T] | Declined | Cancelled]: ...
    @overload
    def ask(
        self, question: str, schema: TypeForm[T], *, attempts: int = 1, key: str | None = None
    ) -> Asking[Accepted[T] | Declined | Cancelled]: ...
    def ask(
        self,
        question: str,
        schema: Any = UNSET,
        *,
        json_schema: Mapping[str, Any] | None = None,
        attempts: int = 1,
        key: str | None = None,
    ) -> Asking[Any]:
        """Ask the person for a value, and tell a refusal from a dismissal.

        Args:
            question: What the person reads.
            schema: As for `elicit`.
            json_schema: As for `elicit`.
            attempts: How often to ask while accepted answers do not fit; each further question says what was wrong
                with which field, and its form holds what was typed.
            key: As for `elicit`.

        Raises:
            InvalidAnswer: The last attempt's answer does not fit, either.
            ValueError: `attempts` is below 1, or the question is blank.
            TypeError: `attempts` is no whole number.
            TesseronError: As for `elicit`.
        """
        return Asking(self._ask(question, schema, json_schema, attempts, key), "ctx.ask(…)", self._unasked)

    async def _ask(
        self, question: str, schema: Any, json_schema: Mapping[str, Any] | None, attempts: int, key: str | None
    ) -> Accepted[Any] | Declined | Cancelled:
        _check_question(question)
        if isinstance(attempts, bool) or not hasattr(attempts, "__index__"):
            raise TypeError(f"attempts is a whole number, not {type(attempts).__name__}")
        if attempts < 1:
            raise ValueError(f"attempts is at least 1, not {attempts}")
        form = _form(schema, json_schema, lists=self._has_lists() is True)
        if not self.capabilities.elicitation:
            raise ElicitationNotAvailable(
                "This agent's client cannot ask the person: it declared no elicitation with forms for this call"
            )
        text = question
        while True:
            attempts -= 1
            reply = await self._ask_person({"question": text, "schema": form.schema}, key)
            action, value = _read_reply(reply)
            match action:
                case "decline":
                    return Declined()
                case "cancel":
                    return Cancelled()
            try:
                return Accepted(form.parse(value))
            except InvalidAnswer as error:
                self._did_not_fit(text, value, error)
                if attempts <= 0:
                    raise
                text, form = form.again(question, value, error, booleans_only=self._has_lists() is not True)

    def _did_not_fit(self, question: str, content: dict[str, Any], error: InvalidAnswer) -> None:
        if (listener := unfit_answers.get()) is not None:
            listener(question, content, error)

    def _has_lists(self) -> bool | None:
        """Whether this call's client can show, in a form, a list and the defaults of all fields; `None`: not known."""
        revision = self._line.revision
        return None if revision is None else revision >= LISTS_SINCE

    def ask_url(self, question: str, url: str) -> Asking[Accepted[None] | Declined | Cancelled]:
        """Ask the person to go to `url`.

        `Accepted(None)` says that they agreed to go, not that they did there what you want.

        Raises:
            ElicitationNotAvailable: This call's client cannot send a person to a URL; nothing was sent.
            ValueError: The question is blank, or `url` is not an absolute http or https URL.
        """
        return Asking(self._ask_url(question, url), "ctx.ask_url(…)", self._unasked)

    async def _ask_url(self, question: str, url: str) -> Accepted[None] | Declined | Cancelled:
        _check_question(question)
        if not url.lower().startswith(("https://", "http://")) or len(url.split("/")) < 3 or not url.split("/")[2]:
            raise ValueError(f"a person can be sent to an absolute http or https URL, not to {url!r}")
        if not self.capabilities.elicitation_url:
            raise ElicitationNotAvailable(
                "This agent's client cannot send the person to a URL: it declared no URL elicitation for this call",
                {"requiredCapabilities": {"elicitation": {"url": {}}}},
            )
        params = {"question": question, "schema": dict(CONFIRM_SCHEMA), "kind": "url", "url": url}
        action, _ = _read_reply(await self._ask_person(params, None))
        match action:
            case "decline":
                return Declined()
            case "cancel":
                return Cancelled()
        return Accepted(None)

    def _ask_person(self, params: dict[str, Any], key: str | None) -> Coroutine[Any, Any, Any]:
        params["invocationId"] = self.invocation_id
        if key is not None:
            params["key"] = key
        return self._line.ask(ELICIT, params)

    @overload
    def sample(self, prompt: str, *, max_tokens: int | None = None) -> Asking[str]: ...
    @overload
    def sample(self, prompt: str, schema: type[T], *, max_tokens: int | None = None) -> Asking[T]: ...
    @overload
    def sample(self, prompt: str, schema: TypeForm[T], *, max_tokens: int | None = None) -> Asking[T]: ...
    def sample(self, prompt: str, schema: Any = UNSET, *, max_tokens: int | None = None) -> Asking[Any]:
        """Ask the agent's model. Without `schema` its text, with one a validated value (Tesseron 1.2 §6).

        Args:
            prompt: What the model reads.
            schema: Any type pydantic validates; the model's text is parsed as JSON.
            max_tokens: How long its answer may be.

        Raises:
            SamplingNotAvailable: This call's client cannot sample; nothing was sent.
            SamplingDepthExceeded: Too many sampling requests are open.
            ActionError: The answer does not fit `schema`; `data` holds its text.
        """
        return Asking(self._sample(prompt, schema, max_tokens), "ctx.sample(…)", self._unasked)

    async def _sample(self, prompt: str, schema: Any, max_tokens: int | None) -> Any:
        from .schema.sampling import sample_form, text_of

        form = None if schema is UNSET else sample_form(schema)
        if not self.capabilities.sampling:
            raise SamplingNotAvailable("This agent's client cannot sample: it declared no sampling for this call")
        params: dict[str, Any] = {"invocationId": self.invocation_id, "prompt": prompt}
        if form is not None:
            params["schema"] = form.schema
        if max_tokens is not None:
            params["maxTokens"] = max_tokens
        reply = await self._line.ask(SAMPLE, params)
        content = reply.get("content") if isinstance(reply, dict) else reply
        if content is None:
            raise ActionError("The model's answer has no content")
        return text_of(content) if form is None else form.parse(content)

    async def progress(self, percent: float | None = None, message: str | None = None, *, data: Any = None) -> None:
        """Report how far the action is. Dropped once the call is over.

        Args:
            percent: 0 to 100; clamped, and never falls within one call (Tesseron 1.2 §4).
            message: What to tell the person.
            data: Anything JSON can hold, for clients that know it.

        Raises:
            ValueError: `percent` is NaN, or `data` cannot be encoded.
            TypeError: `percent` is no number, or `message` no string.
        """
        if percent is not None and not hasattr(percent, "__float__"):
            raise TypeError(_no_percent(percent))
        if message is not None and not isinstance(message, str):
            raise TypeError(_no_message(percent, message))
        params: dict[str, Any] = {"invocationId": self.invocation_id}
        if percent is not None:
            if percent != percent:
                raise ValueError("percent is a number from 0 to 100, not NaN")
            self._highest = max(self._highest, min(percent, 100.0), 0.0)
            highest = self._highest
            params["percent"] = int(highest) if highest == int(highest) else highest
        if message is not None:
            params["message"] = message
        if data is not None:
            params["data"] = with_base64(data)
        await self._line.notify(PROGRESS, params)

    async def log(self, message: str, *, level: Level = "info", **meta: Any) -> None:
        """Send a log entry to the agent's client. Dropped once the call is over.

        Args:
            message: The entry.
            level: debug, info, warn or error.
            meta: Anything else, as JSON.

        Raises:
            ValueError: The level is none of them, or `meta` cannot be encoded.
        """
        if level not in _LEVELS:
            raise ValueError(f'level is "debug", "info", "warn" or "error", not {level!r}')
        params: dict[str, Any] = {"invocationId": self.invocation_id, "level": level, "message": message}
        if meta:
            params["meta"] = with_base64(meta)
        await self._line.notify(LOG, params)


class SyncContext(_Facts):
    """The context of a `def` action, which runs in a worker thread: the same methods, returning values.

    Once the call is given up, `cancelled` is true and the next method raises `ActionCancelled`.

    Example:
        ```python
        @app.action
        def clear_completed(ctx: SyncContext) -> int:
            return store.clear() if ctx.confirm("Remove every completed todo?") else 0
        ```
    """

    __slots__ = ("_bridge", "_context")

    def __init__(self, context: Context, bridge: Bridge) -> None:
        super().__init__(
            context._line,
            action=context.action,
            invocation_id=context.invocation_id,
            state=context.state,
            route=context.route,
        )
        self._context = context
        self._bridge = bridge

    @property
    def cancelled(self) -> bool:
        """Whether the call was given up: cancelled, timed out, or its connection is gone."""
        return self._bridge.cancelled or self._line.cancelled

    def _call(self, fn: Callable[[], Coroutine[Any, Any, T]]) -> T:
        bridge, line = self._bridge, self._line
        if isinstance(bridge, Parking) and isinstance(line, Clocked):
            value = bridge.ask(fn, pause=line._pause, resume=line._resume)
        else:
            value = bridge.call(fn)
        if self.cancelled:  # the answer and the end came at once: an answer to a call that is over is none
            raise ActionCancelled("The call is over: it was given up, or its handler has returned")
        return value

    def confirm(self, question: str, *, key: str | None = None) -> bool:
        """Ask the person for a yes; see `Context.confirm`. False, too, when the call is given up meanwhile."""
        if self.cancelled:
            raise ActionCancelled("The call is over: it was given up, or its handler has returned")
        try:
            return self._call(lambda: self._context._confirm(question, key))
        except ActionCancelled:
            return False

    @overload
    def elicit(self, question: str, *, key: str | None = None) -> str | None: ...
    @overload
    def elicit(
        self, question: str, *, json_schema: Mapping[str, Any], key: str | None = None
    ) -> dict[str, Any] | None: ...
    @overload
    def elicit(self, question: str, schema: type[T], *, key: str | None = None) -> T | None: ...
    @overload
    def elicit(self, question: str, schema: TypeForm[T], *, key: str | None = None) -> T | None: ...
    def elicit(
        self,
        question: str,
        schema: Any = UNSET,
        *,
        json_schema: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Any:
        """Ask the person for a value; see `Context.elicit`."""
        return self._call(lambda: self._context._elicit(question, schema, json_schema, key))

    @overload
    def ask(
        self, question: str, *, attempts: int = 1, key: str | None = None
    ) -> Accepted[str] | Declined | Cancelled: ...
    @overload
    def ask(
        self, question: str, *, json_schema: Mapping[str, Any], attempts: int = 1, key: str | None = None
    ) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
    @overload
    def ask(
        self, question: str, schema: type[T], *, attempts: int = 1, key: str | None = None
    ) -> Accepted[T] | Declined | Cancelled: ...
    @overload
    def ask(
        self, question: str, schema: TypeForm[T], *, attempts: int = 1, key: str | None = None
    ) -> Accepted[T] | Declined | Cancelled: ...
    def ask(
        self,
        question: str,
        schema: Any = UNSET,
        *,
        json_schema: Mapping[str, Any] | None = None,
        attempts: int = 1,
        key: str | None = None,
    ) -> Any:
        """Ask the person for a value, and tell a refusal from a dismissal; see `Context.ask`."""
        return self._call(lambda: self._context._ask(question, schema, json_schema, attempts, key))

    def ask_url(self, question: str, url: str) -> Accepted[None] | Declined | Cancelled:
        """Ask the person to go to `url`; see `Context.ask_url`."""
        return self._call(lambda: self._context._ask_url(question, url))

    @overload
    def sample(self, prompt: str, *, max_tokens: int | None = None) -> str: ...
    @overload
    def sample(self, prompt: str, schema: type[T], *, max_tokens: int | None = None) -> T: ...
    @overload
    def sample(self, prompt: str, schema: TypeForm[T], *, max_tokens: int | None = None) -> T: ...
    def sample(self, prompt: str, schema: Any = UNSET, *, max_tokens: int | None = None) -> Any:
        """Ask the agent's model; see `Context.sample`."""
        return self._call(lambda: self._context._sample(prompt, schema, max_tokens))

    def progress(self, percent: float | None = None, message: str | None = None, *, data: Any = None) -> None:
        """Report how far the action is; see `Context.progress`."""
        self._bridge.call(lambda: self._context.progress(percent, message, data=data))

    def log(self, message: str, *, level: Level = "info", **meta: Any) -> None:
        """Send a log entry to the agent's client; see `Context.log`."""
        self._bridge.call(lambda: self._context.log(message, level=level, **meta))


def _no_percent(percent: object) -> str:
    said = f"percent is a number from 0 to 100, not {type(percent).__name__}"
    if isinstance(percent, str):
        try:
            share = float(percent.strip().removesuffix("%"))
        except ValueError:
            share = -1.0
        said += f"; write {share:g}" if 0 <= share <= 100 else "; what to tell the person goes in message"
    return said


def _no_message(percent: float | None, message: object) -> str:
    said = f"a progress message is a string, not {type(message).__name__}"
    if percent is not None and isinstance(message, (int, float)) and message > 0:
        share = 100 * percent / message
        said += f"; how far it is goes in percent alone: progress({share:g}) for {percent:g} of {message:g}"
    return said


def _check_question(question: object) -> None:
    if not isinstance(question, str):
        raise TypeError(f"a question is a string, not {type(question).__name__}")
    if not question.strip():
        raise ValueError("a question says what the person decides; it is blank")


def _form(schema: Any, json_schema: Mapping[str, Any] | None, *, lists: bool) -> AnswerForm:
    from .schema import elicitation

    if json_schema is not None:
        if schema is not UNSET:
            raise TypeError("give a schema or a json_schema, not both")
        return elicitation.form_for_json_schema(json_schema)
    return elicitation.plain_form() if schema is UNSET else elicitation.form_for(schema, lists=lists)


def _read_reply(reply: object) -> tuple[str, Any]:
    """The action and the value of a reply; an action that is none of the three is no answer (Tesseron 1.2 §5)."""
    if not isinstance(reply, dict):
        raise _malformed("The answer is not an object", reply)
    action, value = reply.get("action"), reply.get("value")
    if action in ("decline", "cancel"):
        return str(action), None
    if action != "accept":
        shown = repr(action) if action is None or (isinstance(action, str) and len(action) <= 40) else "something else"
        raise _malformed(f'The answer\'s action is {shown}, not "accept", "decline" or "cancel"', reply)
    if value is not None and not isinstance(value, dict):
        raise _malformed("The answer's value is not an object", reply)
    return "accept", value if value is not None else {}


def _malformed(message: str, reply: object) -> MalformedAnswer:
    error = MalformedAnswer(message)
    error.answer = reply  # not its data, which would go to the agent
    return error


# The running action, from anywhere below it -----------------------------------------------------------------------

running: ContextVar[Context | SyncContext] = ContextVar("tesseron_py_context")
"""The context of the action that runs here."""

unfit_answers: ContextVar[Callable[[str, dict[str, Any], InvalidAnswer], None] | None] = ContextVar(
    "tesseron_py_unfit_answers", default=None
)
"""Hears of every accepted answer that does not fit: the question as it was put, the content, and why.

It is for a test kit: who scripted the answer may know what no agent may.
"""


def current_context() -> Context:
    """The context of the running `async def` action.

    Raises:
        LookupError: No action runs here.
        RuntimeError: The action is a `def`; use `tesseron_py.sync.current_context`.
    """
    return _current("current_context")


def _current(name: str) -> Context:
    context = running.get(None)
    if context is None:
        raise LookupError(f"{name}() is for code below a running action, and none runs here")
    if isinstance(context, SyncContext):
        raise RuntimeError(f"below a `def` action, use tesseron_py.sync.{name}(), which returns the value itself")
    return context


def confirm(question: str, *, key: str | None = None) -> Asking[bool]:
    """Ask the person for a yes, from anywhere below an `async def` action; see `Context.confirm`."""
    context = _current("confirm")
    return Asking(context._confirm(question, key), "confirm(…)", context._unasked)


@overload
def elicit(question: str, *, key: str | None = None) -> Asking[str | None]: ...
@overload
def elicit(
    question: str, *, json_schema: Mapping[str, Any], key: str | None = None
) -> Asking[dict[str, Any] | None]: ...
@overload
def elicit(question: str, schema: type[T], *, key: str | None = None) -> Asking[T | None]: ...
@overload
def elicit(question: str, schema: TypeForm[T], *, key: str | None = None) -> Asking[T | None]: ...
def elicit(
    question: str, schema: Any = UNSET, *, json_schema: Mapping[str, Any] | None = None, key: str | None = None
) -> Asking[Any]:
    """Ask the person for a value, from anywhere below an `async def` action; see `Context.elicit`."""
    context = _current("elicit")
    return Asking(context._elicit(question, schema, json_schema, key), "elicit(…)", context._unasked)


@overload
def ask(
    question: str, *, attempts: int = 1, key: str | None = None
) -> Asking[Accepted[str] | Declined | Cancelled]: ...
@overload
def ask(
    question: str, *, json_schema: Mapping[str, Any], attempts: int = 1, key: str | None = None
) -> Asking[Accepted[dict[str, Any]] | Declined | Cancelled]: ...
@overload
def ask(
    question: str, schema: type[T], *, attempts: int = 1, key: str | None = None
) -> Asking[Accepted[T] | Declined | Cancelled]: ...
@overload
def ask(
    question: str, schema: TypeForm[T], *, attempts: int = 1, key: str | None = None
) -> Asking[Accepted[T] | Declined | Cancelled]: ...
def ask(
    question: str,
    schema: Any = UNSET,
    *,
    json_schema: Mapping[str, Any] | None = None,
    attempts: int = 1,
    key: str | None = None,
) -> Asking[Any]:
    """Ask the person for a value, and tell a refusal from a dismissal; see `Context.ask`."""
    context = _current("ask")
    return Asking(context._ask(question, schema, json_schema, attempts, key), "ask(…)", context._unasked)
