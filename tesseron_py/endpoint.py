"""The gateway over HTTP: MCP for agents at `/mcp`, and the Tesseron binding for apps that dial out at `/tesseron`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .gateway.gateway import Gateway
from .mcp.http import HttpEndpoint


class GatewayEndpoint:
    """A gateway as one plain ASGI application.

    Args:
        gateway: What is served.
        token: The bearer token that every request must carry; `None` needs none at `/mcp`, for loopback alone.
        hosts: Host names besides the loopback ones that the server goes by.
        origins: Origins besides the loopback ones whose pages may call it.

    Raises:
        ValueError: A host, an origin or the token is none.
    """

    def __init__(
        self, gateway: Gateway, *, token: str | None, hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        self._gateway = gateway
        self._mcp = HttpEndpoint(gateway, token=token, hosts=hosts, origins=origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._mcp(scope, receive, send)

    async def aclose(self, *, grace: float | None = None) -> None:
        """End every session of agents and every connection of apps."""
        await self._mcp.aclose()
        await self._gateway.aclose(grace=grace)
