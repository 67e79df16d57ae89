"""A person's reply, as an app hears it; and the form by which they are asked to confirm.

It is the table "Between our gateway and a host" of our notes on MCP, §3: whatever is not clearly a yes is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

from ..errors import ElicitationNotAvailable, InternalError, SamplingNotAvailable
from ..invocation import TOO_MANY_PROMPTS, Accept, Cancel, Decline, Malformed, Reply, Unavailable, too_many_prompts

APPROVE: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "approve": {"type": "boolean", "title": "Approve", "description": "Yes lets the action go ahead."},
        },
        "required": ["approve"],
    }
)
"""What a confirm asks of the person: some clients cannot submit an empty form, and one approves it by itself."""


def with_titles(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A form as MCP titles its choices: `oneOf` where an app, as Tesseron 1.2 has it, says `enum` and `enumNames`.

    Names that are not one text for each choice say nothing, and stay.
    """
    properties = schema["properties"]
    titled = {name: _titled(field) for name, field in properties.items() if isinstance(field, Mapping)}
    return {**schema, "properties": {**properties, **titled}}


def _titled(field: Mapping[str, Any]) -> Mapping[str, Any]:
    choices, names = field.get("enum"), field.get("enumNames")
    if not _are_texts(choices) or not _are_texts(names) or len(choices) != len(names) or "oneOf" in field:
        return field
    options = [{"const": choice, "title": name} for choice, name in zip(choices, names, strict=True)]
    return {key: value for key, value in field.items() if key not in ("enum", "enumNames")} | {"oneOf": options}


def _are_texts(values: Any) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _refusal(reply: Reply) -> dict[str, Any]:
    """Every reply that is no `Accept`."""
    match reply:
        case Decline():
            return {"action": "decline"}
        case Unavailable(reason=reason, limit=limit):
            if reason == TOO_MANY_PROMPTS:
                raise too_many_prompts(limit)
            raise ElicitationNotAvailable(reason)
        case Malformed(raw=raw):
            action = raw.get("action") if isinstance(raw, Mapping) else None
            value = raw.get("content") if isinstance(raw, Mapping) else raw
            # Whatever it was, it was found to be none: the app must not find a yes in it.
            if action == "accept" and (value is None or isinstance(value, Mapping)):
                action = None
            return {"action": action, "value": value}
        case _:
            return {"action": "cancel"}


def form_answer(reply: Reply) -> dict[str, Any]:
    """For a form: its content goes along as it came; the app validates it."""
    if isinstance(reply, Accept):
        return {"action": "accept", "value": reply.content}
    return _refusal(reply)


def bare_answer(reply: Reply) -> dict[str, Any]:
    """For a question without fields, accepting is all there is to say."""
    if isinstance(reply, Accept):
        return {"action": "accept"}
    return _no_accept(_refusal(reply))


def approval(reply: Reply) -> dict[str, Any]:
    """Only a form accepted with `approve` exactly true is a yes."""
    if isinstance(reply, Accept):
        return {"action": "accept" if reply.content.get("approve") is True else "decline"}
    return _no_accept(_refusal(reply))


def _no_accept(answer: dict[str, Any]) -> dict[str, Any]:
    # A malformed accept is passed on as it came only where the app looks at its value.
    return {"action": "decline"} if answer.get("action") == "accept" else {"action": answer.get("action")}


def sampled(reply: Reply) -> dict[str, Any]:
    """For a sampling request: the content of the model's message."""
    match reply:
        case Accept(content=result):
            return {"content": result.get("content")}
        case Unavailable(reason=reason, limit=limit):
            if reason == TOO_MANY_PROMPTS:
                raise too_many_prompts(limit)
            raise SamplingNotAvailable(reason)
        case Cancel(reason=reason):
            raise InternalError(f"The client did not sample: {reason}")
        case _:
            raise InternalError("The client did not sample")
