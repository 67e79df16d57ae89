"""`McpClient`: an MCP client for both eras, small and unable to hang.

It is what `tesseron-py agent`, `testing.Agent` and the demo use. It owns the methods; what each era does differently
is `client_legacy`'s and `client_modern`'s, the wire `client_peer`'s, what it answers a server `client_answers`', and
how it gets there a transport's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, TypeGuard

import anyio

from .._version import __version__
from ..home import Home
from . import messages
from .client_answers import Answer, AnswerCallback, Answers, Question, SampleCallback
from .client_era import CHOICES, HTTP_PATIENCE, PATIENCE, EraChoice, Speech, choose, only_modern
from .client_errors import (
    BadAnswer,
    ClientError,
    McpError,
    MissingCapability,
    NoAnswer,
    RequestTimeout,
    TransportEnded,
    UnsupportedVersion,
)
from .client_legacy import LegacySpeech
from .client_modern import ModernSpeech
from .client_peer import Peer
from .client_result import CallResult, objects, value_of
from .client_server import Server
from .client_transport import Duplex, PipeTransport, Transport
from .messages import CALL_TOOL, DEFAULT_LOG_LEVEL, DISCOVER, INITIALIZE, LIST_RESOURCES, LIST_TOOLS, READ_RESOURCE
from .provider import Change, Era, ResourcesChanged, ResourceUpdated, ToolsChanged

__all__ = [
    "Answer",
    "BadAnswer",
    "CallResult",
    "ClientError",
    "Duplex",
    "Era",
    "EraChoice",
    "Log",
    "McpClient",
    "McpError",
    "MissingCapability",
    "NoAnswer",
    "PipeTransport",
    "Progress",
    "Question",
    "RequestTimeout",
    "Server",
    "Transport",
    "TransportEnded",
    "UnsupportedVersion",
    "value_of",
]

logger = logging.getLogger("tesseron_py.mcp.client")

HANDSHAKE_TIMEOUT: Final = 60.0
"""Seconds a server has to say hello when the client has no timeout of its own."""
MAX_PAGES: Final = 1000
"""Pages of one list that are read before a server is taken to go in circles."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One `notifications/progress` of a call that runs.

    Attributes:
        call: The tool.
        progress: Rises during a call, in the server's own unit.
        total: What `progress` rises to, where the server knows.
        message: What to tell the person.
    """

    call: str
    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """One `notifications/message`: `level` is a syslog word, `data` any JSON."""

    level: str
    data: Any
    logger: str | None = None


class McpClient:
    """One connection to one MCP server, in the legacy era (2024-11-05 to 2025-11-25) or the modern one (2026-07-28).

    Any number of tasks may call at once, and any task may close it. Callbacks that answer the server run each in a task
    of its own, so that a slow person holds up nothing; `on_progress`, `on_log` and `on_change` are plain functions that
    return at once.

    Args:
        transport: How to get there: `PipeTransport`, `client_process.ProcessTransport`, `client_http.HttpTransport`.
        answer: Answers a `Question` with `Accept(content)`, `Decline()` or `Cancel(reason)` of `invocation`. What it
            raises is an error to the server. Without it the client declares that it cannot ask anybody.
        on_progress: Told the progress of every call.
        on_log: Told what the server logs.
        on_change: Told that a list or a resource has changed.
        name: How the client introduces itself.
        version: Likewise.
        timeout: Seconds for each request, with the questions in it; `None` waits as long as it takes (the first: 60 s).
        sampling: Takes the params of `sampling/createMessage` and gives its result. Without it, not declared.
        url: Whoever answers can be sent to a URL, too.
        roots: What `roots/list` answers, objects with a `uri` and perhaps a `name`. Without it, not declared.
        era: `legacy`, `modern`, or `auto`: modern where the server speaks it, else legacy.

    Raises:
        ValueError: There is no such era.

    Example:
        ```python
        async def answer(question: Question) -> Answer:
            return Accept({"approve": True})

        async with McpClient(ProcessTransport(["my-server"]), answer=answer, timeout=30) as client:
            print(await client.tools())
            print((await client.call("add", {"a": 1, "b": 2})).value)
        ```
    """

    def __init__(
        self,
        transport: Transport,
        *,
        answer: AnswerCallback | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_log: Callable[[Log], None] | None = None,
        on_change: Callable[[Change], None] | None = None,
        name: str = "tesseron-py",
        version: str = __version__,
        timeout: float | None = None,
        sampling: SampleCallback | None = None,
        url: bool = False,
        roots: Sequence[Mapping[str, Any]] | None = None,
        era: EraChoice = "legacy",
    ) -> None:
        if era not in CHOICES:
            raise ValueError(f"era is one of {', '.join(CHOICES)}, not {era!r}")
        self._transport = transport
        self._answers = Answers(answer, sampling, url=url, roots=roots)
        self._on_progress = on_progress
        self._on_log = on_log
        self._on_change = on_change
        self._info = {"name": name, "version": version}
        self._timeout = timeout
        self._home = Home("MCP client")
        self._peer = Peer(
            transport, self._home, self._answers.respond, self._notice, uncancellable=(INITIALIZE, DISCOVER)
        )
        self._choice: EraChoice = era
        self._speech: Speech | None = None
        self._server: Server | None = None
        self._closed: anyio.Event | None = None

    @property
    def server(self) -> Server:
        """What the server said of itself; there once the client is open."""
        if self._server is None:
            raise RuntimeError("The client is not open; enter it with `async with` first")
        return self._server

    @property
    def era(self) -> Era:
        """The era that is spoken; there once the client is open."""
        return self._speaking().era

    # Open and close

    async def __aenter__(self) -> McpClient:
        """Connect, and find out how to talk to the server.

        Raises:
            ClientError: The server cannot be reached, or is none this client can talk to.
        """
        if self._home.is_open or self._closed is not None:
            raise RuntimeError("An MCP client is opened once; make a new one")
        try:
            await self._home.open()
            await self._transport.open(self._home, self._peer)
            await self._say_hello()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def _say_hello(self) -> None:
        legacy = LegacySpeech(self._peer, self._transport, self._answers, self._info)
        modern = ModernSpeech(
            self._peer,
            self._home,
            self._answers,
            self._info,
            http=self._transport.is_http,
            # What a legacy server logs where nobody has named a level.
            log_level=None if self._on_log is None else DEFAULT_LOG_LEVEL,
            changes=None if self._on_change is None else self._notice,
        )
        timeout = HANDSHAKE_TIMEOUT if self._timeout is None else self._timeout
        speech: Speech
        if self._choice == "auto":
            patience = HTTP_PATIENCE if self._transport.is_http else PATIENCE
            speech, server = await choose(modern, legacy, timeout=timeout, patience=patience)
        elif self._choice == "modern":
            try:
                speech, server = modern, await modern.open(timeout)
            except ClientError as error:
                raise only_modern(error) from None
        else:
            speech, server = legacy, await legacy.open(timeout)
        await speech.settled()
        self._speech, self._server = speech, server

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, from any task: what waits for an answer fails with `TransportEnded`.

        Takes some seconds at most, whatever the server does. A second caller waits for the first.
        """
        if self._closed is not None:
            await self._closed.wait()
            return
        self._closed = anyio.Event()
        try:
            with anyio.CancelScope(shield=True):
                self._peer.ended("The client is closed")
                try:
                    await self._transport.aclose()
                finally:
                    await self._home.aclose()
        finally:
            self._closed.set()

    # Ask the server

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Any request; gives its `result` as it came.

        Args:
            method: The method, as MCP names it.
            params: What JSON can hold.
            timeout: Seconds for this request; `None` is the client's, `math.inf` no limit.

        Raises:
            McpError: The server answered with an error.
            RequestTimeout: The time ran out; the server has been told.
            ClientError: There will be no answer.
            ValueError: `params` cannot be sent.
        """
        return await self._ask(method, params, timeout=timeout)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Any notification.

        Raises:
            ClientError: It could not be delivered.
        """
        await self._speaking().notify(method, params)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        progress: Callable[[Progress], None] | None = None,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CallResult:
        """Call a tool. One that fails gives a result with `is_error`.

        Cancelling this tells the server, which then stops the tool; in the modern era only while the server works, not
        while a question of it is being answered.

        Args:
            name: The tool.
            arguments: Its arguments; `None` is `{}`.
            progress: Told the progress of this call, instead of `on_progress`.
            timeout: As for `request`.
            meta: Goes along as `_meta`.

        Raises:
            McpError: There is no such tool, or the server failed.
            RequestTimeout, ClientError, ValueError: As for `request`.
        """
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if meta:
            params["_meta"] = dict(meta)
        report = progress or self._on_progress

        def on_progress(note: dict[str, Any]) -> None:
            if report is not None and (parsed := _progress(name, note)) is not None:
                _told(report, parsed)

        result = await self._ask(
            CALL_TOOL, params, timeout=timeout, subject=name, on_progress=on_progress if report else None
        )
        return CallResult.from_wire(result)

    async def tools(self) -> list[dict[str, Any]]:
        """Every tool, page after page, as the server describes it."""
        return await self._list(LIST_TOOLS, "tools")

    async def resources(self) -> list[dict[str, Any]]:
        """Every resource, page after page, as the server describes it."""
        return await self._list(LIST_RESOURCES, "resources")

    async def read(self, uri: str, *, timeout: float | None = None) -> list[dict[str, Any]]:
        """The contents of a resource; `value_of` gives the value in them."""
        result = await self._ask(READ_RESOURCE, {"uri": uri}, timeout=timeout, subject=uri)
        if not isinstance(result, dict) or not isinstance(result.get("contents"), list):
            raise BadAnswer("The server's answer to resources/read has no contents")
        return objects(result["contents"])

    async def subscribe(self, uri: str) -> None:
        """Follow a resource: `on_change` is told `ResourceUpdated(uri)`."""
        await self._speaking().subscribe(uri, self._timeout)

    async def unsubscribe(self, uri: str) -> None:
        """Follow it no longer."""
        await self._speaking().unsubscribe(uri, self._timeout)

    async def set_log_level(self, level: str) -> None:
        """What the server is to log from now on: `level`, a syslog word, and above."""
        await self._speaking().set_log_level(level, self._timeout)

    async def ping(self) -> None:
        """Ask for a sign of life."""
        await self._speaking().ping(self._timeout)

    async def _list(self, method: str, member: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._ask(method, None if cursor is None else {"cursor": cursor})
            if not isinstance(page, dict) or not isinstance(page.get(member), list):
                raise BadAnswer(f"The server's answer to {method} has no {member}")
            found += objects(page[member])
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                return found
        raise BadAnswer(f"The server's answer to {method} does not end: {MAX_PAGES} pages, and still a cursor")

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        subject: str | None = None,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        return await self._speaking().request(
            method,
            params,
            timeout=self._timeout if timeout is None else timeout,
            subject=subject,
            on_progress=on_progress,
        )

    def _speaking(self) -> Speech:
        if self._speech is None:
            raise RuntimeError("The client is not open; enter it with `async with` first")
        return self._speech

    # What the server says unasked

    def _notice(self, method: str, params: dict[str, Any]) -> None:
        change: Change | None = None
        match method:
            case messages.LOG if self._on_log is not None:
                level, name = params.get("level"), params.get("logger")
                if isinstance(level, str):
                    _told(self._on_log, Log(level, params.get("data"), name if isinstance(name, str) else None))
            case messages.TOOLS_CHANGED:
                change = ToolsChanged()
            case messages.RESOURCES_CHANGED:
                change = ResourcesChanged()
            case messages.RESOURCE_UPDATED if isinstance(uri := params.get("uri"), str):
                change = ResourceUpdated(uri)
        if change is not None and self._on_change is not None:
            _told(self._on_change, change)


def _progress(call: str, params: Mapping[str, Any]) -> Progress | None:
    progress, total, message = params.get("progress"), params.get("total"), params.get("message")
    if not _is_number(progress):
        return None
    return Progress(call, progress, total if _is_number(total) else None, message if isinstance(message, str) else None)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _told(fn: Callable[[Any], None], what: object) -> None:
    try:
        fn(what)
    except Exception:
        logger.exception("A callback of an MCP client failed")
