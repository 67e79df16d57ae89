r"""Patterns mean what they mean in JSON Schema."""

from __future__ import annotations

import re

import pytest

from tesseron_py.errors import InvalidAnswer, InvalidSchema
from tesseron_py.schema.ecma import compiled
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
    ],
)
def test_a_pattern_finds_what_ecmascript_finds(pattern: str, found: list[str], not_found: list[str]) -> None:
    form = form_for_json_schema({"type": "object", "properties": {"v": {"type": "string", "pattern": pattern}}})
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
