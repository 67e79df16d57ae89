"""`tesseron-py run`: serve an app until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .failure import Failure

if TYPE_CHECKING:
    from ..app import Tesseron


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("app", metavar="MODULE:APP", help="the app, like shop.main:app, or shop.main:make_app()")
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1; by default the system chooses one")


def run(options: argparse.Namespace) -> int:
    """Serve the app.

    Raises:
        Failure: It cannot be loaded, or cannot listen.
    """
    import anyio

    from .target import load_app

    anyio.run(_main, load_app(options.app), options.port)
    return 0


async def _main(app: Tesseron, port: int) -> None:
    from ..host.host import Host
    from .serving import GRACE, leave_now, until_stopped

    host = Host(app, port=port)
    try:
        await host.__aenter__()
    except OSError as error:
        raise Failure(f"cannot listen on 127.0.0.1 port {port}: {error.strerror or error}") from error
    except Exception as error:
        raise Failure(f"{app.id} did not start: {type(error).__name__}: {error}") from error

    async def serve() -> None:
        print(f"{app.name} listens on {host.url}", file=sys.stderr)
        print("Ctrl-C stops it.", file=sys.stderr, flush=True)
        async for event in host.events:
            print(str(event), file=sys.stderr, flush=True)

    await until_stopped(serve)
    await host.aclose(grace=GRACE)
    if host.stubborn:
        leave_now(0)
