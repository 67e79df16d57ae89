"""The gateway's end of the HTTP binding as a plain ASGI application with one path, beside `/mcp`.

It owns the statuses, who may talk to it, which requests belong to which connection, and the openings that a repeated
attempt is answered from. What goes over a connection is `http_connection`'s; what it says is nobody's business here.
"""

from __future__ import annotations

import contextvars
import hashlib
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import anyio

from ..home import Home
from ..jsontext import decode, encode
from ..protocol.messages import HELLO, RESUME
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
from ..web.guard import Guard, Headers
from .http_connection import HttpConnection
from .http_wire import ATTEMPT, CONNECTION, DEFAULT_HTTP_LIMITS, LAST_EVENT, PATH, SEQUENCE, HttpLimits, number

logger = logging.getLogger("tesseron_py.bindings.http")

CLOSING: Final = 0.5
"""Seconds that closing waits for what is in flight to say goodbye."""
MAX_OPENINGS: Final = 4096
"""Openings whose answers are kept for repeats; above, the oldest answers go before their time."""

_CONNECTION, _ATTEMPT, _SEQUENCE, _LAST_EVENT = (
    name.lower().encode() for name in (CONNECTION, ATTEMPT, SEQUENCE, LAST_EVENT)
)
_ATTEMPT_FORM = re.compile(rb"[A-Za-z0-9._~+/=-]{22,128}")
_ALLOW: Final[Headers] = [(b"allow", b"GET, POST, DELETE")]
_CLOSE: Final[Headers] = [(b"connection", b"close")]
"""With a response that comes before the request is read: what is left of it must not be taken for the next one."""
_CHALLENGE: Final[Headers] = [(b"www-authenticate", b'Bearer realm="tesseron"')]
_RETRY_AFTER: Final[Headers] = [(b"retry-after", b"5")]


class _Refused(Exception):
    """A request that is answered with a status of its own, and a body that says why and what to do."""

    def __init__(self, status: int, message: str, *, headers: Headers | None = None, **members: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = encode({"error": message, **members} if message else members).encode()
        self.headers = headers or []


class _Opening:
    """What became of one attempt to open a connection."""

    def __init__(self, body: bytes) -> None:
        self.done = anyio.Event()
        self.body = b""
        """The answer to it; empty when there was none."""
        self.headers: Headers = []
        self._digest = hashlib.sha256(body).digest()

    def is_of(self, body: bytes) -> bool:
        return hashlib.sha256(body).digest() == self._digest


class TesseronEndpoint:
    """Takes the connections of apps that dial out. Works under any ASGI server, on asyncio and trio.

    It opens its home at the server's lifespan startup or, where the server passes none, at the first request; it
    belongs to that event loop from then on.

    Args:
        on_channel: Told of each new connection, in the event loop: a channel whose first message is the app's hello or
            resume. It is the receiver's to close.
        token: The bearer token every request must carry.
        path: Where, below the `root_path` of a mount.
        hosts: Host names besides the loopback ones that this server goes by.
        origins: Origins besides the loopback ones whose pages may call it.
        limits: The numbers.
        home: Where background tasks run; closed with the endpoint. One of its own by default.

    Raises:
        ValueError: The path, a host, an origin or the token is none.

    Example:
        ```python
        endpoint = TesseronEndpoint(gateway.connect, token=secrets.token_urlsafe(32))
        uvicorn.run(endpoint)
        ```
    """

    def __init__(
        self,
        on_channel: Callable[[HttpConnection], object],
        *,
        token: str,
        path: str = PATH,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: HttpLimits = DEFAULT_HTTP_LIMITS,
        home: Home | None = None,
    ) -> None:
        if not path.startswith("/"):
            raise ValueError(f"The path {path!r} does not start with a slash; write {'/' + path!r}")
        if not token:
            raise ValueError("Apps must show a token; give one that cannot be guessed")
        self.path = path
        self.limits = limits
        self.home: Home = home or Home("the Tesseron endpoint")
        self._on_channel = on_channel
        self._guard = Guard(token=token, hosts=hosts, origins=origins)
        self._connections: dict[bytes, HttpConnection] = {}
        self._openings: dict[bytes, _Opening] = {}
        self._bodies = Bodies(self.limits.body_deadline)
        self._closed = False
        self._active = 0
        self._idle = anyio.Event()

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._connections)

    async def aclose(self) -> None:
        """End every connection. To be called before the server is stopped, which else waits for its open streams."""
        self._closed = True
        self._bodies.close()
        with anyio.CancelScope(shield=True):
            for connection in list(self._connections.values()):
                connection.drop("the gateway is closing", 1000)
            with anyio.move_on_after(CLOSING):
                while self._active:
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
                    if not self._active:
                        self._idle.set()
                        self._idle = anyio.Event()
            case "lifespan":
                await self._lifespan(receive, send)
            case "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": "Apps connect with HTTP requests here"})
            case other:
                raise ValueError(f"TesseronEndpoint serves HTTP, not {other!r}")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._open_home()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _open_home(self) -> None:
        # Nothing of the request that happens to come first may live on in the tasks of the endpoint.
        await self.home.open(context=contextvars.Context())

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = RequestHeaders(scope)
        reply = Reply(send, [], self.limits.write_deadline)
        try:
            if not self._guard.allows_host(headers.all(b"host")):
                raise _Refused(403, "The Host header is none of this server's names (--allow-host adds one)")
            if not self._guard.allows_origin(headers.all(b"origin")):
                raise _Refused(403, "Pages of this Origin may not call this server (--allow-origin allows one)")
            if not route(scope, self.path):
                raise _Refused(404, f"There is nothing here; apps connect at {self.path}")
            if not self._guard.allows_token(headers.all(b"authorization")):
                raise _Refused(401, "This gateway wants its bearer token in Authorization", headers=_CHALLENGE)
            if self._closed:
                raise _Refused(503, "The gateway is closing", headers=_RETRY_AFTER)
            if not self.home.is_open:
                await self._open_home()
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
        if method not in ("GET", "POST", "DELETE"):
            raise _Refused(405, f"{method} is not allowed here", headers=_ALLOW)
        if headers.get(_CONNECTION) is None:
            if method != "POST":
                raise _Refused(404, f"The {CONNECTION} header is missing; open a connection with {HELLO} first")
            await self._open(headers, receive, reply)
            return
        connection = self._connection(headers)
        match method:
            case "GET":
                await self._stream(connection, headers, receive, reply)
            case "POST":
                await self._post(connection, headers, receive, reply)
            case _:
                connection.drop("the app ended the connection", 1000)
                await reply.whole(204)

    def _connection(self, headers: RequestHeaders) -> HttpConnection:
        connection = self._connections.get(headers.get(_CONNECTION) or b"")
        if connection is None:
            raise _gone()
        connection.touch()
        return connection

    # Opening

    async def _open(self, headers: RequestHeaders, receive: Receive, reply: Reply) -> None:
        attempt = headers.get(_ATTEMPT)
        if attempt is None or _ATTEMPT_FORM.fullmatch(attempt) is None:
            raise _Refused(
                400,
                f"A connection is opened with {ATTEMPT}: 128 random bits, as 22 characters of base64 or 32 hex digits",
            )
        body = await self._body(headers, receive)
        opening = self._openings.get(attempt)
        if opening is None:
            opening = self._begin(attempt, body)
        elif not opening.is_of(body):
            raise _Refused(400, f"This {ATTEMPT} was another message's; a new opening takes a new one")
        await opening.done.wait()
        if not opening.body:
            raise _Refused(503, "The gateway gave no answer; try again", headers=_RETRY_AFTER)
        await reply.whole(200, opening.body, headers=opening.headers)

    def _begin(self, attempt: bytes, body: bytes) -> _Opening:
        text, id = _opening_message(body)
        if len(self._connections) >= self.limits.connections:
            raise _Refused(
                503, f"{len(self._connections)} apps are connected, which is as many as may be", headers=_RETRY_AFTER
            )
        for old in [old for old, kept in self._openings.items() if kept.done.is_set()][
            : len(self._openings) - MAX_OPENINGS + 1
        ]:
            del self._openings[old]
        connection = HttpConnection(text, id, limits=self.limits, home=self.home, on_end=self._forget)
        self._connections[connection.id] = connection
        self._openings[attempt] = opening = _Opening(body)
        self.home.start(self._await_answer, attempt, opening, connection, name="opening of a connection over HTTP")
        return opening

    async def _await_answer(self, attempt: bytes, opening: _Opening, connection: HttpConnection) -> None:
        try:
            self._on_channel(connection)
            with anyio.move_on_after(self.limits.handshake):
                await connection.answered.wait()
            if connection.answer is not None:
                opening.body = connection.answer.encode()
                if connection.is_open:
                    opening.headers = [(_CONNECTION, connection.id)]
        finally:
            opening.done.set()
            if opening.body:
                self.home.call_at(self.home.time() + self.limits.kept, lambda: self._forget_opening(attempt))
            else:
                self._forget_opening(attempt)
                connection.drop("the gateway gave no answer to the opening")

    def _forget_opening(self, attempt: bytes) -> None:
        self._openings.pop(attempt, None)

    def _forget(self, connection: HttpConnection) -> None:
        self._connections.pop(connection.id, None)

    # An open connection

    async def _stream(
        self, connection: HttpConnection, headers: RequestHeaders, receive: Receive, reply: Reply
    ) -> None:
        if not accepts_stream(headers.get(b"accept")):
            raise _Refused(406, "GET answers with text/event-stream; the Accept header does not allow it")
        last = headers.get(_LAST_EVENT)
        if last is not None:
            after = _event_number(last)
            if not connection.keeps(after):
                raise _Refused(404, f"Event {after} is not kept; open a new connection with {RESUME}")
            connection.acknowledge(after)
        if connection.is_ended and connection.is_told:
            raise _gone()
        await connection.tell(reply, receive)

    async def _post(self, connection: HttpConnection, headers: RequestHeaders, receive: Receive, reply: Reply) -> None:
        acknowledged, given = headers.get(_LAST_EVENT), headers.get(_SEQUENCE)
        if acknowledged is not None and not connection.acknowledge(_event_number(acknowledged)):
            raise _Refused(400, f"{LAST_EVENT} names an event that was not sent", headers=_CLOSE)
        if given is None:
            if await self._body(headers, receive):
                raise _Refused(400, f"{SEQUENCE} is missing: messages are numbered 1, 2, 3, …")
            if acknowledged is None:
                raise _Refused(400, f"An empty request acknowledges events, and {LAST_EVENT} is missing")
            await reply.whole(204)
            return
        sequence = number(given)
        if not sequence:
            raise _Refused(400, f"{SEQUENCE} is not a number; messages are numbered 1, 2, 3, …", headers=_CLOSE)
        if connection.is_ended:
            raise _gone()

        async def read() -> str:
            return _json_text(await self._body(headers, receive))

        if sequence < connection.expected:  # a repeat; read, so that another request can follow on its TCP connection
            await self._body(headers, receive)
        taken = await connection.post(sequence, read)
        if not taken and connection.is_ended:
            raise _gone()
        if not taken:
            raise _Refused(409, "", headers=_CLOSE, expected=connection.expected)
        await reply.whole(202)

    async def _body(self, headers: RequestHeaders, receive: Receive) -> bytes:
        try:
            return await self._bodies.read(read_body(receive, self.limits.frame, headers.get(b"content-length")))
        except BodyTooLarge:
            limit = self.limits.frame
            raise _Refused(413, f"A message may have {limit} bytes", headers=_CLOSE, limit=limit) from None
        except BodyInterrupted as interrupted:
            if interrupted.closing:
                raise _Refused(503, "The gateway is closing", headers=[*_RETRY_AFTER, *_CLOSE]) from None
            message = f"The body did not come within {self.limits.body_deadline:g} s"
            raise _Refused(408, message, headers=_CLOSE) from None


def _gone() -> _Refused:
    return _Refused(404, f"The connection is unknown or has ended; open a new one with {RESUME}", headers=_CLOSE)


def _event_number(value: bytes) -> int:
    event = number(value)
    if event is None:
        raise _Refused(400, f"{LAST_EVENT} is not the number of an event", headers=_CLOSE)
    return event


def _json_text(body: bytes) -> str:
    """A body that is JSON, as text."""
    try:
        decode(body)
    except ValueError as error:
        raise _Refused(400, f"The body is not JSON: {error}") from None
    return body.decode()


def _opening_message(body: bytes) -> tuple[str, Any]:
    """The text and the id of a hello or a resume."""
    text = _json_text(body)
    message = decode(text)
    if not isinstance(message, dict) or message.get("method") not in (HELLO, RESUME) or message.get("jsonrpc") != "2.0":
        raise _Refused(400, f"Without {CONNECTION} a request opens a connection, with {HELLO} or {RESUME}")
    id = message.get("id", False)
    if type(id) not in (str, int, type(None)):
        raise _Refused(400, f"{message['method']} is a request, and its id is missing, or is none")
    return text, id
