"""`tesseron-py mcp`: one app directly as an MCP server, on stdio or over HTTP."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from .failure import Failure
from .serving import add_options, check_stdio, serve_http, serve_stdio

_ABOUT = """
On stdio, for an MCP client that starts servers itself:

  claude mcp add shop -- tesseron-py mcp shop.main:app

Over HTTP, for clients that connect (needs pip install "tesseron-py[serve]"):

  tesseron-py mcp shop.main:app --http 127.0.0.1:8000
  claude mcp add --transport http shop http://127.0.0.1:8000/mcp
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _ABOUT
    parser.add_argument("app", metavar="MODULE:APP", help="the app, like shop.main:app, or shop.main:make_app()")
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until the input ends or a signal comes.

    Raises:
        Failure: The app cannot be loaded, or the server cannot listen.
    """
    from ..direct import AppEndpoint, DirectServer
    from .loading import LateApp
    from .logs import are_shown
    from .target import load_app

    if options.http is not None:
        app = load_app(options.app)
        server = DirectServer(app, confirm_form=options.confirm_form)
        make = partial(AppEndpoint, server, path="/mcp", limits=app.limits)
        serve_http(options, server, make, what="MCP server", name=options.app)
        return 0

    check_stdio(options)

    # The app is loaded when the first request needs it: clients give up before a slow import is over.
    late = LateApp(options.app)
    if sys.stdin.isatty():
        late.load()  # it is a person who waits, to see whether it works
        if isinstance(late.problem, Failure):
            raise late.problem
    server = DirectServer(late.app, confirm_form=options.confirm_form)
    late.run(partial(serve_stdio, server))
    problem = server.problem or late.problem
    if problem is None:
        return 0
    from .origin import described

    failure = problem if isinstance(problem, Failure) else Failure(f"{options.app} did not start: {described(problem)}")
    if not are_shown():  # else it was said when it happened
        raise failure
    return failure.code
