"""The Model Context Protocol's own JSON Schemas, to check what the endpoint sends; `schemas/README.md` says whose."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator

FOLDER = Path(__file__).with_name("schemas")
VERSIONS = ("2025-06-18", "2025-11-25")
MODERN = "2026-07-28"

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
REQUESTS = {
    "elicitation/create": "ElicitRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
}
NOTIFICATIONS = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}


@cache
def _validator(version: str, name: str) -> Validator:
    schema = json.loads((FOLDER / f"{version}.json").read_text())
    key, kind = ("$defs", Draft202012Validator) if "$defs" in schema else ("definitions", Draft7Validator)
    return kind({"$ref": f"#/{key}/{name}", key: schema[key]})


def validate(version: str, name: str, value: Any) -> None:
    """Fail unless `value` is a `name` of that revision."""
    _validator(version, name).validate(value)


def check(version: str, message: dict[str, Any], method: str | None = None) -> None:
    """Fail unless `message`, sent by a server, is one of that revision; `method` is the request a result answers."""
    if version not in (*VERSIONS, MODERN):
        return
    new = version >= "2025-11-25"
    if "method" in message:
        table = REQUESTS if "id" in message else NOTIFICATIONS
        validate(version, table[message["method"]], message)
        validate(version, "JSONRPCRequest" if "id" in message else "JSONRPCNotification", message)
    elif "error" in message:
        validate(version, "JSONRPCErrorResponse" if new else "JSONRPCError", message)
    else:
        validate(version, "JSONRPCResultResponse" if new else "JSONRPCResponse", message)
        assert method is not None
        asks = version >= MODERN and message["result"].get("resultType") == "input_required"
        validate(version, "InputRequiredResult" if asks else RESULTS[method], message["result"])
