"""`tesseron-py`: finds the command, imports its module and no other, and turns whatever ends it into an exit code.

A command is a module of this package with `HELP`, `configure(parser)` and `run(options) -> int`. Nothing heavy is
imported before the command is known, so that help is there at once.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final, NoReturn

from .._version import __version__
from ..plain import plain
from .failure import Failure
from .logs import show_logs

COMMANDS: Final = {
    "demo": "see it work: a todo app, a gateway and an agent in this terminal, and you are asked",
    "run": "serve an app and print where it listens",
    "gateway": "the MCP server that stands between agents and running apps",
    "mcp": "serve one app directly as an MCP server",
    "agent": "be an agent: call tools and answer questions from a script",
    "instances": "list the apps that run on this machine",
    "conformance": "check a host against the protocol's scenarios",
    "install": "say what to put where, so that an MCP client finds the gateway",
}
INTERRUPTED: Final = 130

_ABOUT = """\
Give AI agents typed actions in a running Python application, and keep a person in the loop.
"""


class _Parser(argparse.ArgumentParser):
    """argparse, whose complaints look like every other error here."""

    def error(self, message: str) -> NoReturn:
        raise Failure(f"{message}\nTry: {self.prog} --help", 2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; gives the exit code.

    0 is success, 1 a failure, 2 a command line or script that cannot be understood, 130 Ctrl-C.
    """
    if sys.stderr is None:  # closed by whoever started this; `print` would take standard output in its place
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # it stays open as long as the process
    _speak_utf8()
    try:
        return _dispatch(sys.argv[1:] if argv is None else list(argv))
    except Failure as failure:
        _complain(failure.message)
        return failure.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left. What is still buffered must not fail again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("TESSERON_DEBUG"):
            raise
        _complain(f"unexpected {type(error).__name__}: {error}\nSet TESSERON_DEBUG=1 to see where it came from")
        return 1


def _dispatch(argv: Sequence[str]) -> int:
    parser = _Parser(prog="tesseron-py", description=_ABOUT, epilog="Each command has a --help of its own.")
    parser.add_argument("--version", action="version", version=f"tesseron-py {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in argv if not word.startswith("-")), None)
    module: ModuleType | None = None
    for name, does in COMMANDS.items():
        if importlib.util.find_spec(f"{__package__}.{name}") is None:
            continue
        command = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
        if name == chosen:
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module = importlib.import_module(f"{__package__}.{name}")
            module.configure(command)
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        commands.choices[options.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    assert module is not None  # argparse has refused anything else
    show_logs()
    code: int = module.run(options)
    if sys.stdout is not None:
        sys.stdout.flush()  # here, where a reader that has left is still dealt with
    return code


def _speak_utf8() -> None:
    """Whatever the locale says: JSON is UTF-8, and what a stream cannot show must not end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _complain(message: str) -> None:
    first, *rest = message.split("\n")
    print(f"error: {plain(first)}", *map(plain, rest), sep="\n", file=sys.stderr)
