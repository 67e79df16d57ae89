"""Our side: the app as an MCP server over HTTP, `app.asgi()`. Prints its port."""

from __future__ import annotations

from benchmarks.servers.tasks import app
from benchmarks.servers.uvicorn_on_loopback import serve

serve(app.asgi())
