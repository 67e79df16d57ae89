"""`Readable`: one socket, waited for again and again, on both event loops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import anyio
import pytest

from tesseron_py.bindings.readable import Readable


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    here.setblocking(False)
    with here, there:
        yield here, there


async def test_every_message_ends_a_wait(sockets: tuple[socket.socket, socket.socket]) -> None:
    here, there = sockets
    readable = Readable(here)
    for text in (b"one", b"two", b"three"):
        async with anyio.create_task_group() as group:
            group.start_soon(readable.wait)
            await anyio.wait_all_tasks_blocked()
            there.send(text)
        assert here.recv(10) == text
    readable.interrupt()


async def test_what_comes_while_nobody_waits_is_there_for_the_next(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    here, there = sockets
    readable = Readable(here)
    there.send(b"one")
    await readable.wait()
    assert here.recv(10) == b"one"
    there.send(b"two")
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    with anyio.fail_after(5):
        await readable.wait()
    assert here.recv(10) == b"two"
    readable.interrupt()


async def test_a_cancelled_wait_loses_nothing(sockets: tuple[socket.socket, socket.socket]) -> None:
    here, there = sockets
    readable = Readable(here)
    with anyio.move_on_after(0.01):
        await readable.wait()
    there.send(b"late")
    with anyio.fail_after(5):
        await readable.wait()
    assert here.recv(10) == b"late"
    readable.interrupt()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_interrupted_wait_ends_and_the_descriptor_is_forgotten(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    here, _ = sockets
    readable = Readable(here)
    ended: list[bool] = []

    async def wait() -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await readable.wait()
        ended.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        readable.interrupt()
    assert ended
    assert not asyncio.get_running_loop().remove_reader(here)
    readable.interrupt()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_interruption_after_the_message_changes_nothing(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    here, there = sockets
    readable = Readable(here)
    async with anyio.create_task_group() as group:
        group.start_soon(readable.wait)
        await anyio.wait_all_tasks_blocked()
        there.send(b"one")
        readable._came()
        readable._came()
        readable.interrupt()
    assert here.recv(10) == b"one"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_loop_that_has_no_readers_of_its_own(
    sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = sockets
    readable = Readable(here)
    waited: list[object] = []

    def refuse(*_: object) -> None:
        raise NotImplementedError

    async def wait_readable(sock: object) -> None:
        waited.append(sock)

    monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", refuse)
    monkeypatch.setattr(anyio, "wait_readable", wait_readable)
    there.send(b"one")
    await readable.wait()
    await readable.wait()
    assert waited == [here, here]
    readable.interrupt()
