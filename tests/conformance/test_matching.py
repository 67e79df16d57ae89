"""Patterns and values: what fits, what does not, and what a scenario may not say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.testing.conformance.matching import Mismatch, fill, match, same, shown
from tesseron_py.testing.conformance.scenario import ScenarioError

plain_text = st.text().filter(lambda text: not text.startswith("~"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | plain_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_every_value_fits_itself(value: Any) -> None:
    assert match(value, value, {}) == {}
    assert same(value, value)
    assert fill(value, {}) == value


@given(st.dictionaries(plain_text, json_values, min_size=1), st.data())
def test_an_object_fits_with_more_in_it_and_not_with_less(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    less = {name: each for name, each in value.items() if name != key}
    match(less, value, {})
    match({**less, key: "~any"}, value, {})
    with pytest.raises(Mismatch):
        match(value, less, {})
    with pytest.raises(Mismatch):
        match({key: "~absent"}, value, {})
    match({key: "~absent"}, less, {})


@given(json_values, json_values)
def test_values_are_the_same_as_json_has_it(one: Any, other: Any) -> None:
    assert same([one], [other]) == same(one, other) == same({"x": one}, {"x": other})
    if same(one, other):
        match(one, other, {})


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (1, 1.0, True),
        ("1", 1, False),
        (None, False, False),
        ([], {}, False),
        ([1], [True], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("", None, False),
    ],
)
def test_kinds_are_kept_apart(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal


KINDS: dict[str, list[Any]] = {
    "~string": ["", "x"],
    "~number": [0, 1.5, -1],
    "~boolean": [True, False],
    "~object": [{}, {"a": 1}],
    "~array": [[], [1]],
}


def test_words_for_kinds_fit_their_kind_alone() -> None:
    for word in KINDS:
        for kind, values in {**KINDS, "null": [None]}.items():
            for value in values:
                match("~any", value, {})
                if kind == word:
                    match(word, value, {})
                else:
                    with pytest.raises(Mismatch, match=word):
                        match(word, value, {})


@pytest.mark.parametrize(
    ("expression", "text", "fits"),
    [
        ("^1\\.[0-9]+$", "1.22", True),
        ("^1\\.[0-9]+$", "1.22\n", False),
        ("b", "abc", True),
        ("^b", "abc", False),
        ("cost\\$", "cost$ 5", True),
        ("", "", True),
    ],
)
def test_an_expression_is_found_and_its_end_is_the_end(expression: str, text: str, fits: bool) -> None:
    if fits:
        match(f"~regex:{expression}", text, {})
    else:
        with pytest.raises(Mismatch):
            match(f"~regex:{expression}", text, {})
    with pytest.raises(Mismatch):
        match(f"~regex:{expression}", 5, {})


def test_captures_are_kept_and_a_failed_match_keeps_none() -> None:
    captures = match({"a": "~capture:x", "b": ["~capture:y"]}, {"a": None, "b": [{"deep": 1}]}, {"z": 0})
    assert captures == {"x": None, "y": {"deep": 1}, "z": 0}
    match({"a": "~ref:x", "b": "~ref:y"}, {"a": None, "b": {"deep": 1}}, captures)
    with pytest.raises(Mismatch, match=r'\~ref:y = \{"deep": 1\}, and \{"deep": 1, "more": 2\} came'):
        match("~ref:y", {"deep": 1, "more": 2}, captures)
    with pytest.raises(Mismatch):
        match({"a": "~capture:x", "b": 2}, {"a": 1, "b": 3}, captures)
    assert captures["x"] is None
    for absent in ("~capture:x", "~ref:x", "~fill:1"):
        with pytest.raises(Mismatch, match="nothing came"):
            match({"c": absent}, {}, captures)


def test_a_reference_and_a_filling_are_put_in_at_any_depth() -> None:
    value = fill({"id": "~ref:x", "list": ["~fill:3", {"y": "~ref:x"}], "n": 1}, {"x": {"a": None}})
    assert value == {"id": {"a": None}, "list": ["xxx", {"y": {"a": None}}], "n": 1}
    match("~fill:3", "xxx", {})


@pytest.mark.parametrize("word", ["~", "~strin", "~String", "~ref:none", "~capture:", "~fill:x", "~fill:", "~any:x"])
def test_a_word_there_is_none_of_is_an_error_of_the_scenario(word: str) -> None:
    with pytest.raises(ScenarioError):
        match({"a": word}, {"a": 1}, {})
    with pytest.raises(ScenarioError):
        fill([word], {})


def test_an_expression_that_is_none_is_an_error_of_the_scenario() -> None:
    with pytest.raises(ScenarioError, match="no regular expression"):
        match("~regex:(", "x", {})


def test_values_are_shown_shortened() -> None:
    assert shown({"a": "ü"}) == '{"a": "ü"}'
    assert shown("x" * 1000).endswith("… (1002 characters)")
