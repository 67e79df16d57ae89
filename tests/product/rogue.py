"""An app that keeps to nothing: plain frames on a socket of this process, and a manifest by which gateways find it."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from tesseron_py import directory

from .processes import PATIENCE

ACTION: Mapping[str, Any] = {"name": "work", "description": "Work", "inputSchema": {"type": "object"}}
CONFIRM: Mapping[str, Any] = {"question": "Sure?", "schema": {"type": "object", "properties": {}, "required": []}}


class Line:
    """One connection of the gateway's to a rogue."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.over = threading.Event()

    def send(self, **members: Any) -> None:
        """Send one message as it should be."""
        self.socket.send(json.dumps({"jsonrpc": "2.0", **members}))

    def next(self) -> dict[str, Any]:
        """The gateway's next message."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=PATIENCE))
        return message

    def closed(self) -> int:
        """Wait for the end; gives the code of the close."""
        try:
            while True:
                self.socket.recv(timeout=PATIENCE)
        except ConnectionClosed as closed:
            self.over.set()
            return closed.rcvd.code if closed.rcvd is not None else 1006

    def answers(self) -> None:
        """The connection is alive, and nothing else is on its way: a request is answered."""
        self.send(id="alive?", method="what/ever")
        assert self.next()["error"]["code"] in (-32600, -32601, -32009)


class Rogue:
    """An app with a manifest, as a context manager.

    Args:
        home: The `~/.tesseron` it is found in.
        id: The app's id, and the manifest's name.
        actions: Its actions.
        claim: What makes the manifest one of a host that minted its code.
    """

    def __init__(
        self, home: Path, id: str, actions: Sequence[Mapping[str, Any]] = (ACTION,), claim: str | None = None
    ) -> None:
        self.id = id
        self._hello: dict[str, Any] = {
            "protocolVersion": "1.2.0",
            "app": {"id": id, "name": f"The {id}", "origin": "unknown"},
            "actions": list(actions),
            "resources": [],
            "capabilities": {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True},
        }
        self._lines: queue.Queue[Line] = queue.Queue()
        self._open: list[Line] = []
        self._server = serve(
            self._connected,
            "127.0.0.1",
            0,
            subprotocols=[Subprotocol("tesseron-gateway")],
            compression=None,
            close_timeout=0.2,
        )
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._manifest = home / "instances" / f"{id}.json"
        self._content: dict[str, Any] = {
            "version": 2,
            "instanceId": id,
            "appName": f"The {id}",
            "addedAt": 1,
            "pid": os.getpid(),
            "transport": {"kind": "ws", "url": f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}/"},
        }
        if claim is not None:
            minted = {"code": claim, "sessionId": "s_rogue", "resumeToken": "r" * 32, "boundAgent": None}
            self._content |= {"helloHandledByHost": True, "hostMintedClaim": minted}

    def _connected(self, socket: ServerConnection) -> None:
        line = Line(socket)
        self._open.append(line)
        self._lines.put(line)
        line.over.wait(PATIENCE)

    def line(self) -> Line:
        """The gateway's next connection."""
        return self._lines.get(timeout=PATIENCE)

    def welcomed(self, line: Line | None = None) -> tuple[Line, str]:
        """A connection that has said hello, and the claim code that it was given."""
        line = line or self.line()
        line.send(id="hello", method="tesseron/hello", params=self._hello)
        while (answer := line.next())["id"] != "hello":
            pass
        return line, answer["result"].get("claimCode", "")

    def __enter__(self) -> Rogue:
        self._thread.start()
        directory.write(self._manifest, self._content)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manifest.unlink(missing_ok=True)
        for line in self._open:
            line.over.set()
        self._server.shutdown()
        self._thread.join(PATIENCE)
