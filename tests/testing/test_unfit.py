"""An answer that does not fit, however it is asked for: a test is told which one it was, what it held, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field, field_validator

from tesseron_py import Context, InvalidAnswer, SyncContext, Tesseron
from tesseron_py.mcp.client_transport import PipeTransport
from tesseron_py.testing import ActionFailed, Agent, SyncAgent, accept, context, decline, sync_context
from tesseron_py.testing.answers import Script

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
app = Tesseron("tailor", mask_errors=True)


class Login(BaseModel):
    name: Annotated[str, Field(min_length=2)]
    pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]

    @field_validator("pin")
    @classmethod
    def _checked(cls, pin: str) -> str:
        if len(pin) != 4:
            raise ValueError(f"{pin} is no PIN")
        return pin


class Vault(BaseModel):
    code: str

    @field_validator("code")
    @classmethod
    def _checked(cls, code: str) -> str:
        raise InvalidAnswer("No code opens it", {"tries": 1})


@app.action
async def size(ctx: Context) -> str | None:
    return await ctx.elicit("Which size?", Literal["S", "M"])


@app.action
def size_in_thread(ctx: SyncContext) -> str | None:
    return ctx.elicit("Which size?", Literal["S", "M"])


@app.action
async def often(ctx: Context, attempts: int) -> str:
    return repr(await ctx.ask("Which size?\nOf two.", Literal["S", "M"], attempts=attempts))


@app.action
async def caught(ctx: Context) -> str:
    try:
        return repr(await ctx.elicit("Who?", Login))
    except InvalidAnswer:
        return "nobody"


@app.action
async def log_in(ctx: Context) -> str:
    return repr(await ctx.elicit("Who?", Login))


@app.action
async def unlock(ctx: Context) -> str:
    return repr(await ctx.elicit("Which code?", Vault))


@app.action
async def both(ctx: Context) -> list[str]:
    found: list[str] = []

    async def one(key: str) -> None:
        try:
            found.append(str(await ctx.elicit("Which size?", Literal["S", "M"], key=key)))
        except InvalidAnswer:
            found.append("none")

    async with anyio.create_task_group() as group:
        group.start_soon(one, "first")
        group.start_soon(one, "second")
    return sorted(found)


@app.action("fail").handler
async def fail(ctx: Context) -> None:
    await ctx.elicit("Which size?", Literal["S", "M"])
    raise InvalidAnswer("value: wrong", [{"message": "another", "path": ["value"]}])


@app.action
async def claim() -> None:
    issues = [{"message": "nobody was asked for it", "path": []}]
    raise InvalidAnswer("nobody was asked for it", issues)


SIZE = 'answer {} to \'Which size?\', accept({!r}), did not fit:\n- value: one of "S", "M" is expected'


@asynccontextmanager
async def outside(answers: Any, era: Any) -> AsyncIterator[Agent]:
    """An agent for which the app is a server somewhere."""
    async with app._memory_endpoint() as channel, Agent(PipeTransport(channel), answers, era=era) as agent:
        yield agent


@ERAS
@pytest.mark.parametrize("action", ["size", "size_in_thread"])
async def test_one_that_is_asked_for_once_is_told(era: Any, action: str, caplog: pytest.LogCaptureFixture) -> None:
    async with Agent(app, [accept("M"), accept("XL"), accept({"value": 3})], era=era) as agent:
        assert await agent.call(action) == "M"
        for number, given in ((2, "XL"), (3, {"value": 3})):
            with pytest.raises(ActionFailed) as failed:
                await agent.call(action)
            assert failed.value.message == 'value: one of "S", "M" is expected'
            assert failed.value.data == [{"message": 'one of "S", "M" is expected', "path": ["value"]}]
            assert failed.value.__notes__ == [SIZE.format(number, given)]
        assert agent.notes == [SIZE.format(2, "XL"), SIZE.format(3, {"value": 3})]
    said = [record.getMessage() for record in caplog.records if record.name == "tesseron_py.testing"]
    assert said == agent.notes


@ERAS
async def test_the_last_of_several_attempts_is_told_and_those_before_it(era: Any) -> None:
    async with Agent(app, [accept("XL"), accept("XXL"), accept("S"), accept(7)], era=era) as agent:
        with pytest.raises(ActionFailed):
            await agent.call("often", {"attempts": 2})
        assert agent.notes == [SIZE.format(1, "XL"), SIZE.format(2, "XXL")]
        assert await agent.call("often", {"attempts": 1}) == "Accepted(value='S')"
        with pytest.raises(ActionFailed) as failed:
            await agent.call("often", {"attempts": 1})
        assert failed.value.__notes__ == agent.notes[2:] == [SIZE.format(4, 7)]


@ERAS
async def test_what_the_agent_is_not_told_the_test_is(era: Any) -> None:
    wrong = {"name": "x", "pin": "98765"}
    note = (
        "answer {} to 'Who?', accept({'name': 'x', 'pin': '98765'}), did not fit:\n"
        "- name: at least 2 characters are expected\n- pin: 98765 is no PIN"
    )
    async with Agent(app, [accept(wrong)] * 2, era=era) as agent:
        assert await agent.call("caught") == "nobody"
        with pytest.raises(ActionFailed) as failed:
            await agent.call("log_in")
        assert "98765" not in f"{failed.value} {failed.value.data}"
        assert failed.value.__notes__ == [note.replace("{}", "2")]
        assert agent.notes == [note.replace("{}", "1"), note.replace("{}", "2")]


async def test_an_author_may_say_why_in_words_alone() -> None:
    async with Agent(app, [accept({"code": "1"})]) as agent:
        with pytest.raises(ActionFailed, match="No code opens it"):
            await agent.call("unlock")
        assert agent.notes == ["answer 1 to 'Which code?', accept({'code': '1'}), did not fit:\n- No code opens it"]


def test_one_that_the_script_did_not_give_is_told_without_it() -> None:
    no = {"message": "no", "path": ["a", 0]}
    for issues, fault in (([no], "a[0]: no"), ([], "wrong"), ([no, {"path": []}], "wrong"), (no, "wrong")):
        script = Script()
        script.did_not_fit("Who?", {}, InvalidAnswer("wrong", issues))
        assert script.notes == [f"an answer did not fit:\n- {fault}"]


@ERAS
async def test_of_two_at_once_each_is_told_by_what_it_held(era: Any) -> None:
    async with Agent(app, [accept("XL"), accept("S")], era=era) as agent:
        assert await agent.call("both") == ["S", "none"]
        assert agent.notes == [SIZE.format(1, "XL")]
    async with Agent(app, [accept("XL")] * 2, era=era) as agent:
        assert await agent.call("both") == ["none", "none"]
        assert sorted(agent.notes) == [SIZE.format(1, "XL"), SIZE.format(2, "XL")]


async def test_a_script_that_is_one_function_has_no_numbers_and_a_long_answer_is_cut() -> None:
    async with Agent(app, lambda prompt: accept("X" * 1000)) as agent:
        with pytest.raises(ActionFailed):
            await agent.call("size")
        assert agent.notes[0].startswith("the answer to 'Which size?', accept('XXXX")
        assert agent.notes[0].endswith('XX…, did not fit:\n- value: one of "S", "M" is expected')
        assert len(agent.notes[0]) < 520


def test_plain_tests_and_contexts_are_told_as_well() -> None:
    with SyncAgent(app, [accept("XL")]) as agent:
        with pytest.raises(ActionFailed) as failed:
            agent.call("size_in_thread")
        assert failed.value.__notes__ == agent.notes == [SIZE.format(1, "XL")]
    ctx = sync_context([accept("XL"), accept("S")])
    with pytest.raises(InvalidAnswer):
        size_in_thread(ctx)
    assert size_in_thread(ctx) == "S"
    assert ctx.notes == [SIZE.format(1, "XL")]


async def test_agents_of_two_apps_hear_of_their_own_answers_and_the_test_of_none() -> None:
    async with Agent(app, [accept("XL")]) as one, Agent(app, [accept("XXL")]) as other:
        for agent in (one, other):
            with pytest.raises(ActionFailed):
                await agent.call("size")
        assert (one.notes, other.notes) == ([SIZE.format(1, "XL")], [SIZE.format(1, "XXL")])
        ctx = context([accept("L")])
        with pytest.raises(InvalidAnswer):
            await size(ctx)
        assert ctx.notes == [SIZE.format(1, "L")]
        assert len(one.notes) == len(other.notes) == 1


@ERAS
async def test_of_a_server_outside_its_errors_and_its_next_question_tell(era: Any) -> None:
    answers = [accept("XL"), accept("XXL"), accept("L"), accept("S"), decline()]
    async with outside(answers, era) as agent:
        for arguments in ({"attempts": 2}, {"attempts": 1}):
            with pytest.raises(ActionFailed) as failed:
                await agent.call("often", arguments)
        assert failed.value.__notes__ == [SIZE.format(3, "L")]
        asked_again = SIZE.format(1, "XL").replace("- value: one", "- Value: one") + ', you gave "XL"'
        assert agent.notes == [asked_again, SIZE.format(2, "XXL"), SIZE.format(3, "L")]
        for _ in range(2):  # an error that only looks like it, after an answer that fits and after a refusal
            with pytest.raises(ActionFailed, match="value: wrong"):
                await agent.call("fail")
        assert len(agent.notes) == 3
        with pytest.raises(ActionFailed, match="nobody was asked for it"):
            await agent.call("claim")
        assert len(agent.notes) == 3
