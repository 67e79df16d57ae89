"""This machine and nothing else: which names mean it, and TCP sockets on it.

`websocket` builds on it. No resolver is asked anywhere, since what it answers is not for us to trust.
"""

from __future__ import annotations

import os
import re
import socket

import anyio

from ..web.loopback import is_loopback_host

_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:]+\]|[0-9A-Za-z.-]+)(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


def is_loopback_authority(authority: str) -> bool:
    """Whether a `Host` header names this machine, with any port or none."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and is_loopback_host(match[1].strip("[]"))


def is_loopback_origin(origin: str) -> bool:
    """Whether an `Origin` header is a page this machine serves, by its exact host; `null` is not."""
    match = _ORIGIN.fullmatch(origin)
    return match is not None and is_loopback_authority(match[1])


def bind(host: str, port: int) -> socket.socket:
    """A listening, non-blocking socket.

    Args:
        host: A loopback address, or `localhost`, which is 127.0.0.1.
        port: The port; 0 lets the system choose.

    Raises:
        ValueError: `host` is not a loopback address.
        OSError: The address cannot be listened on.
    """
    if not is_loopback_host(host):
        raise ValueError(f"{host!r} is not a loopback address; listen on 127.0.0.1 or ::1")
    address = "127.0.0.1" if host.lower() == "localhost" else host
    sock = socket.create_server((address, port), family=_family(address), backlog=128)
    sock.setblocking(False)
    return sock


async def connect(host: str, port: int) -> socket.socket:
    """A connected, non-blocking socket.

    Args:
        host: A loopback address, or `localhost`, which is 127.0.0.1 and then ::1.
        port: The port.

    Raises:
        OSError: Nobody listens there.
    """
    if host.lower() != "localhost":
        return await _connect(host, port)
    try:
        return await _connect("127.0.0.1", port)
    except OSError:
        return await _connect("::1", port)


def send_at_once(sock: socket.socket) -> None:
    """Have TCP send small messages at once instead of collecting them."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        pass  # reset already; whoever reads will see


async def _connect(address: str, port: int) -> socket.socket:
    sock = socket.socket(_family(address))
    try:
        sock.setblocking(False)
        try:
            sock.connect((address, port))
        except BlockingIOError:
            await anyio.wait_writable(sock)
            if number := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(number, os.strerror(number)) from None
    except BaseException:
        sock.close()
        raise
    send_at_once(sock)
    return sock


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
