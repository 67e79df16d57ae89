"""The pytest plugin: `tesseron_agent`, a factory of agents for tests that are plain functions.

It imports nothing of the library until a test uses it, so that a test run which does not pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .agent import Target
    from .answers import Answers
    from .sync_agent import AgentFactory, SyncAgent


@pytest.fixture
def tesseron_agent() -> Iterator[AgentFactory]:
    """Connect agents to apps: `tesseron_agent(app, answers=[accept()])` is a `SyncAgent` that ends with the test."""
    from .sync_agent import SyncAgent

    with ExitStack() as stack:

        def connect(app: Target, answers: Answers = (), **options: Any) -> SyncAgent:
            return stack.enter_context(SyncAgent(app, answers, **options))

        yield connect
