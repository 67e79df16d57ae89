"""The commands of a document, run in one directory as somebody who reads it would run them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

PATIENCE = 60
"""Seconds that a command may take, or a server to say that it is there."""


def environment() -> dict[str, str]:
    """Our own, with the executables of this Python's environment first and nothing that changes what is printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERON_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "COLUMNS": "100", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


class Shell:
    """A directory and the servers that run in it; they end with the `with`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self, command: str) -> tuple[list[str], int]:
        """What a command prints, standard error included, and its exit code."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.directory,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout.decode().splitlines(), done.returncode

    def serve(self, command: str, is_there: Callable[[list[str]], bool]) -> list[str]:
        """Start a command that goes on, and wait until what it has printed says that it is there."""
        process = subprocess.Popen(
            ["sh", "-c", f"exec env {command}"],
            cwd=self.directory,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._stack.callback(_end, process)
        assert process.stdout is not None
        guard = threading.Timer(PATIENCE, process.kill)
        guard.start()
        said: list[str] = []
        try:
            while not is_there(said):
                line = process.stdout.readline()
                if not line:
                    break
                said.append(line.decode().rstrip("\n"))
        finally:
            guard.cancel()
        # What it goes on to print is read and forgotten, so that it is never held up.
        reader = threading.Thread(target=process.stdout.read, daemon=True)
        reader.start()
        self._stack.callback(reader.join, PATIENCE)
        self._stack.callback(process.terminate)
        return said


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
