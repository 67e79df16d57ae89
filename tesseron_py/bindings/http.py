"""The HTTP binding, the app's end: an app that dials out to a gateway, on httpx.

It owns the requests of one connection: the opening, the stream of events and its reopening, messages one at a time and
their repeats, and acknowledgements. The gateway's end is `http_endpoint`. Nothing is lost or done twice when a request
has to be repeated; a connection that the gateway does not know any more is closed, and the session above it resumes.
"""

from __future__ import annotations

import logging
import random
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx
from anyio.lowlevel import checkpoint

from ..home import Home
from ..jsontext import decode
from ..protocol.messages import HELLO, RESUME
from ..web.loopback import is_loopback_host
from ..web.sse import MEDIA_TYPE, Event, EventParser, EventTooLarge
from .channel import Closed, TooLarge, check_size
from .http_wire import ATTEMPT, CONNECTION, DEFAULT_HTTP_LIMITS, LAST_EVENT, PATH, SEQUENCE, HttpLimits, Signal, number

logger = logging.getLogger("tesseron_py.bindings.http")

CONNECT_TIMEOUT: Final = 5.0
CLOSE_TIMEOUT: Final = 2.0
"""Seconds that each step of closing may wait for the gateway."""
KEPT_OPEN: Final = 3.0
"""Seconds for which a TCP connection is kept for the next request."""
FRAMING: Final = 1024
"""Bytes an event may have beside its message: field names, its number."""
MAX_ERROR_BODY: Final = 64 * 1024
"""Bytes that are read of an answer that is none."""
PACE = 64
"""Messages in a row that need no waiting before the event loop gets its turn all the same."""

_JSON = "application/json"


class Refused(Closed):
    """The gateway turned the connection away for a reason that trying again does not mend.

    Attributes:
        status: The HTTP status: 401 for a missing or wrong token, 403 for a host that may not call, 404 where there is
            no gateway.
    """

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason, 1008)
        self.status = status


@dataclass(eq=False, slots=True)
class _Outgoing:
    """A message that waits to be taken by the gateway."""

    data: bytes
    done: anyio.Event = field(default_factory=anyio.Event)
    error: Exception | None = None

    def settle(self, error: Exception | None = None) -> None:
        self.error = error
        self.done.set()


class _Backoff:
    """The time between attempts, with jitter: it doubles with each that fails."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._next = limits.first_retry

    def reset(self) -> None:
        self._next = self._limits.first_retry

    async def wait(self) -> None:
        pause = min(self._next * random.uniform(1.0, 1.5), self._limits.last_retry)
        self._next = min(self._next * 2, self._limits.last_retry)
        await anyio.sleep(pause)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The whole answer to one request."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def is_worth_another_attempt(self) -> bool:
        """Whether the same request may succeed later: the gateway, or something before it, is busy or restarting."""
        return self.status in (408, 425, 429) or self.status >= 500

    @property
    def members(self) -> dict[str, Any]:
        """The members of a body that is a JSON object."""
        try:
            value = decode(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def refusal(self, url: httpx.URL) -> Closed:
        """What a status that no repeat mends means for the connection."""
        said = self.members.get("error")
        why = f": {said}" if isinstance(said, str) else ""
        match self.status:
            case 401:
                return Refused(f"{url} wants another token{why}", 401)
            case 403:
                return Refused(f"{url} does not let this app in{why}", 403)
            case 404:
                return Refused(f"{url} is no Tesseron gateway's; is the path right?{why}", 404)
            case status if 300 <= status < 400:
                location = self.headers.get("location", "another place")
                return Refused(f"{url} redirects to {location}; give that URL if you trust it", status)
            case status:
                return Refused(f"{url} answers with HTTP {status}{why}", status)


class HttpChannel:
    """A `Channel` over HTTP requests to a gateway; see `dial`.

    The first message that is sent must be a hello or a resume. It opens the connection, and its answer is received.
    When the gateway answers with an error, the channel is as before: another hello or resume opens anew.

    `send` returns when the gateway has taken the message, and raises `ValueError` for one that is not JSON.
    """

    def __init__(
        self, url: httpx.URL, *, token: str, limit: int, limits: HttpLimits, home: Home, owns_home: bool
    ) -> None:
        self.url = url
        self._limit = limit
        self._limits = limits
        self._home = home
        self._owns_home = owns_home
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(connect=CONNECT_TIMEOUT, read=limits.attempt, write=limits.attempt, pool=None),
            # Servers close what is idle for 5 s, and a message that meets that close would have to be repeated.
            limits=httpx.Limits(keepalive_expiry=KEPT_OPEN),
            # Certificates take long to load and are of no use without TLS.
            verify=url.scheme == "https",
            trust_env=not is_loopback_host(url.host),
        )
        self._connection: str | None = None
        self._outgoing: deque[_Outgoing] = deque()
        self._sending: _Outgoing | None = None
        self._leaves = Signal()
        self._sequence = 0
        self._inbox: deque[str] = deque()
        self._inbox_bytes = 0
        self._arrives = Signal()
        self._drains = Signal()
        self._unpaced = 0
        self._last = 0
        self._acknowledged = 0
        self._unacknowledged_bytes = 0
        self._acknowledges = Signal()
        self._said = 0.0
        self._ended: Closed | None = None
        self._is_known = False
        self._scopes: set[anyio.CancelScope] = set()
        self._idle = anyio.Event()
        self._done: anyio.Event | None = None
        self._start(self._send_all, "sends to a gateway")

    @property
    def limit(self) -> int:
        return self._limit

    async def send(self, text: str) -> None:
        message = _Outgoing(check_size(text, self._limit))
        if self._ended is not None:
            raise self._closed()
        self._outgoing.append(message)
        self._leaves.wake()
        try:
            await message.done.wait()
        finally:
            if message in self._outgoing:  # cancelled, and not begun
                self._outgoing.remove(message)
        if message.error is not None:
            raise message.error

    async def receive(self) -> str:
        self._unpaced += 1
        if self._unpaced > PACE:
            self._unpaced = 0
            await checkpoint()
        while not self._inbox:
            if self._ended is not None:
                raise self._closed()
            await self._arrives.wait()
        text = self._inbox.popleft()
        self._inbox_bytes -= len(text)
        self._drains.wake()
        return text

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._done is not None:
                await self._done.wait()
                return
            self._done = anyio.Event()
            self._end(Closed("closed by this end", 1000))
            with anyio.move_on_after(CLOSE_TIMEOUT):
                while self._scopes:
                    await self._idle.wait()
            with anyio.move_on_after(CLOSE_TIMEOUT):
                if self._connection is not None and self._is_known:
                    try:
                        await self._request("DELETE", {})
                    except httpx.HTTPError as error:
                        logger.debug("The end of a connection could not be told: %s", error)
            with anyio.move_on_after(CLOSE_TIMEOUT):
                await self._http.aclose()
            if self._owns_home:
                await self._home.aclose()
            self._done.set()

    # Its tasks

    def _start(self, run: Callable[[], Awaitable[None]], name: str) -> None:
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        self._home.start(self._run, run, scope, name=f"HTTP binding: {name}")

    async def _run(self, run: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await run()
        except Exception as error:
            logger.exception("A connection over HTTP failed in a way that is not known")
            self._end(Closed(f"the connection failed: {error!r}"))
        finally:
            self._scopes.discard(scope)
            if not self._scopes:
                self._idle.set()
            if self._ended is None:
                self._end(Closed("its tasks have ended"))

    def _end(self, why: Closed) -> None:
        """Nothing more is sent or taken in; what has come is still received."""
        if self._ended is None:
            self._ended = why
            logger.debug("A connection over HTTP ends: %s", why)
        for message in (*self._outgoing, self._sending):
            if message is not None and not message.done.is_set():
                message.settle(self._closed())
        self._outgoing.clear()
        self._arrives.wake()
        for scope in self._scopes:
            scope.cancel()

    def _closed(self) -> Closed:
        why = self._ended
        assert why is not None
        return Refused(why.reason, why.status) if isinstance(why, Refused) else Closed(why.reason, why.code)

    # What goes out

    async def _send_all(self) -> None:
        while True:
            while not self._outgoing:
                await self._leaves.wait()
            self._sending = message = self._outgoing.popleft()
            try:
                if self._connection is not None:
                    await self._post(message.data)
                else:
                    await self._open(message.data)
            except (Closed, ValueError) as error:
                if isinstance(error, Closed):
                    self._end(error)
                    return
                message.settle(error)
            else:
                message.settle()
            finally:
                self._sending = None

    async def _open(self, data: bytes) -> None:
        """Open a connection with `data`; the answer goes into the inbox.

        Raises:
            Closed: There is no gateway, it turned the app away, or it gave no answer.
            ValueError: `data` is no hello and no resume.
        """
        if not _opens(data):
            raise ValueError(f"the first message must be {HELLO} or {RESUME}; the connection is not open")
        attempt = secrets.token_urlsafe(16)
        answer = await self._persist(lambda: self._request("POST", {ATTEMPT: attempt}, data), is_first=True)
        if answer.status != 200:
            raise self._problem(answer, len(data))
        kind = _media_type(answer.headers)
        if kind != _JSON:
            raise Refused(
                f"{self.url} answers with {kind or 'no content type'} instead of Tesseron; is the path right?", 200
            )
        text = answer.body.decode("utf-8", "surrogateescape")
        connection = answer.headers.get(CONNECTION)
        if connection is not None:
            self._connection, self._is_known = connection, True
            self._said = self._home.time()
        elif "error" not in answer.members:
            raise Closed(f"{self.url} answered the opening and named no connection", 1002)
        self._put(text)
        if connection is not None:
            self._start(self._listen, "stream of events")
            self._start(self._keep_alive, "acknowledgements")

    async def _post(self, data: bytes) -> None:
        """Have the gateway take one message.

        Raises:
            Closed: The gateway does not know the connection, or cannot be reached.
            ValueError: The gateway does not take this message; the connection goes on.
        """
        sequence = self._sequence + 1
        answer = await self._persist(lambda: self._request("POST", {SEQUENCE: str(sequence)}, data), sequence=sequence)
        if answer.status != 202:
            raise self._problem(answer, len(data))
        self._sequence = sequence

    async def _persist(
        self, request: Callable[[], Awaitable[_Answer]], *, is_first: bool = False, sequence: int | None = None
    ) -> _Answer:
        """Make a request until it has an answer that counts.

        Raises:
            Closed: There was none within the time.
        """
        give_up, backoff, problem = self._home.time() + self._limits.persistence, _Backoff(self._limits), ""
        while True:
            try:
                answer = await request()
                if not (
                    answer.is_worth_another_attempt
                    # A repeat of ours took the place of the request that this is the answer to.
                    or (answer.status == 409 and answer.members.get("expected") == sequence)
                ):
                    return answer
                problem = f"it answers with HTTP {answer.status}"
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = str(error) or "no answer"
                if is_first:
                    raise Closed(f"cannot connect to {self.url}: {problem}; is the gateway running?") from error
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
            is_first = False
            if self._home.time() >= give_up:
                raise Closed(f"{self.url} did not take a message for {self._limits.persistence:g} s: {problem}")
            await backoff.wait()

    def _problem(self, answer: _Answer, size: int) -> Closed | ValueError:
        """What an answer means that is none of success."""
        match answer.status:
            case 413:
                limit = answer.members.get("limit")
                return TooLarge(size, limit if type(limit) is int else size - 1)
            case 400 if self._connection is not None:
                return ValueError(f"the gateway does not take the message: {answer.members.get('error', 'no reason')}")
            case 404 if self._connection is not None:
                self._is_known = False
                return Closed("the gateway has ended the connection, or does not know it any more", 1000)
            case 409:
                return Closed("the gateway misses messages that it has taken", 1002)
        return answer.refusal(self.url)

    # What comes in

    async def _listen(self) -> None:
        """Keep a stream of events open."""
        backoff, streamed = _Backoff(self._limits), self._home.time()
        while True:
            try:
                async with self._exchange("GET", {"Accept": MEDIA_TYPE}) as response:
                    if response.status_code == 200 and _is_stream(response):
                        backoff.reset()
                        try:
                            await self._take_events(response)
                        finally:
                            streamed = self._home.time()
                    elif not (answer := await _read(response, MAX_ERROR_BODY)).is_worth_another_attempt:
                        problem = self._problem(answer, 0)
                        self._end(problem if isinstance(problem, Closed) else answer.refusal(self.url))
                        return
            except httpx.HTTPError as error:
                logger.debug("A stream of events broke off: %s", str(error) or type(error).__name__)
            if self._home.time() >= streamed + self._limits.streamless:
                self._end(Closed(f"{self.url} gave no stream of events for {self._limits.streamless:g} s"))
                return
            await backoff.wait()

    async def _take_events(self, response: httpx.Response) -> None:
        parser = EventParser(limit=self._limit + FRAMING)
        async with _pieces(response) as pieces:
            async for piece in pieces:
                try:
                    if not all(self._take(event) for event in parser.feed(piece)):
                        return
                except EventTooLarge:
                    self._end(Closed(f"the gateway sent a message above {self._limit} bytes", 1009))
                    return
                while self._inbox_is_full:
                    await self._drains.wait()

    def _take(self, event: Event) -> bool:
        """Take one event in, unless it has come before; `False` when one before it has not."""
        n = number(None if event.id is None else event.id.encode())
        if n is None or n > self._last + 1:
            logger.warning("A gateway left an event out, or its number; the stream is opened again")
            return False
        if n == self._last + 1:
            self._last = n
            self._unacknowledged_bytes += len(event.data)
            self._put(event.data)
            if self._should_acknowledge:
                self._acknowledges.wake()
        return True

    def _put(self, text: str) -> None:
        self._inbox.append(text)
        self._inbox_bytes += len(text)
        self._arrives.wake()

    @property
    def _inbox_is_full(self) -> bool:
        return len(self._inbox) >= self._limits.inbox or self._inbox_bytes >= self._limits.inbox_bytes

    @property
    def _should_acknowledge(self) -> bool:
        limits = self._limits
        return (
            self._last - self._acknowledged >= limits.acknowledge
            or self._unacknowledged_bytes >= limits.event_bytes // 4
        )

    async def _keep_alive(self) -> None:
        """Acknowledge what no message of ours has acknowledged, and show that the app is there."""
        backoff = _Backoff(self._limits)
        while True:
            while not self._should_acknowledge and self._home.time() < self._said + self._limits.silence:
                with anyio.CancelScope(deadline=self._said + self._limits.silence):
                    await self._acknowledges.wait()
            try:
                answer = await self._request("POST", {LAST_EVENT: str(self._last)})
            except httpx.HTTPError as error:
                logger.debug("An acknowledgement failed: %s", str(error) or type(error).__name__)
            else:
                if answer.status == 204:
                    backoff.reset()
                    continue
                if not answer.is_worth_another_attempt:
                    problem = self._problem(answer, 0)
                    self._end(problem if isinstance(problem, Closed) else answer.refusal(self.url))
                    return
            await backoff.wait()

    # HTTP

    async def _request(self, method: str, headers: Mapping[str, str], data: bytes = b"") -> _Answer:
        last, held = self._last, self._unacknowledged_bytes
        async with self._exchange(method, headers, data) as response:
            answer = await _read(response, self._limit if self._connection is None else MAX_ERROR_BODY)
        if response.is_success:
            self._said = self._home.time()
            if last > self._acknowledged:
                self._acknowledged = last
                self._unacknowledged_bytes = max(self._unacknowledged_bytes - held, 0)
        return answer

    @asynccontextmanager
    async def _exchange(
        self, method: str, headers: Mapping[str, str], data: bytes = b""
    ) -> AsyncIterator[httpx.Response]:
        """One request and its response, whose body is still to be read."""
        every = {"Content-Type": _JSON} if data else {}
        if self._connection is not None:
            every[CONNECTION] = self._connection
            if self._last:
                every[LAST_EVENT] = str(self._last)
        request = self._http.build_request(method, self.url, content=data or None, headers={**every, **headers})
        if method == "GET":
            request.extensions["timeout"] = {**request.extensions["timeout"], "read": self._limits.unheard}
        response = await self._http.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()


async def dial(
    url: str,
    *,
    token: str,
    limit: int | None = None,
    limits: HttpLimits = DEFAULT_HTTP_LIMITS,
    home: Home | None = None,
) -> HttpChannel:
    """A channel to a gateway at a URL. Nothing is sent before its first message, which must be a hello or a resume.

    A loopback gateway is reached directly, whatever proxy the environment names. Redirects are not followed, since the
    token would travel along.

    Args:
        url: The gateway's, `http://…` or `https://…`; without a path, `/tesseron` is meant.
        token: Its bearer token.
        limit: Bytes one message may have, in either direction; by default that of `limits`.
        limits: The numbers.
        home: Where its tasks run. One of its own by default, which ends with the channel.

    Raises:
        ValueError: The URL or the token cannot be one.

    Example:
        ```python
        channel = await dial("http://127.0.0.1:7475", token=os.environ["TESSERON_TOKEN"])
        await channel.send(hello)
        welcome = await channel.receive()
        ```
    """
    parsed = check_url(url)
    if not (token.isascii() and token.isprintable() and token and " " not in token):
        raise ValueError("The token must be visible ASCII characters without spaces")
    owned = home is None
    home = await Home("a connection over HTTP").open() if home is None else home
    return HttpChannel(
        parsed, token=token, limit=limits.frame if limit is None else limit, limits=limits, home=home, owns_home=owned
    )


def check_url(url: str) -> httpx.URL:
    """The URL of a gateway, whole: without a path, or with that of agents (`/mcp`), this binding's own is meant.

    Raises:
        ValueError: It cannot be one.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"{url!r} is not a URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < (parsed.port or 80) < 65536:
        raise ValueError(f"{url!r} is not the URL of a gateway; it looks like http://127.0.0.1:7475")
    if parsed.userinfo:
        raise ValueError("The URL of a gateway holds no user and no password; give its token")
    if parsed.path in ("", "/"):
        return parsed.copy_with(path=PATH)
    head, slash, last = parsed.path.rpartition("/")
    return parsed.copy_with(path=f"{head}{PATH}") if slash and last == "mcp" else parsed


def _opens(data: bytes) -> bool:
    try:
        message = decode(data)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("method") in (HELLO, RESUME)


def _is_stream(response: httpx.Response) -> bool:
    return _media_type(response.headers) == MEDIA_TYPE


def _media_type(headers: httpx.Headers) -> str:
    """The content type without its parameters; empty when there is none."""
    return str(headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _read(response: httpx.Response, limit: int) -> _Answer:
    """The answer, of whose body at most about `limit` bytes are kept."""
    parts: list[bytes] = []
    size = 0
    async with _pieces(response) as pieces:
        async for piece in pieces:
            parts.append(piece)
            size += len(piece)
            if size > limit:
                break
    return _Answer(response.status_code, response.headers, b"".join(parts))


@asynccontextmanager
async def _pieces(response: httpx.Response) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body as it comes. It may be left early."""
    pieces = response.aiter_raw()
    try:
        yield pieces
    finally:
        # httpx' generators are nested, and left early they would stay half-read for the collector. What ends each of
        # them is a cancellation of the innermost.
        with anyio.CancelScope(shield=True) as scope:
            scope.cancel()
            async for _ in pieces:
                pass
