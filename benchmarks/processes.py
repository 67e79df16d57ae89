"""The processes that are measured: how one is started, and known to be ready."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""Where every process runs: the project, so that `benchmarks` can be imported."""
SERVERS = Path(__file__).resolve().parent / "servers"


@contextmanager
def server(module: str, *args: str) -> Iterator[str]:
    """A process of `benchmarks.servers`, while the body runs. It gives the first line it prints, once it is ready.

    Raises:
        RuntimeError: It ended instead.
    """
    command = [sys.executable, "-m", f"benchmarks.servers.{module}", *args]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline().strip()
        if not ready:
            raise RuntimeError(f"{' '.join(command)} ended before it was ready, with exit code {process.wait()}")
        yield ready
    finally:
        stop(process)


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """End a process of ours, whatever state it is in."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
