"""`LegacySpeech`: the era with a handshake, 2025-11-25 and before, as a client speaks it.

It owns `initialize` and the version header that follows from it. Questions come as requests of the server, which is
`client_peer`'s and `client_answers`' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .client_answers import Answers
from .client_era import OnProgress
from .client_peer import Peer
from .client_server import PROTOCOL_VERSION, Server
from .client_transport import NO_HEADERS, Transport
from .messages import INITIALIZE, INITIALIZED, PING, SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE
from .provider import Era


class LegacySpeech:
    """The legacy era with one server. See `client_era.Speech`.

    Args:
        peer: Carries the requests.
        transport: Told when the handshake is over.
        answers: Says what the client declares.
        info: The client's `clientInfo`.
    """

    def __init__(self, peer: Peer, transport: Transport, answers: Answers, info: Mapping[str, str]) -> None:
        self._peer = peer
        self._transport = transport
        self._answers = answers
        self._info = info
        self._headers: Mapping[str, str] = NO_HEADERS

    @property
    def era(self) -> Era:
        return "legacy"

    async def open(self, timeout: float) -> Server:
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": self._answers.capabilities(),
            "clientInfo": self._info,
        }
        server = Server.from_initialize(await self._peer.request(INITIALIZE, params, timeout=timeout))
        self._headers = {"MCP-Protocol-Version": server.protocol_version}
        return server

    async def settled(self) -> None:
        await self.notify(INITIALIZED, None)
        self._transport.listen(self._headers)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        timeout: float | None,
        subject: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        return await self._peer.request(
            method, params, timeout=timeout, subject=subject, on_progress=on_progress, headers=self._headers
        )

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        await self._peer.notify(method, params, headers=self._headers)

    async def ping(self, timeout: float | None) -> None:
        await self.request(PING, None, timeout=timeout)

    async def subscribe(self, uri: str, timeout: float | None) -> None:
        await self.request(SUBSCRIBE, {"uri": uri}, timeout=timeout)

    async def unsubscribe(self, uri: str, timeout: float | None) -> None:
        await self.request(UNSUBSCRIBE, {"uri": uri}, timeout=timeout)

    async def set_log_level(self, level: str, timeout: float | None) -> None:
        await self.request(SET_LEVEL, {"level": level}, timeout=timeout)
