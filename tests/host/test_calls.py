"""A session that runs actions: what goes in, what comes out, and how a call ends (Tesseron 1.2 §4)."""

from __future__ import annotations

import contextvars
import functools
import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from enum import Enum
from queue import SimpleQueue
from typing import Any
from uuid import UUID

import anyio
import pytest
from pydantic import BaseModel, field_serializer

from tesseron_py.actions import action
from tesseron_py.app import Tesseron
from tesseron_py.bindings.memory import CAPACITY
from tesseron_py.content import Image, Text
from tesseron_py.context import Context, SyncContext, confirm
from tesseron_py.errors import ActionCancelled, ActionError, RegistrationError, TesseronError
from tesseron_py.host.session import MAX_UNSENT_REPLIES
from tesseron_py.workers import Workers

from .fake_gateway import connected, serving


class Stock(BaseModel):
    sku: str
    count: int


def output_of(response: dict[str, Any]) -> Any:
    assert "error" not in response, response
    return response["result"]["output"]


def error_of(response: dict[str, Any]) -> tuple[int, str, Any]:
    assert "result" not in response, response
    error = response["error"]
    return error["code"], error["message"], error.get("data")


async def test_an_action_is_called_with_validated_input_and_answers_once() -> None:
    app = Tesseron("shop")

    @app.action
    async def add(sku: str, count: int = 1) -> Stock:
        """Add to the cart."""
        return Stock(sku=sku, count=count)

    async with serving(app) as gateway:
        (entry,) = gateway.hello["params"]["actions"]
        assert entry["name"] == "add"
        assert entry["description"] == "Add to the cart."
        assert entry["inputSchema"]["required"] == ["sku"]
        response = await gateway.call("add", {"sku": "A1", "count": 2.0})
        assert response == {
            "jsonrpc": "2.0",
            "id": "r-1",
            "result": {"invocationId": "i-1", "output": {"sku": "A1", "count": 2}},
        }
        await gateway.nothing_comes()


async def test_field_90_every_issue_of_the_input_is_listed_and_the_handler_does_not_run() -> None:
    app, ran = Tesseron("shop"), []

    @app.action
    async def add(sku: str, count: int) -> None:
        ran.append(sku)

    async with serving(app) as gateway:
        code, _, issues = error_of(await gateway.call("add", {"sku": 7, "count": "x", "colour": "red"}))
        assert code == -32004
        assert sorted(issue["path"][0] for issue in issues) == ["colour", "count", "sku"]
        assert all(isinstance(issue["message"], str) for issue in issues)
    assert ran == []


async def test_handlers_of_every_kind_are_called() -> None:
    app = Tesseron("shop")

    class Counter:
        def __init__(self, start: int) -> None:
            self.value = start

        def bump(self, by: int) -> int:
            self.value += by
            return self.value

        async def abump(self, by: int) -> int:
            return self.bump(by)

    class Caller:
        async def __call__(self, x: int) -> int:
            return x * 2

    def wrapper(fn: Any) -> Any:
        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        return inner

    @wrapper
    async def wrapped(x: int, ctx: Context) -> str:
        return f"{x} in {ctx.action}"

    def scale(factor: int, x: int) -> int:
        return factor * x

    counter = Counter(1)
    app.action("bump").handler(counter.bump)
    app.action("abump").handler(counter.abump)
    app.action("double").handler(Caller())
    app.action("triple").handler(functools.partial(scale, 3))
    app.action("wrapped").handler(wrapped)
    app.add(action("free").handler(scale))
    async with serving(app) as gateway:
        assert output_of(await gateway.call("bump", {"by": 2})) == 3
        assert output_of(await gateway.call("abump", {"by": 2})) == 5
        assert output_of(await gateway.call("double", {"x": 4})) == 8
        assert output_of(await gateway.call("triple", {"x": 4})) == 12
        assert output_of(await gateway.call("wrapped", {"x": 4})) == "4 in wrapped"
        assert output_of(await gateway.call("free", {"factor": 2, "x": 4})) == 8


async def test_field_86_a_def_that_returns_a_coroutine_is_awaited() -> None:
    app = Tesseron("shop")

    async def work(x: int) -> int:
        return x + 1

    def hidden(x: int) -> Any:
        return work(x)

    app.action("hidden").handler(hidden)
    async with serving(app) as gateway:
        assert output_of(await gateway.call("hidden", {"x": 1})) == 2


async def test_field_86_a_coroutine_of_a_def_asks_with_the_functions_and_not_with_sync_context() -> None:
    app = Tesseron("shop")

    async def helper(ctx: Any) -> Any:
        return await ctx.confirm("Sure?")

    async def below() -> bool:
        return await confirm("Sure?")

    def gives(ctx: SyncContext) -> Any:
        return helper(ctx)

    def gives_below() -> Any:
        return below()

    app.action("lambda").handler(lambda ctx: helper(ctx))  # noqa: PLW0108  # that a lambda gives a coroutine is what is tried
    app.action("gives").handler(gives)
    app.action("below").handler(gives_below)
    async with serving(app) as gateway:
        for name in ("lambda", "gives"):
            error = (await gateway.call(name))["error"]
            assert error["code"] == -32005
            assert error["message"].startswith("its `def` gave a coroutine, which runs in the event loop when")
            assert error["message"].endswith("make it an `async def` that takes Context")
        await gateway.invoke("below")
        question = await gateway.recv()
        await gateway.send(id=question["id"], result={"action": "accept"})
        assert output_of(await gateway.recv()) is True


async def test_field_24_outputs_are_encoded_as_json() -> None:
    class Colour(Enum):
        RED = "red"

    value = {
        "d": date(2026, 1, 2),
        "u": UUID(int=1),
        "x": Decimal("1.20"),
        "c": Colour.RED,
        "s": {1},
        "n": float("nan"),
    }
    app = Tesseron("shop")
    app.action("give").handler(lambda: value)
    app.action("none").handler(lambda: None)
    app.action("model").handler(lambda: [Stock(sku="A", count=1)])
    async with serving(app) as gateway:
        assert output_of(await gateway.call("give")) == {
            "d": "2026-01-02",
            "u": "00000000-0000-0000-0000-000000000001",
            "x": "1.20",
            "c": "red",
            "s": [1],
            "n": None,
        }
        assert (await gateway.call("none"))["result"] == {"invocationId": "i-1", "output": None}
        assert output_of(await gateway.call("model")) == [{"sku": "A", "count": 1}]


async def test_what_cannot_be_encoded_is_an_error_of_that_call_alone() -> None:
    app = Tesseron("shop")
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    app.action("object").handler(object)
    app.action("deep").handler(lambda: deep)
    app.action("fine").handler(lambda: "ok")
    app.action("huge").handler(lambda: {"n": 10**5000})
    async with serving(app) as gateway:
        code, message, _ = error_of(await gateway.call("huge"))
        assert (code, message) == (-32005, "The output cannot go on the wire: a number is too large for a float")
        code, message, _ = error_of(await gateway.call("object"))
        assert code == -32005
        assert "cannot go on the wire" in message
        assert error_of(await gateway.call("deep"))[0] == -32005
        assert output_of(await gateway.call("fine")) == "ok"


async def test_the_log_names_the_action_whose_output_cannot_be_encoded(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")

    @app.action
    def give() -> Any:
        return object()

    async with serving(app) as gateway:
        await gateway.call("give")
    record = next(record for record in caplog.records if record.name == "tesseron_py.host")
    first = give.fn.__code__.co_firstlineno
    assert record.getMessage() == (
        f"Encoding the output of the action 'give', {give.fn.__qualname__} ({__file__}:{first}), failed"
    )
    assert record.exc_info is not None


async def test_field_83_an_output_above_the_frame_limit_is_an_error_and_the_session_lives() -> None:
    app = Tesseron("shop")
    app.action("big").handler(lambda: "x" * 10_000)
    app.action("fine").handler(lambda: "ok")

    def fail() -> None:
        raise ActionError("too much " + "y" * 10_000)

    app.action("fail").handler(fail)
    async with connected(app, limit=4_000) as gateway:
        await gateway.welcome()
        code, message, _ = error_of(await gateway.call("big"))
        assert code == -32005
        assert "a frame may be 4000" in message
        code, message, _ = error_of(await gateway.call("fail"))
        assert code == -32005
        assert len(message) == 500
        assert output_of(await gateway.call("fine")) == "ok"


async def test_content_blocks_go_beside_the_output_to_a_gateway_of_ours() -> None:
    app = Tesseron("shop")
    app.action("show").handler(lambda: [Text("here"), Image(b"\x89PNG", "image/png")])
    app.action("one").handler(lambda: Text("here"))
    text = {"type": "text", "text": "here"}
    image = {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
    async with serving(app, extensions={"tesseron-py": 1}) as gateway:
        result = (await gateway.call("show"))["result"]
        assert result == {"invocationId": "i-1", "output": [text, image], "content": [text, image]}
        assert (await gateway.call("one"))["result"]["output"] == text
    async with serving(app) as gateway:
        assert "content" not in (await gateway.call("show"))["result"]


async def test_a_strict_output_is_checked_as_it_goes_out() -> None:
    app = Tesseron("shop")
    app.action("good").output(Stock).strict_output().handler(lambda: {"sku": "A", "count": 1})
    app.action("bad").output(Stock).strict_output().handler(lambda: {"sku": "A"})
    app.action("nan").output(dict[str, float]).strict_output().handler(lambda: {"x": [1.0, float("inf")][1]})
    async with serving(app) as gateway:
        good = next(entry for entry in gateway.hello["params"]["actions"] if entry["name"] == "good")
        assert good["strictOutput"] is True
        assert good["outputSchema"]["required"] == ["sku", "count"]
        assert output_of(await gateway.call("good")) == {"sku": "A", "count": 1}
        code, _, issues = error_of(await gateway.call("bad"))
        assert code == -32005
        assert [issue["path"] for issue in issues] == [["count"]]
        code, _, issues = error_of(await gateway.call("nan"))
        assert code == -32005
        assert [issue["path"] for issue in issues] == [["x"]]


async def test_errors_out_of_a_handler_keep_their_code_message_and_data(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop")

    def raising(error: BaseException) -> Any:
        async def handler() -> None:
            raise error

        return handler

    async def grouped() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(raising(ActionError("from a group", data=[1])))

    app.action("locked").handler(raising(ActionError("Cart is locked", data={"cart": "c-7"})))
    app.action("custom").handler(raising(TesseronError(-31000, "mine", 7)))
    app.action("value").handler(raising(ValueError("no such sku")))
    app.action("blank").handler(raising(KeyError()))
    app.action("missing").handler(raising(KeyError(9)))
    app.action("leave").handler(raising(SystemExit(2)))
    app.action("interrupt").handler(raising(KeyboardInterrupt()))
    app.action("grouped").handler(grouped)
    async with serving(app) as gateway:
        assert error_of(await gateway.call("locked")) == (-32005, "Cart is locked", {"cart": "c-7"})
        assert error_of(await gateway.call("custom")) == (-31000, "mine", 7)
        assert error_of(await gateway.call("value")) == (-32005, "no such sku", None)
        assert error_of(await gateway.call("blank")) == (-32005, "KeyError", None)
        assert error_of(await gateway.call("missing")) == (-32005, "KeyError: 9", None)
        assert error_of(await gateway.call("leave")) == (-32005, "2", None)
        assert error_of(await gateway.call("interrupt")) == (-32005, "KeyboardInterrupt", None)
        assert error_of(await gateway.call("grouped")) == (-32005, "from a group", [1])
    assert "ValueError: no such sku" in caplog.text


async def test_field_89_masked_errors_tell_a_reference_that_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    app = Tesseron("shop", mask_errors=True)

    @app.action
    def leak() -> None:
        raise RuntimeError("/secret/path")

    @app.action
    def say() -> None:
        raise ActionError("Cart is locked")

    async with serving(app) as gateway:
        code, message, _ = error_of(await gateway.call("leak"))
        assert code == -32005
        assert "secret" not in message
        reference = message.split()[-1]
        assert f"reference {reference}" in caplog.text
        assert "/secret/path" in caplog.text
        assert error_of(await gateway.call("say"))[1] == "Cart is locked"


@pytest.mark.parametrize(
    ("params", "code", "says"),
    [
        (None, -32602, "params"),
        ([], -32602, "params"),
        ({"invocationId": "i-1"}, -32602, "'name'"),
        ({"name": "wait"}, -32602, "'invocationId'"),
        ({"name": "wait", "invocationId": 7}, -32602, "'invocationId'"),
        ({"name": "none", "invocationId": "i-1"}, -32003, "none"),
    ],
)
async def test_an_invoke_that_is_none_is_refused(params: Any, code: int, says: str) -> None:
    app = Tesseron("shop")
    app.action("wait").handler(anyio.sleep_forever)
    async with serving(app) as gateway:
        await gateway.send(id=1, method="actions/invoke", params=params)
        answered, message, _ = error_of(await gateway.recv())
        assert answered == code
        assert says in message


async def test_two_calls_of_one_invocation_id_do_not_mix() -> None:
    app = Tesseron("shop")
    app.action("wait").handler(anyio.sleep_forever)
    async with serving(app) as gateway:
        await gateway.invoke("wait", id=1)
        await gateway.invoke("wait", id=2)
        response = await gateway.recv()
        assert response["id"] == 2
        assert error_of(response)[0] == -32602
        await gateway.cancel()
        assert (await gateway.recv())["id"] == 1


async def test_cancelling_answers_at_once_and_the_handler_sees_it() -> None:
    app = Tesseron("shop")
    seen: list[str] = []
    ended = anyio.Event()

    @app.action
    async def slow(ctx: Context) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            seen.append(f"cancelled={ctx.cancelled}")
            with anyio.CancelScope(shield=True):
                await ctx.progress(99)
            ended.set()

    async with serving(app) as gateway:
        await gateway.invoke("slow")
        await gateway.nothing_comes()
        await gateway.cancel()
        assert error_of(await gateway.recv())[0] == -32001
        with anyio.fail_after(5):
            await ended.wait()
        await gateway.nothing_comes()
        await gateway.cancel()
        await gateway.cancel("unknown")
        await gateway.nothing_comes()
        assert error_of(await gateway.call("slow2"))[0] == -32003
    assert seen == ["cancelled=True"]


async def test_a_stubborn_handler_does_not_hold_up_the_answer_to_its_cancellation() -> None:
    app = Tesseron("shop")
    release = anyio.Event()

    @app.action
    async def stubborn() -> str:
        with anyio.CancelScope(shield=True):
            await release.wait()
        return "too late"

    async with serving(app) as gateway:
        await gateway.invoke("stubborn")
        await gateway.nothing_comes()
        await gateway.cancel()
        assert error_of(await gateway.recv())[0] == -32001
        release.set()
        await gateway.nothing_comes()


async def test_a_call_whose_time_is_up_is_answered_at_its_deadline() -> None:
    app = Tesseron("shop")
    release = threading.Event()
    app.action("async_one").timeout(0.02).handler(anyio.sleep_forever)
    app.action("thread_one").timeout(0.02).handler(lambda: release.wait(10))
    async with serving(app) as gateway:
        entries = {entry["name"]: entry for entry in gateway.hello["params"]["actions"]}
        assert entries["async_one"]["timeoutMs"] == 20
        code, message, _ = error_of(await gateway.call("async_one"))
        assert code == -32002
        assert "0.02 s" in message
        assert error_of(await gateway.call("thread_one"))[0] == -32002
        release.set()


async def test_field_42_the_clock_stands_still_while_a_person_is_asked() -> None:
    app = Tesseron("shop")
    answered_at: list[float] = []

    @app.action("ask")
    async def ask_twice(ctx: Context) -> bool:
        first, second = ctx.confirm("one?"), ctx.confirm("two?")
        result = await first and await second
        answered_at.append(anyio.current_time())
        return result

    app.action("late").timeout(0.05).handler(ask_twice.fn)
    async with serving(app) as gateway:
        begun = anyio.current_time()
        await gateway.invoke("late")
        for _ in range(2):
            request = await gateway.recv()
            assert request["method"] == "elicitation/request"
            await anyio.sleep(0.08)  # longer than the whole timeout: the person reads
            await gateway.send(id=request["id"], result={"action": "accept"})
        assert output_of(await gateway.recv()) is True
    assert answered_at[0] - begun > 0.15


async def test_after_a_question_the_rest_of_the_time_counts() -> None:
    app = Tesseron("shop")

    @app.action("late").timeout(0.05)
    async def late(ctx: Context) -> None:
        await ctx.confirm("one?")
        await anyio.sleep_forever()

    async with serving(app) as gateway:
        await gateway.invoke("late")
        request = await gateway.recv()
        await gateway.send(id=request["id"], result={"action": "decline"})
        assert error_of(await gateway.recv())[0] == -32002


async def test_no_timeout_is_told_as_zero() -> None:
    app = Tesseron("shop")
    app.action("calm").timeout(None).handler(lambda: 1)
    async with serving(app) as gateway:
        assert gateway.hello["params"]["actions"][0]["timeoutMs"] == 0
        assert output_of(await gateway.call("calm")) == 1


async def test_progress_never_falls_and_is_clamped() -> None:
    app = Tesseron("shop")

    @app.action
    async def work(ctx: Context) -> str:
        for percent in (10, 55.5, 30, 250, -3):
            await ctx.progress(percent, f"at {percent}")
        await ctx.progress(message="nearly", data={"n": 1})
        with pytest.raises(ValueError, match="NaN"):
            await ctx.progress(float("nan"))
        with pytest.raises(TypeError, match=r"not int; how far it is goes in percent alone: progress\(30\) for 3"):
            await ctx.progress(3, 10)
        for message in (b"so far", 0):
            with pytest.raises(TypeError, match=r"^a progress message is a string, not \w+$"):
                await ctx.progress(100, message)
        for percent, mend in (("50%", "write 50"), (" 7.5 ", "write 7.5"), ("half", "what .* goes in message")):
            with pytest.raises(TypeError, match=rf"^percent is a number from 0 to 100, not str; {mend}"):
                await ctx.progress(percent)
        with pytest.raises(TypeError, match=r"^percent is a number from 0 to 100, not list$"):
            await ctx.progress([50], 100)
        return "done"

    async with serving(app) as gateway:
        await gateway.invoke("work")
        frames = [await gateway.recv() for _ in range(6)]
        assert all(frame["method"] == "actions/progress" and "id" not in frame for frame in frames)
        assert [frame["params"].get("percent") for frame in frames] == [10, 55.5, 55.5, 100, 100, None]
        assert frames[5]["params"] == {"invocationId": "i-1", "message": "nearly", "data": {"n": 1}}
        assert output_of(await gateway.recv()) == "done"


async def test_field_67_what_is_reported_after_the_answer_is_dropped() -> None:
    app = Tesseron("shop")
    kept: list[Context] = []

    @app.action
    async def leave(ctx: Context) -> None:
        kept.append(ctx)

    async with serving(app) as gateway:
        await gateway.call("leave")
        await kept[0].progress(50)
        await kept[0].log("late")
        with pytest.raises(ActionCancelled, match="over"):
            await kept[0].confirm("late?")
        await gateway.nothing_comes()


async def test_log_carries_level_and_meta() -> None:
    app = Tesseron("shop")

    @app.action
    async def work(ctx: Context) -> None:
        await ctx.log("hello", level="warn", sku="A1")
        await ctx.log("plain")
        with pytest.raises(ValueError, match="level"):
            await ctx.log("x", level="loud")  # type: ignore[arg-type]

    async with serving(app) as gateway:
        await gateway.invoke("work")
        assert await gateway.recv() == {
            "jsonrpc": "2.0",
            "method": "log",
            "params": {"invocationId": "i-1", "level": "warn", "message": "hello", "meta": {"sku": "A1"}},
        }
        assert (await gateway.recv())["params"] == {"invocationId": "i-1", "level": "info", "message": "plain"}
        output_of(await gateway.recv())


async def test_the_context_knows_call_caller_state_and_route() -> None:
    app = Tesseron("shop")

    @app.action
    async def who(ctx: Context) -> dict[str, Any]:
        return {
            "action": ctx.action,
            "id": ctx.invocation_id,
            "agent": ctx.agent.name,
            "elicitation": ctx.capabilities.elicitation,
            "state": ctx.state,
            "route": ctx.route,
        }

    async with serving(app, state={"db": 1}) as gateway:
        seen = output_of(await gateway.call("who", client={"route": "/cart"}))
        assert seen == {
            "action": "who",
            "id": "i-1",
            "agent": "Claude",
            "elicitation": True,
            "state": {"db": 1},
            "route": "/cart",
        }
        caller = {"agent": {"id": "codex", "name": "Codex"}, "capabilities": {"elicitation": False}, "era": "legacy"}
        seen = output_of(await gateway.call("who", caller=caller))
        assert (seen["agent"], seen["elicitation"], seen["route"]) == ("Codex", False, None)


OURS = {"extensions": {"tesseron-py": 1}}
CODEX = {"id": "codex", "name": "Codex"}


def caller(agent: Any = CODEX, **capabilities: Any) -> dict[str, Any]:
    return {"agent": agent, "capabilities": capabilities, "era": "modern"}


def told(**params: Any) -> dict[str, Any]:
    return {"method": "actions/caller", "params": {"invocationId": "i-1", **params}}


def sampling_then_confirming() -> Tesseron:
    app = Tesseron("shop")

    @app.action
    async def go(ctx: Context) -> list[Any]:
        before = [ctx.agent.name, ctx.capabilities.elicitation]
        await ctx.sample("Who?")
        return [*before, ctx.agent.name, ctx.capabilities.elicitation, await ctx.confirm("Sure?")]

    @app.action
    def go_in_thread(ctx: SyncContext) -> list[Any]:
        before = [ctx.agent.name, ctx.capabilities.elicitation]
        ctx.sample("Who?")
        return [*before, ctx.agent.name, ctx.capabilities.elicitation, ctx.confirm("Sure?")]

    return app


@pytest.mark.parametrize("action", ["go", "go_in_thread"])
async def test_a_handler_sees_what_the_newest_caller_can_do(action: str) -> None:
    async with serving(sampling_then_confirming(), **OURS) as gateway:
        first = caller({"id": "a", "name": "A"}, sampling=True)
        await gateway.invoke(action, caller=first)
        sample = await gateway.recv()
        await gateway.send(**told(caller={**caller(sampling=True, elicitation=True), "more": 1}, more=[2]))
        await gateway.send(id=sample["id"], result={"content": "me"})
        confirm = await gateway.recv()
        assert (confirm["method"], confirm["params"]["question"]) == ("elicitation/request", "Sure?")
        await gateway.send(id=confirm["id"], result={"action": "accept"})
        assert output_of(await gateway.recv()) == ["A", False, "Codex", True, True]
        await gateway.invoke(action, caller=caller(sampling=True, elicitation=True))
        sample = await gateway.recv()
        await gateway.send(**told(caller=caller({"id": "a", "name": "A"}, sampling=True, elicitation="yes")))
        await gateway.send(id=sample["id"], result={"content": "me"})
        assert output_of(await gateway.recv()) == ["Codex", True, "A", False, False]  # and nobody was asked


@pytest.mark.parametrize(
    "params",
    [
        {"invocationId": "i-2", "caller": caller()},
        {"invocationId": ["i-1"], "caller": caller()},
        {"caller": None},
        {"caller": [caller()]},
        {"caller": {}},
        {"caller": {"agent": CODEX}},
        {"caller": {"capabilities": {}}},
        {"caller": {**caller(), "agent": "codex"}},
        {"caller": {**caller(), "agent": {"id": 7}}},
        {"caller": {**caller(), "capabilities": ["elicitation"]}},
    ],
)
async def test_another_caller_that_is_none_or_of_no_call_changes_nothing(params: dict[str, Any]) -> None:
    async with serving(sampling_then_confirming(), **OURS) as gateway:
        await gateway.invoke("go", caller=caller({"id": "a", "name": "A"}, sampling=True, elicitation=True))
        sample = await gateway.recv()
        await gateway.send(**told(**params))
        await gateway.send(method="actions/caller")
        await gateway.send(id=sample["id"], result={"content": "me"})
        await gateway.send(id=(await gateway.recv())["id"], result={"action": "accept"})
        assert output_of(await gateway.recv()) == ["A", True, "A", True, True]
        await gateway.send(**told(caller=caller()))  # the call is over
        await gateway.nothing_comes()


async def test_a_gateway_of_others_tells_of_no_other_caller() -> None:
    async with serving(sampling_then_confirming()) as gateway:
        await gateway.invoke("go")
        sample = await gateway.recv()
        await gateway.send(**told(caller=caller()))
        await gateway.send(id=sample["id"], result={"content": "me"})
        await gateway.send(id=(await gateway.recv())["id"], result={"action": "accept"})
        assert output_of(await gateway.recv()) == ["Claude", True, "Claude", True, True]


async def test_a_gate_that_was_asked_says_so_whoever_brings_the_answer() -> None:
    app = Tesseron("shop")
    app.action("drop").confirm("Drop?").output(int).strict_output().handler(lambda: 1)
    async with serving(app, **OURS) as gateway:
        await gateway.invoke("drop", {}, caller=caller(elicitation=True))
        asked = await gateway.recv()
        await gateway.send(**told(caller=caller(elicitation=False)))
        await gateway.send(id=asked["id"], result={"action": "decline"})
        _, message, _ = error_of(await gateway.recv())
        assert message == "There was no yes: the question was put, and nobody accepted it"


async def test_field_84_a_blocking_handler_does_not_hold_up_another_call() -> None:
    app = Tesseron("shop")
    release = threading.Event()
    app.action("block").handler(lambda: release.wait(10))
    app.action("quick").handler(lambda: "quick")
    async with serving(app) as gateway:
        await gateway.invoke("block", id=1, invocation="i-1")
        response = await gateway.call("quick", id=2, invocation="i-2")
        assert response["id"] == 2
        release.set()
        assert (await gateway.recv())["id"] == 1


async def test_a_def_handler_asks_reports_and_sees_cancellation() -> None:
    app = Tesseron("shop")
    seen: list[Any] = []
    ended = threading.Event()

    @app.action
    def work(ctx: SyncContext, times: int) -> int:
        ctx.log("begin")
        yes = sum(ctx.confirm(f"{number}?") for number in range(times))
        ctx.progress(100)
        return yes

    @app.action
    def hold(ctx: SyncContext) -> None:
        try:
            seen.append(ctx.confirm("hold?"))
            seen.append(ctx.cancelled)
            try:
                ctx.progress(1)
            except ActionCancelled:
                seen.append("told")
            try:
                ctx.confirm("again?")
            except ActionCancelled:
                seen.append("told again")
        finally:
            ended.set()

    async with serving(app) as gateway:
        await gateway.invoke("work", {"times": 2})
        assert (await gateway.recv())["params"]["message"] == "begin"
        for action in ("accept", "decline"):
            request = await gateway.recv()
            assert request["params"]["schema"] == {"type": "object", "properties": {}, "required": []}
            await gateway.send(id=request["id"], result={"action": action})
        assert (await gateway.recv())["params"]["percent"] == 100
        assert output_of(await gateway.recv()) == 1

        await gateway.invoke("hold")
        assert (await gateway.recv())["params"]["question"] == "hold?"
        await gateway.cancel()
        assert error_of(await gateway.recv())[0] == -32001
        with anyio.fail_after(5):
            await anyio.to_thread.run_sync(ended.wait)
    assert seen == [False, True, "told", "told again"]


async def test_field_85_context_variables_reach_worker_threads() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("the opener")
    app = Tesseron("shop")

    @app.action
    def read() -> str:
        return who.get()

    async with serving(app) as gateway:
        assert output_of(await gateway.call("read")) == "the opener"


async def test_requires_elicitation_refuses_a_client_that_cannot_ask() -> None:
    app, ran = Tesseron("shop"), []

    @app.action("danger").annotate(requires_elicitation=True)
    async def danger() -> None:
        ran.append(1)

    capabilities = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": False}
    async with serving(app, capabilities=capabilities) as gateway:
        assert gateway.hello["params"]["actions"][0]["requiresElicitation"] is True
        assert error_of(await gateway.call("danger"))[0] == -32007
    assert ran == []


async def test_the_end_of_the_connection_cancels_every_call() -> None:
    app = Tesseron("shop")
    ended: list[str] = []
    both = anyio.Event()

    def note(name: str) -> None:
        ended.append(name)
        if len(ended) == 2:
            both.set()

    @app.action
    async def idle() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            note("idle")

    @app.action
    async def asking(ctx: Context) -> None:
        try:
            await ctx.confirm("there?")
        finally:
            note("asking")

    async with serving(app) as gateway:
        await gateway.invoke("idle", id=1, invocation="i-1")
        await gateway.invoke("asking", id=2, invocation="i-2")
        assert (await gateway.recv())["method"] == "elicitation/request"
        await gateway.channel.aclose()
        with anyio.fail_after(5):
            await both.wait()
    assert sorted(ended) == ["asking", "idle"]


@pytest.mark.parametrize("text", ["nope", "[]", '{"id":1}', '{"jsonrpc":"2.0","id":1,"method":"what"}', "\ufeff"])
async def test_field_60_a_bad_frame_is_answered_and_the_next_call_works(text: str) -> None:
    app = Tesseron("shop")
    app.action("fine").handler(lambda: "ok")
    async with serving(app) as gateway:
        await gateway.send_text(text)
        assert "error" in await gateway.recv()
        assert output_of(await gateway.call("fine")) == "ok"


async def test_bad_notifications_are_ignored() -> None:
    app = Tesseron("shop")
    app.action("fine").handler(lambda: "ok")
    async with serving(app) as gateway:
        for method in ("actions/cancel", "tesseron/claimed", "what/ever"):
            for params in (None, [], {}, {"invocationId": 7, "agent": "x"}):
                await gateway.send(method=method, params=params)
        await gateway.nothing_comes()
        assert output_of(await gateway.call("fine")) == "ok"


def test_what_cannot_be_declared_says_why_and_how_to_mend_it() -> None:
    app = Tesseron("shop")
    app.action("taken").handler(lambda: 1)
    for declare, says in (
        (lambda: app.action("a.b").handler(lambda: 1), "letters, digits"),
        (lambda: app.action("New Tool").handler(lambda: 1), "letters, digits"),
        (lambda: app.action("taken").handler(lambda: 1), "another name"),
        (lambda: app.action("x" * 60).handler(lambda: 1), "64"),
        (lambda: app.action(lambda: 1), "no name of its own"),
        (lambda: app.action("x").handler(7), "cannot be called"),  # type: ignore[arg-type]
        (lambda: app.action("x").handler(app.find_action("taken")), "an action already"),  # type: ignore[arg-type]
        (lambda: app.action("x").timeout(0), "above 0"),
        (lambda: app.action("x").timeout("1"), "seconds"),  # type: ignore[arg-type]
        (lambda: app.action("x").timeout(float("inf")), "above 0"),
        (lambda: app.action("x").describe(7), "string"),  # type: ignore[arg-type]
        (lambda: app.action("x").annotate(destructive="yes"), "True or False"),  # type: ignore[arg-type]
        (lambda: app.action("x").confirm("  "), "question"),
        (lambda: app.action("x").confirm("Drop {table}?").handler(lambda: 1), "not a field"),
        (lambda: app.action("x").confirm("Drop {").handler(lambda: 1), "no format string"),
        (lambda: app.action("x").strict_output().handler(lambda: 1), "strict_output"),
        (lambda: app.action("x").output(object()).handler(lambda: 1), "no JSON Schema"),
        (lambda: app.action("x").input(), "one of them"),  # type: ignore[call-overload]
        (lambda: app.action("x").input(dict, validate=int), "json_schema"),  # type: ignore[call-overload]
        (lambda: app.add(7), "@app.action"),  # type: ignore[arg-type]
    ):
        with pytest.raises(RegistrationError, match=says):
            declare()
    assert list(app.actions) == ["taken"]


def test_an_action_can_be_called_as_its_function_and_says_what_it_is() -> None:
    app = Tesseron("shop")

    @app.action
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        Quickly.
        """
        return a + b

    assert add(1) == 3
    assert add(1, b=5) == 6
    assert add.description == "Add two numbers.\n\nQuickly."
    assert add.name == add.__name__ == "add"
    assert add.timeout == 60
    assert add.output_schema == {"type": "integer"}
    assert repr(add) == "<Action add>"
    assert json.loads(json.dumps(add.to_wire()))["inputSchema"]["properties"]["b"]["default"] == 2


def test_a_half_built_action_can_be_shared() -> None:
    app = Tesseron("shop")
    careful = app.action("one").describe("Careful").annotate(destructive=True)
    one = careful.timeout(5).handler(lambda: 1)
    assert (one.timeout, one.annotations.destructive) == (5, True)
    app.remove_action("one")
    again = careful.annotate(read_only=False).handler(lambda: 1)
    assert again.timeout == 60
    assert again.annotations.destructive
    assert again.annotations.read_only is False
    with pytest.raises(KeyError, match="there is no action 'basket'; there are one, two"):
        app.action("two").handler(lambda: 2)
        app.remove_action("basket")
    with pytest.raises(KeyError, match="there is no action 'onee'; did you mean 'one'"):
        app.remove_action("onee")
    with pytest.raises(KeyError, match="there is no resource 'none'; there are none"):
        app.remove_resource("none")


@pytest.mark.parametrize("lifespan", [3, "opened", object()])
def test_a_lifespan_that_is_no_function_is_refused_at_once(lifespan: Any) -> None:
    with pytest.raises(TypeError, match="lifespan is a function of the app that gives an async context manager, not"):
        Tesseron("shop", lifespan=lifespan)


def test_a_lifespan_that_was_called_is_refused_at_once() -> None:
    @asynccontextmanager
    async def opened(app: Tesseron | None) -> AsyncGenerator[int]:
        yield 1

    assert Tesseron("shop", lifespan=opened).lifespan is opened
    with pytest.raises(TypeError, match=r"lifespan is the function itself, .* leave out the \(…\)"):
        Tesseron("shop", lifespan=opened(None))


@pytest.mark.parametrize("dispatch", [5, "x"])
def test_a_dispatch_that_is_no_function_is_refused_at_once(dispatch: Any) -> None:
    with pytest.raises(TypeError, match="dispatch is a function that has what it is given called"):
        Tesseron("shop").start(dispatch=dispatch)


@pytest.mark.parametrize("end", ["cancel", "close"])
@pytest.mark.parametrize("kind", ["async", "def"])
async def test_an_accept_that_comes_together_with_the_end_of_its_call_is_no_yes(kind: str, end: str) -> None:
    app, seen = Tesseron("shop"), []
    ended = threading.Event()

    if kind == "async":

        @app.action("confirms")
        async def confirms(ctx: Context) -> None:
            try:
                seen.append(await ctx.confirm("Sure?"))
            finally:
                ended.set()

        @app.action("elicits")
        async def elicits(ctx: Context) -> None:
            try:
                seen.append(await ctx.elicit("Which?"))
            finally:
                ended.set()

        @app.action("gated").confirm("Sure?").handler
        async def gated() -> None:
            seen.append("ran")

    else:

        @app.action("confirms")
        def sync_confirms(ctx: SyncContext) -> None:
            try:
                if ctx.confirm("Sure?"):
                    seen.append(True)
            finally:
                ended.set()

        @app.action("elicits")
        def sync_elicits(ctx: SyncContext) -> None:
            try:
                seen.append(ctx.elicit("Which?"))
            finally:
                ended.set()

        @app.action("gated").confirm("Sure?").handler
        def sync_gated() -> None:
            seen.append("ran")

    for name in ("confirms", "elicits", "gated"):
        ended.clear()
        async with serving(app) as gateway:
            await gateway.invoke(name)
            question = await gateway.recv()
            # Nothing between the two waits, so the app reads both at once.
            await gateway.send(id=question["id"], result={"action": "accept", "value": {"response": "yes"}})
            if end == "cancel":
                await gateway.cancel()
                assert error_of(await gateway.recv())[0] == -32001
            else:
                await gateway.channel.aclose()
            await anyio.wait_all_tasks_blocked()
            if name != "gated":
                with anyio.fail_after(5):
                    await anyio.to_thread.run_sync(ended.wait)
    assert seen == []


async def test_a_handler_that_shields_itself_from_the_end_gets_no_answer_either() -> None:
    app, seen = Tesseron("shop"), []

    @app.action
    async def shielded(ctx: Context) -> None:
        with anyio.CancelScope(shield=True):
            try:
                seen.append(await ctx.confirm("Sure?"))
            except ActionCancelled as error:
                seen.append(str(error))

    async with serving(app) as gateway:
        await gateway.invoke("shielded")
        question = await gateway.recv()
        await gateway.send(id=question["id"], result={"action": "accept"})
        await gateway.cancel()
        assert error_of(await gateway.recv())[0] == -32001
        await anyio.wait_all_tasks_blocked()
    assert seen == ["The call ended while the question was open"]


async def test_what_ended_before_its_dispatcher_came_to_it_never_runs() -> None:
    app, ran = Tesseron("shop"), []
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
    pool = Workers(2, dispatch=jobs.put)

    @app.action
    def drop() -> None:
        ran.append("cancelled")

    @app.action("late").timeout(0.01).handler
    def late() -> None:
        ran.append("late")

    async with serving(app, workers=pool) as gateway:
        await gateway.invoke("drop")
        dropped = await anyio.to_thread.run_sync(lambda: jobs.get(timeout=5))
        await gateway.cancel()
        assert error_of(await gateway.recv())[0] == -32001
        assert error_of(await gateway.call("late"))[0] == -32002
        await pool.idle()  # they hold nothing, though nobody has come to them
        assert (pool.busy, pool.abandoned) == (0, 0)
        dropped()
        while not jobs.empty():
            jobs.get()()
        assert (ran, pool.busy) == ([], 0)


async def test_the_time_of_a_def_handler_begins_when_it_has_a_thread() -> None:
    app = Tesseron("shop", threads=1)
    begun, release, go_on = threading.Event(), threading.Event(), threading.Event()

    @app.action
    def long() -> None:
        begun.set()
        release.wait(5)

    @app.action("quick").timeout(0.05).handler
    def quick() -> str:
        return "ran"

    @app.action("stuck").timeout(0.05).handler
    def stuck() -> None:
        go_on.wait(5)

    async with serving(app) as gateway:
        await gateway.invoke("long", id="r-1", invocation="i-1")
        assert await anyio.to_thread.run_sync(begun.wait, 5)
        await gateway.invoke("quick", id="r-2", invocation="i-2")
        with anyio.move_on_after(0.2):  # four times what the action may take
            await gateway.recv()
            pytest.fail("it ended while another had the thread")
        release.set()
        assert {(await gateway.recv())["id"], (await gateway.recv())["id"]} == {"r-1", "r-2"}

        # A thread that a given up call holds may never come back; then the time does run.
        assert error_of(await gateway.call("stuck"))[0] == -32002
        assert error_of(await gateway.call("quick"))[0] == -32002
        go_on.set()


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it says nothing")


async def test_whatever_an_action_raises_or_returns_is_answered_once() -> None:
    app = Tesseron("shop")

    def breaks() -> Any:
        yield 1
        raise KeyboardInterrupt

    outputs: dict[str, Any] = {"keys": {("a", "\ud800"): 1}, "breaks": ["\ud800", breaks()], "object": object()}
    errors = {
        "wordless": Wordless(),
        "number": ActionError(5),  # type: ignore[arg-type]  # a message that is no text is what is tested
        "data": ActionError("why", {("a", "\ud800"): 1}),
        "wordless_message": ActionError(Wordless()),  # type: ignore[arg-type]  # a message that is no text is what is tested
    }

    @app.action
    async def put_out(name: str) -> Any:
        return outputs[name]

    @app.action
    async def fail(name: str) -> None:
        raise errors[name]

    async with serving(app) as gateway:
        for name in outputs:
            code, message, _ = error_of(await gateway.call("put_out", {"name": name}))
            assert (code, message.startswith("The output cannot go on the wire")) == (-32005, True)
        for name, says in {
            "wordless": "Wordless",
            "number": "5",
            "data": "why",
            "wordless_message": "Wordless",
        }.items():
            code, message, _ = error_of(await gateway.call("fail", {"name": name}))
            assert (code, says in message) == (-32005, True)
        await gateway.nothing_comes()


async def test_masked_errors_keep_what_serializers_say_from_the_wire(caplog: pytest.LogCaptureFixture) -> None:
    class Secretive(BaseModel):
        a: int = 1

        @field_serializer("a")
        def write(self, value: int) -> int:
            raise ValueError("/secret/path")

    app = Tesseron("shop", mask_errors=True)

    @app.action
    async def put_out() -> Secretive:
        return Secretive()

    @app.action("strict").strict_output().handler
    async def strict() -> Secretive:
        return Secretive()

    @app.action
    async def fail() -> None:
        raise ActionError("Cart is locked", Secretive())

    @app.action
    async def huge() -> str:
        return "x" * 9_000_000

    app.resource("secret").read(Secretive)
    async with serving(app) as gateway:
        answers = [await gateway.call(name) for name in ("put_out", "strict", "fail")]
        await gateway.send(id=1, method="resources/read", params={"name": "secret"})
        answers.append(await gateway.recv())
        for answer in answers:
            text = json.dumps(answer)
            assert "/secret/path" not in text
            reference = answer["error"]["message"].rstrip(")")[-8:]
            assert f"(reference {reference})" in caplog.text
        assert caplog.text.count("/secret/path") >= len(answers)
        assert answers[2]["error"]["message"].startswith("Cart is locked (")
        assert "a frame may be" in error_of(await gateway.call("huge"))[1]  # this is ours to say


async def test_a_gateway_that_does_not_read_its_answers_has_no_more_requests_read() -> None:
    app = Tesseron("shop")
    async with serving(app) as gateway:
        flood = 20 * MAX_UNSENT_REPLIES
        sent = 0

        async def send() -> None:
            nonlocal sent
            for number in range(flood):
                await gateway.send(id=number, method="nobody/knows")
                sent += 1

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            # What the pipe holds in each direction, what waits for room in it, and what is being read.
            assert sent <= 2 * CAPACITY + MAX_UNSENT_REPLIES + CAPACITY
            answered = {(await gateway.recv())["id"] for _ in range(flood)}
        assert answered == set(range(flood))
        await gateway.nothing_comes()


async def test_what_wraps_an_async_def_may_return_a_plain_value() -> None:
    app = Tesseron("shop")

    def shortcut(fn: Any) -> Any:
        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return 42

        return wrapper

    @app.action
    @shortcut
    async def count() -> int:
        return 1

    @shortcut
    async def read() -> int:
        return 1

    app.resource("count").read(read)
    async with serving(app) as gateway:
        assert output_of(await gateway.call("count")) == 42
        await gateway.send(id=1, method="resources/read", params={"name": "count"})
        assert (await gateway.recv())["result"] == {"value": 42}


async def test_bytes_go_out_as_base64_whichever_way_they_go() -> None:
    raw, text = b"\xfb\xff", "+/8="
    app = Tesseron("shop")

    @app.action
    async def loose(ctx: Context) -> bytes:
        await ctx.progress(1, data=raw)
        await ctx.log("raw", raw=raw)
        return raw

    @app.action("strict").strict_output().handler
    async def strict() -> bytes:
        return raw

    @app.action("picture").strict_output().handler
    async def picture() -> Image:
        return Image(raw, "image/png")

    @app.action
    async def fail(data: bytes) -> None:
        raise ActionError("why", {"data": data})

    async with serving(app, extensions={"tesseron-py": 1}) as gateway:
        await gateway.invoke("loose")
        assert (await gateway.recv())["params"]["data"] == text
        assert (await gateway.recv())["params"]["meta"] == {"raw": text}
        assert output_of(await gateway.recv()) == text
        assert output_of(await gateway.call("strict")) == text
        result = (await gateway.call("picture"))["result"]
        assert result["output"] == {"data": text, "mime_type": "image/png"}
        assert result["content"] == [{"type": "image", "data": text, "mimeType": "image/png"}]
        assert error_of(await gateway.call("fail", {"data": "-_8="}))[2] == {"data": text}


def test_a_name_that_is_taken_or_too_long_names_both_places() -> None:
    app = Tesseron("shop")

    def first() -> None: ...

    def second() -> None: ...

    def place(fn: Callable[..., Any]) -> str:
        return f"{fn.__qualname__} ({__file__}:{fn.__code__.co_firstlineno})"

    action = app.action("taken").handler(first)
    resource = app.resource("taken").read(first)
    for declare, kind in ((app.action("taken").handler, "an action"), (app.resource("taken").read, "a resource")):
        with pytest.raises(RegistrationError) as taken:
            declare(second)
        assert str(taken.value).startswith(f"{place(second)}: there is {kind} 'taken' already, {place(first)};")
    for item in (action, resource):
        with pytest.raises(RegistrationError, match="already, this very one"):
            app.add(item)
    with pytest.raises(RegistrationError) as long:
        app.action("x" * 60).handler(second)
    assert str(long.value).startswith(f"{place(second)}: the tool name 'shop__x")
