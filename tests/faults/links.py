"""How the scripted client talks: requests over HTTP, one connection each, or lines on a process's pipes.

Both say `Lost` when what they wait for can come no more, and hand what the server asks or tells to `heard`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import h11

from .wires import Meter, Trap

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PATIENCE = 30.0
"""Seconds that a client waits to hear that what needs no answer has arrived."""
TOKEN = "laboratory"
Message: TypeAlias = dict[str, Any]


class Lost(Exception):
    """The connection is gone, or the answer is none."""


class Exchange:
    """One request over HTTP and what comes back.

    Attributes:
        status: Of the response; 0 until there is one.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.stopped = asyncio.Event()
        """Set: nothing is read."""
        self.stopped.set()

    @classmethod
    async def begin(cls, port: int, method: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """Send the request.

        Raises:
            Lost: Nobody takes it.
        """
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            raise Lost(str(error)) from error
        self = cls(reader, writer)
        lines = {"host": f"127.0.0.1:{port}", "connection": "close", "content-length": str(len(body)), **headers}
        self._send(h11.Request(method=method, target="/mcp", headers=list(lines.items())))
        self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())
        return self

    def _send(self, event: Any) -> None:
        self._writer.write(self._http.send(event) or b"")

    async def _next(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                await self.stopped.wait()
                self._http.receive_data(await self._reader.read(65536))
        except (OSError, h11.RemoteProtocolError) as error:
            raise Lost(str(error)) from error
        return event

    async def messages(self) -> AsyncIterator[Message]:
        """What comes, message by message, to the end of a response that is whole.

        Raises:
            Lost: It is not whole.
        """
        response = await self._next()
        if not isinstance(response, h11.Response):
            raise Lost(f"{response!r} instead of a response")
        self.status = response.status_code
        self.headers = {name.decode(): value.decode() for name, value in response.headers}
        streams = self.headers.get("content-type", "").startswith("text/event-stream")
        data = b""
        while isinstance(event := await self._next(), h11.Data):
            data += event.data
            while streams and b"\n\n" in data:
                frame, _, data = data.partition(b"\n\n")
                if frame.startswith(b"data: "):
                    yield json.loads(frame[6:])
        if not streams and data and self.headers.get("content-type", "").startswith("application/json"):
            yield json.loads(data)

    async def whole(self) -> Message | None:
        """The last message of the response, where it has any."""
        last = None
        try:
            async for message in self.messages():
                last = message
        finally:
            self.close()
        return last

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    def abort(self) -> None:
        """Hang up at once."""
        self._writer.transport.abort()


def modern_params(params: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> Message:
    """What a request of the modern era says of its client."""
    return {
        **params,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            **(meta or {}),
        },
    }


class Pending:
    """A request whose response may come.

    Attributes:
        messages: What has come in connection with it; `None` when nothing more will.
        close: Give it up.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self.messages: asyncio.Queue[Message | Lost | None] = asyncio.Queue()
        self.close = close
        self.stop: Callable[[bool], None] = lambda stopped: None

    async def next(self) -> Message | None:
        """The next message; `None` at the end of a whole response.

        Raises:
            Lost: There can be none any more.
        """
        message = await self.messages.get()
        if isinstance(message, Lost):
            raise message
        return message


class HttpLink:
    """Each request on a connection of its own."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self.session: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._own = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {TOKEN}",
        }

    def _headers(self, message: Mapping[str, Any], modern: bool) -> dict[str, str]:
        if modern:
            more = {"mcp-protocol-version": MODERN, "mcp-method": message["method"]}
            name = message.get("params", {}).get("name")
            return self._own | more | ({"mcp-name": name} if name else {})
        return self._own | ({"mcp-session-id": self.session} if self.session else {})

    async def begin(self, message: Mapping[str, Any], *, modern: bool) -> Pending:
        """Send a request.

        Raises:
            Lost: Nobody takes it.
        """
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        exchange = await Exchange.begin(self._port(), "POST", self._headers(message, modern), body)
        pending = Pending(exchange.abort)
        pending.stop = lambda stopped: exchange.stopped.clear() if stopped else exchange.stopped.set()
        task = asyncio.create_task(self._read(exchange, pending))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pending

    async def _read(self, exchange: Exchange, pending: Pending) -> None:
        try:
            async for message in exchange.messages():
                pending.messages.put_nowait(message)
            if self.session is None and "mcp-session-id" in exchange.headers:
                self.session = exchange.headers["mcp-session-id"]
            refused = exchange.status >= 400
            pending.messages.put_nowait(Lost(f"status {exchange.status}") if refused else None)
        except Lost as lost:
            pending.messages.put_nowait(lost)
        except Exception as error:  # bad JSON, a message that is none
            pending.messages.put_nowait(Lost(f"unreadable: {error!r}"))
        finally:
            exchange.close()

    async def tell(self, message: Mapping[str, Any], *, modern: bool = False) -> None:
        """Send what has no answer.

        Raises:
            Lost: It may not have arrived.
        """
        pending = None
        try:
            async with asyncio.timeout(PATIENCE):
                pending = await self.begin(message, modern=modern)
                while await pending.next() is not None:
                    pass
        except TimeoutError:
            if pending is not None:
                pending.close()
            raise Lost("nothing says that it has arrived") from None

    async def open(self) -> None:
        """Shake hands, as the legacy era does.

        Raises:
            Lost: There is no session.
        """
        self.session = None
        pending = await self.begin(initialize(0), modern=False)
        while await pending.next() is not None:
            pass
        if self.session is None:
            raise Lost("no session")
        await self.tell({"method": "notifications/initialized"})

    def release(self) -> None:
        """Read nothing more of what nobody waits for."""
        for task in list(self._tasks):
            task.cancel()

    async def end(self) -> None:
        """Say goodbye."""
        if self.session is not None:
            headers = self._own | {"mcp-session-id": self.session}
            self.session = None
            with suppress(Lost):
                await (await Exchange.begin(self._port(), "DELETE", headers, b"")).whole()


def initialize(id: int) -> Message:
    """The legacy era's first request."""
    return {
        "id": id,
        "method": "initialize",
        "params": {
            "protocolVersion": LEGACY,
            "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": {"name": "lab", "version": "0"},
        },
    }


class PipeLink(Meter):
    """Lines on a process's pipes, which may be cut like a connection."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._pending: dict[Any, Pending] = {}
        self.lost: Lost | None = None
        self.going = asyncio.Event()
        self.going.set()
        self._writing = True
        self._reading = asyncio.create_task(self._read())
        self._open = False
        self._turn = asyncio.Lock()

    async def _read(self) -> None:
        line = b""
        problem = "the end"
        try:
            while data := await self._out.read(65536):
                await self.going.wait()
                head, tail, trap = self.split("down", data)
                if trap is not None and trap.how == "stall":
                    await asyncio.sleep(trap.seconds)
                    head += tail
                *whole, line = (line + head).split(b"\n")
                for each in whole:
                    self._heard(json.loads(each))
                if trap is not None and trap.how != "stall":
                    if trap.how == "hole":
                        await asyncio.sleep(trap.seconds)
                    self._cut(trap)
                    break
        except (OSError, ValueError) as error:
            problem = repr(error)
        self._give_up(Lost(problem))

    def _cut(self, trap: Trap) -> None:
        """The client closes its end of one pipe, or of both."""
        self._writing = False
        if trap.way == "up" or trap.how != "half":
            self._in.close()
        if trap.way == "down" or trap.how != "half":
            transport: Any = self._out._transport  # asyncio closes a pipe no other way
            transport.close()

    def _heard(self, message: Message) -> None:
        if "method" in message:
            for pending in self._pending.values():
                pending.messages.put_nowait(message)
        elif (pending := self._pending.pop(message.get("id"), None)) is not None:
            pending.messages.put_nowait(message)
            pending.messages.put_nowait(None)

    def _give_up(self, lost: Lost) -> None:
        self.lost = self.lost or lost
        for pending in self._pending.values():
            pending.messages.put_nowait(self.lost)
        self._pending.clear()

    async def _write(self, message: Mapping[str, Any]) -> None:
        # Whoever is cancelled meanwhile must not leave half a line behind.
        await asyncio.shield(asyncio.ensure_future(self._write_whole(message)))

    async def _write_whole(self, message: Mapping[str, Any]) -> None:
        async with self._turn:
            await self._write_now(message)

    async def _write_now(self, message: Mapping[str, Any]) -> None:
        if self.lost is not None:
            raise self.lost
        if not self._writing:
            raise Lost("the pipe is closed")
        head, tail, trap = self.split("up", json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        try:
            self._in.write(head)
            if trap is not None and trap.how == "stall":
                await asyncio.sleep(trap.seconds)
                self._in.write(tail)
            elif trap is not None:
                if trap.how == "hole":
                    await asyncio.sleep(trap.seconds)
                self._cut(trap)
                if trap.how != "half":
                    self._give_up(Lost("cut"))
                return
            await self._in.drain()
        except OSError as error:
            raise Lost(str(error)) from error

    async def begin(self, message: Mapping[str, Any], *, modern: bool) -> Pending:
        """Send a request.

        Raises:
            Lost: The pipe is gone.
        """

        def close() -> None:
            self._pending.pop(message["id"], None)

        pending = Pending(close)
        pending.stop = lambda stopped: self.going.clear() if stopped else self.going.set()
        self._pending[message["id"]] = pending
        await self._write(message)
        return pending

    async def tell(self, message: Mapping[str, Any], *, modern: bool = False) -> None:
        """Send what has no answer.

        Raises:
            Lost: The pipe is gone.
        """
        await self._write(message)

    async def open(self) -> None:
        """Shake hands, once.

        Raises:
            Lost: The pipe is gone.
        """
        if self._open:
            return
        pending = await self.begin(initialize(0), modern=False)
        while await pending.next() is not None:
            pass
        await self.tell({"method": "notifications/initialized"})
        self._open = True

    def release(self) -> None:
        """Others use the same pipe."""

    async def end(self) -> None:
        """A pipe has no goodbye but its end."""

    async def aclose(self) -> None:
        """Close the server's input, and read what still comes."""
        self._writing = False
        self.going.set()
        self._in.close()
        await asyncio.wait({self._reading}, timeout=5)
        self._reading.cancel()
