"""Their side: the official low-level server on stdio."""

from __future__ import annotations

import anyio
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server

from benchmarks.servers.official import make_server


async def main() -> None:
    server = make_server()
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="tasks"))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
