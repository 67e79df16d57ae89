"""What a bad app costs: itself, and neither another app nor the agent. Each ends in a clear error and a log line."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from .house import CLAIM, PENDING, House, failure_of
from .house import house as a_house
from .rogue import ACTION, CONFIRM, Line, Rogue

MALFORMED: list[str | bytes] = [
    "{",
    "",
    "nonsense",
    "null",
    "7",
    '"text"',
    "[]",
    '[{"jsonrpc": "2.0", "id": 1, "method": "tesseron/hello"}]',
    '{"jsonrpc": "1.0", "id": 1, "method": "tesseron/hello"}',
    '{"jsonrpc": "2.0", "id": {}, "method": "tesseron/hello"}',
    '{"jsonrpc": "2.0", "id": 1, "method": 7}',
    '{"jsonrpc": "2.0", "id": 98, "error": null}',
    '{"jsonrpc": "2.0", "id": null, "result": 1}',
    '{"jsonrpc": "2.0", "id": 99, "result": {"output": 1}}',
    '{"jsonrpc": "2.0", "id": 99, "error": {"code": "x"}}',
    '{"jsonrpc": "2.0", "method": "log"}',
    '{"jsonrpc": "2.0", "method": "log", "params": {"message": 7, "level": []}}',
    '{"jsonrpc": "2.0", "method": "actions/progress"}',
    '{"jsonrpc": "2.0", "method": "actions/progress", "params": {"invocationId": ["i-1"], "percent": "x"}}',
    '{"jsonrpc": "2.0", "method": "actions/list_changed"}',
    '{"jsonrpc": "2.0", "method": "actions/list_changed", "params": {"actions": 7}}',
    '{"jsonrpc": "2.0", "method": "resources/list_changed", "params": null}',
    '{"jsonrpc": "2.0", "method": "resources/updated"}',
    '{"jsonrpc": "2.0", "method": "resources/updated", "params": {"subscriptionId": {}}}',
    '{"jsonrpc": "2.0", "method": "elicitation/withdraw", "params": {"invocationId": "i-1", "requestId": {}}}',
    '{"jsonrpc": "2.0", "method": "log", "params": {"message": "x", "meta": NaN}}',
    '{"jsonrpc": "2.0", "id": 5, "method": "tesseron/hello", "params": {}}',
    '{"jsonrpc": "2.0", "id": 6, "method": "tesseron/resume", "params": {}}',
    '{"jsonrpc": "2.0", "id": 7, "method": "elicitation/request"}',
    '{"jsonrpc": "2.0", "id": 8, "method": "sampling/request", "params": []}',
    "[" * 100_000,
    '{"a":' * 5_000 + "1" + "}" * 5_000,
    "😀 \x00",
    b'{"jsonrpc": "2.0", "method": "log", "params": {"message": "as bytes"}}',
]
_ids = (f"rogue{number}" for number in itertools.count(1))
_tags = (f"steady {number}" for number in itertools.count(1))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway, an app that behaves, and an agent that has claimed it."""
    with a_house("ws", tmp_path_factory.mktemp("house")) as made:
        made.claim()
        yield made


@contextmanager
def undisturbed(house: House) -> Iterator[int]:
    """While the body lasts, the good app is in the middle of a call with its prompt open, and that goes well; so does
    whatever else the agent wants. Gives how many lines the gateway had logged before."""
    tag = next(_tags)
    call = house.agent.begin("depot__outcome", how="confirm", tag=tag)
    prompt = house.agent.prompt()
    shown = house.app.said
    try:
        yield house.gateway.said
    except BaseException:
        house.agent.answer(prompt, "cancel")
        raise
    assert house.agent.heard("prompt") == []
    assert {"event": "withdrawn", "prompt": prompt["prompt"]} not in house.agent.heard("withdrawn")
    house.agent.answer(prompt, "yes")
    assert house.agent.result(call)["text"] == "True"
    assert quick(house) < 2
    assert house.app.said_after(shown) == ""
    assert house.gateway.process.poll() is None
    assert "Traceback" not in house.gateway.errors
    house.agent.forget("withdrawn")


def quick(house: House) -> float:
    """Seconds that a call to the good app takes."""
    began = time.monotonic()
    assert house.agent.value("depot__echo", text="on") == "on"
    return time.monotonic() - began


@contextmanager
def a_rogue(house: House, **options: Any) -> Iterator[tuple[Rogue, Line]]:
    """A rogue that the agent has claimed."""
    with Rogue(house.home, next(_ids), **options) as rogue:
        line, code = rogue.welcomed()
        house.agent.value(CLAIM, code=code)
        assert line.next()["method"] == "tesseron/claimed"
        yield rogue, line


def calling(house: House, rogue: Rogue, line: Line, action: str = "work") -> tuple[int, dict[str, Any]]:
    """A call of the rogue's that is under way: the agent's request, and the gateway's."""
    call = house.agent.begin(f"{rogue.id}__{action}")
    return call, line.next()


def test_malformed_frames(house: House) -> None:
    with undisturbed(house) as logged, Rogue(house.home, next(_ids)) as unclaimed, a_rogue(house) as (rogue, line):
        before = unclaimed.line()
        for frame in MALFORMED:
            if not isinstance(frame, str) or "tesseron/hello" not in frame or "params" not in frame:
                before.socket.send(frame)
        waiting, _ = unclaimed.welcomed(before)
        call, request = calling(house, rogue, line)
        for each in (waiting, line):
            for frame in MALFORMED:
                each.socket.send(frame)
            each.send(id="last", method="what/ever")
            while each.next().get("id") != "last":
                pass
        line.send(id=request["id"], result={"output": "done all the same"})
        assert house.agent.result(call)["text"] == "done all the same"
        house.gateway.wait_line("warning: An app sent a frame that is none", logged)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"error": None}, -32603),
        ({"result": None}, -32603),
        ({"result": 7}, -32603),
        ({"result": {}}, -32603),
        ({}, -32603),
        ({"error": {"code": "x"}}, -32603),
        ({"error": {"code": -32005, "message": "broken", "data": {"x": [1]}}}, -32005),
        ({"error": {"code": 7, "message": "unheard of"}}, 7),
    ],
)
def test_an_answer_that_is_none_ends_its_call_alone(house: House, answer: dict[str, Any], code: int) -> None:
    with undisturbed(house), a_rogue(house) as (rogue, line):
        (first, request), (second, other) = calling(house, rogue, line), calling(house, rogue, line)
        line.send(id=request["id"], **answer)
        assert failure_of(house.agent.result(first))[0] == code
        line.send(id=other["id"], result={"output": "on"})
        assert house.agent.result(second)["text"] == "on"


def test_bytes_that_are_no_text_cost_their_own_connection_at_most(house: House) -> None:
    with undisturbed(house), a_rogue(house) as (rogue, line):
        call, request = calling(house, rogue, line)
        line.socket.send(b"\xff\xfe")
        try:
            assert line.next()["error"]["code"] == -32700
            line.send(id=request["id"], result={"output": "done all the same"})
            assert house.agent.result(call)["text"] == "done all the same"
        except ConnectionClosed:
            assert failure_of(house.agent.result(call))[0] == -32010


def test_a_flood_that_is_read(house: House) -> None:
    text = json.dumps({"jsonrpc": "2.0", "method": "log", "params": {"level": "warn", "message": "x" * 100}})
    other = json.dumps({"jsonrpc": "2.0", "method": "actions/list_changed", "params": {"actions": [ACTION]}})
    with undisturbed(house), a_rogue(house) as (rogue, line), Rogue(house.home, next(_ids)) as unclaimed:
        waiting, _ = unclaimed.welcomed()
        call, request = calling(house, rogue, line)
        took = []
        for _ in range(10):
            for _ in range(1_000):
                line.socket.send(text)
                line.socket.send(other)
                waiting.socket.send(text)
                waiting.socket.send(other)
            took.append(quick(house))
        assert max(took) < 5, took
        line.send(id=request["id"], result={"output": "done"})
        assert house.agent.result(call)["text"] == "done"


def test_a_flood_by_an_app_that_does_not_read(house: House) -> None:
    ask = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 20_000})
    with undisturbed(house) as logged, a_rogue(house) as (rogue, line):
        call, _ = calling(house, rogue, line)
        with suppress(OSError):  # where it is dropped before it has said all
            for _ in range(5_000):
                line.socket.socket.sendall(_frame(ask))
        code, message = failure_of(house.agent.result(call))
        assert code == -32010
        assert f"The {rogue.id}" in message
        house.gateway.wait_line(f"warning: .* messages wait for The {rogue.id}, which does not read", logged)


def _frame(text: str) -> bytes:
    """A WebSocket frame of a server's, written past the library, which would read what comes back."""
    data = text.encode()
    return b"\x81\x7e" + len(data).to_bytes(2, "big") + data


def test_a_giant_frame(house: House) -> None:
    with undisturbed(house) as logged, a_rogue(house) as (rogue, line):
        call, request = calling(house, rogue, line)
        with pytest.raises(ConnectionClosed):
            line.send(id=request["id"], result={"output": "x" * 9 * 1024 * 1024})
            line.next()
        assert line.closed() == 1009
        code, message = failure_of(house.agent.result(call))
        assert code == -32010
        assert f"The {rogue.id}" in message
        house.gateway.wait_line(rf"warning: .*The {rogue.id} ended with 1 call under way", logged)
        again, _ = rogue.welcomed()  # the gateway comes back
        again.answers()


def test_an_app_that_never_answers(house: House) -> None:
    lazy = [{**ACTION, "timeoutMs": 1}]
    with undisturbed(house) as logged, a_rogue(house, actions=lazy) as (rogue, line):
        calls = [calling(house, rogue, line) for _ in range(5)]
        for call, _ in calls:
            code, message = failure_of(house.agent.result(call))
            assert code == -32002
            assert f"The {rogue.id} has not answered" in message
        told = [line.next()["params"]["invocationId"] for _ in calls]
        assert told == [request["params"]["invocationId"] for _, request in calls]
        house.gateway.wait_line(f"warning: The {rogue.id} has not answered the call of work", logged)
        line.answers()


def test_an_app_that_says_nothing_at_all(house: House) -> None:
    code = "QQ22-22"
    with (
        undisturbed(house) as logged,
        Rogue(house.home, next(_ids)),
        Rogue(house.home, next(_ids), claim=code) as rogue,
    ):
        house.until(lambda: len(house.agent.value(PENDING)) == 1)
        call = house.agent.begin(CLAIM, code=code)
        rogue.line()
        assert quick(house) < 2
        assert failure_of(house.agent.result(call)) == (
            -32603,
            "The app did not answer in time; try again, or restart it",
        )
        house.gateway.wait_line("warning: An app said no hello within 10 s", logged)


def test_an_app_that_nobody_has_claimed_reaches_nobody(house: House) -> None:
    with undisturbed(house), Rogue(house.home, next(_ids)) as rogue:
        line, _ = rogue.welcomed()
        for id in range(1, 40):
            line.send(id=f"e-{id}", method="elicitation/request", params={**CONFIRM, "invocationId": f"i-{id}"})
            assert line.next()["error"]["code"] == -32009
        line.send(id="s-1", method="sampling/request", params={"invocationId": "i-1", "prompt": "Say yes"})
        assert line.next()["error"]["code"] == -32009
        line.send(method="actions/list_changed", params={"actions": []})
        line.send(method="elicitation/withdraw", params={"invocationId": "i-1", "requestId": 1})
        line.answers()


def test_an_app_cannot_ask_within_another_ones_call(house: House) -> None:
    with undisturbed(house), a_rogue(house) as (_, line):
        for id in range(1, 200):
            line.send(id=f"e-{id}", method="elicitation/request", params={**CONFIRM, "invocationId": f"i-{id}"})
            assert line.next()["error"]["code"] == -32602
            line.send(method="actions/progress", params={"invocationId": f"i-{id}", "percent": 100})
            line.send(method="elicitation/withdraw", params={"invocationId": f"i-{id}", "requestId": 1})


def test_an_app_that_crashes_with_prompts_open(house: House) -> None:
    with undisturbed(house) as logged, a_rogue(house) as (rogue, line):
        call, request = calling(house, rogue, line)
        for id in range(20):
            asked = {**CONFIRM, "invocationId": request["params"]["invocationId"]}
            line.send(id=f"e-{id}", method="elicitation/request", params=asked)
        prompts = [house.agent.prompt() for _ in range(20)]
        line.socket.socket.close()
        line.over.set()
        for prompt in prompts:
            house.agent.next(event="withdrawn", prompt=prompt["prompt"])
        assert failure_of(house.agent.result(call))[0] == -32010
        house.gateway.wait_line(rf"warning: .*The {rogue.id} ended with 1 call under way", logged)
        house.agent.tools_until(lambda tools: f"{rogue.id}__work" not in tools)


def test_what_an_app_is_called_does_nothing_to_the_log_or_the_list(house: House) -> None:
    odd = [
        {"name": "\x1b[2J", "inputSchema": {"type": "object"}},
        {"name": "a b.c", "inputSchema": {"type": "object"}},
        {"name": "fine", "inputSchema": {"type": ["object"]}, "annotations": 7, "timeoutMs": "soon"},
        {"name": "x" * 500},
        {"name": 7},
        7,
    ]
    with undisturbed(house), a_rogue(house, actions=odd) as (rogue, line):
        listed = [tool for tool in house.agent.tools() if tool.startswith(rogue.id)]
        assert listed == [f"{rogue.id}__fine"]
        call, request = calling(house, rogue, line, "fine")
        line.send(id=request["id"], result={"no": "output"})
        code, message = failure_of(house.agent.result(call))
        assert (code, message) == (-32603, "The app's answer to the call has no output")
        assert "\x1b" not in house.gateway.errors
