"""What every binding must do: one suite, run by each binding's own tests with its own way to make a connected pair."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from tesseron_py.bindings.channel import Channel, Closed, TooLarge

LIMIT = 1024 * 1024
FLOOD = 4000
"""Messages of `BULKY` bytes that no binding can hold for a reader that does not read."""
BULKY = 64 * 1024
TEXTS = ("{}", "[]", '"zażółć gęślą jaźń"', '"日本語 😀"', '"\u2028\u2029\u0085\x7f"', ' {"spaced":\t"out"} ')
"""What every binding carries unchanged: JSON on one line."""


class Connect(Protocol):
    def __call__(self, *, limit: int = LIMIT) -> AbstractAsyncContextManager[tuple[Channel, Channel]]: ...


@dataclass(frozen=True)
class Binding:
    """How to test one binding.

    Attributes:
        connect: A connected pair for the length of an `async with`.
        vanish: Ends one end the way the end of its process would.
        load: Messages each way that it carries in a few seconds.
        texts: What it carries besides JSON on one line.
        pause: Seconds without progress after which there will be none. 0 where tasks that wait tell that by themselves:
            where a message is more than one write, or a server has tasks that never rest, they do not.
    """

    connect: Connect
    vanish: Callable[[Channel], Awaitable[None]]
    load: int = 10_000
    texts: tuple[str, ...] = ()
    pause: float = 0.0

    async def rest(self, progress: Callable[[], int] = lambda: 0) -> int:
        """Wait until `progress()` has come to rest."""
        if not self.pause:
            return await until_blocked(progress)
        before = -1
        while before != progress():
            before = progress()
            await anyio.sleep(self.pause)
        return before


def quoted(text: str, size: int = 0, fill: str = ".") -> str:
    """A JSON string of at least `size` characters that begins with `text`."""
    return f'"{text}"' if len(text) + 2 >= size else f'"{text}{fill * (size - len(text) - 2)}"'


async def drain(channel: Channel) -> tuple[list[str], Closed]:
    """Every message until the channel closes, and why it did."""
    texts: list[str] = []
    while True:
        try:
            texts.append(await channel.receive())
        except Closed as closed:
            return texts, closed


async def until_blocked(progress: Callable[[], int]) -> int:
    """Wait until `progress()` has come to rest."""
    before = -1
    while before != progress():
        before = progress()
        await wait_all_tasks_blocked()
    return before


@asynccontextmanager
async def guard(seconds: float = 20) -> AsyncIterator[None]:
    with anyio.fail_after(seconds):
        yield


class Flooder:
    """Sends numbered bulky messages until it is told to stop, and counts those that went."""

    def __init__(self, channel: Channel, name: str = "") -> None:
        self.channel = channel
        self.name = name
        self.sent = 0
        self.closed: Closed | None = None

    def text(self, number: int) -> str:
        return quoted(f"{self.name}{number}:", BULKY)

    async def run(self) -> None:
        try:
            while self.sent < FLOOD:
                await self.channel.send(self.text(self.sent))
                self.sent += 1
        except Closed as closed:
            self.closed = closed


class BindingSuite:
    """Subclass it as `Test…` and give a fixture `binding`."""

    async def test_messages_arrive_in_order_both_ways_under_load(self, binding: Binding) -> None:
        async def send_all(channel: Channel, name: str) -> None:
            for number in range(binding.load):
                await channel.send(quoted(f"{name} {number}"))

        async def receive_all(channel: Channel, name: str) -> None:
            for number in range(binding.load):
                assert await channel.receive() == quoted(f"{name} {number}")

        async with guard(60), binding.connect() as (here, there), anyio.create_task_group() as group:
            group.start_soon(send_all, here, "ping")
            group.start_soon(send_all, there, "pong")
            group.start_soon(receive_all, here, "pong")
            group.start_soon(receive_all, there, "ping")

    async def test_text_arrives_as_it_was_sent(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there):
            for text in (*TEXTS, *binding.texts):
                for one, other in ((here, there), (there, here)):
                    await one.send(text)
                    assert await other.receive() == text

    async def test_a_message_at_the_limit_passes_both_ways(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there):
            for one, other in ((here, there), (there, here)):
                assert one.limit == LIMIT
                text = quoted("é" * (LIMIT // 2 - 1))
                async with anyio.create_task_group() as group:
                    group.start_soon(one.send, text)
                    assert await other.receive() == text

    async def test_a_message_above_the_limit_is_not_sent_and_the_channel_lives_on(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there):
            for one, other in ((here, there), (there, here)):
                with pytest.raises(TooLarge) as caught:
                    await one.send("é" * (LIMIT // 2) + "!")
                assert (caught.value.size, caught.value.limit) == (LIMIT + 1, LIMIT)
                await one.send('"next"')
                assert await other.receive() == '"next"'

    async def test_many_senders_are_not_interleaved(self, binding: Binding) -> None:
        senders, each = 12, 40

        def text_of(sender: int, number: int) -> str:
            return quoted(f"{sender}/{number}/", sender * 9000, str(sender % 10))

        async def send_all(channel: Channel, sender: int) -> None:
            for number in range(each):
                await channel.send(text_of(sender, number))

        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:
            for sender in range(senders):
                group.start_soon(send_all, here, sender)
            following = [0] * senders
            for _ in range(senders * each):
                text = await there.receive()
                sender, number = (int(part) for part in text[1:].split("/")[:2])
                assert text == text_of(sender, number)
                assert number == following[sender]
                following[sender] += 1
            assert following == [each] * senders

    async def test_a_close_tells_the_other_end_and_ends_both(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:
            group.start_soon(here.aclose)
            _, closed = await drain(there)
            assert closed.code == 1000
            assert closed.reason
            for channel in (here, there):
                for _ in range(2):
                    with pytest.raises(Closed):
                        await channel.receive()
                    with pytest.raises(Closed):
                        await channel.send('"late"')

    async def test_closing_again_or_after_the_other_end_does_nothing(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there):
            async with anyio.create_task_group() as group:
                group.start_soon(here.aclose)
                group.start_soon(here.aclose)
                group.start_soon(there.aclose)
            await here.aclose()
            await there.aclose()

    async def test_what_was_sent_before_a_close_is_delivered(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:

            async def send_and_close() -> None:
                for number in range(200):
                    await here.send(str(number))
                await here.aclose()

            group.start_soon(send_and_close)
            texts, closed = await drain(there)
            assert texts == [str(number) for number in range(200)]
            assert closed.code == 1000

    async def test_a_close_wakes_a_receiver_in_another_task_at_either_end(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there):
            codes: list[int] = []

            async def receive(channel: Channel) -> None:
                with pytest.raises(Closed) as caught:
                    await channel.receive()
                codes.append(caught.value.code)

            async with anyio.create_task_group() as group:
                group.start_soon(receive, here)
                group.start_soon(receive, there)
                await binding.rest()
                await here.aclose()
            assert codes == [1000, 1000]

    async def test_a_close_ends_senders_that_wait_at_this_end(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, _), anyio.create_task_group() as group:
            flooders = [Flooder(here), Flooder(here), Flooder(here)]
            for flooder in flooders:
                group.start_soon(flooder.run)
            await binding.rest(lambda: sum(flooder.sent for flooder in flooders))
            await here.aclose()
            await binding.rest(lambda: sum(flooder.closed is None for flooder in flooders))
            assert all(flooder.closed for flooder in flooders)

    async def test_a_close_ends_senders_that_wait_at_the_other_end(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:
            flooder = Flooder(there)
            group.start_soon(flooder.run)
            await binding.rest(lambda: flooder.sent)
            group.start_soon(here.aclose)
            await drain(there)
        assert flooder.closed is not None

    async def test_a_peer_that_vanishes_ends_receivers_and_senders(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:
            flooder = Flooder(here)
            group.start_soon(flooder.run)
            await binding.rest(lambda: flooder.sent)
            await binding.vanish(there)
            _, closed = await drain(here)
            assert closed.code in (1000, 1006)
        assert flooder.closed is not None
        await here.aclose()

    async def test_a_slow_reader_makes_the_sender_wait_and_loses_nothing(self, binding: Binding) -> None:
        async with guard(60), binding.connect() as (here, there), anyio.create_task_group() as group:
            flooder = Flooder(here)
            group.start_soon(flooder.run)
            sent = await binding.rest(lambda: flooder.sent)
            assert sent < FLOOD / 4
            for number in range(sent + 50):
                assert await there.receive() == flooder.text(number)
            await binding.rest(lambda: flooder.sent)
            assert sent < flooder.sent < FLOOD / 2
            # Cancelled in the middle of a message it would have to see it out, and nobody reads.
            group.start_soon(here.aclose)
            group.start_soon(there.aclose)

    async def test_a_cancelled_receive_loses_nothing(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:

            async def send_all() -> None:
                for number in range(300):
                    await there.send(str(number))
                    await checkpoint()

            group.start_soon(send_all)
            texts: list[str] = []
            attempts = 0
            while len(texts) < 300:
                attempts += 1
                with anyio.CancelScope() as scope:
                    if attempts % 3 == 0:
                        scope.cancel()
                    elif attempts % 3 == 1:
                        group.start_soon(self._cancel_soon, scope, attempts % 5)
                    texts.append(await here.receive())
                await checkpoint()
            assert texts == [str(number) for number in range(300)]

    async def test_a_cancelled_send_is_whole_or_nothing(self, binding: Binding) -> None:
        async with guard(60), binding.connect() as (here, there), anyio.create_task_group() as group:
            sent: list[str] = []
            received: list[str] = []

            async def send_all(sender: int) -> None:
                for number in range(60):
                    text = quoted(f"{sender}/{number}/", BULKY * (1 + number % 4), str(sender))
                    with anyio.CancelScope() as scope:
                        if number % 3:
                            group.start_soon(self._cancel_soon, scope, number % 7)
                        await here.send(text)
                        sent.append(text)

            async def receive_all() -> None:
                while (text := await there.receive()) != '"end"':
                    received.append(text)
                    if len(received) % 4 == 0:
                        await checkpoint()

            async def send_and_end() -> None:
                async with anyio.create_task_group() as senders:
                    for sender in range(4):
                        senders.start_soon(send_all, sender)
                await here.send('"end"')

            group.start_soon(send_and_end)
            await receive_all()
        for text in received:
            sender, number, _ = text[1:].split("/", 2)
            assert text == quoted(f"{sender}/{number}/", BULKY * (1 + int(number) % 4), sender)
        assert set(sent) <= set(received)
        assert len(set(received)) == len(received)

    async def test_a_sender_cancelled_while_it_waits_leaves_the_others_in_order(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:
            async with anyio.create_task_group() as floods:
                flooder = Flooder(here)
                floods.start_soon(flooder.run)
                await binding.rest(lambda: flooder.sent)
                # The first waits for room, the second for the first.
                waiting = Flooder(here, "second ")
                floods.start_soon(waiting.run)
                await binding.rest()
                group.start_soon(self._end_with, here, '"end"')
                await binding.rest()
                floods.cancel_scope.cancel()
                received = 0
                while (text := await self._receive_shielded(there)) != '"end"':
                    assert text == flooder.text(received)
                    received += 1
                # The message that was in the middle may have gone out, whole.
                assert flooder.sent <= received <= flooder.sent + 1
                assert waiting.sent == 0
            await there.send('"still here"')
            assert await here.receive() == '"still here"'

    async def test_closing_in_a_cancelled_scope_closes(self, binding: Binding) -> None:
        async with guard(), binding.connect() as (here, there), anyio.create_task_group() as group:
            group.start_soon(drain, there)
            with anyio.CancelScope() as scope:
                scope.cancel()
                await here.aclose()
            with pytest.raises(Closed):
                await here.receive()
            with pytest.raises(Closed):
                await here.send('"late"')

    @staticmethod
    async def _cancel_soon(scope: anyio.CancelScope, rounds: int) -> None:
        for _ in range(rounds):
            await checkpoint()
        scope.cancel()

    @staticmethod
    async def _end_with(channel: Channel, text: str) -> None:
        await channel.send(text)

    @staticmethod
    async def _receive_shielded(channel: Channel) -> str:
        with anyio.CancelScope(shield=True):
            return await channel.receive()
