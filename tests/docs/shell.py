"""The commands of a document, run in one directory as somebody who reads it would run them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

PATIENCE = 60
"""Seconds that a command may take, or a server to say that it is there."""
DOCKER = Path(__file__).with_name("docker.py")
"""What stands in for `docker run`."""


def environment() -> dict[str, str]:
    """Our own, with the executables of this Python's environment first and nothing that changes what is printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERON_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "COLUMNS": "100", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


class Shell:
    """A directory, a home of its own, and the servers that run; they and the home end with the `with`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()
        self._home = ""
        self._servers: dict[str, ExitStack] = {}

    def __enter__(self) -> Shell:
        self._home = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="docs-"))
        docker = Path(self._home) / ".bin" / "docker"
        docker.parent.mkdir()
        docker.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{DOCKER}" "$@"\n', encoding="utf-8")
        docker.chmod(0o700)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _environment(self) -> dict[str, str]:
        env = environment()
        return {**env, "HOME": self._home, "PATH": os.pathsep.join([str(Path(self._home) / ".bin"), env["PATH"]])}

    def run(self, command: str) -> tuple[list[str], int]:
        """What a command prints, standard error included, and its exit code."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.directory,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout.decode().splitlines(), done.returncode

    def serve(self, command: str, is_there: Callable[[list[str]], bool]) -> list[str]:
        """Start a command that goes on, and wait until what it has printed says that it is there.

        One that goes on already is ended first, as somebody who starts it again does.
        """
        if command in self._servers:
            self._servers.pop(command).close()
        process = subprocess.Popen(
            ["sh", "-c", f"exec env {command}"],
            cwd=self.directory,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        ends = self._servers[command] = ExitStack()
        self._stack.callback(ends.close)
        ends.callback(_end, process)
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
        ends.callback(reader.join, PATIENCE)
        ends.callback(process.terminate)
        return said


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
