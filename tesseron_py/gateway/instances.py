"""What a manifest says, as far as it can be believed: one running app that a gateway may dial (Tesseron 1.2 §8)."""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from .. import directory
from ..protocol.messages import AgentInfo


@dataclass(frozen=True, slots=True)
class WebSocketAt:
    """A WebSocket on this machine."""

    url: str


@dataclass(frozen=True, slots=True)
class UnixSocketAt:
    """A Unix socket."""

    path: str


Place: TypeAlias = WebSocketAt | UnixSocketAt


@dataclass(frozen=True, slots=True)
class Minted:
    """A claim that the app itself has minted. `repr` shows no secret."""

    code: str = field(repr=False)
    session_id: str
    resume_token: str = field(repr=False)
    bound_agent: AgentInfo | None

    def is_of(self, code: str) -> bool:
        """Whether `code`, in upper case, is the claim's; compared in constant time, whatever the manifest says."""
        return hmac.compare_digest(self.code.upper().encode(), code.encode())


@dataclass(frozen=True, slots=True)
class Instance:
    """One running app.

    Attributes:
        file: Its manifest.
        id: `instanceId`, or `tabId` of a legacy one.
        app_name: What people read.
        place: Where it is.
        pid: Its process; `None` where the manifest says none.
        added_at: When it started, in ms since 1970; 0 where the manifest says nothing.
        minted: The claim it has minted, while it answers its own hello: then it is dialled with the code and not else.
        bound_agent: Who has claimed it, where the manifest says so.
        session_id: The session that it waits to be resumed in, once it was claimed.
    """

    file: Path
    id: str
    app_name: str
    place: Place
    pid: int | None
    added_at: int
    minted: Minted | None
    bound_agent: AgentInfo | None = None
    session_id: str | None = None


def read_instance(file: Path, kind: Literal["instances", "tabs"]) -> Instance | None:
    """The instance that a file tells of; `None` for what is unreadable or none."""
    content = directory.read(file)
    if content is None:
        return None
    if kind == "tabs":
        return _legacy(file, content)
    transport = content.get("transport")
    id, name, pid = content.get("instanceId"), content.get("appName"), content.get("pid")
    if content.get("version") != 2 or not isinstance(transport, dict) or not isinstance(id, str):
        return None
    place = _place(transport)
    if place is None:
        return None
    claim = content.get("hostMintedClaim")
    minted = None
    if content.get("helloHandledByHost") is True:
        minted = _minted(claim)
        if minted is None:
            return None
    claim = claim if isinstance(claim, dict) else {}
    session = claim.get("sessionId")
    return Instance(
        file=file,
        id=id,
        app_name=name if isinstance(name, str) else id,
        place=place,
        pid=pid if type(pid) is int and pid > 0 else None,
        added_at=_milliseconds(content.get("addedAt")),
        minted=minted,
        bound_agent=AgentInfo.from_wire(claim.get("boundAgent")),
        session_id=session if isinstance(session, str) else None,
    )


def _legacy(file: Path, content: dict[str, Any]) -> Instance | None:
    id, name, url = content.get("tabId"), content.get("appName"), content.get("wsUrl")
    if content.get("version") != 1 or not isinstance(id, str) or not isinstance(url, str):
        return None
    name = name if isinstance(name, str) else id
    return Instance(file, id, name, WebSocketAt(url), None, _milliseconds(content.get("addedAt")), None)


def _place(transport: dict[str, Any]) -> Place | None:
    match transport:
        case {"kind": "ws", "url": str(url)}:
            return WebSocketAt(url)
        case {"kind": "uds", "path": str(path)} if os.path.isabs(path):
            return UnixSocketAt(path)
    return None


def _minted(value: object) -> Minted | None:
    match value:
        case {"code": str(code), "sessionId": str(session), "resumeToken": str(token), **rest}:
            return Minted(code, session, token, AgentInfo.from_wire(rest.get("boundAgent")))
    return None


def _milliseconds(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
