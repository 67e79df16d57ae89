"""What other ends were seen to do, and what a host of ours makes of it (Tesseron 1.2 §10)."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import anyio
import jsonschema
import pytest
from pydantic import BaseModel, Field

import tesseron_py
from tesseron_py import (
    ActionCancelled,
    Cancelled,
    Context,
    Declined,
    ElicitationNotAvailable,
    InvalidAnswer,
    InvalidSchema,
    RegistrationError,
    SyncContext,
    Tesseron,
    TesseronError,
    sync,
)
from tesseron_py.bindings import unix, websocket
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.content import Text
from tesseron_py.home import Home
from tesseron_py.host.host import Host
from tesseron_py.host.pairing import Pair
from tesseron_py.host.session import Session
from tesseron_py.protocol.messages import AgentInfo

from .fake_gateway import FakeGateway, connected, serving

UNABLE = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": False}


async def test_field_97_a_host_that_is_entered_twice_at_once_listens_once(tesseron_home: Path) -> None:
    host = Tesseron("shop").listen()
    entered: list[Host] = []
    refused: list[str] = []

    async def enter() -> None:
        try:
            entered.append(await host.__aenter__())
        except RuntimeError as problem:
            refused.append(str(problem))

    async with Home() as home:
        for _ in range(2):
            home.start(enter)
        with anyio.fail_after(5):
            while not (entered and refused):
                await anyio.wait_all_tasks_blocked()
    assert "app.listen()" in refused[0]
    assert len(list((tesseron_home / "instances").iterdir())) == 1
    assert host.url.startswith("ws://127.0.0.1:")  # the one that entered first is none the worse
    await host.aclose()
    with pytest.raises(RuntimeError, match="entered already"):
        await host.__aenter__()
    assert list((tesseron_home / "instances").iterdir()) == []


async def test_field_88_a_host_is_closed_from_another_task_than_it_was_entered_in(tesseron_home: Path) -> None:
    host = Tesseron("shop").listen("uds")

    async def enter() -> None:
        await host.__aenter__()

    async with Home() as entering, Home() as leaving:
        entering.start(enter)
        with anyio.fail_after(5):
            while not host.url:
                await anyio.wait_all_tasks_blocked()
            done = anyio.Event()

            async def leave() -> None:
                await host.aclose()
                done.set()

            leaving.start(leave)
            await done.wait()
    assert host.stubborn == 0
    assert list((tesseron_home / "instances").iterdir()) == []
    assert not Path(host.url).parent.exists()
    assert [event async for event in host.events] == []


async def test_field_45_after_its_call_nothing_is_asked_and_whoever_asks_learns_it_at_once() -> None:
    app = Tesseron("shop")
    kept: list[Context] = []

    @app.action
    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    async with serving(app) as gateway:
        assert (await gateway.call("keep"))["result"]["output"] is None
        (ctx,) = kept
        with anyio.fail_after(5):
            for late in (ctx.confirm("Late?"), ctx.elicit("Late?", str), ctx.sample("Late?")):
                with pytest.raises(ActionCancelled):
                    await late
        await gateway.nothing_comes()


def asks_for(app_id: str, *sizes: str) -> Tesseron:
    """An app that asks for one of its sizes, with a schema that has the same `$id` in every app."""
    app = Tesseron(app_id)
    size = {"type": "string", "enum": list(sizes)}
    schema = {"$id": "https://x.example/size", "type": "object", "properties": {"size": size}, "required": ["size"]}

    @app.action
    async def ask(ctx: Context) -> str:
        try:
            return str(await ctx.elicit("Which size?", json_schema=schema))
        except InvalidAnswer:
            return "not one of mine"

    return app


async def test_an_answer_is_checked_against_the_schema_of_its_own_question_whatever_its_id_is() -> None:
    outputs: list[Any] = []
    for app in (asks_for("shop", "S", "M"), asks_for("bank", "10", "20"), asks_for("shop", "XL")):
        async with serving(app) as gateway:
            for size in ("M", "20", "XL"):
                await gateway.invoke("ask")
                request = await gateway.recv()
                await gateway.send(id=request["id"], result={"action": "accept", "value": {"size": size}})
                outputs.append((await gateway.recv())["result"]["output"])
    no = "not one of mine"
    assert outputs == ["{'size': 'M'}", no, no, no, "{'size': '20'}", no, no, no, "{'size': 'XL'}"]


async def test_a_gateway_that_is_not_ours_is_sent_nothing_of_ours() -> None:
    """Tesseron 1.2 §11: without its sign in the welcome, what we add stays at home."""
    app = Tesseron("shop")

    @app.action
    async def work(ctx: Context) -> Text:
        try:
            await ctx.ask_url("Pay here", "https://pay.example/7")
        except ElicitationNotAvailable:
            with anyio.move_on_after(0.01):  # nothing is withdrawn either
                await ctx.confirm("Given up?")
            await ctx.confirm("Sure?", key="sure")
        return Text("done")

    capabilities = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True}
    async with serving(app, capabilities={**capabilities, "elicitationUrl": True}) as gateway:
        await gateway.invoke("work")
        frames = [await gateway.recv(), await gateway.recv()]
        await gateway.send(id=frames[1]["id"], result={"action": "accept"})
        frames.append(await gateway.recv())
        await gateway.nothing_comes()
    bare = {"invocationId", "question", "schema"}
    assert [set(frame["params"]) for frame in frames[:2]] == [bare, bare]
    assert [frame["params"]["question"] for frame in frames[:2]] == ["Given up?", "Sure?"]
    assert set(frames[2]["result"]) == {"invocationId", "output"}


# What is asked of a person, end to end --------------------------------------------------------------------------


class Tagged(BaseModel):
    name: str
    tags: list[dict[str, int]]


class Branch(BaseModel):
    children: list[Branch] = []


class Guest(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0)]


GUARDED: list[str] = []


def guarded() -> Tesseron:
    """Three ways to guard what must not happen without a yes; `GUARDED` says which of them did."""
    app = Tesseron("shop")
    GUARDED.clear()

    @app.action("asks")
    async def asks(ctx: Context) -> str:
        if await ctx.confirm("Drop the table?"):
            GUARDED.append("asks")
            return "dropped"
        return "kept"

    @app.action("asksInThread")
    def asks_in_thread(ctx: SyncContext) -> str:
        if ctx.confirm("Drop the table?"):
            GUARDED.append("asksInThread")
            return "dropped"
        return "kept"

    @app.action("gated").confirm("Drop the table?", on_refusal="kept").handler
    async def gated() -> str:
        GUARDED.append("gated")
        return "dropped"

    return app


@pytest.mark.parametrize("way", ["asks", "asksInThread", "gated"])
@pytest.mark.parametrize("code", [None, -32603, -32007, -32602, -32000, -32601])
async def test_field_37_without_a_client_that_can_ask_nothing_guarded_runs(way: str, code: int | None) -> None:
    async with serving(guarded(), **({"capabilities": UNABLE} if code is None else {})) as gateway:
        await gateway.invoke(way, {})
        if code is not None:
            request = await gateway.recv()
            assert request["method"] == "elicitation/request"
            await gateway.send(id=request["id"], error={"code": code, "message": "no form can be shown"})
        assert (await gateway.recv())["result"]["output"] == "kept"
        await gateway.nothing_comes()
    assert GUARDED == []


@pytest.mark.parametrize("way", ["asks", "asksInThread", "gated"])
async def test_field_38_who_cannot_be_asked_is_sent_no_confirm(way: str) -> None:
    async with serving(guarded(), capabilities=UNABLE) as gateway:
        answer = await gateway.call(way, {})  # the first frame that comes is the answer
        assert answer["result"]["output"] == "kept"
        await gateway.nothing_comes()


@pytest.mark.parametrize(("schema", "named"), [(Tagged, "tags"), (Branch, "children"), (list[Guest], "value")])
async def test_field_8_what_is_no_form_is_refused_where_it_is_asked_and_not_sent(schema: Any, named: str) -> None:
    app, caught = Tesseron("shop"), []

    @app.action
    async def catches(ctx: Context) -> str:
        try:
            await ctx.elicit("Which?", schema)
        except InvalidSchema as problem:
            caught.append(problem)
            raise
        return "asked"

    async with serving(app) as gateway:
        error = (await gateway.call("catches"))["error"]
        assert error["code"] == -32602
        assert named in error["message"]
        await gateway.nothing_comes()
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("value", "issues"),
    [
        ({"name": 42, "age": -5}, [["age"], ["name"]]),
        ({"name": "Al", "age": -5}, [["age"]]),
        ({"name": "Al", "age": []}, [["age"]]),
    ],
)
@pytest.mark.parametrize("how", ["elicit", "ask", "elicitInThread"])
async def test_field_34_what_the_person_gave_is_checked_before_the_handler_has_it(
    how: str, value: dict[str, Any], issues: list[list[str]]
) -> None:
    error = await refused_answer(how, {"action": "accept", "value": value})
    assert error["code"] == -32005
    assert sorted(issue["path"] for issue in error["data"]) == issues


@pytest.mark.parametrize("more", [{}, {"value": None}, {"value": {}}])
@pytest.mark.parametrize("how", ["elicit", "ask", "elicitInThread"])
async def test_field_31_a_form_with_required_fields_is_not_accepted_empty(how: str, more: dict[str, Any]) -> None:
    error = await refused_answer(how, {"action": "accept", **more})
    assert error["code"] == -32005
    assert sorted(issue["path"] for issue in error["data"]) == [["age"], ["name"]]


async def refused_answer(how: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The error of a call whose handler asks for a guest, and gets this answer."""
    app, got = Tesseron("shop"), []

    @app.action("elicit")
    async def elicits(ctx: Context) -> None:
        got.append(await ctx.elicit("Who comes?", Guest))

    @app.action("ask")
    async def asks(ctx: Context) -> None:
        got.append(await ctx.ask("Who comes?", Guest))

    @app.action("elicitInThread")
    def elicits_in_thread(ctx: SyncContext) -> None:
        got.append(ctx.elicit("Who comes?", Guest))

    async with serving(app) as gateway:
        await gateway.invoke(how)
        await gateway.send(id=(await gateway.recv())["id"], result=answer)
        error: dict[str, Any] = (await gateway.recv())["error"]
    assert got == []
    return error


async def test_field_29_a_no_that_was_filled_in_is_a_value_and_no_approval() -> None:
    class Decision(BaseModel):
        confirm: bool
        n: int
        s: str

    app = Tesseron("shop")

    @app.action
    async def decide(ctx: Context) -> list[Any]:
        decision = await ctx.elicit("What now?", Decision)
        assert decision is not None
        return [decision.confirm, decision.n, decision.s]

    async with serving(app) as gateway:
        await gateway.invoke("decide")
        answer = {"action": "accept", "value": {"confirm": False, "n": 0, "s": ""}}
        await gateway.send(id=(await gateway.recv())["id"], result=answer)
        assert (await gateway.recv())["result"]["output"] == [False, 0, ""]


@pytest.mark.parametrize("question", ["", " ", "\n\t", "\u00a0"])
async def test_field_53_a_blank_question_is_refused_and_not_sent(question: str) -> None:
    app = Tesseron("shop")

    @app.action
    async def ask(ctx: Context) -> Any:
        return await ctx.confirm(question)

    async with serving(app) as gateway:
        error = (await gateway.call("ask"))["error"]
        assert error["code"] == -32005
        assert "blank" in error["message"]
        await gateway.nothing_comes()


@pytest.mark.parametrize("name", ["confirm", "elicit", "ask"])
async def test_field_45_outside_of_a_call_nobody_can_be_asked(name: str) -> None:
    for module in (tesseron_py, sync):
        with pytest.raises(LookupError, match=rf"{name}\(\)"):
            getattr(module, name)("Anybody there?")


async def test_field_45_after_the_connection_is_closed_whoever_asks_learns_it_at_once() -> None:
    outcomes: list[str] = []
    asked, ended = anyio.Event(), anyio.Event()
    app = Tesseron("shop")

    @app.action
    async def stubborn(ctx: Context) -> None:
        with anyio.CancelScope(shield=True):
            await asked.wait()
            for ask in (lambda: ctx.confirm("Late?"), lambda: ctx.elicit("Late?"), lambda: ctx.sample("Late?")):
                try:
                    outcomes.append(str(await ask()))
                except TesseronError as problem:
                    outcomes.append(type(problem).__name__)
        ended.set()

    async with serving(app) as gateway:
        await gateway.invoke("stubborn")
        await anyio.wait_all_tasks_blocked()
        await gateway.channel.aclose()
        await anyio.wait_all_tasks_blocked()
        asked.set()
        with anyio.fail_after(5):
            await ended.wait()
    assert outcomes == ["ActionCancelled"] * 3


class Speed(StrEnum):
    SLOW = "slow"
    FAST = "fast"


class Trip(BaseModel):
    speed: Speed
    other: Speed | None = Speed.SLOW


async def test_field_9_an_enum_of_strings_is_a_choice_of_strings() -> None:
    app = Tesseron("shop")

    @app.action
    async def plan(ctx: Context) -> list[Any]:
        trip = await ctx.elicit("How?", Trip)
        assert trip is not None
        return [trip.speed is Speed.FAST, trip.other is Speed.SLOW]

    async with serving(app) as gateway:
        await gateway.invoke("plan")
        request = await gateway.recv()
        form = request["params"]["schema"]
        for name in ("speed", "other"):
            field = form["properties"][name]
            assert (field["type"], field["enum"]) == ("string", ["slow", "fast"])
        assert form["required"] == ["speed"]
        await gateway.send(id=request["id"], result={"action": "accept", "value": {"speed": "fast"}})
        assert (await gateway.recv())["result"]["output"] == [True, True]


async def learnt(answer: dict[str, Any]) -> list[Any]:
    """What confirm, elicit and ask make of an answer, in a coroutine and in a thread."""
    app, found = Tesseron("shop"), list[Any]()

    @app.action("asks")
    async def asks(ctx: Context) -> None:
        found.extend([await ctx.confirm("Sure?"), await ctx.elicit("Who?", Guest), await ctx.ask("Who?", Guest)])

    @app.action("asksInThread")
    def asks_in_thread(ctx: SyncContext) -> None:
        found.extend([ctx.confirm("Sure?"), ctx.elicit("Who?", Guest), ctx.ask("Who?", Guest)])

    async with serving(app) as gateway:
        for name in ("asks", "asksInThread"):
            await gateway.invoke(name)
            for _ in range(3):
                await gateway.send(id=(await gateway.recv())["id"], result=answer)
            assert "result" in await gateway.recv()
    assert found[:3] == found[3:]
    return found[:3]


@pytest.mark.parametrize(("action", "answer"), [("decline", Declined()), ("cancel", Cancelled())])
async def test_field_28_a_refusal_is_false_wherever_it_stands(action: str, answer: Any) -> None:
    confirmed, value, asked = await learnt({"action": action})
    assert confirmed is False
    assert value is None
    assert asked == answer
    assert not asked


LEFTOVERS: list[Any] = [{}, None, {"name": "Al", "age": 7}, {"name": 7}, {"approve": True}, [], "yes", True]


@pytest.mark.parametrize("value", LEFTOVERS, ids=str)
@pytest.mark.parametrize(("action", "answer"), [("decline", Declined()), ("cancel", Cancelled())])
async def test_field_33_what_comes_with_a_refusal_is_not_looked_at(action: str, answer: Any, value: Any) -> None:
    assert await learnt({"action": action, "value": value}) == [False, None, answer]


class Access(BaseModel):
    scope: Literal["one", "some", "all"] = "all"


SCOPES = {"type": "string", "enum": ["one", "some", "all"], "default": "all"}


@pytest.mark.parametrize("scope", ["everything", "ALL", "all,one", ["one"], True, 2])
@pytest.mark.parametrize("how", ["type", "schema"])
async def test_field_35_a_choice_that_is_none_is_refused_and_not_the_widest(scope: Any, how: str) -> None:
    app, granted = Tesseron("shop"), list[Any]()

    @app.action
    async def grant(ctx: Context) -> None:
        if how == "type":
            granted.append(await ctx.elicit("How much?", Access))
        else:
            granted.append(
                await ctx.elicit("How much?", json_schema={"type": "object", "properties": {"scope": SCOPES}})
            )

    async with serving(app) as gateway:
        await gateway.invoke("grant")
        await gateway.send(id=(await gateway.recv())["id"], result={"action": "accept", "value": {"scope": scope}})
        error = (await gateway.recv())["error"]
        assert error["code"] == -32005
        assert [issue["path"] for issue in error["data"]] == [["scope"]]
    assert granted == []


async def test_field_101_what_the_model_passes_is_no_yes_and_a_no_is_final() -> None:
    app, dropped = Tesseron("shop"), list[str]()

    @app.action("asks")
    async def asks(name: str, ctx: Context, confirm: bool = False, force: bool = False) -> bool:
        if await ctx.confirm(f"Drop {name}?"):
            dropped.append(name)
        return bool(dropped)

    @app.action("gated").confirm("Drop {name}?").handler
    async def gated(name: str, confirm: bool = False, force: bool = False) -> bool:
        dropped.append(name)
        return True

    async with serving(app) as gateway:
        for tool, output in (("asks", False), ("gated", {"cancelled": True})):
            for _ in range(2):  # asked again, and refused again
                await gateway.invoke(tool, {"name": "t", "confirm": True, "force": True})
                await gateway.send(id=(await gateway.recv())["id"], result={"action": "decline"})
                assert (await gateway.recv())["result"]["output"] == output
    assert dropped == []


@pytest.mark.parametrize("binding", ["ws", "uds"])
async def test_field_99_what_is_asked_over_a_closed_socket_fails_at_once(binding: Any, tesseron_home: Path) -> None:
    app, outcomes = Tesseron("shop"), list[str]()
    asked, ended = anyio.Event(), anyio.Event()

    @app.action
    async def stubborn(ctx: Context) -> None:
        with anyio.CancelScope(shield=True):
            for ask in (ctx.elicit, ctx.sample, ctx.ask):
                asked.set()
                try:
                    outcomes.append(str(await ask("Still there?")))
                except TesseronError as problem:
                    outcomes.append(type(problem).__name__)
        ended.set()

    async with app.listen(binding) as host:
        (path,) = (tesseron_home / "instances").iterdir()
        place = json.loads(path.read_text())["transport"]
        dial = (
            websocket.dial(place["url"], code=host.claim_code)
            if binding == "ws"
            else unix.dial(place["path"], code=host.claim_code)
        )
        gateway = FakeGateway(await dial)  # type: ignore[arg-type]
        await gateway.welcome(resumeToken="rt")
        await gateway.send(method="tesseron/claimed", params={"agent": {"id": "a", "name": "A"}, "claimedAt": 1})
        await gateway.invoke("stubborn")
        assert (await gateway.recv())["method"] == "elicitation/request"
        await gateway.channel.aclose()
        with anyio.fail_after(5):
            await ended.wait()
    assert outcomes[0] in ("TransportClosed", "ActionCancelled")
    assert outcomes[1:] == ["ActionCancelled"] * 2


class Gone(MemoryChannel):
    """A connection whose end has not been seen yet by whoever sends."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.__dict__ = channel.__dict__
        self.gone: bool = False

    async def send(self, text: str) -> None:
        if self.gone:
            raise Closed("the peer vanished", 1006)
        await super().send(text)


async def test_field_99_a_question_that_cannot_be_sent_is_an_error_at_once() -> None:
    app, outcomes, ended = Tesseron("shop"), list[str](), anyio.Event()
    here, there = pair()
    channel = Gone(there)

    @app.action
    async def ask(ctx: Context) -> None:
        channel.gone = True
        for asks in (ctx.confirm, ctx.elicit, ctx.sample):
            try:
                outcomes.append(str(await asks("Still there?")))
            except TesseronError as problem:
                outcomes.append(type(problem).__name__)
        ended.set()

    async with Home() as home:
        home.start(Session(app, channel, home).run)
        gateway = FakeGateway(here)
        await gateway.welcome()
        await gateway.invoke("ask")
        with anyio.fail_after(5):
            await ended.wait()
        await here.aclose()
    assert outcomes == ["False", "TransportClosed", "TransportClosed"]


async def test_field_95_a_refused_resume_is_followed_by_a_hello_at_once() -> None:
    app = Tesseron("shop")
    app.action("say").handler(lambda: "ok")
    here, there = pair()
    async with Home() as home:
        kept = Pair("s_old", "stale", AgentInfo("claude", "Claude"), time.time())
        session = Session(app, there, home, pair=kept)
        home.start(session.run)
        gateway = FakeGateway(here)
        resume = await gateway.recv()
        assert (resume["method"], resume["params"]["resumeToken"]) == ("tesseron/resume", "stale")
        await gateway.send(id=resume["id"], error={"code": -32011, "message": "unknown"})
        hello = await gateway.welcome(sessionId="s_new", claimCode="AB3X-7K")
        assert hello["method"] == "tesseron/hello"
        assert not {"sessionId", "resumeToken"} & set(hello["params"])
        assert (await gateway.call("say"))["result"]["output"] == "ok"
        assert (session.session_id, session.resumed, session.claim_code) == ("s_new", False, "AB3X-7K")
        await here.aclose()


async def test_field_21_a_result_keeps_what_its_schema_says_of_its_date() -> None:
    class Event(BaseModel):
        at: datetime
        begins: time_of_day
        seen: datetime | None = None

    app = Tesseron("shop")

    @app.action("give").output(Event).strict_output().handler
    async def give() -> Event:
        naive = datetime(2026, 1, 2, 3, 4)
        return Event(at=naive, begins=time_of_day(5, 6), seen=naive)

    async with connected(app) as gateway:
        (action,) = (await gateway.welcome())["params"]["actions"]
        output = (await gateway.call("give"))["result"]["output"]
    checker = jsonschema.FormatChecker(formats=())
    for promise in ("date-time", "time"):
        checker.checks(promise)(lambda text: re.search(r"([Zz]|[+-]\d\d:\d\d)$", text) is not None)
    jsonschema.Draft202012Validator(action["outputSchema"], format_checker=checker).validate(output)
    assert output["at"].startswith("2026-01-02T03:04:00")


# Envelopes ------------------------------------------------------------------------------------------------------


def answering() -> Tesseron:
    app = Tesseron("shop")

    @app.action("say")
    async def say(text: str = "ok") -> str:
        return text

    @app.action("nan")
    async def nan() -> list[float]:
        return [float("nan"), float("inf"), 1.5]

    return app


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
async def test_field_25_what_json_has_no_number_for_is_neither_taken_nor_sent(number: str) -> None:
    async with serving(answering()) as gateway:
        params = f'{{"name":"say","input":{{"text":{number}}},"invocationId":"i-1"}}'
        await gateway.send_text(f'{{"jsonrpc":"2.0","id":7,"method":"actions/invoke","params":{params}}}')
        refused = await gateway.recv()
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        await gateway.invoke("nan")  # and the session lives
        text = str(await gateway.channel.receive())
        assert json.loads(text, parse_constant=pytest.fail)["result"]["output"] == [None, None, 1.5]


async def test_field_56_a_request_whose_id_is_null_is_answered_under_null() -> None:
    async with serving(answering()) as gateway:
        await gateway.invoke("say", {}, id=None)
        answer = await gateway.recv()
        assert answer == {"jsonrpc": "2.0", "id": None, "result": {"invocationId": "i-1", "output": "ok"}}
        await gateway.send(id=None, method="what/ever")
        refused = await gateway.recv()
        assert (refused["id"], refused["error"]["code"]) == (None, -32601)
        await gateway.send(method="what/ever")  # without any id it is a notification
        await gateway.nothing_comes()


@pytest.mark.parametrize("calls", [0, 1, 3])
async def test_field_59_a_batch_is_refused_once_and_nothing_of_it_runs(calls: int) -> None:
    ran: list[int] = []
    app = answering()
    app.action("run").handler(lambda: ran.append(1))
    async with serving(app) as gateway:
        call = {"jsonrpc": "2.0", "id": 1, "method": "actions/invoke", "params": {"name": "run", "invocationId": "i"}}
        await gateway.send_text(json.dumps([{**call, "id": number} for number in range(calls)]))
        refused = await gateway.recv()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        await gateway.nothing_comes()
        assert (await gateway.call("say", {}))["result"]["output"] == "ok"
    assert ran == []


@pytest.mark.parametrize("garbage", ["nope", '{"jsonrpc":"2.0","id":"r-1","method":', "", "\ufeff", '"\ud83d'])
async def test_field_60_garbage_is_refused_under_no_id_and_the_next_call_works(garbage: str) -> None:
    async with serving(answering()) as gateway:
        assert (await gateway.call("say", {}, id="r-1"))["id"] == "r-1"
        await gateway.send_text(garbage)
        refused = await gateway.recv()
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert (await gateway.call("say", {}, id="r-2"))["id"] == "r-2"


async def test_field_61_a_call_is_answered_under_its_own_id_whatever_its_input_holds() -> None:
    app = Tesseron("shop")

    @app.action("take")
    async def take(id: int, jsonrpc: str, method: str) -> list[Any]:
        return [id, jsonrpc, method]

    async with serving(app) as gateway:
        given = '{"id":99,"jsonrpc":"1.0","method":"x"}'
        params = f'{{"id":98,"input":{given},"name":"take","invocationId":"i-1"}}'
        await gateway.send_text(f'{{"params":{params},"method":"actions/invoke","id":"own","jsonrpc":"2.0"}}')
        answer = await gateway.recv()
        assert (answer["id"], answer["result"]["output"]) == ("own", [99, "1.0", "x"])


async def test_field_65_a_call_that_the_gateway_cancels_is_answered_as_cancelled() -> None:
    app = answering()

    @app.action("ask")
    async def ask(ctx: Context) -> bool:
        return await ctx.confirm("Still there?")

    async with serving(app) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        await gateway.cancel()
        answer = await gateway.recv()
        assert (answer["id"], answer["error"]["code"]) == ("r-1", -32001)
        await gateway.send(id=request["id"], result={"action": "accept"})  # too late for anything
        await gateway.nothing_comes()
        assert (await gateway.call("say", {}))["result"]["output"] == "ok"


# Actions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.b", "New Tool", "", "7up", "_x", "näme", "a/b", "a\n", "x" * 65])
def test_field_26_a_name_that_no_client_takes_is_refused_at_registration(name: str) -> None:
    app = Tesseron("shop")
    with pytest.raises(RegistrationError) as problem:
        app.action(name).handler(lambda: 1)
    assert __file__ in str(problem.value)
    app.action("fine").handler(lambda: 1)
    assert list(app.actions) == ["fine"]


async def test_field_27_the_manifest_has_every_type_and_a_number_stays_one() -> None:
    class Quote(BaseModel):
        price: float
        amount: int = 1
        label: str | None = None

    app = Tesseron("shop")

    @app.action("one")
    async def one(price: float, amount: int = 1, label: str | None = None) -> list[Any]:
        return [price, amount, label]

    @app.action("two").input(Quote).handler
    async def two(quote: Quote) -> list[Any]:
        return [quote.price, quote.amount, quote.label]

    async with connected(app) as gateway:
        hello = await gateway.welcome()
        for action in hello["params"]["actions"]:
            schema = action["inputSchema"]
            assert {name: each["type"] for name, each in schema["properties"].items()} == {
                "price": "number",
                "amount": "integer",
                "label": "string",
            }
            assert schema["required"] == ["price"]
            output = (await gateway.call(action["name"], {"price": 9.5, "amount": 2}))["result"]["output"]
            assert output == [9.5, 2, None]
            refused = await gateway.call(action["name"], {"price": "9.5"})
            assert refused["error"]["code"] == -32004
            assert [issue["path"] for issue in refused["error"]["data"]] == [["price"]]


class Colour(Enum):
    RED = "red"


class Part(BaseModel):
    at: datetime
    id: UUID
    price: Decimal
    colour: Colour
    tags: set[str]
    path: Path


@dataclass
class Box:
    parts: list[Part]
    by_day: dict[date, Decimal]


async def test_field_24_a_model_that_is_returned_is_written_as_json() -> None:
    part = Part(
        at=datetime(2026, 1, 2, 3, 4),
        id=UUID(int=7),
        price=Decimal("1.20"),
        colour=Colour.RED,
        tags={"a"},
        path=Path("a/b"),
    )
    app = Tesseron("shop")
    app.action("inThread").handler(lambda: Box([part], {date(2026, 1, 2): Decimal(1)}))

    @app.action("strict").strict_output().handler
    async def strict() -> Box:
        return Box([part], {date(2026, 1, 2): Decimal(1)})

    written = {
        "parts": [
            {
                "at": "2026-01-02T03:04:00",
                "id": "00000000-0000-0000-0000-000000000007",
                "price": "1.20",
                "colour": "red",
                "tags": ["a"],
                "path": "a/b",
            }
        ],
        "by_day": {"2026-01-02": "1"},
    }
    async with serving(app) as gateway:
        for name in ("inThread", "strict"):
            assert (await gateway.call(name))["result"]["output"] == written


async def test_field_3_null_stays_valid_where_it_is_published_as_left_out() -> None:
    class Note(BaseModel):
        text: str
        tag: str | None = None
        due: Optional[date]  # noqa: UP045  # the old spelling

    app = Tesseron("shop")

    @app.action("plain")
    async def plain(note: str | None, tag: Optional[int] = 7) -> Any:  # noqa: UP045  # the old spelling
        return [note, tag]

    @app.action("model").input(Note).handler
    async def model(note: Note) -> Any:
        return [note.tag, note.due]

    async with serving(app) as gateway:
        for given in ({"text": "a", "tag": None, "due": None}, {"text": "a"}):
            assert (await gateway.call("model", given))["result"]["output"] == [None, None]
        for given, output in (
            ({}, [None, 7]),
            ({"note": None, "tag": None}, [None, None]),
            ({"note": "a", "tag": 1}, ["a", 1]),
        ):
            assert (await gateway.call("plain", given))["result"]["output"] == output
