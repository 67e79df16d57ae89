"""An agent that is a process: an MCP client over HTTP that does what its standard input says, a JSON object a line.

`python -m tests.product.agent URL NAME [TOKEN]`. Each request `{"id", "do", …}` is answered with `{"id", "result"}` or
`{"id", "failed", "message", "code"?}`; what nobody asked for is an object with `event`: `prompt`, `withdrawn` or
`changed`. The test at the other end of the pipes plays the person: `{"do": "answer", "prompt", "how"}`.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import anyio

from tesseron_py.invocation import Accept, Cancel, Decline
from tesseron_py.mcp.client import Answer, ClientError, McpClient, McpError, Question
from tesseron_py.mcp.client_http import HttpTransport
from tesseron_py.mcp.provider import Change, ResourcesChanged, ResourceUpdated, ToolsChanged

ANSWERS: dict[str, Answer] = {
    "yes": Accept({"approve": True}),
    "no": Accept({"approve": False}),
    "decline": Decline(),
    "cancel": Cancel("dismissed"),
}
DEADLINE = 30.0
"""Seconds for each request: nothing here may wait for ever."""


def say(**members: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


class Agent:
    """One client, made anew by each `connect`."""

    def __init__(self, url: str, name: str, token: str | None = None) -> None:
        self._url = url
        self._token = token
        self._name = name
        self._client: McpClient | None = None
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[anyio.Event, list[Answer]]] = {}
        self._calls: dict[int, anyio.CancelScope] = {}

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def do(self, request: dict[str, Any]) -> Any:
        """What one request asks for."""
        if request["do"] == "connect":
            return await self._connect()
        if request["do"] == "answer":
            answered, answer = self._open[request["prompt"]]
            answer.append(ANSWERS[request["how"]])
            return answered.set()
        assert self._client is not None
        match request:
            case {"do": "tools"}:
                return sorted(tool["name"] for tool in await self._client.tools())
            case {"do": "call", "tool": tool, "arguments": arguments}:
                result = await self._client.call(tool, arguments)
                return {"is_error": result.is_error, "text": result.text, "structured": result.structured}
            case _:
                raise ValueError(f"{request} is nothing an agent does")

    async def _connect(self) -> None:
        await self.aclose()
        self._client = McpClient(
            HttpTransport(self._url, self._token),
            answer=self._ask,
            on_change=self._changed,
            name=self._name,
            timeout=DEADLINE,
        )
        await self._client.__aenter__()

    async def _ask(self, question: Question) -> Answer:
        number = next(self._numbers)
        answered = anyio.Event()
        answer: list[Answer] = []
        self._open[number] = answered, answer
        say(event="prompt", prompt=number, message=question.message, call=question.call)
        try:
            await answered.wait()
        except anyio.get_cancelled_exc_class():
            say(event="withdrawn", prompt=number)
            raise
        finally:
            del self._open[number]
        return answer[0]

    def _changed(self, change: Change) -> None:
        match change:
            case ToolsChanged():
                say(event="changed", what="tools")
            case ResourcesChanged():
                say(event="changed", what="resources")
            case ResourceUpdated(uri):
                say(event="changed", what=uri)


async def answer(agent: Agent, request: dict[str, Any]) -> None:
    try:
        say(id=request["id"], result=await agent.do(request))
    except McpError as error:
        say(id=request["id"], failed="McpError", code=error.code, message=error.message)
    except ClientError as error:
        say(id=request["id"], failed=type(error).__name__, message=str(error))


async def main(*arguments: str) -> None:
    agent = Agent(*arguments)
    async with anyio.create_task_group() as group:
        say(event="started")
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            group.start_soon(answer, agent, json.loads(line))
        await agent.aclose()
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
