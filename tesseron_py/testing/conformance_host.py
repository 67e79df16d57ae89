"""The library's own host for conformance scenarios: `python -m tesseron_py.testing.conformance_host`.

`TESSERON_CONFORMANCE_FIXTURE` names the scenario. It prints one line on stdout that says where it listens, and ends
when its stdin is closed. `TESSERON_CONFORMANCE_BACKEND` may be `trio`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from ..app import Tesseron
from ..cli.lines import Lines
from ..errors import RegistrationError
from ..host.claims import Claim
from ..host.host import Host
from ..host.listening import listening_host
from ..running import leave_now, until_stopped
from .fixture_app import FixtureApp, FixtureError

GRACE: Final = 0.2
"""Seconds for what does not heed its cancellation, of the 500 ms in which a host ends."""


def main() -> int:
    """Serve the scenario's app until stdin is closed, Ctrl-C or SIGTERM; gives the exit code."""
    try:
        _run(_scenario())
    except (FixtureError, RegistrationError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _run(scenario: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="tesseron-", ignore_cleanup_errors=True) as directory:
        # This is no app for agents: unless told where, it does not let the gateways of this machine find it.
        os.environ["TESSERON_HOME"] = os.environ.get("TESSERON_HOME") or directory
        anyio.run(_main, scenario, backend=os.environ.get("TESSERON_CONFORMANCE_BACKEND", "asyncio"))


def _scenario() -> dict[str, Any]:
    path = os.environ.get("TESSERON_CONFORMANCE_FIXTURE")
    if not path:
        raise FixtureError("TESSERON_CONFORMANCE_FIXTURE does not name a scenario's file")
    try:
        scenario = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FixtureError(f"the scenario {path} cannot be read: {error}") from error
    if not isinstance(scenario, dict) or not isinstance(scenario.get("fixture", {}), dict):
        raise FixtureError(f"the scenario {path} is no object with a fixture")
    return scenario


async def _main(scenario: dict[str, Any]) -> None:
    problem: Exception | None = None
    async with anyio.create_task_group() as group:
        try:
            await _serve(scenario, group)
        except Exception as error:
            problem = error  # kept from the task group, which would wrap it
        group.cancel_scope.cancel()
    if problem is not None:
        raise problem


async def _serve(scenario: dict[str, Any], group: anyio.abc.TaskGroup) -> None:
    fixture, uds = scenario.get("fixture", {}), "uds" in scenario.get("requires", ())
    host = _host(FixtureApp(fixture, group).build(), fixture, uds=uds)

    async def serve() -> None:
        await host.__aenter__()
        sys.stdout.write(f"tesseron-conformance-{'uds' if uds else 'url'}={host.url}\n")
        sys.stdout.flush()
        async for _ in Lines():
            pass

    try:
        await until_stopped(serve)
    finally:
        await host.aclose(grace=GRACE)
    if host.stubborn:
        leave_now(0)


def _host(app: Tesseron, fixture: dict[str, Any], *, uds: bool) -> Host:
    """How the scenario wants the app served: with the claim it gives, or in the plain form."""
    binding: Literal["ws", "uds"] = "uds" if uds else "ws"
    given = fixture.get("hostMintedClaim")
    if given is None:
        return listening_host(app, binding, claims="gateway")
    claim = Claim(given["code"].upper(), given["sessionId"], given["resumeToken"], minted_at=int(time.time() * 1000))
    return listening_host(app, binding, claims="host", claim=claim)


if __name__ == "__main__":
    sys.exit(main())
