"""Our side on stdio with the limits of the app.

`tesseron-py mcp` answers before it knows the app, and has limits of its own.
"""

from __future__ import annotations

import anyio

from benchmarks.servers.tasks import app

anyio.run(app.serve_mcp)
