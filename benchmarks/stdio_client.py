"""An agent on the pipes of a server that it starts, which does as little as can be: one line out, lines in.

It says yes to every question. It speaks the revision 2025-11-25, or 2026-07-28.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import psutil  # type: ignore[import-untyped]  # it has no types

from .modern_http import META, modern_params, repeated
from .processes import ROOT, stop
from .work import CONFIRM, Work, bare_answers

CLAIM = "tesseron__claim_session"


class Pipes:
    """A process, and lines of JSON on its pipes, while the body of `with` runs.

    Args:
        command: What starts the process.
        environment: What its environment has besides.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._environment = environment or {}

    def __enter__(self) -> Self:
        environment = {**os.environ, **self._environment}
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
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

    def _write(self, message: Any) -> None:
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


class BareLines(Pipes):
    """The floor: the lines that a call takes, to a process that answers with lines that were made before."""

    _tuned: Work | None = None

    def do(self, work: Work) -> None:
        """What one call takes, or many at once."""
        answers = bare_answers(work)
        if work is not self._tuned:
            # As many of the first leg's answers as come at once, then those of the second.
            self._write([leg for leg in answers for _ in range(work.at_once)])
            self._tuned = work
        for leg in answers:
            for _ in range(work.at_once):
                self._write(
                    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": work.arguments}}
                )
            for _ in range(work.at_once * len(leg)):
                self._read()


class Agent(Pipes):
    """One server and the session with it, while the body of `with` runs.

    Args:
        command: What starts the server.
        modern: Whether it speaks 2026-07-28.
        environment: What the server's environment has besides.
    """

    def __init__(
        self, command: Sequence[str], *, modern: bool = False, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(command, environment)
        self._modern = modern
        self._last_id = 0

    def initialize(self) -> None:
        """Open the session, of which there is none in 2026-07-28; returns with the server's first line."""
        if self._modern:
            self.result("tools/list", {"_meta": META})
            return
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

    def do(self, work: Work) -> None:
        """One call, or as many at once as the work has."""
        running: set[int] = set()
        notes = 0

        def begin(more: Mapping[str, Any]) -> None:
            params: dict[str, Any] = {"name": work.tool, "arguments": work.arguments}
            if self._modern:
                params = {**modern_params(work, self._last_id + 1), **more}
            elif work.notes:
                params["_meta"] = {"progressToken": self._last_id + 1}
            running.add(self._request("tools/call", params))

        for _ in range(work.at_once):
            begin({})
        while running:
            message = self._read()
            if message.get("method") == "notifications/progress":
                notes += 1
            elif "method" in message:
                self._answer(message, work)
            elif message["id"] in running:
                running.remove(message["id"])
                if message.get("result", {}).get("resultType") == "input_required":
                    begin(repeated(message["result"], work))
                else:
                    work.check(message, notes)

    def park(self, work: Work, many: int) -> None:
        """Calls that ask, whose questions are read, and nobody answers."""
        for _ in range(many):
            self._request("tools/call", {"name": work.tool, "arguments": work.arguments})
            while self._read().get("method") != "elicitation/create":
                pass

    def _request(self, method: str, params: Mapping[str, Any] | None) -> int:
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}})
        return self._last_id

    def _answer(self, message: Mapping[str, Any], work: Work = CONFIRM) -> None:
        if message.get("method") == "elicitation/create":
            result = {"action": "accept", "content": work.answer}
            self._write({"jsonrpc": "2.0", "id": message["id"], "result": result})


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
