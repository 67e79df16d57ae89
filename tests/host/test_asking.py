"""What a handler makes of every answer: `confirm`, `elicit`, `ask`, `ask_url` and `sample` over the wire."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field

from tesseron_py import sync
from tesseron_py.app import Tesseron
from tesseron_py.asking import Accepted, Cancelled, Declined
from tesseron_py.context import Context, SyncContext, ask, confirm, current_context, elicit
from tesseron_py.errors import (
    ElicitationNotAvailable,
    InvalidAnswer,
    InvalidSchema,
    MalformedAnswer,
    SamplingNotAvailable,
    TesseronError,
    TooManyPrompts,
)

from .fake_gateway import FakeGateway, serving


class Warehouse(BaseModel):
    warehouse_id: Literal["WH-7", "WH-8"]
    count: Annotated[int, Field(ge=0)] = 1


NO_ELICITATION = {"streaming": True, "subscriptions": True, "sampling": False, "elicitation": False}
TOO_MANY = {"code": -32603, "message": "32 open", "data": {"reason": "too_many_prompts", "limit": 32}}

Handler = Callable[[Context], Awaitable[Any]]


def asking(handler: Handler) -> Tesseron:
    app = Tesseron("shop")

    @app.action("ask")
    async def run(ctx: Context) -> Any:
        try:
            return repr(await handler(ctx))
        except TesseronError as error:
            return f"{type(error).__name__} {error.code}"

    return app


async def answered(handler: Handler, *answers: dict[str, Any]) -> str:
    """What a handler makes of the answers, each the body of a response."""
    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask")
        for answer in answers:
            request = await gateway.recv()
            assert request["method"] == "elicitation/request", request
            await gateway.send(id=request["id"], **answer)
        return str((await gateway.recv())["result"]["output"])


def result(action: Any, **value: Any) -> dict[str, Any]:
    return {"result": {"action": action, **value}}


def error(code: int, message: str = "why", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **more}}


async def do_confirm(ctx: Context) -> bool:
    return await ctx.confirm("Remove?")


async def do_elicit(ctx: Context) -> Warehouse | None:
    return await ctx.elicit("Which?", Warehouse)


async def do_ask(ctx: Context) -> Any:
    return await ctx.ask("Which?", Warehouse)


GOOD = {"warehouse_id": "WH-7", "count": 3}
NOT_TRUE = [
    result("decline"),
    result("cancel"),
    result("decline", value={"approve": True}),
    result("reject"),
    result("Accept"),
    result("accept "),
    result(True),
    result(None),
    {"result": "accept"},
    {"result": ["accept"]},
    {"result": None},
    {"result": {}},
    error(-32603),
    error(-32007),
    error(-32000),
    {"error": TOO_MANY},
    {"result": {"action": "accept"}, "error": {"code": 1, "message": "both"}},
    *[result("accept", value=value) for value in (False, "no", [], 0, True)],
]


async def test_what_came_in_place_of_an_answer_stays_with_the_app() -> None:
    app, kept = Tesseron("shop"), []

    @app.action
    async def elicits(ctx: Context) -> None:
        try:
            await ctx.elicit("Password?")
        except MalformedAnswer as error:
            kept.append(error.answer)
            raise

    async with serving(app) as gateway:
        for reply in ({"action": "accept", "value": "hunter2"}, {"action": ["hunter2"]}, "hunter2"):
            await gateway.invoke("elicits")
            await gateway.send(id=(await gateway.recv())["id"], result=reply)
            answer = await gateway.recv()
            assert answer["error"]["code"] == -32005
            assert "hunter2" not in str(answer)
            assert kept[-1] == reply


@pytest.mark.parametrize("answer", NOT_TRUE)
async def test_fields_28_36_37_49_only_a_clear_accept_confirms(answer: dict[str, Any]) -> None:
    async with serving(asking(do_confirm)) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        await gateway.send(id=request["id"], **answer)
        response = await gateway.recv()
        if response.get("id") is None:  # the malformed response is answered, too
            assert response["error"]["code"] == -32600
            response = await gateway.recv()
        assert response["result"]["output"] == "False"


@pytest.mark.parametrize("answer", [result("accept"), result("accept", value=None), result("accept", value={})])
async def test_field_31_accept_confirms_with_or_without_a_value(answer: dict[str, Any]) -> None:
    assert await answered(do_confirm, answer) == "True"


async def test_confirm_is_false_without_a_frame_where_nobody_can_be_asked() -> None:
    async with serving(asking(do_confirm), capabilities=NO_ELICITATION) as gateway:
        assert (await gateway.call("ask"))["result"]["output"] == "False"


async def test_field_38_elicit_and_ask_raise_without_a_frame_where_nobody_can_be_asked() -> None:
    for handler in (do_elicit, do_ask, lambda ctx: ctx.ask_url("Pay", "https://pay.example")):
        async with serving(asking(handler), capabilities=NO_ELICITATION) as gateway:
            assert (await gateway.call("ask"))["result"]["output"] == "ElicitationNotAvailable -32007"


@pytest.mark.parametrize(
    ("answer", "elicited", "asked"),
    [
        (result("accept", value=GOOD), repr(Warehouse(warehouse_id="WH-7", count=3)), None),
        (result("accept", value={"warehouse_id": "WH-8"}), repr(Warehouse(warehouse_id="WH-8")), None),
        (result("decline"), "None", "Declined()"),
        (result("decline", value=GOOD), "None", "Declined()"),
        (result("cancel", value={}), "None", "Cancelled()"),
        (result("accept"), "InvalidAnswer -32005", None),
        (result("accept", value=None), "InvalidAnswer -32005", None),
        (result("accept", value={"warehouse_id": "everything"}), "InvalidAnswer -32005", None),
        (result("accept", value={"warehouse_id": "WH-7", "count": -1}), "InvalidAnswer -32005", None),
        (result("accept", value="WH-7"), "MalformedAnswer -32005", None),
        (result("accept", value=[GOOD]), "MalformedAnswer -32005", None),
        (result("reject", value=GOOD), "MalformedAnswer -32005", None),
        ({"result": "WH-7"}, "MalformedAnswer -32005", None),
        ({"result": None}, "MalformedAnswer -32005", None),
        (error(-32603, "Request timed out"), "InternalError -32603", None),
        (error(-32007), "ElicitationNotAvailable -32007", None),
        ({"error": TOO_MANY}, "TooManyPrompts -32603", None),
        (error(-31999), "TesseronError -31999", None),
    ],
)
async def test_what_elicit_and_ask_make_of_every_answer(
    answer: dict[str, Any], elicited: str, asked: str | None
) -> None:
    assert await answered(do_elicit, answer) == elicited
    if asked is None:
        asked = f"Accepted(value={elicited})" if elicited.startswith("Warehouse") else elicited
    assert await answered(do_ask, answer) == asked


async def test_ask_asks_again_and_says_what_was_wrong() -> None:
    async def handler(ctx: Context) -> Any:
        return await ctx.ask("Which?", Warehouse, attempts=3)

    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask")
        first = await gateway.recv()
        assert first["params"]["question"] == "Which?"
        await gateway.send(id=first["id"], **result("accept", value={"warehouse_id": "WH-9"}))
        second = await gateway.recv()
        fault = '- Warehouse Id: one of "WH-7", "WH-8" is expected, you gave "WH-9"'
        assert second["params"]["question"] == f"Which?\n\nThe last answer did not fit:\n{fault}"
        await gateway.send(id=second["id"], **result("accept", value=GOOD))
        assert (await gateway.recv())["result"]["output"].startswith("Accepted(value=Warehouse")
    bad = result("accept", value={})
    assert await answered(handler, bad, bad, bad) == "InvalidAnswer -32005"
    assert await answered(handler, bad, result("decline")) == "Declined()"


class Line(BaseModel):
    count: Annotated[int, Field(title="How many", ge=0)]
    note: str | None = None


@pytest.mark.parametrize("how", ["Context", "SyncContext", "module", "sync"])
async def test_every_way_to_ask_again_says_what_was_wrong_and_keeps_what_was_typed(how: str) -> None:
    app = Tesseron("shop")
    if how in ("Context", "module"):

        @app.action("ask")
        async def asks(ctx: Context) -> Any:
            return repr(await (ctx.ask if how == "Context" else ask)("Which?", Line, attempts=3, key="line"))
    else:

        @app.action("ask")
        def asks_in_a_thread(ctx: SyncContext) -> Any:
            return repr((ctx.ask if how == "SyncContext" else sync.ask)("Which?", Line, attempts=3, key="line"))

    caller = {"agent": {"id": "a", "name": "a"}, "capabilities": {"elicitation": True}, "revision": "2025-11-25"}
    async with serving(app, extensions={"tesseron-py": 1}) as gateway:
        for ending, outcome in (
            (result("accept", value={"count": 3}), "Accepted(value=Line(count=3, note='soon'))"),
            (result("decline", value={"count": 3}), "Declined()"),
            (result("cancel", value={}), "Cancelled()"),
            (result("accept", value={"count": -1}), "-32005"),
        ):
            await gateway.invoke("ask", caller=caller)
            request = await gateway.recv()
            first = request["params"]["schema"]
            assert request["params"]["question"] == "Which?"
            for _ in range(2):
                await gateway.send(id=request["id"], **result("accept", value={"count": -3, "note": "soon"}))
                request = await gateway.recv()
                asked = request["params"]
                assert asked["key"] == "line"
                fault = "- How many: at least 0 is expected, you gave -3"
                assert asked["question"] == f"Which?\n\nThe last answer did not fit:\n{fault}"
                assert asked["schema"]["required"] == first["required"]
                assert asked["schema"]["properties"] == {
                    "count": {**first["properties"]["count"], "default": -3},
                    "note": {**first["properties"]["note"], "default": "soon"},
                }
            await gateway.send(id=request["id"], **ending)
            answer = await gateway.recv()
            if "error" in answer:
                assert str(answer["error"]["code"]) == outcome
                assert answer["error"]["data"] == [{"message": "at least 0 is expected", "path": ["count"]}]
            else:
                assert answer["result"]["output"] == outcome


class Size(StrEnum):
    S = "small"
    L = "large"


@pytest.mark.parametrize(
    ("extensions", "revision", "lists"),
    [
        ({"tesseron-py": 1}, "2025-11-25", True),
        ({"tesseron-py": 1}, "2026-07-28", True),
        ({"tesseron-py": 1}, "2025-06-18", False),
        ({"tesseron-py": 1}, None, False),
        ({"tesseron-py": 1}, "next", False),
        ({"tesseron-py": 1}, ["2025-11-25"], False),
        ({"tesseron-py": 1}, "2025-11-25x", False),
        ({}, "2025-11-25", False),
        ({"another": 1}, "2025-11-25", False),
    ],
)
async def test_lists_are_asked_for_only_where_a_gateway_of_ours_says_that_the_client_knows_them(
    extensions: dict[str, Any], revision: Any, lists: bool
) -> None:
    async def handler(ctx: Context) -> Any:
        return await ctx.elicit("Which?", set[Size])

    caller = {"agent": {"id": "a", "name": "a"}, "capabilities": {"elicitation": True}, "revision": revision}
    async with serving(asking(handler), extensions=extensions) as gateway:
        await gateway.invoke("ask", caller=caller)
        request = await gateway.recv()
        asked = request["params"]["schema"]["properties"]
        if lists:
            assert asked["value"]["type"] == "array"
            await gateway.send(id=request["id"], **result("accept", value={"value": ["large"]}))
        else:
            assert {name: each["type"] for name, each in asked.items()} == {
                "value.small": "boolean",
                "value.large": "boolean",
            }
            await gateway.send(id=request["id"], **result("accept", value={"value.small": False, "value.large": True}))
        assert (await gateway.recv())["result"]["output"] == repr({Size.L})


async def test_a_client_of_which_nothing_is_known_gives_no_more_than_every_client_shows() -> None:
    class Note(BaseModel):
        n: int = Field(ge=0)
        note: str | None = None
        wipe: bool = True

    async def handler(ctx: Context) -> Any:
        return await ctx.ask("Which?", Note, attempts=2)

    caller = {"agent": {"id": "a", "name": "a"}, "capabilities": {"elicitation": True}}
    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask", caller=caller)
        request = await gateway.recv()
        await gateway.send(id=request["id"], **result("accept", value={"n": -1, "note": "old", "wipe": False}))
        request = await gateway.recv()
        shown = {name: each.get("default") for name, each in request["params"]["schema"]["properties"].items()}
        assert shown == {"n": None, "note": None, "wipe": False}
        await gateway.send(id=request["id"], **result("accept", value={"n": 1}))
        assert (await gateway.recv())["result"]["output"] == repr(Accepted(Note(n=1, wipe=False)))


async def test_a_call_that_goes_on_for_another_client_asks_as_that_one_knows() -> None:
    async def handler(ctx: Context) -> Any:
        await ctx.confirm("Sure?")
        return await ctx.elicit("Which?", set[Size])

    def caller(revision: str) -> dict[str, Any]:
        return {"agent": {"id": "a", "name": "a"}, "capabilities": {"elicitation": True}, "revision": revision}

    for first, then, kind in (("2025-11-25", "2025-06-18", "boolean"), ("2025-06-18", "2026-07-28", "array")):
        async with serving(asking(handler), extensions={"tesseron-py": 1}) as gateway:
            await gateway.invoke("ask", caller=caller(first))
            request = await gateway.recv()
            await gateway.send(method="actions/caller", params={"invocationId": "i-1", "caller": caller(then)})
            await gateway.send(id=request["id"], **result("accept"))
            request = await gateway.recv()
            assert {each["type"] for each in request["params"]["schema"]["properties"].values()} == {kind}
            await gateway.send(id=request["id"], **result("cancel"))
            assert (await gateway.recv())["result"]["output"] == "None"


async def test_field_9_a_string_enum_is_a_choice() -> None:
    class Parcel(BaseModel):
        size: Size
        other: Size | None = None

    async def handler(ctx: Context) -> Any:
        return await ctx.elicit("Which?", Parcel)

    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        asked = request["params"]["schema"]
        assert asked == {
            "type": "object",
            "properties": {
                "size": {"type": "string", "title": "Size", "enum": ["small", "large"]},
                "other": {"type": "string", "title": "Other", "enum": ["small", "large"]},
            },
            "required": ["size"],
        }
        await gateway.send(id=request["id"], **result("accept", value={"size": "large", "other": ""}))
        assert (await gateway.recv())["result"]["output"] == repr(Parcel(size=Size.L))


async def test_field_28_a_refusal_is_a_real_false_or_none() -> None:
    ran: list[str] = []

    async def handler(ctx: Context) -> Any:
        confirmed, elicited = await ctx.confirm("Remove?"), await ctx.elicit("Which?", Warehouse)
        if confirmed:
            ran.append("confirm")
        if elicited:
            ran.append("elicit")
        assert confirmed is False
        assert elicited is None
        return "nothing"

    for refusal in (result("decline"), result("cancel"), result("decline", value=GOOD), result("cancel", value=GOOD)):
        assert await answered(handler, refusal, refusal) == "'nothing'"
    assert ran == []


async def test_field_33_the_content_of_a_dismissal_is_not_looked_at() -> None:
    for content in ({}, GOOD, {"warehouse_id": "everything", "count": -5}, None, "leftovers", [1], 7):
        assert await answered(do_ask, result("cancel", value=content)) == "Cancelled()"
        assert await answered(do_elicit, result("cancel", value=content)) == "None"
        assert await answered(do_ask, result("decline", value=content)) == "Declined()"
        assert await answered(do_confirm, result("cancel", value=content)) == "False"


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("false", "False"), ("FALSE", "False"), ("no", "False"), ("0", "False"), (False, "False"),
        ("true", "True"), ("Yes", "True"), ("1", "True"), (True, "True"),
        ("maybe", "InvalidAnswer -32005"), ("", "InvalidAnswer -32005"), ("f", "InvalidAnswer -32005"),
        (0, "InvalidAnswer -32005"), (1, "InvalidAnswer -32005"), (None, "InvalidAnswer -32005"),
        ([True], "InvalidAnswer -32005"), ({"value": True}, "InvalidAnswer -32005"),
    ],
)  # fmt: skip
async def test_field_52_a_boolean_that_comes_as_text_is_what_it_says_or_nothing(given: Any, seen: str) -> None:
    async def by_type(ctx: Context) -> Any:
        return await ctx.elicit("Sure?", bool)

    async def by_json_schema(ctx: Context) -> Any:
        schema = {"type": "object", "properties": {"value": {"type": "boolean"}}, "required": ["value"]}
        answer = await ctx.elicit("Sure?", json_schema=schema)
        return answer["value"] if answer is not None else None

    for handler in (by_type, by_json_schema):
        assert await answered(handler, result("accept", value={"value": given})) == seen


@pytest.mark.parametrize(
    ("schema", "field", "given", "value"),
    [
        (int, "value", 0, 0),
        (int, "value", 3.0, 3),
        (bool, "value", False, False),
        (date, "value", "2026-01-02", date(2026, 1, 2)),
        (Size, "value", "large", Size.L),
        (Literal["a", "b"], "value", "b", "b"),
    ],
)
async def test_field_29_one_value_is_asked_for_in_a_field_and_falsy_ones_survive(
    schema: Any, field: str, given: Any, value: Any
) -> None:
    async def handler(ctx: Context) -> Any:
        return await ctx.elicit("What?", schema)

    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        asked = request["params"]["schema"]
        assert list(asked["properties"]) == [field]
        assert asked["required"] == [field]
        await gateway.send(id=request["id"], **result("accept", value={field: given}))
        assert (await gateway.recv())["result"]["output"] == repr(value)


async def test_without_a_schema_a_string_is_asked_for() -> None:
    async def handler(ctx: Context) -> Any:
        return await ctx.elicit("Your name?")

    assert await answered(handler, result("accept", value={"response": ""})) == "''"
    assert await answered(handler, result("accept", value={"response": 7})) == "InvalidAnswer -32005"
    assert await answered(handler, result("cancel")) == "None"


async def test_a_json_schema_goes_out_as_it_stands_and_its_answer_is_checked() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"], "x-own": 1}

    async def handler(ctx: Context) -> Any:
        return await ctx.elicit("How many?", json_schema=schema)

    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        assert request["params"]["schema"] == schema
        await gateway.send(id=request["id"], **result("accept", value={"n": 2}))
        assert (await gateway.recv())["result"]["output"] == "{'n': 2}"
    assert await answered(handler, result("accept", value={"n": 0})) == "InvalidAnswer -32005"


async def test_fields_7_8_a_schema_that_cannot_be_asked_for_is_refused_before_a_frame() -> None:
    class Tags(BaseModel):
        tags: list[str]

    class Tree(BaseModel):
        children: list[Tree] = []

    app = Tesseron("shop")

    @app.action
    async def tags(ctx: Context) -> Any:
        return await ctx.elicit("Tags?", Tags)

    @app.action
    async def tree(ctx: Context) -> Any:
        return await ctx.elicit("Tree?", Tree)

    @app.action
    async def nested(ctx: Context) -> Any:
        return await ctx.elicit("Nested?", json_schema={"type": "object", "properties": {"a": {"type": "object"}}})

    async with serving(app) as gateway:
        for name, field in (("tags", "tags"), ("tree", "children"), ("nested", "a")):
            refused = (await gateway.call(name))["error"]
            assert refused["code"] == -32602
            assert field in refused["message"]


async def test_a_handler_that_misuses_the_questions_is_told() -> None:
    async def both(ctx: Context) -> Any:
        return await ctx.elicit("?", int, json_schema={"type": "object"})  # type: ignore[call-overload]

    for ask_badly, says in (
        (lambda ctx: ctx.confirm("  "), "blank"),
        (lambda ctx: ctx.confirm(7), "a string"),
        (lambda ctx: ctx.elicit("\n"), "blank"),
        (lambda ctx: ctx.ask("?", int, attempts=0), "at least 1"),
        (lambda ctx: ctx.ask("?", int, attempts="3"), "attempts is a whole number, not str"),
        (lambda ctx: ctx.ask("?", int, attempts=1.5), "attempts is a whole number, not float"),
        (lambda ctx: ctx.ask("?", int, attempts=True), "attempts is a whole number, not bool"),
        (lambda ctx: ctx.ask_url("Pay", "javascript:alert(1)"), "absolute http"),
        (lambda ctx: ctx.ask_url("Pay", "https://"), "absolute http"),
        (both, "not both"),
    ):
        app = Tesseron("shop")
        app.action("bad").handler(_plain(ask_badly))
        async with serving(app) as gateway:
            refused = (await gateway.call("bad"))["error"]
            assert refused["code"] == -32005
            assert says in refused["message"]


def _plain(ask_badly: Any) -> Any:
    async def handler(ctx: Context) -> Any:
        return await ask_badly(ctx)

    return handler


async def test_ask_url_goes_to_a_client_that_can_and_tells_the_answers_apart() -> None:
    async def handler(ctx: Context) -> Any:
        return await ctx.ask_url("Pay here", "https://pay.example/7")

    for answer, seen in (("accept", "Accepted(value=None)"), ("decline", "Declined()"), ("cancel", "Cancelled()")):
        capabilities = {"elicitation": True, "elicitationUrl": True}
        async with serving(asking(handler), capabilities=capabilities, extensions={"tesseron-py": 1}) as gateway:
            await gateway.invoke("ask")
            request = await gateway.recv()
            assert request["params"]["kind"] == "url"
            assert request["params"]["url"] == "https://pay.example/7"
            await gateway.send(id=request["id"], **result(answer))
            assert (await gateway.recv())["result"]["output"] == seen


async def test_field_51_questions_asked_together_go_out_together_and_are_matched_by_id() -> None:
    app = Tesseron("shop")

    @app.action("both")
    async def both(ctx: Context) -> dict[str, bool]:
        answers: dict[str, bool] = {}

        async def one(name: str) -> None:
            answers[name] = await ctx.confirm(f"{name}?", key=name)

        async with anyio.create_task_group() as group:
            group.start_soon(one, "first")
            group.start_soon(one, "second")
        return answers

    async with serving(app, extensions={"tesseron-py": 1}) as gateway:
        await gateway.invoke("both")
        requests = {request["params"]["key"]: request for request in [await gateway.recv(), await gateway.recv()]}
        await gateway.send(id=requests["second"]["id"], **result("accept"))
        await gateway.send(id=requests["first"]["id"], **result("decline"))
        assert (await gateway.recv())["result"]["output"] == {"first": False, "second": True}


async def test_an_answer_that_comes_twice_or_too_late_changes_nothing() -> None:
    async with serving(asking(do_confirm)) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        await gateway.send(id=request["id"], **result("decline"))
        await gateway.send(id=request["id"], **result("accept"))
        assert (await gateway.recv())["result"]["output"] == "False"
        await gateway.send(id=request["id"], **result("accept"))
        await gateway.nothing_comes()


async def test_field_99_a_question_ends_with_its_connection_whatever_holds_off_the_cancellation() -> None:
    outcomes: list[Any] = []
    ended = anyio.Event()
    app = Tesseron("shop")

    @app.action
    async def stubborn(ctx: Context) -> None:
        with anyio.CancelScope(shield=True):
            for ask_once in (do_confirm, do_elicit, lambda ctx: ctx.sample("Say")):  # one is open, the others come late
                try:
                    outcomes.append(await ask_once(ctx))
                except TesseronError as problem:
                    outcomes.append(problem.code)
        ended.set()

    async with serving(app) as gateway:
        await gateway.invoke("stubborn")
        assert (await gateway.recv())["method"] == "elicitation/request"
        await gateway.channel.aclose()
        with anyio.fail_after(5):
            await ended.wait()
    assert outcomes[0] in (False, -32010, -32001), outcomes  # no yes, in any case
    assert outcomes[1:] == [-32001, -32001]


async def test_field_66_a_question_the_handler_gives_up_is_withdrawn_at_a_gateway_of_ours() -> None:
    async def handler(ctx: Context) -> Any:
        with anyio.move_on_after(0.01):
            return await ctx.confirm("Quick?")
        return "gave up"

    async with serving(asking(handler), extensions={"tesseron-py": 1}) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        frames = [await gateway.recv(), await gateway.recv()]
        withdrawn = next(frame for frame in frames if frame.get("method") == "elicitation/withdraw")
        assert withdrawn["params"] == {"invocationId": "i-1", "requestId": request["id"]}
        assert any(frame.get("result", {}).get("output") == "'gave up'" for frame in frames)
    async with serving(asking(handler)) as gateway:
        await gateway.invoke("ask")
        await gateway.recv()
        assert (await gateway.recv())["result"]["output"] == "'gave up'"
        await gateway.nothing_comes()


async def test_field_87_a_question_survives_the_garbage_collector() -> None:
    import gc

    async with serving(asking(do_confirm)) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        gc.collect()
        await gateway.send(id=request["id"], **result("accept"))
        assert (await gateway.recv())["result"]["output"] == "True"


# A forgotten await -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize(
    "kind", ["async def", "async helper", "module", "nested def", "not", "def module", "def helper"]
)
async def test_a_question_without_await_never_runs_the_body(kind: str) -> None:
    app, ran = Tesseron("shop"), []

    def helper(ctx: Context) -> None:
        if ctx.confirm("Remove?"):
            ran.append("helper")

    @app.action("forgets")
    async def forgets(ctx: Context) -> None:
        if kind == "async def" and ctx.confirm("Remove?"):
            ran.append(kind)
        if kind == "module" and confirm("Remove?"):
            ran.append(kind)
        if kind == "not" and not ctx.confirm("Keep?"):
            ran.append(kind)
        if kind == "nested def":
            helper(ctx)
        if kind == "async helper":
            ran.extend([1] * len([1 for question in [ctx.confirm("?")] if question]))

    @app.action("forgets_in_def")
    def forgets_in_def() -> None:
        if confirm("Remove?"):
            ran.append(kind)

    async with serving(app) as gateway:
        refused = (await gateway.call("forgets_in_def" if kind.startswith("def") else "forgets"))["error"]
        assert refused["code"] == -32005
        assert "await" in refused["message"] or "tesseron_py.sync" in refused["message"]
        await gateway.nothing_comes()
    assert ran == []


async def test_a_def_handler_asks_through_sync_and_only_there() -> None:
    app = Tesseron("shop")

    @app.action
    def work() -> list[Any]:
        assert isinstance(sync.current_context(), SyncContext)
        return [
            sync.confirm("Sure?"),
            sync.elicit("How many?", int),
            repr(sync.ask("Which?", Warehouse)),
            sync.elicit("Name?"),
        ]

    @app.action
    async def mixes() -> None:
        sync.confirm("Sure?")

    async with serving(app) as gateway:
        await gateway.invoke("work")
        for value in (None, {"value": 7}, GOOD, {"response": "Ada"}):
            request = await gateway.recv()
            await gateway.send(id=request["id"], **result("accept", value=value))
        output = (await gateway.recv())["result"]["output"]
        assert output == [True, 7, "Accepted(value=Warehouse(warehouse_id='WH-7', count=3))", "Ada"]
        refused = (await gateway.call("mixes"))["error"]
        assert "await tesseron_py.confirm" in refused["message"]


async def test_below_an_async_handler_the_module_functions_reach_the_action() -> None:
    app = Tesseron("shop")

    async def below() -> list[Any]:
        assert current_context().action == "work"
        return [await confirm("Sure?"), await elicit("How many?", int), repr(await ask("Name?"))]

    @app.action
    async def work() -> list[Any]:
        return await below()

    async with serving(app) as gateway:
        await gateway.invoke("work")
        for value in (None, {"value": 7}, {"response": "Ada"}):
            request = await gateway.recv()
            await gateway.send(id=request["id"], **result("accept", value=value))
        assert (await gateway.recv())["result"]["output"] == [True, 7, "Accepted(value='Ada')"]


async def test_outside_an_action_there_is_nobody_to_ask() -> None:
    for call in (
        lambda: confirm("?"),
        lambda: elicit("?"),
        lambda: ask("?"),
        current_context,
        lambda: sync.confirm("?"),
        lambda: sync.elicit("?"),
        lambda: sync.ask("?"),
        sync.current_context,
    ):
        with pytest.raises(LookupError, match="running action"):
            call()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_question_can_be_handed_to_asyncio() -> None:
    async def handler(ctx: Context) -> Any:
        task = asyncio.create_task(ctx.confirm("one?"))
        gathered = asyncio.gather(ctx.confirm("two?"), ctx.confirm("three?"))
        timed = asyncio.wait_for(ctx.confirm("four?"), 5)
        return [await task, *(await gathered), await timed]

    answers = [result("accept"), result("decline"), result("accept"), result("accept")]
    assert await answered(handler, *answers) == "[True, False, True, True]"


async def test_a_question_can_be_handed_to_a_task_group() -> None:
    async def handler(ctx: Context) -> Any:
        async with anyio.create_task_group() as group:
            handle = group.create_task(ctx.confirm("one?"))
            await handle.wait()
        return handle.return_value

    assert await answered(handler, result("accept")) == "True"


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_question_can_be_handed_to_trio() -> None:
    import trio

    async def handler(ctx: Context) -> Any:
        answers: list[bool] = []

        async def keep(asking: Awaitable[bool]) -> None:
            answers.append(await asking)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep, ctx.confirm("one?"))
            nursery.start_soon(lambda: ctx.confirm("two?"))
        return answers

    assert await answered(handler, result("accept"), result("accept")) == "[True]"


async def test_a_question_is_a_coroutine_with_all_that_belongs_to_one() -> None:
    async def handler(ctx: Context) -> Any:
        closed, thrown, thrown_too, made = (ctx.confirm(f"{number}?") for number in range(4))
        assert "ctx.confirm" in repr(closed)
        closed.close()
        with pytest.raises(KeyError):
            thrown.throw(KeyError("x"))
        with pytest.raises(KeyError, match="y"):
            thrown_too.throw(KeyError, KeyError("y"), None)
        with pytest.raises(KeyError, match="z"):
            made.throw(KeyError, "z")
        return "fine"

    assert await answered(handler) == "'fine'"


async def called(handler: Handler) -> dict[str, Any]:
    """The answer to a call of a handler that nobody answers."""
    async with serving(asking(handler)) as gateway:
        return await gateway.call("ask")


async def test_a_forgotten_question_fails_the_call_and_says_which_line_it_is() -> None:
    async def bare(ctx: Context) -> Any:
        ctx.confirm("Send?")  # type: ignore[unused-coroutine]  # forgetting it is what is tested
        return "SENT"

    async def from_below(ctx: Context) -> Any:
        confirm("Send?")  # type: ignore[unused-coroutine]  # forgetting it is what is tested
        return "SENT"

    async def compared_by_identity(ctx: Context) -> Any:
        return "SENT" if ctx.confirm("Send?") is not False else "no"

    async def of_several(ctx: Context) -> Any:
        first, second = ctx.ask("one?"), ctx.elicit("two?")
        second.close()
        return [type(first), type(second)]

    for handler, call in (
        (bare, "ctx.confirm"),
        (from_below, "confirm"),
        (compared_by_identity, "ctx.confirm"),
        (of_several, "ctx.ask"),
    ):
        error = (await called(handler))["error"]
        line = handler.__code__.co_firstlineno + 1
        said = f"nobody was asked, since the question was not awaited: write `await {call}(…)` at test_asking.py, line"
        assert (error["code"], error["message"]) == (-32005, f"{said} {line}")


async def test_a_question_equals_nothing_and_is_no_text() -> None:
    async def equal(ctx: Context) -> Any:
        return ctx.confirm("Send?") == True  # noqa: E712  # an author's mistake is what is tested

    async def unequal(ctx: Context) -> Any:
        return "SENT" if ctx.confirm("Send?") != False else "no"  # noqa: E712  # an author's mistake is what is tested

    async def matched(ctx: Context) -> Any:
        match ctx.confirm("Send?"):
            case "no":
                return "no"
        return "SENT"

    async def text(ctx: Context) -> Any:
        return f"to {ctx.confirm('Send?')}"

    for handler in (equal, unequal, matched, text):
        error = (await called(handler))["error"]
        assert (error["code"], error["message"]) == (-32005, "nobody was asked yet: write `await ctx.confirm(…)`")


async def test_the_error_of_a_handler_is_its_own_although_it_forgot_a_question() -> None:
    async def handler(ctx: Context) -> Any:
        forgotten = ctx.confirm("Send?")
        assert forgotten == forgotten
        assert {forgotten: 1}[forgotten] == 1
        try:
            raise KeyError("x")
        finally:
            forgotten.close()

    assert (await called(handler))["error"]["message"] == "KeyError: 'x'"


def test_a_refusal_is_false_in_a_condition() -> None:
    assert not Declined()
    assert not Cancelled()
    assert Accepted(False)


# Sampling -----------------------------------------------------------------------------------------------------------


async def sampled(handler: Handler, answer: dict[str, Any], **welcome: Any) -> tuple[dict[str, Any], str]:
    async with serving(asking(handler), **welcome) as gateway:
        await gateway.invoke("ask")
        request = await gateway.recv()
        assert request["method"] == "sampling/request"
        await gateway.send(id=request["id"], **answer)
        return request["params"], str((await gateway.recv())["result"]["output"])


async def test_sampling_gives_text_or_a_validated_value() -> None:
    async def text(ctx: Context) -> Any:
        return await ctx.sample("Say hello", max_tokens=50)

    async def model(ctx: Context) -> Any:
        return await ctx.sample("Which?", Warehouse)

    params, seen = await sampled(text, {"result": {"content": "hello"}})
    assert params == {"invocationId": "i-1", "prompt": "Say hello", "maxTokens": 50}
    assert seen == "'hello'"
    params, seen = await sampled(model, {"result": {"content": '```json\n{"warehouse_id": "WH-7"}\n```'}})
    assert "warehouse_id" in params["schema"]["properties"]
    assert seen == repr(Warehouse(warehouse_id="WH-7"))
    assert (await sampled(model, {"result": {"content": "no idea"}}))[1] == "ActionError -32005"
    assert (await sampled(text, error(-32008, data={"depth": 4, "max": 3})))[1] == "SamplingDepthExceeded -32008"


async def test_sampling_without_the_capability_sends_nothing() -> None:
    async def text(ctx: Context) -> Any:
        return await ctx.sample("Say hello")

    async with serving(asking(text), capabilities=NO_ELICITATION) as gateway:
        assert (await gateway.call("ask"))["result"]["output"] == "SamplingNotAvailable -32006"


# The gate -----------------------------------------------------------------------------------------------------------


async def gated(gateway: FakeGateway, name: str, input: Any, action: str) -> tuple[str, dict[str, Any]]:
    await gateway.invoke(name, input)
    request = await gateway.recv()
    await gateway.send(id=request["id"], **result(action))
    return str(request["params"]["question"]), await gateway.recv()


async def test_a_gate_asks_before_the_handler_runs_and_a_refusal_ends_the_call() -> None:
    app, dropped = Tesseron("shop"), []

    @app.action("drop").confirm("Drop table {name}? {{really}}").handler
    def drop(name: str, force: bool = False) -> int:
        dropped.append(name)
        return 1

    app.action("strict").confirm("Sure?").strict_output().handler(drop.fn)
    app.action("value").confirm("Sure?", on_refusal="kept").handler(drop.fn)
    app.action("called").confirm("Sure?", on_refusal=lambda: {"kept": True}).handler(drop.fn)

    async def later() -> str:
        return "kept later"

    app.action("awaited").confirm("Sure?", on_refusal=later).handler(drop.fn)

    async with serving(app) as gateway:
        entry = next(entry for entry in gateway.hello["params"]["actions"] if entry["name"] == "drop")
        assert entry["annotations"] == {"requiresConfirmation": True}
        question, response = await gated(gateway, "drop", {"name": "t\x1b[2Jéé\u202e" + "x" * 300}, "decline")
        assert question.startswith("Drop table t\\x1b[2Jéé\\u202exxx")
        assert question.endswith("…? {really}")
        assert len(question) == len("Drop table ? {really}") + 200
        assert response["result"]["output"] == {"cancelled": True}
        _, response = await gated(gateway, "strict", {"name": "t"}, "cancel")
        assert response["error"]["code"] == -32005
        assert response["error"]["data"] == {"cancelled": True}
        for name, refusal in (("value", "kept"), ("called", {"kept": True}), ("awaited", "kept later")):
            _, response = await gated(gateway, name, {"name": "t"}, "decline")
            assert response["result"]["output"] == refusal
        assert dropped == []
        _, response = await gated(gateway, "drop", {"name": "t"}, "accept")
        assert response["result"]["output"] == 1
        assert (await gateway.call("drop", {}))["error"]["code"] == -32004
    assert dropped == ["t"]


async def test_a_gate_stays_shut_where_nobody_can_be_asked() -> None:
    app, dropped = Tesseron("shop"), []

    @app.action("drop").confirm("Drop?").handler
    async def drop() -> None:
        dropped.append(1)

    async with serving(app, capabilities=NO_ELICITATION) as gateway:
        assert (await gateway.call("drop"))["result"]["output"] == {"cancelled": True}
    assert dropped == []


async def test_a_gate_shows_values_of_every_type_as_plain_text() -> None:
    class Order(BaseModel):
        sku: str
        day: date
        count: int
        gift: bool
        note: str | None = None

    app = Tesseron("shop")
    app.action("order").input(Order).confirm("{sku} {day} {count} {gift} {note}").handler(lambda order: 1)
    async with serving(app) as gateway:
        question, _ = await gated(
            gateway, "order", {"sku": "A1", "day": "2026-01-02", "count": 2, "gift": True}, "decline"
        )
        assert question == "A1 2026-01-02 2 true null"


def test_errors_say_which_they_are() -> None:
    for cls in (
        InvalidAnswer,
        MalformedAnswer,
        InvalidSchema,
        ElicitationNotAvailable,
        SamplingNotAvailable,
        TooManyPrompts,
    ):
        assert issubclass(cls, TesseronError)
        assert cls("x", 1).data == 1


@pytest.mark.parametrize("reply", [{}, {"content": None}, None])
async def test_a_model_that_gave_nothing_is_an_error_and_not_the_text_null(reply: Any) -> None:
    app = Tesseron("shop")

    @app.action
    async def sample(ctx: Context) -> str:
        return await ctx.sample("Say something")

    async with serving(app) as gateway:
        await gateway.invoke("sample")
        await gateway.send(id=(await gateway.recv())["id"], result=reply)
        error = (await gateway.recv())["error"]
        assert (error["code"], error["message"]) == (-32005, "The model's answer has no content")


async def test_a_strict_gate_says_whether_the_person_was_asked() -> None:
    app = Tesseron("shop")

    @app.action("drop").confirm("Sure?").strict_output().handler
    async def drop() -> int:
        return 1

    async with serving(app) as gateway:
        await gateway.invoke("drop")
        await gateway.send(id=(await gateway.recv())["id"], result={"action": "decline"})
        error = (await gateway.recv())["error"]
        assert (error["message"], error["data"]) == (
            "There was no yes: the question was put, and nobody accepted it",
            {"cancelled": True},
        )
    async with serving(app, capabilities=NO_ELICITATION) as gateway:
        error = (await gateway.call("drop"))["error"]
        assert error["message"] == "There was no yes: this agent's client cannot ask the person"


async def test_a_def_that_says_what_a_refusal_gives_runs_in_a_thread() -> None:
    app, threads = Tesseron("shop"), []

    def refused() -> str:
        threads.append(threading.current_thread())
        return "kept"

    @app.action("drop").confirm("Sure?", on_refusal=refused).handler
    async def drop() -> int:
        return 1

    async with serving(app, capabilities=NO_ELICITATION) as gateway:
        assert (await gateway.call("drop"))["result"]["output"] == "kept"
    assert threads != [threading.current_thread()]
