r"""Patterns mean what they mean in JSON Schema."""

from __future__ import annotations

import re

import pytest

from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.schema.ecma import compiled, matches
from tesseron_py.schema.elicitation import form_for_json_schema


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        ("^[a-z]+$", ["abc"], ["abc\n", "abc\n\n", "Abc"]),
        (r"^\d+$", ["12"], ["٣", "１"]),
        (r"^\w$", ["a", "_"], ["ä", "٣"]),
        (r"^[\w-]+$", ["a-b"], ["ü"]),
        (r"^a\sb$", ["a b", "a\u00a0b", "a\ufeffb", "a\nb"], ["a\x1cb"]),
        (r"^[\s]$", ["\u2003"], ["\x1c"]),
        (r"^\S$", ["a", "\x1c"], ["\u2003", " "]),
        ("^a.b$", ["axb", "a\x85b"], ["a\nb", "a\u2028b", "a\rb"]),
        (r"^[.$]\.\$$", ["..$", "$.$"], ["x.$"]),
        (r"\\$", ["\\"], ["\\\n"]),
        ("x(?=y)", ["xy"], ["xz"]),
        (r"[\]$]", ["]", "$"], ["\n"]),
        (r"^[\S]+$", ["ab", "\x1c"], ["a\u00a0b", "a b", "\ufeff"]),
        (r"^[^\S]$", [" ", "\u00a0"], ["a"]),
        (r"^[^\s]+$", ["ab"], ["a\u00a0b"]),
        (r"^[\Da]$", ["a", "\u0663"], ["1"]),
        (r"^(?<y>\d)\k<y>$", ["11"], ["12"]),
        (r"^(a)?b\1$", ["b", "aba"], ["ba"]),
        (r"^(?<x>a)?b\k<x>$", ["b", "aba"], ["ba"]),
        ("^[^]$", ["a", "\n", "\U0001f600"], ["", "ab"]),
        (r"^\u{61}\u{1F600}$", ["a\U0001f600"], ["u"]),
        (r"^\uD83D\uDE00\u0041\x42$", ["\U0001f600AB"], ["x"]),
        ("^.$", ["\U0001f600"], ["\u2029"]),
        (r"^\cA[\cb\b\0]\t$", ["\x01\x02\t", "\x01\b\t", "\x01\0\t"], ["A"]),
        (r"^[\w-.]+$", ["a-."], [","]),
        (r"^[a-\d]$", ["a", "-", "5"], ["b"]),
        (r"^[+--]$", ["+", ",", "-"], ["."]),
        (r"^[a-]$", ["a", "-"], ["b"]),
        ("^[a&&[]$", ["a", "&", "["], ["]"]),
        ("^[~~||]$", ["~", "|"], ["a"]),
        ("^{a}]$", ["{a}]"], ["a"]),
        ("^a{2}b{1,}?c{0,1}$", ["aabb", "aabc"], ["ab"]),
        ("^(?:a+?|b*?)$", ["aa", "bb", ""], ["ab"]),
        ("(?<=a)b(?!c)|(?<!x)y", ["ab", "y"], ["abc", "xy"]),
        (r"^\-\@\/\ä# $", ["-@/ä# "], ["-@/ä#"]),
        (r"\bab\B", ["abc"], ["ab", "xabc"]),
    ],
)
def test_a_pattern_finds_what_ecmascript_finds(pattern: str, found: list[str], not_found: list[str]) -> None:
    properties = {"v": {"type": "string", "pattern": pattern}}
    form = form_for_json_schema({"type": "object", "properties": properties, "required": ["v"]})
    for text in found:
        assert form.parse({"v": text}) == {"v": text}
    for text in not_found:
        with pytest.raises(InvalidAnswer):
            form.parse({"v": text})


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(re.error):
        compiled("a\\")
    for wrong in ("(", "[", 5):
        with pytest.raises(InvalidSchema, match="pattern"):
            form_for_json_schema({"type": "object", "properties": {"v": {"type": "string", "pattern": wrong}}})


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"^a{,2}$", "lower limit"),
        ("^a++$", r"nothing that \+ repeats"),
        ("a**", "nothing that"),
        ("a{2}{3}", r"nothing that \{3\} repeats"),
        ("(?>a)b", r"of the groups with \(\?"),
        ("(?x) a b", r"of the groups with \(\?"),
        ("(?i)abc", r"of the groups with \(\?"),
        ("(?i:abc)", r"of the groups with \(\?"),
        ("(?P<a>x)", r"of the groups with \(\?"),
        ("(?#a)x", r"of the groups with \(\?"),
        ("(?(1)a)", r"of the groups with \(\?"),
        (r"\Aa", r"no \\A; the ends are"),
        (r"a\Z", r"no \\Z; the ends are"),
        (r"\p{L}", "list the characters"),
        (r"[\p{L}]", "list the characters"),
        (r"\N{DIGIT ONE}", r"no \\N"),
        (r"\a", r"no \\a"),
        (r"[\B]", r"no \\B"),
        (r"\07", r"no \\0"),
        (r"\k<a", "by its name"),
        (r"\u{110000}", "no character"),
        ("[]a]", "a class of nothing"),
        ("[a", "has no ]"),
        ("[a-", "has no ]"),
        ("a\\", "last backslash"),
        ("*a", "nothing to repeat"),
        ("[b-a]", "bad character range"),
        (r"\2(a)(b)", "group reference"),
    ],
)
def test_what_ecmascript_has_not_is_refused_and_says_why(pattern: str, why: str) -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string", "pattern": pattern}}}
    with pytest.raises(InvalidSchema, match=f"(?s)'pattern' of the property \"v\".*{why}"):
        form_for_json_schema(schema)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"^\d{4}$", "1234", True),
        (r"^\d{4}$", "٣٣٣٣", False),
        (r"^\d{4}$", "1234\n", False),
        (r"^\w+$", "é", False),
        (r"^[\w-]+$", "a-b", True),
        (r"^[^\W]+$", "é", False),
        (r"^[\s]$", "\ufeff", True),
        (r"^\S$", "\u00a0", False),
        (r"^.$", "\u2028", False),
        (r"^[.]$", "x", False),
        (r"\bx\b", "éx", True),
        (r"^[a[&~]+$", "[&~a", True),
        (r"^\[\d\]$", "[1]", True),
        (r"^(a+)+$", "a" * 2_000 + "!", False),
    ],
)
def test_the_pattern_of_a_type_is_looked_for_as_clients_do_and_in_linear_time(
    pattern: str, text: str, fits: bool
) -> None:
    assert matches(text, pattern) is fits


def test_what_cannot_be_looked_for_is_left_to_the_type() -> None:
    assert matches("anything", r"^(?:[a-z]{1000}){1000}$")  # too large to be run
