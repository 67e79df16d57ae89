"""`CallResult`: what a tool gave back, and the one value a caller usually wants of it."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from ..jsontext import decode
from .client_errors import BadAnswer
from .results import STRING_META


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of `tools/call` (MCP 2025-11-25, "Tool Result").

    Attributes:
        content: The content blocks, as they came.
        structured: `structuredContent`, or `None`.
        is_error: The tool failed; `text` says how.
        meta: The result's `_meta`.
    """

    content: list[dict[str, Any]]
    structured: dict[str, Any] | None = None
    is_error: bool = False
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text blocks, joined with newlines."""
        return "\n".join(text for block in self.content if isinstance(text := _text_of(block), str))

    @property
    def value(self) -> Any:
        """The tool's value.

        `structured` where there is one; else what the single text block says, as JSON if it is JSON and as a string if
        not; else the content list. A string that reads as JSON is told from JSON only where the server marks it, as
        ours does; `text` has it verbatim.
        """
        if self.structured is None and self.meta.get(STRING_META) is True:
            return self.text
        return self.structured if self.structured is not None else value_of(self.content)

    @property
    def code(self) -> int | None:
        """The error code of a failed call, where the server gave one beside the text."""
        code = self._failure.get("code")
        return code if type(code) is int else None

    @property
    def data(self) -> Any:
        """The data of a failed call's error, or `None`."""
        return self._failure.get("data")

    @property
    def _failure(self) -> dict[str, Any]:
        if not self.is_error:
            return {}
        # Tools with an output schema may put nothing else into structuredContent, so there it stands in _meta.
        failure = self.meta.get("tesseron/error", self.structured)
        return failure if isinstance(failure, dict) else {}

    @classmethod
    def from_wire(cls, result: object) -> CallResult:
        """The result as it came; members of the wrong type count as absent.

        Raises:
            BadAnswer: It is not an object.
        """
        if not isinstance(result, dict):
            raise BadAnswer("The server's answer to tools/call is not an object")
        structured, meta = result.get("structuredContent"), result.get("_meta")
        return cls(
            content=objects(result.get("content")),
            structured=structured if isinstance(structured, dict) else None,
            is_error=result.get("isError") is True,
            meta=meta if isinstance(meta, dict) else {},
        )


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list that came over the wire; none when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def value_of(content: list[dict[str, Any]]) -> Any:
    """What content blocks or resource contents say.

    A single text is its value as JSON, or a string where it is none; the contents of a binary resource (`blob`) are
    `bytes`; anything else comes back as it is.
    """
    if len(content) != 1:
        return content
    blob, text = content[0].get("blob"), _text_of(content[0])
    if isinstance(blob, str):
        try:
            return base64.b64decode(blob, validate=True)
        except ValueError:
            return content
    if not isinstance(text, str):
        return content
    try:
        return decode(text)
    except ValueError:
        return text


def _text_of(block: dict[str, Any]) -> object:
    return block.get("text") if block.get("type", "text") == "text" else None
