"""How long an app may leave a gateway without an answer."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tesseron_py.gateway import apps, patience
from tesseron_py.gateway.entries import AppInfo, read_actions
from tesseron_py.home import Home
from tesseron_py.invocation import Accept, Invocation

from .fake_app import FakeClient, connect, error, gateway_of, outcome, question, value

URI = "tesseron://shop/cart"


def an_action(**members: Any) -> list[dict[str, Any]]:
    return [{"name": "clear", "inputSchema": {"type": "object"}, **members}]


async def still_running(invocation: Invocation, seconds: float) -> None:
    """Nothing comes of it for so long."""
    with anyio.move_on_after(seconds):
        raise AssertionError(await outcome(invocation))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No slack, and a twentieth of a second where an app says nothing of its time."""
    monkeypatch.setattr(patience, "SLACK", 0.0)
    monkeypatch.setattr(apps, "DEFAULT_TIMEOUT", 0.05)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(250, 0.25), (0.5, 0.0005), (0, None), (1e300, None), (-1, 60.0), ("5", 60.0), (True, 60.0), (None, 60.0)],
)
def test_the_time_of_an_action_is_what_its_app_says(given: object, seconds: float | None) -> None:
    shop = AppInfo("shop", "The shop", "1", "")
    assert read_actions(an_action(timeoutMs=given), shop)["clear"].timeout == seconds
    assert read_actions(an_action(), shop)["clear"].timeout == 60.0


@pytest.mark.usefixtures("hasty")
async def test_a_call_that_an_app_leaves_unanswered_ends_and_the_app_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(actions=an_action(timeoutMs=20))
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        call = await app.recv()
        assert await error(invocation) == (-32002, "The shop has not answered the call of clear within 0.02 s", None)
        told = await app.recv()
        assert told["method"] == "actions/cancel"
        assert told["params"] == {"invocationId": call["params"]["invocationId"]}
        assert "The shop has not answered the call of clear" in caplog.text
        # Its answer comes late and is nobody's; the next call is another one.
        await app.send(id=call["id"], result={"output": "late"})
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        await app.send(id=(await app.recv())["id"], result={"output": "in time"})
        assert (await value(invocation)).value == "in time"
        await app.nothing_comes()


@pytest.mark.usefixtures("hasty")
async def test_the_time_of_a_call_stands_still_while_the_person_is_asked() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(actions=an_action(timeoutMs=300))
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        await app.ask(id, "e-1")
        first = await question(invocation)
        await app.ask(id, "e-2")
        await still_running(invocation, 0.4)  # longer than the action may take
        invocation.answer(first.id, Accept({"approve": True}))
        assert (await app.recv())["id"] == "e-1"
        await still_running(invocation, 0.1)  # the second one is open
        (second,) = invocation.view().open
        assert second.id != first.id
        await app.send(method="elicitation/withdraw", params={"invocationId": id, "requestId": "e-2"})
        began = anyio.current_time()
        assert (await error(invocation))[0] == -32002
        assert 0.1 < anyio.current_time() - began < 5
        assert (await app.recv())["method"] == "actions/cancel"


@pytest.mark.usefixtures("hasty")
async def test_reads_and_subscriptions_that_an_app_leaves_unanswered_end() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        code, message, _ = await error(gateway.read_resource(URI, client.caller()))
        assert (code, message) == (-32002, "The shop has not answered the read of cart within 0.05 s")
        assert (await error(gateway.subscribe(URI, client.client)))[0] == -32002
        subscription = gateway.subscribe(URI, client.client)  # the one that failed is none
        for _ in range(3):
            request = await app.recv()
        await app.send(id=request["id"], result=None)
        assert await value(subscription) is None
        assert (await error(gateway.unsubscribe(URI, client.client)))[0] == -32002


@pytest.mark.usefixtures("hasty")
async def test_an_action_without_a_limit_is_waited_for() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(actions=an_action(timeoutMs=0))
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        await still_running(invocation, 0.15)
        await app.send(id=request["id"], result={"output": 1})
        assert (await value(invocation)).value == 1


@pytest.mark.usefixtures("hasty")
async def test_once_stopped_it_does_not_begin_again() -> None:
    async with Home() as home:
        ends: list[str] = []
        waiting = patience.Patience(home, 0.02, lambda: ends.append("late"))
        waiting.asks(True)
        waiting.stop()
        waiting.asks(False)
        waiting.stop()
        other = anyio.Event()
        patience.Patience(home, 0.04, other.set)
        with anyio.fail_after(5):
            await other.wait()
        assert ends == []
