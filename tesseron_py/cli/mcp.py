"""`tesseron-py mcp`: one app directly as an MCP server, on stdio or over HTTP."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from .failure import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

    from uvicorn import Server

    from ..app import Tesseron
    from ..direct import AppEndpoint, DirectServer
    from ..limits import Limits

_ABOUT = """
On stdio, for an MCP client that starts servers itself:

  claude mcp add shop -- tesseron-py mcp shop.main:app

Over HTTP, for clients that connect (needs pip install "tesseron-py[serve]"):

  tesseron-py mcp shop.main:app --http 127.0.0.1:8000
  claude mcp add --transport http shop http://127.0.0.1:8000/mcp
"""
DEFAULT_PORT = 7475


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _ABOUT
    parser.add_argument("app", metavar="MODULE:APP", help="the app, like shop.main:app, or shop.main:make_app()")
    parser.add_argument(
        "--http", metavar="HOST:PORT", nargs="?", const=f"127.0.0.1:{DEFAULT_PORT}", help="serve over HTTP at /mcp"
    )
    parser.add_argument("--token", help="bearer token for --http (default: $TESSERON_TOKEN); required beyond loopback")
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="a Host name the server goes by, too"
    )
    parser.add_argument(
        "--allow-origin", metavar="ORIGIN", action="append", default=[], help="an Origin whose pages may call it, too"
    )
    parser.add_argument(
        "--confirm-form",
        choices=["approve", "empty"],
        default="approve",
        help="how a confirm is shown: a form with one checkbox (default), or an empty form",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the input ends or a signal comes.

    Raises:
        Failure: The app cannot be loaded, or the server cannot listen.
    """
    import anyio

    from ..direct import DirectServer
    from ..running import ended_by_signals
    from .target import load_app

    if options.http is not None:
        app = load_app(options.app)
        _http(options, DirectServer(app, confirm_form=options.confirm_form), app.limits)
        return 0
    for name in ("token", "allow_host", "allow_origin"):
        if getattr(options, name):
            raise Failure(f"--{name.replace('_', '-')} goes with --http", 2)

    def load() -> Tesseron:
        with ended_by_signals():
            return load_app(options.app)

    # The app is loaded when the first request needs it: clients give up before a slow import is over.
    server = DirectServer(load, confirm_form=options.confirm_form)
    anyio.run(_stdio, server)
    if isinstance(server.problem, Failure):
        raise server.problem
    if isinstance(server.problem, Exception):
        raise Failure(f"{options.app} did not start: {type(server.problem).__name__}: {server.problem}")
    return 0


async def _stdio(server: DirectServer) -> None:
    from ..mcp.stdio import serve_stdin_stdout
    from ..running import GRACE, leave_now, until_stopped

    try:
        await until_stopped(lambda: serve_stdin_stdout(server))
    finally:
        await server.aclose(grace=GRACE)
        if server.home.running:
            leave_now(0)


def _http(options: argparse.Namespace, server: DirectServer, limits: Limits) -> None:
    from contextlib import contextmanager

    import anyio

    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise Failure('--http needs an HTTP server; install it: pip install "tesseron-py[serve]"') from error
    from ..direct import AppEndpoint
    from .address import is_loopback, listen, parse

    host, port = parse(options.http)
    token = options.token or os.environ.get("TESSERON_TOKEN") or None
    if token is None and not is_loopback(host):
        raise Failure(f"{host} can be reached from elsewhere, so a token is needed: --token, or $TESSERON_TOKEN", 2)
    try:
        endpoint = AppEndpoint(
            server,
            path="/mcp",
            token=token,
            hosts=[*options.allow_host, *([] if is_loopback(host) else [host])],
            origins=options.allow_origin,
            limits=limits,
        )
    except ValueError as error:
        raise Failure(str(error), 2) from error
    socket = listen(host, port)
    config = uvicorn.Config(
        endpoint, log_level="warning", access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1
    )

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # The command takes the signals itself: uvicorn would wait for an open stream for ever.
            yield

    http = Server(config)
    anyio.run(_serve_http, http, socket, endpoint, server, options.app)


async def _serve_http(http: Server, socket: socket, endpoint: AppEndpoint, server: DirectServer, name: str) -> None:
    import anyio

    from ..running import GRACE, leave_now, until_stopped

    try:
        await server.ready()
    except Exception as error:
        await server.aclose()
        raise Failure(f"{name}: its lifespan failed: {type(error).__name__}: {error}") from error
    host, port = socket.getsockname()[:2]

    async def serve() -> None:
        print(f"MCP server at http://{f'[{host}]' if ':' in host else host}:{port}/mcp", file=sys.stderr, flush=True)
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(http.serve, [socket])
        await until_stopped(serve)
        await endpoint.aclose(grace=GRACE)
        http.should_exit = True
    if server.home.running:
        leave_now(0)
