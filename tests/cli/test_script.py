"""The script of `tesseron-py agent`: what may be written, and what is said about the rest."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.cli.failure import Failure
from tesseron_py.cli.script import Call, List, Queue, Read, Schema, Wait, duration, parse
from tesseron_py.invocation import Accept, Cancel, Decline


@pytest.mark.parametrize(
    ("line", "directive"),
    [
        ("", None),
        ("   \t ", None),
        ("# anything @x {", None),
        ("  # indented", None),
        ("wait 500ms", Wait(0.5)),
        ("wait 2s\r\n", Wait(2.0)),
        ("wait 0.5s", Wait(0.5)),
        ("claim ABCD-EF", Call("tesseron__claim_session", {"code": "ABCD-EF"})),
        ('elicit-accept {"qty": 7}', Queue(Accept({"qty": 7}))),
        ("elicit-accept {}", Queue(Accept({}))),
        ("elicit-decline", Queue(Decline())),
        ("@tick", Call("tick", {})),
        ("@shop__add {}", Call("shop__add", {})),
        ('  @shop__add   {"text": "a  b", "n": 0.5} ', Call("shop__add", {"text": "a  b", "n": 0.5})),
        ('@x\t{"a":1}', Call("x", {"a": 1})),
        ('@x {"a":"two words"}', Call("x", {"a": "two words"})),
        ("@a.b/c", Call("a.b/c", {})),
        ("read tesseron://shop/all items", Read("tesseron://shop/all items")),
        ("list", List()),
        ("schema shop__add", Schema("shop__add")),
        ("schema @add", Schema("add")),
    ],
)
def test_what_may_be_written(line: str, directive: object) -> None:
    assert parse(line, 1) == directive


def test_a_cancel_is_queued() -> None:
    directive = parse("elicit-cancel", 1)
    assert isinstance(directive, Queue)
    assert isinstance(directive.answer, Cancel)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "unknown directive 'hello'; known are: wait 500ms"),
        ("Wait 1s", "unknown directive"),
        ("elicit", "unknown directive"),
        ('{"method":"ping"}', "unknown directive"),
        ("@", "the name of a tool is missing"),
        ("list tools", "list stands alone"),
        ("schema", "schema needs the name of a tool; list shows them"),
        ('@x{"a": 1}', "a space is missing before the { in '@x{\"a\":'"),
        ('@x {"a": }', "what follows @x is not JSON: expected value at its character 7"),
        ("@ x", "the name of a tool is missing"),
        ("@x {", "what follows @x is not JSON"),
        ("@x NaN", "what follows @x is not JSON"),
        ('@x {"a":NaN}', "what follows @x is not JSON"),
        ("@x [1]", "must be a JSON object"),
        ("@x null", "must be a JSON object"),
        ("@x {} {}", "is not JSON"),
        ("wait", "wait needs how long"),
        ("wait 5", "'5' is no duration; write it like 500ms or 2s"),
        ("wait 5 s", "no duration"),
        ("wait -1s", "no duration"),
        ("wait \u0665s", "no duration"),
        ("wait soon", "no duration"),
        ("claim", "claim needs the claim code"),
        ("read", "read needs the URI"),
        ("elicit-accept", "elicit-accept needs a JSON object, like {}"),
        ("elicit-accept 7", "must be a JSON object"),
        ("elicit-accept yes", "is not JSON"),
        ("elicit-decline now", "stands alone, and here 'now' follows it"),
        ("elicit-cancel {}", "stands alone"),
    ],
)
def test_what_may_not_be_written_is_named_with_its_line(line: str, says: str) -> None:
    with pytest.raises(Failure) as raised:
        parse(line, 12)
    assert raised.value.message.startswith("line 12: ")
    assert says in raised.value.message
    assert raised.value.code == 2


@given(st.text())
def test_any_line_is_a_directive_or_a_failure(line: str) -> None:
    with suppress(Failure):
        parse(line, 1)


@given(st.integers(0, 10**8), st.sampled_from(["ms", "s"]))
def test_durations(count: int, unit: str) -> None:
    assert duration(f"{count}{unit}") == pytest.approx(count / 1000 if unit == "ms" else count)
