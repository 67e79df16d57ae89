"""What a client answers when a server asks: questions to the person, requests to the client's model, and its roots.

It takes a method and params and gives a result, and knows no wire: legacy servers ask with requests of their own,
modern ones within a result, many at once. Whatever is unclear here is an error to the server, never a yes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import anyio

from ..errors import ErrorCode
from ..invocation import Accept, Cancel, Decline, Malformed
from .client_errors import BadAnswer, McpError
from .messages import ELICIT, LIST_ROOTS, PING, SAMPLE

logger = logging.getLogger("tesseron_py.mcp.client")

MAX_AT_ONCE: Final = 128
"""Questions of one result that are answered."""

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
        roots: What `roots/list` answers, objects with a `uri` and perhaps a `name`; `None` when there are no roots.
    """

    def __init__(
        self,
        answer: AnswerCallback | None = None,
        sampling: SampleCallback | None = None,
        *,
        url: bool = False,
        roots: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self._answer = answer
        self._sampling = sampling
        self._url = url
        self._roots = roots

    def capabilities(self) -> dict[str, Any]:
        """The client capabilities to declare: exactly what is answered."""
        capabilities: dict[str, Any] = {}
        if self._answer is not None:
            capabilities["elicitation"] = {"form": {}, "url": {}} if self._url else {"form": {}}
        if self._sampling is not None:
            capabilities["sampling"] = {}
        if self._roots is not None:
            capabilities["roots"] = {}
        return capabilities

    async def respond(self, method: str, params: object, call: str | None = None) -> Any:
        """The result of the server's request `method`.

        Raises:
            McpError: It is not answered: an unknown method, bad params, or a callback that failed.
        """
        if method == PING:
            return {}
        if method == LIST_ROOTS and self._roots is not None:
            return {"roots": [dict(root) for root in self._roots]}
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

    async def respond_to_all(self, requests: Mapping[str, Any], call: str | None = None) -> dict[str, Any]:
        """The `inputResponses` to the `inputRequests` of a result (MCP 2026-07-28), each in a task of its own.

        There is no way to answer one with an error: a question to the person that fails is answered with cancel, which
        is what servers take an error for.

        Raises:
            BadAnswer: What is asked cannot be understood, or is too much.
            McpError: Another one is not answered: a method that was not declared, or a callback that failed.
        """
        if len(requests) > MAX_AT_ONCE:
            raise BadAnswer(f"The server asks {len(requests)} things at once; this client answers {MAX_AT_ONCE}")
        for key, request in requests.items():
            if not isinstance(request, Mapping) or request.get("method") not in (ELICIT, SAMPLE, LIST_ROOTS):
                raise BadAnswer(f"What the server asks as {key[:40]!r} is nothing that a client answers")
        if unknown := {request["method"] for request in requests.values()} - self._declared():
            raise BadAnswer(f"The server asks {', '.join(sorted(unknown))}, which this client does not offer")
        responses: dict[str, Any] = {}
        failures: list[McpError] = []
        async with anyio.create_task_group() as tasks:

            async def respond(key: str, request: Mapping[str, Any], turn: anyio.Event, next_turn: anyio.Event) -> None:
                await turn.wait()
                next_turn.set()
                try:
                    responses[key] = await self.respond(request["method"], request.get("params"), call)
                except McpError as error:
                    if request["method"] == ELICIT:
                        logger.warning("A question is answered with cancel: %s", error)
                        responses[key] = {"action": "cancel"}
                    else:
                        failures.append(error)
                        tasks.cancel_scope.cancel()

            # They begin in the server's order (which trio would not keep), since a script answers them in order.
            turn = anyio.Event()
            turn.set()
            for key, request in requests.items():
                tasks.start_soon(respond, key, request, turn, turn := anyio.Event())
        if failures:
            raise failures[0]
        return responses

    def _declared(self) -> set[str]:
        offered = {ELICIT: self._answer, SAMPLE: self._sampling, LIST_ROOTS: self._roots}
        return {method for method, means in offered.items() if means is not None}

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
