"""`HttpTransport`: an MCP server over Streamable HTTP, on httpx (MCP 2025-11-25, "Transports").

It owns the HTTP client, the session header, and a task for each request whose answer is on its way: answers come as one
JSON body or as a stream of events, on which the server may ask before it answers. One more stream carries what the
server says unasked, where it has such a thing.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
import httpx

from ..home import Home
from ..jsontext import decode
from ..web.loopback import is_loopback_host
from ..web.sse import EventParser, EventTooLarge
from .client_errors import ClientError, McpError, NoAnswer, TransportEnded
from .client_transport import CLOSE_TIMEOUT, MAX_FRAME, NO_HEADERS, Sink

logger = logging.getLogger("tesseron_py.mcp.client")

CONNECT_TIMEOUT: Final = 5.0
WRITE_TIMEOUT: Final = 60.0
"""Seconds a server may take to read one piece of a message. Reading has no such limit: a call may take hours."""
LINGER: Final = 1.0
"""Seconds a stream has to end by itself once its answer is there, so that its connection can be used again."""
MAX_REDIRECTS: Final = 3
FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = 30.0
_LISTENER: Final = 0
"""Stands for the stream for changes where requests stand by their ids, which begin at 1."""
_MAX_ERROR_BODY = 1024 * 1024

_SSE = "text/event-stream"
_JSON = "application/json"


class HttpTransport:
    """A transport to a server at a URL.

    A loopback server is reached directly, whatever proxy the environment names. Redirects are followed within one
    origin only, since a token would travel along.

    Args:
        url: The endpoint, `http://…` or `https://…`.
        token: Sent as `Authorization: Bearer …` with every request.
        headers: Sent with every request, too.
        limit: Bytes one message of the server may have; a call whose answer is above it fails.

    Raises:
        ValueError: The URL, the token or a header cannot be one.

    Example:
        ```python
        HttpTransport("http://127.0.0.1:7475/mcp", token=os.environ["TESSERON_TOKEN"])
        ```
    """

    def __init__(
        self, url: str, token: str | None = None, headers: Mapping[str, str] | None = None, *, limit: int = MAX_FRAME
    ) -> None:
        self._url = _checked(url)
        self._own_headers = dict(headers or {})
        for name, value in self._own_headers.items():
            if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
                raise ValueError(f"The header {name!r} must be printable ASCII")
        if token is not None:
            if _visible(token) is None:
                raise ValueError("The token must be visible ASCII characters without spaces")
            self._own_headers["Authorization"] = f"Bearer {token}"
        self._limit = limit
        self._http: httpx.AsyncClient | None = None
        self._home: Home | None = None
        self._sink: Sink | None = None
        self._session: str | None = None
        self._version_headers: Mapping[str, str] = NO_HEADERS
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._idle: anyio.Event | None = None

    @property
    def is_http(self) -> bool:
        return True

    async def open(self, home: Home, sink: Sink) -> None:
        self._home, self._sink = home, sink
        self._http = httpx.AsyncClient(
            headers=self._own_headers,
            timeout=httpx.Timeout(connect=CONNECT_TIMEOUT, read=None, write=WRITE_TIMEOUT, pool=None),
            # A call holds a connection and the answer to its question needs another: a full pool would never empty.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            # Certificates take long to load and are of no use without TLS; no redirect leads to it (see `_followed`).
            verify=self._url.scheme == "https",
            trust_env=not is_loopback_host(self._url.host),
        )

    # Requests of ours and what comes back

    async def send(self, text: str, *, request: int | None = None, headers: Mapping[str, str] = NO_HEADERS) -> None:
        if self._http is None or self._home is None or not self._home.is_open:
            raise TransportEnded("The client is closed")
        if request is None:
            await self._deliver(text, headers)
        else:
            scope = self._scopes[request] = anyio.CancelScope()
            self._home.start(self._converse, request, text, headers, scope, name="MCP client: waits for an answer")

    async def _deliver(self, text: str, headers: Mapping[str, str]) -> None:
        """Post what has no answer: a notification, or an answer of ours."""
        try:
            async with self._exchange("POST", text, {**self._version_headers, **headers}) as response:
                if response.is_error:
                    raise await self._refusal(response)
                with anyio.move_on_after(LINGER):  # an empty body, which has to be read for the connection to be kept
                    async for _ in response.aiter_raw():
                        pass
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    async def _converse(self, request: int, text: str, headers: Mapping[str, str], scope: anyio.CancelScope) -> None:
        assert self._sink is not None
        error: ClientError = NoAnswer("The server ended the stream without an answer")
        try:
            with scope:
                async with self._exchange("POST", text, headers) as response:
                    await self._receive(response, request)
        except httpx.HTTPError as problem:
            error = self._unreachable(problem)
        except ClientError as problem:
            error = problem
        except Exception as problem:  # whatever it is, the call must not wait for ever
            logger.exception("A request failed in a way that is not known")
            error = NoAnswer(f"The request to {self._url} failed: {type(problem).__name__}: {problem}")
        finally:
            self._left(request)
        self._sink.unanswered(request, error)

    def _left(self, request: int) -> None:
        del self._scopes[request]
        if not self._scopes and self._idle is not None:
            self._idle.set()

    async def _receive(self, response: httpx.Response, request: int) -> None:
        assert self._sink is not None
        kind = _media_type(response)
        if response.is_error:
            raise await self._refusal(response)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise NoAnswer(f"{self._url} compresses its answers, which it was asked not to do", response.status_code)
        if kind == _SSE:
            await self._events(response, request)
        elif kind == _JSON:
            if (body := await _body(response, self._limit)) is None:
                raise NoAnswer(f"The server's answer is above {self._limit} bytes", response.status_code)
            self._sink.message(body, request)
        elif response.status_code in (202, 204):
            raise NoAnswer("The server took the request and gave no answer", response.status_code)
        else:
            raise NoAnswer(
                f"{self._url} answers with {kind or 'no content type'} instead of MCP; is the path right?",
                response.status_code,
            )

    async def _events(self, response: httpx.Response, request: int | None) -> str | None:
        """Pass the messages of a stream on until it ends; gives the last event id."""
        assert self._sink is not None
        parser, last, too_large = EventParser(limit=self._limit), None, False
        with anyio.CancelScope() as scope:
            async for chunk in response.aiter_raw():
                try:
                    events = parser.feed(chunk)
                except EventTooLarge:
                    # Left early, httpx' generators would stay half-read for the collector; a cancellation ends them.
                    too_large, events = True, []
                    scope.cancel()
                for event in events:
                    last = event.id
                    if event.event == "message":
                        self._sink.message(event.data, request)
        if too_large:
            raise NoAnswer(f"The server sent a message above {self._limit} bytes")
        return last

    def drop(self, request: int, *, at_once: bool = False) -> None:
        if (scope := self._scopes.get(request)) is None:
            return
        if at_once:
            scope.cancel()
        else:
            scope.deadline = min(scope.deadline, anyio.current_time() + LINGER)

    # What the server says unasked

    def listen(self, headers: Mapping[str, str]) -> None:
        assert self._home is not None
        self._version_headers = headers
        scope = self._scopes[_LISTENER] = anyio.CancelScope()
        self._home.start(self._listen, headers, scope, name="MCP client: listens for changes")

    async def _listen(self, headers: Mapping[str, str], scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._keep_listening(headers)
        finally:
            self._left(_LISTENER)

    async def _keep_listening(self, headers: Mapping[str, str]) -> None:
        pause, last = FIRST_RETRY, None
        while True:
            opened = anyio.current_time()
            resume: dict[str, str] = {} if last is None else {"Last-Event-ID": last}
            try:
                async with self._exchange("GET", None, {**headers, **resume, "Accept": _SSE}) as response:
                    if response.status_code != 200 or _media_type(response) != _SSE:
                        logger.debug("The server has no stream for changes: HTTP %d", response.status_code)
                        return
                    last = await self._events(response, None) or last
            except (httpx.HTTPError, ClientError) as error:
                logger.debug("The stream for changes broke off: %s", error)
            pause = FIRST_RETRY if anyio.current_time() - opened > LAST_RETRY else min(pause * 2, LAST_RETRY)
            await anyio.sleep(pause)

    # HTTP

    @asynccontextmanager
    async def _exchange(
        self, method: str, text: str | None, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx.Response]:
        """One request and its response, whose body is still to be read."""
        assert self._http is not None
        # The modern era has no sessions: it neither takes one, nor says the one that a probe's neighbour has opened.
        modern = "Mcp-Method" in headers
        session = None if modern else self._session
        request = self._http.build_request(
            method,
            self._url,
            content=None if text is None else text.encode("utf-8", "replace"),
            headers={
                "Accept": f"{_JSON}, {_SSE}",
                # Compression would hold small events back until a block is full.
                "Accept-Encoding": "identity",
                **({} if text is None else {"Content-Type": _JSON}),
                **({} if session is None else {"Mcp-Session-Id": session}),
                **headers,
            },
        )
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._http.send(request, stream=True)
            try:
                if response.next_request is None:
                    if self._session is None and response.is_success and not modern:
                        self._session = _visible(response.headers.get("mcp-session-id"))
                    yield response
                    return
                request = self._followed(request, response)
            finally:
                await response.aclose()
        raise NoAnswer(f"{self._url} redirects in circles")

    def _followed(self, request: httpx.Request, response: httpx.Response) -> httpx.Request:
        followed = response.next_request
        assert followed is not None
        if _origin(followed.url) != _origin(request.url) or followed.method != request.method:
            raise NoAnswer(
                f"{self._url} redirects to {followed.url}; give that URL if you trust it", response.status_code
            )
        return followed

    async def _refusal(self, response: httpx.Response) -> ClientError:
        """The error in a 4xx or 5xx: the server's own where the body holds one, else what the status means."""
        body = await _body(response, _MAX_ERROR_BODY)
        try:
            message = decode(body or b"")
        except ValueError:
            message = None
        error = McpError.from_wire(message.get("error")) if isinstance(message, dict) else None
        if error is not None:
            return error
        status = response.status_code
        match status:
            case 401 | 403:
                mend = "it wants a token, or another one" if status == 401 else "this client is not let in"
            case 404 if self._session is not None:
                mend = "the session is over; connect again"
            case 404 | 405:
                mend = "there is no MCP endpoint; is the path right?"
            case 429:
                mend = "it has too many clients or requests; try again later"
            case _:
                mend = "it gives no reason"
        return NoAnswer(f"{self._url} answers {status} {response.reason_phrase}: {mend}", status)

    def _unreachable(self, error: httpx.HTTPError) -> NoAnswer:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return NoAnswer(f"Cannot connect to {self._url}: {str(error) or 'no answer'}; is the server running?")
        return NoAnswer(f"The connection to {self._url} broke: {str(error) or type(error).__name__}")

    async def aclose(self) -> None:
        http, self._http = self._http, None
        if http is None:
            return
        with anyio.CancelScope(shield=True):
            if self._scopes:
                self._idle = anyio.Event()
                for scope in self._scopes.values():
                    scope.cancel()
                with anyio.move_on_after(CLOSE_TIMEOUT):
                    await self._idle.wait()
            with anyio.move_on_after(CLOSE_TIMEOUT):
                if self._session is not None:
                    await self._end_session(http, self._session)
            with anyio.move_on_after(CLOSE_TIMEOUT):
                await http.aclose()

    async def _end_session(self, http: httpx.AsyncClient, session: str) -> None:
        try:
            await http.delete(self._url, headers={**self._version_headers, "Mcp-Session-Id": session})
        except httpx.HTTPError as error:
            logger.debug("The session could not be ended: %s", error)


async def _body(response: httpx.Response, limit: int) -> bytes | None:
    """The body, or `None` when it is above `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    with anyio.CancelScope() as scope:
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > limit:
                scope.cancel()  # as in `_events`
            else:
                parts.append(chunk)
    return None if size > limit else b"".join(parts)


def _media_type(response: httpx.Response) -> str:
    """The content type without its parameters; `""` when there is none."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _checked(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"{url!r} is not a URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < (parsed.port or 80) < 65536:
        raise ValueError(f"{url!r} is not the URL of an MCP server; it looks like http://127.0.0.1:7475/mcp")
    return parsed


def _visible(value: str | None) -> str | None:
    """`value` where it can go into a header: visible ASCII, as a session id must be."""
    return value if value and value.isascii() and value.isprintable() and " " not in value else None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
