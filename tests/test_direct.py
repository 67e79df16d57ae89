"""A direct server: one app behind a memory channel, loaded late, closed cleanly."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tesseron_py import Context, Limits, SyncContext, Tesseron
from tesseron_py.direct import AppEndpoint, DirectServer, endpoint_limits
from tesseron_py.invocation import Done, Failed
from tesseron_py.mcp.provider import Caller, Client, ClientCapabilities, ToolOutput


def caller() -> Caller:
    return Caller(Client("local", "test", "1", "legacy", lambda change: None), ClientCapabilities())


async def value(server: DirectServer, tool: str) -> Any:
    invocation = server.call_tool(tool, {}, caller())
    with anyio.fail_after(5):
        view = invocation.view()
        while view.outcome is None:
            view = await invocation.changed(view.version)
    assert isinstance(view.outcome, Done)
    assert isinstance(view.outcome.value, ToolOutput)
    return view.outcome.value.value


async def test_an_app_is_served_under_its_own_names() -> None:
    app = Tesseron("shop", "The shop", version="2.1", description="Sells")
    app.action("add").handler(lambda: 7)
    server = DirectServer(app)
    info = server.info
    assert (info.name, info.title, info.version, info.instructions) == ("shop", "The shop", "2.1", "Sells")
    await server.ready()
    await server.ready()
    assert [tool.name for tool in server.tools(caller().client)] == ["add"]
    assert await value(server, "add") == 7
    app.action("later").handler(lambda: 8)
    with anyio.fail_after(5):
        while len(server.tools(caller().client)) < 2:
            await anyio.wait_all_tasks_blocked()
    assert await value(server, "later") == 8
    await server.aclose()


async def test_an_app_may_be_loaded_late_and_once() -> None:
    loaded: list[int] = []

    async def load() -> Tesseron:
        loaded.append(1)
        app = Tesseron("late")
        app.action("add").handler(lambda: 7)
        return app

    server = DirectServer(load)
    assert server.info.name == "tesseron-py"
    assert loaded == []
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(server.ready)
    assert loaded == [1]
    assert await value(server, "add") == 7
    await server.aclose()


@pytest.mark.parametrize("problem", [ImportError("no such module"), SystemExit(3)])
async def test_what_loading_raises_is_raised_to_everyone_who_waits(problem: BaseException) -> None:
    async def load() -> Tesseron:
        raise problem

    server = DirectServer(load)
    for _ in range(2):
        with pytest.raises(type(problem)):
            await server.ready()
    await server.aclose()


async def test_a_hello_above_the_frame_limit_says_so() -> None:
    app = Tesseron("shop", limits=Limits(frame=100))
    app.action("add").describe("x" * 200).handler(lambda: 7)
    server = DirectServer(app)
    with pytest.raises(ValueError, match="a frame may be 100"):
        await server.ready()
    await server.aclose()


async def test_closing_leaves_the_lifespan_even_if_that_takes_its_time() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await anyio.wait_all_tasks_blocked()
            seen.append("left")

    server = DirectServer(Tesseron("shop", lifespan=lifespan))
    await server.ready()
    await server.aclose()
    await server.aclose()
    assert seen == ["left"]
    with pytest.raises(RuntimeError, match="not open"):
        server.home.start(anyio.sleep_forever)


async def test_handlers_have_ended_before_the_lifespan_that_they_use_is_left() -> None:
    seen: list[str] = []
    started = [threading.Event(), anyio.Event()]

    @asynccontextmanager
    async def lifespan(app: Tesseron) -> AsyncIterator[None]:
        yield
        seen.append("lifespan left")

    app = Tesseron("shop", lifespan=lifespan)

    @app.action
    def in_thread(ctx: SyncContext) -> None:
        started[0].set()
        while not ctx.cancelled:
            threading.Event().wait(0.005)
        seen.append("thread ended")

    @app.action
    async def in_loop() -> None:
        try:
            started[1].set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(started[0].wait)
            seen.append("handler ended")

    server = DirectServer(app)
    await server.ready()
    server.call_tool("in_thread", {}, caller())
    server.call_tool("in_loop", {}, caller())
    await started[1].wait()  # type: ignore[misc]
    await anyio.to_thread.run_sync(started[0].wait)
    await server.aclose()
    assert sorted(seen[:2]) == ["handler ended", "thread ended"]
    assert seen[2:] == ["lifespan left"]


async def test_handlers_see_the_context_the_server_was_made_in_not_the_first_requests() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("the maker")
    app = Tesseron("shop")

    @app.action
    async def look() -> str:
        return who.get()

    server = DirectServer(app)
    who.set("a request")
    await server.ready()
    assert await value(server, "look") == "the maker"
    await server.aclose()


def test_an_endpoint_takes_its_numbers_from_the_app() -> None:
    limits = Limits(body=1, line=2, result=3, event=4, sessions=5, session_idle=6, calls=7, prompts=8, subscriptions=9)
    share = endpoint_limits(limits)
    assert (share.body, share.line, share.json, share.frame, share.sessions) == (1, 2, 3, 4, 5)
    assert (share.idle, share.calls, share.prompts, share.subscriptions) == (6, 7, 8, 9)
    endpoint = Tesseron("shop", limits=limits).asgi("/tools", token="t", hosts=["x.example"])
    assert isinstance(endpoint, AppEndpoint)
    assert endpoint.path == "/tools"
    assert endpoint.limits == share
    assert Tesseron("shop").asgi(limits=limits).limits == share
    with pytest.raises(ValueError, match="slash"):
        Tesseron("shop").asgi("mcp")


async def test_an_endpoint_of_its_own_numbers_lives_by_all_of_them() -> None:
    app = Tesseron("shop", limits=Limits(closing=60))
    app.action("much").handler(lambda: "x" * 4000)
    asked: list[list[bool]] = []

    @app.action
    async def ask(ctx: Context) -> None:
        answers: list[bool] = []

        async def confirm() -> None:
            answers.append(await ctx.confirm("Sure?"))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(confirm)
        asked.append(answers)

    @app.action
    async def stubborn() -> None:
        started.set()
        with anyio.CancelScope(shield=True):
            await goes.wait()

    started, goes = anyio.Event(), anyio.Event()
    endpoint = app.asgi(limits=Limits(frame=3000, question=0.05, questions=2, closing=0.05))
    server = endpoint._server
    await server.ready()
    with anyio.fail_after(10):
        much = server.call_tool("much", {}, caller())
        while (view := much.view()).outcome is None:
            await much.changed(view.version)
        assert isinstance(view.outcome, Failed)
        assert "3000" in view.outcome.error.message
        invocation = server.call_tool("ask", {}, Caller(caller().client, ClientCapabilities(form=True)))
        while (view := invocation.view()).outcome is None:
            assert len(view.open) <= 2
            await invocation.changed(view.version)
        assert asked == [[False] * 3]
        server.call_tool("stubborn", {}, caller())
        await started.wait()
        await endpoint.aclose()  # within its own time, not the app's
        goes.set()
