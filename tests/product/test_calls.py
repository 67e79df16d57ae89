"""A working day of the official clients with a direct server: `mcp` 2.3 in legacy and auto mode, `mcp` 1.30."""

from __future__ import annotations

import json
from uuid import uuid4

import anyio
import pytest

from .clients import Address, Client, official
from .conftest import AUTO, FOREIGN, OFFICIAL, OLD, of_kind
from .person import CANCEL, DECLINE, YES, accept
from .processes import PATIENCE

pytestmark = FOREIGN
everyone = of_kind(*OFFICIAL, *AUTO, OLD)


@everyone
async def test_tools_are_listed_with_schemas_that_a_client_can_use(client: Client) -> None:
    tools = await client.tools()
    assert {"outcome", "outcomeSync", "echo", "stock", "work"} <= tools.keys()
    echo = tools["echo"]
    assert echo["description"] == "Say it again."
    assert echo["inputSchema"]["properties"]["text"]["type"] == "string"
    assert echo["inputSchema"]["required"] == ["text"]
    assert "outputSchema" not in echo
    assert tools["stock"]["outputSchema"]["type"] == "object"
    assert "ctx" not in tools["outcome"]["inputSchema"]["properties"]


@everyone
async def test_tools_are_called(client: Client) -> None:
    text = 'Zoë 🎉 Привет \u2028 "quoted"\n'
    for tool in ("echo", "echoSync"):
        result = await client.call(tool, {"text": text})
        assert (result.text, result.is_error, result.structured) == (text, False, None)
    assert (await client.call("stock", {"sku": "A1"})).structured == {"sku": "A1", "left": 3}
    assert (await client.call("desk")).text == "open"


@everyone
async def test_a_call_that_fails_is_a_result_that_says_so(client: Client) -> None:
    failed = await client.call("fail")
    assert (failed.text, failed.is_error) == ("The depot is locked", True)
    assert failed.structured == {"code": -32005, "data": {"until": 7}}
    wrong = await client.call("outcome", {"how": "guess", "attempts": "2", "spelt": 1})
    assert wrong.is_error
    assert wrong.structured["code"] == -32004
    assert {tuple(issue["path"]) for issue in wrong.structured["data"]} == {("how",), ("attempts",), ("spelt",)}
    with pytest.raises(Exception, match="no tool 'nope'"):
        await client.call("nope")
    assert (await client.call("echo", {"text": "goes on"})).text == "goes on"


@everyone
async def test_a_person_accepts_declines_and_cancels(client: Client) -> None:
    client.person.will(YES, DECLINE, CANCEL)
    assert [(await client.call("outcome", {"how": "confirm"})).text for _ in range(3)] == ["True", "False", "False"]
    client.person.will(accept(warehouse="WH-8", count=2), accept(warehouse="WH-8", count=100))
    assert (await client.call("outcome", {"how": "elicit"})).text == "WH-8 2"
    assert (await client.call("outcome", {"how": "elicit"})).text == "raises InvalidAnswer"


@everyone
async def test_a_person_is_sent_to_a_page(client: Client) -> None:
    client.person.will({"action": "accept"}, DECLINE)
    assert (await client.call("visit")).text == "Accepted()"
    assert (await client.call("visit")).text == "Declined()"
    prompt = client.person.prompts[0]
    assert (prompt.message, prompt.form, prompt.url) == ("Sign the papers", None, "https://depot.example/sign")


@everyone
async def test_field_68_progress_is_told_to_who_asked_for_it(client: Client) -> None:
    assert (await client.call("work", {"steps": 3})).text == "done"
    assert client.heard.progress == []
    assert (await client.call("work", {"steps": 4}, progress=True)).text == "done"
    assert client.heard.progress == [(25 * step, 100, f"step {step}") for step in (1, 2, 3, 4)]


@everyone
async def test_log_entries_from_info_up_are_told(client: Client) -> None:
    assert (await client.call("work", {"steps": 3})).text == "done"
    assert [level for level, _ in client.heard.logs] == ["warning"]
    assert "did 3" in json.dumps(client.heard.logs[0][1])


@everyone
async def test_resources_are_listed_read_and_followed(client: Client) -> None:
    base = "tesseron://depot/"
    assert set(await client.resources()) == {f"{base}stock", f"{base}journal", f"{base}motto"}
    assert json.loads(await client.read(f"{base}stock")) == {"sku": "A1", "left": 3}
    assert await client.read(f"{base}motto") == "Ask first, Zoë 🎉"
    with pytest.raises(Exception, match="nothing"):
        await client.read(f"{base}nothing")
    await client.subscribe(f"{base}stock")
    with anyio.fail_after(PATIENCE):
        for left in (2, 1):
            await client.call("ship", {"left": left})
            await client.changes.next(f"{base}stock")


@everyone
async def test_an_action_comes_and_goes_while_the_client_is_there(client: Client) -> None:
    assert "door" not in await client.tools()
    with anyio.fail_after(PATIENCE):
        for tool, there in (("open", True), ("close", False)):
            client.changes.forget()
            await client.call(tool)
            await client.changes.next("tools")
            assert ("door" in await client.tools()) is there
            if there:
                assert (await client.call("door")).text == "open"


@everyone
async def test_a_def_handler_may_run_event_loops_of_its_own(client: Client) -> None:
    assert (await client.call("loops")).value == ["anyio", "asyncio", "trio"]


@of_kind(*OFFICIAL, *AUTO)
async def test_field_51_two_calls_are_asked_at_once_and_answered_in_reverse(client: Client) -> None:
    results: dict[str, str] = {}

    async def call(tool: str, how: str) -> None:
        results[how] = (await client.call(tool, {"how": how})).text

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(call, "outcome", "confirm")
            first = await client.person.prompt()
            group.start_soon(call, "outcomeSync", "elicit")
            second = await client.person.prompt()
            assert (await client.call("echo", {"text": "meanwhile"})).text == "meanwhile"
            second.answer(accept(warehouse="WH-8", count=2))
            while "elicit" not in results:
                await anyio.lowlevel.checkpoint()
            assert "confirm" not in results
            first.answer(YES)
    assert results == {"elicit": "WH-8 2", "confirm": "True"}


@of_kind(*OFFICIAL, *AUTO)
async def test_field_51_one_call_asks_twice_at_once_and_is_answered_in_reverse(client: Client) -> None:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:

            async def call() -> None:
                assert (await client.call("pair")).value == {"left": True, "right": False}

            group.start_soon(call)
            prompts = {
                prompt.message: prompt for prompt in (await client.person.prompt(), await client.person.prompt())
            }
            prompts["right?"].answer(DECLINE)
            prompts["left?"].answer(YES)


@of_kind(OLD)
async def test_field_51_a_client_that_shows_one_prompt_at_a_time_answers_them_all(client: Client) -> None:
    results: dict[str, str] = {}

    async def call(how: str) -> None:
        results[how] = (await client.call("outcome", {"how": how})).text

    client.person.will(YES, DECLINE)
    with anyio.fail_after(PATIENCE):
        assert sorted((await client.call("pair")).value.values()) == [False, True]
        async with anyio.create_task_group() as group:
            group.start_soon(call, "confirm")
            group.start_soon(call, "elicit")
            for _ in range(2):
                prompt = await client.person.prompt()
                while prompt.message.endswith("?") and prompt in client.person.prompts[:2]:
                    prompt = await client.person.prompt()
                prompt.answer(YES if prompt.message == "Ship the order?" else accept(warehouse="WH-8", count=2))
    assert results == {"elicit": "WH-8 2", "confirm": "True"}


@everyone
async def test_field_64_a_call_is_cancelled_and_the_next_works(client: Client) -> None:
    tag = str(uuid4())
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(client.call, "linger", {"tag": tag})
            assert (await client.call("until", {"entry": f"{tag}: goes on"})).value is True
            group.cancel_scope.cancel()
        assert (await client.call("until", {"entry": f"{tag}: cancelled"})).value is True


@of_kind(*OFFICIAL)
async def test_a_model_is_asked_if_there_is_one(client: Client, address: Address) -> None:
    refused = await client.call("say")
    assert (refused.is_error, refused.structured) == (True, {"code": -32006})
    async with official(address, sampling="hello") as able:
        assert (await able.call("say")).text == "hello (20)"
