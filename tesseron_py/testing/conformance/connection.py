"""The runner's end of a connection to a host: plain sockets, over which frames are text.

Everything waits until a time it is given and no longer. WebSocket frames are `websockets`' Sans-I/O protocol's; the
upgrade's answer is read here, since a refusal is judged by its status alone, however it is written.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.frames import Frame as WebSocketFrame
from websockets.frames import Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from .transcript import Transcript

GATEWAY: Final = "tesseron-gateway"
BIND: Final = "tesseron-bind."
_MAX_HEAD: Final = 64 * 1024
_NOW: Final = 0.0


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of the host."""

    number: int
    """Of the event of its arrival."""
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a connection ended: with a WebSocket close code, where there was one."""

    reason: str
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The upgrade was answered, and not with an open connection."""

    status: int
    reason: str


class DialFailed(Exception):
    """There is no connection, and no answer that says why."""


class Connection:
    """A connection, as what has come of it so far."""

    def __init__(self, sock: socket.socket, transcript: Transcript) -> None:
        self._sock = sock
        self._transcript = transcript
        self.inbox: deque[Frame] = deque()
        """The frames that nobody has taken."""
        self.ended: Ended | None = None

    def next_frame(self, until: float) -> Frame | None:
        """Take the next frame; `None` when none comes until then, or the connection ends first."""
        while not self.inbox:
            if self.ended is not None or not self.read(until):
                return None
        return self.inbox.popleft()

    def read(self, until: float) -> bool:
        """Take in what the socket gives, waiting for it until then; whether there was anything, the end included."""
        if self.ended is not None:
            return False
        # A timeout of 0 would make the socket non-blocking, which says the same in another exception.
        self._sock.settimeout(max(until - time.monotonic(), _NOW))
        try:
            data = self._sock.recv(256 * 1024)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            self._end(Ended(f"it broke: {error.strerror or error}"))
            return True
        self._feed(data)
        return True

    def drain(self) -> None:
        """Take in what has come already."""
        while self.read(_NOW):
            pass

    def send(self, text: str, until: float, *, binary: bool = False) -> None:
        """Send a frame. A connection that ends meanwhile has ended; one that is not read fails.

        Raises:
            TimeoutError: The host does not read.
        """
        self._transcript.add("→", text if not binary else f"(binary) {text}")
        self._write(self._encode(text, binary), until)

    def break_off(self) -> None:
        """End it the way a lost peer does."""
        try:
            # A host that is just being started, for another scenario, may hold a copy of the descriptor for a moment:
            # closing alone would not end the connection before that host has begun to run.
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended
        self._sock.close()
        if self.ended is None:
            self._end(Ended("broken off by the runner"))

    def close(self, code: int, until: float) -> None:
        """End it in order, and wait for the host's part."""
        self.break_off()

    def _write(self, data: bytes, until: float) -> None:
        self._sock.settimeout(max(until - time.monotonic(), 0.001))
        try:
            self._sock.sendall(data)
        except TimeoutError:
            raise
        except OSError:
            # Why is in what the host sent before; reading finds it, or the end.
            pass

    def _end(self, ended: Ended) -> None:
        if self.ended is None:
            self.ended = ended
            code = f" (code {ended.code})" if ended.code is not None else ""
            self._transcript.add("·", f"the connection ended: {ended.reason}{code}")

    def _take(self, text: str) -> None:
        self.inbox.append(Frame(self._transcript.add("←", text), text))

    def _feed(self, data: bytes) -> None:
        raise NotImplementedError

    def _encode(self, text: str, binary: bool) -> bytes:
        raise NotImplementedError


class UnixConnection(Connection):
    """A Unix socket: a frame is a line."""

    _rest = b""

    def _feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in filter(None, lines):
            self._take(line.decode("utf-8", "surrogateescape"))
        if not data:
            rest = f", after a line without an end: {self._rest[:200]!r}" if self._rest else ""
            self._end(Ended(f"closed by the host{rest}"))

    def _encode(self, text: str, binary: bool) -> bytes:
        return text.encode() + b"\n"


class WebSocketConnection(Connection):
    """A WebSocket, open."""

    def __init__(self, sock: socket.socket, transcript: Transcript, protocol: ClientProtocol, early: bytes) -> None:
        super().__init__(sock, transcript)
        self._protocol = protocol
        self._parts = b""
        if early:
            self._feed(early)

    def _feed(self, data: bytes) -> None:
        protocol = self._protocol
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
        for event in protocol.events_received():
            if isinstance(event, WebSocketFrame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._parts += event.data
                if event.fin:
                    parts, self._parts = self._parts, b""
                    self._take(parts.decode("utf-8", "surrogateescape"))
        answer = b"".join(protocol.data_to_send())
        if answer:
            self._write(answer, time.monotonic() + 1.0)
        if protocol.close_rcvd is not None:
            self._end(Ended(f"closed by the host: {protocol.close_rcvd}", int(protocol.close_rcvd.code)))
        elif protocol.parser_exc is not None and not isinstance(protocol.parser_exc, EOFError):
            self._end(Ended(f"the host broke the rules of WebSocket: {protocol.parser_exc}"))
        elif not data:
            self._end(Ended("the host went away without closing it", 1006))

    def _encode(self, text: str, binary: bool) -> bytes:
        if self._protocol.state is not State.OPEN:
            return b""
        data = text.encode()
        if binary:
            self._protocol.send_binary(data)
        else:
            self._protocol.send_text(data)
        return b"".join(self._protocol.data_to_send())

    def close(self, code: int, until: float) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(code)
            self._write(b"".join(self._protocol.data_to_send()), until)
            while self.read(until):
                pass
        self.break_off()


Dialled: TypeAlias = Connection | Refused


def dial_unix(path: str, until: float, transcript: Transcript) -> Connection:
    """Connect to a Unix socket.

    Raises:
        DialFailed: It cannot be.
    """
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(max(until - time.monotonic(), 0.001))
        sock.connect(path)
    except OSError as error:
        sock.close()
        raise DialFailed(f"{path} cannot be connected to: {error.strerror or error}") from error
    return UnixConnection(sock, transcript)


def dial_websocket(
    url: str,
    until: float,
    transcript: Transcript,
    *,
    subprotocols: tuple[str, ...],
    headers: Mapping[str, str],
    path: str | None = None,
) -> Dialled:
    """Ask for a WebSocket.

    The upgrade looks like that of the gateways in the field: no `Origin`, no `User-Agent`.

    Args:
        url: `ws://…`.
        until: When the answer must be there.
        transcript: Where it is noted.
        subprotocols: What is offered; may be nothing, and need not be well-formed.
        headers: Further headers; one with the name of a usual header replaces it.
        path: Another path than the URL's.

    Raises:
        DialFailed: Nobody answers, or the answer is none.
    """
    place = urlsplit(url)
    protocol = ClientProtocol(parse_uri(url), subprotocols=[Subprotocol(GATEWAY)], max_size=None)
    request = protocol.connect()
    del request.headers["Sec-WebSocket-Protocol"]
    if subprotocols:
        request.headers["Sec-WebSocket-Protocol"] = ", ".join(subprotocols)
    for name, value in headers.items():
        if name in request.headers:
            del request.headers[name]
        request.headers[name] = value
    request.path = path if path is not None else request.path
    protocol.send_request(request)
    try:
        sock = socket.create_connection(
            (place.hostname or "", place.port or 80), timeout=max(until - time.monotonic(), 0.001)
        )
    except OSError as error:
        raise DialFailed(f"{url} cannot be connected to: {error.strerror or error}") from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or the second of two frames waits 40 ms
    try:
        sock.sendall(b"".join(protocol.data_to_send()))
        head, rest = _read_head(sock, until)
        status, reason = _status_of(head)
        if status != 101:
            sock.close()
            return Refused(status, reason)
        protocol.receive_data(head)
        protocol.events_received()
        if protocol.handshake_exc is not None:
            raise DialFailed(f"the answer to the upgrade is wrong: {protocol.handshake_exc}")
        if protocol.subprotocol is None:
            raise DialFailed(f"the answer to the upgrade does not select the subprotocol {GATEWAY!r}")
        return WebSocketConnection(sock, transcript, protocol, rest)
    except (OSError, DialFailed) as error:
        sock.close()
        if isinstance(error, DialFailed):
            raise
        raise DialFailed(f"the upgrade was not answered: {error.strerror or error}") from error


def _read_head(sock: socket.socket, until: float) -> tuple[bytes, bytes]:
    """The head of an HTTP answer, and what came after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        sock.settimeout(max(until - time.monotonic(), 0.001))
        piece = sock.recv(4096)
        if not piece or len(data) > _MAX_HEAD:
            raise DialFailed(f"the upgrade was not answered with HTTP: {data[:200]!r} came")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _status_of(head: bytes) -> tuple[int, str]:
    line = head.split(b"\r\n", 1)[0].decode("latin-1")
    version, _, rest = line.partition(" ")
    status, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or not status.isdigit():
        raise DialFailed(f"the upgrade was not answered with HTTP: {line[:200]!r} came")
    return int(status), reason


def has_unix_sockets() -> bool:
    """Whether this system has them."""
    return os.name == "posix" and hasattr(socket, "AF_UNIX")
