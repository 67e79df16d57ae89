"""The HTTP binding: the suite of all bindings, over a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from tesseron_py.bindings.channel import Channel
from tesseron_py.bindings.http import HttpChannel

from .http_raw import QUICK, gateway
from .suite import LIMIT, Binding, BindingSuite, Connect


@asynccontextmanager
async def connected(*, limit: int = LIMIT) -> AsyncIterator[tuple[Channel, Channel]]:
    """The gateway's end and the app's."""
    limits = replace(QUICK, frame=limit)
    async with gateway(limits) as made:
        connection, app = await made.dial(limits)
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
