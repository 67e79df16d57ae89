"""Repeated calls: the same key, tool and arguments join the first one; nothing is done twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from desk import desk, value_of
from fixture_provider import FixtureProvider

from tesseron_py.errors import ActionCancelled, ActionError, InternalError
from tesseron_py.home import Home
from tesseron_py.invocation import Done, Failed, Invocation
from tesseron_py.mcp import repeats as module
from tesseron_py.mcp.provider import Caller, Client, ClientCapabilities, ToolOutput
from tesseron_py.mcp.repeats import IDEMPOTENCY_KEY, Repeats


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with Home() as home:
        yield home


class Calls:
    """Starts calls and counts them."""

    def __init__(self, home: Home) -> None:
        self.made: list[Invocation] = []
        self.home = home

    def __call__(self) -> Invocation:
        self.made.append(Invocation(self.home))
        return self.made[-1]


def caller(principal: str) -> Caller:
    return Caller(Client(principal, "a client", "1", "modern", lambda change: None), ClientCapabilities())


async def test_a_repeated_call_joins_the_first_while_it_runs_and_after(home: Home) -> None:
    repeats, start = Repeats(home), Calls(home)
    one = repeats.join(caller("local"), "pay", {"a": 1, "b": 2}, "k", start)
    two = repeats.join(caller("local"), "pay", {"b": 2, "a": 1}, "k", start)
    assert one is two
    one.finish(Done(ToolOutput("paid")))
    assert repeats.join(caller("local"), "pay", {"a": 1, "b": 2}, "k", start).outcome == Done(ToolOutput("paid"))
    assert len(start.made) == 1


@pytest.mark.parametrize(
    "other", [("else", "pay", {"a": 1}, "k"), ("local", "get", {"a": 1}, "k"), ("local", "pay", {"a": 2}, "k"),
              ("local", "pay", {"a": 1}, "l")],
)  # fmt: skip
async def test_whatever_differs_is_another_call(home: Home, other: Any) -> None:
    repeats, start = Repeats(home), Calls(home)
    repeats.join(caller("local"), "pay", {"a": 1}, "k", start)
    repeats.join(caller(other[0]), *other[1:], start)
    assert len(start.made) == 2


async def test_a_call_is_given_up_with_its_last_reader_and_is_not_begun_anew(home: Home) -> None:
    repeats, start = Repeats(home), Calls(home)
    one = repeats.join(caller("local"), "pay", {}, "k", start).join()
    two = repeats.join(caller("local"), "pay", {}, "k", start).join()
    one.give_up("gone")
    one.give_up("gone")
    assert one.invocation.outcome is None
    two.give_up("gone, too")
    assert isinstance(one.invocation.outcome, Failed)
    # It may have had its effect before it was given up, and whoever repeats it is not there to have it twice.
    with pytest.raises(ActionCancelled, match="call with another key"):
        repeats.join(caller("local"), "pay", {}, "k", start)
    assert len(start.made) == 1
    assert repeats.join(caller("local"), "pay", {}, "another", start) is not one.invocation


async def test_an_error_is_a_result_and_is_kept(home: Home) -> None:
    repeats, start = Repeats(home), Calls(home)
    repeats.join(caller("local"), "pay", {}, "k", start).finish(Failed(ActionError("no money")))
    assert repeats.join(caller("local"), "pay", {}, "k", start).outcome is not None
    assert len(start.made) == 1


async def test_results_are_kept_for_a_time_in_number_and_in_size(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "ROOM", 100)
    monkeypatch.setattr(module, "GRACE", 0.01)
    repeats, start = Repeats(home), Calls(home)
    for number in range(3):
        repeats.join(caller("local"), "pay", {}, str(number), start)
    # None is forgotten before its time, since it could be begun a second time.
    start.made[1].finish(Done(ToolOutput("x" * 60)))
    with pytest.raises(InternalError, match="try again in a minute"):
        repeats.join(caller("local"), "pay", {}, "3", start)
    assert repeats.join(caller("local"), "pay", {}, "1", start) is start.made[1]
    start.made[0].finish(Done(ToolOutput("x" * 60)))
    start.made[2].finish(Done(ToolOutput(object())))
    with pytest.raises(InternalError, match="no room to keep its result"):
        repeats.join(caller("local"), "pay", {}, "1", start)
    assert repeats.join(caller("local"), "pay", {}, "0", start) is start.made[0]
    assert len(start.made) == 3
    with anyio.fail_after(5):
        while len(repeats):  # noqa: ASYNC110  # a timer of the home ends it
            await anyio.sleep(0.005)


async def test_a_client_that_repeats_a_call_gets_the_first_ones_result() -> None:
    provider = FixtureProvider()
    async with desk(provider) as client:

        def meta(key: Any) -> dict[str, Any]:
            return {"_meta": {IDEMPOTENCY_KEY: key}}

        first = await client.request("tools/call", {"name": "grow", "arguments": {}, **meta("k-1")})
        again = await client.request("tools/call", {"name": "grow", "arguments": {}, **meta("k-1")})
        assert value_of(first) == value_of(again)
        assert [tool.name for tool in provider.listed].count("grown") == 1
        for bad in ("", 7, "x" * 300):
            assert (await client.refused("tools/call", {"name": "grow", **meta(bad)}))["code"] == -32602


async def test_of_two_that_joined_the_one_that_is_cancelled_ends_at_once_and_the_other_goes_on() -> None:
    provider = FixtureProvider()
    async with desk(provider) as client:
        params = {"name": "confirm", "arguments": {}, "_meta": {IDEMPOTENCY_KEY: "k-1"}}
        one, two = client.start("tools/call", params, id="one"), client.start("tools/call", params, id="two")
        first, second = await client.next("elicitation/create"), await client.next("elicitation/create")
        client.notify("notifications/cancelled", {"requestId": "one"})
        withdrawn = await client.next("notifications/cancelled")
        assert withdrawn["params"]["requestId"] in (first["id"], second["id"])
        with anyio.fail_after(5):
            await one.ended.wait()
        assert one.response is None
        assert "confirm" not in provider.ended
        other = second if withdrawn["params"]["requestId"] == first["id"] else first
        client.answer(other, approve=True)
        with anyio.fail_after(5):
            assert value_of(await two.result())["reply"] == "Accept"
        assert len(provider.callers) == 1
        assert client.quiet()
