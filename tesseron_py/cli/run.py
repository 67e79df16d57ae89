"""`tesseron-py run`: serve an app until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse

from .address import port
from .failure import Failure


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("app", metavar="MODULE:APP", help="the app, like shop.main:app, or shop.main:make_app()")
    parser.add_argument("--uds", action="store_true", help="listen on a Unix socket instead of a WebSocket")
    parser.add_argument("--port", type=port, default=0, help="the port on 127.0.0.1; by default the system chooses one")
    parser.add_argument(
        "--plain", action="store_true", help="leave the claim code to the first gateway that finds the app"
    )
    parser.add_argument(
        "--connect",
        metavar="URL",
        nargs="?",
        const="",
        help="connect to a gateway over HTTP instead of listening; without a URL, to this machine's newest",
    )
    parser.add_argument("--token", help="the gateway's bearer token for --connect (default: $TESSERON_TOKEN)")
    parser.add_argument("--pairing", metavar="FILE", help="keep the pairing here, so that it outlives a restart")


def run(options: argparse.Namespace) -> int:
    """Serve the app.

    Raises:
        Failure: It cannot be loaded, or cannot start.
    """
    from ..running import Ending, run_app
    from .target import load_app

    _check(options)
    app = load_app(options.app)
    try:
        if options.connect is not None:
            host = app.connect(options.connect or None, token=options.token, pairing=options.pairing)
        else:
            host = app.listen(
                "uds" if options.uds else "ws",
                claims="gateway" if options.plain else "host",
                port=options.port,
                pairing=options.pairing,
            )
        run_app(app, host, Ending())
    except ConnectionError as error:
        raise Failure(f"{options.app}: {error}") from error
    except OSError as error:
        raise Failure(f"{options.app} cannot listen: {error.strerror or error}") from error
    except Exception as error:
        raise Failure(f"{options.app} did not start: {type(error).__name__}: {error}") from error
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.connect is None and options.token:
        raise Failure("--token goes with --connect", 2)
    if options.connect is not None:
        for name in ("uds", "plain", "port"):
            if getattr(options, name):
                raise Failure(f"--{name} is for an app that listens, and --connect is for one that does not", 2)
        if options.connect:
            from ..bindings.http import check_url

            try:
                check_url(options.connect)
            except ValueError as error:
                raise Failure(str(error), 2) from error
