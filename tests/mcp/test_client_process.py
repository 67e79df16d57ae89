"""A server as a child process: its lines, its end, and servers that will not end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from client_peers import PATIENCE

from tesseron_py.mcp.client import McpClient, TransportEnded
from tesseron_py.mcp.client_process import ProcessTransport, _end_of, exit_code

posix = pytest.mark.skipif(os.name != "posix", reason="signals and process groups")

SERVER = """
import json, os, signal, subprocess, sys, time
def put(line):
    sys.stdout.buffer.write(line if isinstance(line, bytes) else line.encode()); sys.stdout.buffer.flush()
def answer(request, result):
    put(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, ensure_ascii=False) + "\\n")
def take():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None
def shake_hands():
    answer(take(), {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "child"}})
    take()
"""


def python(script: str) -> list[str]:
    """The command that runs `script` after the few functions above."""
    return [sys.executable, "-c", SERVER + script]


@asynccontextmanager
async def child(script: str, *, grace: float = 2.0, **options: Any) -> AsyncIterator[tuple[McpClient, psutil.Process]]:
    transport = ProcessTransport(python(script), grace=grace, **options)
    with anyio.fail_after(PATIENCE):
        async with McpClient(transport) as client:
            assert transport._process is not None
            yield client, psutil.Process(transport._process.pid)


async def test_a_server_is_started_spoken_to_and_ended(capfd: pytest.CaptureFixture[str]) -> None:
    script = """
shake_hands()
while (request := take()):
    print("heard", request["method"], file=sys.stderr, flush=True)
    said, added = request["params"]["text"], os.environ.get("ADDED")
    answer(request, {"said": said, "env": added, "path": bool(os.environ["PATH"])})
print("ending", file=sys.stderr)
"""
    async with child(script, env={"ADDED": "yes"}) as (client, process):
        for text in ("plain", "snow \u2603 \U0001f600", "a\u2028b\u0085c", "lines\nand\r\nmore"):
            result = await client.request("echo", {"text": text})
            assert result == {"said": text, "env": "yes", "path": True}
    assert not process.is_running()
    assert capfd.readouterr().err == "heard echo\n" * 4 + "ending\n"


async def test_lines_come_in_any_pieces() -> None:
    script = """
shake_hands()
request = take()
message = {"jsonrpc": "2.0", "id": request["id"], "result": "x" * 300_000 + "\\u2603"}
body = json.dumps(message, ensure_ascii=False).encode()
put(b'{"jsonrpc":"2.0","method":"notifications/x"}\\r\\n\\n  \\n' + body[:10])
for i in range(10, len(body), 70_001):
    put(body[i:i+70_001]); time.sleep(0.001)
put(b"\\n" + b"not json\\n" + b"\\xff\\xfe\\n")
answer(take(), "again")
take()
"""
    async with child(script) as (client, _):
        assert await client.request("big") == "x" * 300_000 + "\u2603"
        assert await client.request("next") == "again"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("sys.exit(3)", "exited with code 3"),
        ("shake_hands(); take(); sys.exit(0)", "exited with code 0"),
        pytest.param("shake_hands(); take(); os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL", marks=posix),
        ("shake_hands(); take(); os.close(1); sys.stdin.read()", "closed its output"),
        (
            "shake_hands(); take()\n"
            "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], stdin=subprocess.DEVNULL)\n"
            "os._exit(4)",
            "exited with code 4",
        ),
    ],
)
async def test_a_server_that_ends_early_fails_what_waits_and_says_how_it_ended(script: str, says: str) -> None:
    with pytest.raises(TransportEnded, match=says):
        async with child(script, grace=0.3) as (client, _):
            await client.call("x")


async def test_the_end_of_a_server_does_not_wait_for_what_holds_its_output() -> None:
    class Exited:
        """A process as some versions of anyio have it: it is known to have ended, and still waited for."""

        returncode: int | None = None

        async def wait(self) -> int:
            self.returncode = 4
            await anyio.sleep_forever()

    with anyio.fail_after(5):
        assert await exit_code(Exited()) == 4


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["tesseron-no-such-command"], "there is no command 'tesseron-no-such-command'"),
        ([str(Path(__file__).parent)], "Cannot start the server"),
        ([sys.executable, "\0"], "Cannot start the server"),
    ],
)
async def test_a_command_that_cannot_be_started_says_so(command: list[str], says: str) -> None:
    with pytest.raises(TransportEnded, match=says):
        async with McpClient(ProcessTransport(command)):
            raise AssertionError("the client must not open")


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        ProcessTransport([])


@posix
@pytest.mark.parametrize("ignored", ["SIGTERM", "SIGUSR1"])
async def test_a_server_that_will_not_end_is_ended(ignored: str) -> None:
    script = f"signal.signal(signal.{ignored}, signal.SIG_IGN); shake_hands(); time.sleep(60)"
    async with child(script, grace=0.2) as (_, process):
        pass
    assert not process.is_running()  # and no zombie: a zombie counts as running


@posix
async def test_what_the_server_started_ends_with_it() -> None:
    script = """
shake_hands()
request = take()
kid = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
answer(request, kid.pid)
time.sleep(60)
"""
    async with child(script, grace=0.2) as (client, process):
        grandchild = psutil.Process(await client.request("pid"))
    assert not process.is_running()
    gone, _ = psutil.wait_procs([grandchild], timeout=PATIENCE)
    assert gone or grandchild.status() == psutil.STATUS_ZOMBIE  # where nobody reaps orphans


async def test_a_line_above_the_limit_ends_the_connection() -> None:
    script = "shake_hands(); take(); put('x' * 500_000); time.sleep(60)"
    with pytest.raises(TransportEnded, match="above 100000 bytes"):
        async with child(script, grace=0.2, limit=100_000) as (client, _):
            await client.call("x")


async def test_a_server_that_does_not_read_holds_up_nobody_for_ever() -> None:
    async with child("shake_hands(); time.sleep(60)", grace=0.2) as (client, process):
        with anyio.move_on_after(0.5) as scope:
            while True:
                await client.notify("x", {"text": "y" * 100_000})
        assert scope.cancelled_caught
    assert not process.is_running()


async def test_sending_to_a_server_that_is_gone_fails() -> None:
    transport = ProcessTransport(python("shake_hands(); sys.stdin.close(); os.close(0); time.sleep(60)"), grace=0.2)
    with anyio.fail_after(PATIENCE):
        async with McpClient(transport):
            with pytest.raises(TransportEnded, match="takes no more"):
                while True:
                    await transport.send("x" * 100_000)
        await transport.aclose()


@posix
def test_the_end_of_a_process_in_words() -> None:
    assert _end_of(-signal.SIGTERM) == "The server process was ended by SIGTERM"
    assert _end_of(-200) == "The server process was ended by signal 200"
