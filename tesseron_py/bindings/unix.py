"""The Unix socket binding, both ends: a listener in a private directory, and a dialler.

It owns the lines (one envelope each), the bind that may come first (Tesseron 1.2 §3), and the files and their modes
(§8). Bytes are `Duplex`'s; the place and the handshakes are `Reception`'s. What an envelope says is nobody's business
here once a connection is bound.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import struct
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.lowlevel import checkpoint

from ..errors import ErrorCode, TesseronError
from ..protocol.jsonrpc import Peer, Rejected, Request, encode_error
from ..protocol.messages import BIND, DEFAULT_FRAME_LIMIT, HANDSHAKE_DEADLINE
from .channel import Closed, Gate, Offer, OpenGate, Refusal, Refuse, check_size
from .duplex import STALL, Duplex
from .reception import Reception

logger = logging.getLogger("tesseron_py.bindings.unix")

LINGER = 1.0
"""Seconds that closing waits for the peer to close, too."""
MAX_UNBOUND = 8
"""Connections that may wait for their bind at once; one more, and the oldest is dropped (Tesseron 1.2 §3)."""
MAX_BIND = 65536
"""Bytes that the first line of a connection may have, which is a bind."""
OPEN_FOR = 0.1
"""Seconds after which a host that refused a bind has left the connection open."""
RETRY = 0.05
"""Seconds between two attempts to connect to a socket whose queue is full."""
PACE = 64
"""Messages in a row that need no waiting before the event loop gets its turn all the same."""
MAX_PATH = 103
"""Bytes a socket's path may have: 108 with a zero at the end on Linux, 104 elsewhere."""

TOO_LONG = f"The first line is {BIND}; this one is too long for that"
TAKEN = "Another gateway is connected. Try again when it has disconnected."

_CREDENTIALS = struct.Struct("3i")
"""What Linux tells of a peer: process, user, group."""
_BELOW = "/tesseron-12345678/12345678.sock"
"""What a path has below the directory of temporary files."""


class BindRefused(Exception):
    """The app answered the bind with an error (Tesseron 1.2 §3).

    Attributes:
        code: The JSON-RPC error code: -32009 for a wrong, spent or taken code and for a locked host.
        message: The app's words.
        open: Whether the app left the connection open: a spent claim, or a bind already attached. (It is closed now.)
    """

    def __init__(self, code: int, message: str, open: bool) -> None:
        super().__init__(f"the app refused the bind: {message} ({code})")
        self.code = code
        self.message = message
        self.open = open


class _Lines:
    """Cuts a stream of bytes into lines at the byte `\\n`; empty ones are left out."""

    def __init__(self, limit: int) -> None:
        self.too_long = False
        """Whether the stream has come to a line above the limit; it is read no further."""
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_begun(self) -> bool:
        """Whether a line has begun that has not ended."""
        return self._size > 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end within `data`, which continues what was fed before."""
        *ends, rest = data.split(b"\n")
        lines: list[bytes] = []
        for end in ends:
            if not self._take(end):
                return lines
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            if line and line != b"\r":
                lines.append(line)
        self._take(rest)
        return lines

    def _take(self, part: bytes) -> bool:
        self._size += len(part)
        if self._size > self._limit:
            self.too_long, self._parts = True, []
            return False
        if part:
            self._parts.append(part)
        return True


class UnixChannel:
    """A `Channel` over one Unix socket; see `listen` and `dial`.

    A message is one line, so `send` raises `ValueError` for a text that is empty or holds a line feed: JSON needs none.
    A line that is no UTF-8 is received with lone surrogates in it, which no JSON has.

    Attributes:
        path: The path of the socket.
    """

    def __init__(
        self,
        duplex: Duplex,
        *,
        path: str,
        limit: int,
        early: bytes = b"",
        on_free: Callable[[UnixChannel], None] | None = None,
    ) -> None:
        self.path = path
        self._duplex = duplex
        self._limit = limit
        self._early = early
        self._on_free = on_free
        self._lines = _Lines(limit)
        self._inbox: deque[str] = deque()
        self._unpaced = 0
        self._ended: Closed | None = None
        self._done = anyio.Event()

    @property
    def limit(self) -> int:
        return self._limit

    async def send(self, text: str) -> None:
        data = check_size(text, self._limit)
        if not data or b"\n" in data:
            raise ValueError("a message on a Unix socket is one line: not empty, and without a line feed")
        self._unpaced += 1
        if self._unpaced > PACE:
            self._unpaced = 0
            await checkpoint()
        if self._ended is not None:
            raise Closed(self._ended.reason, self._ended.code)
        try:
            await self._duplex.write(data + b"\n")
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
            self._end(Closed("closed by this end", 1000))
            try:
                with anyio.move_on_after(LINGER):
                    await self._duplex.expel()
                    await self._duplex.settle()
                    self._duplex.finish()
                    # A socket closed with unread input is reset. The peer closes when it sees our end.
                    while await self._duplex.read():
                        pass
            except Closed:
                pass  # the peer went first
            finally:
                self._hang_up()

    @property
    def is_abandoned(self) -> bool:
        """Whether the peer has gone, and only our reader has not come to see it."""
        return self._duplex.is_abandoned

    async def _fill(self) -> None:
        """Take in what one read gives: messages into the inbox, and the end of the connection."""
        self._unpaced = 0
        if self._early:
            data, self._early = self._early, b""
        else:
            try:
                data = await self._duplex.read()
            except Closed as closed:
                if self._ended is None:
                    self._end(closed)
                    self._hang_up()
                return
        self._inbox.extend(line.decode("utf-8", "surrogateescape") for line in self._lines.feed(data))
        if self._lines.too_long:
            self._end(Closed(f"the other end sent a message above {self._limit} bytes", 1009))
            try:
                await _part(self._duplex)
            finally:
                self._hang_up()
        elif not data:
            if self._lines.is_begun:
                self._end(Closed("the other end went away in the middle of a message", 1006))
            else:
                self._end(Closed("closed by the other end", 1000))
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
    """A private directory with sockets in it, which take one attached connection at a time; made by `listen`.

    The place is free again as soon as the attached peer's end is seen, or our `aclose` begins. Every connection that is
    admitted becomes a channel that `accept` returns, even if its peer has gone by then.

    Attributes:
        path: The path of the first socket.
        directory: The directory it is in, which is the listener's own.
    """

    def __init__(self, gate: Gate, directory: str, *, limit: int, handshake: float, stall: float) -> None:
        self.path = ""
        self.directory = directory
        self._gate = gate
        self._limit = limit
        self._paths: list[str] = []
        self._reception: Reception[UnixChannel] = Reception(waiting=MAX_UNBOUND, deadline=handshake, stall=stall)

    async def accept(self) -> UnixChannel:
        """The next admitted connection. It is the caller's: the end of the listener does not close it.

        Raises:
            Closed: The listener is closed.
        """
        return await self._reception.accept()

    def add(self, *, bind_required: bool = False) -> str:
        """Listen on one more socket in the same directory, and give its path.

        Args:
            bind_required: Ask the gate about each connection, which has to bind first. Else, as for resuming
                (Tesseron 1.2 §3), whoever comes is let in, or, while another one has the place, cut off.

        Raises:
            Closed: The listener is closed.
            OSError: The socket cannot be made.
        """
        if self._reception.is_closed:
            raise Closed("the listener is closed", 1000)
        path = os.path.join(self.directory, f"{secrets.token_hex(4)}.sock")
        self._paths.append(path)
        sock = _bind_socket(path)

        async def shake_hands(duplex: Duplex) -> bool:
            if bind_required:
                return await self._await_bind(duplex, path)
            return self._seat(duplex, path)

        self._reception.receive_from(sock, shake_hands)
        return path

    def remove_files(self) -> None:
        """Remove the sockets and the directory, as the end of the listener does. Never raises, may be repeated."""
        for path in self._paths:
            try:
                os.unlink(path)
            except OSError:
                pass  # gone already
        try:
            os.rmdir(self.directory)
        except OSError as error:
            if error.errno != errno.ENOENT:
                logger.warning("Cannot remove the directory %s: %s", self.directory, error)

    def _seat(self, duplex: Duplex, path: str, *, early: bytes = b"") -> bool:
        if self._reception.is_taken:
            return False
        self._reception.seat(
            UnixChannel(duplex, path=path, limit=self._limit, early=early, on_free=self._reception.vacate)
        )
        return True

    async def _await_bind(self, duplex: Duplex, path: str) -> bool:
        """Answer one line after the other, until one binds the connection or ends it."""
        peer, pending = Peer(), bytearray()
        while True:
            line = await _line(duplex, pending)
            answer = (
                _refusal(None, ErrorCode.INVALID_REQUEST, TOO_LONG) if line is None else self._judge(line, peer, path)
            )
            if answer.binds:
                duplex.post(answer.data)
                return self._seat(duplex, path, early=bytes(pending))
            await duplex.write(answer.data)
            if not answer.stays:
                await _part(duplex)
                return False

    def _judge(self, line: bytes, peer: Peer, path: str) -> _Answer:
        """The answer to a line of a connection that is not bound; the checks are in the order of Tesseron 1.2 §3."""
        match peer.receive(line):
            case Rejected(reply=reply):
                return _Answer(reply)
            case Request() as request:
                pass
            case _:
                return _refusal(
                    None, ErrorCode.INVALID_REQUEST, f"The first line is {BIND}, a request with the claim code"
                )
        code = request.params.get("code") if isinstance(request.params, dict) else None
        is_bind = request.method == BIND
        try:
            offer = Offer(path, (code,) if is_bind and isinstance(code, str) else ())
            verdict = self._gate.offer(offer)
        except Exception:
            logger.exception("The gate failed; the connection is refused")
            return _refusal(request, ErrorCode.INTERNAL_ERROR, "The app failed to decide; its log says why.")
        if isinstance(verdict, Refuse) and verdict.refusal is Refusal.LOCKED_OUT:
            return _refusal(request, ErrorCode.UNAUTHORIZED, verdict.message)
        if not is_bind:
            return _refusal(
                request, ErrorCode.INVALID_REQUEST, f"{request.method} came before {BIND} with the claim code"
            )
        if not offer.codes:
            return _refusal(
                request, ErrorCode.INVALID_PARAMS, f"{BIND}: 'code' is missing, or not a string", stays=True
            )
        match verdict:
            case Refuse(refusal=Refusal.NO_CODE | Refusal.MALFORMED, message=message):
                return _refusal(request, ErrorCode.INVALID_PARAMS, message, stays=True)
            case Refuse(refusal=refusal, message=message):
                stays = refusal is not Refusal.WRONG_CODE
                return _refusal(request, ErrorCode.UNAUTHORIZED, message, stays=stays)
        if self._reception.is_taken:
            return _refusal(request, ErrorCode.UNAUTHORIZED, TAKEN, stays=True)
        text = peer.answer(request, {"ok": True})
        assert text is not None
        return _Answer(text, binds=True)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an unbound connection is told, and what becomes of it: it is closed, unless it `stays` or is bound."""

    text: str
    stays: bool = False
    binds: bool = False

    @property
    def data(self) -> bytes:
        return f"{self.text}\n".encode()


def _refusal(request: Request | None, code: ErrorCode, message: str, *, stays: bool = False) -> _Answer:
    return _Answer(encode_error(None if request is None else request.id, TesseronError(code, message)), stays)


@asynccontextmanager
async def listen(
    gate: Gate | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    bind_required: bool = False,
    limit: int = DEFAULT_FRAME_LIMIT,
    handshake: float = HANDSHAKE_DEADLINE,
    stall: float = STALL,
) -> AsyncIterator[Listener]:
    """Listen for gateways on a Unix socket in a directory of its own, as long as the body runs (Tesseron 1.2 §8).

    The directory has mode 0700 and the socket 0600, so that only this user gets to it. Both are removed at the end,
    not when a connection drops. What the body raises leaves unchanged. Connections that are not bound yet end with it;
    accepted ones do not.

    Args:
        gate: Who decides which binds get in; by default all do.
        directory: Where the new directory is made; by default where temporary files are.
        bind_required: A connection has to bind before it is one (Tesseron 1.2 §3). Else whoever comes first is let in.
        limit: Bytes one message may have, in either direction.
        handshake: Seconds a peer has for its bind.
        stall: Seconds a peer may read nothing while something waits to be written, before it is dropped.

    Raises:
        OSError: The system has no Unix sockets, the path would be too long, or the directory cannot be made.

    Example:
        ```python
        async with listen() as listener:
            channel = await listener.accept()
            await channel.send(await channel.receive())
        ```
    """
    _family()
    listener = Listener(
        gate or OpenGate(), _private_directory(directory), limit=limit, handshake=handshake, stall=stall
    )
    try:
        async with listener._reception.open():
            listener.path = listener.add(bind_required=bind_required)
            yield listener
    finally:
        listener.remove_files()


async def dial(
    path: str | os.PathLike[str],
    *,
    code: str | None = None,
    limit: int = DEFAULT_FRAME_LIMIT,
    timeout: float = HANDSHAKE_DEADLINE,
    stall: float = STALL,
) -> UnixChannel:
    """Connect to an app that listens on a Unix socket.

    Args:
        path: The absolute path of the socket.
        code: The claim code to bind with, for an app that mints its own (Tesseron 1.2 §3).
        limit: Bytes one message may have, in either direction.
        timeout: Seconds until the bind must be answered.
        stall: Seconds the peer may read nothing while something waits to be written, before it is dropped.

    Raises:
        ValueError: The path is not absolute, or holds a zero.
        BindRefused: The app answered the bind with an error.
        OSError: Nobody listens there, it is none of this user's, the path is too long, the system has no Unix sockets,
            or the answer took too long (`TimeoutError`).
        Closed: The connection broke before it was bound, or the answer is none.
    """
    family, path = _family(), os.fspath(path)
    if not os.path.isabs(path) or "\0" in path:
        raise ValueError(f"{path!r} is not the absolute path of a socket")
    with anyio.fail_after(timeout):
        duplex = Duplex(await _connect(family, path), stall=stall)
        try:
            early = b"" if code is None else await _bind(duplex, code)
        except BaseException:
            duplex.close(Closed("the bind failed"))
            raise
    return UnixChannel(duplex, path=path, limit=limit, early=early)


async def _bind(duplex: Duplex, code: str) -> bytes:
    """Bind a connection; gives what came after the answer."""
    peer, pending = Peer(), bytearray()
    call = peer.request(BIND, {"code": code})
    await duplex.write(f"{call.text}\n".encode())
    line = await _line(duplex, pending)
    if line is not None:
        peer.receive(line)
    if call.error is not None:
        raise BindRefused(call.error.code, call.error.message, await _is_left_open(duplex))
    if not isinstance(call.value, dict) or call.value.get("ok") is not True:
        raise Closed("the app did not answer the bind with what is an answer", 1002)
    return bytes(pending)


async def _is_left_open(duplex: Duplex) -> bool:
    try:
        with anyio.move_on_after(OPEN_FOR):
            while await duplex.read():
                pass
            return False
    except Closed:
        return False
    return True


async def _line(duplex: Duplex, pending: bytearray) -> bytes | None:
    """Take the next line that is not empty from what is `pending` or yet to come; `None` when it is too long.

    Raises:
        Closed: The stream ends before.
    """
    while True:
        while (at := pending.find(b"\n")) >= 0:
            line = bytes(pending[:at])
            del pending[: at + 1]
            if line and line != b"\r":
                return line if len(line) <= MAX_BIND else None
        if len(pending) > MAX_BIND:
            return None
        data = await duplex.read()
        if not data:
            raise Closed("the other end went away without binding")
        pending += data


async def _part(duplex: Duplex) -> None:
    """See a connection out: the peer reads the last that was said, whatever it is still sending."""
    try:
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LINGER):
            duplex.finish()
            while await duplex.read():
                pass
    except Closed:
        pass  # the peer went first


async def _connect(family: socket.AddressFamily, path: str) -> socket.socket:
    sock = socket.socket(family)
    try:
        sock.setblocking(False)
        while True:
            try:
                sock.connect(path)
                _check_owner(sock, path)
                return sock
            except BlockingIOError:  # the queue is full, which nothing tells the end of
                await anyio.sleep(RETRY)
    except BaseException as error:
        sock.close()
        if isinstance(error, OSError) and error.errno is None:  # Python's own check of the length
            raise OSError(errno.ENAMETOOLONG, f"{path!r} is too long for the path of a socket") from error
        raise


def _check_owner(sock: socket.socket, path: str) -> None:
    """Refuse a peer of another user: whoever made the socket may have left, and somebody else have come in its place.

    Linux tells who listens, whatever has become of the path; elsewhere the socket's file does.
    """
    if hasattr(socket, "SO_PEERCRED"):
        _, user, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    else:
        user = os.lstat(path).st_uid
    if user != os.geteuid():
        raise PermissionError(errno.EPERM, f"another user listens at {path!r}")


def _family() -> socket.AddressFamily:
    family: socket.AddressFamily | None = getattr(socket, "AF_UNIX", None)
    if family is None:
        raise OSError(errno.EAFNOSUPPORT, "this system's Python has no Unix sockets; use the WebSocket binding")
    return family


def _private_directory(parent: str | os.PathLike[str] | None) -> str:
    """A fresh directory of mode 0700 with a path short enough for sockets in it, below `parent` or for temporary files.

    The parent's own path is followed to its end, so that no link which is exchanged later leads elsewhere.
    """
    given = [tempfile.gettempdir(), "/tmp"] if parent is None else [os.fspath(parent)]
    parents = [os.path.realpath(candidate) for candidate in given]
    for candidate in parents:
        if len(os.fsencode(candidate)) + len(_BELOW) <= MAX_PATH:
            directory = tempfile.mkdtemp(prefix="tesseron-", dir=candidate)
            os.chmod(directory, 0o700)
            return directory
    room = MAX_PATH - len(_BELOW)
    raise OSError(
        errno.ENAMETOOLONG,
        f"the path of a socket may have {MAX_PATH} bytes, which leaves {room} for the directory of temporary files;"
        f" {parents[0]!r} has more. Set TMPDIR to a shorter one",
    )


def _bind_socket(path: str) -> socket.socket:
    """A listening, non-blocking socket at `path`, mode 0600."""
    sock = socket.socket(_family())
    try:
        sock.bind(path)
        os.chmod(path, 0o600)  # until here only the directory's mode protects it
        sock.listen(128)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
