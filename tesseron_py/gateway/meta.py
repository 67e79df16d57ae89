"""The gateway's own tools: claim an app, list what there is, call and read by name (Tesseron 1.2 §9)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..mcp.provider import ResourceOutput, Tool, ToolOutput

Surface: TypeAlias = Literal["dynamic", "meta", "both"]
"""Which tools clients see: `dynamic` the claim tool and the apps' own, `meta` the five of the gateway, `both` all."""

CLAIM: Final = "tesseron__claim_session"
LIST: Final = "tesseron__list_actions"
INVOKE: Final = "tesseron__invoke_action"
READ: Final = "tesseron__read_resource"
PENDING: Final = "tesseron__list_pending_claims"

_STRING: Final[Mapping[str, Any]] = {"type": "string"}

TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool(
            CLAIM,
            "Connect to an app that runs on this machine, with the claim code that the person reads from it.",
            {
                "type": "object",
                "properties": {"code": {"type": "string", "description": "The code, such as AB3X-7K."}},
                "required": ["code"],
            },
        ),
        Tool(
            LIST,
            "List the connected apps with their actions and resources.",
            {"type": "object", "properties": {}},
            read_only=True,
        ),
        Tool(
            INVOKE,
            "Call an action of a connected app by name.",
            {
                "type": "object",
                "properties": {
                    "app_id": _STRING,
                    "action": _STRING,
                    "args": {"type": "object", "description": "The action's input; see its inputSchema."},
                },
                "required": ["app_id", "action"],
            },
        ),
        Tool(
            READ,
            "Read a resource of a connected app by name.",
            {"type": "object", "properties": {"app_id": _STRING, "name": _STRING}, "required": ["app_id", "name"]},
            read_only=True,
        ),
        Tool(
            PENDING,
            "List the apps that wait to be claimed. The person reads an app's claim code from the app itself.",
            {"type": "object", "properties": {}},
            read_only=True,
        ),
    )
}


def listed(surface: Surface) -> tuple[Tool, ...]:
    """The gateway's own tools that a client sees."""
    return (TOOLS[CLAIM],) if surface == "dynamic" else tuple(TOOLS.values())


def resource_output(read: ResourceOutput) -> ToolOutput:
    """What was read of a resource, as the result of a tool; bytes are an embedded resource."""
    if not isinstance(read.value, bytes):
        return ToolOutput(read.value)
    blob = base64.b64encode(read.value).decode()
    held = {"uri": read.uri, "mimeType": read.mime_type or "application/octet-stream", "blob": blob}
    return ToolOutput(blob, [{"type": "resource", "resource": held}])


@dataclass(frozen=True, slots=True)
class BadArguments(Exception):
    """What is wrong with the arguments of one of the gateway's own tools."""

    message: str


def text(arguments: Mapping[str, Any], name: str) -> str:
    """A required string among the arguments.

    Raises:
        BadArguments: It is missing, or none.
    """
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadArguments(f"{name}: a string is required")
    return value.strip()
