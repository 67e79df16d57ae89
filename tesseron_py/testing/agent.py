"""`Agent`: an MCP client with a scripted person, connected to an app in this process or to a server outside."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import unquote

import anyio

from ..context import unfit_answers
from ..direct import memory_endpoint
from ..errors import ErrorCode, InvalidAnswer
from ..gateway.provider import resource_uri
from ..invocation import Accept, Cancel, Decline, Log, Progress
from ..mcp import client as mcp
from ..mcp.client_era import CHOICES, EraChoice
from ..mcp.client_transport import PipeTransport, Transport
from ..mcp.provider import Change, Era, ResourceUpdated
from ..workers import Workers
from .answers import Answers, Asked, Prompt, Script

if TYPE_CHECKING:
    from ..app import Tesseron

Target: TypeAlias = "Tesseron | str | Sequence[str] | Transport"
"""What an agent is connected to: an app, the URL of an MCP server, the command that starts one, or a way there."""

_LEVELS = {"warning": "warn"}


class ActionFailed(Exception):
    """A call failed: `code` and `data` are what the action failed with, `message` what the agent reads."""

    def __init__(self, code: int | None, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return self.message if self.code is None else f"{self.message} ({self.code})"


class Agent:
    """An agent for tests: an MCP client, and a person whose answers are scripted.

    An app runs as a direct server behind a memory pipe, all of it in this process and event loop: validation, gates,
    questions, timeouts.

    Args:
        app: The app under test. Or a server outside: its URL, the command that starts it (a list of words), or a
            transport of `tesseron_py.mcp`; resources then go by their whole URIs.
        answers: What the person says, in order: `accept(…)`, `decline()`, `cancel()`, or a function of the question;
            or one function for all. When none is left the answer is cancel.
        elicitation: `False` is an agent that cannot ask.
        sampling: The agent's model: a function from a prompt to text. Without it the agent cannot sample.
        era: The era of MCP to speak: `legacy` (2025-11-25), `modern` (2026-07-28), or `auto`: modern where the server
            speaks it.
        name: What the agent calls itself.
        dispatch: Runs `def` handlers of the app, as that of `app.start(dispatch=…)` does.

    Raises:
        TypeError: That is nothing an agent can be connected to, or no script; or `dispatch` is no function, or is given
            for a server outside.
        ValueError: There is no such era, or it is no URL of a server.

    Example:
        ```python
        async with Agent(app, answers=[accept({"warehouse_id": "WH-7"}), decline()]) as agent:
            stock = await agent.call("checkStock", {"sku": "A1"})
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
        if era not in CHOICES:
            raise ValueError(f"era is one of {', '.join(CHOICES)}, not {era!r}")
        self._transport, self._app_id = _way_to(app, dispatch, self._did_not_fit)
        self._era: EraChoice = era
        self._script = Script(answers, hears=self._app_id is not None)
        self._elicitation = elicitation
        self._sampling = sampling
        self._name = name
        self._stack = AsyncExitStack()
        self._client: mcp.McpClient | None = None
        self._problem: Exception | None = None
        self.progress: list[Progress] = []
        """What actions reported, in order."""
        self.logs: list[Log] = []
        """What actions logged, in order."""
        self.changes: list[Change] = []
        """The changes that the agent was told of: of its lists, and of resources it follows."""
        self._told = anyio.Event()
        self._followed: dict[str, int] = {}  # by URI, how many changes were there when it was last waited for

    @property
    def questions(self) -> list[Asked]:
        """What the person was asked, in order, each with the answer."""
        return self._script.asked

    @property
    def notes(self) -> list[str]:
        """Where the script and the questions did not go together: an answer that did not fit, or none was left.

        The log has them, too, and an `ActionFailed` those of its call, as its `__notes__`. Of a server outside, only
        what it tells of an answer is known.
        """
        return self._script.notes

    async def __aenter__(self) -> Agent:
        async with AsyncExitStack() as stack:
            client = mcp.McpClient(
                await stack.enter_async_context(self._transport()),
                answer=self._answer if self._elicitation else None,
                on_progress=self._on_progress,
                on_log=self._on_log,
                on_change=self._on_change,
                name=self._name,
                sampling=self._sample if self._sampling is not None else None,
                url=True,
                era=self._era,
            )
            self._client = await stack.enter_async_context(client)
            if "logging" in client.server.capabilities:
                await client.set_log_level("debug")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def client(self) -> mcp.McpClient:
        """The MCP client underneath."""
        if self._client is None:
            raise RuntimeError("the agent is not connected; write `async with Agent(app) as agent:`")
        return self._client

    @property
    def era(self) -> Era:
        """The era that is spoken."""
        return self.client.era

    async def call(self, action: str, input: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Call an action and return its output.

        Args:
            action: Its name.
            input: Its input; `None` is none.
            timeout: Seconds to wait; by default as long as it takes.

        Raises:
            ActionFailed: It failed; code, message and data are those of its error.
            Exception: A scripted answer could not be given; this is what came out of it.
        """
        __tracebackhide__ = True
        before, asked = len(self.notes), len(self.questions)
        try:
            return await self._call(action, input, timeout)
        except ActionFailed as failed:
            if self._app_id is None and failed.code == ErrorCode.HANDLER_ERROR:
                self._script.refused(action, failed.message, failed.data, after=asked)
            for note in self.notes[before:]:
                failed.add_note(note)
            raise

    async def _call(self, action: str, input: Mapping[str, Any] | None, timeout: float | None) -> Any:
        __tracebackhide__ = True
        try:
            result = await self.client.call(action, input, timeout=timeout)
        except mcp.MissingCapability as error:
            raise ActionFailed(_own_code(error), error.message, error.data) from None
        except mcp.McpError as error:
            raise ActionFailed(error.code, error.message, error.data) from None
        finally:
            self._check_script()
        if result.is_error:
            raise ActionFailed(result.code, result.text, result.data)
        return result.value

    def _check_script(self) -> None:
        """A script that could not answer is a fault of the test; to the app it was a refusal, which must not pass."""
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    async def read(self, resource: str) -> Any:
        """Read a resource by its name: the value that its read function returned, as JSON has it; bytes as `bytes`.

        Raises:
            ActionFailed: It cannot be read.
        """
        __tracebackhide__ = True
        try:
            return mcp.value_of(await self.client.read(self._uri(resource)))
        except mcp.McpError as error:
            raise ActionFailed(error.code, self._by_names(error), error.data) from None

    async def subscribe(self, resource: str) -> None:
        """Follow a resource; `updated` then waits for its updates, and `changes` tells of them.

        Raises:
            ActionFailed: It cannot be followed.
        """
        __tracebackhide__ = True
        uri = self._uri(resource)
        seen = len(self.changes)
        try:
            await self.client.subscribe(uri)
        except mcp.McpError as error:
            raise ActionFailed(error.code, self._by_names(error), error.data) from None
        except mcp.NoAnswer as error:
            raise ActionFailed(None, self._by_names(error)) from None
        self._followed.setdefault(uri, seen)

    async def updated(self, resource: str, *, timeout: float = 5.0) -> None:
        """Wait until the agent is told that a resource it follows has changed.

        An update that came since the last time this waited for it counts at once; several count as one.

        Args:
            resource: Its name.
            timeout: Seconds to wait at most.

        Raises:
            TimeoutError: It was told of none.
            RuntimeError: It does not follow the resource.
        """
        uri = self._uri(resource)
        if uri not in self._followed:
            raise RuntimeError(f"the agent does not follow {resource!r}; await agent.subscribe({resource!r}) first")
        with anyio.move_on_after(timeout):
            while ResourceUpdated(uri) not in self.changes[self._followed[uri] :]:
                await self._told.wait()
            self._followed[uri] = len(self.changes)
            return
        raise TimeoutError(f"the agent was told of no update of {resource!r} within {timeout:g} s")

    def _uri(self, resource: str) -> str:
        return resource if self._app_id is None else resource_uri(self._app_id, resource)

    def _by_names(self, error: mcp.McpError | mcp.NoAnswer) -> str:
        """What is wrong with a resource; of one that is not there, by its name where the test goes by names."""
        about = error.data if isinstance(error, mcp.McpError) else {"uri": None}
        if self._app_id is None or not isinstance(about, dict) or "uri" not in about:
            return str(error)
        uri = re.escape(resource_uri(self._app_id, "")) + r"([\w.~%-]*)"
        return re.sub(uri, lambda found: unquote(found[1]), str(error))

    async def tools(self) -> list[dict[str, Any]]:
        """The tools, as an MCP client sees them."""
        return await self.client.tools()

    async def _answer(self, question: mcp.Question) -> Accept | Decline | Cancel:
        prompt = Prompt(question.message, question.schema, question.call, question.url)
        try:
            answer = await self._script.answer(prompt)
            content = self._script.content(answer, prompt) if answer.action == "accept" else {}
        except Exception as problem:
            self._problem = problem
            return Cancel("the script has no answer")
        match answer.action:
            case "accept":
                return Accept(content)
            case "decline":
                return Decline()
            case "cancel":
                return Cancel("the script says cancel")

    def _did_not_fit(self, question: str, content: Mapping[str, Any], error: InvalidAnswer) -> None:
        self._script.did_not_fit(question, content, error)

    async def _sample(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._sampling is not None
        prompt = "\n".join(str(message["content"].get("text", "")) for message in params["messages"])
        text = self._sampling(prompt)
        if not isinstance(text, str):
            text = await text
        return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "scripted"}

    def _on_change(self, change: Change) -> None:
        self.changes.append(change)
        told, self._told = self._told, anyio.Event()
        told.set()

    def _on_progress(self, progress: mcp.Progress) -> None:
        self.progress.append(Progress(progress.progress, progress.message))

    def _on_log(self, log: mcp.Log) -> None:
        level = _LEVELS.get(log.level, log.level)
        if isinstance(log.data, dict):
            meta = dict(log.data)
            self.logs.append(Log(level, str(meta.pop("message", "")), meta))
        else:
            self.logs.append(Log(level, str(log.data)))


def _own_code(error: mcp.MissingCapability) -> int:
    """What the action failed with: the modern era has one code for everything that an agent may lack."""
    if "elicitation" in error.required:
        return ErrorCode.ELICITATION_NOT_AVAILABLE
    return ErrorCode.SAMPLING_NOT_AVAILABLE if "sampling" in error.required else error.code


def _way_to(
    target: object,
    dispatch: Callable[[Callable[[], None]], object] | None = None,
    on_unfit: Callable[[str, dict[str, Any], InvalidAnswer], None] | None = None,
) -> tuple[Callable[[], AbstractAsyncContextManager[Transport]], str | None]:
    """How to reach `target`, and the id of the app where it is one."""
    from ..app import Tesseron

    if isinstance(target, Tesseron):
        workers = Workers(target.threads, dispatch=dispatch) if dispatch is not None else None
        return lambda: _served(target, workers, on_unfit), target.id
    if dispatch is not None:
        raise TypeError("dispatch is for an app in this process; a server outside has its own")
    match target:
        case str() if target.startswith(("http://", "https://")):
            from ..mcp.client_http import HttpTransport

            transport: Transport = HttpTransport(target)
        case [str(), *_]:
            from ..mcp.client_process import ProcessTransport

            transport = ProcessTransport([str(word) for word in target])
        case _ if hasattr(target, "is_http"):
            transport = cast("Transport", target)
        case _:
            raise TypeError(
                f"an agent is connected to a Tesseron app, or to a server by its URL or command; not to {target!r}"
            )
    return lambda: nullcontext(transport), None


@asynccontextmanager
async def _served(
    app: Tesseron, workers: Workers | None, on_unfit: Callable[[str, dict[str, Any], InvalidAnswer], None] | None
) -> AsyncIterator[Transport]:
    async with AsyncExitStack() as stack:
        # What the app runs has the context variables of this moment; the test itself keeps its own.
        before = unfit_answers.set(on_unfit)
        try:
            channel = await stack.enter_async_context(memory_endpoint(app, workers=workers))
        finally:
            unfit_answers.reset(before)
        yield PipeTransport(channel)
