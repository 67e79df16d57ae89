"""The words of Tesseron 1.2: constants, method names, and the small facts both ends exchange.

The protocol is published by Kenny Vaneetvelde / Eigenwise under CC BY 4.0. Nothing here does I/O or knows a
connection; envelopes are `jsonrpc`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

PROTOCOL_VERSION = "1.2.0"
SUBPROTOCOL = "tesseron-gateway"
BIND_SUBPROTOCOL = re.compile(r"tesseron-bind\.([A-Za-z0-9_-]{1,64})", re.ASCII)
BIND_PREFIX = "tesseron-bind."

DEFAULT_TIMEOUT = 60.0
"""Seconds an action may run when its author says nothing (Tesseron 1.2 §1)."""
DEFAULT_FRAME_LIMIT = 8 * 1024 * 1024
"""Bytes of one envelope, unless configured otherwise (Tesseron 1.2 §8)."""
HANDSHAKE_DEADLINE = 10.0
"""Seconds a peer has for the welcome, the hello or the upgrade (Tesseron 1.2 §3)."""
MAX_QUEUED_BEFORE_WELCOME = 64
MAX_SAMPLING_DEPTH = 3

APP_ID = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
RESERVED_APP_IDS = frozenset({"tesseron", "mcp", "system"})
ACTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
MAX_TOOL_NAME = 64

CONFIRM_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}, "required": []}
"""What `ctx.confirm` asks for (Tesseron 1.2 §5)."""

EXTENSION = "tesseron-py"
"""The key under `extensions` by which our own two ends know each other (§11 of our notes on the wire)."""

LISTS_SINCE = "2025-11-25"
"""The first revision of MCP whose forms have lists, for several choices; revisions compare as text."""
_REVISION = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

HELLO = "tesseron/hello"
RESUME = "tesseron/resume"
CLAIMED = "tesseron/claimed"
BIND = "tesseron/bind"
INVOKE = "actions/invoke"
CANCEL = "actions/cancel"
CALLER = "actions/caller"
PROGRESS = "actions/progress"
ACTIONS_CHANGED = "actions/list_changed"
RESOURCES_CHANGED = "resources/list_changed"
READ = "resources/read"
SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"
UPDATED = "resources/updated"
SAMPLE = "sampling/request"
ELICIT = "elicitation/request"
WITHDRAW = "elicitation/withdraw"
LOG = "log"


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Who calls: the agent's id and name as its client gave them, for people and logs; never proof of anything."""

    id: str
    name: str

    def to_wire(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name}

    @classmethod
    def from_wire(cls, value: object) -> AgentInfo | None:
        """The agent in a welcome, a claimed or a caller; `None` when it is not one."""
        if not isinstance(value, dict):
            return None
        id, name = value.get("id"), value.get("name")
        if not isinstance(id, str):
            return None
        return _agent(id, name if isinstance(name, str) else id)


@lru_cache(maxsize=64)
def _agent(id: str, name: str) -> AgentInfo:
    return AgentInfo(id, name)  # each call brings one, and few are different


PENDING_AGENT = AgentInfo("pending", "Awaiting agent")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the client of a call can do (Tesseron 1.2 §3).

    Attributes:
        streaming: Progress reaches it.
        subscriptions: It can follow resources.
        sampling: `ctx.sample` works.
        elicitation: A person can be asked with a form: `ctx.confirm`, `ctx.elicit`, `ctx.ask`.
        elicitation_url: A person can be sent to a URL: `ctx.ask_url`.
    """

    streaming: bool = False
    subscriptions: bool = False
    sampling: bool = False
    elicitation: bool = False
    elicitation_url: bool = False

    def to_wire(self) -> dict[str, Any]:
        """The four of Tesseron 1.2; `elicitationUrl` goes along only where it is true."""
        wire: dict[str, Any] = {
            "streaming": self.streaming,
            "subscriptions": self.subscriptions,
            "sampling": self.sampling,
            "elicitation": self.elicitation,
        }
        if self.elicitation_url:
            wire["elicitationUrl"] = True
        return wire

    @classmethod
    def from_wire(cls, value: object) -> Capabilities:
        """What a welcome, a claimed or a caller says. Only a literal `true` counts; anything else is absent."""
        if not isinstance(value, dict):
            return cls()
        return _capabilities(
            value.get("streaming") is True,
            value.get("subscriptions") is True,
            value.get("sampling") is True,
            value.get("elicitation") is True,
            value.get("elicitationUrl") is True,
        )


# There are 32 of them, and each call brings one.
_capabilities = cache(Capabilities)

ALL_CAPABILITIES = Capabilities(streaming=True, subscriptions=True, sampling=True, elicitation=True)


def revision_of(caller: object) -> str | None:
    """The revision of MCP that a caller's client speaks; `None` when it says none."""
    revision = caller.get("revision") if isinstance(caller, dict) else None
    return revision if isinstance(revision, str) and _REVISION.fullmatch(revision) else None


def same_major(version: object) -> bool:
    """Whether `version` is readable and of our major version (Tesseron 1.2 §3, version rule)."""
    return isinstance(version, str) and re.match(r"1\.\d+", version, re.ASCII) is not None


def same_minor(version: object) -> bool:
    """Whether `version` is of our major and minor version; another minor is served with a warning."""
    return isinstance(version, str) and re.match(r"1\.2(\.|$)", version, re.ASCII) is not None
