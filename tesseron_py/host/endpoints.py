"""Where a host's connections come from: a WebSocket, a Unix socket, or a gateway that it dials itself.

An `Endpoint` gives one channel after the other; the host knows no more of them.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..bindings.channel import Channel, Gate
from .claims import ClaimGate

if TYPE_CHECKING:
    from ..bindings import unix, websocket


class Endpoint(Protocol):
    """A source of connections, one at a time."""

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


def websocket_source(gate: Gate, *, port: int, limit: int) -> Source:
    """A WebSocket on 127.0.0.1."""

    @asynccontextmanager
    async def source() -> AsyncIterator[Endpoint]:
        from ..bindings.websocket import listen

        async with listen(gate, port=port, limit=limit) as listener:
            yield _WebSocket(listener, gate)

    return source


class _UnixSocket:
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


def unix_source(gate: Gate, *, limit: int) -> Source:
    """A Unix socket in a directory of its own."""

    @asynccontextmanager
    async def source() -> AsyncIterator[Endpoint]:
        from ..bindings.unix import listen

        async with listen(gate, bind_required=isinstance(gate, ClaimGate), limit=limit) as listener:
            yield _UnixSocket(listener)

    return source
