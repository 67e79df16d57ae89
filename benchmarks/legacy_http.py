"""A client of the revision 2025-11-25 over HTTP: a session with a connection for its call, and one for its answer.

A question comes on the call's own stream of events; the answer to it is a request of its own.
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Any

from .http_client import Connection
from .work import Work

VERSION = "2025-11-25"
_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": VERSION,
}
_ids = itertools.count(1)


class Session:
    """One session, in which one call may be under way.

    Args:
        port: Where the server is.
        stack: What closes its connections.
    """

    def __init__(self, port: int, stack: ExitStack) -> None:
        headers = _HEADERS | {"Mcp-Session-Id": open_session(port)}
        self._call, self._answers = Connection(port, headers), Connection(port, headers)
        stack.callback(self._call.close)
        stack.callback(self._answers.close)
        self._answers.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def begin(self, work: Work) -> None:
        """Send the call."""
        params: dict[str, Any] = {"name": work.tool, "arguments": work.arguments}
        if work.notes:
            params["_meta"] = {"progressToken": next(_ids)}
        self._call.send(_request("tools/call", params))

    def answer(self, work: Work) -> None:
        """Read the question, and send the answer."""
        self._messages = self._call.receive()
        question = next(self._messages)
        result = {"action": "accept", "content": work.answer}
        self._answers.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def finish(self, work: Work) -> None:
        """Read the result."""
        if work.answer is not None:
            list(self._answers.receive())
        else:
            self._messages = self._call.receive()
        *notes, response = self._messages
        work.check(response, len(notes))


def open_session(port: int) -> str:
    """Open a session, which goes on when its first connection is closed; its id."""
    connection = Connection(port, _HEADERS)
    params = {
        "protocolVersion": VERSION,
        "capabilities": {"elicitation": {"form": {}}},
        "clientInfo": {"name": "benchmark", "version": "1"},
    }
    list(connection.post(_request("initialize", params)))
    connection.close()
    return connection.headers["mcp-session-id"]


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
