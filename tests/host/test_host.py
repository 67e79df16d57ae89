"""A listening app over real sockets: `listen`, `serve`, `start`, and one gateway after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tesseron_py import Context, SyncContext, Tesseron
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.websocket import DialRefused, dial
from tesseron_py.host.events import KEPT, Claimed, Dropped, Events, HandshakeFailed, Resumed
from tesseron_py.protocol.messages import AgentInfo

from .fake_gateway import FakeGateway


def shop(**options: Any) -> Tesseron:
    app = Tesseron("shop", **options)

    @app.action
    async def clear(ctx: Context) -> int:
        return 5 if await ctx.confirm("Remove 5 todos?") else 0

    @app.action
    def where(ctx: SyncContext) -> str:
        return threading.current_thread().name

    @app.action
    async def hold() -> None:
        await anyio.sleep_forever()

    return app


@asynccontextmanager
async def gateway_at(url: str) -> AsyncIterator[FakeGateway]:
    with anyio.fail_after(5):
        channel = await dial(url)
    try:
        yield FakeGateway(channel)  # type: ignore[arg-type]
    finally:
        await channel.aclose()


async def test_a_gateway_dials_calls_and_a_person_answers() -> None:
    async with shop().listen(claims="gateway") as host:
        assert host.url.startswith("ws://127.0.0.1:")
        assert host.claim_code is None
        async with gateway_at(host.url) as gateway:
            await gateway.welcome(claimCode="AB3X-7K")
            await gateway.invoke("clear")
            request = await gateway.recv()
            assert request["params"]["question"] == "Remove 5 todos?"
            assert host.claim_code == "AB3X-7K"
            await gateway.send(id=request["id"], result={"action": "accept"})
            assert (await gateway.recv())["result"]["output"] == 5
            await gateway.send(method="tesseron/claimed", params={"agent": {"id": "codex", "name": "Codex"}})
            with anyio.fail_after(5):
                assert await host.claimed() == AgentInfo("codex", "Codex")
            assert host.agent.name == "Codex"
            assert await anext(host.events) == Claimed(AgentInfo("codex", "Codex"))
            await gateway.channel.aclose()
            with anyio.fail_after(5):
                dropped = await anext(host.events)
            assert dropped == Dropped("closed by the other end: 1000 (OK)", left=True)
            assert str(dropped) == "the gateway has left"
    assert [event async for event in host.events] == []


async def test_one_gateway_at_a_time_and_the_next_when_it_has_gone() -> None:
    async with shop().listen(claims="gateway") as host, gateway_at(host.url) as first:
        await first.welcome()
        with pytest.raises(DialRefused) as refused:
            await dial(host.url)
        assert refused.value.status == 409
        await first.invoke("hold")
        await first.channel.aclose()
        async with gateway_at(host.url) as second:
            await second.welcome()
            assert "tesseron-py worker" in (await second.call("where"))["result"]["output"]


async def test_a_gateway_that_does_not_welcome_is_told_about_and_the_next_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with shop().listen(claims="gateway") as host, gateway_at(host.url) as bad:
        hello = await bad.recv()
        await bad.send(id=hello["id"], error={"code": -32000, "message": "version 9 here"})
        with pytest.raises(Closed):
            await bad.recv()
        with anyio.fail_after(5):
            event = await anext(host.events)
        assert isinstance(event, HandshakeFailed)
        assert "version 9 here" in str(event)
        async with gateway_at(host.url) as good:
            await good.welcome()
            assert "result" in await good.call("where")
    assert "version 9 here" in caplog.text


async def test_closing_the_host_ends_calls_and_connection() -> None:
    async with shop().listen(claims="gateway") as host, gateway_at(host.url) as gateway:
        await gateway.welcome()
        await gateway.invoke("hold")
    with pytest.raises(Closed):
        await gateway.recv()
    assert host.stubborn == 0
    await host.aclose()


async def test_a_lifespan_is_entered_once_and_left_when_the_host_closes() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[str]:
        seen.append("enter")
        yield "state"
        seen.append("leave")

    app = shop(lifespan=lifespan)

    @app.action
    async def state(ctx: Context) -> str:
        return str(ctx.state)

    async with app.listen(claims="gateway") as host:
        for _ in range(2):
            async with gateway_at(host.url) as gateway:
                await gateway.welcome()
                assert (await gateway.call("state"))["result"]["output"] == "state"
                await gateway.channel.aclose()
    assert seen == ["enter", "leave"]


async def test_what_cannot_start_says_why() -> None:
    @asynccontextmanager
    async def broken(app: Tesseron) -> AsyncIterator[None]:
        raise RuntimeError("no database")
        yield

    with pytest.raises(RuntimeError, match="no database"):
        async with shop(lifespan=broken).listen(claims="gateway"):
            pass
    async with shop().listen(claims="gateway") as host:
        port = int(host.url.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(OSError, match=r".+"):
            async with shop().listen(port=port, claims="gateway"):
                pass
    with pytest.raises(ValueError, match="ws"):
        shop().listen("smoke", claims="gateway")  # type: ignore[arg-type]


async def test_serve_listens_until_it_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        async with anyio.create_task_group() as group:
            group.start_soon(shop().serve)
            with anyio.fail_after(5):
                while "listens on" not in caplog.text:
                    await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()


async def test_run_refuses_where_an_event_loop_runs() -> None:
    with pytest.raises(RuntimeError, match=r"await app\.serve\(\)"):
        shop().run()


def test_run_serves_until_sigterm() -> None:
    program = "from tesseron_py import Tesseron\nTesseron('shop', 'The shop').run(claims='gateway')"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("The shop listens on ws://127.0.0.1:")
        assert process.stderr.readline() == "Ctrl-C stops it.\n"
        process.terminate()
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


def test_a_program_without_an_event_loop_serves_from_a_thread() -> None:
    with shop().start(claims="gateway") as host:

        async def call() -> Any:
            async with gateway_at(host.url) as gateway:
                await gateway.welcome(claimCode="AB3X-7K")
                output = (await gateway.call("where"))["result"]["output"]
                assert host.claim_code == "AB3X-7K"
                assert not host.wait_claimed(0)
                await gateway.send(method="tesseron/claimed", params={"agent": {"id": "codex", "name": "Codex"}})
                assert await anyio.to_thread.run_sync(lambda: host.wait_claimed(5))
                return output

        assert "tesseron-py worker" in anyio.run(call)
        assert host.agent.name == "Codex"
        host.close()
    host.close()


def test_def_handlers_run_where_the_program_wants_them() -> None:
    jobs: list[Callable[[], None]] = []
    arrived = threading.Semaphore(0)

    def dispatch(job: Callable[[], None]) -> None:
        jobs.append(job)
        arrived.release()

    with shop().start(dispatch=dispatch, claims="gateway") as host:
        answers: list[Any] = []

        async def call() -> None:
            async with gateway_at(host.url) as gateway:
                await gateway.welcome()
                answers.append((await gateway.call("where"))["result"]["output"])

        client = threading.Thread(target=lambda: anyio.run(call))
        client.start()
        assert arrived.acquire(timeout=5)
        jobs.pop()()
        client.join(5)
    assert answers == [threading.current_thread().name]


def test_what_cannot_start_in_a_thread_is_raised_in_the_caller() -> None:
    with shop().start(claims="gateway") as host:
        port = int(host.url.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(OSError, match=r".+"):
            shop().start(port=port)


async def test_events_are_bounded_and_end() -> None:
    events = Events()
    for number in range(KEPT + 5):
        events.add(Dropped(str(number)))
    assert await anext(events) == Dropped("5")
    events.end()
    assert len([event async for event in events]) == KEPT - 1
    agent = AgentInfo("a", "A")
    assert [str(event) for event in (Claimed(agent), Resumed(agent))] == ["claimed by A", "resumed with A"]


async def test_a_frame_above_the_limit_costs_the_connection_and_no_more() -> None:
    from tesseron_py import Limits

    async with shop(limits=Limits(frame=4000)).listen(claims="gateway") as host, gateway_at(host.url) as gateway:
        await gateway.welcome()
        await gateway.channel.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 5000}))
        with pytest.raises(Closed) as closed:
            await gateway.recv()
        assert closed.value.code == 1009
        async with gateway_at(host.url) as again:
            await again.welcome()
            assert "result" in await again.call("where")
