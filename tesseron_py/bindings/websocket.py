"""The WebSocket binding, both ends: a listener on a loopback port, and a dialler.

It owns the upgrade (who may connect, Tesseron 1.2 §3 and §8), the close handshake, and the one place a listener has.
Frames are `websockets`' Sans-I/O protocol's; bytes are `Duplex`'s. What an envelope says is nobody's business here.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import cast

import anyio
from anyio.lowlevel import checkpoint
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, InvalidURI
from websockets.frames import CloseCode, Frame, Opcode
from websockets.headers import parse_subprotocol, validate_subprotocols
from websockets.http11 import Request, Response
from websockets.protocol import Protocol, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI, parse_uri

from ..protocol.messages import DEFAULT_FRAME_LIMIT, HANDSHAKE_DEADLINE, SUBPROTOCOL
from .channel import Admit, Closed, Gate, Offer, Refuse, check_size
from .duplex import STALL, Duplex
from .loopback import bind, connect, is_loopback_authority, is_loopback_host, is_loopback_origin, send_at_once

logger = logging.getLogger("tesseron_py.bindings.websocket")

LINGER = 1.0
"""Seconds that closing waits for the peer's part of it."""
MAX_HANDSHAKES = 64
"""Connections that may be in their handshake at once; one more, and the oldest is dropped."""
ACCEPT_PAUSE = 1.0
"""Seconds the listener waits when the system gives it no connection, out of file descriptors for instance."""
PACE = 64
"""Messages in a row that need no waiting before the event loop gets its turn all the same."""

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


class TesseronGate:
    """The default gate: lets in every peer that speaks as a gateway (Tesseron 1.2 §3)."""

    def offer(self, offer: Offer) -> Admit | Refuse:
        if SUBPROTOCOL in offer.subprotocols:
            return Admit(SUBPROTOCOL)
        return Refuse(
            HTTPStatus.BAD_REQUEST,
            f"This is the endpoint of a Tesseron app. Offer the subprotocol {SUBPROTOCOL!r} (Sec-WebSocket-Protocol).",
        )


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
    def _is_abandoned(self) -> bool:
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

    def __init__(self, sock: socket.socket, gate: Gate, *, limit: int, stall: float) -> None:
        host, port = sock.getsockname()[:2]
        self.url: str = f"ws://[{host}]:{port}/" if ":" in host else f"ws://{host}:{port}/"
        self.paths: set[str] = {"/"}
        self._sock = sock
        self._gate = gate
        self._limit = limit
        self._stall = stall
        self._attached: WebSocketChannel | None = None
        self._arrived: WebSocketChannel | None = None
        self._changed = anyio.Event()
        self._closed = False
        self._handshakes: dict[anyio.CancelScope, None] = {}

    async def accept(self) -> WebSocketChannel:
        """The next admitted connection. It is the caller's: the end of the listener does not close it.

        Raises:
            Closed: The listener is closed.
        """
        while self._arrived is None:
            if self._closed:
                raise Closed("the listener is closed", CloseCode.NORMAL_CLOSURE)
            await self._changed.wait()
        channel, self._arrived = self._arrived, None
        return channel

    async def _serve(self) -> None:
        async with anyio.create_task_group() as group:
            while True:
                await anyio.wait_readable(self._sock)
                try:
                    sock, _ = self._sock.accept()
                except (BlockingIOError, ConnectionError):
                    continue  # the peer gave up before its turn came
                except OSError as error:
                    logger.warning("Cannot accept a connection now: %s; trying again in %g s", error, ACCEPT_PAUSE)
                    await anyio.sleep(ACCEPT_PAUSE)
                    continue
                group.start_soon(self._shake_hands, sock)

    async def _shake_hands(self, sock: socket.socket) -> None:
        """Bring one connection through its upgrade, within the deadline; whatever it does stays its own trouble."""
        while len(self._handshakes) >= MAX_HANDSHAKES:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
        send_at_once(sock)
        duplex = Duplex(sock, stall=self._stall)
        admitted = False
        with anyio.CancelScope(deadline=anyio.current_time() + HANDSHAKE_DEADLINE) as scope:
            self._handshakes[scope] = None
            try:
                admitted = await self._upgrade(duplex)
            except Closed as error:
                logger.debug("A connection ended in its handshake: %s", error)
            except Exception:
                logger.exception("A handshake failed")
            finally:
                self._handshakes.pop(scope, None)
                if not admitted:
                    duplex.close(Closed("refused"))

    async def _upgrade(self, duplex: Duplex) -> bool:
        """Answer one upgrade request; whether the connection was admitted."""
        protocol = ServerProtocol(max_size=self._limit, logger=logger)
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
            duplex, protocol, path=request.path, limit=self._limit, early=early, on_free=self._vacate
        )
        self._attached = self._arrived = channel
        duplex.post(answer)
        self._changed.set()
        self._changed = anyio.Event()
        return True

    def _judge(self, protocol: ServerProtocol, request: Request) -> Response:
        """Our checks, then the protocol's, then the gate's, then whether the place is free (Tesseron 1.2 §3, §8)."""
        if (refusal := self._check(request)) is not None:
            return _refuse(protocol, refusal)
        response = protocol.accept(request)
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            return response
        offered = [parse_subprotocol(value) for value in request.headers.get_all("Sec-WebSocket-Protocol")]
        try:
            verdict = self._gate.offer(Offer(request.path, tuple(element for header in offered for element in header)))
        except Exception:
            logger.exception("The gate failed; the connection is refused")
            verdict = Refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "The app failed to decide; its log says why.")
        if isinstance(verdict, Refuse):
            return _refuse(protocol, verdict)
        if self._attached is not None and (self._arrived is not None or not self._attached._is_abandoned):
            return _refuse(
                protocol,
                Refuse(HTTPStatus.CONFLICT, "Another gateway is connected. Try again when it has disconnected."),
            )
        if verdict.subprotocol is not None:
            response.headers["Sec-WebSocket-Protocol"] = verdict.subprotocol
            protocol.subprotocol = Subprotocol(verdict.subprotocol)
        return response

    def _check(self, request: Request) -> Refuse | None:
        """That the request comes from this machine and not from some web page: Host, Origin, path."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1:
            return Refuse(HTTPStatus.BAD_REQUEST, "Send exactly one Host header.")
        if not is_loopback_authority(hosts[0]):
            return Refuse(HTTPStatus.FORBIDDEN, "Host is not this machine. Connect to 127.0.0.1, [::1] or localhost.")
        if len(origins) > 1 or not all(map(is_loopback_origin, origins)):
            return Refuse(
                HTTPStatus.FORBIDDEN, "Only pages of this machine may connect. Send no Origin, or a local one."
            )
        if request.path not in self.paths:
            return Refuse(HTTPStatus.FORBIDDEN, "There is nothing at this path. Use the URL in the app's manifest.")
        return None

    def _vacate(self, channel: WebSocketChannel) -> None:
        if self._attached is channel:
            self._attached = None

    async def _close(self) -> None:
        self._closed = True
        self._changed.set()
        self._sock.close()
        if self._arrived is not None:
            channel, self._arrived = self._arrived, None
            await channel.aclose()


@asynccontextmanager
async def listen(
    gate: Gate | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    limit: int = DEFAULT_FRAME_LIMIT,
    stall: float = STALL,
) -> AsyncIterator[Listener]:
    """Listen for gateways on a loopback port, as long as the body runs.

    What the body raises leaves unchanged. Connections still in their handshake end with it; accepted ones do not.

    Args:
        gate: Who decides which upgrades get in; by default whoever is a gateway.
        host: A loopback address, or `localhost`, which is 127.0.0.1.
        port: The port; 0 lets the system choose.
        limit: Bytes one message may have, in either direction.
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
    error: BaseException | None = None
    listener = Listener(bind(host, port), gate or TesseronGate(), limit=limit, stall=stall)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(listener._serve)
            try:
                yield listener
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as raised:
                # Kept from the task group, which would wrap it.
                error = raised
            group.cancel_scope.cancel()
    finally:
        await listener._close()
    if error is not None:
        raise error


async def dial(
    url: str,
    *,
    subprotocols: Sequence[str] = (SUBPROTOCOL,),
    limit: int = DEFAULT_FRAME_LIMIT,
    timeout: float = HANDSHAKE_DEADLINE,
    stall: float = STALL,
) -> WebSocketChannel:
    """Connect to an app that listens on this machine.

    Args:
        url: `ws://`, a loopback host, a port.
        subprotocols: What to offer; with a code also `tesseron-bind.<code>` (Tesseron 1.2 §3).
        limit: Bytes one message may have, in either direction.
        timeout: Seconds until the upgrade must be answered.
        stall: Seconds the peer may read nothing while something waits to be written, before it is dropped.

    Raises:
        ValueError: The URL is not one of this machine, or a subprotocol is not a token.
        DialRefused: The other end answered with an HTTP status other than 101.
        OSError: Nobody listens, or the answer took too long (`TimeoutError`).
        Closed: The connection broke before it was open, or the answer is no WebSocket's.
    """
    uri = _local_uri(url)
    validate_subprotocols([Subprotocol(element) for element in subprotocols])
    with anyio.fail_after(timeout):
        duplex = Duplex(await connect(uri.host, uri.port), stall=stall)
        try:
            return await _negotiate(duplex, uri, subprotocols, limit)
        except BaseException:
            duplex.close(Closed("the handshake failed"))
            raise


async def _negotiate(duplex: Duplex, uri: WebSocketURI, subprotocols: Sequence[str], limit: int) -> WebSocketChannel:
    offered = [Subprotocol(element) for element in subprotocols] or None
    protocol = ClientProtocol(uri, subprotocols=offered, max_size=limit, logger=logger)
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


def _refuse(protocol: ServerProtocol, refusal: Refuse) -> Response:
    response = protocol.reject(refusal.status, f"{refusal.reason}\n")
    if refusal.status == HTTPStatus.UPGRADE_REQUIRED:
        response.headers["Upgrade"] = "websocket"
    return response


def _local_uri(url: str) -> WebSocketURI:
    try:
        uri = parse_uri(url)
    except InvalidURI as error:
        raise ValueError(f"{url!r} cannot be dialled: {error}") from error
    if uri.secure or uri.user_info is not None or not is_loopback_host(uri.host):
        raise ValueError(f"{url!r} cannot be dialled: only ws:// with a loopback host and without a user is")
    return uri
