"""A client gives a server little time for its first reply, and an app may be slow to import (`spec/mcp.md` §5)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from .clients import official
from .conftest import FOREIGN
from .journal import wait_for
from .processes import PATIENCE, SOON, mcp_command
from .raw import INITIALIZE, Pipe

pytestmark = FOREIGN
SLOW = "tests.product.slow:app"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Import:
    """The import of the slow app.

    Attributes:
        began: A file that is there once it has begun.
        pipe: It goes on when something has been written to this.
    """

    began: Path
    pipe: Path

    @property
    def env(self) -> dict[str, str]:
        return {"SLOW_BEGAN": str(self.began), "SLOW_PIPE": str(self.pipe)}

    def wait(self) -> None:
        """Until it has begun."""
        wait_for(self.began.exists, PATIENCE)

    def finish(self) -> None:
        """Let it end."""
        self.pipe.write_text("go\n", encoding="utf-8")


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Import]:
    slow = Import(tmp_path / "began", tmp_path / "pipe")
    os.mkfifo(slow.pipe)
    # Open for reading, too, so that neither end ever waits for the other.
    descriptor = os.open(slow.pipe, os.O_RDWR)
    yield slow
    os.close(descriptor)


def test_initialize_is_answered_before_the_app_is_imported(slow: Import) -> None:
    with Pipe(SLOW, slow.env) as pipe:
        assert pipe.response(pipe.start("server/discover"))["error"]["code"] == -32602
        assert "serverInfo" in str(pipe.response(pipe.start("server/discover", {"_meta": MODERN}))["result"])
        assert pipe.response(pipe.start("initialize", INITIALIZE))["result"]["protocolVersion"] == "2025-11-25"
        assert pipe.response(pipe.start("ping"))["result"] == {}
        assert not slow.began.exists()
        listing = pipe.start("tools/list")
        slow.wait()
        slow.finish()
        assert [tool["name"] for tool in pipe.response(listing)["result"]["tools"]] == ["ready"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_that_imports_its_app(slow: Import, how: signal.Signals) -> None:
    with Pipe(SLOW, slow.env) as pipe:
        pipe.open()
        slow.wait()
        assert pipe.server.end(how) < SOON


def finish_when_begun(slow: Import) -> None:
    slow.wait()
    slow.finish()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_waits_for_the_app_only_when_it_needs_it(slow: Import, mode: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, finish_when_begun, slow)
            async with official(mcp_command(SLOW), mode=mode, env=slow.env) as client:
                assert (await client.call("ready")).text == "ready"
