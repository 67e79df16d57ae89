"""JSON-RPC 2.0 as MCP has it: what an incoming message is, and the text of an outgoing one.

It owns no state: which request is running and whose answer this is, a session knows. Nothing that comes in makes it
raise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeGuard

from ..jsontext import decode, encode
from .messages import INVALID_REQUEST, PARSE_ERROR

Id: TypeAlias = str | int


class Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
"""The id of a message whose id cannot be told: left out of an HTTP body, null on stdio."""


@dataclass(slots=True, frozen=True)
class Request:
    """A request; `params` is whatever came, `None` when nothing did."""

    id: Id
    method: str
    params: Any


@dataclass(slots=True, frozen=True)
class Notification:
    """A notification. It is never answered, whatever is wrong with it."""

    method: str
    params: Any


@dataclass(slots=True, frozen=True)
class Answer:
    """A response to a request of ours, as it came; it may be malformed."""

    id: Any
    message: Mapping[str, Any]


@dataclass(slots=True, frozen=True)
class Invalid:
    """A message that is none. `id` is what the error goes back under.

    `answers` is the id of the request of ours that it answers, if there is one of that id: then nothing goes back.
    """

    code: int
    reason: str
    id: Id | Absent | None
    answers: Id | None = None

    def reply(self, *, absent: Id | Absent | None = None) -> str:
        """The error response; an id that cannot be told goes out as `absent` (`ABSENT` leaves it out)."""
        return error_text(absent if isinstance(self.id, Absent) else self.id, self.code, self.reason)


Incoming: TypeAlias = Request | Notification | Answer | Invalid


EDGE: Final = 256
"""Bytes at either end of a message in which its id, and what kind of message it is, are looked for."""

_VERSION = rb'"jsonrpc"\s*:\s*"[^"\\]{0,10}"'
_ID_VALUE = rb'(?:-?[0-9]{1,18}|"[^"\\]{0,100}")'
_ID = rb'"id"\s*:\s*(' + _ID_VALUE + rb")"
_SMALL = rb"(?:" + _VERSION + rb'|"id"\s*:\s*' + _ID_VALUE + rb")"
_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*,")
# The one brace at the end closes the message, so what stands before it is a member of the message itself.
_LAST = re.compile(rb"[,}\]\"0-9a-z]\s*,\s*" + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*$")
_BEGINS = re.compile(rb"\s*\{\s*(?:" + _SMALL + rb'\s*,\s*){0,2}"(method|result|error)"\s*:')
_ENDS_WITH_METHOD = re.compile(rb'"method"\s*:\s*"[^"\\]{0,100}"\s*(?:,\s*' + _SMALL + rb"\s*){0,2}\}\s*$")


def id_at_an_edge(head: bytes, tail: bytes) -> Id | None:
    """The id of a message of which only both ends are known, where it stands there for certain."""
    found = _FIRST.match(head) or _LAST.search(tail)
    if found is None:
        return None
    try:
        id = decode(found[1])
    except ValueError:
        return None
    return id if is_id(id) else None


def unreadable(code: int, reason: str, head: bytes, tail: bytes) -> Invalid:
    """A message that cannot be read, from how it begins and ends: somebody may wait for the answer that it is."""
    id = id_at_an_edge(head, tail)
    if id is None:
        return Invalid(code, reason, ABSENT)
    begins = _BEGINS.match(head)
    kind = begins[1] if begins is not None else b""
    if kind == b"method" or (not kind and _ENDS_WITH_METHOD.search(tail)):
        return Invalid(code, reason, id)
    # An error under the id of a response might be taken for the answer to a request of the client's own.
    return Invalid(code, reason, ABSENT if kind else id, answers=id)


def _edges(text: str | bytes) -> tuple[bytes, bytes]:
    if isinstance(text, str):
        return text[:EDGE].encode("utf-8", "replace"), text[-EDGE:].encode("utf-8", "replace")
    return text[:EDGE], text[-EDGE:]


def parse(text: str | bytes) -> Incoming:
    """What one incoming message is."""
    try:
        message = decode(text)
    except ValueError as error:
        return unreadable(PARSE_ERROR, f"Parse error: {error}", *_edges(text))
    if not isinstance(message, dict):
        what = "batches are not supported; send one message at a time" if isinstance(message, list) else "no object"
        return Invalid(INVALID_REQUEST, f"Invalid request: {what}", ABSENT)
    if "method" not in message:
        id = message.get("id")
        if "result" in message or "error" in message:
            return Answer(id, message)
        reason = 'Invalid request: no "method", and no "result" or "error" either'
        if not is_id(id):
            return Invalid(INVALID_REQUEST, reason, ABSENT)
        return Invalid(INVALID_REQUEST, reason, id, answers=id)
    method = message["method"]
    if "id" not in message:
        # Malformed or not, there is nobody to tell.
        return Notification(method if isinstance(method, str) else "", message.get("params"))
    id = message["id"]
    if not is_id(id):
        # A null id goes back as it came: MCP forbids it, and taken for a notification it would be waited for in vain.
        return Invalid(INVALID_REQUEST, 'Invalid request: "id" is no string or integer', None if id is None else ABSENT)
    if "result" in message or "error" in message:
        return Invalid(INVALID_REQUEST, 'Invalid request: it has a "method" and is a response, too', id, answers=id)
    if message.get("jsonrpc") != "2.0":
        return Invalid(INVALID_REQUEST, 'Invalid request: "jsonrpc" is not "2.0"', id)
    if not isinstance(method, str):
        return Invalid(INVALID_REQUEST, 'Invalid request: "method" is no string', id)
    return Request(id, method, message.get("params"))


def is_id(value: object) -> TypeGuard[Id]:
    """Whether it can be the id of a request (in Python, `True` and `1.0` equal the id 1, and are none)."""
    return type(value) is str or type(value) is int


def _line(envelope: Mapping[str, Any]) -> str:
    """The message as one line, for every notion of a line.

    U+0085, U+2028 and U+2029 are text in JSON, yet some clients (Node's readline, Python's `splitlines`) end a line
    there and lose the message; escaped, they mean the same.
    """
    text = encode(envelope)
    if text.isascii():
        return text
    return text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def result_text(id: Id, result: Mapping[str, Any]) -> str:
    """The response that carries `result`.

    Raises:
        ValueError: It cannot be encoded.
    """
    return _line({"jsonrpc": "2.0", "id": id, "result": result})


def error_text(id: Id | Absent | None, code: int, message: str, data: Any = None) -> str:
    """An error response. Data that cannot be encoded is left out: the response must go out."""
    error: dict[str, Any] = {"code": code, "message": message}
    envelope: dict[str, Any] = {"jsonrpc": "2.0"}
    if not isinstance(id, Absent):
        envelope["id"] = id
    envelope["error"] = error
    if data is not None:
        error["data"] = data
        try:
            return _line(envelope)
        except ValueError:
            del error["data"]
    return _line(envelope)


def request_text(id: str, method: str, params: Mapping[str, Any] | None) -> str:
    """A request of ours.

    Raises:
        ValueError: `params` cannot be encoded.
    """
    envelope: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        envelope["params"] = params
    return _line(envelope)


def notification_text(method: str, params: Mapping[str, Any] | None = None) -> str:
    """A notification of ours.

    Raises:
        ValueError: `params` cannot be encoded.
    """
    envelope: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        envelope["params"] = params
    return _line(envelope)


def size_above(text: str, limit: int) -> int | None:
    """The size of `text` in bytes of UTF-8 when it is above `limit`, else `None`."""
    # A character is at most four bytes, so most texts need no encoding to be measured.
    if len(text) * 4 <= limit:
        return None
    size = len(text.encode())
    return size if size > limit else None
