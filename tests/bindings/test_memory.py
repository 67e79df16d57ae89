"""The memory binding passes the suite of all bindings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from tesseron_py.bindings.channel import Channel, Closed
from tesseron_py.bindings.memory import AT_ONCE, pair

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


async def test_a_reader_gets_each_message_in_its_senders_step() -> None:
    here, there = pair()
    taken: list[str] = []
    there.hand_to(lambda text: not taken.append(text), lambda: None)
    assert here.send_now("one")
    await here.send("two")
    assert taken == ["one", "two"]


async def test_what_a_reader_does_not_take_waits_and_keeps_its_place() -> None:
    here, there = pair()
    taken: list[str] = []
    willing = False

    def take(text: str) -> bool:
        if willing:
            taken.append(text)
        return willing

    there.hand_to(take, lambda: None)
    await here.send("one")
    willing = True
    await here.send("two")  # not before the one that waits
    assert taken == []
    assert [await there.receive(), await there.receive()] == ["one", "two"]
    await here.send("three")
    assert taken == ["three"]


async def test_what_a_reader_raises_is_its_own_and_not_its_senders() -> None:
    here, there = pair()

    def take(text: str) -> bool:
        raise ZeroDivisionError(text)

    there.hand_to(take, lambda: None)
    await here.send("one")
    with pytest.raises(ZeroDivisionError), anyio.fail_after(5):
        await there.receive()


async def test_a_reader_hears_at_once_that_the_channel_is_closed_and_takes_nothing_more() -> None:
    here, there = pair()
    heard: list[str] = []
    there.hand_to(lambda text: not heard.append(text), lambda: heard.append("closed"))
    await here.aclose()
    assert heard == ["closed"]
    assert not here.send_now("late")
    with pytest.raises(Closed):
        await here.send("late")
    await there.aclose()
    assert heard == ["closed"]


async def test_a_tight_loop_of_sends_to_such_a_reader_lets_others_run_and_can_be_cancelled() -> None:
    here, there = pair()
    taken = 0

    def take(text: str) -> bool:
        nonlocal taken
        taken += 1
        return True

    there.hand_to(take, lambda: None)

    async def send_for_ever() -> None:
        while True:
            await here.send("more")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(send_for_ever)
            while not taken:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    assert taken <= 4 * AT_ONCE
