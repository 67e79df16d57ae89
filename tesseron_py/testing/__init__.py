"""The kit for people who test actions: an agent whose person's answers are scripted, and contexts for bare handlers.

Example:
    ```python
    async with Agent(app, answers=[accept(), decline()]) as agent:
        assert await agent.call("clear_completed") == 5
        assert agent.questions[0].question == "Remove 5 todos?"
    ```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import ActionFailed as ActionFailed
    from .agent import Agent as Agent
    from .answers import Asked as Asked
    from .answers import accept as accept
    from .answers import cancel as cancel
    from .answers import decline as decline
    from .contexts import context as context
    from .contexts import sync_context as sync_context
    from .sync_agent import AgentFactory as AgentFactory
    from .sync_agent import SyncAgent as SyncAgent

_HOMES = {
    "ActionFailed": "agent",
    "Agent": "agent",
    "AgentFactory": "sync_agent",
    "Asked": "answers",
    "accept": "answers",
    "cancel": "answers",
    "decline": "answers",
    "context": "contexts",
    "sync_context": "contexts",
    "SyncAgent": "sync_agent",
}

__all__ = [
    "ActionFailed",
    "Agent",
    "AgentFactory",
    "Asked",
    "SyncAgent",
    "accept",
    "cancel",
    "context",
    "decline",
    "sync_context",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
