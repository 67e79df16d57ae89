"""A listener's reception: it takes connections, sees each through its handshake, and keeps the one place there is.

`websocket` and `unix` are built on it: what a handshake says is theirs, and who gets in is the gate's.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeAlias, TypeVar

import anyio
import anyio.abc

from .channel import Closed
from .duplex import Duplex

logger = logging.getLogger("tesseron_py.bindings.reception")

ACCEPT_PAUSE = 1.0
"""Seconds to wait when the system gives no connection, out of file descriptors for instance."""


class Seated(Protocol):
    """A channel that may have the place."""

    @property
    def is_abandoned(self) -> bool:
        """Whether the peer has gone, and only our reader has not come to see it."""
        ...

    async def aclose(self) -> None: ...


C = TypeVar("C", bound=Seated)

Handshake: TypeAlias = Callable[[Duplex], Awaitable[bool]]
"""Brings a connection through its handshake; says whether it was admitted, else it is closed."""


class Reception(Generic[C]):
    """Connections on their way in, and the place of the one that is.

    The place is free again as soon as its channel says so with `vacate`, or its peer has gone.

    Args:
        waiting: Connections that may be in their handshake at once; one more, and the oldest is dropped.
        deadline: Seconds a handshake may take.
        stall: Seconds a peer may read nothing while something waits to be written.
    """

    def __init__(self, *, waiting: int, deadline: float, stall: float) -> None:
        self._waiting = waiting
        self._deadline = deadline
        self._stall = stall
        self._group: anyio.abc.TaskGroup | None = None
        self._sockets: list[socket.socket] = []
        self._handshakes: dict[anyio.CancelScope, None] = {}
        self._seated: C | None = None
        self._arrived: C | None = None
        self._changed = anyio.Event()
        self._closed = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Receive while the body runs. What the body raises leaves unchanged."""
        error: BaseException | None = None
        try:
            async with anyio.create_task_group() as self._group:
                try:
                    yield
                except anyio.get_cancelled_exc_class():
                    raise
                except BaseException as raised:
                    # Kept from the task group, which would wrap it.
                    error = raised
                self._group.cancel_scope.cancel()
        finally:
            await self._close()
        if error is not None:
            raise error

    def receive_from(self, sock: socket.socket, handshake: Handshake) -> None:
        """Take the connections of a listening socket, which is closed with the reception."""
        assert self._group is not None
        self._sockets.append(sock)
        self._group.start_soon(self._receive, sock, handshake)

    async def accept(self) -> C:
        """The next channel that got the place. It is the caller's.

        Raises:
            Closed: The reception is closed.
        """
        while self._arrived is None:
            if self._closed:
                raise Closed("the listener is closed", 1000)
            await self._changed.wait()
        channel, self._arrived = self._arrived, None
        return channel

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def is_taken(self) -> bool:
        """Whether somebody has the place."""
        return self._seated is not None and (self._arrived is not None or not self._seated.is_abandoned)

    def seat(self, channel: C) -> None:
        """Give the place to `channel`, which `accept` returns."""
        self._seated = self._arrived = channel
        self._changed.set()
        self._changed = anyio.Event()

    def vacate(self, channel: C) -> None:
        """The place of `channel` is free, unless another one has it by now."""
        if self._seated is channel:
            self._seated = None

    async def _receive(self, sock: socket.socket, handshake: Handshake) -> None:
        async with anyio.create_task_group() as group:
            while True:
                await anyio.wait_readable(sock)
                try:
                    accepted, _ = sock.accept()
                except (BlockingIOError, ConnectionError):
                    continue  # the peer gave up before its turn came
                except OSError as error:
                    logger.warning("Cannot accept a connection now: %s; trying again in %g s", error, ACCEPT_PAUSE)
                    await anyio.sleep(ACCEPT_PAUSE)
                    continue
                group.start_soon(self._shake_hands, accepted, handshake)

    async def _shake_hands(self, sock: socket.socket, handshake: Handshake) -> None:
        """Bring one connection through its handshake, within the deadline; whatever it does stays its own trouble."""
        while len(self._handshakes) >= self._waiting:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
        duplex = Duplex(sock, stall=self._stall)
        admitted = False
        with anyio.CancelScope(deadline=anyio.current_time() + self._deadline) as scope:
            self._handshakes[scope] = None
            try:
                admitted = await handshake(duplex)
            except Closed as error:
                logger.debug("A connection ended in its handshake: %s", error)
            except Exception:
                logger.exception("A handshake failed")
            finally:
                self._handshakes.pop(scope, None)
                if not admitted:
                    duplex.close(Closed("refused"))

    async def _close(self) -> None:
        self._closed = True
        self._changed.set()
        for sock in self._sockets:
            sock.close()
        if self._arrived is not None:
            channel, self._arrived = self._arrived, None
            await channel.aclose()
