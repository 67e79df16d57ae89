"""`tesseron-py`, whose gateway gives an app that has lost its stream half a second to come back instead of thirty."""

from __future__ import annotations

import sys

from tesseron_py.bindings.http_wire import DEFAULT_HTTP_LIMITS
from tesseron_py.cli.main import main

if __name__ == "__main__":
    object.__setattr__(DEFAULT_HTTP_LIMITS, "streamless", 0.5)  # it is frozen, and shared by all that serve
    sys.exit(main())
