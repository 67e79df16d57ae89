"""Their side: the official low-level server over HTTP. Prints its port. With `json` it answers in JSON alone."""

from __future__ import annotations

import sys

from benchmarks.servers.official import make_server
from benchmarks.servers.uvicorn_on_loopback import serve

serve(make_server().streamable_http_app(json_response=sys.argv[1:] == ["json"]))
