"""Who may talk to the HTTP endpoint: Host and Origin against DNS rebinding, the bearer token, and CORS.

It looks at headers and decides; what the answer looks like is `http.py`'s. Without a token the endpoint is for this
machine alone, so only loopback names pass unless others are configured (`spec/mcp.md` §2).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

Headers: TypeAlias = list[tuple[bytes, bytes]]

_HOST: Final = re.compile(rb"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_ORIGIN: Final = re.compile(rb"([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_LOOPBACK: Final = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})

_MCP_HEADERS: Final = b"Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, WWW-Authenticate"
_ALLOWED_HEADERS: Final = _MCP_HEADERS + b", Content-Type, Accept, Authorization, Last-Event-ID"
_MIRRORED: Final = re.compile(rb"mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]{1,100}")
METHODS: Final = b"GET, POST, DELETE, OPTIONS"
_PREFLIGHT_AGE: Final = b"600"

LOCAL: Final = "local"
"""The principal of whoever needs no token."""


class Guard:
    """What is let in.

    Args:
        token: The bearer token every request must carry, or `None`.
        hosts: Host names besides the loopback ones, each with any port or with the port it names.
        origins: Origins besides the loopback ones, as `https://app.example.com`.

    Raises:
        ValueError: A host or an origin is none, or the token is empty.
    """

    def __init__(self, *, token: str | None, hosts: Iterable[str], origins: Iterable[str]) -> None:
        if token is not None and not token.strip():
            raise ValueError("The token is empty; leave it out to need none, or give one that cannot be guessed")
        self._token = None if token is None else token.encode()
        self._hosts = frozenset(_configured(host, _HOST, "host", "example.com") for host in hosts)
        self._origins = frozenset(_configured(origin, _ORIGIN, "origin", "https://example.com") for origin in origins)
        self._last_host: bytes | None = None
        self.principal: str = (
            LOCAL if self._token is None else f"token-{hashlib.sha256(b'principal' + self._token).hexdigest()[:16]}"
        )
        """Whose clients come in here: one for all that have the token, which it does not give away."""

    def allows_host(self, values: Sequence[bytes]) -> bool:
        """Whether the one `Host` of a request is this server's."""
        if len(values) != 1:
            return False
        if values[0] == self._last_host:  # as nearly always
            return True
        host = values[0].lower()
        match = _HOST.fullmatch(host)
        allowed = match is not None and (match[1] in _LOOPBACK or match[1] in self._hosts or host in self._hosts)
        if allowed:
            self._last_host = values[0]
        return allowed

    def allows_origin(self, values: Sequence[bytes]) -> bool:
        """Whether the page that makes a request, if it is one, may. An `Origin` of `null` may not."""
        if not values:
            return True
        if len(values) != 1:
            return False
        origin = values[0].lower()
        match = _ORIGIN.fullmatch(origin)
        if match is None:
            return False
        return origin in self._origins or (match[1] in (b"http", b"https") and match[2] in _LOOPBACK)

    def allows_token(self, values: Sequence[bytes]) -> bool:
        """Whether a request carries the token, where one is needed. Compared in constant time."""
        if self._token is None:
            return True
        scheme, _, given = (values[0] if len(values) == 1 else b"").partition(b" ")
        return hmac.compare_digest(given.strip(b" "), self._token) and scheme.lower() == b"bearer"


def cors(origin: bytes) -> Headers:
    """The headers that let the page at an allowed `origin` read a response."""
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _MCP_HEADERS),
        (b"vary", b"Origin"),
    ]


def preflight(wanted: bytes | None = None) -> Headers:
    """The headers that answer a browser's question what a page may send.

    Args:
        wanted: The headers it wants to send. Those that mirror a tool's parameters have names of the tool's own.
    """
    names = [name.strip() for name in (wanted or b"").lower().split(b",")]
    mirrored = [name for name in names if _MIRRORED.fullmatch(name)]
    return [
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", b", ".join([_ALLOWED_HEADERS, *mirrored])),
        (b"access-control-max-age", _PREFLIGHT_AGE),
    ]


def _configured(value: str, form: re.Pattern[bytes], what: str, example: str) -> bytes:
    text = value.strip().rstrip("/").lower().encode()
    if not form.fullmatch(text):
        raise ValueError(f"{value!r} is no {what}; write it as {example!r}")
    return text
