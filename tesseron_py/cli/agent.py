"""`tesseron-py agent`: an MCP client that does what a script says, a line at a time, as the lines come.

It is for trying servers out and for shell scripts that test them. Here are its options and how it reaches the server;
what the directives look like is `script`'s, what they do `scripted`'s.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .failure import Failure

if TYPE_CHECKING:
    from ..mcp.client import Transport

T = TypeVar("T")

_LISTENS = re.compile(r"\btesseron[-_]py(?:\.exe)? run\b")

_SCRIPT = """
The script comes from stdin, one directive a line, and each is run as it comes:

  # comment
  wait 500ms                 (or 2s)
  claim ABCD-EF              gives a claim code to the gateway
  elicit-accept {"qty": 7}   answers the next question; elicit-decline, elicit-cancel
  @todos__add {"text": "x"}  calls a tool; without JSON: no arguments
  read tesseron://todos/all  reads a resource
  list                       what there is to call and to read
  schema todos__add          how a tool is called: its name, description and schemas

Results go to stdout, one JSON value a line; errors to stderr. With --elicit the server may ask
questions: each takes the next queued answer, and without one it is cancelled.

Exit code: 0, 1 when a call failed, 2 for a script or command line that cannot be understood.

  echo '@add {"a": 1, "b": 2}' | tesseron-py agent --stdio "python server.py"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _SCRIPT
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--stdio", metavar="CMD", help="start CMD and talk to it over its stdin and stdout")
    where.add_argument("--url", metavar="URL", help="talk to the server at URL, like http://127.0.0.1:7475/mcp")
    where.add_argument("--app", metavar="MODULE:APP", help="serve this app inside the agent; needs no gateway")
    parser.add_argument("--elicit", action="store_true", help="let the server ask questions (the elicit-… directives)")
    parser.add_argument("--token", metavar="TOKEN", help="bearer token for --url (default: $TESSERON_TOKEN)")
    parser.add_argument(
        "--timeout", metavar="TIME", type=_seconds, help="give each call up after TIME, like 30s or 500ms"
    )
    parser.add_argument(
        "--era",
        choices=["legacy", "modern", "auto"],
        default="auto",
        help="which MCP to speak: legacy (2025-11-25), modern (2026-07-28), or auto: modern where spoken (default)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the script; gives the exit code.

    Raises:
        Failure: The server cannot be reached or went away, or the script is malformed.
    """
    import anyio

    if options.token is not None and options.url is None:
        raise Failure("--token goes with --url", 2)
    if options.stdio and _LISTENS.search(options.stdio):
        raise Failure("--stdio: `tesseron-py run` speaks no MCP on stdio; write `tesseron-py mcp MODULE:APP`", 2)
    app: Any = None
    if options.app is not None:
        from .target import load

        with contextlib.redirect_stdout(sys.stderr):  # what an app prints is not a result
            app = load(options.app)
    return anyio.run(_until_terminated, options, app)


def _seconds(text: str) -> float:
    from .script import duration

    try:
        seconds = duration(text if text.endswith("s") else f"{text}s")
    except ValueError:
        seconds = 0.0
    if seconds == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait; write it like 30s or 500ms")
    return seconds


async def _until_terminated(options: argparse.Namespace, app: Any) -> int:
    """Run the script; SIGTERM ends it, and with it the server that it started."""
    from ..running import Ending, until_stopped

    code = 128 + signal.SIGTERM

    async def run() -> None:
        nonlocal code
        code = await _main(options, app)

    # A server that was started has longer: nothing of it may be left behind. An app in this process just ends.
    ending = Ending(code) if options.app is not None else None
    await until_stopped(run, signal.SIGTERM, on_stop=ending.begin if ending is not None else None)
    return code


async def _main(options: argparse.Namespace, app: Any) -> int:
    from .scripted import play

    # A failure is carried out by hand: an app's own context managers may hold task groups, which would wrap it.
    results = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        async with _transport(options, app) as transport:
            outcome = await play(transport, results, elicit=options.elicit, timeout=options.timeout, era=options.era)
    if isinstance(outcome, Failure):
        raise outcome
    return outcome


@contextlib.asynccontextmanager
async def _transport(options: argparse.Namespace, app: Any) -> AsyncIterator[Transport]:
    if options.app is not None:
        async with transport_for_app(app) as transport:
            yield transport
    elif options.url is not None:
        from ..mcp.client_http import HttpTransport

        yield _made("--url", HttpTransport, options.url, options.token or os.environ.get("TESSERON_TOKEN") or None)
    else:
        from ..mcp.client_process import ProcessTransport

        yield _made("--stdio", ProcessTransport, _made("--stdio", _words, options.stdio))


def _made(option: str, make: Callable[..., T], *args: object) -> T:
    try:
        return make(*args)
    except ValueError as error:
        raise Failure(f"{option}: {error}", 2) from error


def _words(command: str) -> list[str]:
    import shlex

    return shlex.split(command, posix=os.name == "posix")


@contextlib.asynccontextmanager
async def transport_for_app(app: Any) -> AsyncIterator[Transport]:
    """A transport to `app`, served in this process over a pair of memory channels.

    Raises:
        Failure: It is no app.
    """
    from ..mcp.client import PipeTransport

    endpoint = getattr(app, "_memory_endpoint", None)
    if endpoint is None:
        raise Failure(f"--app: {type(app).__name__} is no Tesseron app; name the object that Tesseron(…) gave you", 2)
    async with endpoint() as channel:
        yield PipeTransport(channel)
