"""Every published schema at clients that nobody here wrote: the list is read whole, and every type can be given."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.schema.golden.types import INPUTS, OUTPUTS, PARAMETERS

from .clients import Client, fast, official, old
from .golden_app import RAW
from .processes import mcp_command

GOLDEN = Path(__file__).parents[1] / "schema" / "golden"
PATIENCE = 120.0
"""Seconds for some hundred calls."""

CLIENTS: dict[str, Callable[..., AbstractAsyncContextManager[Client]]] = {
    "mcp 2.3": official,
    "mcp 2.3 modern": partial(official, mode="auto"),
    "mcp 1.30": old,
    "fastmcp": partial(fast, mode="legacy"),
    "fastmcp modern": fast,
}


@pytest.fixture
def anyio_backend() -> str:
    """fastmcp, and the process of mcp 1.30, run on asyncio alone."""
    return "asyncio"


def text_of(kind: str, name: str) -> str:
    """A golden file, without its white space: the order of its keywords counts."""
    return json.dumps(json.loads((GOLDEN / kind / f"{name}.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", CLIENTS)
async def test_every_schema_arrives_and_every_type_can_be_given(name: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with CLIENTS[name](mcp_command("tests.product.golden_app:app")) as client:
            tools = await client.tools()
            assert len(tools) == len(PARAMETERS) + len(INPUTS) + len(OUTPUTS) + 1

            assert json.dumps(tools["raw"]["inputSchema"]) == json.dumps(RAW)
            contact: dict[str, Any] = {"contact": {"name": "Zoë", "phone": "+1"}, "any": None}
            assert (await client.call("raw", contact)).value == contact

            for prefix, kind, cases in (("p", "parameters", PARAMETERS), ("i", "inputs", INPUTS)):
                for case in cases:
                    tool = f"{prefix}_{case.name}"
                    assert json.dumps(tools[tool]["inputSchema"]) == text_of(kind, case.name)
                    value = case.takes[0]
                    called = await client.call(tool, {"value": value} if prefix == "p" else value)
                    assert called.text == f"{case.name} was given"
                    if case.refuses:
                        value = case.refuses[0]
                        assert (await client.call(tool, {"value": value} if prefix == "p" else value)).is_error

            for output in OUTPUTS:
                tool = f"o_{output.name}"
                called = await client.call(tool)
                assert not called.is_error, called.text
                if "outputSchema" in tools[tool]:
                    assert json.dumps(tools[tool]["outputSchema"]) == text_of("outputs", output.name)
                    assert called.structured == output.gives[0][1]
