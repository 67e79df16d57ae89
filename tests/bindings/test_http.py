"""The HTTP binding: the suite of all bindings, over a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from tesseron_py.bindings.channel import Channel
from tesseron_py.bindings.http import HttpChannel, dial
from tesseron_py.bindings.http_connection import HttpConnection
from tesseron_py.bindings.http_endpoint import TesseronEndpoint
from tesseron_py.bindings.http_wire import HttpLimits

from .http_server import serving
from .suite import LIMIT, Binding, BindingSuite, Connect

TOKEN = "secret-token"
HELLO = '{"jsonrpc":"2.0","id":1,"method":"tesseron/hello","params":{}}'
WELCOME = '{"jsonrpc":"2.0","id":1,"result":{}}'
QUICK = HttpLimits(
    frame=LIMIT, unheard=3.0, streamless=1.0, silence=0.5, persistence=2.0, first_retry=0.02, last_retry=0.1
)


class Gateway:
    """Takes the connections of an endpoint."""

    def __init__(self, limits: HttpLimits) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[HttpConnection](100)
        self.endpoint = TesseronEndpoint(self._send.send_nowait, token=TOKEN, limits=limits)
        self.url = ""

    async def accept(self) -> HttpConnection:
        return await self._receive.receive()

    async def welcome(self) -> HttpConnection:
        connection = await self.accept()
        assert await connection.receive() == HELLO
        await connection.send(WELCOME)
        return connection


@asynccontextmanager
async def gateway(limits: HttpLimits = QUICK) -> AsyncIterator[Gateway]:
    made = Gateway(limits)
    with made._send, made._receive:
        async with serving(made.endpoint) as made.url:
            try:
                yield made
            finally:
                with anyio.CancelScope(shield=True):
                    await made.endpoint.aclose()


@asynccontextmanager
async def connected(*, limit: int = LIMIT) -> AsyncIterator[tuple[Channel, Channel]]:
    """The gateway's end and the app's."""
    limits = replace(QUICK, frame=limit)
    async with gateway(limits) as made:
        app = await dial(made.url, token=TOKEN, limits=limits)
        async with anyio.create_task_group() as group:
            group.start_soon(app.send, HELLO)
            connection = await made.welcome()
        assert await app.receive() == WELCOME
        try:
            yield connection, app
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as group:
                    group.start_soon(connection.aclose)
                    group.start_soon(app.aclose)


@asynccontextmanager
async def connected_the_other_way(*, limit: int = LIMIT) -> AsyncIterator[tuple[Channel, Channel]]:
    async with connected(limit=limit) as (here, there):
        yield there, here


async def vanish(channel: Channel) -> None:
    """End every request without a word, as the end of the process would; or forget the connection, as a new one has."""
    if isinstance(channel, HttpChannel):
        for scope in channel._scopes:
            scope.cancel()
        channel._is_known = False
        await channel.aclose()
    else:
        channel.drop("killed")


class TestSuite(BindingSuite):
    @pytest.fixture(params=[connected, connected_the_other_way], ids=["gateway", "app"])
    def binding(self, request: pytest.FixtureRequest) -> Binding:
        connect: Connect = request.param
        return Binding(connect, vanish, load=500, pause=0.3)
