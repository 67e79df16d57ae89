"""The smallest clients there can be, without an event loop: lines on a pipe, HTTP by the standard library, a gateway.

For what happens to processes, where a client's own care would only hide it.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from types import TracebackType
from typing import Any

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from .processes import PATIENCE, Server, mcp_command

INITIALIZE: Mapping[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {"form": {}}},
    "clientInfo": {"name": "raw", "version": "0"},
}
CAPABILITIES = {"streaming": True, "subscriptions": True, "sampling": False, "elicitation": True}


class Pipe:
    """A server on its standard streams. Every line it writes must be a JSON-RPC message, or reading fails.

    Args:
        target: The app, or the command line of another server than that of an app alone.
        env: Variables for the server.
        through: A command line that ends in running the one which follows it.
    """

    def __init__(
        self, target: str | Sequence[str], env: Mapping[str, str] | None = None, *, through: Sequence[str] = ()
    ) -> None:
        command = [*through, *(mcp_command(target) if isinstance(target, str) else target)]
        self.server = Server(command, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines: list[bytes] = []
        self._arrived: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._others: list[dict[str, Any]] = []
        self._ids = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.server.process.stdout is not None
        for line in self.server.process.stdout:
            self._arrived.put(line)
        self._arrived.put(None)

    def next(self) -> dict[str, Any]:
        """The next message.

        Raises:
            EOFError: There is none any more.
        """
        line = self._arrived.get(timeout=PATIENCE)
        if line is None:
            raise EOFError
        self.lines.append(line)
        message: dict[str, Any] = json.loads(line.decode("utf-8"))
        assert message["jsonrpc"] == "2.0"
        return message

    def said(self, method: str) -> dict[str, Any]:
        """The next notification or request of that method; others are kept."""
        for message in self._others:
            if message.get("method") == method:
                self._others.remove(message)
                return message
        while (message := self.next()).get("method") != method:
            self._others.append(message)
        return message

    def response(self, id: int) -> dict[str, Any]:
        """The response to a request; others are kept."""
        for message in self._others:
            if message.get("id") == id and "method" not in message:
                self._others.remove(message)
                return message
        while (message := self.next()).get("id") != id or "method" in message:
            self._others.append(message)
        return message

    def send(self, **members: Any) -> None:
        """Write one message."""
        assert self.server.process.stdin is not None
        self.server.process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")
        self.server.process.stdin.flush()

    def start(self, method: str, params: Any = None) -> int:
        """Send a request; gives its id."""
        self._ids += 1
        self.send(id=self._ids, method=method, params=params or {})
        return self._ids

    def call(self, tool: str, **arguments: Any) -> int:
        """Start a call; gives its id."""
        return self.start("tools/call", {"name": tool, "arguments": arguments})

    def open(self) -> None:
        """Shake hands."""
        self.response(self.start("initialize", INITIALIZE))
        self.send(method="notifications/initialized")

    def close(self) -> None:
        """End the server's input."""
        assert self.server.process.stdin is not None
        self.server.process.stdin.close()

    def __enter__(self) -> Pipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.__exit__(kind, error, trace)
        self._reader.join(PATIENCE)


class HttpCall:
    """A request that was sent, and whose response is read when the test wants it."""

    def __init__(self, url: str, headers: Mapping[str, str], message: Mapping[str, Any]) -> None:
        host, _, path = url.removeprefix("http://").partition("/")
        self._connection = HTTPConnection(host, timeout=PATIENCE)
        self._connection.request("POST", f"/{path}", json.dumps(message).encode(), dict(headers))
        self._response: HTTPResponse | None = None

    @property
    def response(self) -> HTTPResponse:
        """The response, as soon as its head is there."""
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    def body(self) -> Any:
        """The whole body as JSON; `None` for an empty one."""
        text = self.response.read()
        return json.loads(text) if text else None

    def events(self) -> Iterator[dict[str, Any]]:
        """The messages of a stream, to its end."""
        assert self.response.headers["content-type"] == "text/event-stream"
        for line in self.response:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def close(self) -> None:
        self._connection.close()


class Http:
    """A session over HTTP."""

    def __init__(self, url: str, capabilities: Mapping[str, Any] = INITIALIZE["capabilities"], **headers: str) -> None:
        self._url = url
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        self._ids = 0
        with closing(self.send(id=0, method="initialize", params={**INITIALIZE, "capabilities": capabilities})) as call:
            self._headers["mcp-session-id"] = call.response.headers["mcp-session-id"]
            call.body()
        self.tell(method="notifications/initialized")

    def send(self, **members: Any) -> HttpCall:
        """Send one message."""
        return HttpCall(self._url, self._headers, {"jsonrpc": "2.0", **members})

    def tell(self, **members: Any) -> None:
        """Send a message that has no answer."""
        with closing(self.send(**members)) as call:
            assert (call.response.status, call.body()) == (202, None)

    def call(self, tool: str, **arguments: Any) -> HttpCall:
        """Start a call."""
        self._ids += 1
        return self.send(id=self._ids, method="tools/call", params={"name": tool, "arguments": arguments})


class Gateway:
    """The gateway's end of an app's WebSocket: it welcomes the app, and calls it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        hello = self.next()
        self.app: Mapping[str, Any] = hello["params"]["app"]
        agent = {"id": "raw", "name": "raw"}
        welcome = {"sessionId": "s_1", "protocolVersion": "1.2.0", "capabilities": CAPABILITIES, "agent": agent}
        self.send(id=hello["id"], result=welcome)

    def send(self, **members: Any) -> None:
        """Send one message."""
        self._socket.send(json.dumps({"jsonrpc": "2.0", **members}))

    def next(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=PATIENCE))
        return message

    def call(self, action: str, id: int = 1, **arguments: Any) -> None:
        """Start a call."""
        params = {"name": action, "input": arguments, "invocationId": f"i-{id}"}
        self.send(id=id, method="actions/invoke", params=params)


@contextmanager
def gateway(url: str) -> Iterator[Gateway]:
    """Dial an app with the `websockets` package."""
    with connect(url, subprotocols=[Subprotocol("tesseron-gateway")], compression=None, proxy=None) as socket:
        yield Gateway(socket)
