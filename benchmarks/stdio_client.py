"""An agent on the pipes of a server that it starts, which does as little as can be: one line out, lines in.

It says yes to every question. The session is of the revision 2025-11-25.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import psutil  # type: ignore[import-untyped]  # it has no types

from .processes import ROOT, stop

CLAIM = "tesseron__claim_session"


class Agent:
    """One server and the session with it, while the body of `with` runs.

    Args:
        command: What starts the server.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._last_id = 0

    def __enter__(self) -> Agent:
        self._process = subprocess.Popen(self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._process)

    @property
    def memory(self) -> float:
        """Bytes that the server's process has resident."""
        return resident(self._process.pid)

    def kill(self) -> None:
        """End the server at once, before it does anything more."""
        self._process.kill()

    def initialize(self) -> None:
        """Open the session; returns with the server's first line."""
        info = {"name": "benchmark", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}}, "clientInfo": info}
        self.result("initialize", params)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result of one request; a question that comes meanwhile is answered with yes."""
        id = self._request(method, params)
        while True:
            message = self._read()
            if message.get("id") == id and "method" not in message:
                return _result(message)
            self._answer(message)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """One call of a tool; the text of its result."""
        return _text(self.result("tools/call", {"name": tool, "arguments": arguments}))

    def call_many(self, tool: str, arguments: Mapping[str, Any], *, times: int, at_once: int, text: str) -> None:
        """Call a tool over and over, so many at once; every call must give `text`."""
        running: set[int] = set()
        begun = 0
        params = {"name": tool, "arguments": arguments}
        while begun < times or running:
            while begun < times and len(running) < at_once:
                running.add(self._request("tools/call", params))
                begun += 1
            message = self._read()
            if "method" not in message and message.get("id") in running:
                running.remove(message["id"])
                if (got := _text(_result(message))) != text:
                    raise RuntimeError(f"{tool} gave {got!r} instead of {text!r}")
            else:
                self._answer(message)

    def _request(self, method: str, params: Mapping[str, Any] | None) -> int:
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}})
        return self._last_id

    def _answer(self, message: Mapping[str, Any]) -> None:
        if message.get("method") == "elicitation/create":
            result = {"action": "accept", "content": {"approve": True}}
            self._write({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with exit code {self._process.wait()} instead of answering")
        message: dict[str, Any] = json.loads(line)
        return message


def resident(pid: int) -> float:
    """Bytes that a process has resident."""
    return float(psutil.Process(pid).memory_info().rss)


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    if "result" not in message or message["result"].get("isError"):
        raise RuntimeError(f"the request failed: {message}")
    result: dict[str, Any] = message["result"]
    return result


def _text(result: Mapping[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text
