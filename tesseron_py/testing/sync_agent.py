"""`SyncAgent`: an `Agent` for tests that are plain functions, and what a factory of them takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal

from ..invocation import Log, Progress
from ..mcp.client_era import EraChoice
from ..mcp.provider import Change, Era
from .agent import ActionFailed, Agent, Target
from .answers import Answers, Asked


class SyncAgent:
    """An `Agent` that runs in an event loop of its own, in a thread; its parameters are `Agent`'s.

    Example:
        ```python
        with SyncAgent(app, answers=[accept()]) as agent:
            assert agent.call("clear_completed") == 5
        ```
    """

    def __init__(
        self,
        app: Target,
        answers: Answers = (),
        *,
        elicitation: bool = True,
        sampling: Callable[[str], str | Awaitable[str]] | None = None,
        era: EraChoice = "auto",
        name: str = "test-agent",
        dispatch: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self._agent = Agent(
            app, answers, elicitation=elicitation, sampling=sampling, era=era, name=name, dispatch=dispatch
        )
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> SyncAgent:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            agent: AbstractContextManager[Agent] = portal.wrap_async_context_manager(self._agent)
            stack.enter_context(agent)
            self._portal = portal
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it; may be repeated."""
        self._portal = None
        self._stack.close()

    def _run(self, fn: Any, *args: Any) -> Any:
        __tracebackhide__ = True
        if self._portal is None:
            raise RuntimeError("the agent is not connected; write `with SyncAgent(app) as agent:`")
        try:
            return self._portal.call(fn, *args)
        except ActionFailed as failed:
            raise failed.with_traceback(None) from None  # the way through the threads tells a test nothing

    @property
    def era(self) -> Era:
        """The era that is spoken."""
        return self._agent.era

    @property
    def questions(self) -> list[Asked]:
        """What the person was asked, in order, each with the answer."""
        return self._agent.questions

    @property
    def notes(self) -> list[str]:
        """Where the script and the questions did not go together; see `Agent.notes`."""
        return self._agent.notes

    @property
    def changes(self) -> list[Change]:
        """The changes that the agent was told of."""
        return self._agent.changes

    @property
    def progress(self) -> list[Progress]:
        """What actions reported, in order."""
        return self._agent.progress

    @property
    def logs(self) -> list[Log]:
        """What actions logged, in order."""
        return self._agent.logs

    def call(self, action: str, input: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Call an action and return its output; see `Agent.call`."""
        __tracebackhide__ = True
        return self._run(lambda: self._agent.call(action, input, timeout=timeout))

    def read(self, resource: str) -> Any:
        """Read a resource by its name; see `Agent.read`."""
        __tracebackhide__ = True
        return self._run(self._agent.read, resource)

    def subscribe(self, resource: str) -> None:
        """Follow a resource; see `Agent.subscribe`."""
        __tracebackhide__ = True
        self._run(self._agent.subscribe, resource)

    def updated(self, resource: str, *, timeout: float = 5.0) -> None:
        """Wait until the agent is told that a resource it follows has changed; see `Agent.updated`."""
        __tracebackhide__ = True
        self._run(lambda: self._agent.updated(resource, timeout=timeout))

    def tools(self) -> list[dict[str, Any]]:
        """The tools, as an MCP client sees them."""
        tools: list[dict[str, Any]] = self._run(self._agent.tools)
        return tools


class AgentFactory(Protocol):
    """What the pytest fixture `tesseron_agent` gives: connects a `SyncAgent` that ends with the test.

    Example:
        ```python
        def test_the_list_is_cleared(tesseron_agent: AgentFactory) -> None:
            assert tesseron_agent(app, answers=[accept()]).call("clear_completed") == 5
        ```
    """

    def __call__(
        self,
        app: Target,
        answers: Answers = (),
        *,
        elicitation: bool = True,
        sampling: Callable[[str], str | Awaitable[str]] | None = None,
        era: EraChoice = "auto",
        name: str = "test-agent",
        dispatch: Callable[[Callable[[], None]], object] | None = None,
    ) -> SyncAgent:
        """Connect an agent; the parameters are `Agent`'s."""
        ...
