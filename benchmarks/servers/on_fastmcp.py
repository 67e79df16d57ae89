"""Their side: the same tools on `fastmcp`."""

from __future__ import annotations

import logging
import sys

from fastmcp import Context, FastMCP

from benchmarks.servers.tools_that_elicit import add_tools
from benchmarks.servers.uvicorn_on_loopback import serve

logging.disable(logging.INFO)
server = FastMCP("tasks")
add_tools(server, Context)
if sys.argv[1:] == ["http"]:
    serve(server.http_app())
else:
    server.run("stdio", show_banner=False, log_level="WARNING")
