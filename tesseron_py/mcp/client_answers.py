"""What a client answers when a server asks: questions to the person, and requests to the client's model.

It takes a method and params and gives a result, and knows no wire: legacy servers ask with requests of their own, and
another era may ask within a result. Whatever is unclear here is an error to the server, never a yes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..errors import ErrorCode
from ..invocation import Accept, Cancel, Decline, Malformed
from .client_errors import McpError

logger = logging.getLogger("tesseron_py.mcp.client")

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"

Answer: TypeAlias = Accept | Decline | Cancel | Malformed
"""What the person says. `Malformed(raw)` sends `raw` as it stands, for tests of servers."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person.

    Attributes:
        message: What to show. Foreign text: escape control characters before it reaches a terminal.
        schema: The JSON Schema of the form, a flat object; empty for a URL.
        kind: Fill a form, or go to `url`.
        url: Where to go, for `kind == "url"`.
        call: The tool (or resource URI) whose call asks, where it is known: over HTTP by the stream, over a pipe when
            one call runs.
    """

    message: str
    schema: Mapping[str, Any]
    kind: Literal["form", "url"] = "form"
    url: str | None = None
    call: str | None = None


AnswerCallback: TypeAlias = Callable[[Question], Awaitable[Answer]]
SampleCallback: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


class Answers:
    """Answers a server's requests with the callbacks a client was given.

    Args:
        answer: Answers questions to the person; `None` when nobody can be asked.
        sampling: Takes the params of `sampling/createMessage` and gives its result; `None` when there is no model.
        url: The person can be sent to a URL, too.
    """

    def __init__(
        self, answer: AnswerCallback | None = None, sampling: SampleCallback | None = None, *, url: bool = False
    ) -> None:
        self._answer = answer
        self._sampling = sampling
        self._url = url

    def capabilities(self) -> dict[str, Any]:
        """The client capabilities to declare: exactly what is answered."""
        capabilities: dict[str, Any] = {}
        if self._answer is not None:
            capabilities["elicitation"] = {"form": {}, "url": {}} if self._url else {"form": {}}
        if self._sampling is not None:
            capabilities["sampling"] = {}
        return capabilities

    async def respond(self, method: str, params: object, call: str | None = None) -> Any:
        """The result of the server's request `method`.

        Raises:
            McpError: It is not answered: an unknown method, bad params, or a callback that failed.
        """
        if method == "ping":
            return {}
        if method == ELICIT and self._answer is not None:
            question = self._question(params, call)
            return _answer_to_wire(question, await _guarded(self._answer, question, method))
        if method == SAMPLE and self._sampling is not None:
            if not isinstance(params, dict):
                raise McpError(ErrorCode.INVALID_PARAMS, f"{method} needs params")
            result = await _guarded(self._sampling, params, method)
            if not isinstance(result, Mapping):
                logger.error("The sampling callback gave %s instead of a mapping", type(result).__name__)
                raise McpError(ErrorCode.INTERNAL_ERROR, "The client's sampling callback gave no result")
            return result
        raise McpError(ErrorCode.METHOD_NOT_FOUND, f"Method not found: {method}")

    def _question(self, params: object, call: str | None) -> Question:
        if not isinstance(params, dict) or not isinstance(message := params.get("message"), str):
            raise McpError(ErrorCode.INVALID_PARAMS, f"{ELICIT} needs a message")
        match params.get("mode", "form"):
            case "form":
                schema = params.get("requestedSchema")
                if not isinstance(schema, dict):
                    raise McpError(ErrorCode.INVALID_PARAMS, f"{ELICIT} needs a requestedSchema that is an object")
                return Question(message, schema, call=call)
            case "url" if self._url:
                url = params.get("url")
                if not isinstance(url, str):
                    raise McpError(ErrorCode.INVALID_PARAMS, f"{ELICIT} in mode url needs a url")
                return Question(message, {}, "url", url, call)
        raise McpError(ErrorCode.INVALID_PARAMS, f"{ELICIT}: this client does not support that mode")


async def _guarded(callback: Callable[[Any], Awaitable[Any]], asked: Any, method: str) -> Any:
    try:
        return await callback(asked)
    except McpError:
        raise
    except Exception as error:
        logger.exception("The callback that answers %s failed", method)
        raise McpError(ErrorCode.INTERNAL_ERROR, "The client failed to answer") from error


def _answer_to_wire(question: Question, answer: object) -> Any:
    match answer:
        case Accept(content) if isinstance(content, Mapping):
            # The answer to a URL has no content (MCP 2025-11-25, "URL Mode Elicitation Requests").
            return {"action": "accept", "content": dict(content)} if question.kind == "form" else {"action": "accept"}
        case Decline():
            return {"action": "decline"}
        case Cancel():
            return {"action": "cancel"}
        case Malformed(raw):
            return raw
    logger.error("The answer callback gave %s, which is no answer", type(answer).__name__)
    raise McpError(ErrorCode.INTERNAL_ERROR, "The client failed to answer")
