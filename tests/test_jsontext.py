"""JSON on the wire: what `jsontext` takes, refuses and puts out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tesseron_py.jsontext import MAX_NESTING, decode, encode

finite_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


NO_JSON = ["", "{", "nope", '{"a":NaN}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":1e400}', "1" * 400 + ".0"]
NO_TEXT = ['"\\ud800"', '"\ud800"', "[" * 300 + "]" * 300, "\ufeff{}", "1 2", b"\xff", b'{"a":"\xff"}']


@pytest.mark.parametrize("text", NO_JSON + NO_TEXT)
def test_field_25_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(text)


@given(
    before=st.text("x ,", max_size=70),
    digits=st.integers(1, 400),
    fraction=st.sampled_from(["", ".5"]),
    exponent=st.none() | st.tuples(st.sampled_from(["e", "E"]), st.sampled_from(["", "+", "-"]), st.integers(0, 400)),
)
def test_field_25_a_number_beyond_a_float_is_refused_wherever_it_stands(
    before: str, digits: int, fraction: str, exponent: tuple[str, str, int] | None
) -> None:
    number = "1" * digits + fraction + ("" if exponent is None else "".join(map(str, exponent)))
    text = json.dumps([before])[:-1] + f",{number}]"
    whole = "e" not in number.lower() and not fraction
    if float(number) == float("inf"):
        with pytest.raises(ValueError, match="too large"):
            decode(text)
    else:
        assert decode(text)[1] == (int(number) if whole else float(number))


@pytest.mark.parametrize("digits", [310, 4300, 4301, 100_000])
def test_an_integer_beyond_a_float_does_not_go_out_either(digits: int) -> None:
    number = 10 ** (digits - 1)
    for value in (number, -number, {"a": [number]}, ["1" * 400, number]):
        with pytest.raises(ValueError, match="too large"):
            encode(value)
    assert decode(encode("1" * digits)) == "1" * digits
    assert decode(encode(10**308)) == 10**308


def test_a_string_that_looks_like_a_huge_number_is_a_string() -> None:
    assert decode('{"a":"1e999","b":1e10}') == {"a": "1e999", "b": 1e10}


def test_field_25_nan_and_infinity_go_out_as_null() -> None:
    assert encode([float("nan"), float("inf"), float("-inf")]) == "[null,null,null]"


def test_a_lone_surrogate_goes_out_replaced_wherever_it_is() -> None:
    class Note(BaseModel):
        text: str

    value = {"k\ud800": ["a\udc00b", {"x": Note(text="\ud801")}], "plain": "\U0001f600"}
    assert json.loads(encode(value)) == {"k\ufffd": ["a\ufffdb", {"x": {"text": "\ufffd"}}], "plain": "\U0001f600"}


def test_field_24_what_pydantic_knows_is_encoded() -> None:
    value = {"d": date(2026, 1, 2), "u": UUID(int=1), "s": {3}, "b": b"hi"}
    assert json.loads(encode(value)) == {
        "d": "2026-01-02",
        "u": "00000000-0000-0000-0000-000000000001",
        "s": [3],
        "b": "aGk=",
    }


def test_bytes_become_base64_in_models_too_where_they_are_no_text() -> None:
    class File(BaseModel):
        data: bytes
        day: date

    value = [b"\xfb\xff", {"x": File(data=b"\xfb\xff", day=date(2026, 1, 2))}]
    assert json.loads(encode(value)) == ["+/8=", {"x": {"data": "+/8=", "day": "2026-01-02"}}]


def test_what_cannot_be_encoded_is_a_value_error() -> None:
    loop: list[object] = []
    loop.append(loop)
    for value in (object(), loop, {"a": object()}):
        with pytest.raises(ValueError, match=r".+"):
            encode(value)


@pytest.mark.parametrize("deep", [MAX_NESTING, MAX_NESTING + 1])
def test_nesting_stops_where_the_other_end_could_not_read_it(deep: int) -> None:
    value: list[object] = []
    for _ in range(deep - 1):
        value = [value]
    if deep <= MAX_NESTING:
        assert decode(encode(value)) == value
    else:
        with pytest.raises(ValueError, match="nests deeper"):
            encode(value)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert decode(encode([[]] * 500 + ['[{"' * 300])) == [[]] * 500 + ['[{"' * 300]


@given(finite_json)
def test_what_goes_out_comes_in_again(value: object) -> None:
    text = encode(value)
    assert "\n" not in text
    assert decode(text) == value
    assert decode(text.encode()) == value


@given(st.text() | st.binary())
def test_decoding_raises_value_error_or_nothing(text: str | bytes) -> None:
    try:
        decode(text)
    except ValueError:
        pass


def test_what_comes_in_may_nest_as_deep_as_what_goes_out_and_no_deeper() -> None:
    for open, inner, close in (("[", "1", "]"), ('{"a":', "1", "}"), ('[{"a":', "[]", "}]")):
        levels = open.count("[") + open.count("{")
        for deep in range(MAX_NESTING // levels - 8, MAX_NESTING // levels + 20):
            text = open * deep + inner + close * deep
            depth = deep * levels + (inner == "[]")
            for came in (text, text.encode()):
                if depth <= MAX_NESTING:
                    assert encode(decode(came)) == text
                else:
                    with pytest.raises(ValueError, match=r"deeper|recursion"):
                        decode(came)


@pytest.mark.parametrize("tail", ["],[", "1],[2", "1,2", "", "]", "[", "],[" * 10, "]" * 10 + "[" * 10])
def test_text_with_many_brackets_is_json_to_the_letter(tail: str) -> None:
    many = json.dumps([[]] * MAX_NESTING)
    assert decode(many) == [[]] * MAX_NESTING
    for text in (many + tail, tail + many) if tail else ("[" * 400 + " ",):
        with pytest.raises(ValueError, match=r"line 1|column"):
            decode(text)
        with pytest.raises(ValueError, match=r"line 1|column"):
            decode(text.encode())


def broken(error: BaseException) -> Iterator[Any]:
    yield "\ud800"
    raise error


@pytest.mark.parametrize("error", [KeyError("k"), SystemExit(1), KeyboardInterrupt(), RecursionError(), RuntimeError()])
def test_whatever_encoding_runs_into_is_a_value_error(error: BaseException) -> None:
    for value in ({("a", "\ud800"): 1}, [broken(error)], ["\ud800", broken(error)], {"a": {"\ud800": object()}}):
        with pytest.raises(ValueError, match=r".+"):
            encode(value)
