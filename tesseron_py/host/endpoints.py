"""Where a host's connections come from: a WebSocket, a Unix socket, or a gateway that it dials itself.

An `Endpoint` gives one channel after the other; the host knows no more of them.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import anyio

from ..announcement import remove_at_exit
from ..bindings.channel import Channel, Gate
from ..home import Home
from .claims import ClaimGate

if TYPE_CHECKING:
    from ..bindings import unix, websocket
    from ..limits import Limits


class Endpoint(Protocol):
    """A source of connections, one at a time."""

    @property
    def dials(self) -> bool:
        """Whether it makes its connections itself, so that there is one at once or a reason why not."""
        ...

    @property
    def where(self) -> str:
        """Where it is, for people: a URL or a path."""
        ...

    @property
    def transport(self) -> dict[str, Any] | None:
        """How a manifest tells gateways where it is; `None` where there is no manifest."""
        ...

    async def accept(self) -> tuple[Channel, bool]:
        """The next connection, and whether it came to an endpoint for resuming."""
        ...

    def open_for_resuming(self) -> None:
        """From now on connections for resuming are taken, too, and `transport` leads there."""
        ...


Source: TypeAlias = Callable[[], AbstractAsyncContextManager[Endpoint]]


class _WebSocket:
    dials = False

    def __init__(self, listener: websocket.Listener, gate: Gate) -> None:
        self._listener = listener
        self._gate = gate
        self._path: str | None = None

    @property
    def where(self) -> str:
        return self._listener.url

    @property
    def transport(self) -> dict[str, Any]:
        return {"kind": "ws", "url": self._listener.url + (self._path or "/")[1:]}

    async def accept(self) -> tuple[Channel, bool]:
        channel = await self._listener.accept()
        return channel, channel.path == self._path

    def open_for_resuming(self) -> None:
        if self._path is None:
            self._path = f"/resume-{secrets.token_urlsafe(16)}"
            if isinstance(self._gate, ClaimGate):
                self._gate.resume_paths.add(self._path)
            self._listener.paths.add(self._path)


def websocket_source(gate: Gate, *, port: int, limits: Limits) -> Source:
    """A WebSocket on 127.0.0.1."""

    @asynccontextmanager
    async def source() -> AsyncIterator[Endpoint]:
        from ..bindings.websocket import listen

        async with listen(gate, port=port, limit=limits.frame, handshake=limits.handshake) as listener:
            yield _WebSocket(listener, gate)

    return source


class _UnixSocket:
    dials = False

    def __init__(self, listener: unix.Listener) -> None:
        self._listener = listener
        self._path: str | None = None

    @property
    def where(self) -> str:
        return self._listener.path

    @property
    def transport(self) -> dict[str, Any]:
        return {"kind": "uds", "path": self._path or self._listener.path}

    async def accept(self) -> tuple[Channel, bool]:
        channel = await self._listener.accept()
        return channel, channel.path == self._path

    def open_for_resuming(self) -> None:
        if self._path is None:
            self._path = self._listener.add()


def unix_source(gate: Gate, *, limits: Limits) -> Source:
    """A Unix socket in a directory of its own."""

    @asynccontextmanager
    async def source() -> AsyncIterator[Endpoint]:
        from ..bindings.unix import listen

        bind_required = isinstance(gate, ClaimGate)
        async with listen(
            gate, bind_required=bind_required, limit=limits.frame, handshake=limits.handshake
        ) as listener:
            take_back = remove_at_exit(listener.remove_files)
            try:
                yield _UnixSocket(listener)
            finally:
                take_back()

    return source


FIRST_PAUSE: Final = 0.2
"""Seconds before a gateway is dialled again; doubled with each connection that did not last, up to `LONGEST_PAUSE`."""
LONGEST_PAUSE: Final = 10.0
LASTING: Final = 10.0
"""Seconds after which a connection has lasted."""


class _Gateway:
    """Dials a gateway: at once the first time, and again when the connection before has ended."""

    dials = True
    transport = None

    def __init__(self, find: Find, *, limit: int, home: Home) -> None:
        self._find = find
        self._limit = limit
        self._home = home
        self._pause = FIRST_PAUSE
        self._dialled: float | None = None
        self.where = ""

    async def accept(self) -> tuple[Channel, bool]:
        from ..bindings.http import dial

        if self._dialled is not None:
            if anyio.current_time() - self._dialled >= LASTING:
                self._pause = FIRST_PAUSE
            await anyio.sleep(self._pause * random.uniform(1.0, 1.5))
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._dialled = anyio.current_time()
        url, token = self._find()
        channel = await dial(url, token=token, limit=self._limit, home=self._home)
        self.where = str(channel.url)
        return channel, False

    def open_for_resuming(self) -> None:
        """There is nothing to open: this end dials."""


Find: TypeAlias = Callable[[], tuple[str, str]]
"""Where the gateway is and the token it wants; raises `Closed` when there is none now."""


def dialling_source(find: Find, *, limit: int) -> Source:
    """A gateway that the app dials itself."""

    @asynccontextmanager
    async def source() -> AsyncIterator[Endpoint]:
        async with Home("dials a gateway") as home:
            yield _Gateway(find, limit=limit, home=home)

    return source
