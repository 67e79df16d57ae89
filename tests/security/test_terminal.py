"""Nothing from elsewhere acts on a terminal: not what a server says to the agent, nor an app, nor a gateway to an app.

The commands run as they are; what is searched is every byte that they print.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tesseron_py import directory

from ..product.processes import PATIENCE, ROOT, TESSERON, environment

EVIL = "x\x1b]0;owned\x07\x1b[2J\x9b31m\r\b\u202egnp\u2028\u200b\x00"
"""Sets the title, clears the screen, colours, overwrites the line, turns the reading order round."""
SERVER = """
import json, sys
evil = json.loads(sys.argv[1])
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
sys.stderr.write("started\\n")
for line in sys.stdin:
    request = json.loads(line)
    method, id = request.get("method"), request.get("id")
    if method == "initialize":
        info = {"name": evil, "version": evil, "title": evil}
        offered = {"tools": {}, "resources": {}, "logging": {}}
        say(id=id, result={"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": info,
                           "instructions": evil})
    elif method == "tools/list":
        say(id=id, result={"tools": [{"name": evil, "description": evil, "inputSchema": {"type": "object"}}]})
    elif method == "resources/list":
        say(id=id, result={"resources": [{"uri": evil, "name": evil}]})
    elif method == "resources/read":
        say(id=id, result={"contents": [{"uri": evil, "text": evil}]})
    elif method == "tools/call":
        name, token = request["params"]["name"], request["params"].get("_meta", {}).get("progressToken")
        call = id
        say(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": evil})
        say(method="notifications/message", params={"level": "error", "logger": evil, "data": evil})
        if name == "text":
            say(id=id, result={"content": [{"type": "text", "text": evil}]})
        elif name == "structured":
            say(id=id, result={"content": [], "structuredContent": {evil: evil}})
        elif name == "failed":
            say(id=id, result={"content": [{"type": "text", "text": evil}], "isError": True,
                               "structuredContent": {"code": 5, "data": {evil: evil}}})
        elif name == "error":
            say(id=id, error={"code": 5, "message": evil, "data": {evil: evil}})
        elif name == "missing":
            say(id=id, error={"code": -32021, "message": evil, "data": {"requiredCapabilities": {evil: {}}}})
        elif name == "link":
            say(id="q", method="elicitation/create", params={"mode": "url", "message": evil, "elicitationId": "e",
                                                              "url": "https://a.example/" + evil})
        else:
            schema = {"type": "object", "required": [evil], "properties": {
                evil: {"type": "string", "title": evil, "description": evil, "enum": [evil, "b"], "default": evil}}}
            say(id="q", method="elicitation/create", params={"message": evil, "requestedSchema": schema})
    elif id == "q":
        say(id=call, result={"content": [{"type": "text", "text": "answered " + str(request.get("result"))}]})
    elif id is not None:
        say(id=id, error={"code": -32601, "message": evil})
"""
SCRIPT = """list
@text
@structured
@failed
@error
@missing
elicit-accept {"b": 1}
@form
elicit-decline
@form
elicit-accept {}
@link
@form
read x
read y
"""


def tame(output: bytes) -> str:
    """What was printed, in which nothing acts."""
    text = output.decode()
    for line in text.split("\n"):
        bad = [char for char in line if char < " " or "\x7f" <= char <= "\x9f" or char in "\u202e\u2028\u200b"]
        assert not bad, ascii(line)
    return text


def run(*command: str, stdin: str = "") -> str:
    """All that a command prints."""
    done = subprocess.run(
        [TESSERON, *command],
        cwd=ROOT,
        env=environment(),
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
        check=False,
    )
    return tame(done.stdout)


@pytest.mark.parametrize("elicit", [True, False])
def test_what_a_server_says_to_the_agent(elicit: bool) -> None:
    server = shlex.join([sys.executable, "-c", SERVER, json.dumps(EVIL)])
    shown = run("agent", "--stdio", server, *(["--elicit"] if elicit else []), stdin=SCRIPT)
    assert shown.count("\\x1b") + shown.count("\\u001b") > 15
    assert ("answered: decline" in shown) is elicit
    assert "Traceback" not in shown


def test_what_the_head_of_an_http_response_says_to_the_agent() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 5, "message": EVIL}}).encode()
            self.wfile.write(
                b"HTTP/1.1 400 \x1b[2Jbad\r\nContent-Type: \x1b[2J\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shown = run("agent", "--url", f"http://127.0.0.1:{server.server_port}/\x1b[2J", stdin="list\n")
        shown += run("agent", "--url", f"http://127.0.0.1:{server.server_port}/mcp", stdin="list\n")
        server.shutdown()
    assert "error: " in shown


def test_what_manifests_say_to_whoever_lists_them(tesseron_home: Path) -> None:
    place = directory.private(directory.INSTANCES)
    claim = {"code": EVIL, "sessionId": EVIL, "resumeToken": EVIL}
    bound = {**claim, "boundAgent": {"id": EVIL, "name": EVIL}}
    common = {"version": 2, "appName": EVIL, "pid": os.getpid(), "addedAt": 1}
    for number, (transport, more) in enumerate(
        [
            ({"kind": "ws", "url": f"ws://127.0.0.1:9/{EVIL}"}, {}),
            ({"kind": "uds", "path": f"/tmp/{EVIL[:-1]}"}, {"helloHandledByHost": True, "hostMintedClaim": claim}),
            ({"kind": "ws", "url": EVIL}, {"helloHandledByHost": True, "hostMintedClaim": bound}),
            ({"kind": "ws", "url": EVIL}, {"hostMintedClaim": bound}),
        ]
    ):
        content = {**common, "instanceId": EVIL, "transport": transport, **more}
        directory.write(place / f"{number}.json", content)
    (place / "bad\x1b[2J.json").write_text("{")
    shown = run("instances")
    assert len(shown.splitlines()) == 5
    assert shown.count("\\x1b") >= 9


@pytest.mark.parametrize(
    "arguments",
    [
        ["\x1b[2J"],
        ["run", "\x1b[2J:app"],
        ["run", "json:\x1b[2J"],
        ["gateway", "--http", "127.0.0.1:0", "--allow-host", "\x1b[2J"],
        ["agent", "--stdio", "no-such-command-\x1b[2J"],
        ["agent", "--url", "\x1b[2J"],
        ["run", "json:loads", "--connect", "http://\x1b[2J"],
        ["demo", "--\x1b[2J"],
    ],
)
def test_what_is_wrong_with_arguments(arguments: list[str]) -> None:
    assert "\\x1b[2J" in run(*arguments)
