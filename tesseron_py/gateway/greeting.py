"""What an app says first, and what a gateway answers (Tesseron 1.2 §3)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidParams, ProtocolMismatch, ResumeFailed
from ..protocol.messages import (
    ALL_CAPABILITIES,
    EXTENSION,
    HELLO,
    PENDING_AGENT,
    PROTOCOL_VERSION,
    RESUME,
    AgentInfo,
    same_major,
    same_minor,
)
from .entries import ActionEntry, AppInfo, ResourceEntry, read_actions, read_app, read_resources

logger = logging.getLogger("tesseron_py.gateway")


@dataclass(frozen=True, slots=True)
class Greeting:
    """A hello, or a request to resume a session. `repr` shows no secret.

    Attributes:
        info: Who the app is.
        actions: What it offers, by name.
        resources: Likewise.
        extended: It is one of ours and takes what §11 adds.
        session_id: The session to resume; `None` in a hello.
        resume_token: What it is resumed with.
    """

    info: AppInfo
    actions: Mapping[str, ActionEntry]
    resources: Mapping[str, ResourceEntry]
    extended: bool
    session_id: str | None = None
    resume_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Welcome:
    """The gateway's answer. `repr` shows no secret.

    Attributes:
        session_id: The session from now on.
        resume_token: What it can be resumed with; `None` where it cannot.
        claim_code: What claims it; `None` when it is claimed already.
        agent: Whose it is, or pending.
        principal: Whose it is among the gateway's clients, once it is claimed.
    """

    session_id: str
    resume_token: str | None = field(default=None, repr=False)
    claim_code: str | None = field(default=None, repr=False)
    agent: AgentInfo = PENDING_AGENT
    principal: str | None = None

    def to_wire(self, *, extended: bool) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "sessionId": self.session_id,
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": ALL_CAPABILITIES.to_wire(),
            "agent": self.agent.to_wire(),
        }
        if self.claim_code is not None:
            wire["claimCode"] = self.claim_code
        if self.resume_token is not None:
            wire["resumeToken"] = self.resume_token
        if extended:
            wire["extensions"] = {EXTENSION: 1}
        return wire


def read_greeting(method: str, params: Any) -> Greeting:
    """The params of a hello or a resume.

    Raises:
        ProtocolMismatch: Another major version, or an unreadable one.
        InvalidParams: A hello that is none.
        ResumeFailed: A resume that is none.
    """
    problem = ResumeFailed if method == RESUME else InvalidParams
    if not isinstance(params, dict):
        raise problem(f"{method}: params are missing, or not an object")
    version = params.get("protocolVersion")
    if method == RESUME and not isinstance(version, str):
        raise ResumeFailed(f"{RESUME}: 'protocolVersion' is missing, or not a string")
    if not same_major(version):
        raise ProtocolMismatch(f"This gateway speaks protocol {PROTOCOL_VERSION}, the app {version!r}")
    try:
        info = read_app(params.get("app"))
        actions = read_actions(params.get("actions"), info)
        resources = read_resources(params.get("resources"), info)
    except InvalidParams as error:
        if method == HELLO:
            raise
        raise ResumeFailed(error.message.replace(HELLO, RESUME)) from error
    if not same_minor(version):
        logger.warning("The app %s speaks protocol %s, this gateway %s", info.id, version, PROTOCOL_VERSION)
    extensions = params.get("extensions")
    extended = isinstance(extensions, dict) and bool(extensions.get(EXTENSION))
    if method == HELLO:
        return Greeting(info, actions, resources, extended)
    session_id, token = params.get("sessionId"), params.get("resumeToken")
    if not isinstance(session_id, str) or not isinstance(token, str):
        raise ResumeFailed(f"{RESUME}: 'sessionId' or 'resumeToken' is missing, or not a string")
    return Greeting(info, actions, resources, extended, session_id, token)
