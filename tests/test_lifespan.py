"""Lifespans that fail: on entering, while the app is served, and on leaving; whoever waits or calls is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from sniffio import current_async_library

from tesseron_py import Context, Limits, Tesseron
from tesseron_py.errors import InternalError
from tesseron_py.home import Home
from tesseron_py.lifespan import RunningLifespan
from tesseron_py.testing import ActionFailed, Agent

Lifespan = Callable[[Tesseron], AbstractAsyncContextManager[Any]]


def shop(lifespan: Lifespan, **options: Any) -> Tesseron:
    app = Tesseron("shop", lifespan=lifespan, limits=Limits(closing=2), **options)

    @app.action
    async def look(ctx: Context) -> str:
        return str(ctx.state)

    app.resource("stats").read(lambda: 7)
    return app


def failing(problem: BaseException) -> Lifespan:
    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[None]:
        raise problem
        yield

    return lifespan


def tasks() -> set[Any]:
    return asyncio.all_tasks() if current_async_library() == "asyncio" else set()


async def messages(app: Any) -> list[dict[str, Any]]:
    """What an ASGI server hears that starts the app and stops it again."""
    sent: list[dict[str, Any]] = []
    heard = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> dict[str, Any]:
        return next(heard)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app({"type": "lifespan"}, receive, send)
    return sent


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (ValueError("no database"), "ValueError: no database"),
        (SystemExit(4), "the app's lifespan called sys.exit(4)"),
        (SystemExit(), "the app's lifespan called sys.exit()"),
    ],
)
async def test_an_app_that_cannot_start_fails_the_start_of_its_asgi_server(problem: BaseException, says: str) -> None:
    before = tasks()
    (message,) = await messages(shop(failing(problem)).asgi())
    assert message["type"] == "lifespan.startup.failed"
    assert says in message["message"]
    assert tasks() == before


async def test_an_app_that_starts_is_ready_before_its_asgi_server_takes_requests() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[None]:
        seen.append("entered")
        yield
        seen.append("left")

    assert [message["type"] for message in await messages(shop(lifespan).asgi())] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert seen == ["entered", "left"]


@pytest.mark.parametrize("problem", [ValueError("no database"), SystemExit(4)])
async def test_an_app_that_cannot_start_leaves_nothing_of_its_agent(problem: BaseException) -> None:
    before = tasks()
    for entering in (Agent(shop(failing(problem))), shop(failing(problem)).listen()):
        with pytest.raises((ValueError, RuntimeError), match=r"no database|sys.exit\(4\)"):
            async with entering:
                pass
    assert tasks() == before


@asynccontextmanager
async def crashing(app: Tesseron) -> AsyncIterator[str]:
    async def crash() -> None:
        await app.crashes.wait()  # type: ignore[attr-defined]
        raise RuntimeError("the pool is gone")

    async with anyio.create_task_group() as group:
        group.start_soon(crash)
        yield "the pool"


@asynccontextmanager
async def ending(app: Tesseron) -> AsyncIterator[str]:
    with anyio.CancelScope() as scope:
        app.ends = scope.cancel  # type: ignore[attr-defined]
        yield "the pool"


@pytest.mark.parametrize(
    ("lifespan", "masked", "says"),
    [
        (crashing, False, "(RuntimeError: the pool is gone)"),
        (crashing, True, "What shop needs is gone: its lifespan is over; start the app again"),
        (ending, False, "(it ended by itself)"),
    ],
)
async def test_calls_fail_once_the_lifespan_is_over(
    lifespan: Lifespan, masked: bool, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = shop(lifespan, mask_errors=masked)
    app.crashes = anyio.Event()  # type: ignore[attr-defined]
    async with Agent(app) as agent:
        assert await agent.call("look") == "the pool"
        assert await agent.read("stats") == 7
        app.crashes.set()  # type: ignore[attr-defined]
        if lifespan is ending:
            app.ends()  # type: ignore[attr-defined]
        with anyio.fail_after(5):
            while not any("is over while the app is served" in message for message in caplog.messages):
                await anyio.wait_all_tasks_blocked()
        for _ in range(2):
            with pytest.raises(ActionFailed) as failed:
                await agent.call("look")
            assert failed.value.code == -32603
            assert says in failed.value.message
        with pytest.raises(ActionFailed, match="its lifespan is over"):
            await agent.read("stats")
    (record,) = [record for record in caplog.records if record.name == "tesseron_py.lifespan"]
    assert record.levelno == logging.ERROR


@pytest.mark.parametrize("problem", [ValueError("stuck"), SystemExit(4)])
async def test_what_leaving_raises_is_logged_and_closing_goes_on(
    problem: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[None]:
        yield
        raise problem

    async with shop(lifespan).listen():
        pass
    assert [record.getMessage() for record in caplog.records if record.name == "tesseron_py.lifespan"] == [
        "The lifespan of shop failed while it was left"
    ]


async def test_a_lifespan_that_is_cancelled_while_it_is_entered_says_so() -> None:
    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[None]:
        await anyio.sleep_forever()
        yield

    home = await Home().open()
    running = RunningLifespan(shop(lifespan), home)
    async with anyio.create_task_group() as group:

        async def enter() -> None:
            with pytest.raises(RuntimeError, match="cancelled before it was entered"):
                await running.enter()

        group.start_soon(enter)
        await anyio.wait_all_tasks_blocked()
        await home.aclose()
    running.check()


async def test_nothing_is_missing_without_a_lifespan() -> None:
    running = RunningLifespan(Tesseron("shop"), Home())
    assert await running.enter() is None
    running.check()
    running._is_lost("for a test")
    with pytest.raises(InternalError):
        running.check()
