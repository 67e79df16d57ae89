"""Contexts with a scripted person, for calling a handler alone: no app, no connection, no event loop of ours."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..context import Context, SyncContext
from ..errors import InvalidAnswer, SamplingNotAvailable
from ..gateway.answers import APPROVE, approval
from ..invocation import Accept, Log, Progress
from ..protocol.messages import ELICIT, LISTS_SINCE, LOG, PROGRESS, AgentInfo, Capabilities
from .answers import Answers, Asked, Prompt, Script

T = TypeVar("T")


class ScriptedLine:
    """The other end of a scripted context: answers questions from the script and notes what is reported."""

    cancelled = False
    revision: str | None = LISTS_SINCE

    def __init__(self, script: Script, sampling: Callable[[str], str] | None, *, elicitation: bool) -> None:
        self._script = script
        self._sampling = sampling
        self.agent: AgentInfo = AgentInfo("test-agent", "test-agent")
        self.capabilities: Capabilities = Capabilities(
            streaming=True,
            subscriptions=True,
            sampling=sampling is not None,
            elicitation=elicitation,
            elicitation_url=elicitation,
        )
        self.progress: list[Progress] = []
        self.logs: list[Log] = []

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if method != ELICIT:
            if self._sampling is None:
                raise SamplingNotAvailable("This context has no model; give it sampling=…")
            return {"content": self._sampling(params["prompt"])}
        url = params.get("url")
        # As a gateway puts it to the person: a confirm as a form to approve, where accepting alone is no yes.
        confirms = url is None and not params["schema"].get("properties")
        schema = dict(APPROVE) if confirms else params["schema"]
        prompt = Prompt(params["question"], schema, None, url)
        answer = self._script.answer_now(prompt)
        if answer.action != "accept":
            return {"action": answer.action}
        content = self._script.content(answer, prompt)
        return approval(Accept(content)) if confirms else {"action": "accept", "value": content}

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == PROGRESS:
            self.progress.append(Progress(params.get("percent"), params.get("message"), params.get("data")))
        elif method == LOG:
            self.logs.append(Log(params["level"], params["message"], params.get("meta")))


class _Noted:
    """What a test looks at afterwards."""

    _script: Script
    _line: Any

    @property
    def questions(self) -> list[Asked]:
        """What the person was asked, in order, each with the answer."""
        return self._script.asked

    @property
    def notes(self) -> list[str]:
        """Where the script and the questions did not go together."""
        return self._script.notes

    @property
    def progress_seen(self) -> list[Progress]:
        """What the handler reported, in order."""
        return list(self._line.progress)

    @property
    def logs_seen(self) -> list[Log]:
        """What the handler logged, in order."""
        return list(self._line.logs)


class ScriptedContext(Context, _Noted):
    """A `Context` with a scripted person; made by `context`."""

    def __init__(self, line: ScriptedLine, script: Script, action: str, state: Any) -> None:
        super().__init__(line, action=action, invocation_id="test", state=state)
        self._script = script

    def _did_not_fit(self, question: str, content: dict[str, Any], error: InvalidAnswer) -> None:
        self._script.did_not_fit(question, content, error)


class ScriptedSyncContext(SyncContext, _Noted):
    """A `SyncContext` with a scripted person; made by `sync_context`."""

    def __init__(self, context: ScriptedContext) -> None:
        super().__init__(context, _Inline())
        self._script = context._script


class _Inline:
    """A bridge without a thread: what a scripted context asks is answered without waiting."""

    cancelled = False

    def call(self, fn: Callable[[], Coroutine[Any, Any, T]]) -> T:
        coroutine = fn()
        try:
            coroutine.send(None)
        except StopIteration as result:
            return result.value  # type: ignore[no-any-return]  # a coroutine's result comes as Any
        coroutine.close()
        raise RuntimeError("a scripted context answers at once, and this waited for something")


def context(
    answers: Answers = (),
    *,
    elicitation: bool = True,
    sampling: Callable[[str], str] | None = None,
    state: Any = None,
    action: str = "test",
) -> ScriptedContext:
    """A context for calling an `async def` handler alone.

    Args:
        answers: As for `Agent`; functions among them return their answer at once.
        elicitation: `False` is a client that cannot ask.
        sampling: The agent's model: a function from a prompt to text.
        state: What `ctx.state` is.
        action: What `ctx.action` is.

    Example:
        ```python
        ctx = context(answers=[accept()])
        await clear_completed(ctx=ctx)
        assert ctx.questions[0].question == "Remove 5 todos?"
        ```
    """
    script = Script(answers)
    return ScriptedContext(ScriptedLine(script, sampling, elicitation=elicitation), script, action, state)


def sync_context(
    answers: Answers = (),
    *,
    elicitation: bool = True,
    sampling: Callable[[str], str] | None = None,
    state: Any = None,
    action: str = "test",
) -> ScriptedSyncContext:
    """A context for calling a `def` handler alone; its parameters are `context`'s."""
    return ScriptedSyncContext(context(answers, elicitation=elicitation, sampling=sampling, state=state, action=action))
