"""`ModernSpeech`: the era without a session, 2026-07-28, as a client speaks it.

It owns what every request says of itself, in `_meta` and in headers, and the round trips: a result that asks is
answered, and the call repeated with the answers (MCP 2026-07-28, "Multi Round-Trip Requests"). Between two of them
nothing is open, so a call that is given up there leaves the server waiting until its own limit.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, Final

import anyio

from ..home import Home
from .client_answers import Answers
from .client_era import HEADER_MISMATCH, OnProgress
from .client_errors import BadAnswer, ClientError, McpError, RequestTimeout, TransportEnded
from .client_headers import ToolHeaders, argument_headers, standard_headers
from .client_listen import Listener
from .client_peer import Notice, Peer, named
from .client_server import Server
from .messages import CALL_TOOL, DISCOVER, GET_PROMPT, LIST_TOOLS, MODERN_VERSION, READ_RESOURCE, TOOLS_CHANGED
from .provider import Era

logger = logging.getLogger("tesseron_py.mcp.client")

MAX_ROUNDS: Final = 32
"""How often a server may ask within one call, and how often in a row it may have it repeated without asking."""
FIRST_PAUSE: Final = 0.05
LAST_PAUSE: Final = 1.0
"""Seconds before a call is repeated whose result asks nothing: the first time, and at most."""
MAX_PAGES: Final = 100
"""Pages of the list of tools that are read to find the headers of a call."""
LISTENING: Final = 2.0
"""Seconds that opening waits for the stream of changes."""

_PREFIX = "io.modelcontextprotocol/"
_ASKING = frozenset({CALL_TOOL, GET_PROMPT, READ_RESOURCE})
_LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


class ModernSpeech:
    """The modern era with one server. See `client_era.Speech`.

    Args:
        peer: Carries the requests.
        home: Where the stream of changes is kept open.
        answers: Answers what the server asks, and says what the client declares.
        info: The client's `clientInfo`.
        http: There are headers, and closing a response cancels its request.
        log_level: The level of logs that is asked for with every request; `None` for none.
        changes: Told of the server's changes, as of any notification; `None` when nobody wants to know.
    """

    def __init__(
        self,
        peer: Peer,
        home: Home,
        answers: Answers,
        info: Mapping[str, str],
        *,
        http: bool,
        log_level: str | None,
        changes: Notice | None,
    ) -> None:
        self._peer = peer
        self._answers = answers
        self._http = http
        self._changes = changes
        self._meta: dict[str, Any] = {
            _PREFIX + "protocolVersion": MODERN_VERSION,
            _PREFIX + "clientInfo": dict(info),
            _PREFIX + "clientCapabilities": answers.capabilities(),
        }
        self._capabilities: Mapping[str, Any] = {}
        self._tools = ToolHeaders()
        self._reading_tools = anyio.Lock()
        self._listener = Listener(self._listen, home, self._changed, self._tools.forget)
        if log_level is not None:
            self._meta[_PREFIX + "logLevel"] = log_level

    @property
    def era(self) -> Era:
        return "modern"

    async def open(self, timeout: float) -> Server:
        server = Server.from_discover(await self._leg(DISCOVER, {}, timeout=timeout))
        self._capabilities = server.capabilities
        return server

    async def settled(self) -> None:
        self._peer.refuses_requests = True
        self._peer.closing_cancels = self._http
        lists = {name: True for list, name in _LISTS.items() if self._tells_of(list)}
        if self._changes is not None and lists:
            await self._listener.follow_lists(lists, LISTENING)

    def _tells_of(self, list: str) -> bool:
        capability = self._capabilities.get(list)
        return isinstance(capability, dict) and capability.get("listChanged") is True

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        await self._peer.notify(method, params, headers=standard_headers(method, params))

    async def ping(self, timeout: float | None) -> None:
        await self._leg(DISCOVER, {}, timeout=timeout)

    async def subscribe(self, uri: str, timeout: float | None) -> None:
        await self._listener.follow(uri, timeout)

    async def unsubscribe(self, uri: str, timeout: float | None) -> None:
        await self._listener.unfollow(uri, timeout)

    async def set_log_level(self, level: str, timeout: float | None) -> None:
        self._meta[_PREFIX + "logLevel"] = level

    def _changed(self, method: str, params: dict[str, Any]) -> None:
        if method == TOOLS_CHANGED:
            self._tools.forget()
        if self._changes is not None:
            self._changes(method, params)

    async def _listen(self, method: str, params: Mapping[str, Any], *, on_notice: Notice) -> Any:
        return await self._leg(method, params, timeout=None, on_notice=on_notice)

    # Requests

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        timeout: float | None,
        subject: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        until = math.inf if timeout is None else anyio.current_time() + timeout
        try:
            return await self._rounds(method, dict(params or {}), until, subject, on_progress)
        except RequestTimeout as error:  # of one leg, which had but the rest of the time
            raise RequestTimeout(f"{named(method, subject)}: no answer within {timeout:g} s") from error

    async def _rounds(
        self,
        method: str,
        params: dict[str, Any],
        until: float,
        subject: str | None,
        on_progress: OnProgress | None,
    ) -> Any:
        asked, waited, pause = 0, 0, FIRST_PAUSE
        leg = params
        while True:
            result = await self._send(method, leg, until, subject, on_progress)
            if not _asks(method, subject, result):
                return result
            requests, state = _what_it_asks(method, subject, result)
            leg = {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
            if state is not None:
                leg["requestState"] = state
            asked, waited = (asked + 1, 0) if requests else (asked, waited + 1)
            if max(asked, waited) > MAX_ROUNDS:
                how = "asks again and again" if requests else "wants the call repeated again and again"
                raise BadAnswer(f"{named(method, subject)}: the server {how}; given up after {MAX_ROUNDS} times")
            with anyio.CancelScope(deadline=until) as scope, self._peer.while_connected():
                if requests:
                    leg["inputResponses"] = await self._answers.respond_to_all(requests, subject)
                    pause = FIRST_PAUSE
                else:
                    await anyio.sleep(pause)
                    pause = min(pause * 2, LAST_PAUSE)
            if scope.cancelled_caught:
                raise RequestTimeout

    async def _send(
        self, method: str, params: dict[str, Any], until: float, subject: str | None, on_progress: OnProgress | None
    ) -> Any:
        headers = await self._argument_headers(method, params, until)
        try:
            result = await self._leg(
                method, params, timeout=_left(until), subject=subject, on_progress=on_progress, headers=headers
            )
        except McpError as error:
            # Refused before anything ran, so that a repetition is none (MCP 2026-07-28, "Client Behavior").
            if error.code != HEADER_MISMATCH or method != CALL_TOOL or not self._http:
                raise
            self._tools.forget()
            renewed = await self._argument_headers(method, params, until)
            if renewed == headers:
                raise
            result = await self._leg(
                method, params, timeout=_left(until), subject=subject, on_progress=on_progress, headers=renewed
            )
        if method == LIST_TOOLS and self._http and isinstance(result, dict):
            return self._tools.learn(result)
        return result

    async def _leg(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None,
        subject: str | None = None,
        on_progress: OnProgress | None = None,
        on_notice: Notice | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """One request and its response, whatever kind of result it is."""
        return await self._peer.request(
            method,
            {**params, "_meta": {**(params.get("_meta") or {}), **self._meta}},
            timeout=timeout,
            subject=subject,
            on_progress=on_progress,
            on_notice=on_notice,
            headers={**standard_headers(method, params), **(headers or {})},
        )

    async def _argument_headers(self, method: str, params: Mapping[str, Any], until: float) -> dict[str, str]:
        name = params.get("name")
        if method != CALL_TOOL or not self._http or not isinstance(name, str):
            return {}
        if not self._tools.fresh:
            async with self._reading_tools:
                if not self._tools.fresh:
                    await self._read_tools(until)
        return argument_headers(self._tools.paths.get(name, {}), params.get("arguments"))

    async def _read_tools(self, until: float) -> None:
        """Read the server's list of tools, for its headers alone; without it a call goes out with what is known."""
        cursor: dict[str, Any] = {}
        try:
            for _ in range(MAX_PAGES):
                page = await self._leg(LIST_TOOLS, cursor, timeout=_left(until))
                if not isinstance(page, dict):
                    return
                self._tools.learn(page)
                if not isinstance(page.get("nextCursor"), str):
                    return
                cursor = {"cursor": page["nextCursor"]}
        except (TransportEnded, RequestTimeout):
            raise
        except ClientError as error:
            logger.debug("The server's tools cannot be listed, so no argument gets a header: %s", error)


def _left(until: float) -> float | None:
    return None if until == math.inf else max(0.0, until - anyio.current_time())


def _asks(method: str, subject: str | None, result: object) -> bool:
    """Whether a result asks something; else it is the final one.

    Raises:
        BadAnswer: It is of a kind that nobody knows, or asks where nothing may be asked.
    """
    kind = result.get("resultType", "complete") if isinstance(result, dict) else "complete"
    if kind == "complete":
        return False
    if kind == "input_required" and method in _ASKING:
        return True
    raise BadAnswer(
        f"{named(method, subject)}: the server's result is of the kind {str(kind)[:40]!r}, which is none here"
    )


def _what_it_asks(method: str, subject: str | None, result: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    requests, state = result.get("inputRequests"), result.get("requestState")
    is_clear = isinstance(requests, dict | None) and isinstance(state, str | None)
    if not is_clear or (not requests and state is None):  # repeated with neither, it would be another call
        raise BadAnswer(f"{named(method, subject)}: the server asks, and it cannot be understood what")
    return requests or {}, state
