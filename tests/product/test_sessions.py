"""Several clients of one server over HTTP: each with what it can do, and each with its own prompts."""

from __future__ import annotations

from contextlib import closing

import anyio

from .clients import by_hand, official, old
from .conftest import FOREIGN, OFFICIAL, of_kind
from .person import DECLINE, YES, accept
from .processes import PATIENCE
from .raw import Http

pytestmark = FOREIGN
either_loop = of_kind(*OFFICIAL)


@either_loop
async def test_field_50_a_prompt_goes_to_the_client_whose_call_asks(url: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with official(url) as one, official(url, mode="auto") as two, old(url) as three:
            clients = (one, two, three)
            learnt: dict[int, str] = {}

            async def call(number: int) -> None:
                learnt[number] = (await clients[number].call("outcome", {"how": "confirm"})).text

            async with anyio.create_task_group() as group:
                for number in range(3):
                    group.start_soon(call, number)
                prompts = [await client.person.prompt() for client in clients]
                assert [len(client.person.prompts) for client in clients] == [1, 1, 1]
                for prompt, reply in zip(reversed(prompts), (DECLINE, YES, YES), strict=True):
                    prompt.answer(reply)
            assert learnt == {0: "True", 1: "True", 2: "False"}


@either_loop
async def test_field_50_clients_of_one_server_differ_in_what_they_can(url: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with (
            official(url) as able,
            official(url, elicitation=False) as unable,
            by_hand(url, capabilities={"elicitation": {"url": {}}}) as pages,
            by_hand(url, version="2025-06-18") as earlier,
            by_hand(url, version="2025-03-26") as earliest,
        ):
            clients = {"able": able, "unable": unable, "pages": pages, "earlier": earlier, "earliest": earliest}
            for client in (able, earlier):
                client.person.will(YES, accept(warehouse="WH-7", count=1))
            learnt: dict[str, list[str]] = {}

            async def day(name: str) -> None:
                learnt[name] = [
                    (await clients[name].call("outcome", {"how": how})).text for how in ("confirm", "elicit")
                ]

            async with anyio.create_task_group() as group:
                for name in clients:
                    group.start_soon(day, name)
            yes, no = ["True", "WH-7 1"], ["False", "raises ElicitationNotAvailable"]
            assert learnt == {"able": yes, "earlier": yes, "unable": no, "pages": no, "earliest": no}
            asked = {name: len(client.person.prompts) for name, client in clients.items()}
            assert asked == {"able": 2, "earlier": 2, "unable": 0, "pages": 0, "earliest": 0}
            pages.person.will({"action": "accept"})
            assert (await pages.call("visit")).text == "Accepted()"
            refused = await earlier.call("visit")
            needed = {"requiredCapabilities": {"elicitation": {"url": {}}}}
            assert (refused.is_error, refused.structured) == (True, {"code": -32007, "data": needed})


def test_field_50_an_answer_counts_in_its_own_session_alone(url: str) -> None:
    asker, stranger = Http(url), Http(url)
    with closing(asker.call("outcome", how="confirm")) as call:
        events = call.events()
        prompt = next(events)
        stranger.tell(id=prompt["id"], result={"action": "accept", "content": {"approve": True}})
        asker.tell(id=prompt["id"], result={"action": "decline"})
        (result,) = events
        assert result["result"]["content"][0]["text"] == "False"
    # Late, and again: dropped.
    asker.tell(id=prompt["id"], result={"action": "accept", "content": {"approve": True}})


def test_field_73_a_client_that_takes_no_stream_is_answered_in_json_and_not_asked(url: str) -> None:
    client = Http(url, accept="application/json")
    with closing(client.call("echo", text="plain")) as call:
        assert call.body()["result"]["content"][0]["text"] == "plain"
    for how, learnt in (("confirm", "False"), ("elicit", "raises ElicitationNotAvailable")):
        with closing(client.call("outcome", how=how)) as call:
            assert call.response.headers["content-type"] == "application/json"
            assert call.body()["result"]["content"][0]["text"] == learnt


def test_an_ordinary_call_is_json_and_one_that_asks_becomes_a_stream(url: str) -> None:
    client = Http(url)
    with closing(client.call("echo", text="plain")) as call:
        assert call.response.headers["content-type"] == "application/json"
        assert call.body()["result"]["content"][0]["text"] == "plain"
    with closing(client.call("outcome", how="confirm")) as call:
        events = call.events()
        prompt = next(events)
        client.tell(id=prompt["id"], result={"action": "accept", "content": {"approve": True}})
        (result,) = events
        assert result["result"]["content"][0]["text"] == "True"
