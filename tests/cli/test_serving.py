"""`tesseron-py mcp` and `run`: what a wrong command line gets, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tesseron_py.cli.address import listen, parse
from tesseron_py.cli.failure import Failure

APP = """
from tesseron_py import Tesseron, Context
app = Tesseron("shop", "The shop")
@app.action
async def clear(ctx: Context) -> int:
    return 5 if await ctx.confirm("Remove 5?") else 0
not_an_app = 7
def make_app():
    return Tesseron("made")
"""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop_app.py").write_text(APP)
    (tmp_path / "broken_app.py").write_text("1 / 0\n")
    (tmp_path / "lifespan_app.py").write_text(
        "from contextlib import asynccontextmanager\nfrom tesseron_py import Tesseron\n@asynccontextmanager\n"
        "async def lifespan(app):\n    raise RuntimeError('no database')\n    yield\n"
        "app = Tesseron('shop', lifespan=lifespan)\n"
    )
    return tmp_path


def command(shop: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tesseron_py", *arguments],
        cwd=shop,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def ended(process: subprocess.Popen[str], given: str = "") -> tuple[int, str, str]:
    out, err = process.communicate(given, timeout=30)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["mcp", "shop_app:nope", "--http", "127.0.0.1:0"], 2, "there is no 'nope' in shop_app"),
        (["mcp", "shop_app:not_an_app", "--http", "127.0.0.1:0"], 2, "is a int, and a Tesseron app is needed"),
        (["mcp", "shop_app:make_app", "--http", "127.0.0.1:0"], 2, "write shop_app:make_app()"),
        (["mcp", "none_app:app", "--http", "127.0.0.1:0"], 2, "there is no module 'none_app'"),
        (["mcp", "broken_app:app", "--http", "127.0.0.1:0"], 1, "ZeroDivisionError"),
        (["mcp", "lifespan_app:app", "--http", "127.0.0.1:0"], 1, "no database"),
        (["mcp", "shop_app", "--http", "127.0.0.1:0"], 2, "does not name an app"),
        (["mcp", "shop_app:app", "--http", "localhost"], 2, "is no address"),
        (["mcp", "shop_app:app", "--http", "127.0.0.1:99999"], 2, "is no address"),
        (["mcp", "shop_app:app", "--http", "0.0.0.0:0"], 2, "a token is needed"),
        (["mcp", "shop_app:app", "--http", "127.0.0.1:0", "--allow-origin", "nonsense"], 2, "nonsense"),
        (["mcp", "shop_app:app", "--http", "127.0.0.1:0", "--allow-host", "a/b"], 2, "a/b"),
        (["mcp", "shop_app:app", "--token", "x"], 2, "--token goes with --http"),
        (["mcp", "shop_app:app", "--allow-host", "x"], 2, "--allow-host goes with --http"),
        (["mcp", "shop_app:app", "--confirm-form", "maybe"], 2, "invalid choice"),
        (["mcp"], 2, "MODULE:APP"),
        (["run", "shop_app:not_an_app"], 2, "is a int"),
        (["run", "lifespan_app:app"], 1, "no database"),
        (["run", "shop_app:app", "--port", "x"], 2, "invalid port"),
        (["run", "shop_app:app", "--port", "99999"], 2, "invalid port"),
        (["run", "shop_app:app", "--connect", "ftp://x"], 2, "it looks like http://127.0.0.1:7475"),
        (["run", "shop_app:app", "--connect", "http://a", "--uds"], 2, "--uds is for an app that listens"),
        (["run", "shop_app:app", "--connect", "http://a", "--plain"], 2, "--plain is for an app that listens"),
        (["run", "shop_app:app", "--connect", "--port", "7"], 2, "--port is for an app that listens"),
        (["run", "shop_app:app", "--token", "x"], 2, "--token goes with --connect"),
        (["run", "shop_app:app", "--connect"], 1, "start one: tesseron-py gateway --http"),
        (["run", "shop_app:app", "--connect", "http://127.0.0.1:1"], 1, "no gateway of yours"),
        (["run", "shop_app:app", "--connect", "http://127.0.0.1:1", "--token", "x"], 1, "is the gateway running?"),
        (["run", "shop_app:app", "--connect", "http://127.0.0.1:1", "--token", "x y"], 1, "visible ASCII"),
        (["gateway", "--http", "localhost"], 2, "is no address"),
        (["gateway", "--http", "0.0.0.0:0"], 2, "a token is needed"),
        (["gateway", "--token", "x"], 2, "--token goes with --http"),
        (["gateway", "--surface", "none"], 2, "invalid choice"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_says_what_and_how_to_mend_it(
    shop: Path, arguments: list[str], code: int, says: str
) -> None:
    exit_code, out, err = ended(command(shop, *arguments))
    assert exit_code == code
    assert err.startswith("error: ")
    assert says in err
    assert out == ""


def test_an_app_dials_a_gateway_of_this_machine(shop: Path) -> None:
    gateway = command(shop, "gateway", "--http", "127.0.0.1:0")
    assert gateway.stderr is not None
    assert "Tesseron gateway at http://127.0.0.1:" in gateway.stderr.readline()
    app = command(shop, "run", "shop_app:app", "--connect")
    assert app.stderr is not None
    assert re.fullmatch(r"The shop is connected to http://127\.0\.0\.1:\d+/tesseron\n", app.stderr.readline())
    assert any("Tell your agent: claim the Tesseron session" in app.stderr.readline() for _ in range(8))
    for process in (app, gateway):
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0


def test_a_taken_port_is_said(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = ended(command(shop, "mcp", "shop_app:app", "--http", f"127.0.0.1:{port}"))
        assert code == 1
        assert "Address already in use" in err
        code, _, err = ended(command(shop, "run", "shop_app:app", "--port", str(port)))
        assert code == 1
        assert "cannot listen" in err


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")
@pytest.mark.parametrize("arguments", [["mcp", "shop_app:app"], ["gateway"]])
def test_a_server_on_stdio_tells_whoever_sits_at_a_terminal_what_it_is(shop: Path, arguments: list[str]) -> None:
    ours, theirs = os.openpty()
    try:
        line = [sys.executable, "-m", "tesseron_py", *arguments]
        with subprocess.Popen(line, cwd=shop, stdin=theirs, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said == "This speaks MCP, for a client that starts it; Ctrl-C ends it. See --help.\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stderr.read() == ""
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")
def test_an_app_that_cannot_be_loaded_is_told_at_once_to_whoever_sits_at_a_terminal(shop: Path) -> None:
    ours, theirs = os.openpty()
    try:
        line = [sys.executable, "-m", "tesseron_py", "mcp", "shop_app:ap"]
        ended = subprocess.run(line, cwd=shop, stdin=theirs, capture_output=True, text=True, timeout=60, check=False)
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "there is no 'ap' in shop_app; did you mean 'app'?" in ended.stderr


def exchange(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    """Send one message and read one; the input stays open."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    return dict(json.loads(process.stdout.readline()))


def test_an_app_that_cannot_be_loaded_on_stdio_answers_and_ends_with_the_reason(shop: Path) -> None:
    for target, says in (
        ("broken_app:app", "ZeroDivisionError"),
        ("shop_app:nope", "there is no 'nope'"),
        ("lifespan_app:app", "no database"),
    ):
        process = command(shop, "mcp", target)
        assert exchange(process, INITIALIZE)["result"]["serverInfo"]["name"] == "tesseron-py"
        refused = exchange(process, LIST_TOOLS)["error"]
        assert refused["code"] == -32603
        assert says in refused["message"]
        code, _, err = ended(process)
        assert says in err
        assert code in (1, 2)


def test_an_app_and_a_factory_are_served_on_stdio(shop: Path) -> None:
    for target, names in (("shop_app:app", ["clear"]), ("shop_app:make_app()", [])):
        process = command(shop, "mcp", target)
        exchange(process, INITIALIZE)
        assert [tool["name"] for tool in exchange(process, LIST_TOOLS)["result"]["tools"]] == names
        assert ended(process) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_over_http_says_where_it_is_and_ends_on_a_signal(shop: Path, number: signal.Signals) -> None:
    process = command(
        shop, "mcp", "shop_app:app", "--http", "127.0.0.1:0", env={**os.environ, "TESSERON_TOKEN": "t0ken"}
    )
    assert process.stderr is not None
    found = re.fullmatch(r"MCP server at (http://127\.0\.0\.1:\d+/mcp)\n", process.stderr.readline())
    assert found is not None
    assert httpx.post(found[1], json=INITIALIZE).status_code == 401
    response = httpx.post(found[1], json=INITIALIZE, headers={"Authorization": "Bearer t0ken"})
    assert response.json()["result"]["serverInfo"]["name"] == "shop"
    process.send_signal(number)
    assert ended(process) == (0, "", "")


def test_a_missing_extra_names_what_to_install(shop: Path) -> None:
    (shop / "uvicorn.py").write_text("raise ModuleNotFoundError(\"No module named 'uvicorn'\")\n")
    process = command(shop, "mcp", "shop_app:app", "--http", env={**os.environ, "PYTHONPATH": str(shop)})
    code, _, err = ended(process)
    assert code == 1
    assert 'pip install "tesseron-py[serve]"' in err


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:8000", ("::1", 8000)),
        (":8000", ("127.0.0.1", 8000)),
        ("8000", ("127.0.0.1", 8000)),
    ],
)
def test_an_address_is_read(text: str, address: tuple[str, int]) -> None:
    assert parse(text) == address


@pytest.mark.parametrize("text", ["", ":", "localhost", "127.0.0.1:", "::1:80", "[::1]", "127.0.0.1:-1", "127.0.0.1:٣"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="is no address"):
        parse(text)


def test_an_address_that_is_taken_is_refused() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(Failure, match="cannot listen"):
        listen("127.0.0.1", first.getsockname()[1])
