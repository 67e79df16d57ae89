"""A client of HTTP/1.1 that does as little as can be: a socket that is kept open, and answers read as they come.

A library's client would cost as much as the servers that are measured, and hide half of the difference.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any


class Connection:
    """One connection to `127.0.0.1`; one request at a time.

    Args:
        port: Where the server is.
        headers: What every request carries.
    """

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._incoming = self._socket.makefile("rb")
        lines = [f"{name}: {value}" for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items()]
        self._head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, "Content-Length: "]).encode()
        self.status = 0
        self.headers: dict[str, str] = {}

    def post(self, message: dict[str, Any], headers: bytes = b"") -> Iterator[dict[str, Any]]:
        """Send a JSON-RPC message; what comes back, one message or the events of a stream, as it comes.

        The head of the answer is in `status` and `headers` when this returns. What comes back must be read to its end.
        """
        self.send(message, headers)
        return self.receive()

    def send(self, message: dict[str, Any], headers: bytes = b"") -> None:
        """Send a JSON-RPC message; `headers` are lines that this request has more than the others."""
        body = json.dumps(message).encode()
        self._socket.sendall(self._head + str(len(body)).encode() + b"\r\n" + headers + b"\r\n" + body)

    def receive(self) -> Iterator[dict[str, Any]]:
        """What comes back for what was sent, as `post` has it.

        Raises:
            ConnectionError: Nothing does.
        """
        status = self._incoming.readline()
        if not status:
            raise ConnectionError("the server has closed the connection")
        self.status = int(status.split()[1])
        self.headers = {}
        while line := self._incoming.readline().strip():
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        return self._events() if "content-length" not in self.headers else self._whole()

    def close(self) -> None:
        """Close the connection."""
        self._incoming.close()
        self._socket.close()

    def _whole(self) -> Iterator[dict[str, Any]]:
        body = self._incoming.read(int(self.headers["content-length"]))
        # Read here, not when the first message is asked for: an answer without a body is often not looked at.
        return iter([json.loads(body)] if body else [])

    def _events(self) -> Iterator[dict[str, Any]]:
        text = b""
        while size := int(self._incoming.readline(), 16):
            text += self._incoming.read(size)
            self._incoming.readline()
            if not text.endswith((b"\n\n", b"\r\n\r\n")):
                continue  # an event goes on in the next piece; looking for its end in every piece takes ages
            *events, text = text.replace(b"\r\n", b"\n").split(b"\n\n")
            for event in events:
                data = b"\n".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
                if data:
                    yield json.loads(data)
        self._incoming.readline()
