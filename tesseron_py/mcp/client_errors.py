"""What can go wrong for an MCP client, as it is raised from its methods.

    Exception
    └── ClientError
        ├── McpError(code, message, data)   the server answered with an error
        ├── RequestTimeout                  no answer within the time of the request; the server has been told
        ├── NoAnswer                        this request gets none: a stream that ended, an HTTP refusal
        ├── BadAnswer                       what came is not what the method promises
        └── TransportEnded                  the connection is gone, and every request with it

An answer that says a tool failed is none of these: it is a `CallResult` with `is_error`.
"""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Whatever keeps a client from its answer."""


class McpError(ClientError):
    """A JSON-RPC error, in either direction: the server's answer, or what an answer callback refuses with.

    Args:
        code: The JSON-RPC error code.
        message: What happened, for people.
        data: Anything JSON can hold; `None` is left out.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return self.message

    def to_wire(self) -> dict[str, Any]:
        """The `error` member of a response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error

    @classmethod
    def from_wire(cls, error: object) -> McpError | None:
        """The error in a response, or `None` when it has no code or no message."""
        if not isinstance(error, dict):
            return None
        code, message = error.get("code"), error.get("message")
        if type(code) is not int or not isinstance(message, str):
            return None
        return cls(code, message, error.get("data"))


class RequestTimeout(ClientError, TimeoutError):
    """No answer came within the time of the request."""


class NoAnswer(ClientError):
    """The request will not be answered; others on the same connection may be.

    Attributes:
        status: The HTTP status that said so, or `None`.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class BadAnswer(ClientError):
    """The server's answer is not what MCP promises for the method."""


class TransportEnded(ClientError):
    """The connection is gone, or could not be made."""
