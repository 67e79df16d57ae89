"""The command line as a whole: help at once, one form for every error, and an exit code for every end."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tesseron_py._version import __version__
from tesseron_py.cli import logs
from tesseron_py.cli import main as module
from tesseron_py.cli.failure import Failure
from tesseron_py.cli.main import main


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tesseron_py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False, **options)


def test_the_executable_says_its_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tesseron-py {__version__}\n", "")


def test_help_lists_the_commands_that_there_are() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "agent " in done.stdout
    assert "be an agent: call tools and answer questions from a script" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    for arguments in (["--help"], ["agent", "--help"]):
        script = (
            "import json, sys\n"
            "from tesseron_py.cli.main import main\n"
            "try: main(json.loads(sys.argv[1]))\n"
            "except SystemExit: pass\n"
            "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, json.dumps(arguments)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        loaded = set(json.loads(done.stderr))
        assert not loaded & {"asyncio", "anyio", "httpx", "pydantic", "pydantic_core", "websockets", "tesseron_py.app"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "error: the following arguments are required: COMMAND\nTry: tesseron-py --help\n"),
        (["nope"], "error: argument COMMAND: invalid choice: 'nope'"),
        (["agent"], "--stdio --url --app is required\nTry: tesseron-py agent --help\n"),
        (["agent", "--stdio", "x", "--url", "y"], "error: argument --url: not allowed with argument --stdio"),
        (["agent", "--stdio", "x", "--timeout", "soon"], "'soon' is no time to wait; write it like 30s or 500ms"),
        (["agent", "--stdio", "x", "--timeout", "0"], "'0' is no time to wait"),
        (["agent", "--stdio", "x", "--era", "\x1b[2J"], "\\x1b[2J"),
        (["agent", "--stdio", "x", "--token", "t"], "error: --token goes with --url\n"),
        (["agent", "--stdio", ""], "error: --stdio: The command that starts the server is empty\n"),
        (["agent", "--stdio", "a 'b"], "error: --stdio: No closing quotation\n"),
        (["agent", "--url", "localhost:80"], "error: --url: 'localhost:80' is not the URL of an MCP server"),
        (["agent", "--url", "http://x/", "--token", "a b"], "error: --url: The token must be"),
        (["agent", "--app", "app"], "error: 'app' does not name an app"),
    ],
)
def test_a_command_line_that_cannot_be_understood_exits_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert says in err
    assert "\x1b" not in err


# What a command may do


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A command `demo` whose `run` the test gives."""
    fake = ModuleType("tesseron_py.cli.demo")
    fake.configure = lambda parser: parser.add_argument("--x")  # type: ignore[attr-defined]
    fake.__spec__ = module.importlib.util.spec_from_loader(fake.__name__, None)
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    monkeypatch.delenv("TESSERON_DEBUG", raising=False)
    monkeypatch.setattr(sys, "argv", ["tesseron-py", "demo", "--x", "1"])
    return fake


def test_the_exit_code_is_the_commands(command: Any) -> None:
    command.run = lambda options: 7 if options.x == "1" else 0
    assert main() == 7


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (Failure("it broke\nand more"), 1, "error: it broke\nand more\n"),
        (Failure("wrong\x1b[2J", 2), 2, "error: wrong\\x1b[2J\n"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("oops"), 1, "error: unexpected ZeroDivisionError: oops\nSet TESSERON_DEBUG=1"),
    ],
)
def test_no_end_is_a_traceback(
    raised: BaseException, code: int, says: str, command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> int:
        raise raised

    command.run = fail
    assert main() == code
    err = capsys.readouterr().err
    assert err.startswith(says)
    assert "Traceback" not in err


def test_a_developer_may_have_the_traceback(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(options: object) -> int:
        raise ZeroDivisionError("oops")

    command.run = fail
    monkeypatch.setenv("TESSERON_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main()


def test_a_reader_that_has_left_is_no_traceback(tmp_path: Any) -> None:
    script = "import sys\nfrom tesseron_py.cli.main import main\nsys.exit(main(['agent', '--help']))"
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
        )
    finally:
        os.close(writer)
    assert b"Traceback" not in done.stderr


def test_what_a_command_cannot_print_any_more_is_no_traceback(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Left:
        def flush(self) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            return spare

    spare = os.open(os.devnull, os.O_WRONLY)
    try:
        command.run = lambda options: 0
        monkeypatch.setattr(sys, "stdout", Left())
        assert main() == 1
    finally:
        monkeypatch.undo()
        os.close(spare)


def test_warnings_of_the_library_are_single_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    formatter = logs._OneLine()

    def fail() -> None:
        raise KeyError("secret\nline")

    try:
        fail()
    except KeyError:
        error = sys.exc_info()
    record = logging.LogRecord("tesseron_py.x", logging.ERROR, "f.py", 1, "it %s\x1b[2J", ("broke",), error)
    where = f"{__file__}, line {fail.__code__.co_firstlineno + 1}"
    said = f"error: it broke\\x1b[2J: KeyError: 'secret\\nline' ({where}); TESSERON_DEBUG=1 shows the traceback"
    assert formatter.format(record) == said
    failure = (Failure, Failure("there is no app"), None)
    record = logging.LogRecord("tesseron_py.x", logging.ERROR, "f.py", 1, "it broke", (), failure)
    assert formatter.format(record) == "error: it broke: there is no app"
    record.exc_info = (Failure, Failure("f cannot be one\n  found:  f\n  write:  g\x1b"), None)
    assert formatter.format(record) == "error: it broke: f cannot be one\n  found:  f\n  write:  g\\x1b"
    record.exc_info = error
    monkeypatch.setenv("TESSERON_DEBUG", "1")
    assert "Traceback" in formatter.format(record)
    plain = logging.LogRecord("tesseron_py.x", logging.WARNING, "f.py", 1, "careful", (), None)
    assert formatter.format(plain) == "warning: careful"


def test_logging_that_is_set_up_already_is_left_alone(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command.run = lambda options: 0
    ours = logging.getLogger("tesseron_py")
    monkeypatch.setattr(ours, "handlers", [])
    monkeypatch.setattr(logging.root, "handlers", [logging.NullHandler()])
    main()
    assert ours.handlers == []
    monkeypatch.setattr(logging.root, "handlers", [])
    main()
    main()
    assert len(ours.handlers) == 1
