"""What came of a call, a read or a prompt, as the result of an MCP request (`spec/mcp.md` §6).

Values become content, and errors what the agent can act on: a failed tool is a result with `isError`, and a code of
Tesseron's never becomes one of JSON-RPC. The eras share it; what it raises is the error of the whole request.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from typing import Any, Final

from ..errors import ErrorCode, TesseronError
from ..invocation import Failed, Outcome
from ..jsontext import encode
from .listing import Structure
from .messages import CALL_TOOL, INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, ProtocolError
from .provider import PromptOutput, ResourceOutput, ToolOutput

logger = logging.getLogger("tesseron_py.mcp.results")

MAX_COMPLETIONS: Final = 100
"""Values of one completion (MCP's own limit)."""
ERROR_META: Final = "tesseron/error"
"""Where a tool with an output schema says code and data of its error."""

STRING_META: Final = "tesseron/string"
"""Says that a text which could be read as JSON is a string, for clients that give their caller a value."""

_LOOKS_LIKE_JSON: Final = frozenset('{["-0123456789tfn \t\r\n')
_WRONG_INPUT = (ErrorCode.INVALID_PARAMS, ErrorCode.INPUT_VALIDATION)
_WITHOUT_AUDIO: Final = "2024-11-05"
_WITHOUT_LINKS: Final = ("2024-11-05", "2025-03-26")


def tool_result(outcome: Outcome, *, structure: Structure, version: str) -> dict[str, Any]:
    """The result of `tools/call`.

    Args:
        outcome: `Done(ToolOutput)` or how it failed.
        structure: What the client insists on, which raises on a success without `structuredContent` that conforms to
            the output schema it knows. The provider enforced the schema; an object is what is checked here.
        version: The client's revision: older ones do not know every block.

    Raises:
        ValueError: The value cannot be encoded.
    """
    if isinstance(outcome, Failed):
        return _tool_error(outcome.error, structured=structure != "none")
    output = outcome.value
    if not isinstance(output, ToolOutput):
        output = ToolOutput(output)
    if output.content is not None:
        content = [_block(block, version) for block in output.content]
    else:
        value = output.value
        content = [{"type": "text", "text": value if isinstance(value, str) else encode(value)}]
    result: dict[str, Any] = {"content": content}
    if isinstance(output.value, str) and output.content is None and output.value[:1] in _LOOKS_LIKE_JSON:
        result["_meta"] = {STRING_META: True}
    if structure != "none":
        if structure == "object" and not isinstance(output.value, Mapping):
            # A success without it would make the client raise after the effect, and hide what happened.
            message = "The tool's output is not the object that its output schema promises"
            return _tool_error(TesseronError(ErrorCode.HANDLER_ERROR, message), structured=True)
        result["structuredContent"] = output.value
    return result


def lost_result(method: str, message: str, *, structured: bool) -> dict[str, Any]:
    """The result of a call that is not here any more: for a tool, an error that the agent reads.

    Raises:
        ProtocolError: It was no tool's.
    """
    if method == CALL_TOOL:
        return _tool_error(TesseronError(ErrorCode.CANCELLED, message), structured=structured)
    raise ProtocolError(INVALID_PARAMS, message)


def _tool_error(error: TesseronError, *, structured: bool) -> dict[str, Any]:
    detail: dict[str, Any] = {"code": error.code}
    if error.data is not None:
        detail["data"] = error.data
    try:
        encode(detail)
    except ValueError:
        del detail["data"]
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": error.message or f"The tool failed (code {error.code})"}],
        "isError": True,
    }
    if structured:
        result["_meta"] = {ERROR_META: detail}
    else:
        result["structuredContent"] = detail
    return result


def _block(block: Any, version: str) -> Mapping[str, Any]:
    """A content block as it is; one that this client cannot read, as text, since it would refuse the whole result."""
    if not isinstance(block, Mapping):
        return {"type": "text", "text": block if isinstance(block, str) else encode(block)}
    kind = block.get("type")
    if kind == "resource_link" and version in _WITHOUT_LINKS and isinstance(block.get("uri"), str):
        return {"type": "text", "text": f"{block.get('title') or block.get('name') or 'Resource'}: {block['uri']}"}
    if kind == "audio" and version == _WITHOUT_AUDIO:
        return {"type": "text", "text": f"(audio, {block.get('mimeType')}: this client's MCP revision has none)"}
    return block if _is_block(kind, block) else {"type": "text", "text": encode(block)}


def _is_block(kind: Any, block: Mapping[str, Any]) -> bool:
    match kind:
        case "text":
            return isinstance(block.get("text"), str)
        case "image" | "audio":
            return isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str)
        case "resource":
            held = block.get("resource")
            return (
                isinstance(held, Mapping)
                and isinstance(held.get("uri"), str)
                and (isinstance(held.get("text"), str) or isinstance(held.get("blob"), str))
            )
        case "resource_link":
            return isinstance(block.get("uri"), str) and isinstance(block.get("name"), str)
    return False


def resource_result(outcome: Outcome, uri: str, *, unknown: int = RESOURCE_NOT_FOUND) -> dict[str, Any]:
    """The result of `resources/read`.

    Args:
        outcome: `Done(ResourceOutput)` or how it failed.
        uri: What was asked for.
        unknown: The code for a resource that is not there: the eras differ.

    Raises:
        ProtocolError: The read failed.
        ValueError: The value cannot be encoded.
    """
    if isinstance(outcome, Failed):
        if outcome.error.code == ErrorCode.ACTION_NOT_FOUND:
            raise unknown_resource(uri, outcome.error.message, code=unknown)
        raise failure(outcome.error)
    output = outcome.value
    if not isinstance(output, ResourceOutput):
        output = ResourceOutput(uri, output)
    contents: dict[str, Any] = {"uri": output.uri}
    match output.value:
        case str():
            contents |= {"mimeType": output.mime_type or "text/plain", "text": output.value}
        case bytes() | bytearray() | memoryview():
            blob = base64.b64encode(output.value).decode()
            contents |= {"mimeType": output.mime_type or "application/octet-stream", "blob": blob}
        case value:
            contents |= {"mimeType": output.mime_type or "application/json", "text": encode(value)}
    return {"contents": [contents]}


def unknown_resource(uri: str, message: str = "", *, code: int = RESOURCE_NOT_FOUND) -> ProtocolError:
    """The error for a resource that is not there."""
    return ProtocolError(code, message or f"There is no resource {uri}", {"uri": uri})


def empty_result(outcome: Outcome, uri: str) -> dict[str, Any]:
    """The result of `resources/subscribe` and `resources/unsubscribe`.

    Raises:
        ProtocolError: It failed.
    """
    if isinstance(outcome, Failed):
        if outcome.error.code == ErrorCode.ACTION_NOT_FOUND:
            raise unknown_resource(uri, outcome.error.message)
        raise failure(outcome.error)
    return {}


def prompt_result(outcome: Outcome) -> dict[str, Any]:
    """The result of `prompts/get`.

    Raises:
        ProtocolError: The prompt failed.
    """
    if isinstance(outcome, Failed):
        raise failure(outcome.error)
    output: PromptOutput = outcome.value
    result: dict[str, Any] = {"messages": list(output.messages)}
    if output.description is not None:
        result["description"] = output.description
    return result


def completion_result(outcome: Outcome) -> dict[str, Any]:
    """The result of `completion/complete`; at most 100 values go out.

    Raises:
        ProtocolError: The completion failed.
    """
    if isinstance(outcome, Failed):
        raise failure(outcome.error)
    values = list(outcome.value)
    shown = values[:MAX_COMPLETIONS]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def failure(error: TesseronError) -> ProtocolError:
    """What a failed read, subscription, prompt or completion answers: `data` says the code and data it failed with."""
    code = INVALID_PARAMS if error.code in _WRONG_INPUT else INTERNAL_ERROR
    detail: dict[str, Any] = {"code": error.code}
    if error.data is not None:
        detail["data"] = error.data
    return ProtocolError(code, error.message or f"It failed (code {error.code})", detail)
