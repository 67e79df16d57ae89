"""The gateway over HTTP: MCP for agents at `/mcp`, and the Tesseron binding for apps that dial out at `/tesseron`."""

from __future__ import annotations

import contextvars
import logging
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import local_gateways
from .bindings.http_endpoint import TesseronEndpoint
from .gateway.gateway import Gateway
from .mcp.http import HttpEndpoint
from .web.asgi import route

logger = logging.getLogger("tesseron_py.gateway")


class GatewayEndpoint:
    """A gateway as one plain ASGI application.

    Args:
        gateway: What is served.
        token: The bearer token that every request must carry. With `None`, which is for loopback alone, agents need
            none, and apps one that is minted here; see `announced`.
        hosts: Host names besides the loopback ones that the server goes by.
        origins: Origins besides the loopback ones whose pages may call it.
        state_keys: What agents' `requestState` is sealed with; see `HttpEndpoint`.

    Raises:
        ValueError: A host, an origin, the token or a state key is none.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        token: str | None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        state_keys: Sequence[str] = (),
    ) -> None:
        hosts, origins = list(hosts), list(origins)
        self._token = token if token is not None else secrets.token_urlsafe(32)
        self._closed = False
        self._gateway = gateway
        self._agents = HttpEndpoint(gateway, token=token, hosts=hosts, origins=origins, state_keys=state_keys)
        self._apps = TesseronEndpoint(gateway.connect, token=self._token, hosts=hosts, origins=origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and route(scope, self._apps.path):
            if not self._closed:
                # Nothing of the request that happens to come first may live on in the gateway's tasks.
                await self._gateway.home.open(context=contextvars.Context())
                await self._gateway.ready()
            await self._apps(scope, receive, send)
            return

        async def send_all_closed(message: Any) -> None:
            if message["type"] == "lifespan.shutdown.complete":
                await self.aclose()
            await send(message)

        await self._agents(scope, receive, send_all_closed)

    @contextmanager
    def announced(self, origin: str) -> Iterator[None]:
        """While the body runs, apps of this user on this machine find the gateway, and the token it wants.

        Args:
            origin: Where it listens, such as `http://127.0.0.1:7475`.
        """
        url = f"{origin}{self._apps.path}"
        try:
            file = local_gateways.announce(url, self._token)
        except OSError as error:
            logger.warning("Apps on this machine are not told of the gateway: %s", error)
            yield
            return
        try:
            yield
        finally:
            file.remove()

    async def aclose(self, *, grace: float | None = None) -> None:
        """End every session of agents and every connection of apps."""
        self._closed = True
        await self._agents.aclose()
        await self._apps.aclose()
        await self._gateway.aclose(grace=grace)
