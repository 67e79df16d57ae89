"""The memory binding passes the suite of all bindings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tesseron_py.bindings.channel import Channel
from tesseron_py.bindings.memory import pair

from .suite import LIMIT, Binding, BindingSuite


@asynccontextmanager
async def connect(*, limit: int = LIMIT) -> AsyncIterator[tuple[Channel, Channel]]:
    yield pair(limit=limit)


async def vanish(channel: Channel) -> None:
    await channel.aclose()


class TestMemory(BindingSuite):
    @pytest.fixture
    def binding(self) -> Binding:
        return Binding(connect, vanish, texts=("", "\u2028\x00\x7f\r\n", '"\\ud800"'))
