"""How an MCP client reaches its server: the `Transport` protocol, and the plainest one, a pipe of whole messages.

Each other transport is a file of its own: `client_process`, `client_http`. None of them reads what it carries; the
JSON-RPC is `client_peer`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

import anyio

from ..home import Home
from .client_errors import ClientError, TransportEnded

logger = logging.getLogger("tesseron_py.mcp.client")

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes one message from a server may have."""
CLOSE_TIMEOUT: Final = 2.0
"""Seconds closing may wait for the other end."""
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Sink(Protocol):
    """Where a transport puts what arrives. Every method returns at once and never raises."""

    def message(self, text: str | bytes, request: int | None = None) -> None:
        """A message came; `request` is the id of ours on whose own stream it came, where there is such a thing."""
        ...

    def unanswered(self, request: int, error: ClientError) -> None:
        """Nothing more will come for `request`. Ignored when it has its answer."""
        ...

    def ended(self, reason: str) -> None:
        """The connection is gone. Ignored when it was before."""
        ...


class Transport(Protocol):
    """One connection to one server, used by one client, once."""

    @property
    def is_http(self) -> bool:
        """Whether there are headers, and each request has a response of its own that can be closed."""
        ...

    async def open(self, home: Home, sink: Sink) -> None:
        """Connect; what has to run in the background runs in `home`.

        Raises:
            TransportEnded: There is no connection to be had.
        """
        ...

    async def send(self, text: str, *, request: int | None = None, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Hand `text` to the server. It is sent whole or not at all, also when this is cancelled.

        Args:
            text: One message, on one line.
            request: Its id, when it is a request; what becomes of it, the sink is told.
            headers: What the protocol wants said beside the message, where the transport has headers.

        Raises:
            ClientError: It could not be delivered.
            ValueError: It is too large for the connection, which lives on.
        """
        ...

    def listen(self, headers: Mapping[str, str]) -> None:
        """The handshake is over: take what the server says unasked, too."""
        ...

    def drop(self, request: int, *, at_once: bool = False) -> None:
        """`request` has its answer, or nobody waits for it: what was kept for it may go, after a second at most.

        Args:
            at_once: Close its response now: so the server learns that the request is cancelled.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection within a few seconds, whatever the server does. Never raises, may be repeated."""
        ...


class Duplex(Protocol):
    """What `PipeTransport` needs: a `bindings.channel.Channel` is one."""

    async def send(self, text: str, /) -> None: ...
    async def receive(self) -> str: ...
    async def aclose(self) -> None: ...


class PipeTransport:
    """A transport over anything that carries whole messages both ways.

    Args:
        channel: Sends and receives text. Whatever its `receive` raises ends the connection; so does what its `send`
            raises, save a `ValueError`, which is about one message. It is closed with the client.

    Example:
        ```python
        here, there = memory.pair()
        async with McpClient(PipeTransport(here)) as client: ...
        ```
    """

    def __init__(self, channel: Duplex) -> None:
        self._channel = channel

    @property
    def is_http(self) -> bool:
        return False

    async def open(self, home: Home, sink: Sink) -> None:
        home.start(self._read, sink, name="MCP client: reads a pipe")

    async def _read(self, sink: Sink) -> None:
        while True:
            try:
                sink.message(await self._channel.receive())
            except Exception as error:  # a channel's own word for its end; which class, only its maker knows
                sink.ended(f"The connection is closed: {str(error) or type(error).__name__}")
                return

    async def send(self, text: str, *, request: int | None = None, headers: Mapping[str, str] = NO_HEADERS) -> None:
        try:
            await self._channel.send(text)
        except ValueError:
            raise
        except Exception as error:
            raise TransportEnded(f"The connection is closed: {str(error) or type(error).__name__}") from error

    def listen(self, headers: Mapping[str, str]) -> None:
        """Nothing to do: a pipe carries everything."""

    def drop(self, request: int, *, at_once: bool = False) -> None:
        """Nothing to do: a pipe keeps nothing."""

    async def aclose(self) -> None:
        with anyio.move_on_after(CLOSE_TIMEOUT):
            try:
                await self._channel.aclose()
            except Exception as error:
                logger.debug("The channel could not be closed: %r", error)
