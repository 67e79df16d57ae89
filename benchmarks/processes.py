"""The processes that are measured: what they find around them, how one is started, and known to be ready."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
"""Where every process runs: the project, so that `benchmarks` can be imported."""
SERVERS = Path(__file__).resolve().parent / "servers"


@contextmanager
def clean_room() -> Iterator[None]:
    """While the body runs, processes that are started find none of this user's apps and gateways.

    And they find compiled modules, as they do once pip has installed them: the first to import one compiles it, which
    is in a round that does not count, and leaves it in a directory of this run's own.
    """
    with TemporaryDirectory(prefix="tesseron-bench-") as directory:
        before = dict(os.environ)
        os.environ["TESSERON_HOME"] = f"{directory}/home"
        os.environ["PYTHONPYCACHEPREFIX"] = f"{directory}/bytecode"
        for name in ("PYTHONDONTWRITEBYTECODE", "TESSERON_DEBUG", "TESSERON_TOKEN"):
            os.environ.pop(name, None)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def make_room(connections: int) -> None:
    """Let this process, and those that it starts, have so many connections open, or as many as the system allows."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections if most == resource.RLIM_INFINITY else min(connections, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def tesseron_py() -> str:
    """The installed command.

    Raises:
        RuntimeError: There is none.
    """
    command = shutil.which("tesseron-py", path=str(Path(sys.executable).parent))
    if command is None:
        raise RuntimeError(f"the command tesseron-py is not installed beside {sys.executable}; run `make venv`")
    return command


@dataclass(frozen=True, slots=True)
class Server:
    """A process that is ready: what it printed to say so, and its pipes."""

    process: subprocess.Popen[str]
    ready: str

    def ask(self, line: str) -> str:
        """The line that it answers a line with.

        Raises:
            RuntimeError: It ended instead.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"the server ended with exit code {self.process.wait()} instead of answering {line!r}")
        return answer


@contextmanager
def server(
    module: str, *args: str, python: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A process of `benchmarks.servers`, while the body runs. It prints a line once it is ready.

    Args:
        module: Its name there.
        args: Its arguments.
        python: Its interpreter, if it is not this one.
        environment: What its environment has besides.

    Raises:
        RuntimeError: It ended instead.
    """
    command = [str(python or sys.executable), "-m", f"benchmarks.servers.{module}", *args]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready = process.stdout.readline().strip()
        if not ready:
            raise RuntimeError(f"{' '.join(command)} ended before it was ready, with exit code {process.wait()}")
        yield Server(process, ready)
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
