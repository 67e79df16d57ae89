"""How the commands that serve end, within 2 s whatever still runs in the process; what they say of closed pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tesseron_py import running
from tesseron_py.running import Ending

from .test_serving import INITIALIZE, LIST_TOOLS, command, ended, exchange

APP = """
import asyncio, os, threading, time
from contextlib import asynccontextmanager
from tesseron_py import Tesseron

async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

@asynccontextmanager
async def lifespan(app):
    how = os.environ["KEPT_BY"]
    if how == "thread of the loop":
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)
    elif how == "task":
        app.task = asyncio.create_task(stubborn())
    elif how == "thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
    yield
    print("left", file=open("left", "w"))

app = Tesseron("shop", "The shop", lifespan=lifespan)
if __name__ == "__main__":
    app.run()
"""
KEPT_BY = ["thread of the loop", "task", "thread"]
SOON = 2.5
"""Seconds: 2, and what a busy machine may add."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "kept_app.py").write_text(APP)
    return tmp_path


def begin(shop: Path, how: str, kept_by: str) -> subprocess.Popen[str]:
    env = {**os.environ, "KEPT_BY": kept_by, "TESSERON_HOME": str(shop / "home")}
    if how == "stdio":
        process = command(shop, "mcp", "kept_app:app", env=env)
        exchange(process, INITIALIZE)
        exchange(process, LIST_TOOLS)
        return process
    if how == "app.run()":
        process = subprocess.Popen(
            [sys.executable, "kept_app.py"], cwd=shop, env=env, stderr=subprocess.PIPE, text=True
        )
    elif how == "run":
        process = command(shop, "run", "kept_app:app", env=env)
    else:
        process = command(shop, "mcp", "kept_app:app", "--http", "127.0.0.1:0", env=env)
    assert process.stderr is not None
    process.stderr.readline()
    return process


@pytest.mark.parametrize("kept_by", KEPT_BY)
@pytest.mark.parametrize("how", ["stdio", "http", "run", "app.run()"])
def test_a_signal_ends_a_process_that_something_would_keep(shop: Path, how: str, kept_by: str) -> None:
    if (how, kept_by) == ("app.run()", "thread"):
        pytest.skip("after app.run() the process is its author's")
    process = begin(shop, how, kept_by)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0
    assert time.monotonic() - began < SOON
    assert (shop / "left").exists()


@pytest.mark.parametrize("kept_by", KEPT_BY)
def test_the_end_of_the_input_ends_a_process_that_something_would_keep(shop: Path, kept_by: str) -> None:
    process = begin(shop, "stdio", kept_by)
    began = time.monotonic()
    assert ended(process) == (0, "", "")
    assert time.monotonic() - began < SOON
    assert (shop / "left").exists()


@pytest.mark.parametrize(
    ("arguments", "path", "headers"),
    [
        ("mcp kept_app:app --http 127.0.0.1:0", "/mcp", ""),
        (
            "gateway --http 127.0.0.1:0 --token t",
            "/tesseron",
            "Authorization: Bearer t\r\nTesseron-Attempt: 0123456789abcdef0123456789abcdef\r\n",
        ),
    ],
)
def test_a_client_that_sends_half_a_body_keeps_no_server_and_is_told(
    shop: Path, arguments: str, path: str, headers: str
) -> None:
    env = {**os.environ, "KEPT_BY": "nothing"}
    process = command(shop, *arguments.split(), env=env)
    assert process.stderr is not None
    found = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
    assert found is not None
    with socket.create_connection(("127.0.0.1", int(found[1])), timeout=10) as half:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Expect: 100-continue\r\nContent-Length: 100"
        half.sendall(f"{head}\r\n\r\n".encode())
        assert half.recv(100).startswith(b"HTTP/1.1 100")  # the body is being read
        half.sendall(b"{")
        process.send_signal(signal.SIGTERM)
        assert half.recv(65536).startswith(b"HTTP/1.1 503")
    assert ended(process) == (0, "", "")


def test_a_scripted_agent_ends_with_an_app_that_something_would_keep(shop: Path) -> None:
    env = {**os.environ, "KEPT_BY": "task"}
    process = command(shop, "agent", "--app", "kept_app:app", env=env)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("list\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["tools"] == {}
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 143


def test_an_ending_ends_the_process_unless_it_is_called_off(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    left = threading.Event()
    monkeypatch.setattr(running, "leave_now", lambda code: (codes.append(code), left.set()))
    monkeypatch.setattr(running, "END", 60.0)
    off = Ending()
    off.call_off()
    off.begin()
    timer = off._timer
    assert timer is not None
    assert timer.daemon
    off.begin()
    assert off._timer is timer
    off.call_off()
    timer.join(5)
    assert not timer.is_alive()
    assert codes == []
    monkeypatch.setattr(running, "END", 0.0)
    Ending(3).begin()
    assert left.wait(5)
    assert codes == [3]


@pytest.mark.parametrize("arguments", ["mcp kept_app:app", "gateway"])
@pytest.mark.parametrize(
    ("closed", "says"),
    [
        ("<&-", "standard input is closed"),
        (">&-", "standard output is closed"),
        ("<&- >&-", "standard input is closed"),
    ],
)
def test_a_closed_pipe_is_said(shop: Path, arguments: str, closed: str, says: str) -> None:
    line = f'"$0" -m tesseron_py {arguments} {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=shop, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {says}")
    assert done.stdout == ""


def test_without_standard_error_nothing_else_gets_what_is_said(shop: Path) -> None:
    line = ["sh", "-c", 'exec "$0" -m tesseron_py mcp nowhere:app 2>&-', sys.executable]
    process = subprocess.Popen(line, cwd=shop, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    exchange(process, INITIALIZE)
    assert "there is no module 'nowhere'" in exchange(process, LIST_TOOLS)["error"]["message"]
    assert process.communicate(timeout=30)[0] == ""
    assert process.returncode == 2


def test_other_commands_need_no_standard_output(shop: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m tesseron_py instances >&-', sys.executable],
        cwd=shop,
        env={**os.environ, "TESSERON_HOME": str(shop / "home")},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr
