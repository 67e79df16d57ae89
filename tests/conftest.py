"""What every test may use: both event loops."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Every async test runs on both event loops; one that drives an asyncio-only client overrides this."""
    return str(request.param)
