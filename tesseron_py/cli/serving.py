"""What the commands that serve MCP share: their options, and serving on stdio or over HTTP until told to stop."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from .failure import Failure

if TYPE_CHECKING:
    from socket import socket

    from uvicorn import Server

    from ..home import Home
    from ..mcp.limits import EndpointLimits

DEFAULT_PORT = 7475


class Served(Protocol):
    """What is served: a provider that can be closed."""

    home: Home

    async def ready(self) -> None: ...
    async def aclose(self, *, grace: float | None = None) -> None: ...


class Endpoint(Protocol):
    """An ASGI application that can be closed."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...
    async def aclose(self, *, grace: float | None = None) -> None: ...


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that say where and for whom MCP is served."""
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
        "--state-key",
        metavar="SECRET",
        action="append",
        default=[],
        help="what --http seals the state of waiting calls with (default: $TESSERON_STATE_KEY, several with spaces"
        " between, else one of its own); again for a key that is on its way out",
    )
    parser.add_argument(
        "--confirm-form",
        choices=["approve", "empty"],
        default="approve",
        help="how a confirm is shown: a form with one checkbox (default), or an empty form",
    )


async def serve_stdio(served: Any, limits: EndpointLimits | None = None) -> None:
    """Serve the client at standard input and output until the input ends or a signal comes; then the process ends."""
    from ..mcp.stdio import serve_stdin_stdout
    from ..running import GRACE, Ending, leave_now, until_stopped

    ending = Ending()

    async def serve() -> None:
        if sys.stdin.isatty():
            print("This speaks MCP, for a client that starts it; Ctrl-C ends it. See --help.", file=sys.stderr)
        await serve_stdin_stdout(served, limits=limits, on_end=ending.begin)

    try:
        await until_stopped(serve, on_stop=ending.begin)
    finally:
        await served.aclose(grace=GRACE)
        if served.home.running:
            leave_now(0)


def check_stdio(options: argparse.Namespace) -> None:
    """Refuse what has a meaning over HTTP alone, and to serve where no client can be.

    Raises:
        Failure: There is such an option, or standard input or output is closed.
    """
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
        if stream is None:  # Python could not open it when it started
            raise Failure(
                f"standard {name} is closed; an MCP client talks to this over pipes (or serve with --http)", 2
            )
    for name in ("token", "allow_host", "allow_origin"):
        if getattr(options, name):
            raise Failure(f"--{name.replace('_', '-')} goes with --http", 2)


E = TypeVar("E", bound=Endpoint)


def _untold(endpoint: Endpoint, origin: str) -> AbstractContextManager[None]:
    return nullcontext()


def serve_http(
    options: argparse.Namespace,
    served: Served,
    make: Callable[..., E],
    *,
    what: str,
    name: str,
    announced: Callable[[E, str], AbstractContextManager[None]] = _untold,
) -> None:
    """Serve over HTTP until a signal comes.

    Args:
        options: Those of `add_options`.
        served: What is served.
        make: Makes the ASGI application, from `token`, `hosts`, `origins` and `state_keys`.
        what: What it is, for people.
        name: Who failed, if it cannot start.
        announced: Tells whom it concerns where it listens on this machine, such as `http://127.0.0.1:7475`, while it
            does.

    Raises:
        Failure: It cannot start.
    """
    import anyio

    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise Failure('--http needs an HTTP server; install it: pip install "tesseron-py[serve]"') from error
    from ..web.loopback import is_loopback_host
    from .address import listen, parse

    host, port = parse(options.http)
    token = options.token or os.environ.get("TESSERON_TOKEN") or None
    if token is None and not is_loopback_host(host):
        raise Failure(f"{host} can be reached from elsewhere, so a token is needed: --token, or $TESSERON_TOKEN", 2)
    hosts: Iterable[str] = [*options.allow_host, *([] if is_loopback_host(host) else [host])]
    keys = options.state_key or os.environ.get("TESSERON_STATE_KEY", "").split()
    try:
        endpoint = make(token=token, hosts=hosts, origins=options.allow_origin, state_keys=keys)
    except ValueError as error:
        raise Failure(str(error), 2) from error
    listener = listen(host, port)
    config = uvicorn.Config(
        endpoint, log_level="warning", access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1
    )

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # The command takes the signals itself: uvicorn would wait for an open stream for ever.
            yield

    shown_host: str = listener.getsockname()[0]
    port = listener.getsockname()[1]

    def announce() -> AbstractContextManager[None]:
        local = _LOOPBACK_OF.get(shown_host, shown_host)
        return announced(endpoint, _origin(local, port))

    anyio.run(
        _serve_http,
        Server(config),
        listener,
        endpoint,
        served,
        announce,
        f"{what} at {_origin(shown_host, port)}/mcp",
        name,
    )


_LOOPBACK_OF: Final[Mapping[str, str]] = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where a server is reached from its own machine that listens on all addresses."""


def _origin(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _serve_http(
    http: Server,
    listener: socket,
    endpoint: Endpoint,
    served: Served,
    announce: Callable[[], AbstractContextManager[None]],
    where: str,
    name: str,
) -> None:
    import anyio

    from ..running import GRACE, Ending, leave_now, until_stopped

    try:
        await served.ready()
    except Exception as error:
        await served.aclose()
        raise Failure(f"{name}: it did not start: {type(error).__name__}: {error}") from error

    async def serve() -> None:
        with announce():
            print(where, file=sys.stderr, flush=True)
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(http.serve, [listener])
        await until_stopped(serve, on_stop=Ending().begin)
        await endpoint.aclose(grace=GRACE)
        http.should_exit = True
    if served.home.running:
        leave_now(0)
