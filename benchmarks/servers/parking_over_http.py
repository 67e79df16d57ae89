"""Our side, with room for ten thousand calls that wait for answers. Prints its port."""

from __future__ import annotations

from benchmarks.servers.tasks import app
from benchmarks.servers.uvicorn_on_loopback import serve
from tesseron_py import Limits

serve(app.asgi(limits=Limits(parked=20_000)))
