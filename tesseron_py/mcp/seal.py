"""The seal of a `requestState`: what a client carries from one leg of a call to the next, and cannot make or change.

A state names a parked call and what had been asked when it was given out. It is authenticated (HMAC-SHA-256) together
with what it belongs to: principal, method, name and arguments. It holds nothing secret. Which call it names and what
comes of it is `parked.py`'s.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from time import time
from typing import Any, Final

from .messages import INVALID_PARAMS, ProtocolError

_VERSION: Final = 1
_BODY: Final = struct.Struct(">B4s16sIQ8s")
"""Version, key, call, last question, when it ends (microseconds since 1970), and what makes no two of them equal."""
_TAG: Final = 32
_LENGTH: Final = len(urlsafe_b64encode(bytes(_BODY.size + _TAG)))
MIN_KEY: Final = 16
"""Characters a key has at least."""


@dataclass(frozen=True, slots=True)
class State:
    """What a state says.

    Attributes:
        call: Which parked call.
        asked: The number of the last question that had been put when it was given out.
        expired: It was given out longer ago than a call may be parked. A call that is there all the same is not over.
    """

    call: bytes
    asked: int
    expired: bool = False


class Seal:
    """Makes states and reads them.

    Args:
        keys: Secrets of at least 16 characters; processes that share them read each other's states. The first seals,
            all of them open, so that a key can be replaced while states made with the old one are about. Without any,
            this process makes one up.
        lifetime: Seconds for which a state holds.
        clock: The time, in seconds since 1970.

    Raises:
        ValueError: A key is too short.

    Example:
        ```python
        binding = binding_of("local", "tools/call", "pay", {"amount": 5})
        state = seal.close(State(call, asked=1), binding)
        assert seal.open(state, binding) == State(call, asked=1)
        ```
    """

    def __init__(self, keys: Sequence[str] = (), *, lifetime: float, clock: Callable[[], float] = time) -> None:
        for key in keys:
            if len(key) < MIN_KEY:
                raise ValueError(f"A state key has at least {MIN_KEY} characters; make one with: openssl rand -hex 32")
        given = [key.encode() for key in keys] or [secrets.token_bytes(32)]
        # What an author writes down may be of any length, and is used for nothing but this.
        derived = [hashlib.sha256(b"tesseron-py request state\0" + key).digest() for key in given]
        self._keys: dict[bytes, bytes] = {hashlib.sha256(key).digest()[:4]: key for key in reversed(derived)}
        self._first: bytes = hashlib.sha256(derived[0]).digest()[:4]
        self._lifetime = lifetime
        self._clock = clock

    def close(self, state: State, binding: bytes) -> str:
        """A new `requestState`, different each time."""
        ends = int((self._clock() + self._lifetime) * 1_000_000)
        body = _BODY.pack(_VERSION, self._first, state.call, state.asked, ends, secrets.token_bytes(8))
        return urlsafe_b64encode(body + _tag(self._keys[self._first], body, binding)).decode()

    def open(self, text: str, binding: bytes) -> State:
        """What a `requestState` says that belongs to `binding`.

        Raises:
            ProtocolError: It is none of ours, was changed, or belongs to another call; -32602.
        """
        sealed = _decoded(text)
        body, tag = sealed[: _BODY.size], sealed[_BODY.size :]
        version, key, call, asked, ends, _ = _BODY.unpack(body) if sealed else (0, b"", b"", 0, 0, b"")
        secret = self._keys.get(key)
        if version != _VERSION or secret is None or not hmac.compare_digest(tag, _tag(secret, body, binding)):
            message = (
                "The requestState is not one that this server gave out for this call: it was changed, or belongs to"
                " another user, method, name or arguments, or another server; call again without it"
            )
            raise ProtocolError(INVALID_PARAMS, message)
        return State(call, asked, expired=self._clock() * 1_000_000 >= ends)


def binding_of(principal: str, method: str, name: str, arguments: Any) -> bytes:
    """What a state belongs to, as a digest; the order of an object's members makes no difference."""
    return hashlib.sha256(_canonical()([principal, method, name, arguments]).encode()).digest()


@cache
def _canonical() -> Callable[[Any], str]:
    import json  # a client that starts a server waits for what is imported before its first request

    return json.JSONEncoder(sort_keys=True).encode


def _tag(key: bytes, body: bytes, binding: bytes) -> bytes:
    return hmac.digest(key, body + binding, "sha256")


def _decoded(text: str) -> bytes:
    """The bytes of a state; none when it is not exactly what was given out."""
    if len(text) != _LENGTH or not text.isascii():
        return b""
    try:
        sealed = urlsafe_b64decode(text)
    except ValueError:
        return b""
    # Decoders overlook foreign characters and stray bits, and then two texts would be one state.
    return sealed if urlsafe_b64encode(sealed).decode() == text else b""
