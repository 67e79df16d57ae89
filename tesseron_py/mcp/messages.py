"""The words of MCP: versions, methods, error codes, log levels, and the one error that is JSON-RPC's own.

Nothing here knows a session or a carrier.
"""

from __future__ import annotations

from typing import Any, Final

LEGACY_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions with `initialize`, oldest first."""
HTTP_VERSIONS: Final = LEGACY_VERSIONS[1:]
"""Those with the streamable HTTP carrier; 2024-11-05 is spoken on stdio alone."""
MODERN_VERSION: Final = "2026-07-28"
FORMS_SINCE: Final = "2025-06-18"
"""The first revision with `elicitation/create`. Revisions compare as text."""
RICH_FORMS_SINCE: Final = "2025-11-25"
"""The first with titled and several choices, defaults everywhere, and questions by URL."""

INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
"""The modern era's first request; a server that does not speak it answers -32601."""
PING: Final = "ping"
LIST_TOOLS: Final = "tools/list"
CALL_TOOL: Final = "tools/call"
LIST_RESOURCES: Final = "resources/list"
LIST_TEMPLATES: Final = "resources/templates/list"
READ_RESOURCE: Final = "resources/read"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
LIST_PROMPTS: Final = "prompts/list"
GET_PROMPT: Final = "prompts/get"
COMPLETE: Final = "completion/complete"
SET_LEVEL: Final = "logging/setLevel"

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"

INITIALIZED: Final = "notifications/initialized"
LISTEN: Final = "subscriptions/listen"

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
LOG: Final = "notifications/message"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"
RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
RESOURCE_UPDATED: Final = "notifications/resources/updated"

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_META: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_META: Final = "io.modelcontextprotocol/clientInfo"
LEVEL_META: Final = "io.modelcontextprotocol/logLevel"
SERVER_META: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_META: Final = "io.modelcontextprotocol/subscriptionId"
"""What the modern era says in the `_meta` of every request, result and notification of a stream."""

COMPLETED: Final = "complete"
INPUT_REQUIRED: Final = "input_required"
"""What a result of the modern era is, in its `resultType`."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
RESOURCE_NOT_FOUND: Final = -32002
"""MCP's code of the legacy era. (The same number is a timeout in Tesseron, whose codes never get here.)"""

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of RFC 5424 that MCP names, least severe first."""
DEFAULT_LOG_LEVEL: Final = "info"


class ProtocolError(Exception):
    """A request that is answered with a JSON-RPC error.

    Attributes:
        code: One of the codes above, never Tesseron's.
        message: What is wrong and how to mend it.
        data: Goes along as it is; `None` is left out.
        status: The HTTP status that it has in the modern era. (In the legacy era all of them are 200.)
    """

    def __init__(self, code: int, message: str, data: Any = None, *, status: int = 200) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status
