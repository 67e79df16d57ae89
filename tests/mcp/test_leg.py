"""A call that waits, request by request: what is asked, what counts as an answer, and that the handler runs once."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import Any

import anyio
import pytest
from fixture_provider import CONFIRM, FixtureProvider, Running, show
from modern_desk import ACCEPT, Asked, modern_desk

from tesseron_py.errors import ElicitationNotAvailable, SamplingNotAvailable, TesseronError, TooManyPrompts
from tesseron_py.invocation import Accept, Decline, Done, Form, Log, Progress, Roots, Sample, Share, Unavailable, Url
from tesseron_py.mcp.provider import ToolOutput
from tesseron_py.mcp.repeats import IDEMPOTENCY_KEY


@pytest.fixture
def provider() -> FixtureProvider:
    made = FixtureProvider()
    made.handlers |= {"twice": twice, "count": count, "guarded": guarded, "effect": effect, "mixed": mixed}
    return made


async def effect(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Ask once, and do something that must not be done twice."""
    reply = await running.confirm()
    provider.ended["effects"] = provider.ended.get("effects", 0) + (reply == Accept({"approve": True}))
    return show(reply)


async def count(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Ask `count` times in a row; `key` names every question."""
    replies = []
    for number in range(arguments["count"]):
        replies.append(show(await running.ask(Form(f"Question {number}", CONFIRM), key=arguments.get("key"))))
    return replies


async def twice(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Ask, run until `go`, ask again."""
    first = await running.confirm("First?")
    provider.event("between").set()
    await provider.event("go").wait()
    return [show(first), show(await running.confirm("Second?"))]


async def guarded(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """What an author's `ctx.elicit` and `ctx.sample` do: raise when it is not available."""
    kind = arguments.get("kind", "form")
    reply = await running.ask(Form("Sure?", CONFIRM) if kind == "form" else Sample({"messages": []}))
    if isinstance(reply, Unavailable):
        raise (ElicitationNotAvailable if kind == "form" else SamplingNotAvailable)(reply.reason)
    return show(reply)


async def mixed(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """A form, a URL, the model and the roots, at once."""
    replies: dict[str, Any] = {}

    async def one(name: str, body: Any) -> None:
        replies[name] = show(await running.ask(body, key=name))

    async with anyio.create_task_group() as group:
        group.start_soon(one, "form", Form("Sure?", CONFIRM))
        group.start_soon(one, "url", Url("Log in there", "https://example.com/login"))
        group.start_soon(one, "sample", Sample({"messages": []}))
        group.start_soon(one, "roots", Roots())
    return replies


# Questions --------------------------------------------------------------------------------------------------------


async def test_a_question_is_a_result_and_the_answer_comes_with_the_repeated_request(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm", {"question": "Pay 5?"})
        [request] = asked.requests.values()
        assert request == {
            "method": "elicitation/create",
            "params": {"message": "Pay 5?", "requestedSchema": CONFIRM},
        }
        assert len(asked.key) >= 16
        assert await client.answer(asked, approve=True).value() == {"reply": "Accept", "content": {"approve": True}}
        assert len(provider.callers) == 1
        assert len(client.modern.parked) == 0
        assert client.modern.running == 0


@pytest.mark.parametrize(
    ("response", "reply"),
    [
        (ACCEPT, {"reply": "Accept", "content": {"approve": True}}),
        ({"action": "accept", "content": {}}, {"reply": "Accept", "content": {}}),
        ({"action": "accept", "content": None}, {"reply": "Accept", "content": {}}),
        ({"action": "accept"}, {"reply": "Accept", "content": {}}),
        ({"action": "decline"}, {"reply": "Decline"}),
        ({"action": "decline", "content": {"approve": True}}, {"reply": "Decline"}),
        ({"action": "cancel"}, {"reply": "Cancel", "reason": "the client answered that there is no decision"}),
        ({"action": "reject"}, {"reply": "Malformed", "raw": {"action": "reject"}}),
        ({"action": "Accept"}, {"reply": "Malformed", "raw": {"action": "Accept"}}),
        ({"action": ""}, {"reply": "Malformed", "raw": {"action": ""}}),
        ({"action": "accept", "content": [1]}, {"reply": "Malformed", "raw": {"action": "accept", "content": [1]}}),
        ({"action": "accept", "content": "y"}, {"reply": "Malformed", "raw": {"action": "accept", "content": "y"}}),
    ],
)
async def test_what_an_answer_means(provider: FixtureProvider, response: Any, reply: Any) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        assert await client.again(asked, {asked.key: response}).value() == reply


@pytest.mark.parametrize("entry", [None, True, "accept", [ACCEPT], {}, {"action": True}, {"action": ["accept"]},
                                   {"content": {"approve": True}}, {"result": ACCEPT}])  # fmt: skip
async def test_an_entry_that_is_no_answer_is_asked_again(provider: FixtureProvider, entry: Any) -> None:
    async with modern_desk(provider) as client:
        first = await client.ask("confirm")
        second = await client.again(first, {first.key: entry}).asked()
        assert second.requests == first.requests
        assert second.state != first.state
        assert (await client.answer(second, approve=True).value())["reply"] == "Accept"
        assert len(provider.callers) == 1


@pytest.mark.parametrize("responses", [[], "x", 5, True, [ACCEPT]])
async def test_responses_that_are_no_object_are_refused_and_the_call_waits(
    provider: FixtureProvider, responses: Any
) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        for state in (asked.state, None):
            status, error = await client.refused("tools/call", asked.next(responses, state=state))
            assert (status, error["code"]) == (200, -32602)
            assert "inputResponses" in error["message"]
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"
        assert len(provider.callers) == 1


async def test_unknown_keys_are_ignored(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        again = await client.again(asked, {"": ACCEPT, "other": ACCEPT, asked.key.upper() + "x": ACCEPT}).asked()
        assert again.requests == asked.requests
        value = await client.again(again, {"other": {"action": "decline"}, again.key: ACCEPT}).value()
        assert value["reply"] == "Accept"


async def test_questions_in_a_row_are_rounds(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("count", {"count": 5})
        keys = {asked.key}
        for number in range(1, 5):
            asked = await client.answer(asked, "accept", n=number).asked()
            keys.add(asked.key)
            assert asked.requests[asked.key]["params"]["message"] == f"Question {number}"
        replies = await client.answer(asked, "decline").value()
        assert [reply["reply"] for reply in replies] == ["Accept"] * 4 + ["Decline"]
        assert [reply["content"]["n"] for reply in replies[:4]] == [1, 2, 3, 4]
        assert len(keys) == 5
        assert len(provider.callers) == 1


async def test_questions_at_once_are_one_result_and_may_be_answered_in_parts(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("many", {"count": 5})
        by_message = {request["params"]["message"]: key for key, request in asked.requests.items()}
        assert len(by_message) == 5
        some = {by_message[f"Question {n}"]: {"action": "accept", "content": {"n": n}} for n in (3, 1)}
        rest = await client.again(asked, some).asked()
        assert set(rest.keys) == set(asked.keys) - set(some)
        answers = {by_message[f"Question {n}"]: {"action": "accept", "content": {"n": n}} for n in (0, 2, 4)}
        replies = await client.again(rest, answers).value()
        assert [reply["content"]["n"] for reply in replies] == [0, 1, 2, 3, 4]
        assert len(provider.callers) == 1


async def test_no_more_than_32_are_asked_at_once(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        assert len((await client.ask("many", {"count": 32})).requests) == 32
        provider.handlers["over"] = over
        asked = await client.ask("over")
        assert len(asked.requests) == 32
        replies = await client.answer(asked, "decline").value()
        assert replies.count("Decline") == 32
        [error] = [reply for reply in replies if reply != "Decline"]
        assert "32 questions are open already" in error


async def over(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    replies: list[str] = []

    async def one() -> None:
        try:
            replies.append(show(await running.confirm())["reply"])
        except TooManyPrompts as error:
            replies.append(str(error))

    async with anyio.create_task_group() as group:
        for _ in range(33):
            group.start_soon(one)
    return replies


async def test_each_kind_of_question_in_one_result(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("mixed")
        assert asked.requests == {
            "form": {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": CONFIRM}},
            "url": {
                "method": "elicitation/create",
                "params": {"mode": "url", "message": "Log in there", "url": "https://example.com/login"},
            },
            "sample": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1024}},
            "roots": {"method": "roots/list", "params": {}},
        }
        text = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
        replies = await client.again(
            asked, {"form": ACCEPT, "url": {"action": "accept"}, "sample": text, "roots": {"roots": []}}
        ).value()
        assert replies == {
            "form": {"reply": "Accept", "content": {"approve": True}},
            "url": {"reply": "Accept", "content": {}},
            "sample": {"reply": "Accept", "content": text},
            "roots": {"reply": "Accept", "content": {"roots": []}},
        }


# States -----------------------------------------------------------------------------------------------------------


async def test_answers_without_a_state_answer_nothing(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        first = await client.ask("count", {"count": 1, "key": "sure"})
        other = await client.again(first, {"sure": ACCEPT}, state=None).asked()
        assert other.keys == ["sure"]
        assert len(provider.callers) == 2
        assert len(client.modern.parked) == 2


async def test_a_state_without_answers_gives_the_questions_again(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("many", {"count": 3})
        for responses in (None, {}):
            again = await client.again(asked, responses).asked()
            assert again.requests == asked.requests
        assert len(provider.callers) == 1


async def test_every_state_of_a_call_leads_to_it(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        first = await client.ask("many", {"count": 2})
        second = await client.again(first).asked()
        one, other = first.keys
        await client.again(second, {one: ACCEPT}).asked()
        assert (await client.again(first, {other: ACCEPT}).value())[0]["reply"] == "Accept"


async def test_a_state_does_not_answer_a_later_question_of_the_same_key(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        first = await client.ask("count", {"count": 3, "key": "sure"})
        second = await client.answer(first, approve=True).asked()
        assert first.keys == second.keys == ["sure"]
        # The network repeats the first answer: it is no answer to the second question.
        for _ in range(3):
            again = await client.answer(first, approve=True).asked()
            assert again.requests["sure"]["params"]["message"] == "Question 1"
        third = await client.answer(second, "decline").asked()
        assert (await client.answer(second, approve=True).asked()).requests == third.requests
        replies = await client.answer(third, "decline").value()
        assert [reply["reply"] for reply in replies] == ["Accept", "Decline", "Decline"]


async def test_two_open_questions_never_have_one_key(provider: FixtureProvider) -> None:
    async def same(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(running.ask, Form(f"Question {number}", CONFIRM), "sure")
        return "answered"

    provider.handlers["same"] = same
    async with modern_desk(provider) as client:
        asked = await client.ask("same")
        assert len(asked.requests) == 3
        assert "sure" in asked.keys
        assert await client.answer(asked, approve=True).value() == "answered"


@pytest.mark.parametrize("change", [{"arguments": {"count": 2}}, {"arguments": {}}, {"name": "twice"}])
async def test_a_state_is_for_its_own_request(provider: FixtureProvider, change: dict[str, Any]) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("count", {"count": 1})
        status, error = await client.refused("tools/call", asked.accepting() | change)
        assert (status, error["code"]) == (200, -32602)
        assert "requestState" in error["message"]
        status, error = await client.refused(
            "prompts/get", {"name": "count", "arguments": {"count": 1}, "requestState": asked.state}
        )
        assert error["code"] == -32602
        assert (await client.answer(asked, approve=True).value())[0]["reply"] == "Accept"
        assert len(provider.callers) == 1


async def test_the_order_of_arguments_and_absent_ones_make_no_difference(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("count", {"count": 1, "key": "k", "x": {"a": 1, "b": 2}})
        turned = asked.accepting() | {"arguments": {"x": {"b": 2, "a": 1}, "key": "k", "count": 1}}
        assert (await client.send("tools/call", turned).value())[0]["reply"] == "Accept"
        asked = await client.send("tools/call", {"name": "confirm"}).asked()
        assert (await client.send("tools/call", asked.accepting() | {"arguments": {}}).value())["reply"] == "Accept"


@pytest.mark.parametrize("state", ["", "x", 5, True, [], {}])
async def test_a_state_that_is_none_is_refused(provider: FixtureProvider, state: Any) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        status, error = await client.refused("tools/call", asked.accepting() | {"requestState": state})
        assert (status, error["code"]) == (200, -32602)
        assert len(provider.callers) == 1


async def test_a_state_without_a_name_is_refused(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        for name in (None, 5, ["confirm"]):
            _, error = await client.refused("tools/call", asked.accepting() | {"name": name})
            assert error["code"] == -32602
            assert '"name"' in error["message"]


async def test_a_state_of_another_user_or_server_is_refused(provider: FixtureProvider) -> None:
    key = "a key that two processes share"
    async with modern_desk(provider, state_keys=[key]) as client:
        asked = await client.ask("confirm")
        for options in ({"principal": "token-1", "state_keys": [key]}, {}, {"state_keys": ["another key of theirs"]}):
            other = client.another(**options)
            _, error = await other.refused("tools/call", asked.accepting())
            assert error["code"] == -32602
            other.modern.close("done")
        # With the same key the state is good, and the call is not there: the agent reads that.
        sibling = client.another(state_keys=["a new key for everyone", key])
        assert "begun in another process" in await sibling.answer(asked, approve=True).failure()
        sibling.modern.close("done")
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"
        assert len(provider.callers) == 1


async def test_a_state_that_was_changed_is_refused_and_so_is_an_old_one_of_a_call_that_is_over(
    provider: FixtureProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("effect")
        for place in range(0, len(asked.state), 7):
            changed = "B" if asked.state[place] == "A" else "A"
            state = asked.state[:place] + changed + asked.state[place + 1 :]
            error = await client.again(asked, {asked.key: ACCEPT}, state=state).error()
            assert error["code"] == -32602
        assert "effects" not in provider.ended
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"
        gone = await client.ask("effect")
        [call] = client.modern.parked
        call.invocation.cancel()
        # As long as the result is kept, it is there for a state of any age; calling again would do everything twice.
        monkeypatch.setattr(client.modern._seal, "_clock", lambda: time() + client.limits.parked_for + 1)
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"
        assert (provider.ended["effects"], len(provider.callers)) == (1, 2)
        error = await client.answer(gone, approve=True).error()
        assert (error["code"], "has expired" in error["message"]) == (-32602, True)


async def test_an_old_state_waits_for_the_result_of_a_running_call_and_gets_none_of_its_questions(
    provider: FixtureProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("twice")
        first = client.answer(asked, approve=True)
        await provider.event("between").wait()
        monkeypatch.setattr(client.modern._seal, "_clock", lambda: time() + client.limits.parked_for + 1)
        late = client.answer(asked, approve=True)
        provider.event("go").set()
        error = await late.error()
        assert (error["code"], "has expired" in error["message"]) == (-32602, True)
        monkeypatch.undo()
        second = await first.asked()
        assert [reply["reply"] for reply in await client.answer(second, approve=True).value()] == ["Accept", "Accept"]
        assert len(provider.callers) == 1


async def test_a_state_on_a_method_that_never_asks_is_ignored(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        assert (await client.send("tools/list", {"requestState": "x", "inputResponses": 5}).result())["tools"]


# Repeated legs ----------------------------------------------------------------------------------------------------


async def test_repeated_legs_get_the_same_result_and_the_effect_happens_once(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("effect")
        legs = [client.answer(asked, approve=True) for _ in range(10)]
        values = [await leg.value() for leg in legs]
        late = [await client.answer(asked, "decline").value(), await client.again(asked).value()]
        assert values + late == [{"reply": "Accept", "content": {"approve": True}}] * 12
        assert provider.ended["effects"] == 1
        assert client.modern.parked.kept == 1


async def test_the_first_answer_counts(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("effect")
        legs = [client.answer(asked, action) for action in ("decline", "accept", "cancel")]
        assert [(await leg.value())["reply"] for leg in legs] == ["Decline"] * 3
        assert provider.ended["effects"] == 0


async def test_legs_that_wait_at_once_get_the_next_question(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("twice")
        legs = [client.answer(asked, approve=True), client.again(asked), client.answer(asked, "decline")]
        await provider.event("between").wait()
        await anyio.wait_all_tasks_blocked()
        assert not any(leg.ended.is_set() for leg in legs)
        provider.event("go").set()
        nexts = [await leg.asked() for leg in legs]
        assert len({asked.key for asked in nexts}) == 1
        assert len({asked.state for asked in nexts}) == 3
        assert [reply["reply"] for reply in await client.answer(nexts[1], "decline").value()] == ["Accept", "Decline"]


async def test_a_repeated_first_leg_with_a_key_joins_the_call(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        key = {IDEMPOTENCY_KEY: "k-1"}
        first, second = [await client.ask("effect", **key) for _ in range(2)]
        assert first.requests == second.requests
        assert (await client.answer(first, approve=True).value())["reply"] == "Accept"
        assert (await client.answer(second, "decline").value())["reply"] == "Accept"
        assert await client.call("effect", **key) == {"reply": "Accept", "content": {"approve": True}}
        assert (provider.ended["effects"], len(provider.callers)) == (1, 1)


async def test_a_repeated_first_leg_says_anew_what_its_client_can_do(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        key = {IDEMPOTENCY_KEY: "k-1"}
        await client.ask("effect", **key)
        assert provider.running["effect"].gone_on == []
        await client.ask("effect", capabilities={"elicitation": {}, "sampling": {}}, **key)
        [caller] = provider.running["effect"].gone_on
        assert (caller.capabilities.form, caller.capabilities.sampling) == (True, True)


# What this request declared ----------------------------------------------------------------------------------------

FORMS = {"elicitation": {}}


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": None}, {"elicitation": {"url": {}}}, {"sampling": {}}])
async def test_field_38_who_cannot_be_asked_is_not_asked(provider: FixtureProvider, capabilities: Any) -> None:
    async with modern_desk(provider) as client:
        value = await client.call("confirm", capabilities=capabilities)
        assert value["reply"] == "Unavailable"
        assert len(client.modern.parked) == 0
        assert client.modern.parked.kept == 0


@pytest.mark.parametrize(("kind", "needed"), [("form", {"elicitation": {}}), ("sample", {"sampling": {}})])
async def test_what_an_action_cannot_do_without_is_the_answer(
    provider: FixtureProvider, kind: str, needed: dict[str, Any]
) -> None:
    async with modern_desk(provider) as client:
        sent = client.calling("guarded", {"kind": kind}, capabilities={})
        error = await sent.error()
        assert (sent.status, error["code"]) == (400, -32021)
        assert error["data"] == {"requiredCapabilities": needed}
        assert "this client cannot" in error["message"]


@pytest.mark.parametrize(("name", "lacking", "needed"), [
    ("form", {"sampling": {}, "roots": {}}, {"elicitation": {}}),
    ("form", {"elicitation": {"url": {}}}, {"elicitation": {}}),
    ("visit", {"elicitation": {}}, {"elicitation": {"url": {}}}),
    ("sample", {"elicitation": {}, "roots": {}}, {"sampling": {}}),
    ("roots", {"elicitation": {}, "sampling": {}}, {"roots": {}}),
])  # fmt: skip
async def test_a_later_leg_that_cannot_be_asked_again_is_told_so_and_the_call_waits(
    provider: FixtureProvider, name: str, lacking: Any, needed: Any
) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm" if name == "form" else name)
        for _ in range(2):
            leg = client.again(asked, capabilities=lacking)
            error = await leg.error()
            assert (leg.status, error["code"], error["data"]) == (400, -32021, {"requiredCapabilities": needed})
        assert len(client.modern.parked) == 1
        # It can still answer: then there is nothing that would have to be asked.
        answer = {"roots": []} if name == "roots" else {"action": "accept", "content": {}}
        leg = client.again(asked, {asked.key: answer}, capabilities={})
        assert (await leg.value())["reply"] == "Accept"


async def test_a_new_question_that_a_later_leg_cannot_put_is_not_put(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("count", {"count": 2})
        leg = client.again(asked, {asked.key: ACCEPT}, capabilities={})
        assert [reply["reply"] for reply in await leg.value()] == ["Accept", "Unavailable"]


async def test_of_two_legs_the_one_that_cannot_be_asked_leaves_the_question_to_the_other(
    provider: FixtureProvider,
) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("twice")
        lame = client.again(asked, {asked.key: ACCEPT}, capabilities={})
        able = client.again(asked)
        await provider.event("between").wait()
        await anyio.wait_all_tasks_blocked()
        provider.event("go").set()
        second = await able.asked()
        error = await lame.error()
        assert (lame.status, error["code"]) == (400, -32021)
        assert [reply["reply"] for reply in await client.answer(second, "decline").value()] == ["Accept", "Decline"]


async def test_of_questions_at_once_those_that_cannot_be_put_are_answered_first(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("mixed", capabilities=FORMS)
        assert asked.keys == ["form"]
        replies = await client.answer(asked, approve=True).value()
        assert {name: reply["reply"] for name, reply in replies.items()} == {
            "form": "Accept", "url": "Unavailable", "sample": "Unavailable", "roots": "Unavailable",
        }  # fmt: skip


async def test_the_handler_gives_up_before_anybody_is_asked_in_vain(provider: FixtureProvider) -> None:
    async def both(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        async def sample() -> None:
            if isinstance(reply := await running.ask(Sample({"messages": []})), Unavailable):
                failed.append(SamplingNotAvailable(reply.reason))
                group.cancel_scope.cancel()

        failed: list[TesseronError] = []
        async with anyio.create_task_group() as group:
            group.start_soon(running.confirm)
            group.start_soon(sample)
        if failed:
            raise failed[0]

    provider.handlers["both"] = both
    async with modern_desk(provider) as client:
        error = await client.calling("both", capabilities=FORMS).error()
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"sampling": {}}})


async def test_a_carrier_without_streams_asks_all_the_same(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm", outlet={"can_stream": False}, token=1)
        leg = client.again(asked, {asked.key: ACCEPT}, outlet={"can_stream": False})
        assert (await leg.value())["reply"] == "Accept"
        assert provider.callers[0].capabilities.form
        assert not provider.callers[0].capabilities.progress


async def test_who_calls_is_told_to_the_provider(provider: FixtureProvider) -> None:
    async with modern_desk(provider, principal="token-7") as client:
        await client.call("echo", token="t")
        await client.call("echo", **{"io.modelcontextprotocol/clientInfo": {"name": 5}}, capabilities={})
        first, second = provider.callers
        assert (first.client.name, first.client.version, first.client.principal) == ("modern", "1", "token-7")
        assert first.client.era == "modern"
        assert first.capabilities.progress
        assert (second.client.name, second.client.version) == ("mcp-client", "")
        assert not second.capabilities.form
        first.client.on_change(None)  # type: ignore[arg-type]  # nobody hears of it


# Closing ----------------------------------------------------------------------------------------------------------


async def test_closing_the_response_cancels_the_first_leg(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        leg = client.calling("slow")
        await provider.event("slow runs").wait()
        leg.close()
        assert await leg.end() is None
        with anyio.fail_after(5):
            await provider.event("ended slow").wait()
        assert provider.ended["slow"] == "cancelled"


async def test_closing_the_response_cancels_a_later_leg(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("twice")
        leg = client.answer(asked, approve=True)
        await provider.event("between").wait()
        leg.close()
        assert await leg.end() is None
        with anyio.fail_after(5):
            await provider.event("ended twice").wait()
        assert provider.ended["twice"] == "cancelled"
        # It is over, and a leg that comes now hears so.
        assert "hung up" in await client.again(asked).failure()
        assert len(client.modern.parked) == 0


async def test_with_two_legs_waiting_the_call_belongs_to_the_other(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("twice")
        one, two = client.answer(asked, approve=True), client.again(asked)
        await provider.event("between").wait()
        await anyio.wait_all_tasks_blocked()
        one.close()
        assert await one.end() is None
        provider.event("go").set()
        second = await two.asked()
        assert [reply["reply"] for reply in await client.answer(second, "decline").value()] == ["Accept", "Decline"]


async def test_closing_before_it_has_begun_starts_nothing(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with modern_desk(provider) as client:
        leg = client.calling("echo")
        await anyio.wait_all_tasks_blocked()
        leg.close()
        assert await leg.end() is None
        provider.gate.set()
        assert await client.call("echo", {"value": 1}) == 1
        assert len(provider.callers) == 1


async def test_an_answer_whose_response_is_lost_is_fetched_by_repeating_the_leg(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("effect")
        leg = client.answer(asked, approve=True)
        assert (await leg.value())["reply"] == "Accept"
        leg.close()  # the response was made, and never read
        assert (await client.again(asked).value())["reply"] == "Accept"
        assert provider.ended["effects"] == 1


async def test_closing_the_server_ends_legs_and_parked_calls(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        waiting = client.calling("slow")
        await provider.event("slow runs").wait()
        client.modern.close("The server is closing")
        error = await waiting.error()
        assert (waiting.status, error["code"], error["message"]) == (503, -32603, "The server is closing")
        with anyio.fail_after(5):
            await provider.event("ended slow").wait()
            await provider.event("ended confirm").wait()
        assert provider.ended == {"slow": "cancelled", "confirm": "cancelled"}
        for method, params in (("tools/call", asked.accepting()), ("server/discover", None)):
            status, error = await client.refused(method, params)
            assert (status, error["code"]) == (503, -32603)
        client.modern.close("again")


async def test_closing_the_server_answers_requests_that_wait_for_the_provider(provider: FixtureProvider) -> None:
    provider.gate = anyio.Event()
    async with modern_desk(provider) as client:
        leg = client.calling("echo")
        await anyio.wait_all_tasks_blocked()
        client.modern.close("The server is closing")
        assert (await leg.error())["message"] == "The server is closing"
        assert leg.status == 503
        client.modern.close("again")
        leg.conversation.abort(None)  # it has its answer
        assert provider.callers == []


# Sizes ------------------------------------------------------------------------------------------------------------


async def test_a_question_that_is_too_large_is_not_sent(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        value = await client.call("confirm", {"question": "x" * 3000}, outlet={"room": 2000})
        assert value["reply"] == "Unavailable"
        assert "and this client takes 2000" in value["reason"]
        assert "the question cannot be sent" in value["reason"]


async def test_questions_too_large_together_are_asked_one_after_the_other_and_one_too_large_alone_is_given_up(
    provider: FixtureProvider,
) -> None:
    async def sizes(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        replies = {}

        async def one(size: int) -> None:
            replies[size] = show(await running.ask(Form("x" * size, CONFIRM)))["reply"]

        async with anyio.create_task_group() as group:
            for size in (100, 3000, 1500, 200):
                group.start_soon(one, size)
        return replies

    provider.handlers["sizes"] = sizes
    async with modern_desk(provider) as client:
        asked = await client.ask("sizes", outlet={"room": 2500})
        assert {len(request["params"]["message"]) for request in asked.requests.values()} == {100, 200}
        yes = {"action": "accept", "content": {"approve": True}}
        asked = await client.again(asked, dict.fromkeys(asked.requests, yes), outlet={"room": 2500}).asked()
        assert {len(request["params"]["message"]) for request in asked.requests.values()} == {1500}
        last = client.again(asked, dict.fromkeys(asked.requests, yes), outlet={"room": 2500})
        assert await last.value() == {"100": "Accept", "200": "Accept", "1500": "Accept", "3000": "Unavailable"}


async def test_a_question_that_cannot_be_encoded_is_not_sent(provider: FixtureProvider) -> None:
    async def odd(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        replies = []

        async def one(body: Any) -> None:
            replies.append(show(await running.ask(body)))

        async with anyio.create_task_group() as group:
            group.start_soon(one, Sample({"messages": [object()]}))
            group.start_soon(one, Form("Sure?", CONFIRM))
        return [reply["reply"] for reply in replies]

    provider.handlers["odd"] = odd
    async with modern_desk(provider) as client:
        asked = await client.ask("odd")
        assert asked.requests[asked.key]["method"] == "elicitation/create"
        assert await client.answer(asked, approve=True).value() == ["Unavailable", "Accept"]


async def test_a_result_that_is_too_large_or_cannot_be_sent_is_a_clear_error(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        failure = await client.calling("big", {"size": 3000}, outlet={"room": 2000}).failure()
        assert "this client takes 2000; ask for less" in failure
        assert "cannot be sent as JSON" in await client.calling("odd").failure()
        sent = client.send("tools/list", outlet={"room": 500})
        assert "this client takes 500" in (await sent.error())["message"]


# Progress and log --------------------------------------------------------------------------------------------------


async def noting(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    running.invocation.note(Progress(10, "one"))
    running.invocation.note(Log("warn", "log one"))
    await running.confirm()
    running.invocation.note(Progress(20, "two"))
    running.invocation.note(Log("warn", "log two"))
    await provider.event("go").wait()
    running.invocation.note(Log("info", "log three"))
    running.invocation.note(Progress(30, "three"))
    return "noted"


def told(sent: Any) -> list[Any]:
    return [
        (frame["params"].get("progressToken"), frame["params"].get("message") or frame["params"].get("data"))
        for frame in sent.frames
    ]


async def test_each_leg_has_its_own_token_and_level(provider: FixtureProvider) -> None:
    provider.handlers["noting"] = noting
    provider.event("go").set()
    async with modern_desk(provider) as client:
        first = client.calling("noting", token="a", level="warning")
        asked = await first.asked()
        assert told(first) == [("a", "one"), (None, "log one")]
        second = client.again(asked, {asked.key: ACCEPT}, token=7, level="debug")
        assert await second.value() == "noted"
        assert told(second) == [(7, "two"), (None, "log two"), (None, "log three"), (7, "three")]
        assert [f["params"]["progress"] for f in second.frames if "progress" in f["params"]] == [20, 30]


async def test_without_token_or_level_nothing_is_told(provider: FixtureProvider) -> None:
    provider.handlers["noting"] = noting
    provider.event("go").set()
    async with modern_desk(provider) as client:
        for token in (None, True, 1.5, {}, ["a"]):
            leg = client.calling("noting", token=token)
            assert await client.answer(await leg.asked(), approve=True).value() == "noted"
            assert leg.frames == []


async def test_what_is_told_between_legs_is_told_to_nobody(provider: FixtureProvider) -> None:
    async def loose(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        async def note() -> None:
            await provider.event("note").wait()
            running.invocation.note(Progress(50, "between"))
            provider.event("noted").set()

        async with anyio.create_task_group() as group:
            group.start_soon(note)
            await running.confirm()
            running.invocation.note(Progress(60, "after"))
        return "noted"

    provider.handlers["loose"] = loose
    async with modern_desk(provider) as client:
        asked = await client.ask("loose", token=1)
        provider.event("note").set()
        await provider.event("noted").wait()
        leg = client.again(asked, {asked.key: ACCEPT}, token=2)
        assert await leg.value() == "noted"
        assert told(leg) == [(2, "after")]


async def test_silence_is_kept_alive_on_the_leg_that_waits(provider: FixtureProvider) -> None:
    async with modern_desk(provider, silence=0.02) as client:
        leg = client.calling("slow", token="t")
        with anyio.fail_after(5):
            await leg.outlet.beaten.wait()
        assert (await leg.next("notifications/progress"))["params"]["progressToken"] == "t"
        provider.event("go").set()
        assert await leg.value() == "finished"


async def test_a_client_that_takes_no_more_gives_the_call_up(provider: FixtureProvider) -> None:
    provider.handlers["noting"] = noting
    async with modern_desk(provider) as client:
        asked = await client.ask("noting")
        leg = client.again(asked, {asked.key: ACCEPT}, token=1)
        leg.outlet.gone = True
        assert await leg.end() is None
        with anyio.fail_after(5):
            await provider.event("ended noting").wait()
        assert provider.ended["noting"] == "cancelled"


# Handlers that go their own way -------------------------------------------------------------------------------------


async def test_a_question_that_its_handler_withdrew_is_not_answered(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("impatient")
        provider.event("give up").set()
        with anyio.fail_after(5):
            await provider.event("ended impatient").wait()
        assert await client.answer(asked, approve=True).value() == "gave up"
        assert client.modern.parked.kept == 1


async def test_a_question_withdrawn_while_the_call_goes_on(provider: FixtureProvider) -> None:
    async def changing(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(running.ask, Form("Old?", CONFIRM), "sure")
            await provider.event("give up").wait()
            group.cancel_scope.cancel()
        provider.event("gave up").set()
        return show(await running.ask(Form("New?", CONFIRM), key="sure"))

    provider.handlers["changing"] = changing
    async with modern_desk(provider) as client:
        old = await client.ask("changing")
        provider.event("give up").set()
        await provider.event("gave up").wait()
        new = await client.answer(old, approve=True).asked()
        assert new.requests["sure"]["params"]["message"] == "New?"
        assert (await client.answer(old, approve=True).asked()).requests == new.requests
        assert (await client.answer(new, "decline").value()) == {"reply": "Decline"}


async def test_an_invocation_that_ends_by_itself_between_legs(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("confirm")
        provider.running["confirm"].invocation.finish(Done(ToolOutput("changed my mind")))
        assert await client.answer(asked, approve=True).value() == "changed my mind"


async def test_a_question_that_is_gone_once_the_leg_looks_is_not_put(provider: FixtureProvider) -> None:
    async def fickle(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        await provider.event("go").wait()
        for _ in range(3):
            question = running.invocation.ask(Form("Sure?", CONFIRM), on_reply=lambda reply: None)
            await anyio.lowlevel.checkpoint()
            running.invocation.withdraw(question.id)
        return "fickle"

    provider.handlers["fickle"] = fickle
    async with modern_desk(provider) as client:
        leg = client.calling("fickle")
        await anyio.wait_all_tasks_blocked()
        provider.event("go").set()
        result = await leg.result()
        while result["resultType"] == "input_required":  # it was there when the leg looked, and then it was not
            result = await client.answer(Asked("tools/call", leg.params, result), approve=True).result()
        assert result["content"][0]["text"] == "fickle"
        assert len(provider.callers) == 1


async def test_what_an_app_in_another_process_asks_at_once_goes_out_together(
    provider: FixtureProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def apart(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        running.invocation.spread = 0.1

        async def one(number: int) -> None:
            await anyio.sleep(0.005 * number)  # on its way from the other process
            await running.confirm(f"Question {number}")

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(one, number)
        return "done"

    monkeypatch.setattr("tesseron_py.mcp.leg.QUIET", 0.2)
    provider.handlers["apart"] = apart
    async with modern_desk(provider) as client:
        asked = await client.ask("apart")
        assert sorted(request["params"]["message"] for request in asked.requests.values()) == [
            "Question 0",
            "Question 1",
            "Question 2",
        ]


# Several readers of one call ------------------------------------------------------------------------------------------


def shared_by(shares: list[Share]) -> Any:
    """A handler whose call somebody else watches, too, as a client of the older era may."""

    async def handler(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
        shares.append(running.invocation.join())
        return show(await running.confirm())

    return handler


async def test_a_leg_that_finds_no_place_leaves_the_call_to_who_watches_it(provider: FixtureProvider) -> None:
    shares: list[Share] = []
    provider.handlers["shared"] = shared_by(shares)
    async with modern_desk(provider, parked=1) as client:
        await client.ask("confirm")
        assert "as many as may" in await client.calling("shared").failure()
        [share] = shares
        assert share.invocation.outcome is None
        share.invocation.answer(share.invocation.view().open[0].id, Decline())
        with anyio.fail_after(5):
            await provider.event("ended shared").wait()
        assert provider.ended["shared"] == "done"


async def test_a_reader_who_leaves_takes_nothing_from_a_person_who_is_asked(provider: FixtureProvider) -> None:
    shares: list[Share] = []
    provider.handlers["shared"] = shared_by(shares)
    async with modern_desk(provider) as client:
        asked = await client.ask("shared")
        shares[0].give_up("The client dropped the connection of the call")
        assert (await client.answer(asked, approve=True).value())["reply"] == "Accept"


async def test_where_somebody_watches_a_parked_call_a_late_answer_is_the_persons(provider: FixtureProvider) -> None:
    shares: list[Share] = []
    late = FixtureProvider(deadline=0.05)
    late.handlers["shared"] = shared_by(shares)
    async with modern_desk(late, parked_for=0.05) as client:
        await client.ask("shared")
        with anyio.fail_after(5):
            await late.event("ended shared").wait()
        assert late.ended["shared"] == "done"  # and not cancelled


async def test_arguments_that_are_none_are_not_the_same_as_no_arguments(provider: FixtureProvider) -> None:
    async with modern_desk(provider) as client:
        asked = await client.ask("effect")
        for arguments in ([], 0, "", False):
            params = {**asked.next({asked.key: ACCEPT}), "arguments": arguments}
            assert (await client.send("tools/call", params).error())["code"] == -32602
        assert "effects" not in provider.ended
