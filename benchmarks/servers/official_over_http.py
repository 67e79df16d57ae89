"""Their side: the official low-level server over HTTP. Prints its port. With `json` it answers in JSON alone.

The state of a question in the modern era is sealed by what the package has for that, so that an answer counts for the
call it was given for, as it does on our side; with `unsealed` it is not.
"""

from __future__ import annotations

import sys

from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from benchmarks.servers.official import make_server
from benchmarks.servers.uvicorn_on_loopback import serve

server = make_server()
if "unsealed" not in sys.argv:
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="tasks"))
serve(server.streamable_http_app(json_response="json" in sys.argv))
