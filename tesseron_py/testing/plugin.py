"""The pytest plugin: `tesseron_agent`, a factory of agents for tests that are plain functions.

It imports nothing of the library until a test uses it, so that a test run which does not pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .sync_agent import SyncAgent


@pytest.fixture
def tesseron_agent() -> Iterator[Callable[..., SyncAgent]]:
    """Connect agents to apps: `tesseron_agent(app, answers=[accept()])` is a `SyncAgent` that ends with the test."""
    from .sync_agent import SyncAgent

    with ExitStack() as stack:

        def connect(app: Any, answers: Any = (), **options: Any) -> SyncAgent:
            return stack.enter_context(SyncAgent(app, answers, **options))

        yield connect
