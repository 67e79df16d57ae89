"""The client of `fastmcp` with a direct server: list, call, confirm, elicit, progress."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError

from .clients import Address
from .processes import PATIENCE, ROOT


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """fastmcp is made of asyncio's tasks and futures."""
    return "asyncio"


class Person:
    """Answers as the test says, and keeps what was asked: the text, and the type that fastmcp made of the form."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[tuple[str, Any]] = []

    async def __call__(self, message: str, response_type: Any, params: Any, context: Any) -> Any:
        self.asked.append((message, response_type))
        return self.answers.pop(0)


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """Which era the client looks for; with `auto` it finds the modern one."""
    return str(request.param)


@asynccontextmanager
async def connected(address: Address, person: Person | None, log: Path, mode: str) -> AsyncIterator[Client[Any]]:
    """A client with or without a person behind it; a server that it starts says nothing bad on standard error."""
    if isinstance(address, str):
        transport: Any = StreamableHttpTransport(address)
    else:
        command, *arguments = address
        transport = StdioTransport(
            command, arguments, env=dict(os.environ), cwd=str(ROOT), keep_alive=False, log_file=log
        )
    with anyio.fail_after(PATIENCE):
        async with Client(transport, elicitation_handler=person, mode=mode) as client:
            yield client
    no_traceback(log)


def no_traceback(log: Path) -> None:
    """There is none in the file, or no file."""
    assert not log.exists() or "Traceback" not in log.read_text()


async def test_a_working_day(address: Address, tmp_path: Path, mode: str) -> None:
    person = Person()
    async with connected(address, person, tmp_path / "log", mode) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert tools["echo"].description == "Say it again."
        assert (await client.call_tool("echo", {"text": "Zoë 🎉"})).data is None
        assert (await client.call_tool("echo", {"text": "Zoë 🎉"})).content[0].text == "Zoë 🎉"
        assert (await client.call_tool("stock", {"sku": "A1"})).structured_content == {"sku": "A1", "left": 3}
        with pytest.raises(ToolError, match="The depot is locked"):
            await client.call_tool("fail")

        async def outcome(how: str, *answers: Any) -> str:
            person.answers = list(answers)
            result = await client.call_tool("outcome", {"how": how})
            assert person.answers == []
            return str(result.content[0].text)

        assert await outcome("confirm", {"approve": True}) == "True"
        assert await outcome("confirm", {"approve": False}) == "False"
        assert await outcome("confirm", ElicitResult(action="decline")) == "False"
        assert await outcome("confirm", ElicitResult(action="cancel")) == "False"
        assert await outcome("elicit", {"warehouse": "WH-8", "count": 2}) == "WH-8 2"
        assert await outcome("elicit", ElicitResult(action="decline")) == "None"
        # fastmcp checks the answer itself. What does not fit is an error: sent in its place, it is no decision; in the
        # modern era there is nothing to send it in, and the client gives its call up.
        if mode == "legacy":
            assert await outcome("ask", {"warehouse": "WH-9", "count": 0}) == "Cancelled()"
        else:
            with pytest.raises(MCPError, match="WH-9"):
                await outcome("ask", {"warehouse": "WH-9", "count": 0})
        assert {message for message, _ in person.asked} == {"Ship the order?", "What is shipped?"}
        fields = [set(kind.__dataclass_fields__) for _, kind in person.asked]
        assert fields[0] == {"approve"}
        assert fields[-1] == {"warehouse", "count"}

        steps: list[tuple[float, float | None, str | None]] = []

        async def progressed(done: float, total: float | None, message: str | None) -> None:
            steps.append((done, total, message))

        assert (await client.call_tool("work", {"steps": 2}, progress_handler=progressed)).content[0].text == "done"
        assert steps == [(50, 100, "step 1"), (100, 100, "step 2")]

        read = await client.read_resource("tesseron://depot/motto")
        assert read[0].text == "Ask first, Zoë 🎉"


async def test_a_client_without_a_person(address: Address, tmp_path: Path, mode: str) -> None:
    async with connected(address, None, tmp_path / "log", mode) as client:
        assert (await client.call_tool("outcome", {"how": "confirm"})).content[0].text == "False"
        refused = (await client.call_tool("outcome", {"how": "elicit"})).content[0].text
        assert refused == "raises ElicitationNotAvailable"
