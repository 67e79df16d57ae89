"""Calls between two requests of their client: how many, for how long, and what is kept of them afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from fixture_provider import CONFIRM, FixtureProvider, Running, show
from modern_desk import ACCEPT, modern_desk

from tesseron_py.errors import NotFound, TooManyPrompts
from tesseron_py.home import Home
from tesseron_py.invocation import Accept, Done, Form, Invocation, Reply, Unavailable
from tesseron_py.mcp.exchange import Pending
from tesseron_py.mcp.parked import OVERHEAD, Parked
from tesseron_py.mcp.provider import Caller, PromptOutput, ResourceOutput, ToolOutput, UnknownPrompt


@pytest.fixture
def provider() -> FixtureProvider:
    return FixtureProvider()


class Clock:
    """A home of which the test says what time it is."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.is_open = True
        self.timers: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, fn: Any) -> Clock:
        self.timers.append((when, fn))
        return self

    def cancel(self) -> None:
        pass

    def go(self, seconds: float) -> None:
        self.now += seconds
        due, self.timers = ([timer for timer in self.timers if timer[0] <= self.now],
                            [timer for timer in self.timers if timer[0] > self.now])  # fmt: skip
        for _, fn in due:
            fn()


def parked_on(clock: Clock, *, most: int = 10, lifetime: float = 100, grace: float = 50, room: int = 10_000) -> Parked:
    return Parked(clock, most=most, lifetime=lifetime, grace=grace, room=room)  # type: ignore[arg-type]


class Calls:
    """Invocations that ask."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.replies: list[Reply] = []

    def asking(self, *keys: str | None) -> Pending:
        invocation = Invocation(self.home)
        for key in keys or (None,):
            invocation.ask(Form("Sure?", CONFIRM), on_reply=self.replies.append, key=key)
        return Pending(invocation, lambda outcome: {})


@pytest.fixture
async def calls() -> Any:
    async with Home() as home:
        yield Calls(home)


# One call ---------------------------------------------------------------------------------------------------------


async def test_a_call_is_parked_once_and_found_by_its_id(calls: Calls) -> None:
    parked, pending = parked_on(Clock()), calls.asking()
    assert parked.of(pending) is None
    call = parked.park(pending)
    assert parked.park(pending) is parked.of(pending) is parked.find(call.id) is call
    assert (len(parked), list(parked), parked.kept) == (1, [call], 0)
    assert parked.find(b"\0" * 16) is None
    pending.invocation.finish(Done(ToolOutput("done")))
    assert (len(parked), list(parked), parked.kept) == (0, [], 1)
    assert parked.find(call.id) is call


async def test_keys_stay_and_are_of_use_for_what_had_been_asked(calls: Calls) -> None:
    parked, pending = parked_on(Clock()), calls.asking(None, "sure", None)
    call = parked.park(pending)
    questions = pending.invocation.view().open
    assert not any(call.was_put(question) for question in questions)
    keys = [call.key(question) for question in questions]
    assert keys == [call.key(question) for question in questions]
    assert keys[1] == "sure"
    assert len(set(keys)) == 3
    assert all(call.was_put(question) for question in questions)
    assert call.asked == questions[-1].id
    call.answer({keys[0]: ACCEPT, keys[2]: ACCEPT}, questions[1].id)
    assert calls.replies == [Accept({"approve": True})]
    call.refuse(keys[2], Unavailable("no"))
    assert calls.replies[1:] == [Unavailable("no")]
    call.answer({keys[0]: ACCEPT, keys[1]: ACCEPT, keys[2]: ACCEPT}, 99)
    assert calls.replies[2:] == [Accept({"approve": True})]


# In number and in time --------------------------------------------------------------------------------------------


async def test_above_the_bound_the_next_is_refused_and_none_is_sent_away(calls: Calls) -> None:
    parked = parked_on(Clock(), most=2)
    first, second = calls.asking(), calls.asking()
    parked.park(first), parked.park(second)
    with pytest.raises(TooManyPrompts) as caught:
        parked.park(calls.asking())
    assert caught.value.data == {"reason": "too_many_parked_calls", "limit": 2}
    assert len(parked) == 2
    parked.park(first)
    first.invocation.cancel()
    parked.park(calls.asking())


async def test_a_call_that_nobody_comes_back_for_is_cancelled(calls: Calls) -> None:
    clock = Clock()
    parked = parked_on(clock, lifetime=100, grace=1000)
    left, watched, visited = calls.asking(), calls.asking(), calls.asking()
    for pending in (left, watched, visited):
        parked.park(pending)
    share = watched.invocation.join()
    clock.go(60)
    parked.park(visited)
    clock.go(50)
    assert left.invocation.outcome is not None
    assert watched.invocation.outcome is visited.invocation.outcome is None
    share.leave()
    clock.go(50)
    assert watched.invocation.outcome is not None
    assert visited.invocation.outcome is not None


async def test_a_result_is_kept_for_its_time_and_within_its_room(calls: Calls) -> None:
    clock = Clock()
    parked = parked_on(clock, grace=50, room=3 * OVERHEAD + 600)
    pending = [calls.asking() for _ in range(5)]
    ids = [parked.park(each).id for each in pending]
    for each in pending[:3]:
        each.invocation.finish(Done(ToolOutput("x" * 100)))
    assert parked.kept == 3
    pending[3].invocation.finish(Done(ToolOutput("x" * 100)))
    assert [parked.find(id) is not None for id in ids] == [False, True, True, True, True]
    clock.go(40)
    pending[4].invocation.finish(Done(ToolOutput(object())))
    assert [parked.find(id) is not None for id in ids] == [False, False, True, True, True]
    clock.go(20)
    assert [parked.find(id) is not None for id in ids] == [False, False, False, False, True]
    clock.go(60)
    assert parked.kept == 0
    assert clock.timers == []


async def test_a_result_that_is_larger_than_the_room_is_not_kept(calls: Calls) -> None:
    parked = parked_on(Clock(), room=2 * OVERHEAD)
    pending = calls.asking()
    call = parked.park(pending)
    share = pending.invocation.join()
    pending.invocation.finish(Done(ToolOutput("x" * 5000)))
    assert parked.find(call.id) is call  # a leg is there to make its text, and to say what it weighs
    share.leave()
    parked.weigh(pending, 5000)
    assert parked.find(call.id) is None
    parked.weigh(pending, 5000)
    assert parked.kept == 0


async def test_once_the_home_is_closed_nothing_is_timed(calls: Calls) -> None:
    clock = Clock()
    parked = parked_on(clock)
    clock.is_open = False
    parked.park(calls.asking()).invocation.finish(Done(ToolOutput("done")))
    assert clock.timers == []


# Through a server --------------------------------------------------------------------------------------------------


async def test_the_call_above_the_bound_fails_clearly_and_the_others_wait(provider: FixtureProvider) -> None:
    async with modern_desk(provider, parked=2) as client:
        first, second = await client.ask("confirm"), await client.ask("confirm")
        failed = client.calling("confirm", {"as": "third"})
        assert "2 calls wait for their answers here, which is as many as may" in await failed.failure()
        assert (await failed.result())["structuredContent"]["data"]["limit"] == 2
        with anyio.fail_after(5):
            await provider.event("ended third").wait()
        assert provider.ended["third"] == "cancelled"
        # What cannot ask needs no place.
        assert (await client.call("confirm", capabilities={}))["reply"] == "Unavailable"
        assert (await client.answer(first, approve=True).value())["reply"] == "Accept"
        third = await client.ask("confirm")
        for asked in (second, third):
            assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"


async def test_at_the_limit_the_handler_sees_its_cancellation_and_cleans_up(provider: FixtureProvider) -> None:
    async def careful(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        try:
            return show(await running.confirm())
        finally:
            provider.event("cleaned up").set()

    provider.handlers["careful"] = careful
    async with modern_desk(provider, parked_for=0.05) as client:
        asked = await client.ask("careful")
        with anyio.fail_after(5):
            await provider.event("cleaned up").wait()
            await provider.event("ended careful").wait()
        assert provider.ended["careful"] == "cancelled"
        assert len(client.modern.parked) == 0
        leg = client.answer(asked, approve=True)
        response = await leg.end()
        # Its state has expired by the second; before that, the agent hears what became of the call.
        assert response is not None
        assert "error" in response or "did not come back" in response["result"]["content"][0]["text"]


async def test_where_a_question_has_less_time_than_its_caller_the_handler_goes_on_without_an_answer() -> None:
    provider = FixtureProvider(deadline=0.02)
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
        assert provider.ended["confirm"] == "done"
        assert "nobody answered in time" in str(await client.answer(asked, approve=True).value())


async def test_a_question_whose_time_is_up_with_its_callers_ends_the_call() -> None:
    provider = FixtureProvider(deadline=0.05)
    async with modern_desk(provider, parked_for=0.05) as client:
        await client.ask("confirm")
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
        assert provider.ended["confirm"] == "cancelled"


@pytest.mark.parametrize("limits", [{"kept_room": 0}, {"kept_room": OVERHEAD}])
async def test_without_room_nothing_is_kept_and_a_repeated_leg_hears_so(
    provider: FixtureProvider, limits: dict[str, int]
) -> None:
    async with modern_desk(provider, **limits) as client:
        asked = await client.ask("confirm")
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"
        assert client.modern.parked.kept == 0
        failure = await client.answer(asked, approve=True).failure()
        assert "not here any more" in failure
        assert "call again without the requestState" in failure
        assert len(provider.callers) == 1


async def test_a_result_is_forgotten_after_its_time(provider: FixtureProvider) -> None:
    async with modern_desk(provider, kept=0.02) as client:
        asked = await client.ask("confirm")
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"
        with anyio.fail_after(5):
            while client.modern.parked.kept:  # noqa: ASYNC110  # a timer of the home ends it
                await anyio.sleep(0.005)
        assert "its result was kept long enough" in await client.answer(asked, approve=True).failure()


async def after_asking(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    await running.confirm()
    await provider.event("go").wait()
    return "x" * 5000


async def test_what_is_kept_is_weighed_though_its_client_could_not_take_it(provider: FixtureProvider) -> None:
    provider.handlers["large"] = after_asking
    provider.event("go").set()
    async with modern_desk(provider, kept_room=4000) as client:
        asked = await client.ask("large")
        leg = client.again(asked, {asked.key: ACCEPT}, outlet={"room": 2000})
        assert "ask for less" in await leg.failure()
        assert client.modern.parked.kept == 0


async def test_what_is_kept_is_weighed_though_its_client_has_left(provider: FixtureProvider) -> None:
    provider.handlers["large"] = after_asking
    async with modern_desk(provider, kept_room=4000) as client:
        asked = await client.ask("large")
        leg = client.again(asked, {asked.key: ACCEPT})
        await anyio.wait_all_tasks_blocked()
        provider.running["large"].invocation.finish(Done(ToolOutput("x" * 5000)))
        leg.close()
        assert await leg.end() is None
        assert client.modern.parked.kept == 0


async def test_a_lost_call_of_a_strict_tool_says_so_beside_its_structure(provider: FixtureProvider) -> None:
    async def strict(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        await running.confirm()
        return {"n": 1}

    provider.handlers["structured"] = strict
    async with modern_desk(provider, kept_room=0) as client:
        asked = await client.ask("structured")
        assert await client.answer(asked, approve=True).value() == {"n": 1}
        result = await client.answer(asked, approve=True).result()
        assert result["isError"]
        assert "structuredContent" not in result
        assert result["_meta"]["tesseron/error"]["code"] == -32001


# Prompts and reads -------------------------------------------------------------------------------------------------


class Asking(FixtureProvider):
    """Its prompts and resources ask, too."""

    def get_prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Invocation:
        if name not in ("asking", "nothing"):
            raise UnknownPrompt
        message = {"role": "user", "content": {"type": "text", "text": "Hello"}}
        return self._asking(caller, PromptOutput([message]), fails=name == "nothing")

    def read_resource(self, uri: str, caller: Caller) -> Invocation:
        return self._asking(caller, ResourceOutput(uri, "secret"), fails=uri == "test://nothing")

    def _asking(self, caller: Caller, value: Any, *, fails: bool) -> Invocation:
        async def handler(provider: Any, running: Running, arguments: Any) -> Any:
            if not isinstance(await running.confirm(), Accept) or fails:
                raise NotFound("You may not see it")
            running.invocation.finish(Done(value))

        self.handlers["asking"] = handler
        running = Running(self, "asking", caller)
        self.callers.append(caller)
        self.home.start(self._run, running, {})
        return running.invocation


PROMPT = ("prompts/get", {"name": "asking", "arguments": {"a": "b"}})
READ = ("resources/read", {"uri": "test://secret"})


@pytest.mark.parametrize(("method", "params"), [PROMPT, READ])
async def test_prompts_and_reads_ask_the_same_way(method: str, params: dict[str, Any]) -> None:
    provider = Asking()
    async with modern_desk(provider) as client:
        asked = await client.send(method, params).asked()
        result = await client.answer(asked, approve=True).result()
        assert "messages" in result or result["contents"][0]["text"] == "secret"
        assert ("ttlMs" in result) is (method == "resources/read")
        assert await client.answer(asked, approve=True).result() == result
        asked = await client.send(method, params).asked()
        error = await client.answer(asked, "decline").error()
        assert (error["code"], error["message"]) == (-32603, "You may not see it") or error["code"] == -32602
        assert len(provider.callers) == 2


@pytest.mark.parametrize(("method", "params"), [PROMPT, READ])
async def test_a_lost_prompt_or_read_is_a_json_rpc_error(method: str, params: dict[str, Any]) -> None:
    async with modern_desk(Asking(), kept_room=0) as client:
        asked = await client.send(method, params).asked()
        await client.answer(asked, approve=True).result()
        error = await client.answer(asked, approve=True).error()
        assert error["code"] == -32602
        assert "not here any more" in error["message"]


@pytest.mark.parametrize(("method", "params"), [PROMPT, READ])
async def test_a_prompt_or_read_above_the_bound_is_a_json_rpc_error(method: str, params: dict[str, Any]) -> None:
    async with modern_desk(Asking(), parked=1) as client:
        await client.send(method, params).asked()
        assert "1 calls wait" in (await client.send(method, params).error())["message"]


async def test_an_unknown_resource_behind_a_question_has_the_eras_code() -> None:
    async with modern_desk(Asking()) as client:
        asked = await client.send("resources/read", {"uri": "test://nothing"}).asked()
        error = await client.answer(asked, approve=True).error()
        assert (error["code"], error["data"]) == (-32602, {"uri": "test://nothing"})
