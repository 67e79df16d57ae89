"""Text that comes from elsewhere: JSON, what a terminal shows, the script of `tesseron-py agent`."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from typing import Any

from tesseron_py.cli.failure import Failure
from tesseron_py.cli.script import CLAIM_TOOL, Call, List, Queue, Read, Wait, parse
from tesseron_py.invocation import Accept, Cancel, Decline
from tesseron_py.jsontext import MAX_NESTING, decode, encode
from tesseron_py.plain import plain, plain_json


def jsontext_target(data: bytes) -> None:
    """A text is JSON to us exactly where it is to the standard library, strictly read and within our bounds.

    What was read can be written, and reads the same again.
    """
    ours: Any = None
    try:
        ours, refused = decode(data), False
    except ValueError:
        refused = True
    try:
        theirs, bad = _strict(data), False
    except (ValueError, RecursionError):
        theirs, bad = None, True
    assert refused == bad, f"ours {'refuses' if refused else 'takes'} it"
    if refused:
        return
    assert _same(ours, theirs), (ours, theirs)
    text = encode(ours)
    assert "\n" not in text
    assert "\r" not in text
    assert _same(decode(text), ours), text
    assert _same(decode(text.encode()), ours), text


def _strict(data: bytes) -> Any:
    """What the standard library reads, less what no JSON is or goes beyond our bounds."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("a byte order mark")
    value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    if _depth(value) > MAX_NESTING or not _is_ours(value):
        raise ValueError("beyond our bounds")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _is_ours(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_ours(key) and _is_ours(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_ours, value))
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, int):
        return abs(value) <= sys.float_info.max
    return not isinstance(value, float) or math.isfinite(value)


def _same(one: Any, other: Any) -> bool:
    """Equal, types and all."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def plain_target(data: bytes) -> None:
    """Nothing in what is shown acts on a terminal, and JSON stays the JSON it was."""
    text = data.decode("utf-8", "surrogateescape")
    _assert_tame(plain(text))
    assert plain(plain(text)) == plain(text)
    written = json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)
    shown = plain_json(written)
    _assert_tame(shown)
    assert json.loads(shown) == json.loads(written)


_DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN")
_INVISIBLE = "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"


def _assert_tame(text: str) -> None:
    for char in text:
        assert unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"), ascii(text)
        assert unicodedata.bidirectional(char) not in _DIRECTIONS, ascii(text)
        assert char not in _INVISIBLE, ascii(text)


def script_target(data: bytes) -> None:
    """A line is a directive, nothing, or an error that names it; only what says so accepts a question."""
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        try:
            directive = parse(line, number)
        except Failure as failure:
            assert failure.code == 2
            assert failure.message.startswith(f"line {number}: ")
            continue
        match directive:
            case None:
                assert not line.strip() or line.strip().startswith("#")
            case Queue(Accept(content)):
                assert line.split()[0] == "elicit-accept"
                assert isinstance(content, dict)
            case Queue(Decline() | Cancel()):
                assert line.split()[0] in ("elicit-decline", "elicit-cancel")
            case Wait(seconds):
                assert 0 <= seconds < math.inf
            case Call(tool, arguments):
                assert tool == CLAIM_TOOL or f"@{tool}" in line
                encode(arguments)
            case Read(uri):
                assert uri
            case List():
                assert line.strip() == "list"
