"""Bytes go out whole or not at all, in turn, whoever is cancelled; over a socket pair with small buffers."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.duplex import Duplex

from .suite import guard

BIG = b"B" * 4_000_000
"""More than the kernel holds for a reader that does not read."""


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


class Peer:
    """The other end, read by hand."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock

    async def exactly(self, size: int) -> bytes:
        data = b""
        with anyio.CancelScope(shield=True):
            while len(data) < size:
                await anyio.wait_readable(self.sock)
                piece = self.sock.recv(size - len(data))
                assert piece, "the end came too soon"
                data += piece
        return data


class Faulty:
    """A socket whose next calls fail as told."""

    def __init__(self, sock: socket.socket, **faults: list[Exception]) -> None:
        self.sock = sock
        self.faults = faults

    def __getattr__(self, name: str) -> object:
        if faults := self.faults.get(name):
            fault = faults.pop(0)

            def fail(*_: object) -> object:
                raise fault

            return fail
        return getattr(self.sock, name)


async def test_a_read_takes_what_is_there_and_then_the_end(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(pair[0])
        pair[1].sendall(b"hello")
        assert await duplex.read() == b"hello"
        pair[1].shutdown(socket.SHUT_WR)
        assert await duplex.read() == b""
        assert await duplex.read() == b""


async def test_a_read_that_is_woken_for_nothing_waits_again(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(Faulty(pair[0], recv=[BlockingIOError()]))
        pair[1].sendall(b"hello")
        assert await duplex.read() == b"hello"


async def test_a_read_from_a_broken_connection_closes_it(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(Faulty(pair[0], recv=[ConnectionResetError("reset")]))
        pair[1].sendall(b"hello")
        for _ in range(2):
            with pytest.raises(Closed, match="reset") as caught:
                await duplex.read()
            assert caught.value.code == 1006
        assert pair[0].fileno() == -1


async def test_two_readers_are_one_too_many(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex = Duplex(pair[0])
        group.start_soon(duplex.read)
        await wait_all_tasks_blocked()
        with pytest.raises(anyio.BusyResourceError):
            await duplex.read()
        pair[1].sendall(b"done")


@pytest.mark.parametrize("input_is_there", [False, True])
async def test_a_reader_can_be_expelled_and_takes_nothing_along(
    pair: tuple[socket.socket, socket.socket], input_is_there: bool
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex = Duplex(pair[0])
        expelled: list[Closed] = []

        async def read() -> None:
            with pytest.raises(Closed) as caught:
                await duplex.read()
            expelled.append(caught.value)

        await duplex.expel()
        group.start_soon(read)
        await wait_all_tasks_blocked()
        if input_is_there:
            pair[1].sendall(b"mine")
        await duplex.expel()
        assert len(expelled) == 1
        if not input_is_there:
            pair[1].sendall(b"mine")
        assert await duplex.read() == b"mine"


async def test_a_write_gives_way_to_nobody_and_others_follow_in_turn(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        for data in (BIG, b"first", b"second", b"third"):
            group.start_soon(duplex.write, data)
            await wait_all_tasks_blocked()
        assert await peer.exactly(len(BIG) + 16) == BIG + b"firstsecondthird"


async def fill(duplex: Duplex) -> int:
    """Write small pieces until no byte more fits; returns how many bytes went."""
    count = 0
    duplex._sock.setblocking(False)
    while True:
        try:
            count += duplex._sock.send(b"f" * 1000)
        except BlockingIOError:
            return count


async def test_a_write_cancelled_before_its_first_byte_has_sent_nothing(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard():
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        filled = await fill(duplex)
        async with anyio.create_task_group() as group:
            group.start_soon(duplex.write, b"never")
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        await peer.exactly(filled)
        await duplex.write(b"next")
        assert await peer.exactly(4) == b"next"


async def test_a_write_cancelled_in_the_middle_is_finished(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        async with anyio.create_task_group() as group:
            group.start_soon(duplex.write, BIG)
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            assert await peer.exactly(len(BIG)) == BIG
        await duplex.write(b"next")
        assert await peer.exactly(4) == b"next"


async def test_a_write_cancelled_in_the_middle_leaves_its_rest_to_one_that_waits(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        async with anyio.create_task_group() as first:
            first.start_soon(duplex.write, BIG)
            await wait_all_tasks_blocked()
            group.start_soon(duplex.write, b"waiting")
            await wait_all_tasks_blocked()
            first.cancel_scope.cancel()
        # It has gone, with the peer having read nothing.
        assert await peer.exactly(len(BIG) + 7) == BIG + b"waiting"


async def test_a_write_that_only_stays_for_its_rest_is_relieved_by_the_next(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        async with anyio.create_task_group() as first:
            first.start_soon(duplex.write, BIG)
            await wait_all_tasks_blocked()
            first.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
                assert duplex._lingering is not None
                group.start_soon(duplex.write, b"relief")
                await wait_all_tasks_blocked()
                assert duplex._lingering is None
        assert await peer.exactly(len(BIG) + 6) == BIG + b"relief"


async def test_those_that_come_to_relieve_and_are_cancelled_cut_nothing(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard():
        duplex, peer = Duplex(pair[0]), Peer(pair[1])

        async def write_cancelled() -> None:
            with anyio.CancelScope() as scope:
                scope.cancel()
                await duplex.write(b"never")

        async with anyio.create_task_group() as group:
            group.start_soon(duplex.write, BIG)
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
                async with anyio.create_task_group() as relief:
                    for _ in range(3):
                        relief.start_soon(write_cancelled)
                        await wait_all_tasks_blocked()
                        relief.start_soon(duplex.write, b"never")
                        await wait_all_tasks_blocked()
                    relief.cancel_scope.cancel()
                    assert await peer.exactly(len(BIG)) == BIG
        await duplex.write(b"next")
        assert await peer.exactly(4) == b"next"


@pytest.mark.parametrize("in_the_middle", [False, True])
async def test_a_turn_that_comes_with_the_cancellation_is_passed_on(
    pair: tuple[socket.socket, socket.socket], in_the_middle: bool
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        first, second = anyio.CancelScope(), anyio.CancelScope()

        async def write_and_cancel_the_next() -> None:
            with first:
                try:
                    await duplex.write(BIG)
                finally:
                    second.cancel()

        async def write_second() -> None:
            with second:
                await duplex.write(b"second")

        for write in (write_and_cancel_the_next, write_second):
            group.start_soon(write)
            await wait_all_tasks_blocked()
        group.start_soon(duplex.write, b"third")
        await wait_all_tasks_blocked()
        if in_the_middle:
            first.cancel()
            await wait_all_tasks_blocked()
        assert await peer.exactly(len(BIG)) == BIG
        rest = await peer.exactly(5)
        assert rest == b"third" or rest + await peer.exactly(6) == b"secondthird"


async def test_sealing_ends_those_that_wait_and_finishes_what_is_begun(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        ends: list[int] = []

        async def write(data: bytes) -> None:
            with pytest.raises(Closed) as caught:
                await duplex.write(data)
            ends.append(caught.value.code)

        group.start_soon(duplex.write, BIG)
        await wait_all_tasks_blocked()
        group.start_soon(write, b"waits")
        await wait_all_tasks_blocked()
        duplex.seal(Closed("sealed", 1000))
        duplex.seal(Closed("again", 1001))
        duplex.post(b"superseded")
        duplex.post(b"farewell")
        await wait_all_tasks_blocked()
        assert ends == [1000]
        await write(b"late")
        group.start_soon(duplex.settle)
        await wait_all_tasks_blocked()
        duplex.finish()  # too early, so it does nothing
        assert await peer.exactly(len(BIG) + 8) == BIG + b"farewell"
        await wait_all_tasks_blocked()
        await duplex.settle()
        duplex.finish()
        assert pair[1].recv(1) == b""


async def test_one_whose_turn_comes_with_the_sealing_writes_only_the_rest(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard():
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        refused = False

        async def write() -> None:
            nonlocal refused
            with pytest.raises(Closed):
                await duplex.write(b"never")
            refused = True

        async with anyio.create_task_group() as group:
            async with anyio.create_task_group() as first:
                first.start_soon(duplex.write, BIG)
                await wait_all_tasks_blocked()
                group.start_soon(write)
                await wait_all_tasks_blocked()
                first.cancel_scope.cancel()
            duplex.seal(Closed("sealed", 1000))
            assert await peer.exactly(len(BIG)) == BIG
        assert refused


async def test_closing_ends_everything_that_waits(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(pair[0])
        ends: list[str] = []

        async def expect(reason: str, waiting: object) -> None:
            with pytest.raises(Closed) as caught:
                await waiting
            ends.append(caught.value.reason)
            assert caught.value.reason == reason

        async with anyio.create_task_group() as group:
            for waiting in (duplex.read(), duplex.write(BIG), duplex.write(b"waits")):
                group.start_soon(expect, "over", waiting)
                await wait_all_tasks_blocked()
            group.start_soon(expect, "over", duplex.settle())
            await wait_all_tasks_blocked()
            duplex.close(Closed("over"))
            duplex.close(Closed("again"))
            # The number may be another socket's as soon as it is free, so it is kept until nobody waits for it.
            assert pair[0].fileno() != -1
        assert len(ends) == 4
        assert pair[0].fileno() == -1
        await expect("over", duplex.read())
        await expect("over", duplex.write(b"late"))
        duplex.post(b"late")
        duplex.finish()
        await duplex.settle()
        assert duplex.is_abandoned


async def test_closing_ends_a_write_that_stays_for_its_rest(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(pair[0])
        async with anyio.create_task_group() as group:
            group.start_soon(duplex.write, BIG)
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
                duplex.close(Closed("over"))
        assert pair[0].fileno() == -1


async def test_a_write_to_a_broken_connection_leaves_the_input(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(Faulty(pair[0], send=[BrokenPipeError("broken")]))
        pair[1].sendall(b"last words")
        for _ in range(2):
            with pytest.raises(Closed, match="broken"):
                await duplex.write(b"x")
        assert await duplex.read() == b"last words"
        duplex.close(Closed("over"))
        with pytest.raises(Closed, match="over"):
            await duplex.read()


async def test_a_connection_that_breaks_in_the_middle_ends_those_that_wait(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex = Duplex(pair[0])

        async def write(data: bytes) -> None:
            with pytest.raises(Closed):
                await duplex.write(data)

        for data in (BIG, b"waits", b"too"):
            group.start_soon(write, data)
            await wait_all_tasks_blocked()
        pair[1].close()


async def test_a_notice_that_cannot_be_sent_is_no_error(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(Faulty(pair[0], send=[BrokenPipeError("broken")]))
        duplex.post(b"pong")
        with pytest.raises(Closed, match="broken"):
            await duplex.write(b"x")
        pair[1].close()
        duplex.finish()
        assert duplex.is_abandoned


async def test_a_notice_that_does_not_fit_goes_out_while_reading(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        filled = await fill(duplex)
        duplex.post(b"first")
        duplex.post(b"second")
        duplex.post(b"third")
        pair[1].sendall(b"a")
        assert await duplex.read() == b"a"
        group.start_soon(duplex.read)
        await wait_all_tasks_blocked()
        group.start_soon(duplex.write, b"data")
        await wait_all_tasks_blocked()
        await peer.exactly(filled)
        assert await peer.exactly(14) == b"firstthirddata"
        pair[1].sendall(b"b")


async def test_a_notice_that_does_not_fit_goes_out_with_the_next_write(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async with guard():
        duplex, peer = Duplex(pair[0]), Peer(pair[1])
        filled = await fill(duplex)
        duplex.post(b"pong")
        await peer.exactly(filled)
        await duplex.write(b"data")
        assert await peer.exactly(8) == b"pongdata"


@pytest.mark.parametrize("how", ["expel", "close", "break"])
async def test_reading_with_a_notice_to_send_can_be_ended(pair: tuple[socket.socket, socket.socket], how: str) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex = Duplex(pair[0])
        await fill(duplex)
        duplex.post(b"pong")

        async def read() -> None:
            with pytest.raises(Closed):
                while await duplex.read():
                    pass
                raise Closed("the end")

        group.start_soon(read)
        await wait_all_tasks_blocked()
        match how:
            case "expel":
                await duplex.expel()
            case "close":
                duplex.close(Closed("over"))
            case "break":
                pair[1].close()


async def test_a_peer_that_reads_nothing_is_dropped_whoever_writes(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(pair[0], stall=0.1)
        start = anyio.current_time()
        with pytest.raises(Closed, match=r"0\.1 s"):
            while True:
                with anyio.move_on_after(0.03):
                    await duplex.write(BIG[:1_000_000])
        assert anyio.current_time() - start < 5
        assert pair[0].fileno() == -1


async def test_a_peer_that_reads_slowly_is_not_dropped(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard(), anyio.create_task_group() as group:
        duplex, peer = Duplex(pair[0], stall=0.2), Peer(pair[1])
        filled = await fill(duplex)
        with anyio.move_on_after(0.05):
            await duplex.write(b"never")
        assert duplex._deadline < math.inf
        await peer.exactly(filled)
        await duplex.write(b"x")
        assert duplex._deadline == math.inf
        group.start_soon(duplex.write, BIG)
        assert await peer.exactly(len(BIG) + 1) == b"x" + BIG


async def test_a_peer_that_has_gone_is_seen_without_reading(pair: tuple[socket.socket, socket.socket]) -> None:
    async with guard():
        duplex = Duplex(pair[0])
        assert not duplex.is_abandoned
        pair[1].sendall(b"unread")
        pair[1].close()
        assert not duplex.is_abandoned
        assert await duplex.read() == b"unread"
        assert duplex.is_abandoned


@settings(deadline=None, max_examples=60)
@given(
    backend=st.sampled_from(["asyncio", "trio"]),
    writes=st.lists(st.tuples(st.integers(0, 300_000), st.none() | st.integers(0, 6)), min_size=1, max_size=25),
    pause=st.integers(1, 5),
)
def test_whoever_is_cancelled_whenever_the_stream_holds_whole_messages(
    backend: str, writes: list[tuple[int, int | None]], pause: int
) -> None:
    """Given writers of some size, each cancelled after some rounds or never, what arrives is whole messages."""
    one, other = socket.socketpair()
    for sock in (one, other):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    written: list[int] = []
    arrived: list[int] = []

    async def write(duplex: Duplex, number: int, size: int, rounds: int | None) -> None:
        data = number.to_bytes(4, "big") + size.to_bytes(4, "big") + bytes([number]) * size
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                if rounds is not None:
                    group.start_soon(cancel, scope, rounds)
                await duplex.write(data)
                written.append(number)

    async def cancel(scope: anyio.CancelScope, rounds: int) -> None:
        for _ in range(rounds):
            await checkpoint()
        scope.cancel()

    async def read(peer: Peer) -> None:
        while True:
            for _ in range(pause):
                await checkpoint()
            number = int.from_bytes(await peer.exactly(4), "big")
            size = int.from_bytes(await peer.exactly(4), "big")
            if number == 255:
                return
            assert size == writes[number][0]
            assert await peer.exactly(size) == bytes([number]) * size
            arrived.append(number)

    async def main() -> None:
        duplex = Duplex(one)
        async with guard(), anyio.create_task_group() as group:
            group.start_soon(read, Peer(other))
            async with anyio.create_task_group() as writers:
                for number, (size, rounds) in enumerate(writes):
                    writers.start_soon(write, duplex, number, size, rounds)
            await duplex.write(b"\0\0\0\xff\0\0\0\0")

    with one, other:
        anyio.run(main, backend=backend)
    assert len(set(arrived)) == len(arrived)
    assert set(written) <= set(arrived)
    assert {number for number, (_, rounds) in enumerate(writes) if rounds is None} <= set(written)
