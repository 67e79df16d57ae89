"""What a handler learns of each answer (`spec/mcp.md` §3), with clients that nobody here wrote, over stdio and HTTP.

The official clients produce most rows themselves. What they refuse to send is sent by their own lower layers: the
transports and dispatcher of `mcp` 2.3 (`by_hand`), and the session of 1.30, which sends what its callback returns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest
from anyio.abc import TaskGroup

from .clients import Address, Client
from .conftest import BY_HAND, FOREIGN, OFFICIAL, OLD, Kind, of_kind
from .journal import written
from .person import CANCEL, DECLINE, ERROR, YES, Reply, accept
from .processes import PATIENCE, http_server, mcp_command

pytestmark = FOREIGN

HASTY = "tests.product.app:hasty"
ORDER = {"warehouse": "WH-7", "count": 3}
WRONG = {"warehouse": "WH-9", "count": 0}
TICKED = {"approve": True}


@dataclass(frozen=True)
class Row:
    """One answer, and what `confirm`, `elicit` and `ask` make of it; `None` where it cannot be given."""

    name: str
    answer: Reply
    confirm: str | None
    elicit: str | None
    ask: str | None

    def __str__(self) -> str:
        return self.name


# What a handler hears, in short.
INVALID, MALFORMED, UNABLE = "raises InvalidAnswer", "raises MalformedAnswer", "raises ElicitationNotAvailable"
GOT, GOT_IT = "WH-7 3", "Accepted(WH-7 3)"

# fmt: off
ANSWERS = [
    # the person                         answers with                          confirm  elicit     ask
    Row("approves",                      YES,                                  "True",  None,      None),
    Row("fills in the form",             accept(**ORDER),                      "False", GOT,       GOT_IT),
    Row("fills it in wrong",             accept(**WRONG),                      "False", INVALID,   INVALID),
    Row("does not tick the box",         accept(approve=False),                "False", INVALID,   INVALID),
    Row("gives text for a boolean",      accept(approve="true"),               "False", INVALID,   INVALID),
    Row("accepts without content",       {"action": "accept"},                 "False", INVALID,   INVALID),
    Row("declines",                      DECLINE,                              "False", "None",    "Declined()"),
    Row("declines, with leftovers",      {**DECLINE, "content": ORDER},        "False", "None",    "Declined()"),
    Row("cancels",                       CANCEL,                               "False", "None",    "Cancelled()"),
    Row("cancels, with leftovers",       {**CANCEL, "content": TICKED},        "False", "None",    "Cancelled()"),
    Row("cannot: the client has an error", ERROR,                              "False", "None",    "Cancelled()"),
]
IMPOSSIBLE = [
    Row("rejects, which is no action",   {"action": "reject"},                 "False", MALFORMED, MALFORMED),
    Row("says yes, which is none either", {"action": "yes", "content": TICKED}, "False", MALFORMED, MALFORMED),
    Row("says nothing",                  {},                                   "False", MALFORMED, MALFORMED),
    Row("accepts with text",             {"action": "accept", "content": "y"}, "False", MALFORMED, MALFORMED),
    Row("accepts with a list",           {"action": "accept", "content": [1]}, "False", MALFORMED, MALFORMED),
]
DECLARED = [
    # the client declares                this                                  confirm  elicit     ask
    Row("nothing",                       {},                                   "False", UNABLE,    UNABLE),
    Row("pages alone",                   {"elicitation": {"url": {}}},         "False", UNABLE,    UNABLE),
    Row("nothing in particular",         {"elicitation": {}},                  "True",  GOT,       GOT_IT),
    Row("forms, and what nobody knows",  {"elicitation": {"form": {}, "x": 1}}, "True", GOT,       GOT_IT),
]
# fmt: on


class Later:
    """A call that goes on."""

    def __init__(self, group: TaskGroup, client: Client, tool: str, how: str, tag: str) -> None:
        self.text = ""
        group.start_soon(self._call, client, tool, {"how": how, "tag": tag})

    async def _call(self, client: Client, tool: str, arguments: Any) -> None:
        self.text = (await client.call(tool, arguments)).text


async def learns(client: Client, how: str, *replies: Reply, expected: str, **arguments: Any) -> None:
    """An `async def` handler and a `def` handler learn `expected` of these replies, and ask as often as there are."""
    for tool in ("outcome", "outcomeSync"):
        before = len(client.person.prompts)
        client.person.will(*replies)
        with anyio.fail_after(PATIENCE):
            result = await client.call(tool, {"how": how, **arguments})
        assert (tool, result.text) == (tool, expected)
        assert len(client.person.prompts) - before == len(replies)


def each(rows: list[Row]) -> pytest.MarkDecorator:
    """A test for each row and each way to ask that it has an expectation for."""
    cases = [(row, how) for row in rows for how in ("confirm", "elicit", "ask") if getattr(row, how) is not None]
    return pytest.mark.parametrize(("row", "how"), cases, ids=[f"{row}-{how}" for row, how in cases])


@each(ANSWERS)
async def test_what_a_handler_learns_when_the_person(client: Client, row: Row, how: str) -> None:
    await learns(client, how, row.answer, expected=getattr(row, how))


async def test_an_answer_that_does_not_fit_is_asked_for_again(client: Client) -> None:
    await learns(client, "ask", accept(**WRONG), accept(**ORDER), expected="Accepted(WH-7 3)", attempts=2)
    first, again = client.person.prompts[:2]
    assert first.message == "What is shipped?"
    assert again.message.split("\n") == [
        "What is shipped?",
        "",
        "The last answer did not fit:",
        '- Warehouse: one of "WH-7", "WH-8" is expected, you gave "WH-9"',
        "- Count: at least 1 is expected, you gave 0",
    ]
    await learns(client, "ask", accept(**WRONG), DECLINE, expected="Declined()", attempts=3)
    await learns(client, "ask", accept(**WRONG), accept(**WRONG), expected="raises InvalidAnswer", attempts=2)


async def test_a_confirm_is_a_box_to_tick_and_a_model_a_flat_form(client: Client) -> None:
    await learns(client, "confirm", YES, expected="True")
    await learns(client, "elicit", DECLINE, expected="None")
    confirm, elicit = client.person.prompts[0].form, client.person.prompts[2].form
    assert confirm is not None
    assert confirm["required"] == ["approve"]
    assert confirm["properties"]["approve"]["type"] == "boolean"
    assert "default" not in confirm["properties"]["approve"]
    assert elicit is not None
    assert elicit["required"] == ["warehouse", "count"]
    assert elicit["properties"]["warehouse"]["enum"] == ["WH-7", "WH-8"]
    assert (elicit["properties"]["count"]["minimum"], elicit["properties"]["count"]["maximum"]) == (1, 99)


@pytest.mark.parametrize("how", ["elicit", "ask"])
async def test_a_schema_outside_the_subset_is_refused_and_nobody_is_asked(client: Client, how: str) -> None:
    with anyio.fail_after(PATIENCE):
        assert (await client.call("unaskable", {"how": how})).text == "raises InvalidSchema -32602"
    assert client.person.prompts == []


@pytest.mark.parametrize(
    ("how", "answer", "fits", "refused"),
    [
        ("confirm", YES, "True", "False"),
        ("elicit", accept(**ORDER), "WH-7 3", "raises TooManyPrompts"),
        ("ask", accept(**ORDER), "Accepted(WH-7 3)", "raises TooManyPrompts"),
    ],
)
async def test_the_33rd_open_prompt_fails_at_once(
    client: Client, how: str, answer: Reply, fits: str, refused: str
) -> None:
    client.person.will(*[answer] * 40)
    with anyio.fail_after(PATIENCE):
        learnt = (await client.call("crowd", {"how": how, "count": 33})).value
        assert sorted(learnt) == sorted([fits] * 32 + [refused])
        assert len(client.person.prompts) == 32
        assert (await client.call("outcome", {"how": how})).text == fits


@of_kind(*OFFICIAL)
async def test_the_33rd_open_prompt_of_a_session_fails_whatever_call_asks(client: Client) -> None:
    learnt: list[str] = []
    tag = str(uuid4())

    async def call() -> None:
        learnt.extend((await client.call("crowd", {"how": "elicit", "count": 20, "tag": tag})).value)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            group.start_soon(call)
            prompts = [await client.person.prompt() for _ in range(32)]
            assert (await client.call("until", {"entry": f"{tag}: 8 refused"})).value is True
            for prompt in prompts:
                prompt.answer(accept(**ORDER))
    assert sorted(learnt) == sorted([GOT] * 32 + ["raises TooManyPrompts"] * 8)


# Answers that no client gives by itself


@of_kind(*BY_HAND, OLD)
@each(IMPOSSIBLE)
async def test_field_36_what_a_handler_learns_when_the_client_says_that_the_person(
    client: Client, row: Row, how: str
) -> None:
    await learns(client, how, row.answer, expected=getattr(row, how))


# Clients that cannot ask


@of_kind(*BY_HAND)
@pytest.mark.parametrize("row", DECLARED, ids=str)
async def test_field_38_40_41_what_a_handler_learns_when_the_client_declares(
    kind: Kind, address: Address, row: Row
) -> None:
    async with kind.connect(address, capabilities=row.answer) as client:
        able = row.confirm == "True"
        for how in ("confirm", "elicit", "ask"):
            answer = YES if how == "confirm" else accept(**ORDER)
            await learns(client, how, *([answer] if able else []), expected=getattr(row, how))


async def test_field_37_a_client_without_a_person_is_not_asked(kind: Kind, address: Address) -> None:
    async with kind.connect(address, elicitation=False) as client:
        await learns(client, "confirm", expected="False")
        for how in ("elicit", "ask"):
            await learns(client, how, expected=UNABLE)
        assert client.person.prompts == []


# Nobody answers, or nobody is there any more


@pytest.fixture(scope="module")
def hasty_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hasty") / "journal"


@pytest.fixture(scope="module")
def hasty_url(hasty_journal: Path) -> Iterator[str]:
    with http_server(HASTY, env={"DEPOT_JOURNAL": str(hasty_journal)}) as (url, _):
        yield url


async def test_field_48_a_prompt_that_nobody_answers_in_time_counts_as_cancelled(
    kind: Kind, carrier: str, hasty_url: str, hasty_journal: Path
) -> None:
    address = hasty_url if carrier == "http" else mcp_command(HASTY)
    with anyio.fail_after(PATIENCE):
        async with kind.connect(address, env={"DEPOT_JOURNAL": str(hasty_journal)}) as client:
            for how, learnt in (("confirm", "False"), ("elicit", "None"), ("ask", "Cancelled()")):
                tag = f"late {uuid4()}"
                async with anyio.create_task_group() as group:
                    result = Later(group, client, "outcome", how, tag)
                    prompt = await client.person.prompt()
                    await written(hasty_journal, f"{tag}: {learnt}", PATIENCE)
                    if kind.withdraws:
                        await prompt.withdrawn.wait()
                    else:
                        prompt.answer(YES if how == "confirm" else accept(**ORDER))  # too late, and dropped
                assert result.text == learnt


@pytest.mark.parametrize(
    ("tool", "how", "lives"),
    [
        ("outcome", "confirm", "cancelled"),
        ("outcome", "elicit", "cancelled"),
        ("outcome", "ask", "cancelled"),
        ("outcomeSync", "confirm", "False, cancelled"),
        ("outcomeSync", "elicit", "cancelled"),
        ("outcomeSync", "ask", "cancelled"),
    ],
)
async def test_field_64_65_when_the_call_is_cancelled_its_handler_is_its_prompt_goes_and_the_next_call_works(
    client: Client, kind: Kind, tool: str, how: str, lives: str
) -> None:
    tag = f"cancelled {uuid4()}"
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(client.call, tool, {"how": how, "tag": tag})
            prompt = await client.person.prompt()
            group.cancel_scope.cancel()
        if kind.withdraws:
            await prompt.withdrawn.wait()
        else:
            prompt.answer(YES)  # too late, and dropped
        assert (await client.call("until", {"entry": f"{tag}: {lives}"})).value is True
        assert not any(f"{tag}: True" in entry for entry in json.loads(await client.read("tesseron://depot/journal")))
        await learns(client, "confirm", YES, expected="True")
