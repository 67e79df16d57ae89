"""A host as a process: started, found by the line it prints, and ended whatever it does.

Every host has a home directory of its own: no gateway of the person's dials it, and its manifest is the only one.
"""

from __future__ import annotations

import os
import signal
import site
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Final

from .scenario import Scenario

STARTING: Final = 5.0
"""Seconds until the host must have said where it listens."""
ENDING: Final = 0.5
"""Seconds that a host has for its end once its stdin is closed; then it is killed."""
_PREFIX: Final = {"ws": "tesseron-conformance-url=", "uds": "tesseron-conformance-uds="}
_MAX_LINE: Final = 4096
_KEPT: Final = 16 * 1024
"""Bytes of the host's stderr that a report shows: the newest."""


class HostFailed(Exception):
    """The host did not start, or printed what it should not."""


class Host:
    """A running host. Use it as a context manager; afterwards it is gone.

    Args:
        command: What starts it.
        scenario: What it plays; `TESSERON_CONFORMANCE_FIXTURE` names its file.
    """

    def __init__(self, command: Sequence[str], scenario: Scenario) -> None:
        self._command = command
        self._scenario = scenario
        self._directory = tempfile.TemporaryDirectory(prefix="tesseron-conformance-", ignore_cleanup_errors=True)
        self.home: Path = Path(self._directory.name)
        """Its home directory."""
        self.address: str = ""
        """Where it listens: a URL, or the path of a socket."""
        self.stubborn: bool = False
        """It did not end when its stdin was closed, and was killed."""
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._said = b""
        self._readers: list[threading.Thread] = []

    def start(self) -> None:
        """Start it, and wait for its line.

        Raises:
            HostFailed: It does not start, or prints something else.
        """
        environment = dict(os.environ)
        # What is installed for this user alone stays importable, although home is elsewhere.
        environment.setdefault("PYTHONUSERBASE", site.getuserbase())
        environment["TESSERON_CONFORMANCE_FIXTURE"] = str(self._scenario.path)
        environment["HOME"] = environment["USERPROFILE"] = str(self.home)
        environment["TESSERON_HOME"] = str(self.home / ".tesseron")  # where hosts of ours look first
        try:
            self._process = subprocess.Popen(
                list(self._command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise HostFailed(f"the host cannot be started: {error}") from error
        if self._given_up:  # while it was being started
            self.kill()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for read, pipe in ((self._read_lines, self._process.stdout), (self._read_noise, self._process.stderr)):
            reader = threading.Thread(target=read, args=(pipe,), daemon=True)
            reader.start()
            self._readers.append(reader)
        try:
            line = self._lines.get(timeout=STARTING)
        except Empty:
            raise HostFailed(f"the host printed nothing within {STARTING:g} s") from None
        prefix = _PREFIX[self._scenario.binding]
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            raise HostFailed(f"the host ended before it printed where it listens ({self._exit()})")
        if not text.startswith(prefix):
            raise HostFailed(f"the host's line on stdout is to begin with {prefix!r}, and it printed {text[:200]!r}")
        self.address = text.removeprefix(prefix)

    def stop(self, name: str | None) -> None:
        """Close its stdin, or send it the signal of that name."""
        assert self._process is not None
        if name is None:
            self._close_stdin()
        else:
            self._process.send_signal(getattr(signal, name))

    def is_gone(self, until: float) -> bool:
        """Whether it has ended by then."""
        assert self._process is not None
        try:
            self._process.wait(max(until - time.monotonic(), 0.001))
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """See that it is gone, and everything it started with it."""
        process = self._process
        if process is not None:
            self._close_stdin()
            self.stubborn = not self.is_gone(time.monotonic() + ENDING)
            self.kill()
            process.wait()
            for reader in self._readers:
                reader.join(ENDING)
        self._directory.cleanup()

    def kill(self) -> None:
        """Kill it and what it started, or is about to start; from any thread."""
        self._given_up = True
        if self._process is not None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (OSError, AttributeError):  # gone, or a system without process groups
                self._process.kill()

    @property
    def extra_line(self) -> str | None:
        """What it printed on stdout after its one line. Complete once it has ended."""
        try:
            line = self._lines.get_nowait()
        except Empty:
            return None
        return line.decode("utf-8", "replace").rstrip("\r\n")[:200] if line else None

    @property
    def stderr(self) -> str:
        """The newest of what it said on stderr."""
        return self._said.decode("utf-8", "replace")

    def _close_stdin(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass

    def _exit(self) -> str:
        if not self.is_gone(time.monotonic() + ENDING):
            return "it has closed its stdout"
        assert self._process is not None
        return f"exit code {self._process.returncode}"

    def _read_lines(self, pipe: IO[bytes]) -> None:
        # Its first lines are of interest; what comes after them is read, so that the host does not block.
        for _ in range(4):
            line = pipe.readline(_MAX_LINE)
            self._lines.put(line)
            if not line:
                break
        else:
            while pipe.read(_MAX_LINE):
                pass
        pipe.close()

    def _read_noise(self, pipe: IO[bytes]) -> None:
        while piece := pipe.read1(_MAX_LINE):  # type: ignore[attr-defined]  # Popen's pipes are BufferedReaders
            self._said = (self._said + piece)[-_KEPT:]
        pipe.close()
