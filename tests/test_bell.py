"""A bell: it wakes the one that waits, and loses nothing of it when that is cancelled."""

from __future__ import annotations

import anyio
from anyio.lowlevel import checkpoint

from tesseron_py.bell import Bell


async def test_a_ring_wakes_the_task_that_waits() -> None:
    bell, woken = Bell(), []

    async def wait() -> None:
        for number in range(3):
            await bell.wait()
            woken.append(number)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            for number in range(3):
                while len(woken) < number:  # what is tested is a way to wait
                    await checkpoint()
                await anyio.wait_all_tasks_blocked()
                bell.ring()
                bell.ring()
    assert woken == [0, 1, 2]


async def test_a_ring_that_nobody_waits_for_is_forgotten() -> None:
    bell = Bell()
    bell.ring()
    with anyio.move_on_after(0.01) as waiting:
        await bell.wait()
    assert waiting.cancelled_caught


async def test_who_waits_can_be_cancelled_and_waits_again() -> None:
    bell = Bell()
    with anyio.move_on_after(0.01):
        await bell.wait()
    bell.ring()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(bell.wait)
            await anyio.wait_all_tasks_blocked()
            bell.ring()


async def test_a_ring_and_a_cancellation_at_once_end_the_wait() -> None:
    bell = Bell()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(bell.wait)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            bell.ring()
