"""A host that does what a script says and nothing else: the right thing or the wrong one, to see that the runner tells.

A script is a list of connections, in the order in which the runner dials. Each is `{"upgrade": …, "does": [...]}`;
`upgrade` is 101 or another status, or a word for what is none; `does` is a list of

    {"say": frame or text}      {"sayBytes": text}             send
    {"hear": n}                                                take n frames
    {"answer": {...}}                                          take a frame, answer with its id
    {"pause": ms}                                              in which the runner waits for nothing
    {"close": code}             {"hangUp": true}               end

and with nothing left the connection stays open until the runner leaves.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

GATEWAY = Subprotocol("tesseron-gateway")


class ScriptedHost:
    """The host, in threads of its own. Use it as a context manager.

    Args:
        script: What it does, a connection after the other.
        home: Its home directory.
        uds: Whether it listens on a Unix socket, in `home`.
    """

    def __init__(self, script: list[dict[str, Any]], home: Path, *, uds: bool = False) -> None:
        self.home = home
        self.uds = uds
        self.heard: list[Any] = []
        """Every frame that came."""
        self.upgrades: list[Request] = []
        """Every upgrade that was asked for."""
        self.stopped: str | None = "nothing"
        self.stubborn = False
        self._script = list(script)
        if uds:
            self._listener = socket.socket(socket.AF_UNIX)
            self.address = str(home / "s.sock")
            self._listener.bind(self.address)
            self._listener.listen()
        else:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.address = f"ws://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> ScriptedHost:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for sock in self._sockets:
            sock.close()

    def stop(self, name: str | None) -> None:
        self.stopped = name

    def is_gone(self, until: float) -> bool:
        return not self.stubborn

    def _start(self, run: Any, *args: Any) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        for script in self._script:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(sock)
            self._start(self._serve, sock, script)

    def _serve(self, sock: socket.socket, script: dict[str, Any]) -> None:
        with suppress(OSError, EOFError):
            connection = _Lines(sock) if self.uds else self._upgraded(sock, script.get("upgrade", 101))
            if connection is not None:
                self._play(connection, script.get("does", []))
                while sock.recv(65536):
                    pass

    def _upgraded(self, sock: socket.socket, upgrade: Any) -> _WebSocket | None:
        if upgrade == "hang up":
            sock.shutdown(socket.SHUT_RDWR)
            return None
        protocol = ServerProtocol(max_size=None)
        while not (events := protocol.events_received()):
            protocol.receive_data(sock.recv(4096))
        request = events[0]
        assert isinstance(request, Request)
        self.upgrades.append(request)
        if upgrade == "silence":
            return None
        if upgrade == "garbage":
            sock.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")
            return None
        response = protocol.accept(request)
        if isinstance(upgrade, int) and upgrade != 101:
            response = Response(upgrade, "No", Headers([("Content-Length", "3")]), b"no\n")
        if upgrade in (101, "compressed", "early", "wrong key"):
            response.headers["Sec-WebSocket-Protocol"] = GATEWAY
        if upgrade == "the code":
            response.headers["Sec-WebSocket-Protocol"] = request.headers["Sec-WebSocket-Protocol"].split(", ")[1]
        if upgrade == "compressed":
            response.headers["Sec-WebSocket-Extensions"] = "permessage-deflate"
        if upgrade == "wrong key":
            del response.headers["Sec-WebSocket-Accept"]
            response.headers["Sec-WebSocket-Accept"] = "bm90IHRoZSBrZXk="
        protocol.send_response(response)
        early = Frame(Opcode.TEXT, b'{"early":true}').serialize(mask=False) if upgrade == "early" else b""
        sock.sendall(b"".join(protocol.data_to_send()) + early)
        return _WebSocket(sock, protocol) if response.status_code == 101 else None

    def _play(self, connection: _WebSocket | _Lines, script: list[dict[str, Any]]) -> None:
        for does in script:
            match does:
                case {"say": str(text)}:
                    connection.say(text.encode())
                case {"say": frame}:
                    connection.say(json.dumps(frame).encode())
                case {"sayBytes": str(text)}:
                    connection.say(text.encode("latin-1"))
                case {"hear": int(count)}:
                    self.heard += [connection.hear() for _ in range(count)]
                case {"answer": dict(answer)}:
                    self.heard.append(connection.hear())
                    connection.say(json.dumps({"jsonrpc": "2.0", "id": self.heard[-1]["id"], **answer}).encode())
                case {"pause": int(milliseconds)}:
                    time.sleep(milliseconds / 1000)
                case {"close": int(code)}:
                    connection.close(code)
                case {"hangUp": True}:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                case {"raw": str(text)}:
                    connection.sock.sendall(text.encode("latin-1"))
                case _:
                    raise AssertionError(f"no host does {does}")


class _WebSocket:
    def __init__(self, sock: socket.socket, protocol: ServerProtocol) -> None:
        self.sock = sock
        self._protocol = protocol
        self._inbox: list[bytes] = []

    def say(self, data: bytes) -> None:
        self._protocol.send_text(data)
        self._flush()

    def hear(self) -> Any:
        while not self._inbox:
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self._protocol.receive_data(data)
            for frame in self._protocol.events_received():
                assert isinstance(frame, Frame)
                if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
                    self._inbox.append(frame.data)
            self._flush()
        return _read(self._inbox.pop(0))

    def close(self, code: int) -> None:
        self._protocol.send_close(code, "scripted")
        self._flush()
        self.sock.shutdown(socket.SHUT_WR)

    def _flush(self) -> None:
        self.sock.sendall(b"".join(self._protocol.data_to_send()))


class _Lines:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._file = sock.makefile("rb")

    def say(self, data: bytes) -> None:
        self.sock.sendall(data + b"\n")

    def hear(self) -> Any:
        line = self._file.readline()
        if not line:
            raise EOFError
        return _read(line.rstrip(b"\n"))

    def close(self, code: int) -> None:
        self.sock.shutdown(socket.SHUT_RDWR)


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()
