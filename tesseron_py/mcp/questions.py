"""A question of a call as a request of MCP, and what came back as a `Reply`. Both eras ask and answer through here.

Whatever is unclear about an answer is a refusal (`spec/mcp.md` §2, §3); it owns no ids and sends nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from ..invocation import Accept, Body, Cancel, Decline, Form, Malformed, Reply, Sample, Unavailable, Url
from .forms import NoSuchForm, normalise
from .messages import ELICIT, FORMS_SINCE, LIST_ROOTS, MODERN_VERSION, RICH_FORMS_SINCE, SAMPLE
from .provider import ClientCapabilities

DEFAULT_MAX_TOKENS: Final = 1024
"""What a sampling request without `maxTokens` gets, since MCP requires one."""


def client_capabilities(
    declared: Mapping[str, Any], version: str, *, can_ask: bool, progress: bool
) -> ClientCapabilities:
    """What one call's client can do.

    Args:
        declared: The client's `capabilities`, unknown members and all.
        version: The revision that is spoken.
        can_ask: This call can carry a question to the client.
        progress: It came with a progress token.
    """
    form = url = False
    elicitation = declared.get("elicitation")
    if can_ask and isinstance(elicitation, Mapping) and version >= FORMS_SINCE:
        # `{}` means form. A null member is an absent one: some clients write out what they do not have.
        form = elicitation.get("form") is not None or elicitation.get("url") is None
        url = elicitation.get("url") is not None and version >= RICH_FORMS_SINCE
    sampling = can_ask and isinstance(declared.get("sampling"), Mapping)
    return _capabilities(form, url, sampling, can_ask and isinstance(declared.get("roots"), Mapping), progress)


@cache
def _capabilities(form: bool, url: bool, sampling: bool, roots: bool, progress: bool) -> ClientCapabilities:
    return ClientCapabilities(form, url, sampling, roots, progress, subscriptions=True)


def to_request(
    body: Body, version: str, capabilities: ClientCapabilities
) -> tuple[str, Mapping[str, Any] | None] | Unavailable:
    """The method and params that put `body` to a client, or why it cannot be put."""
    match body:
        case Form():
            if not capabilities.form:
                return Unavailable("this client cannot ask the person with a form (no elicitation capability)")
            try:
                return ELICIT, {"message": body.message, "requestedSchema": _form(body.schema, version)}
            except NoSuchForm as error:
                return Unavailable(str(error))
        case Url():
            if not capabilities.url:
                return Unavailable("this client cannot send the person to a URL (no elicitation.url capability)")
            params = {"mode": "url", "message": body.message, "url": body.url}
            if version < MODERN_VERSION:
                params["elicitationId"] = secrets.token_urlsafe(16)
            return ELICIT, params
        case Sample():
            if not capabilities.sampling:
                return Unavailable("this client cannot sample (no sampling capability)")
            sampling = dict(body.params)
            if sampling.get("maxTokens") is None:
                sampling["maxTokens"] = DEFAULT_MAX_TOKENS
            return SAMPLE, sampling
    if not capabilities.roots:
        return Unavailable("this client cannot list its roots (no roots capability)")
    return LIST_ROOTS, None


def _form(schema: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    if not isinstance(schema, MappingProxyType):
        return normalise(schema, version)
    # One that nobody can change is a constant of the provider's, which it asks with again and again.
    known = _FIXED.get((id(schema), version))
    if known is not None and known[0] is schema:
        return known[1]
    form = normalise(schema, version)
    if len(_FIXED) < _MOST_FIXED:
        _FIXED[id(schema), version] = schema, form
    return form


_MOST_FIXED: Final = 16
_FIXED: Final[dict[tuple[int, str], tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
"""The forms of such schemas. Each is kept with its form, so that no other comes to have its `id`."""


def lacking_capability(body: Body, capabilities: ClientCapabilities) -> Mapping[str, Any] | None:
    """The capability that a client lacks to be asked this, as it would declare it; `None` when it has it."""
    match body:
        case Form():
            return None if capabilities.form else {"elicitation": {}}
        case Url():
            return None if capabilities.url else {"elicitation": {"url": {}}}
        case Sample():
            return None if capabilities.sampling else {"sampling": {}}
    return None if capabilities.roots else {"roots": {}}


def reply_from_response(body: Body, message: Mapping[str, Any]) -> Reply:
    """What a JSON-RPC response to the request for `body` says; an envelope that is none says nothing."""
    if message.get("jsonrpc") != "2.0":
        return Malformed(None)
    error = message.get("error")
    if error is not None:
        reason = error.get("message") if isinstance(error, Mapping) else None
        return Cancel(f"the client answered with an error: {reason}" if reason else "the client answered with an error")
    if "result" not in message:
        return Malformed(None)
    return reply_from_result(body, message["result"])


def reply_from_result(body: Body, result: Any) -> Reply:
    """What the result of the request for `body` says: for `Form` and `Url` an elicit result, else any object."""
    if not isinstance(result, Mapping):
        return Malformed(result)
    if not isinstance(body, Form | Url):
        return Accept(result)
    match result.get("action"):
        case "accept":
            content = result.get("content")
            if content is None:
                return Accept({})
            return Accept(content) if isinstance(content, Mapping) else Malformed(result)
        case "decline":
            return Decline()
        case "cancel":
            return Cancel("the client answered that there is no decision")
    return Malformed(result)
