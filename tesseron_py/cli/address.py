"""`HOST:PORT` on a command line, and the socket that listens there."""

from __future__ import annotations

import socket

from .failure import Failure


def parse(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `[::1]:PORT`, `:PORT` or `PORT`; port 0 lets the system choose one.

    Raises:
        Failure: It is none of these.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else ""
    if not port.isascii() or not port.isdigit() or int(port) > 65535 or (":" in host) != text.startswith("["):
        raise Failure(f"{text!r} is no address; write HOST:PORT, like 127.0.0.1:8000 or [::1]:8000", 2)
    return host or "127.0.0.1", int(port)


def port(text: str) -> int:
    """A port on a command line; 0 lets the system choose one.

    Raises:
        ValueError: It is none.
    """
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError(f"a port is 0 to 65535, not {number}")
    return number


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket.

    Raises:
        Failure: The address is taken, or is none of this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets that say they are TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise Failure(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
    return listener
