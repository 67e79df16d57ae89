"""The WebSocket binding, both ends: a listener on a loopback port, and a dialler.

It owns the upgrade (who may connect, Tesseron 1.2 §3 and §8), the close handshake, and the one place a listener has.
Frames are `websockets`' Sans-I/O protocol's; bytes are `Duplex`'s. What an envelope says is nobody's business here.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import cast

import anyio
from anyio.lowlevel import checkpoint
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, InvalidURI
from websockets.frames import CloseCode, Frame, Opcode
from websockets.headers import parse_subprotocol
from websockets.http11 import Request, Response
from websockets.protocol import Protocol, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI, parse_uri

from ..protocol.messages import BIND_PREFIX, BIND_SUBPROTOCOL, DEFAULT_FRAME_LIMIT, HANDSHAKE_DEADLINE, SUBPROTOCOL
from ..web.loopback import is_loopback_host
from .channel import Closed, Gate, Offer, OpenGate, Refusal, Refuse, check_size
from .duplex import STALL, Duplex
from .loopback import bind, connect, is_loopback_authority, is_loopback_origin
from .reception import Reception

logger = logging.getLogger("tesseron_py.bindings.websocket")

LINGER = 1.0
"""Seconds that closing waits for the peer's part of it."""
MAX_HANDSHAKES = 64
"""Connections that may be in their handshake at once; one more, and the oldest is dropped."""
PACE = 64
"""Messages in a row that need no waiting before the event loop gets its turn all the same."""

STATUSES: Mapping[Refusal, HTTPStatus] = {
    Refusal.LOCKED_OUT: HTTPStatus.TOO_MANY_REQUESTS,
    Refusal.MALFORMED: HTTPStatus.BAD_REQUEST,
    Refusal.NO_CODE: HTTPStatus.UPGRADE_REQUIRED,
    Refusal.WRONG_CODE: HTTPStatus.FORBIDDEN,
    Refusal.SPENT: HTTPStatus.CONFLICT,
    Refusal.TAKEN: HTTPStatus.CONFLICT,
}
"""What a gate's refusal is as the answer to an upgrade (Tesseron 1.2 §3)."""

_TEXT, _BINARY, _CONT = Opcode.TEXT, Opcode.BINARY, Opcode.CONT
_HEAD_END = b"\r\n\r\n"


class DialRefused(Exception):
    """The other end answered the upgrade with an HTTP status other than 101.

    Attributes:
        status: The HTTP status: what Tesseron 1.2 §3 gives a meaning to (403 a wrong code, 409 taken, 426 no code, …).
        reason: The text of the answer, for people.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"the connection was refused with HTTP {status}: {reason}")
        self.status = status
        self.reason = reason


class _Wire(logging.LoggerAdapter[logging.Logger]):
    """The protocol's logger. At DEBUG it writes every header and frame, claim codes and people's answers included, so
    that has to be asked for by name: a level that is inherited is not enough."""

    def isEnabledFor(self, level: int) -> bool:
        return (level > logging.DEBUG or self.logger.level == logging.DEBUG) and super().isEnabledFor(level)


_wire = _Wire(logger, {})


class WebSocketChannel:
    """A `Channel` over one WebSocket connection; see `listen` and `dial`.

    `receive` reads the socket in the task that calls it, so a peer that sends too fast is slowed down by TCP. Pings are
    answered, and a close is noticed, while a task is in it.

    Attributes:
        path: The path of the upgrade request.
        subprotocol: The subprotocol both ends agreed on.
    """

    def __init__(
        self,
        duplex: Duplex,
        protocol: Protocol,
        *,
        path: str,
        limit: int,
        early: bytes = b"",
        on_free: Callable[[WebSocketChannel], None] | None = None,
    ) -> None:
        self.path = path
        self.subprotocol: str | None = protocol.subprotocol
        self._duplex = duplex
        self._protocol = protocol
        self._limit = limit
        self._early = early
        self._on_free = on_free
        self._inbox: deque[str] = deque()
        self._parts = bytearray()
        self._unpaced = 0
        self._ended: Closed | None = None
        self._done = anyio.Event()

    @property
    def limit(self) -> int:
        return self._limit

    async def send(self, text: str) -> None:
        data = check_size(text, self._limit)
        self._unpaced += 1
        if self._unpaced > PACE:
            self._unpaced = 0
            await checkpoint()
        if self._ended is not None:
            raise Closed(self._ended.reason, self._ended.code)
        self._protocol.send_text(data)
        [frame] = self._protocol.data_to_send()
        try:
            await self._duplex.write(frame)
        except Closed:
            self._free()
            raise

    async def receive(self) -> str:
        if self._inbox:
            self._unpaced += 1
            if self._unpaced > PACE:
                self._unpaced = 0
                await checkpoint()
        while not self._inbox:
            if self._ended is not None:
                raise Closed(self._ended.reason, self._ended.code)
            await self._fill()
        return self._inbox.popleft()

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._ended is not None:
                await self._done.wait()
                return
            self._end(Closed("closed by this end", CloseCode.NORMAL_CLOSURE))
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
            self._duplex.post(b"".join(self._protocol.data_to_send()))
            try:
                with anyio.move_on_after(LINGER):
                    await self._await_echo()
            except Closed:
                pass  # the peer went first
            finally:
                self._hang_up()

    @property
    def is_abandoned(self) -> bool:
        """Whether the peer has gone, and only our reader has not come to see it."""
        return self._duplex.is_abandoned

    async def _await_echo(self) -> None:
        """Read until the peer's close frame, which also lets it finish what it is sending."""
        await self._duplex.expel()
        while self._protocol.close_rcvd is None and (data := await self._read()):
            self._protocol.receive_data(data)
            self._protocol.events_received()
            self._protocol.data_to_send()
        await self._duplex.settle()

    async def _read(self) -> bytes:
        if self._early:
            data, self._early = self._early, b""
            return data
        return await self._duplex.read()

    async def _fill(self) -> None:
        """Take in what one read gives: messages into the inbox, pongs out, and the end of the connection."""
        self._unpaced = 0
        try:
            data = await self._read()
        except Closed as closed:
            if self._ended is None:
                self._end(closed)
                self._hang_up()
            return
        protocol = self._protocol
        _feed(protocol, data)
        try:
            for frame in cast("list[Frame]", protocol.events_received()):
                self._take(frame)
        except UnicodeDecodeError as error:
            protocol.fail(CloseCode.INVALID_DATA, f"{error.reason} at byte {error.start}")
        answer = b"".join(protocol.data_to_send())
        if protocol.state is State.OPEN:
            self._duplex.post(answer)
        else:
            await self._wind_up(answer)

    def _take(self, frame: Frame) -> None:
        opcode = frame.opcode
        if opcode is _TEXT or opcode is _BINARY:
            if frame.fin:
                self._inbox.append(str(frame.data, "utf-8"))
            else:
                self._parts = bytearray(frame.data)
        elif opcode is _CONT:
            self._parts += frame.data
            if frame.fin:
                parts, self._parts = self._parts, bytearray()
                self._inbox.append(parts.decode())

    async def _wind_up(self, answer: bytes) -> None:
        """The peer has closed or gone, or has broken the rules; `answer` is what the protocol says to that."""
        protocol = self._protocol
        sent, received = protocol.close_sent, protocol.close_rcvd
        if sent is None:
            self._end(Closed("the other end went away without closing", CloseCode.ABNORMAL_CLOSURE))
        elif received is not None and sent is received:
            self._end(Closed(f"closed by the other end: {received}", received.code))
        else:
            self._end(Closed(f"closed by this end: {sent}", sent.code))
        try:
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LINGER):
                self._duplex.post(answer)
                if sent is received:
                    await self._duplex.settle()
                else:
                    # A socket closed with unread input is reset, and the peer might never read why. So read it all.
                    self._duplex.finish()
                    while await self._duplex.read():
                        pass
        except Closed:
            pass  # the peer went first
        finally:
            self._hang_up()

    def _end(self, why: Closed) -> None:
        self._ended = why
        self._free()
        self._duplex.seal(why)

    def _free(self) -> None:
        """Free the listener's place; the first of several times counts."""
        on_free, self._on_free = self._on_free, None
        if on_free is not None:
            on_free(self)

    def _hang_up(self) -> None:
        assert self._ended is not None
        self._duplex.finish()
        self._duplex.close(self._ended)
        self._done.set()


class Listener:
    """A loopback port that takes one attached connection at a time; made by `listen`.

    The place is free again as soon as the attached peer's close or end is seen, or our `aclose` begins, so a peer that
    reconnects at once gets in. An upgrade that the gate admits while the place is taken gets 409; every other admitted
    one becomes a channel that `accept` returns, even if its peer has gone by then.

    Attributes:
        url: Where it listens, `ws://127.0.0.1:PORT/` or `ws://[::1]:PORT/`.
        paths: The paths it serves, at first `/` alone; an upgrade for another gets 403. Add a secret one for a second
            endpoint; the gate sees which was used.
    """

    def __init__(self, sock: socket.socket, gate: Gate, *, limit: int, handshake: float, stall: float) -> None:
        host, port = sock.getsockname()[:2]
        self.url: str = f"ws://[{host}]:{port}/" if ":" in host else f"ws://{host}:{port}/"
        self.paths: set[str] = {"/"}
        self._sock = sock
        self._gate = gate
        self._limit = limit
        self._reception: Reception[WebSocketChannel] = Reception(
            waiting=MAX_HANDSHAKES, deadline=handshake, stall=stall
        )

    async def accept(self) -> WebSocketChannel:
        """The next admitted connection. It is the caller's: the end of the listener does not close it.

        Raises:
            Closed: The listener is closed.
        """
        return await self._reception.accept()

    async def _upgrade(self, duplex: Duplex) -> bool:
        """Answer one upgrade request; whether the connection was admitted."""
        duplex.send_at_once()
        protocol = ServerProtocol(max_size=self._limit, logger=_wire)
        early = await _read_head(duplex, protocol)
        events = protocol.events_received()
        if not events:
            answer = b"".join(protocol.data_to_send())
            if not answer and protocol.handshake_exc is not None:
                fault = protocol.handshake_exc.__cause__ or protocol.handshake_exc
                answer = protocol.reject(HTTPStatus.BAD_REQUEST, f"This is no request: {fault}.\n").serialize()
            await _part(duplex, answer)
            return False
        request = cast(Request, events[0])
        response = self._judge(protocol, request)
        protocol.send_response(response)
        answer = b"".join(protocol.data_to_send())
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            await _part(duplex, answer)
            return False
        channel = WebSocketChannel(
            duplex, protocol, path=request.path, limit=self._limit, early=early, on_free=self._reception.vacate
        )
        duplex.post(answer)
        self._reception.seat(channel)
        return True

    def _judge(self, protocol: ServerProtocol, request: Request) -> Response:
        """Our checks, then the protocol's, then the gate's, then whether the place is free (Tesseron 1.2 §3, §8)."""
        if (problem := self._check(request)) is not None:
            return _refuse(protocol, *problem)
        response = protocol.accept(request)
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            return response
        offered = [parse_subprotocol(value) for value in request.headers.get_all("Sec-WebSocket-Protocol")]
        elements = [element for header in offered for element in header]
        if SUBPROTOCOL not in elements:
            text = f"This is the endpoint of a Tesseron app. Offer {SUBPROTOCOL!r} in Sec-WebSocket-Protocol."
            return _refuse(protocol, HTTPStatus.BAD_REQUEST, text)
        try:
            verdict = self._gate.offer(_offer(request.path, elements))
        except Exception:
            logger.exception("The gate failed; the connection is refused")
            text = "The app failed to decide; its log says why."
            return _refuse(protocol, HTTPStatus.INTERNAL_SERVER_ERROR, text)
        if isinstance(verdict, Refuse):
            return _refuse(protocol, STATUSES[verdict.refusal], verdict.message)
        if self._reception.is_taken:
            text = "Another gateway is connected. Try again when it has disconnected."
            return _refuse(protocol, STATUSES[Refusal.TAKEN], text)
        response.headers["Sec-WebSocket-Protocol"] = SUBPROTOCOL
        protocol.subprotocol = Subprotocol(SUBPROTOCOL)
        return response

    def _check(self, request: Request) -> tuple[HTTPStatus, str] | None:
        """That the request comes from this machine and not from some web page: Host, Origin, path."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1:
            return HTTPStatus.BAD_REQUEST, "Send exactly one Host header."
        if not is_loopback_authority(hosts[0]):
            return HTTPStatus.FORBIDDEN, "Host is not this machine. Connect to 127.0.0.1, [::1] or localhost."
        if len(origins) > 1 or not all(map(is_loopback_origin, origins)):
            return HTTPStatus.FORBIDDEN, "Only pages of this machine may connect. Send no Origin, or a local one."
        if request.path not in self.paths:
            return HTTPStatus.FORBIDDEN, "There is nothing at this path. Use the URL in the app's manifest."
        return None


@asynccontextmanager
async def listen(
    gate: Gate | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    limit: int = DEFAULT_FRAME_LIMIT,
    handshake: float = HANDSHAKE_DEADLINE,
    stall: float = STALL,
) -> AsyncIterator[Listener]:
    """Listen for gateways on a loopback port, as long as the body runs.

    What the body raises leaves unchanged. Connections still in their handshake end with it; accepted ones do not.

    Args:
        gate: Who decides which gateways get in; by default all do.
        host: A loopback address, or `localhost`, which is 127.0.0.1.
        port: The port; 0 lets the system choose.
        limit: Bytes one message may have, in either direction.
        handshake: Seconds a peer has for its upgrade.
        stall: Seconds a peer may read nothing while something waits to be written, before it is dropped.

    Raises:
        ValueError: `host` is not a loopback address.
        OSError: The address cannot be listened on.

    Example:
        ```python
        async with listen() as listener:
            channel = await listener.accept()
            await channel.send(await channel.receive())
        ```
    """
    listener = Listener(bind(host, port), gate or OpenGate(), limit=limit, handshake=handshake, stall=stall)
    async with listener._reception.open():
        listener._reception.receive_from(listener._sock, listener._upgrade)
        yield listener


async def dial(
    url: str,
    *,
    code: str | None = None,
    limit: int = DEFAULT_FRAME_LIMIT,
    timeout: float = HANDSHAKE_DEADLINE,
    stall: float = STALL,
) -> WebSocketChannel:
    """Connect to an app that listens on this machine.

    Args:
        url: `ws://`, a loopback host, a port.
        code: The claim code to bind with, for an app that mints its own (Tesseron 1.2 §3).
        limit: Bytes one message may have, in either direction.
        timeout: Seconds until the upgrade must be answered.
        stall: Seconds the peer may read nothing while something waits to be written, before it is dropped.

    Raises:
        ValueError: The URL is not one of this machine, or the code cannot be one.
        DialRefused: The other end answered with an HTTP status other than 101.
        OSError: Nobody listens, or the answer took too long (`TimeoutError`).
        Closed: The connection broke before it was open, or the answer is no WebSocket's.
    """
    uri = _local_uri(url)
    offered = [Subprotocol(SUBPROTOCOL)]
    if code is not None:
        offered.append(Subprotocol(BIND_PREFIX + code))
        if BIND_SUBPROTOCOL.fullmatch(offered[-1]) is None:
            raise ValueError("a claim code has 1 to 64 letters, digits, _ and -, which this one has not")
    with anyio.fail_after(timeout):
        duplex = Duplex(await connect(uri.host, uri.port), stall=stall)
        try:
            return await _negotiate(duplex, uri, offered, limit)
        except BaseException:
            duplex.close(Closed("the handshake failed"))
            raise


async def _negotiate(duplex: Duplex, uri: WebSocketURI, offered: list[Subprotocol], limit: int) -> WebSocketChannel:
    protocol = ClientProtocol(uri, subprotocols=offered, max_size=limit, logger=_wire)
    request = protocol.connect()
    protocol.send_request(request)
    duplex.post(b"".join(protocol.data_to_send()))
    rest = await _read_head(duplex, protocol)
    while not protocol.events_received() and protocol.handshake_exc is None:
        # The head of a refusal is there; its body has not come whole.
        data, rest = rest or await duplex.read(), b""
        _feed(protocol, data)
    match protocol.handshake_exc:
        case None:
            return WebSocketChannel(duplex, protocol, path=request.path, limit=limit, early=rest)
        case InvalidStatus(response=response):
            text = (response.body or b"").decode("utf-8", "replace").strip()
            raise DialRefused(response.status_code, text or response.reason_phrase)
        case fault:
            vanished = isinstance(fault.__cause__, EOFError)
            raise Closed(
                f"the connection did not open: {fault.__cause__ or fault}",
                CloseCode.ABNORMAL_CLOSURE if vanished else CloseCode.PROTOCOL_ERROR,
            ) from fault


async def _read_head(duplex: Duplex, protocol: Protocol) -> bytes:
    """Give `protocol` an HTTP head and no more; what came after it is returned.

    A peer may send frames in the same packet. The protocol must not see them before the handshake is complete, or it
    would answer a ping or a close in the middle of it.
    """
    tail = b""
    while protocol.handshake_exc is None:
        data = await duplex.read()
        at = (tail + data).find(_HEAD_END)
        if at >= 0:
            cut = at + len(_HEAD_END) - len(tail)
            protocol.receive_data(data[:cut])
            return data[cut:]
        _feed(protocol, data)
        tail = (tail + data)[1 - len(_HEAD_END) :]
    return b""


def _feed(protocol: Protocol, data: bytes) -> None:
    if data:
        protocol.receive_data(data)
    else:
        protocol.receive_eof()


async def _part(duplex: Duplex, answer: bytes) -> None:
    """Send the answer to a request that leads nowhere, and see the connection out."""
    duplex.post(answer)
    with anyio.move_on_after(LINGER):
        await duplex.settle()
        duplex.finish()
        while await duplex.read():
            pass


def _offer(path: str, elements: list[Subprotocol]) -> Offer:
    binds = [element for element in elements if element.startswith(BIND_PREFIX) or element == BIND_PREFIX[:-1]]
    codes = tuple(match[1] for element in binds if (match := BIND_SUBPROTOCOL.fullmatch(element)) is not None)
    return Offer(path, codes, malformed=len(binds) > 1 or len(codes) < len(binds))


def _refuse(protocol: ServerProtocol, status: HTTPStatus, text: str) -> Response:
    response = protocol.reject(status, f"{text}\n")
    if status is HTTPStatus.UPGRADE_REQUIRED:
        response.headers["Upgrade"] = "websocket"  # RFC 9110 §15.5.22 wants it
    return response


def _local_uri(url: str) -> WebSocketURI:
    try:
        uri = parse_uri(url)
    except InvalidURI as error:
        raise ValueError(f"{url!r} cannot be dialled: {error}") from error
    if uri.secure or uri.user_info is not None or not is_loopback_host(uri.host):
        raise ValueError(f"{url!r} cannot be dialled: only ws:// with a loopback host and without a user is")
    return uri
