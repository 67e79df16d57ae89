"""What every test may use: both event loops."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def tesseron_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test, and every process it starts, has a `~/.tesseron` of its own."""
    home = tmp_path_factory.mktemp("home") / ".tesseron"
    monkeypatch.setenv("TESSERON_HOME", str(home))
    return home


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Every async test runs on both event loops; one that drives an asyncio-only client overrides this."""
    return str(request.param)
