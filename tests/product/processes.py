"""Server processes: started, listened to and ended, and never allowed a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
"""Where `tests.product.app` can be imported from."""
TESSERON = str(Path(sys.executable).with_name("tesseron-py"))
"""The installed command."""
PATIENCE = 30.0
"""Seconds until a test gives up on what should have happened long ago."""
SOON = 2.0
"""Seconds a server may take to end (MCP, stdio)."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, without what would change how a server logs, and with `extra`."""
    env = {key: value for key, value in os.environ.items() if key not in ("TESSERON_DEBUG", "TESSERON_TOKEN")}
    return env | dict(extra or {})


class Server:
    """A process whose standard error is read line by line.

    Used as a context manager it is ended with SIGTERM at the end, unless it has ended, and must then have exited with 0
    and without a traceback.

    Args:
        command: The command line; run in the project's root.
        env: Variables besides those of this process.
        options: Those of `subprocess.Popen`.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None, **options: Any) -> None:
        options = {"stdin": subprocess.DEVNULL} | options
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            command, cwd=ROOT, env=environment(env), stderr=subprocess.PIPE, **options
        )
        self._lines: list[str] = []
        self._ended = False
        self._killed = False
        self._said = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._said:
                self._lines.append(line.decode("utf-8", "replace"))
                self._said.notify_all()
        with self._said:
            self._ended = True
            self._said.notify_all()

    @property
    def errors(self) -> str:
        """What it has written to standard error so far."""
        with self._said:
            return "".join(self._lines)

    @property
    def said(self) -> int:
        """How many lines it has written to standard error so far."""
        with self._said:
            return len(self._lines)

    def said_after(self, lines: int) -> str:
        """What it has written to standard error after so many lines."""
        with self._said:
            return "".join(self._lines[lines:])

    def wait_line(self, pattern: str, after: int = 0) -> re.Match[str]:
        """The first line that matches, whenever it comes, of those after the first `after` ones."""

        def found() -> re.Match[str] | None:
            return next((match for line in self._lines[after:] if (match := re.search(pattern, line))), None)

        with self._said:
            self._said.wait_for(lambda: found() is not None or self._ended, PATIENCE)
            match = found()
            assert match is not None, f"no line like {pattern!r} after line {after} of:\n{''.join(self._lines)}"
            return match

    def end(self, how: signal.Signals | None) -> float:
        """End it by a signal, or wait for an end that is under way; gives the seconds that took."""
        began = time.monotonic()
        if how is not None:
            self.process.send_signal(how)
        self.process.wait(PATIENCE)
        took = time.monotonic() - began
        self._reader.join(PATIENCE)
        return took

    def kill(self) -> None:
        """End it as nothing can be prepared for: SIGKILL. Returns once it is gone."""
        self._killed = True
        self.end(signal.SIGKILL)

    def check(self) -> None:
        """It has ended well, or was killed."""
        expected = -signal.SIGKILL if self._killed else 0
        assert self.process.returncode == expected, f"exit code {self.process.returncode}:\n{self.errors}"
        assert "Traceback" not in self.errors, self.errors

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.process.poll() is None:
                self.end(signal.SIGTERM)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._reader.join(PATIENCE)
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
        if error is None:
            self.check()


def mcp_command(target: str, *options: str) -> list[str]:
    """The command line of a direct server."""
    return [TESSERON, "mcp", target, *options]


@contextmanager
def http_server(target: str, *options: str, env: Mapping[str, str] | None = None) -> Iterator[tuple[str, Server]]:
    """`tesseron-py mcp TARGET --http 127.0.0.1:0`: its URL, as it says itself, and the process."""
    with Server(mcp_command(target, "--http", "127.0.0.1:0", *options), env) as server:
        yield server.wait_line(r"MCP server at (http://\S+)")[1], server
