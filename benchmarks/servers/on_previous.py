"""Their side: the same tools on the server of `mcp` 1.30, in whose environment this runs."""

from __future__ import annotations

import sys

from mcp.server.fastmcp import Context, FastMCP  # type: ignore[attr-defined]  # of another environment

from benchmarks.servers.tools_that_elicit import add_tools
from benchmarks.servers.uvicorn_on_loopback import serve

server = FastMCP("tasks", log_level="WARNING")
add_tools(server, Context)
if sys.argv[1:] == ["http"]:
    serve(server.streamable_http_app())
else:
    server.run("stdio")
