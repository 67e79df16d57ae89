"""A direct MCP server over HTTP against the official one, both under uvicorn, each in a process of its own.

The client is `http_client`, with a session of the legacy era (2025-11-25). A confirm is three messages: the call, the
question on the call's own stream of events, and the answer, which is a request of its own on a second connection.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any

from .http_client import Connection
from .measure import Effort, Row, compare, side
from .processes import server

ECHO = "mcp-http-echo"
CONFIRM = "mcp-http-confirm"
ECHO_JSON = "mcp-http-echo-json"
NAMES = (ECHO, CONFIRM, ECHO_JSON)

_VERSION = "2025-11-25"
_TEXT = "Buy milk and two dozen eggs"
_ids = itertools.count(1)


def rows(effort: Effort, wanted: Collection[str]) -> Iterator[Row]:
    """Measure what is wanted of `NAMES`."""
    peer = f"mcp {version('mcp')}, low-level"
    with ExitStack() as stack:
        ours = stack.enter_context(_session("tesseron_over_http"))
        if ECHO in wanted or CONFIRM in wanted:
            theirs = stack.enter_context(_session("official_over_http"))
            if ECHO in wanted:
                sides = side(ours.echo, effort), side(theirs.echo, effort)
                yield compare(ECHO, peer, *sides, rounds=effort.rounds, target=0.65)
            if CONFIRM in wanted:
                sides = side(ours.confirm, effort), side(theirs.confirm, effort)
                yield compare(CONFIRM, peer, *sides, rounds=effort.rounds, target=0.65)
        if ECHO_JSON in wanted:
            theirs = stack.enter_context(_session("official_over_http", "json"))
            sides = side(ours.echo, effort), side(theirs.echo, effort)
            yield compare(ECHO_JSON, f"{peer}, json_response", *sides, rounds=effort.rounds)


@contextmanager
def _session(*process: str) -> Iterator[_Session]:
    """A server of `benchmarks.servers` and one session with it, while the body runs."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": _VERSION,
    }
    with ExitStack() as stack:
        port = int(stack.enter_context(server(*process)).ready)

        def connect() -> Connection:
            connection = Connection(port, headers)
            stack.callback(connection.close)
            return connection

        first = connect()
        params = {
            "protocolVersion": _VERSION,
            "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": {"name": "benchmark", "version": "1"},
        }
        list(first.post(_request("initialize", params)))
        headers["Mcp-Session-Id"] = first.headers["mcp-session-id"]
        first.close()
        session = _Session(connect(), connect())
        session.answers.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield session


class _Session:
    """A session: a connection for its calls, and one for its answers to what they ask."""

    def __init__(self, calls: Connection, answers: Connection) -> None:
        self.calls = calls
        self.answers = answers

    def echo(self) -> None:
        """One call of `echo`."""
        [response] = self.calls.post(_request("tools/call", {"name": "echo", "arguments": {"text": _TEXT}}))
        _check(response, _TEXT)

    def confirm(self) -> None:
        """One call of `clear`, which asks, and is told yes."""
        messages = self.calls.post(_request("tools/call", {"name": "clear"}))
        question = next(messages)
        result = {"action": "accept", "content": {"approve": True}}
        self.answers.post({"jsonrpc": "2.0", "id": question["id"], "result": result})
        [response] = messages  # the rest of the stream
        _check(response, "5")


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}


def _check(response: dict[str, Any], text: str) -> None:
    if response.get("result", {}).get("content") != [{"type": "text", "text": text}]:
        raise RuntimeError(f"the call failed: {response}")
