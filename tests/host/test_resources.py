"""Resources: read, followed, published, cleaned up (Tesseron 1.2 §7)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from tesseron_py.app import Tesseron
from tesseron_py.bindings.memory import pair
from tesseron_py.errors import ActionError, RegistrationError
from tesseron_py.home import Home
from tesseron_py.host.session import Session

from .fake_gateway import FakeGateway, serving


class Stats(BaseModel):
    open: int


async def subscribe(gateway: FakeGateway, name: str, id: str = "sub-1") -> dict[str, Any]:
    await gateway.send(id=id, method="resources/subscribe", params={"name": name, "subscriptionId": id})
    return await gateway.recv()


async def unsubscribe(gateway: FakeGateway, id: str = "sub-1") -> dict[str, Any]:
    await gateway.send(id=9, method="resources/unsubscribe", params={"subscriptionId": id})
    return await gateway.recv()


async def test_a_resource_is_read_with_def_and_async_def() -> None:
    app = Tesseron("shop")

    async def read_cart() -> list[str]:
        """What is in the cart."""
        return ["A1"]

    app.resource("cart").read(read_cart)
    stats = app.resource("stats").describe("Counters").output(Stats).read(lambda: Stats(open=3))
    async with serving(app) as gateway:
        cart_entry, stats_entry = gateway.hello["params"]["resources"]
        assert cart_entry["description"] == "What is in the cart."
        assert cart_entry["outputSchema"]["type"] == "array"
        assert stats_entry["outputSchema"]["required"] == ["open"]
        await gateway.send(id=1, method="resources/read", params={"name": "cart"})
        assert await gateway.recv() == {"jsonrpc": "2.0", "id": 1, "result": {"value": ["A1"]}}
        await gateway.send(id=2, method="resources/read", params={"name": "stats"})
        assert (await gateway.recv())["result"] == {"value": {"open": 3}}
    assert repr(stats) == "<Resource stats>"


async def test_a_read_that_fails_answers_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")

    def broken() -> None:
        raise ValueError("disk on fire")

    def locked() -> None:
        raise ActionError("Cart is locked", data=1)

    app.resource("broken").read(broken)
    app.resource("locked").read(locked)
    app.resource("object").read(object)
    async with serving(app) as gateway:
        for name, code, says in (
            ("broken", -32005, "disk on fire"),
            ("locked", -32005, "Cart is locked"),
            ("object", -32005, "cannot go on the wire"),
            ("none", -32003, "none"),
        ):
            await gateway.send(id=1, method="resources/read", params={"name": name})
            error = (await gateway.recv())["error"]
            assert error["code"] == code
            assert says in error["message"]
        await gateway.send(id=1, method="resources/read", params={})
        assert (await gateway.recv())["error"]["code"] == -32602
    assert "disk on fire" in caplog.text


async def test_a_published_value_reaches_every_subscriber_after_the_acknowledgement() -> None:
    app = Tesseron("shop")
    stats = app.resource("stats").read(lambda: 0)
    stats.publish("nobody hears this")
    async with serving(app) as gateway:
        assert await subscribe(gateway, "stats", "sub-1") == {"jsonrpc": "2.0", "id": "sub-1", "result": None}
        assert (await subscribe(gateway, "stats", "sub-2"))["result"] is None
        await anyio.to_thread.run_sync(stats.publish, Stats(open=1))
        updates = [await gateway.recv() for _ in range(2)]
        assert [update["method"] for update in updates] == ["resources/updated"] * 2
        assert [update["params"] for update in updates] == [
            {"subscriptionId": "sub-1", "value": {"open": 1}},
            {"subscriptionId": "sub-2", "value": {"open": 1}},
        ]
        assert (await unsubscribe(gateway, "sub-1"))["result"] is None
        assert (await unsubscribe(gateway, "unknown"))["result"] is None
        stats.publish(2)
        assert (await gateway.recv())["params"] == {"subscriptionId": "sub-2", "value": 2}
        await gateway.nothing_comes()


async def test_a_subscriber_that_is_behind_gets_the_newest_value_only() -> None:
    app = Tesseron("shop")
    stats = app.resource("stats").read(lambda: 0)
    async with serving(app) as gateway:
        await subscribe(gateway, "stats")
        for number in range(1000):
            stats.publish(number)
        values = [(await gateway.recv())["params"]["value"]]
        while values[-1] != 999:
            values.append((await gateway.recv())["params"]["value"])
        assert len(values) <= 3
        assert values == sorted(values)


async def test_a_value_that_cannot_go_on_the_wire_is_logged_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")
    stats = app.resource("stats").read(lambda: 0)
    async with serving(app) as gateway:
        await subscribe(gateway, "stats")
        stats.publish(object())
        stats.publish("x" * 9_000_000)
        stats.publish("fine")
        assert (await gateway.recv())["params"]["value"] == "fine"
    assert caplog.text.count("A value of resource 'stats' cannot be sent") == 2


class Source:
    """A source of values that counts its starts and stops."""

    def __init__(self) -> None:
        self.emit: Callable[[Any], None] | None = None
        self.stopped = threading.Semaphore(0)
        self.stops = 0

    def start(self, emit: Callable[[Any], None]) -> Callable[[], None]:
        self.emit = emit
        emit("first")
        return self.stop

    def stop(self) -> None:
        self.stops += 1
        self.stopped.release()

    async def wait_stopped(self) -> None:
        assert await anyio.to_thread.run_sync(lambda: self.stopped.acquire(timeout=5))


async def test_a_source_is_started_with_the_subscription_and_stopped_once_on_unsubscribe() -> None:
    app, source = Tesseron("shop"), Source()
    app.resource("route").read(lambda: "/").subscribe(source.start)
    async with serving(app) as gateway:
        assert (await subscribe(gateway, "route"))["result"] is None
        assert (await gateway.recv())["params"]["value"] == "first"
        assert source.emit is not None
        await anyio.to_thread.run_sync(source.emit, "second")
        assert (await gateway.recv())["params"]["value"] == "second"
        await unsubscribe(gateway)
        await source.wait_stopped()
        await unsubscribe(gateway)
        source.emit("too late")
        await gateway.nothing_comes()
    assert source.stops == 1


async def test_a_source_is_stopped_once_when_the_connection_ends() -> None:
    app, source = Tesseron("shop"), Source()
    app.resource("route").subscribe(source.start).read(lambda: "/")
    async with serving(app) as gateway:
        await subscribe(gateway, "route")
        await gateway.channel.aclose()
        await source.wait_stopped()
    assert source.stops == 1


async def test_a_source_is_stopped_once_when_the_resource_is_removed() -> None:
    app, source = Tesseron("shop"), Source()
    app.resource("route").subscribe(source.start).read(lambda: "/")
    async with serving(app) as gateway:
        await subscribe(gateway, "route")
        app.remove_resource("route")
        await source.wait_stopped()
    assert source.stops == 1
    with pytest.raises(KeyError):
        app.remove_resource("route")


async def test_sources_may_be_async_and_give_nothing_to_stop() -> None:
    app = Tesseron("shop")
    stopped = anyio.Event()

    async def start(emit: Callable[[Any], None]) -> Callable[[], Any]:
        emit(1)

        async def stop() -> None:
            stopped.set()

        return stop

    app.resource("one").read(lambda: 0).subscribe(start)
    app.resource("two").read(lambda: 0).subscribe(lambda emit: None)
    async with serving(app) as gateway:
        await subscribe(gateway, "one", "sub-1")
        assert (await gateway.recv())["params"]["value"] == 1
        await subscribe(gateway, "two", "sub-2")
        await unsubscribe(gateway, "sub-1")
        await unsubscribe(gateway, "sub-2")
        with anyio.fail_after(5):
            await stopped.wait()


async def test_a_source_that_fails_refuses_the_subscription(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")

    def broken(emit: Callable[[Any], None]) -> None:
        raise ValueError("no router")

    def fail() -> None:
        raise ValueError("clean-up broke")

    app.resource("broken").read(lambda: 0).subscribe(broken)
    app.resource("messy").read(lambda: 0).subscribe(lambda emit: fail)
    async with serving(app) as gateway:
        error = (await subscribe(gateway, "broken"))["error"]
        assert (error["code"], error["message"]) == (-32005, "no router")
        assert (await subscribe(gateway, "messy"))["result"] is None
        await unsubscribe(gateway)
    assert "clean-up broke" in caplog.text


async def test_what_cannot_be_followed_is_refused() -> None:
    app = Tesseron("shop")
    app.resource("fixed").subscribable(False).read(lambda: 0)
    app.resource("stats").read(lambda: 0)
    async with serving(app) as gateway:
        error = (await subscribe(gateway, "fixed"))["error"]
        assert (error["code"], error["message"]) == (-32003, "Resource not subscribable: fixed")
        assert (await subscribe(gateway, "none"))["error"]["code"] == -32003
        await subscribe(gateway, "stats", "sub-1")
        assert (await subscribe(gateway, "stats", "sub-1"))["error"]["code"] == -32602
        await gateway.send(id=1, method="resources/subscribe", params={"name": "stats"})
        assert (await gateway.recv())["error"]["code"] == -32602


def test_a_resource_that_cannot_be_declared_says_why() -> None:
    app = Tesseron("shop")
    app.resource("taken").read(lambda: 0)
    for declare, says in (
        (lambda: app.resource("").read(lambda: 0), "name"),
        (lambda: app.resource(3), "name is a string"),  # type: ignore[call-overload]
        (lambda: app.resource("taken")(lambda: 0), "already"),
        (lambda: app.resource("x").read(7), "takes a function"),  # type: ignore[arg-type]
        (lambda: app.resource("x").read(lambda needed: 0), "needs arguments"),  # type: ignore[arg-type, misc]
        (lambda: app.resource("taken").read(lambda: 0), "already"),
        (lambda: app.resource("x").output(object()).read(lambda: 0), "no JSON Schema"),
        (lambda: app.resource("y").read(lambda: 0).subscribe(7), "takes a function"),  # type: ignore[arg-type]
        (lambda: app.resource("z").subscribable(False).read(lambda: 0).subscribe(print), "subscribable"),
    ):
        with pytest.raises(RegistrationError, match=says):
            declare()


async def test_a_read_function_becomes_a_resource_by_a_decorator() -> None:
    app = Tesseron("shop")

    @app.resource
    def balance() -> int:
        """What is left."""
        return 7

    @app.resource("log of all")
    async def entries() -> list[str]:
        return ["a"]

    async with serving(app) as gateway:
        assert [(entry["name"], entry["description"]) for entry in gateway.hello["params"]["resources"]] == [
            ("balance", "What is left."),
            ("log of all", ""),
        ]
    assert balance() == 7
    assert await entries() == ["a"]
    assert app.resource(name="named").read(lambda: 0).name == "named"


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it says nothing")


Speechless = type("Speechless", (Exception,), {"__str__": lambda self: 5})


HARSH: list[BaseException] = [
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    Wordless(),
    Speechless(),
    BaseExceptionGroup("several", [KeyboardInterrupt()]),
]


@pytest.mark.parametrize("kind", ["async", "def"])
@pytest.mark.parametrize("error", HARSH, ids=lambda error: type(error).__name__)
async def test_whatever_a_read_or_a_source_raises_is_answered_once(error: BaseException, kind: str) -> None:
    app = Tesseron("shop")

    async def fails(*emit: object) -> Any:
        raise error

    def fails_too(*emit: object) -> Any:
        raise error

    harsh = fails if kind == "async" else fails_too
    app.resource("harsh").read(harsh)
    app.resource("source").read(lambda: 1).subscribe(harsh)
    async with serving(app) as gateway:
        await gateway.send(id=1, method="resources/read", params={"name": "harsh"})
        answer = await gateway.recv()
        assert (answer["id"], answer["error"]["code"]) == (1, -32005)
        assert (await subscribe(gateway, "source"))["error"]["code"] == -32005
        assert (await subscribe(gateway, "source"))["error"]["code"] == -32005  # the id is free again
        await gateway.nothing_comes()


async def test_a_read_that_awaits_a_task_it_cancelled_is_answered(anyio_backend: str) -> None:
    if anyio_backend != "asyncio":
        return  # trio has no tasks to await
    app = Tesseron("shop")

    async def read() -> None:
        task = asyncio.ensure_future(asyncio.sleep(5))
        task.cancel()
        await task

    app.resource("self").read(read)
    async with serving(app) as gateway:
        await gateway.send(id=1, method="resources/read", params={"name": "self"})
        assert "cancelled itself" in (await gateway.recv())["error"]["message"]


async def test_clean_ups_run_at_once_and_a_connection_ends_without_them() -> None:
    app = Tesseron("shop")
    running: list[str] = []
    three, go_on = anyio.Event(), anyio.Event()

    def declare(name: str) -> None:
        async def source(emit: object) -> Any:
            async def clean_up() -> None:
                running.append(name)
                if len(running) == 3:
                    three.set()
                await go_on.wait()
                running.remove(name)

            return clean_up

        app.resource(name).read(lambda: 1).subscribe(source)

    for name in "abc":
        declare(name)
    async with Home() as home:
        here, there = pair()
        session, ended = Session(app, there, home), anyio.Event()

        async def run() -> None:
            await session.run()
            ended.set()

        home.start(run)
        gateway = FakeGateway(here)
        await gateway.welcome()
        for name in "abc":
            assert (await subscribe(gateway, name, name))["result"] is None
        await here.aclose()
        with anyio.fail_after(5):
            await ended.wait()
            await three.wait()
            async with anyio.create_task_group() as group:
                group.start_soon(session.settled)
                await anyio.wait_all_tasks_blocked()
                assert len(running) == 3
                go_on.set()
        assert running == []


async def test_a_home_that_closes_still_has_every_subscription_cleaned_up() -> None:
    app, cleaned = Tesseron("shop"), []

    async def source(emit: object) -> Any:
        async def clean_up() -> None:
            await anyio.lowlevel.checkpoint()
            cleaned.append(1)

        return clean_up

    app.resource("a").read(lambda: 1).subscribe(source)
    async with Home() as home:
        here, there = pair()
        home.start(Session(app, there, home).run)
        gateway = FakeGateway(here)
        await gateway.welcome()
        for id in ("one", "two"):
            await subscribe(gateway, "a", id)
    assert cleaned == [1, 1]


async def test_a_clean_up_that_raises_an_exit_ends_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")
    app.resource("exits").read(lambda: 1).subscribe(lambda emit: leave(SystemExit(1)))
    app.resource("cancels").read(lambda: 1).subscribe(lambda emit: leave(asyncio.CancelledError()))
    async with serving(app) as gateway:
        await subscribe(gateway, "cancels")
        assert (await unsubscribe(gateway))["result"] is None
        await anyio.wait_all_tasks_blocked()
        assert "'cancels'" in caplog.text
        await subscribe(gateway, "exits")
        assert (await unsubscribe(gateway))["result"] is None
        await anyio.wait_all_tasks_blocked()
        assert "SystemExit" in caplog.text
        await subscribe(gateway, "exits")


def leave(error: Any) -> Callable[[], Any]:
    async def clean_up() -> None:
        raise error

    return clean_up


async def test_bytes_are_base64_and_marked_for_gateways_of_ours() -> None:
    app = Tesseron("shop")
    app.resource("logo").read(lambda: b"\xfb\xff")
    app.resource("logos").read(lambda: [b"\xfb\xff"])
    for welcome, logo in (
        ({}, {"value": "+/8="}),
        ({"extensions": {"tesseron-py": 1}}, {"value": "+/8=", "encoding": "base64"}),
    ):
        async with serving(app, **welcome) as gateway:
            await gateway.send(id=1, method="resources/read", params={"name": "logo"})
            assert (await gateway.recv())["result"] == logo
            await gateway.send(id=2, method="resources/read", params={"name": "logos"})
            assert (await gateway.recv())["result"] == {"value": ["+/8="]}
            await subscribe(gateway, "logo")
            app.resources["logo"].publish(b"\xff\xfb")
            assert (await gateway.recv())["params"]["value"] == "//s="
