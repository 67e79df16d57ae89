"""Foreign text on a terminal: nothing in it acts."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.jsontext import encode
from tesseron_py.plain import plain, plain_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, snow \u2603", "plain words, snow \u2603"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("two\nlines\r\tand a tab", r"two\nlines\r\tand a tab"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("admin\u202etxt.exe", r"admin\u202etxt.exe"),
        ("a\u2028b\u200bc\ufeff", r"a\u2028b\u200bc\ufeff"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
    ],
)
def test_field_53_characters_that_act_are_escaped(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(st.characters(exclude_categories=[])))
def test_nothing_of_the_control_category_is_left(text: str) -> None:
    assert all(unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") for char in plain(text))
    assert "\n" not in plain(text)


@given(st.text() | st.dictionaries(st.text(), st.text()))
def test_json_stays_the_same_json(value: object) -> None:
    line = plain_json(encode(value))
    assert json.loads(line) == value
    assert len(line.splitlines()) == 1
    assert plain(line) == line
