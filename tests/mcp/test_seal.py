"""The seal of a `requestState`: nobody but this server makes one, and it opens for the very call it was made for."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.mcp.messages import ProtocolError
from tesseron_py.mcp.seal import Seal, State, binding_of

OLD, NEW = "the old key, long enough", "the new key, long enough"
CALL = bytes(range(16))
BINDING = binding_of("local", "tools/call", "pay", {"amount": 5})


def refused(seal: Seal, text: str, binding: bytes = BINDING) -> str:
    with pytest.raises(ProtocolError) as caught:
        seal.open(text, binding)
    assert caught.value.code == -32602
    return caught.value.message


def test_a_state_opens_for_the_call_it_was_made_for() -> None:
    seal = Seal(lifetime=60)
    state = State(CALL, asked=7)
    texts = {seal.close(state, BINDING) for _ in range(10)}
    assert len(texts) == 10
    for text in texts:
        assert text.isascii()
        assert seal.open(text, BINDING) == state


def test_each_changed_character_is_noticed() -> None:
    seal = Seal(lifetime=60)
    text = seal.close(State(CALL, 1), BINDING)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="
    for place, was in enumerate(text):
        for other in random.Random(place).sample(alphabet.replace(was, ""), 8):
            refused(seal, text[:place] + other + text[place + 1 :])


def test_each_changed_byte_is_noticed() -> None:
    seal = Seal(lifetime=60)
    sealed = base64.urlsafe_b64decode(seal.close(State(CALL, 1), BINDING))
    for place in range(len(sealed)):
        for bit in range(8):
            changed = bytearray(sealed)
            changed[place] ^= 1 << bit
            refused(seal, base64.urlsafe_b64encode(changed).decode())


def test_a_state_that_is_cut_lengthened_or_written_otherwise_is_none() -> None:
    seal = Seal(lifetime=60)
    text = seal.close(State(CALL, 1), BINDING)
    for length in range(len(text)):
        refused(seal, text[:length])
    for more in ("=", "A", "\n", " ", text):
        refused(seal, text + more)
        refused(seal, more + text)
    refused(seal, text.rstrip("="))
    refused(seal, text.rstrip("=") + "AA")
    stray = text.rstrip("=")
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(stray[-1])
    refused(seal, stray[:-1] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last ^ 1] + "==")
    refused(seal, text.translate(str.maketrans("-_", "+/")) + ("" if set(text) & set("-_") else "+"))
    refused(seal, "é" * len(text))


@pytest.mark.parametrize(
    "other",
    [
        ("token-1", "tools/call", "pay", {"amount": 5}),
        ("local", "prompts/get", "pay", {"amount": 5}),
        ("local", "tools/call", "refund", {"amount": 5}),
        ("local", "tools/call", "pay", {"amount": 6}),
        ("local", "tools/call", "pay", {"amount": "5"}),
        ("local", "tools/call", "pay", {"amount": 5, "to": None}),
        ("local", "tools/call", "pay", {}),
        ("local", "tools/call", 'pay",{"amount":5}', {}),
    ],
)
def test_a_state_of_something_else_is_none(other: Any) -> None:
    seal = Seal(lifetime=60)
    assert "another user, method, name or arguments" in refused(seal, seal.close(State(CALL, 1), binding_of(*other)))
    refused(seal, seal.close(State(CALL, 1), BINDING), binding_of(*other))


def test_the_order_of_members_makes_no_difference() -> None:
    one = {"a": {"x": 1, "y": [1, {"p": 1, "q": 2}]}, "b": "ü\ud800"}
    two = {"b": "ü\ud800", "a": {"y": [1, {"q": 2, "p": 1}], "x": 1}}
    assert binding_of("local", "tools/call", "pay", one) == binding_of("local", "tools/call", "pay", two)
    two["a"]["y"].reverse()  # type: ignore[index]
    assert binding_of("local", "tools/call", "pay", one) != binding_of("local", "tools/call", "pay", two)


def test_a_state_of_another_server_is_none() -> None:
    text = Seal(lifetime=60).close(State(CALL, 1), BINDING)
    assert "another server" in refused(Seal(lifetime=60), text)
    assert "another server" in refused(Seal([OLD], lifetime=60), text)


def test_a_state_holds_for_its_lifetime() -> None:
    now = 1000.5
    seal = Seal(lifetime=60, clock=lambda: now)
    text = seal.close(State(CALL, 1), BINDING)
    now = 1060.499
    assert not seal.open(text, BINDING).expired
    now = 1060.5
    assert seal.open(text, BINDING).expired


def test_keys_are_shared_and_rotated() -> None:
    old, both, new = Seal([OLD], lifetime=60), Seal([NEW, OLD], lifetime=60), Seal([NEW], lifetime=60)
    text = old.close(State(CALL, 1), BINDING)
    assert Seal([OLD], lifetime=60).open(text, BINDING) == both.open(text, BINDING) == State(CALL, 1)
    refused(new, text)
    text = both.close(State(CALL, 2), BINDING)
    assert new.open(text, BINDING) == both.open(text, BINDING) == State(CALL, 2)
    refused(old, text)
    assert Seal([OLD, OLD], lifetime=60).open(old.close(State(CALL, 3), BINDING), BINDING).asked == 3


@pytest.mark.parametrize("keys", [[""], ["short"], [OLD, "x" * 15]])
def test_a_short_key_is_refused_with_the_mend(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="openssl rand -hex 32"):
        Seal(keys, lifetime=60)


SEAL = Seal(lifetime=1e6)
REAL = SEAL.close(State(CALL, 1), BINDING)


@given(
    st.text()
    | st.text(alphabet="ABCDwxyz0189-_=+/ \n", min_size=len(REAL), max_size=len(REAL))
    | st.binary(min_size=70, max_size=80).map(lambda raw: base64.urlsafe_b64encode(raw).decode())
)
def test_no_text_does_anything_but_be_refused(text: str) -> None:
    refused(SEAL, text)


@given(st.integers(0, len(REAL) - 1), st.characters())
def test_no_change_of_a_state_is_one(place: int, character: str) -> None:
    changed = REAL[:place] + character + REAL[place + 1 :]
    if changed == REAL:
        assert SEAL.open(changed, BINDING) == State(CALL, 1)
    else:
        refused(SEAL, changed)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values), st.randoms())
def test_any_arguments_bind_whatever_their_order(arguments: dict[str, Any], shuffle: random.Random) -> None:
    members = list(arguments.items())
    shuffle.shuffle(members)
    assert binding_of("p", "m", "n", arguments) == binding_of("p", "m", "n", dict(members))
