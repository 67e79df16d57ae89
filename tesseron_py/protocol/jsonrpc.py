"""JSON-RPC 2.0 without I/O: `Peer` turns incoming text into events and calls into outgoing text.

It owns the ids and the requests that wait for an answer, and nothing else: no socket, no task, no clock. The host and
the gateway use the one class (Tesseron 1.2 §2). Everything malformed becomes a `Rejected` event that says what to send
back, so no input makes it raise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import ErrorCode, InternalError, TesseronError, TransportClosed, error_from_wire
from ..jsontext import decode, encode

Id: TypeAlias = str | int | None


@dataclass(slots=True, eq=False)
class Request:
    """A request of the other end. Answer it once, with `Peer.answer` or `Peer.refuse`."""

    id: Id
    method: str
    params: Any
    answered: bool = False


@dataclass(slots=True, frozen=True)
class Notification:
    """A notification of the other end. It is never answered, whatever is wrong with it."""

    method: str
    params: Any


@dataclass(slots=True, frozen=True)
class Rejected:
    """A message that is none. `reply` goes back; the connection lives on."""

    reply: str
    reason: str


@dataclass(slots=True, eq=False)
class Call:
    """A request of ours that waits for its answer.

    `on_settled` is called once, when the answer has come or never will; set it before the text is sent.
    """

    id: int
    method: str
    text: str = field(repr=False)
    settled: bool = False
    value: Any = None
    error: TesseronError | None = None
    on_settled: Callable[[], None] | None = None

    def take_text(self) -> str:
        """The text, to be sent now: the answer may be long in coming, and the text is not kept for that."""
        text, self.text = self.text, ""
        return text

    def result(self) -> Any:
        """The answer's result.

        Raises:
            TesseronError: The other end answered with an error, or the connection closed (`TransportClosed`).
        """
        if not self.settled:
            raise RuntimeError(f"{self.method} has no answer yet")
        if self.error is not None:
            raise self.error
        return self.value

    def _settle(self, value: Any, error: TesseronError | None) -> None:
        if self.settled:
            return
        self.settled, self.value, self.error = True, value, error
        # Let go, since it nearly always holds this call: what holds itself is left to the garbage collector.
        on_settled, self.on_settled = self.on_settled, None
        if on_settled is not None:
            on_settled()


@dataclass(slots=True, frozen=True)
class Settled:
    """An answer to `call` came; the call knows it."""

    call: Call


Event: TypeAlias = Request | Notification | Rejected | Settled


class Peer:
    """One end of a JSON-RPC connection, as state.

    Example:
        ```python
        peer = Peer()
        call = peer.request("resources/read", {"name": "stats"})
        send(call.text)
        event = peer.receive(text)          # Request | Notification | Settled | Rejected | None
        ```
    """

    def __init__(self) -> None:
        self._next_id = 1
        self._calls: dict[int, Call] = {}
        self._closed: TesseronError | None = None

    @property
    def pending(self) -> int:
        """How many requests of ours wait for an answer."""
        return len(self._calls)

    @property
    def closed(self) -> bool:
        return self._closed is not None

    def receive(self, text: str | bytes) -> Event | None:
        """What one incoming message means; `None` for what is to be dropped silently (Tesseron 1.2 §2)."""
        if self._closed is not None:
            return None
        try:
            message = decode(text)
        except ValueError as error:
            return _rejected(None, ErrorCode.PARSE_ERROR, f"Parse error: {error}")
        if not isinstance(message, dict):
            what = "batches are not supported" if isinstance(message, list) else "not an object"
            return _rejected(None, ErrorCode.INVALID_REQUEST, f"Invalid request: {what}")
        if "method" in message:
            return self._receive_method(message)
        if message.get("jsonrpc") != "2.0" or not ("result" in message or "error" in message):
            return self._malformed_response(message, 'Invalid request: no "method", and no response either')
        return self._receive_response(message)

    def _receive_method(self, message: dict[str, Any]) -> Event:
        id, method = message.get("id"), message["method"]
        if not _is_id(id):
            return _rejected(None, ErrorCode.INVALID_REQUEST, 'Invalid request: "id" is no string, integer or null')
        if message.get("jsonrpc") != "2.0":
            return _rejected(id, ErrorCode.INVALID_REQUEST, 'Invalid request: "jsonrpc" is not "2.0"')
        if not isinstance(method, str):
            return _rejected(id, ErrorCode.INVALID_REQUEST, 'Invalid request: "method" is not a string')
        if "id" in message:
            return Request(id, method, message.get("params"))
        return Notification(method, message.get("params"))

    def _receive_response(self, message: dict[str, Any]) -> Event | None:
        error = message.get("error")
        outcome: TesseronError | None = None
        if isinstance(error, dict) and "result" not in message:
            code, reason = error.get("code"), error.get("message")
            if type(code) is not int or not isinstance(reason, str):
                return self._malformed_response(message, "Invalid request: the error has no code or no message")
            outcome = error_from_wire(code, reason, error.get("data"))
        elif error is not None or "result" not in message:
            return self._malformed_response(message, "Invalid request: the response has no readable result or error")
        call = self._take(message.get("id"))
        if call is None:
            return None
        call._settle(message.get("result"), outcome)
        return Settled(call)

    def _malformed_response(self, message: dict[str, Any], reason: str) -> Rejected:
        # It may be meant for a call of ours, which would wait for ever: that call fails instead.
        call = self._take(message.get("id"))
        if call is not None:
            call._settle(None, InternalError(f"The answer to {call.method} is malformed"))
        return _rejected(None, ErrorCode.INVALID_REQUEST, reason)

    def _take(self, id: Any) -> Call | None:
        # Ids are keyed with their type: in Python 1 == True == 1.0.
        return self._calls.pop(id, None) if type(id) is int else None

    def request(self, method: str, params: Any = None) -> Call:
        """A new request of ours. Send `call.text`; the call settles when the answer comes or the peer closes.

        On a closed peer the call comes back settled with `TransportClosed`.

        Raises:
            ValueError: `params` cannot be encoded.
        """
        id = self._next_id
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        call = Call(id, method, encode(message))
        self._next_id += 1
        if self._closed is not None:
            call._settle(None, self._closed)
        else:
            self._calls[id] = call
        return call

    def forget(self, call: Call) -> None:
        """Nobody waits for `call` any more; an answer that still comes is dropped."""
        self._calls.pop(call.id, None)

    def notification(self, method: str, params: Any = None) -> str:
        """The text of a notification of ours.

        Raises:
            ValueError: `params` cannot be encoded.
        """
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        return encode(message)

    def answer(self, request: Request, result: Any) -> str | None:
        """The text that answers `request`; `None` when it was answered before or the peer is closed.

        Raises:
            ValueError: `result` cannot be encoded; the request is still open.
        """
        if request.answered or self._closed is not None:
            return None
        text = encode({"jsonrpc": "2.0", "id": request.id, "result": result})
        request.answered = True
        return text

    def refuse(self, request: Request, error: TesseronError) -> str | None:
        """The text that answers `request` with an error; `None` when it was answered before or the peer is closed."""
        if request.answered or self._closed is not None:
            return None
        request.answered = True
        return encode_error(request.id, error)

    def close(self, error: TesseronError | None = None) -> None:
        """The connection is gone: every waiting call fails with `error` (default: `TransportClosed`)."""
        if self._closed is not None:
            return
        self._closed = error if error is not None else TransportClosed("The connection is closed")
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call._settle(None, self._closed)


def encode_error(id: Id, error: TesseronError) -> str:
    """An error response. Data that cannot be encoded is left out, and the message says so: the answer must go out."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    try:
        return encode({"jsonrpc": "2.0", "id": id, "error": body})
    except ValueError as problem:
        body = {"code": error.code, "message": f"{error.message} (its data could not be encoded: {problem})"}
        return encode({"jsonrpc": "2.0", "id": id, "error": body})


def _rejected(id: Id, code: ErrorCode, reason: str) -> Rejected:
    return Rejected(encode_error(id, TesseronError(code, reason)), reason)


def _is_id(value: Any) -> bool:
    return value is None or type(value) is str or type(value) is int
