"""`tesseron-py agent`, the real executable, with real servers: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FOREIGN = Path(__file__).parents[1] / "mcp" / "foreign_server.py"
STDIO = shlex.join([sys.executable, "-W", "ignore", str(FOREIGN), "stdio"])
EXECUTABLE = shutil.which("tesseron-py", path=str(Path(sys.executable).parent)) or "tesseron-py is not installed"
PATIENCE = 60

RAW = """
import json, os, sys, time
def answer(**outcome):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        sys.stderr.write("declared " + json.dumps(request["params"]["capabilities"]) + "\\n")
        answer(result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "raw"}})
    elif request["method"] == "tools/call":
        name, given = request["params"]["name"], request["params"]["arguments"]
        if name == "die":
            os._exit(5)
        if name == "slow":
            sys.stderr.write("slow\\n"); sys.stderr.flush(); continue
        if name == "error":
            answer(error=given)
        elif name == "tesseron__claim_session":
            answer(result={"content": [], "structuredContent": {"claimed": given["code"]}})
        else:
            answer(result=given)
    elif "id" in request:
        answer(error={"code": -32601, "message": "Method not found"})
"""


def command(*arguments: str) -> list[str]:
    return [EXECUTABLE, "agent", *arguments]


def raw() -> tuple[str, str]:
    """The options that start a server which answers a call with its own arguments."""
    return "--stdio", shlex.join([sys.executable, "-c", RAW])


def agent(script: str | bytes, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    data = script.encode() if isinstance(script, str) else script
    done = subprocess.run(
        command(*arguments), input=data, capture_output=True, timeout=PATIENCE, check=False, **options
    )
    assert b"Traceback" not in done.stderr
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def values(done: subprocess.CompletedProcess[str]) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def foreign_http() -> Iterator[str]:
    server = [sys.executable, "-W", "ignore", str(FOREIGN), "http"]
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.terminate()


DAY = """\
# a working day
elicit-accept {"warehouse": "W-7"}
elicit-decline

@echo {"text": "snow \\u2603 \\ud83d\\ude00 \\u001b[2J \\u2028"}
@add {"a": 1, "b": 2}
wait 10ms
@ask {"question": "Which\\u001b[2J?"}
@ask {"question": "And now?"}
@ask {"question": "Once more?"}
@blocks
read foreign://stats
read foreign://motto
@ask_url"""


@pytest.fixture(params=["stdio", "http"])
def where(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    if request.param == "stdio":
        yield ["--stdio", STDIO]
    else:
        with foreign_http() as url:
            yield ["--url", url]


def test_a_working_day_with_an_official_server(where: list[str]) -> None:
    done = agent(DAY, *where, "--elicit", env={**os.environ, "PYTHONIOENCODING": "cp1252"})  # row 81
    assert values(done) == [
        "snow \u2603 \U0001f600 \x1b[2J \u2028",
        {"sum": 3},
        "accept:W-7",
        "decline:",
        "cancel:",
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        {"open": 3},
        "Ask first",
        "cancel",
    ]
    assert "\u2603" in done.stdout
    assert done.stderr == (
        "? Which\\x1b[2J?\n"
        "  form: warehouse (string)\n"
        '  answered: accept {"warehouse":"W-7"}\n'
        "? And now?\n"
        "  form: warehouse (string)\n"
        "  answered: decline\n"
        "? Once more?\n"
        "  form: warehouse (string)\n"
        "  answered: cancel (no answer is queued)\n"
        "? Sign in https://example.test/login\n"
        "  answered: cancel (no answer is queued)\n"
    )
    assert done.returncode == 0


def test_calls_that_fail_are_errors_and_the_script_goes_on(where: list[str]) -> None:
    done = agent('@fail\n@ask {"question": "?"}\nread foreign://no\n@add {"a":1,"b":1}\n', *where)
    assert values(done) == [{"sum": 2}]
    fail, ask, read = done.stderr.splitlines()
    assert fail.startswith("error: @fail: ")
    assert "The cart is locked" in fail
    assert ask.startswith("error: @ask: ")  # the capability was not declared
    assert read.startswith("error: read foreign://no: ")
    assert done.returncode == 1


# What is declared, sent and printed


@pytest.mark.parametrize(("options", "declared"), [([], {}), (["--elicit"], {"elicitation": {"form": {}, "url": {}}})])
def test_asking_is_declared_only_when_wanted(options: list[str], declared: dict[str, Any]) -> None:
    done = agent("", *raw(), *options)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"declared {json.dumps(declared)}\n"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("claim ABCD-EF", {"claimed": "ABCD-EF"}),
        ('@x {"content": [{"type": "text", "text": "7"}], "structuredContent": {"n": 8}}', {"n": 8}),
        ('@x {"content": [{"type": "text", "text": "7.5"}]}', 7.5),
        ('@x {"content": [{"type": "text", "text": "null"}]}', None),
        ('@x {"content": [{"type": "text", "text": "words"}]}', "words"),
        ('@x {"content": [{"type": "image", "data": "aGk="}]}', [{"type": "image", "data": "aGk="}]),
        ("@x", []),
    ],
)
def test_each_result_is_one_json_value_on_a_line(line: str, value: Any) -> None:
    done = agent(line, *raw())
    assert values(done) == [value]
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('@error {"code": -32602, "message": "Unknown\\u001b[2J tool", "data": {"x": 1}}',
         'error: @error: Unknown\\x1b[2J tool (-32602) {"x":1}'),
        ('@x {"isError": true, "content": [{"type": "text", "text": "locked"}], '
         '"structuredContent": {"code": -32005, "data": [1]}}',
         "error: @x: locked (-32005) [1]"),
        ('@x {"isError": true}', "error: @x: the tool failed and does not say why"),
    ],
)  # fmt: skip
def test_a_failed_call_says_why_on_stderr(line: str, says: str) -> None:
    done = agent(f"{line}\n@x\n", *raw())
    assert done.stderr.splitlines()[1:] == [says]
    assert values(done) == [[]]
    assert done.returncode == 1


def test_a_call_that_takes_too_long_is_given_up_and_the_script_goes_on() -> None:
    done = agent("@slow\n@x\n", *raw(), "--timeout", "2s")
    assert done.stderr.splitlines()[1:] == ["slow", "error: @slow: tools/call slow: no answer within 2 s"]
    assert values(done) == [[]]
    assert done.returncode == 1


def test_answers_that_nobody_asks_for_are_noted() -> None:
    done = agent("elicit-accept {}\n@x\n", *raw())
    assert done.stderr.splitlines()[1:] == ["note: without --elicit nobody is asked, and no answer is used"]
    assert (values(done), done.returncode) == ([[]], 0)


def test_answers_that_are_left_over_are_noted() -> None:
    done = agent("elicit-accept {}\nelicit-decline\n@x\n", *raw(), "--elicit")
    assert done.stderr.splitlines()[1:] == ["note: 2 queued answers were not used"]
    assert (values(done), done.returncode) == ([[]], 0)


ASKS = """\
from tesseron_py import Context, Tesseron
app = Tesseron("bank")
@app.action
async def who(ctx: Context) -> str | None:
    return await ctx.elicit("Who?", str)
@app.action
async def sure(ctx: Context) -> bool:
    return await ctx.confirm("Sure?")
"""


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
def test_a_script_is_the_same_in_either_era(tmp_path: Path, era: str) -> None:
    (tmp_path / "bank_app.py").write_text(ASKS)
    answers = 'elicit-accept {"response": "me"}\nelicit-accept {"approve": true}\nelicit-decline\n'
    script = f"{answers}@who\n@sure\n@sure\n@sure\n"
    for where in (["--app", "bank_app:app"], ["--stdio", f"{EXECUTABLE} mcp bank_app:app"]):
        done = agent(script, *where, "--elicit", "--era", era, cwd=tmp_path)
        assert values(done) == ["me", True, False, False], done.stderr
        assert done.stderr.splitlines() == [
            "? Who?", "  form: response (string)", '  answered: accept {"response":"me"}',
            "? Sure?", '  answered: accept {"approve":true}',
            "? Sure?", "  answered: decline",
            "? Sure?", "  answered: cancel (no answer is queued)",
        ]  # fmt: skip


def test_an_agent_that_cannot_ask_says_what_would_help(tmp_path: Path) -> None:
    (tmp_path / "bank_app.py").write_text(ASKS)
    done = agent("@who\n", "--app", "bank_app:app", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: @who: The server needs what this client does not offer: elicitation")
    assert done.stderr.endswith("(--elicit offers elicitation) (-32021)\n")


def test_a_claim_at_a_server_that_is_no_gateway_says_so(tmp_path: Path) -> None:
    (tmp_path / "bank_app.py").write_text(ASKS)
    done = agent("claim ABCD-EF\n", "--app", "bank_app:app", cwd=tmp_path)
    assert done.returncode == 1
    assert "(this server is no gateway, so there is nothing to claim: leave the line out)" in done.stderr


def test_a_server_of_another_era_than_was_asked_for_is_one_clear_line() -> None:
    done = agent("@x\n", *raw(), "--era", "modern")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: The server does not speak MCP 2026-07-28, and no other was to be tried. It says: Method not found\n"
    )
    assert values(agent('@x {"structuredContent": {"a": 1}}\n', *raw(), "--era", "auto")) == [{"a": 1}]


def test_what_there_is_is_listed_and_progress_is_shown(tmp_path: Path) -> None:
    (tmp_path / "bank_app.py").write_text(
        "from tesseron_py import Context, Tesseron\napp = Tesseron('bank')\n"
        "@app.action\nasync def audit(ctx: Context) -> int:\n    'Count.'\n"
        "    await ctx.progress(50, 'half way')\n    await ctx.progress(60)\n    return 7\n"
        "@app.resource\ndef balance() -> int:\n    return 1\n"
    )
    for where in (["--app", "bank_app:app"], ["--stdio", f"{EXECUTABLE} mcp bank_app:app"]):
        done = agent("list\n@audit\n@audti\nread balance\n", *where, cwd=tmp_path)
        assert values(done) == [{"tools": {"audit": "Count."}, "resources": ["tesseron://bank/balance"]}, 7]
        assert done.stderr.splitlines() == [
            "  audit: 50 of 100: half way",
            "  audit: 60 of 100",
            "error: @audti: There is no tool 'audti'; did you mean 'audit'? (-32602)",
            "error: read balance: There is no resource 'balance'; did you mean 'tesseron://bank/balance'? (-32602)"
            ' {"uri":"balance"}',
        ]


def test_how_a_tool_is_called_is_shown(tmp_path: Path) -> None:
    (tmp_path / "till_app.py").write_text(
        "from tesseron_py import Context, Tesseron\napp = Tesseron('till')\n"
        "@app.action('add').strict_output().handler\nasync def add(amount: int, ctx: Context) -> dict[str, int]:\n"
        "    'Add.'\n    await ctx.log('added', level='warn', amount=amount)\n    return {'sum': amount}\n"
    )
    for era in ("legacy", "modern"):
        done = agent(
            'schema add\nschema adt\n@add {"amount": 2}\n', "--app", "till_app:app", "--era", era, cwd=tmp_path
        )
        schema, result = values(done)
        assert list(schema) == ["name", "description", "inputSchema", "outputSchema"]
        assert (schema["name"], schema["description"]) == ("add", "Add.")
        assert schema["inputSchema"]["properties"] == {"amount": {"type": "integer"}}
        assert schema["outputSchema"]["type"] == "object"
        assert result == {"sum": 2}
        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "error: schema adt: there is no such tool; did you mean add?",
            '  log warning: added {"amount":2}',
        ]


# How it ends


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("@x\nnonsense\n@x\n", "error: line 2: unknown directive 'nonsense'"),
        ("@x\n\n# c\n@x {\n@x\n", "error: line 4: what follows @x is not JSON"),
        (b"@x\n\xff\xfe\n@x\n", "error: line 2: not a line of UTF-8 text"),
    ],
)
def test_a_malformed_line_ends_it_at_once_and_is_named(script: str | bytes, says: str) -> None:
    done = agent(script, *raw())
    assert values(done) == [[]]
    assert says in done.stderr
    assert done.returncode == 2


def test_a_script_may_begin_with_a_byte_order_mark_and_end_lines_as_windows_does() -> None:
    done = agent(b"\xef\xbb\xbf@x\r\n# c\r\n@x\r\n", *raw())
    assert (values(done), done.returncode) == ([[], []], 0)


def test_a_server_that_dies_ends_it_and_is_told_how() -> None:
    done = agent("@x\n@die\n@x\n", *raw())
    assert values(done) == [[]]
    assert done.stderr.splitlines()[1:] == ["error: The server process exited with code 5"]
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--stdio", "tesseron-no-such-command"], "error: Cannot start the server: there is no command"),
        (["--stdio", shlex.join([sys.executable, "-c", ""])],
         "error: The server process exited with code 0 before it said anything; is it an MCP server on stdio?"),
        (["--url", "http://127.0.0.1:1/mcp"], "error: Cannot connect to http://127.0.0.1:1/mcp"),
        (["--stdio", shlex.join([sys.executable, "-c", "import time; time.sleep(60)"]), "--timeout", "0.3"],
         "error: initialize: no answer within 0.3 s"),
        (["--app", "no_such_module:app"], "error: no_such_module:app: there is no module 'no_such_module'"),
        (["--stdio", "tesseron-py run bank:app"], "error: --stdio: `tesseron-py run` speaks no MCP on stdio; write"),
        (["--stdio", f"{sys.executable} -m tesseron_py run bank:app"], "error: --stdio: `tesseron-py run` speaks no"),
        (["--app", "json:loads"], "error: --app: function is no Tesseron app"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_reached_is_one_clear_line(arguments: list[str], says: str) -> None:
    done = agent("@x\n", *arguments)
    assert done.stdout == ""
    assert done.stderr.startswith(says)
    assert len(done.stderr.splitlines()) == 1
    assert done.returncode in (1, 2)


def test_lines_are_run_as_they_come() -> None:
    with subprocess.Popen(
        command(*raw()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        for n in range(3):
            process.stdin.write(f'@x {{"structuredContent": {{"n": {n}}}}}\n'.encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"n": n}  # while the script goes on
        process.stdin.close()
        assert process.wait() == 0
        timer.cancel()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("script", ["", "@slow\n", "wait 60s\n"])
def test_ctrl_c_exits_130_without_a_traceback(script: str) -> None:
    with subprocess.Popen(
        command(*raw()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        process.stdin.write(script.encode())
        process.stdin.flush()
        awaited = b"slow" if "slow" in script else b"declared"
        while not process.stderr.readline().startswith(awaited):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read() == b""
        timer.cancel()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_sigterm_ends_the_server_that_was_started(tmp_path: Path) -> None:
    stubborn = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(600)"
    with subprocess.Popen(
        command("--stdio", shlex.join([sys.executable, "-c", stubborn])), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        server = int(process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert process.stderr.read() == b""
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


# An app in the same process

APP = """
import json
from contextlib import asynccontextmanager
import anyio
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.memory import pair

print("importing prints")

class App:
    @asynccontextmanager
    async def _memory_endpoint(self):
        here, there = pair()
        async def serve():
            while True:
                try:
                    request = json.loads(await there.receive())
                except Closed:
                    return
                print("the app prints")
                result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "fake"}}
                if request["method"] == "tools/call":
                    result = {"content": [], "structuredContent": request["params"]["arguments"]}
                if "id" in request:
                    await there.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            yield here
            tasks.cancel_scope.cancel()

app = App()
def make_app(): return App()
"""


@pytest.mark.parametrize("target", ["local_app:app", "local_app:make_app()"])
def test_an_app_is_served_in_the_same_process_and_its_prints_are_no_results(target: str, tmp_path: Path) -> None:
    (tmp_path / "local_app.py").write_text(APP)
    done = agent('@x {"a": 1}\n', "--app", target, cwd=tmp_path)
    assert values(done) == [{"a": 1}]
    assert done.stderr.splitlines()[0] == "importing prints"
    assert "the app prints" in done.stderr
    assert done.returncode == 0


def test_a_failure_passes_through_the_apps_own_context_managers(tmp_path: Path) -> None:
    (tmp_path / "local_app.py").write_text(APP)
    done = agent("nonsense\n", "--app", "local_app:app", cwd=tmp_path)
    assert "error: line 1: unknown directive 'nonsense'" in done.stderr
    assert done.returncode == 2
