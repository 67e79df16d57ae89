"""No regular expression of ours takes long, whatever it is given; and typed patterns of authors take linear time."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, StringConstraints

import tesseron_py
from tesseron_py.errors import InvalidAnswer
from tesseron_py.schema.elicitation import form_for, form_for_json_schema

SIZE = 20_000
BOUNDED = {"tesseron_py.mcp.envelope": 600}
"""Where a pattern is given the beginning or the end of a message, and no more."""
OF_JSON = {"tesseron_py.jsontext._STRUCTURE"}
"""Given nothing but what a parser has found to be JSON."""


@dataclass(frozen=True)
class Use:
    """A pattern, and the methods of it that its module calls."""

    module: str
    pattern: Any
    methods: frozenset[str]


def uses() -> Iterator[tuple[str, Use]]:
    for module in pkgutil.walk_packages(tesseron_py.__path__, "tesseron_py."):
        if module.name.endswith(("__main__", "todo_example")) or ".testing" in module.name:
            continue
        loaded = importlib.import_module(module.name)
        patterns = {name: value for name, value in vars(loaded).items() if isinstance(value, re.Pattern)}
        if not patterns:
            continue
        nodes = list(ast.walk(ast.parse(inspect.getsource(loaded))))
        for name, pattern in patterns.items():
            called = {
                node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name
            }
            passed = any(isinstance(node, ast.Call) and name in map(ast.unparse, node.args) for node in nodes)
            yield (
                f"{module.name}.{name}",
                Use(module.name, pattern, frozenset(called & METHODS) | ({"fullmatch"} if passed else set())),
            )


METHODS = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub"}
USES = dict(uses())
UNITS = [
    "a", "A", "1", " ", "\t", "\n", "-", "@", ":", ",", '"', "\\", "\\\\", '\\"', "{", "[", "a@", "1.", "e1", "E+1",
    "a:", "ab ", "é", "\u2028", "=?base64?", "?=", '{ "jsonrpc" : "2.0" , ', '"id" : 1 , ', "tesseron-py run",
    "{  ", "}  ", ",  ", "http://", "::1", "[::",
]  # fmt: skip
"""Texts made of one of these nearly match this and that."""


def hostile(size: int) -> Iterator[str]:
    for unit in UNITS:
        text = (unit * (size // len(unit) + 1))[:size]
        for head in ("", "[", '"', "=?base64?", "http://"):
            yield head + text
            yield head + text + "\x00"


def test_the_patterns_are_found_with_their_uses() -> None:
    assert len(USES) > 20
    used = {id(use.pattern) for use in USES.values() if use.methods}
    assert [name for name, use in USES.items() if id(use.pattern) not in used] == []


@pytest.mark.parametrize("name", sorted(USES))
def test_none_of_ours_takes_long(name: str) -> None:
    use = USES[name]
    for text in hostile(BOUNDED.get(use.module, SIZE)):
        text = json.dumps([text]) if name in OF_JSON else text
        given = text if isinstance(use.pattern.pattern, str) else text.encode()
        for method in use.methods:
            began = time.thread_time()
            found = use.pattern.sub("", given) if method == "sub" else getattr(use.pattern, method)(given)
            if method == "finditer":
                deque(found, maxlen=0)
            # What is quadratic takes seconds for so much, and what is worse takes for ever.
            assert time.thread_time() - began < 1.0, (name, method, given[:40])


def test_a_pattern_in_a_type_takes_linear_time() -> None:
    class Form(BaseModel):
        text: Annotated[str, StringConstraints(pattern=r"^(a+)+$")]

    form = form_for(Form)
    began = time.thread_time()
    with pytest.raises(InvalidAnswer):
        form.parse({"text": "a" * 5_000 + "!"})
    assert time.thread_time() - began < 1.0


def test_nor_does_one_in_a_json_schema_that_looks_neither_around_nor_back() -> None:
    text = {"type": "string", "pattern": "^(a+)+$"}
    form = form_for_json_schema({"type": "object", "properties": {"text": text}, "required": ["text"]})
    began = time.thread_time()
    with pytest.raises(InvalidAnswer):
        form.parse({"text": "a" * 5_000 + "!"})
    assert time.thread_time() - began < 1.0
