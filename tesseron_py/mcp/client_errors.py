"""What can go wrong for an MCP client, as it is raised from its methods.

    Exception
    └── ClientError
        ├── McpError(code, message, data)   the server answered with an error
        │   ├── MissingCapability           it needs what the client does not offer (modern)
        │   └── UnsupportedVersion          it speaks none of the client's versions (modern)
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
        return _OF_THE_ERA.get(code, cls)(code, message, error.get("data"))


class MissingCapability(McpError):
    """The server needs of the client what it does not offer (MCP 2026-07-28, -32021); `str()` says what."""

    def __str__(self) -> str:
        names = ", ".join(
            f"{name} ({', '.join(modes)})" if isinstance(modes, dict) and modes else name
            for name, modes in self.required.items()
        )
        return f"The server needs what this client does not offer: {names or 'it does not say what'}. {self.message}"

    @property
    def required(self) -> dict[str, Any]:
        """The capabilities that are missing, as a client declares them."""
        required = self.data.get("requiredCapabilities") if isinstance(self.data, dict) else None
        return required if isinstance(required, dict) else {}


class UnsupportedVersion(McpError):
    """The server does not speak this version of MCP (2026-07-28, -32022); `str()` says which it speaks."""

    def __str__(self) -> str:
        speaks = ", ".join(version[:40] for version in self.supported[:8]) or "it does not say which"
        return f"The server does not speak this version of MCP. Its own: {speaks}. {self.message}"

    @property
    def supported(self) -> list[str]:
        """The versions it speaks."""
        versions = self.data.get("supported") if isinstance(self.data, dict) else None
        return [version for version in versions if isinstance(version, str)] if isinstance(versions, list) else []


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


_OF_THE_ERA: dict[int, type[McpError]] = {-32021: MissingCapability, -32022: UnsupportedVersion}


class BadAnswer(ClientError):
    """The server's answer is not what MCP promises for the method."""


class TransportEnded(ClientError):
    """The connection is gone, or could not be made."""
