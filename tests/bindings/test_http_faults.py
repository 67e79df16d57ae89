"""Nothing is lost, nothing comes twice, and the order is kept, whatever the network does to the requests."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from tesseron_py.bindings.channel import Channel
from tesseron_py.bindings.http import dial
from tesseron_py.bindings.http_connection import HttpConnection

from .http_proxy import FAULTS, faulty_proxy
from .http_raw import HELLO, QUICK, REFUSAL, RESUME, TOKEN, WELCOME, gateway
from .suite import drain, guard, quoted

# Times after which an end gives up are long here, so that only faults of the code can lose a message; what is kept is
# little, so that everything has to be acknowledged and waited for.
PATIENT = replace(
    QUICK,
    unheard=30.0,
    streamless=30.0,
    persistence=30.0,
    attempt=2.0,
    silence=0.1,
    first_retry=0.002,
    last_retry=0.02,
    acknowledge=5,
    events=16,
    inbox=8,
    linger=5.0,
)
COUNT = 150


async def send_all(channel: Channel, name: str) -> None:
    for number in range(COUNT):
        await channel.send(quoted(f"{name} {number}", 1 + number * 37 % 5000))


async def receive_all(channel: Channel, name: str) -> None:
    for number in range(COUNT):
        assert await channel.receive() == quoted(f"{name} {number}", 1 + number * 37 % 5000)


@pytest.mark.parametrize("seed", range(5))
async def test_every_message_comes_once_and_in_order_over_a_network_that_fails(seed: int) -> None:
    async with guard(60), gateway(PATIENT) as made, faulty_proxy(made.url, seed=seed, rate=0.4) as proxy:
        app = await dial(proxy.url, token=TOKEN, limits=PATIENT)
        async with anyio.create_task_group() as group:
            group.start_soon(app.send, HELLO)
            connection = await made.welcome()
        assert await app.receive() == WELCOME
        async with anyio.create_task_group() as group:
            group.start_soon(send_all, app, "app")
            group.start_soon(send_all, connection, "gateway")
            group.start_soon(receive_all, app, "gateway")
            group.start_soon(receive_all, connection, "app")
        assert made.receive.statistics().current_buffer_used == 0  # one connection was opened, and no other
        assert made.endpoint.connections == 1
        proxy.rate = 0
        await app.aclose()
        texts, closed = await drain(connection)
        assert (texts, closed.code) == ([], 1000)
        assert set(FAULTS) <= set(proxy.done)


@pytest.mark.parametrize("seed", range(3))
async def test_an_opening_opens_one_connection_however_often_it_is_repeated(seed: int) -> None:
    async with guard(60), gateway(PATIENT) as made, faulty_proxy(made.url, seed=100 + seed, rate=0.8) as proxy:
        accepted: list[HttpConnection] = []

        async def answer() -> None:
            while True:
                connection = await made.accept()
                accepted.append(connection)
                message = await connection.receive()
                await connection.send(REFUSAL if message == RESUME else WELCOME)

        async with anyio.create_task_group() as group:
            group.start_soon(answer)
            for number in range(1, 9):
                app = await dial(proxy.url, token=TOKEN, limits=PATIENT)
                for message, answered in ((RESUME, REFUSAL), (HELLO, WELCOME)):
                    await app.send(message)
                    assert await app.receive() == answered
                await anyio.sleep(0.02)
                assert len(accepted) == 2 * number
                assert [connection.is_open for connection in accepted] == [False, True] * number
                await app.aclose()
            group.cancel_scope.cancel()


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_said_before_a_close_arrives_over_a_network_that_fails(seed: int) -> None:
    async with guard(60), gateway(PATIENT) as made, faulty_proxy(made.url, seed=200 + seed, rate=0.3) as proxy:
        for closes in ("gateway", "app"):
            app = await dial(proxy.url, token=TOKEN, limits=PATIENT)
            async with anyio.create_task_group() as group:
                group.start_soon(app.send, HELLO)
                connection = await made.welcome()
            assert await app.receive() == WELCOME
            here, there = (connection, app) if closes == "gateway" else (app, connection)

            async def send_and_close(here: Channel = here) -> None:
                for number in range(40):
                    await here.send(str(number))
                await here.aclose()

            async with anyio.create_task_group() as group:
                group.start_soon(send_and_close)
                for number in range(40):
                    assert await there.receive() == str(number)
                if closes == "gateway":  # the end of an app may get lost, and is noticed in time
                    texts, closed = await drain(there)
                    assert (texts, closed.code) == ([], 1000)
            await there.aclose()
