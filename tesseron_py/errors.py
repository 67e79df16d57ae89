"""Every error the library raises or puts on the wire, and the codes behind them.

    Exception
    ├── TesseronError(code, message, data)      anything with a code of its own on the wire
    │   ├── ActionError            -32005       a handler says why it failed
    │   │   ├── InvalidAnswer                   the person's answer does not fit what was asked
    │   │   └── MalformedAnswer                 the answer is none: unknown action, content that is no object
    │   ├── InvalidSchema          -32602       a schema outside the elicitation subset
    │   ├── InvalidInput           -32004       the agent's arguments do not fit (``data``: all issues)
    │   ├── NotFound               -32003       unknown action or resource
    │   ├── ElicitationNotAvailable -32007      this call's client cannot ask the person
    │   ├── SamplingNotAvailable   -32006       this call's client cannot sample
    │   ├── SamplingDepthExceeded  -32008       too many sampling requests at once
    │   ├── InternalError          -32603       a fault in an SDK or a gateway
    │   │   └── TooManyPrompts                  the call or session has as many open questions as it may
    │   ├── ActionCancelled        -32001       the agent gave the call up
    │   ├── ActionTimeout          -32002       the action's time ran out
    │   ├── Unauthorized           -32009       wrong code, unclaimed session, refused bind
    │   ├── TransportClosed        -32010       the connection is gone
    │   ├── ResumeFailed           -32011       the other end does not resume this session
    │   ├── ProtocolMismatch       -32000       another major version
    │   ├── ParseError             -32700       text that is not JSON
    │   ├── InvalidRequest         -32600       JSON that is not JSON-RPC 2.0, or a frame out of turn
    │   ├── MethodNotFound         -32601
    │   └── InvalidParams          -32602
    └── TypeError
        └── RegistrationError                   an action or resource that cannot be declared like this

The codes are Tesseron 1.2 §2's. ``Cancelled`` (in ``tesseron_py``) is not here: it is an answer, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

__all__ = [
    "ActionCancelled",
    "ActionError",
    "ActionTimeout",
    "ElicitationNotAvailable",
    "ErrorCode",
    "InternalError",
    "InvalidAnswer",
    "InvalidInput",
    "InvalidParams",
    "InvalidRequest",
    "InvalidSchema",
    "MalformedAnswer",
    "MethodNotFound",
    "NotFound",
    "ParseError",
    "ProtocolMismatch",
    "RegistrationError",
    "ResumeFailed",
    "SamplingDepthExceeded",
    "SamplingNotAvailable",
    "TesseronError",
    "TooManyPrompts",
    "TransportClosed",
    "Unauthorized",
    "error_from_wire",
]


class ErrorCode(IntEnum):
    """The codes of Tesseron 1.2 §2, by their names there."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    PROTOCOL_MISMATCH = -32000
    CANCELLED = -32001
    TIMEOUT = -32002
    ACTION_NOT_FOUND = -32003
    INPUT_VALIDATION = -32004
    HANDLER_ERROR = -32005
    SAMPLING_NOT_AVAILABLE = -32006
    ELICITATION_NOT_AVAILABLE = -32007
    SAMPLING_DEPTH_EXCEEDED = -32008
    UNAUTHORIZED = -32009
    TRANSPORT_CLOSED = -32010
    RESUME_FAILED = -32011


class TesseronError(Exception):
    """An error with a code of its own on the wire.

    One that leaves a handler reaches the agent with its code, message and data (Tesseron 1.2 §2).

    Args:
        code: The JSON-RPC error code; see `ErrorCode`.
        message: What happened, for people.
        data: Anything JSON can hold, handed to the agent unchanged. `None` is left out.

    Example:
        ```python
        raise TesseronError(-32005, "Cart is locked", {"cart": "c-7"})
        ```
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code: int = int(code)
        """The JSON-RPC error code."""
        self.message: str = message
        """What happened, for people."""
        self.data: Any = data
        """What goes along with it, as JSON, or `None`."""

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        data = "" if self.data is None else f", data={self.data!r}"
        return f"{type(self).__name__}({self.code}, {self.message!r}{data})"


class _Fixed(TesseronError):
    """A `TesseronError` whose class decides the code."""

    _code: ErrorCode

    def __init__(self, message: str = "", data: Any = None) -> None:
        super().__init__(self._code, message, data)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.data)


class ActionError(_Fixed):
    """A handler says why it failed: `raise ActionError("Cart is locked", data={"cart": "c-7"})` (-32005)."""

    _code = ErrorCode.HANDLER_ERROR


class InvalidAnswer(ActionError):
    """The person accepted, and what they gave does not fit the schema; `data` lists every issue (-32005)."""

    told: Sequence[Mapping[str, Any]] = ()
    """The same issues, each `{message, path}`, as the person is told; it stays with the app, since a validator's words
    may hold what they gave."""


class MalformedAnswer(ActionError):
    """The answer is none: an unknown `action`, or content that is not an object (-32005). Never a yes."""

    answer: Any = None
    """What came in place of one, for the author; it stays with the app, since a person may have typed it."""


class InvalidSchema(_Fixed):
    """A schema outside what a person can be asked for, naming the field; raised before anything is sent (-32602)."""

    _code = ErrorCode.INVALID_PARAMS


class InvalidInput(_Fixed):
    """The agent's arguments do not fit the action; `data` is the list of all `{message, path}` (-32004)."""

    _code = ErrorCode.INPUT_VALIDATION


class NotFound(_Fixed):
    """There is no such action, or no such readable or subscribable resource (-32003)."""

    _code = ErrorCode.ACTION_NOT_FOUND


class ElicitationNotAvailable(_Fixed):
    """This call's client cannot ask the person; raised before any frame is sent (-32007)."""

    _code = ErrorCode.ELICITATION_NOT_AVAILABLE


class SamplingNotAvailable(_Fixed):
    """This call's client cannot sample; raised before any frame is sent (-32006)."""

    _code = ErrorCode.SAMPLING_NOT_AVAILABLE


class SamplingDepthExceeded(_Fixed):
    """More sampling requests at once than a gateway lets one call have; `data {depth, max}` (-32008)."""

    _code = ErrorCode.SAMPLING_DEPTH_EXCEEDED


class InternalError(_Fixed):
    """A fault in an SDK or a gateway, not in the handler (-32603)."""

    _code = ErrorCode.INTERNAL_ERROR


class TooManyPrompts(InternalError):
    """As many questions are open as may be; `data {"reason": "too_many_prompts", "limit": 32}` (-32603)."""


class ActionCancelled(_Fixed):
    """The agent gave the call up (-32001)."""

    _code = ErrorCode.CANCELLED


class ActionTimeout(_Fixed):
    """The action's own time ran out; waiting for a person does not count (-32002)."""

    _code = ErrorCode.TIMEOUT


class Unauthorized(_Fixed):
    """A wrong claim code, an unclaimed session, a refused bind (-32009)."""

    _code = ErrorCode.UNAUTHORIZED


class TransportClosed(_Fixed):
    """The connection is gone, so what was asked over it will not be answered (-32010)."""

    _code = ErrorCode.TRANSPORT_CLOSED


class ResumeFailed(_Fixed):
    """The gateway does not resume this session (-32011)."""

    _code = ErrorCode.RESUME_FAILED


class ProtocolMismatch(_Fixed):
    """The other end speaks another major version (-32000)."""

    _code = ErrorCode.PROTOCOL_MISMATCH


class ParseError(_Fixed):
    """Text that is not JSON (-32700)."""

    _code = ErrorCode.PARSE_ERROR


class InvalidRequest(_Fixed):
    """JSON that is not a JSON-RPC 2.0 object, or a frame out of turn (-32600)."""

    _code = ErrorCode.INVALID_REQUEST


class MethodNotFound(_Fixed):
    """The method is not known (-32601)."""

    _code = ErrorCode.METHOD_NOT_FOUND


class InvalidParams(_Fixed):
    """The params do not fit the method (-32602)."""

    _code = ErrorCode.INVALID_PARAMS


class RegistrationError(TypeError):
    """An action or resource that cannot be declared like this: says which function, where, and the mend."""


_BY_CODE: dict[int, type[_Fixed]] = {
    cls._code: cls
    for cls in (
        ActionError,
        InvalidInput,
        NotFound,
        ElicitationNotAvailable,
        SamplingNotAvailable,
        SamplingDepthExceeded,
        InternalError,
        ActionCancelled,
        ActionTimeout,
        Unauthorized,
        TransportClosed,
        ResumeFailed,
        ProtocolMismatch,
        ParseError,
        InvalidRequest,
        MethodNotFound,
        InvalidParams,
    )
}


def error_from_wire(code: int, message: str, data: Any = None) -> TesseronError:
    """The error another end sent, as the class of its code; code, message and data are kept as they came."""
    if code == ErrorCode.INTERNAL_ERROR and isinstance(data, dict) and data.get("reason") == "too_many_prompts":
        return TooManyPrompts(message, data)
    cls = _BY_CODE.get(code)
    return cls(message, data) if cls is not None else TesseronError(code, message, data)
