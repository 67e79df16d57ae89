"""The processes of one topology, what connects them, and how they are started again when they have died.

App and gateway have a home each. The laboratory copies the app's manifest to the gateway's, with its own proxy's place
instead of the app's, so every byte between them passes it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tesseron_py import directory

from .ledger import Ledger
from .links import TOKEN, HttpLink, Lost, Message, PipeLink, modern_params
from .network import Network
from .notes import CONTROL, JOURNAL
from .proxy import Streams
from .wires import Meter, Wire

ROOT = Path(__file__).parents[2]
BOUND = float(os.environ.get("FAULTS_PATIENCE", "60"))
"""Seconds within which everything ends that is to end, on a machine that others use, too."""
SOON = 2.5
"""Seconds within which a process ends that is told to, and has a core."""
POLL = 0.01
CODE = re.compile(r"claim the Tesseron session (\S+)")

Binding: TypeAlias = Literal["direct", "ws", "uds", "http"]
Carrier: TypeAlias = Literal["http", "stdio"]


class Violation(Exception):
    """What must never be."""


@dataclass(frozen=True)
class Topology:
    """Who is connected to whom, and how."""

    binding: Binding
    carrier: Carrier
    loop: Literal["asyncio", "trio"]

    def __str__(self) -> str:
        return f"{self.binding}+{self.carrier}/{self.loop}"


TOPOLOGIES = [
    Topology(binding, carrier, loop)
    for binding, carrier in (
        ("direct", "http"),
        ("direct", "stdio"),
        ("ws", "http"),
        ("uds", "http"),
        ("http", "http"),
        ("ws", "stdio"),
        ("uds", "stdio"),
    )
    for loop in ("asyncio", "trio")
]


class Process:
    """A process under the laboratory's eye.

    Attributes:
        lines: What it has written to standard error of late.
    """

    number = 0

    def __init__(self, name: str, ledger: Ledger) -> None:
        Process.number += 1
        self.name = name
        self.number = Process.number
        self.lines: deque[str] = deque(maxlen=400)
        self.killed = False
        self.refused = False
        """It could not start, and said so."""
        self.tracebacks = 0
        self.last_starved = 0.0
        self._ledger = ledger
        self._orders = 0
        self._done: dict[int, asyncio.Future[Message]] = {}
        self._said = asyncio.Event()
        self.process: asyncio.subprocess.Process

    async def start(self, command: list[str], env: Mapping[str, str], *, pipes: bool = False) -> None:
        """Run `tests.faults.process` with these arguments."""
        told, tell = os.pipe()
        heed, order = os.pipe()
        between = subprocess.PIPE if pipes else subprocess.DEVNULL
        try:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.faults.process", *command,
                cwd=ROOT,
                env={**os.environ, **env, JOURNAL: str(tell), CONTROL: str(heed), "PYTHONUNBUFFERED": "1"},
                pass_fds=(tell, heed),
                stdin=between,
                stdout=between,
                stderr=subprocess.PIPE,
                limit=1 << 20,
            )  # fmt: skip
        finally:
            os.close(tell)
            os.close(heed)
        self._order = os.fdopen(order, "wb", buffering=0)
        reader = asyncio.StreamReader(limit=1 << 20)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(told, "rb")
        )
        self._tasks = [asyncio.create_task(self._listen(reader)), asyncio.create_task(self._read_errors())]

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            entry = self._ledger.heard(self.number, line)
            if entry["event"] == "done" and (waiter := self._done.pop(entry["order"], None)) is not None:
                waiter.set_result(entry)
        self._ledger.process_ended(self.number)

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.lines.append(line.decode("utf-8", "replace").rstrip())
            self.tracebacks += "Traceback" in self.lines[-1]
            self._said.set()
            self._said = asyncio.Event()
        self._said.set()

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    async def order(self, do: str, **members: Any) -> Message:
        """Have it do something, and wait until it is done."""
        self._orders += 1
        waiter = self._done[self._orders] = asyncio.get_running_loop().create_future()
        self._order.write(json.dumps({"do": do, "id": self._orders, **members}).encode() + b"\n")
        async with asyncio.timeout(BOUND):
            return await waiter

    async def wait_line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """The first line like this.

        Raises:
            Violation: The process has ended, or it does not come.
        """
        try:
            async with asyncio.timeout(BOUND):
                while True:
                    said = self._said
                    for line in self.lines:
                        if match := pattern.search(line):
                            return match
                    if self._tasks[1].done():
                        break
                    await said.wait()
        except TimeoutError:
            pass
        state = f"the {self.name}, of exit code {self.process.returncode},"
        raise Violation(f"{state} says nothing like {pattern.pattern!r}: {list(self.lines)[-12:]}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it lives."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.killed = True
        self.signal(signal.SIGKILL)
        await self.ended()

    async def ended(self, seconds: float = BOUND) -> float:
        """Wait for its end; gives the seconds that took.

        Raises:
            Violation: It does not end.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                while self.lives:
                    self.starved()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.process.wait(), 0.1)
                await asyncio.gather(*self._tasks)
        except TimeoutError:
            self.signal(signal.SIGKILL)
            raise Violation(f"the {self.name} has not ended after {seconds} s") from None
        finally:
            self._order.close()
        self._ledger.process_ended(self.number)
        return time.monotonic() - began

    def starved(self) -> float:
        """Seconds for which it or the laboratory wanted to run so far, and others had the cores."""
        with suppress(OSError, ValueError, IndexError):
            self.last_starved = sum(
                int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9 for pid in (self.pid, "self")
            )
        return self.last_starved

    def numbers(self) -> list[int]:
        """Its file descriptors."""
        return [int(name) for name in os.listdir(f"/proc/{self.pid}/fd")]

    def memory(self) -> int:
        """Resident KiB."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0])

    def limit(self, what: int, soft: int | None) -> None:
        """Bound a resource while it runs; `None` for no bound of ours."""
        if self.lives:
            hard = resource.prlimit(self.pid, what)[1]
            resource.prlimit(self.pid, what, (hard if soft is None else soft, hard))


class Site:
    """One topology, standing.

    Args:
        topology: Which.
        place: A directory for its files.
    """

    def __init__(self, topology: Topology, place: Path) -> None:
        self.topology = topology
        self.ledger = Ledger()
        self.place = place
        self.app_home, self.gateway_home = place / "a", place / "g"
        self.app: Process | None = None
        self.server: Process | None = None
        """What the client talks to: the gateway, or the app itself."""
        self.retired: list[Process] = []
        self.pipe: PipeLink | None = None
        self.network = Network(self._to_server)
        self.restarts = 0
        self._used: set[str] = set()
        self._mirrored: dict[Path, str] = {}
        self._place: Mapping[str, Any] = {}
        self._stack = AsyncExitStack()
        self._port = _free_port()
        self.agent_wire = Wire(self._to_server)
        self.app_wire = Wire(self._to_app)
        self._ids = 0

    # Where things are

    @property
    def direct(self) -> bool:
        """Whether there is no gateway."""
        return self.topology.binding == "direct"

    @property
    def prefix(self) -> str:
        """What a tool's name begins with."""
        return "" if self.direct else "lab__"

    @property
    def agent_meter(self) -> Meter:
        """Where the client's bytes pass."""
        if self.topology.carrier == "stdio":
            assert self.pipe is not None
            return self.pipe
        return self.agent_wire

    @property
    def processes(self) -> dict[str, Process]:
        """Those there are, by what may be done to them."""
        named = {"server": self.server} if self.direct else {"server": self.server, "app": self.app}
        return {name: process for name, process in named.items() if process is not None}

    async def _to_server(self) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def _to_app(self) -> Streams:
        if self.topology.binding == "http":
            return await asyncio.open_connection("127.0.0.1", self.network.port)
        if self._place.get("kind") == "uds":
            return await asyncio.open_unix_connection(self._place["path"])
        if self._place.get("kind") == "ws":
            return await asyncio.open_connection("127.0.0.1", int(re.findall(r":(\d+)", self._place["url"])[0]))
        raise OSError("no app listens")

    def link(self) -> HttpLink | PipeLink:
        """For a client: one of its own over HTTP, the one there is on pipes."""
        if self.topology.carrier == "stdio":
            assert self.pipe is not None
            return self.pipe
        return HttpLink(lambda: self.agent_wire.port)

    # Standing

    async def __aenter__(self) -> Site:
        for home in (self.app_home, self.gateway_home):
            home.mkdir(mode=0o700)
            if _mount(home, "size=128k,mode=0700"):
                self._stack.callback(subprocess.run, ["umount", "-l", str(home)], check=False)
            (home / "instances").mkdir(mode=0o700)
        (self.place / "tmp").mkdir()
        await self.agent_wire.listen()
        self._stack.push_async_callback(self.agent_wire.aclose)
        binding = self.topology.binding
        if binding == "http":
            await self.network.listen()
            self._stack.push_async_callback(self.network.aclose)
        if binding != "direct":
            await self.app_wire.listen(str(self.place / "wire.sock") if binding == "uds" else None)
            self._stack.push_async_callback(self.app_wire.aclose)
        if binding in ("ws", "uds"):
            mirror = asyncio.create_task(self._mirror())
            self._stack.callback(mirror.cancel)
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if error is None:
                await self.end_all()
        finally:
            try:
                for process in self.processes.values():
                    if process.lives:
                        process.signal(signal.SIGCONT)
                        with suppress(asyncio.CancelledError):
                            await process.kill()
            finally:
                await self._stack.aclose()

    async def _mirror(self) -> None:
        """Copy what the app's home says to the gateway's, and take away what is taken away there."""
        while True:
            with suppress(OSError, ValueError):
                self._mirror_once()
            await asyncio.sleep(POLL)

    def _mirror_once(self) -> None:
        source, target = self.app_home / "instances", self.gateway_home / "instances"
        found = {}
        for path in source.glob("*.json"):
            with suppress(FileNotFoundError):
                found[path] = path.read_text(encoding="utf-8")
        for path in [path for path in self._mirrored if path not in found]:
            del self._mirrored[path]
            (target / path.name).unlink(missing_ok=True)
        for path, text in found.items():
            if self._mirrored.get(path) == text:
                continue
            manifest = json.loads(text)
            self._place = manifest["transport"]
            if self._place["kind"] == "uds":
                manifest["transport"] = {"kind": "uds", "path": str(self.place / "wire.sock")}
            else:
                url = re.sub(r":\d+", f":{self.app_wire.port}", self._place["url"], count=1)
                manifest["transport"] = {"kind": "ws", "url": url}
            directory.write(target / path.name, manifest)
            self._mirrored[path] = text

    def _env(self, home: Path) -> dict[str, str]:
        threads = "2" if self.topology.loop == "trio" else "40"
        return {
            "TESSERON_HOME": str(home),
            "TESSERON_TOKEN": TOKEN,
            "TMPDIR": str(self.place / "tmp"),
            "FAULTS_THREADS": threads,
        }

    async def start_server(self) -> None:
        """Start what the client talks to in the place of the one before."""
        self._retire(self.server)
        loop, carrier = self.topology.loop, self.topology.carrier
        self.server = Process("app" if self.direct else "gateway", self.ledger)
        http = ["--http", f"127.0.0.1:{self._port}"] if carrier == "http" else []
        if not self.direct:
            command = ["asyncio" if http else loop, "gateway", *http]
        elif loop == "trio" and http:
            command = ["trio", "hypercorn", str(self._port)]
        elif loop == "trio":
            command = ["trio", "stdio"]
        else:
            command = [loop, "mcp", "tests.faults.app:app", *http]
        env = self._env(self.app_home if self.direct else self.gateway_home)
        if self.pipe is not None:
            await self.pipe.aclose()
            self.pipe = None
        if not http:
            env.pop("TESSERON_TOKEN")
        await self.server.start(command, env, pipes=not http)
        if http:
            await self.server.wait_line(re.compile("MCP server|gateway at"))
        else:
            self.pipe = PipeLink(self.server.process)
        self.restarts += 1

    async def start_app(self) -> None:
        """Start the app in the place of the one before, and wait until it says how it may be reached."""
        self._retire(self.app)
        binding = self.topology.binding
        command = ["run", "tests.faults.app:app"]
        if binding == "uds":
            command += ["--uds"]
        elif binding == "http":
            command += ["--connect", f"http://127.0.0.1:{self.app_wire.port}"]
        self.app = Process("app", self.ledger)
        self.restarts += 1
        await self.app.start([self.topology.loop, *command], self._env(self.app_home))
        await self.app.wait_line(CODE)

    def _retire(self, process: Process | None) -> None:
        if process is None:
            return
        self.retired.append(process)
        if process.killed:  # what a gateway in the same home would clear away
            for path in (self.app_home / "instances").glob("*.json"):
                with suppress(OSError, ValueError):
                    if json.loads(path.read_text())["pid"] == process.pid:
                        path.unlink()

    async def ready(self, seconds: float = BOUND) -> None:
        """Everything stands and is connected, whatever has happened before.

        Raises:
            Violation: It does not come to that.
        """
        if self.server is None or not self.server.lives or (self.pipe is not None and self.pipe.lost is not None):
            if self.server is not None and self.server.lives:
                if self.pipe is not None:
                    await self.pipe.aclose()
                await self.server.ended()
            await self.start_server()
        if not self.direct and (self.app is None or not self.app.lives):
            await self.start_app()
        deadline = time.monotonic() + seconds
        problem: Any = None
        while time.monotonic() < deadline:
            try:
                if await self._echoes():
                    return
                problem = await self._claim()
            except Lost as lost:
                problem = lost
                if self.pipe is not None and self.pipe.lost is not None:
                    await self.start_server()
            await asyncio.sleep(POLL)
        raise Violation(f"{self.topology} does not work again: {problem!r}; {self.said()}")

    def said(self) -> str:
        """The last lines of all processes."""
        return "; ".join(f"{name}: {list(process.lines)[-8:]}" for name, process in self.processes.items())

    async def _echoes(self) -> bool:
        got = await self.call("echo", text="?") if self.direct else await self.call("lab__echo", text="?")
        result = got.get("result", {})
        return not result.get("isError") and bool(result.get("content")) and result["content"][0]["text"] == "?"

    async def _claim(self) -> Any:
        """Claim the app with the newest code that the gateway knows of."""
        if self.direct:
            return "no echo"
        assert self.app is not None
        codes = [match[1] for line in self.app.lines if (match := CODE.search(line))]
        code = codes[-1] if codes else ""
        if not code or code in self._used:
            return f"the code {code} has been used"
        pending = await self.call("tesseron__list_pending_claims")
        if "The laboratory" not in json.dumps(pending):
            return "nothing to claim"
        got = await self.call("tesseron__claim_session", code=code)
        if got.get("result", {}).get("isError"):
            return got
        self._used.add(code)
        return "claimed"

    async def call(self, tool: str, **arguments: Any) -> Message:
        """A call in the modern era that asks nobody.

        Raises:
            Lost: There was no answer.
        """
        self._ids += 1
        message = {
            "id": f"site {self._ids}",
            "method": "tools/call",
            "params": modern_params({"name": tool, "arguments": arguments}),
        }
        link = self.link()
        try:
            async with asyncio.timeout(BOUND):
                pending = await link.begin(message, modern=True)
                last = None
                while (got := await pending.next()) is not None:
                    last = got if got.get("id") == message["id"] else last
        except TimeoutError:
            raise Violation(f"{tool} has not ended after {BOUND} s; {self.said()}") from None
        if last is None:
            raise Lost("no answer")
        return last

    # Ending

    async def end(self, name: str) -> None:
        """SIGTERM: it is to end within two seconds, well, and to leave nothing.

        Raises:
            Violation: It does not.
        """
        process = self.processes[name]
        if process.lives:
            process.signal(signal.SIGTERM)
        starved = process.starved()
        took = await process.ended()
        starved = process.last_starved - starved
        if took - 1.5 * starved > SOON:
            raise Violation(f"the {process.name} took {took:.1f} s to end, {starved:.1f} s without a core")
        if process.process.returncode != 0 and not (process.killed or process.refused):
            raise Violation(f"the {process.name} ended with {process.process.returncode}: {list(process.lines)[-12:]}")

    async def end_all(self) -> None:
        """End everything, and look for what is left.

        Raises:
            Violation: Something is.
        """
        for name in self.processes:
            await self.end(name)
        killed = [process for process in [*self.retired, *self.processes.values()] if process.killed]
        left = [path for home in (self.app_home, self.gateway_home) for path in home.rglob("*.json")]
        left += list((self.place / "tmp").rglob("*.sock"))
        if left and not killed:
            raise Violation(f"left behind: {left}")
        for path in left:
            if path.suffix == ".json" and json.loads(path.read_text()).get("pid") not in {each.pid for each in killed}:
                raise Violation(f"left behind: {path}")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _mount(path: Path, options: str) -> bool:
    """Put a small file system at `path`, or change the one there; whether this user may."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


@contextmanager
def spoilt(home: Path, how: Literal["full", "read-only"]) -> Iterator[None]:
    """A home that is full, or may only be read: a file system of its own where this user may mount one.

    Elsewhere its directories are made read-only, in either case.
    """
    filler = home / "filler"
    mounted = home.is_mount()
    if not mounted:
        for place in (home, *home.iterdir()):
            place.chmod(0o500)
    elif how == "full":
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
    try:
        yield
    finally:
        if not mounted:
            for place in (home, *home.iterdir()):
                place.chmod(0o700)
        elif how == "full":
            filler.unlink()
        else:
            subprocess.run(["mount", "-o", "remount,rw", str(home)], check=True)
