"""A client of the revision 2026-07-28 over HTTP: one connection, and no session.

A question is the result of a call; the answer to it is the call again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from .http_client import Connection
from .work import Work

VERSION = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"
META = {
    f"{_PREFIX}protocolVersion": VERSION,
    f"{_PREFIX}clientCapabilities": {"elicitation": {"form": {}}},
    f"{_PREFIX}clientInfo": {"name": "benchmark", "version": "1"},
}
"""What every request says of its client."""
_ids = itertools.count(1)


class Caller:
    """One client, whose call may be under way.

    Args:
        port: Where the server is.
        stack: What closes its connection.
    """

    def __init__(self, port: int, stack: ExitStack) -> None:
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
        }
        self._connection = Connection(port, headers)
        stack.callback(self._connection.close)

    def begin(self, work: Work) -> None:
        """Send the call."""
        self._send(work, {})

    def answer(self, work: Work) -> None:
        """Read the question, and send the call again with the answer."""
        self.repeat(work, self.question())

    def repeat(self, work: Work, asked: Mapping[str, Any]) -> None:
        """Send a call again that `asked`, with the answer."""
        self._send(work, repeated(asked, work))

    def question(self) -> dict[str, Any]:
        """The result that is a question.

        Raises:
            RuntimeError: It is none.
        """
        *_, response = self._connection.receive()
        result: dict[str, Any] = response.get("result", {})
        if result.get("resultType") != "input_required":
            raise RuntimeError(f"the call did not ask: {response}")
        return result

    def finish(self, work: Work) -> None:
        """Read the result."""
        *notes, response = self._connection.receive()
        work.check(response, len(notes))

    def _send(self, work: Work, more: Mapping[str, Any]) -> None:
        id = next(_ids)
        params = {**modern_params(work, id), **more}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        self._connection.send(message, b"Mcp-Name: %s\r\n" % work.tool.encode())


def modern_params(work: Work, token: int) -> dict[str, Any]:
    """What a call is made with."""
    meta = META | {"progressToken": token} if work.notes else META
    return {"name": work.tool, "arguments": work.arguments, "_meta": meta}


def repeated(asked: Mapping[str, Any], work: Work) -> dict[str, Any]:
    """What a call is made with, besides, whose result was a question."""
    [key] = asked["inputRequests"]
    more: dict[str, Any] = {"inputResponses": {key: {"action": "accept", "content": work.answer}}}
    return more | ({"requestState": asked["requestState"]} if "requestState" in asked else {})
