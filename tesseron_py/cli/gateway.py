"""`tesseron-py gateway`: the MCP server that stands between agents and the running apps of this machine."""

from __future__ import annotations

import argparse
from functools import partial

from .serving import add_options, check_stdio, serve_http, serve_stdio

_ABOUT = """
On stdio, for an MCP client that starts servers itself:

  claude mcp add tesseron -- tesseron-py gateway

Over HTTP, one gateway for several clients, and for apps that dial out (needs pip install "tesseron-py[serve]"):

  tesseron-py gateway --http 127.0.0.1:7475

Start an app with: tesseron-py run MODULE:APP, and give its claim code to the agent. An app that this gateway cannot
dial, in a container or on another machine, connects to it at /tesseron: app.connect(URL, token=...).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _ABOUT
    parser.add_argument(
        "--surface",
        choices=["dynamic", "meta", "both"],
        default="both",
        help="which tools agents see: the apps' own, the gateway's five, or both (default)",
    )
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until the input ends or a signal comes.

    Raises:
        Failure: The gateway cannot listen.
    """
    import anyio

    from .._version import __version__
    from ..gateway.gateway import INSTRUCTIONS, Gateway
    from ..mcp.provider import ServerInfo

    info = ServerInfo("tesseron-py", __version__, title="Tesseron gateway", instructions=INSTRUCTIONS)
    gateway = Gateway(info, surface=options.surface, confirm_form=options.confirm_form)
    if options.http is None:
        check_stdio(options)
        anyio.run(serve_stdio, gateway)
    else:
        from ..endpoint import GatewayEndpoint  # on stdio the client waits for its first reply, and needs none of it

        make = partial(GatewayEndpoint, gateway)
        name = "tesseron-py gateway"
        serve_http(options, gateway, make, what="Tesseron gateway", name=name, announced=GatewayEndpoint.announced)
    return 0
