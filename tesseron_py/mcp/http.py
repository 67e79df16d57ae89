"""The MCP endpoint over HTTP: a plain ASGI application with one path.

It owns the sessions, their number and their end, and the statuses of `spec/mcp.md` §2: an ordinary call is answered
with JSON, and the moment a handler asks, that very response becomes a stream of events. What a session answers is
`legacy.py`'s.
"""

from __future__ import annotations

import contextvars
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import anyio

from ..home import Home
from ..web.asgi import (
    Bodies,
    BodyInterrupted,
    BodyTooLarge,
    Disconnected,
    Receive,
    Reply,
    RequestHeaders,
    Scope,
    Send,
    accepts_stream,
    read_body,
    route,
)
from ..web.guard import METHODS, Guard, Headers, cors, preflight
from .envelope import ABSENT, Absent, Answer, Id, Invalid, Notification, Request, error_text, parse, unreadable
from .http_response import HttpOutlet, respond
from .http_session import HttpSession
from .limits import EndpointLimits
from .messages import (
    HTTP_VERSIONS,
    INITIALIZE,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    MODERN_VERSION,
    UNSUPPORTED_VERSION,
)
from .modern import ModernServer, speaks_modern
from .provider import Provider
from .readiness import Readiness
from .repeats import Repeats

_SESSION: Final = b"mcp-session-id"
_VERSION: Final = b"mcp-protocol-version"
_JSON: Final = b"application/json"
_RETRY_AFTER: Final[Headers] = [(b"retry-after", b"60")]
_ALLOW: Final[Headers] = [(b"allow", METHODS)]
_ALLOW_MODERN: Final[Headers] = [(b"allow", b"POST, OPTIONS")]
_CLOSE: Final[Headers] = [(b"connection", b"close")]
"""With a response that comes before the request is read: what is left of it must not be taken for the next one."""
_READ_ON: Final = 16
"""How many times the size of a message is read of one that is too large, where somebody may wait for it."""
_CHALLENGE: Final[Headers] = [(b"www-authenticate", b'Bearer realm="mcp"')]


class _Refused(Exception):
    """A request that is answered with a status of its own, and a JSON-RPC error that says why and what to do."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: int = INVALID_REQUEST,
        id: Id | Absent | None = ABSENT,
        headers: Headers | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = error_text(id, code, message).encode()
        self.headers = headers or []


class HttpEndpoint:
    """Serves a provider at one path, to any number of sessions. Works under any ASGI server, on asyncio and trio.

    It opens its home at the server's lifespan startup or, where the server passes none (a mounted application), at
    the first request; it belongs to that event loop from then on.

    Args:
        provider: What is served.
        path: Where, below the `root_path` of a mount.
        token: The bearer token every request must carry; `None` needs none, for loopback alone.
        hosts: Host names besides the loopback ones that this server goes by.
        origins: Origins besides the loopback ones whose pages may call it.
        limits: The endpoint's numbers.
        home: Where background tasks run; closed with the endpoint. One of its own by default.
        state_keys: Secrets of at least 16 characters that the `requestState` of calls which ask is sealed with
            (MCP 2026-07-28): the first seals, all of them open. Made up for this process by default.

    Raises:
        ValueError: The path, a host, an origin, the token or a state key is none.

    Example:
        ```python
        endpoint = HttpEndpoint(provider, token=os.environ["TESSERON_TOKEN"], hosts=["mcp.example.com"])
        uvicorn.run(endpoint)
        ```
    """

    def __init__(
        self,
        provider: Provider,
        *,
        path: str = "/mcp",
        token: str | None = None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: EndpointLimits | None = None,
        home: Home | None = None,
        state_keys: Sequence[str] = (),
    ) -> None:
        if not path.startswith("/"):
            raise ValueError(f"The path {path!r} does not start with a slash; write {'/' + path!r}")
        self.provider = provider
        self.path = path
        self.limits: EndpointLimits = limits or EndpointLimits()
        self.home: Home = home or Home("the MCP endpoint")
        self._guard = Guard(token=token, hosts=hosts, origins=origins)
        self._readiness = Readiness(provider, self.home)
        self._repeats = Repeats(self.home)
        self._sessions: dict[bytes, HttpSession] = {}
        self.modern: ModernServer = ModernServer(
            provider,
            principal=self._guard.principal,
            readiness=self._readiness,
            limits=self.limits,
            home=self.home,
            repeats=self._repeats,
            state_keys=state_keys,
        )
        self._bodies = Bodies(self.limits.body_deadline)
        self._closed = False
        self._active = 0
        self._idle: anyio.Event | None = None

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    async def aclose(self) -> None:
        """End every session: calls are cancelled, prompts withdrawn, streams ended.

        To be called before the server is stopped, which else waits for its open streams. What is in flight has
        `limits.closing` seconds to say goodbye; later requests get 503.
        """
        self._closed = True
        self._bodies.close()
        with anyio.CancelScope(shield=True):
            for session in list(self._sessions.values()):
                self._end(session, "The server is closing")
            self.modern.close("The server is closing")
            with anyio.move_on_after(self.limits.closing):
                while self._active:
                    self._idle = anyio.Event()
                    await self._idle.wait()
            await self.home.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                self._active += 1
                try:
                    await self._request(scope, receive, send)
                finally:
                    self._active -= 1
                    if not self._active and self._idle is not None:
                        self._idle.set()
            case "lifespan":
                await self._lifespan(receive, send)
            case "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": "MCP is spoken over HTTP here"})
            case other:
                raise ValueError(f"HttpEndpoint serves HTTP, not {other!r}")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._start()
        except (Exception, SystemExit) as error:
            await self.aclose()
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            await send({"type": "lifespan.startup.failed", "message": f"The server cannot get ready: {said}"})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        """What the server waits for before it takes requests, where it has a lifespan."""
        await self._open()

    async def _open(self) -> None:
        # Nothing of the request that happens to come first may live on in the tasks of the endpoint.
        await self.home.open(context=contextvars.Context())

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = RequestHeaders(scope)
        origins = headers.all(b"origin")
        allowed = self._guard.allows_origin(origins)
        reply = Reply(send, cors(origins[0]) if origins and allowed else [], self.limits.write_deadline)
        try:
            if not self._guard.allows_host(headers.all(b"host")):
                raise _Refused(403, "The Host header is none of this server's names (--allow-host adds one)")
            if not allowed:
                raise _Refused(403, "Pages of this Origin may not call this server (--allow-origin allows one)")
            if not route(scope, self.path):
                raise _Refused(404, f"There is nothing here; MCP is at {scope.get('root_path', '')}{self.path}")
            if scope["method"] == "OPTIONS" and origins and headers.get(b"access-control-request-method"):
                # A browser asks without the token whether it may send it.
                await reply.whole(204, headers=preflight(headers.get(b"access-control-request-headers")))
                return
            if not self._guard.allows_token(headers.all(b"authorization")):
                raise _Refused(401, "This server wants its bearer token in Authorization", headers=_CHALLENGE)
            if self._closed:
                raise _closing()
            if not self.home.is_open:
                await self._open()
            await self._dispatch(scope["method"], headers, receive, reply)
        except _Refused as refused:
            headers_of_it = refused.headers
            if not scope.get("http_version", "1.1").startswith("1."):
                # HTTP/2 has no such header, and no need of it.
                headers_of_it = [header for header in headers_of_it if header not in _CLOSE]
            await reply.whole(refused.status, refused.body, headers=headers_of_it)
        except Disconnected:
            pass

    async def _dispatch(self, method: str, headers: RequestHeaders, receive: Receive, reply: Reply) -> None:
        match method:
            case "POST":
                await self._post(headers, receive, reply)
            case "GET" | "DELETE" if _is_modern(headers):
                raise _Refused(405, f"MCP {MODERN_VERSION} has no {method}; send a POST", headers=_ALLOW_MODERN)
            case "GET":
                _check_version(headers)
                session = self._session(headers)
                if not accepts_stream(headers.get(b"accept")):
                    raise _Refused(406, "GET answers with text/event-stream; the Accept header does not allow it")
                await session.tell(reply, receive)
            case "DELETE":
                _check_version(headers)
                self._end(self._session(headers), "The client ended the session")
                await reply.whole(204)
            case "OPTIONS":
                await reply.whole(204, headers=_ALLOW)
            case _:
                allowed = _ALLOW_MODERN if _is_modern(headers) else _ALLOW
                raise _Refused(405, f"{method} is not allowed here", headers=allowed)

    async def _post(self, headers: RequestHeaders, receive: Receive, reply: Reply) -> None:
        kind = headers.get(b"content-type")
        if kind not in (None, _JSON) and kind.partition(b";")[0].strip().lower() != _JSON:
            raise _Refused(415, "A message is application/json")
        known = self._sessions.get(headers.get(_SESSION) or b"")
        message = parse(await self._body(headers, receive, known))
        if not isinstance(message, Invalid | Answer) and (
            _is_modern(headers) or speaks_modern(message.method, message.params)
        ):
            await self._modern(message, headers, receive, reply)
        elif isinstance(message, Answer) and _is_modern(headers):
            raise _Refused(400, f"In MCP {MODERN_VERSION} an answer comes with the repeated request, not by itself")
        elif isinstance(message, Request):
            _check_version(headers, message)
            if message.method == INITIALIZE:
                await self._initialize(message, reply)
            else:
                session = self._session(headers, message)
                can_stream = accepts_stream(headers.get(b"accept"))
                await session.answer(message, reply, receive, can_stream=can_stream)
        elif isinstance(message, Invalid):
            if known is None or not known.mcp.spoiled(message):
                raise _Refused(400, message.reason, code=message.code, id=message.id)
            await reply.whole(202)
        else:
            _check_version(headers)
            session = self._session(headers)
            if isinstance(message, Answer):
                session.mcp.answered(message)
            else:
                session.mcp.notified(message)
            await reply.whole(202)

    async def _modern(
        self, message: Request | Notification, headers: RequestHeaders, receive: Receive, reply: Reply
    ) -> None:
        if isinstance(message, Notification):
            value = headers.get(_VERSION)
            version = MODERN_VERSION if value is None else value.decode("latin-1")
            if version != MODERN_VERSION:
                raise _Refused(400, f"MCP {version} is not served; {MODERN_VERSION} is", code=UNSUPPORTED_VERSION)
            await reply.whole(202)  # there is none that says anything: closing a response is what cancels
            return
        outlet = HttpOutlet(reply, self.limits, can_stream=accepts_stream(headers.get(b"accept")))
        conversation = self.modern.open(message, outlet, headers)
        await respond(conversation, outlet, receive, home=self.home, readiness=self._readiness, limits=self.limits)

    async def _body(self, headers: RequestHeaders, receive: Receive, known: HttpSession | None) -> bytes:
        try:
            return await self._bodies.read(read_body(receive, self.limits.body, headers.get(b"content-length")))
        except BodyTooLarge as body:
            reason = f"A message may have {self.limits.body} bytes"
            if known is not None and known.mcp.open_prompts:
                # It may be the answer that one of them waits for; some clients put the id at its end.
                try:
                    with suppress(BodyInterrupted):
                        await self._bodies.read(body.read_on(receive, _READ_ON * self.limits.body))
                finally:
                    known.mcp.spoiled(unreadable(INVALID_REQUEST, reason, body.head, body.tail))
            else:
                # A client that is still writing would lose the answer with its connection.
                with anyio.move_on_after(self.limits.closing):
                    await body.read_on(receive, _READ_ON * self.limits.body)
            raise _Refused(413, reason, headers=_CLOSE) from None
        except BodyInterrupted as interrupted:
            if interrupted.closing:
                raise _closing(_CLOSE) from None
            message = f"The body did not come within {self.limits.body_deadline:g} s"
            raise _Refused(408, message, headers=_CLOSE) from None

    async def _initialize(self, request: Request, reply: Reply) -> None:
        if len(self._sessions) >= self.limits.sessions:
            message = f"{self.limits.sessions} sessions are open, which is as many as may be; end one with DELETE"
            raise _Refused(429, message, code=INTERNAL_ERROR, id=request.id, headers=_RETRY_AFTER)
        session = HttpSession(
            secrets.token_urlsafe(24).encode(),
            self.provider,
            principal=self._guard.principal,
            readiness=self._readiness,
            limits=self.limits,
            home=self.home,
            repeats=self._repeats,
            on_idle=self._idle_for_long,
        )
        text = session.mcp.open(request, HttpOutlet(reply, self.limits, can_stream=False)).finish()
        assert text is not None
        if session.mcp.client is None:  # refused
            await reply.whole(200, text.encode())
            return
        self._sessions[session.id] = session
        session.begin()
        await reply.whole(200, text.encode(), headers=[(_SESSION, session.id)])

    def _session(self, headers: RequestHeaders, request: Request | None = None) -> HttpSession:
        """The session that a message belongs to."""
        id = ABSENT if request is None else request.id
        key = headers.get(_SESSION)
        if key is None:
            raise _Refused(400, "The Mcp-Session-Id header is missing; send initialize first", id=id)
        session = self._sessions.get(key)
        if session is None:
            raise _Refused(404, "The session is unknown or has ended; start a new one with initialize", id=id)
        session.touch()
        return session

    def _end(self, session: HttpSession, reason: str) -> None:
        del self._sessions[session.id]
        session.end(reason)

    def _idle_for_long(self, session: HttpSession) -> None:
        self._end(session, "The session was idle for too long")


def _is_modern(headers: RequestHeaders) -> bool:
    """Whether the version header is one that no client of the legacy era sends."""
    value = headers.get(_VERSION)
    return value is not None and value.decode("latin-1") not in LEGACY_VERSIONS


def _closing(headers: Headers | None = None) -> _Refused:
    return _Refused(503, "The server is closing", code=INTERNAL_ERROR, headers=[*_RETRY_AFTER, *(headers or [])])


def _check_version(headers: RequestHeaders, request: Request | None = None) -> None:
    """Refuse a version of the legacy era that is not spoken over HTTP; `initialize` may come with any."""
    value = headers.get(_VERSION)
    if value is None or (request is not None and request.method == INITIALIZE):
        return
    version = value.decode("latin-1")
    if version not in HTTP_VERSIONS:
        message = f"MCP {version} is not served over HTTP; known are {', '.join((*HTTP_VERSIONS, MODERN_VERSION))}"
        raise _Refused(400, message, id=ABSENT if request is None else request.id)
