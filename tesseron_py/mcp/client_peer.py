"""`Peer`: a client's requests and the server's, matched by id over one transport.

It owns the ids, what waits for an answer, and the tasks that answer the server; it knows JSON-RPC and the two
notifications that go with it in MCP (progress, cancelled), and no other method. A frame it cannot read is skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import anyio

from ..errors import ErrorCode
from ..home import Home
from ..jsontext import decode, encode
from .client_errors import BadAnswer, ClientError, McpError, NoAnswer, RequestTimeout, TransportEnded
from .client_transport import NO_HEADERS, Transport

logger = logging.getLogger("tesseron_py.mcp.client")

CANCEL_NOTICE: Final = 1.0
"""Seconds that giving a request up may spend on telling the server."""
MAX_SERVED: Final = 128
"""Requests of the server that are answered at once; twice as many may be waiting to be refused."""

Serve: TypeAlias = Callable[[str, object, str | None], Awaitable[Any]]
"""Answers a request of the server: method, params, and the subject of the call it belongs to, where known."""
Notice: TypeAlias = Callable[[str, dict[str, Any]], None]
OnProgress: TypeAlias = Callable[[dict[str, Any]], None]

SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


class _Waiting:
    """A request of ours that waits."""

    __slots__ = ("answered", "error", "method", "on_notice", "on_progress", "result", "subject")

    def __init__(
        self, method: str, subject: str | None, on_progress: OnProgress | None, on_notice: Notice | None
    ) -> None:
        self.method = method
        self.subject = subject
        self.on_progress = on_progress
        self.on_notice = on_notice
        self.answered = anyio.Event()
        self.result: Any = None
        self.error: ClientError | None = None

    def settle(self, result: Any, error: ClientError | None = None) -> None:
        self.result, self.error = result, error
        self.answered.set()


class _Served:
    """A request of the server that is being answered; `carrier` is the request of ours whose stream it came on."""

    __slots__ = ("carrier", "scope")

    def __init__(self, carrier: int | None) -> None:
        self.carrier = carrier
        self.scope = anyio.CancelScope()


class Peer:
    """One client's end of a connection; the `Sink` of its transport.

    Args:
        transport: Carries the messages.
        home: Where the server's requests are answered, each in a task of its own.
        serve: Gives the result of a request of the server, or raises `McpError`.
        notice: Told of the server's notifications, in the reading task; returns at once.
        uncancellable: Methods whose requests the server is not told to cancel.

    Attributes:
        refuses_requests: The server may not ask with requests of its own (modern); what it asks so is skipped.
        closing_cancels: A request is given up by closing its response, without a word (modern, over HTTP).
    """

    def __init__(
        self, transport: Transport, home: Home, serve: Serve, notice: Notice, *, uncancellable: Collection[str]
    ) -> None:
        self.refuses_requests = False
        self.closing_cancels = False
        self._transport = transport
        self._home = home
        self._serve = serve
        self._notice = notice
        self._uncancellable = uncancellable
        self._next_id = 1
        self._waiting: dict[int, _Waiting] = {}
        # Keyed with the type of the id: in Python 1 == True == 1.0, on the wire they are three.
        self._serving: dict[tuple[type, Any], _Served] = {}
        self._refusing = 0
        self._at_end: set[anyio.CancelScope] = set()
        self._ended: str | None = None

    @property
    def pending(self) -> int:
        """How many requests of ours wait for an answer."""
        return len(self._waiting)

    # Ours

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        subject: str | None = None,
        on_progress: OnProgress | None = None,
        on_notice: Notice | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Any:
        """Ask the server, and give its `result`.

        Args:
            timeout: Seconds until the server is told that nobody waits any more; `None` waits as long as it takes.
            subject: The tool or URI it is about, by which a question of the server is told to belong to it.
            on_progress: Told the params of each `notifications/progress`; the request then carries a token.
            on_notice: Told the notifications that belong to this request as to a subscription (modern). The server may
                then end the request with `notifications/cancelled`.
            headers: See `Transport.send`.

        Raises:
            McpError: The server answered with an error.
            RequestTimeout: The time ran out.
            NoAnswer, BadAnswer, TransportEnded: There will be no answer, or none that can be read.
            ValueError: `params` cannot be encoded, or are too large for the connection.
        """
        if self._ended is not None:
            raise TransportEnded(self._ended)
        id = self._next_id
        self._next_id += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if on_progress is not None:
            meta = (params or {}).get("_meta")
            params = {**(params or {}), "_meta": {**(meta or {}), "progressToken": id}}
        if params is not None:
            message["params"] = params
        text = encode(message)
        waiting = self._waiting[id] = _Waiting(method, subject, on_progress, on_notice)
        reason = "The caller gave it up"
        try:
            with anyio.move_on_after(timeout):
                await self._send(id, text, headers)
                await waiting.answered.wait()
            if not waiting.answered.is_set():
                reason = f"No answer within {timeout:g} s"
        finally:
            if self._waiting.pop(id, None) is not None:
                await self._give_up(id, method, reason)
        if not waiting.answered.is_set():
            raise RequestTimeout(f"{named(method, subject)}: no answer within {timeout:g} s")
        if waiting.error is not None:
            raise waiting.error
        return waiting.result

    async def _send(self, id: int, text: str, headers: Mapping[str, str]) -> None:
        try:
            await self._transport.send(text, request=id, headers=headers)
        except Exception:  # not sent, so there is nothing to give up
            self._waiting.pop(id, None)
            raise

    async def _give_up(self, id: int, method: str, reason: str) -> None:
        try:
            if method not in self._uncancellable and not self.closing_cancels:
                with anyio.move_on_after(CANCEL_NOTICE, shield=True):
                    await self.notify("notifications/cancelled", {"requestId": id, "reason": reason})
        except ClientError as error:
            logger.debug("The server could not be told that request %d is given up: %s", id, error)
        finally:
            self._forget(id, at_once=self.closing_cancels)

    def _forget(self, id: int, *, at_once: bool = False) -> None:
        """`id` will have no result: neither its stream nor the answers to what was asked on it are of use."""
        for served in self._serving.values():
            if served.carrier == id:
                served.scope.cancel()
        self._transport.drop(id, at_once=at_once)

    @contextmanager
    def while_connected(self) -> Iterator[None]:
        """For what waits between two requests: the end of the connection ends it, too.

        Raises:
            TransportEnded: It did.
        """
        with anyio.CancelScope() as scope:
            if self._ended is not None:
                raise TransportEnded(self._ended)
            self._at_end.add(scope)
            try:
                yield
            finally:
                self._at_end.discard(scope)
        if scope.cancelled_caught:
            raise TransportEnded(self._ended or "The client is closed")

    async def notify(
        self, method: str, params: Mapping[str, Any] | None = None, *, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        """Tell the server something that has no answer.

        Raises:
            ClientError: It could not be delivered.
            ValueError: `params` cannot be encoded, or are too large for the connection.
        """
        if self._ended is not None:
            raise TransportEnded(self._ended)
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self._transport.send(encode(message), headers=headers)

    # What the transport brings

    def message(self, text: str | bytes, request: int | None = None) -> None:
        """See `Sink`."""
        if self._ended is not None:
            return
        try:
            value = decode(text)
        except ValueError as error:
            logger.warning("A message of the server is skipped, since it is not JSON: %s", error)
            return
        # Batches went out of MCP with 2025-06-18; a server of 2025-03-26 may send one.
        for item in value if isinstance(value, list) else (value,):
            if not isinstance(item, dict):
                logger.warning("A message of the server is skipped, since it is no object")
            elif "method" in item:
                self._take_method(item, request)
            else:
                self._take_response(item, request)

    def unanswered(self, request: int, error: ClientError) -> None:
        """See `Sink`."""
        if (waiting := self._waiting.pop(request, None)) is not None:
            waiting.settle(None, error)
            self._forget(request)

    def ended(self, reason: str) -> None:
        """See `Sink`. Every request of ours fails, and what the server asked is withdrawn."""
        if self._ended is not None:
            return
        self._ended = reason
        waiting, self._waiting = self._waiting, {}
        for entry in waiting.values():
            entry.settle(None, TransportEnded(reason))
        for served in self._serving.values():
            served.scope.cancel()
        for scope in self._at_end:
            scope.cancel()

    def _take_response(self, message: dict[str, Any], carrier: int | None) -> None:
        id = message.get("id")
        # An error to what the server could not read has no id; over HTTP its carrier tells whose it is.
        key = carrier if id is None and "error" in message else id
        if not isinstance(key, int) or isinstance(key, bool) or (waiting := self._waiting.pop(key, None)) is None:
            if id is None:
                logger.warning("The server reports an error without an id: %s", message.get("error"))
            return  # else it is a repeat, or late, or nobody's
        if (error := McpError.from_wire(message.get("error"))) is not None:
            waiting.settle(None, error)
        elif "result" in message and message.get("error") is None and message.get("jsonrpc") == "2.0":
            waiting.settle(message["result"])
        else:
            waiting.settle(None, BadAnswer(f"The server's answer to {waiting.method} is malformed"))
        self._transport.drop(key)

    def _take_method(self, message: dict[str, Any], carrier: int | None) -> None:
        method, params = message["method"], message.get("params")
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            logger.warning("A message of the server is skipped, since it is not JSON-RPC 2.0")
        elif "id" in message:
            self._take_request(message["id"], method, params, carrier)
        elif params is None or isinstance(params, dict):
            self._take_notification(method, params or {}, carrier)
        else:
            logger.warning("%s of the server is skipped, since its params are no object", method)

    def _take_notification(self, method: str, params: dict[str, Any], carrier: int | None) -> None:
        match method:
            case "notifications/cancelled":
                id = params.get("requestId")
                if type(id) is int and self._on_notice(id) is not None:
                    self.unanswered(id, NoAnswer("The server ended the subscription"))
                elif _is_id(id) and (served := self._serving.get((type(id), id))) is not None:
                    served.scope.cancel()
            case "notifications/progress":
                token = params.get("progressToken")
                waiting = self._waiting.get(token) if type(token) is int else None
                if waiting is not None and waiting.on_progress is not None:
                    waiting.on_progress(params)
            case _:
                meta = params.get("_meta")
                tag = meta.get(SUBSCRIPTION) if isinstance(meta, dict) else None
                if (on_notice := self._on_notice(carrier) or self._on_notice(tag)) is not None:
                    on_notice(method, params)
                elif tag is None:  # else it is of a subscription that is over
                    self._notice(method, params)

    def _on_notice(self, id: object) -> Notice | None:
        waiting = self._waiting.get(id) if type(id) is int else None
        return None if waiting is None else waiting.on_notice

    # The server's requests

    def _take_request(self, id: object, method: str, params: object, carrier: int | None) -> None:
        if self.refuses_requests:
            logger.warning("A request of the server is skipped, since it may send none in this era: %s", method)
        elif not _is_id(id) or (type(id), id) in self._serving:
            logger.warning("A request of the server is skipped, since its id is none or in use: %s", method)
        elif not self._home.is_open:
            return
        elif len(self._serving) < MAX_SERVED:
            # Registered here, not in the task: its withdrawal may be the next message.
            served = self._serving[type(id), id] = _Served(carrier)
            self._home.start(self._answer, id, method, params, served, name=f"MCP client: answers {method}")
        elif self._refusing < MAX_SERVED:
            self._refusing += 1
            self._home.start(self._refuse, id, carrier, name="MCP client: refuses a request")
        else:
            logger.warning("%s of the server is dropped: it asks faster than it reads the answers", method)

    async def _answer(self, id: Any, method: str, params: object, served: _Served) -> None:
        try:
            with served.scope:  # cancelled when the question is withdrawn: nothing is sent then
                await self._reply(id, await self._result(method, params, served.carrier), served.carrier)
        finally:
            del self._serving[type(id), id]

    async def _result(self, method: str, params: object, carrier: int | None) -> dict[str, Any]:
        try:
            return {"result": await self._serve(method, params, self._subject(carrier))}
        except McpError as error:
            return {"error": error.to_wire()}

    async def _refuse(self, id: Any, carrier: int | None) -> None:
        try:
            error = McpError(ErrorCode.INTERNAL_ERROR, f"This client answers {MAX_SERVED} requests at once and no more")
            await self._reply(id, {"error": error.to_wire()}, carrier)
        finally:
            self._refusing -= 1

    async def _reply(self, id: Any, outcome: dict[str, Any], carrier: int | None) -> None:
        try:
            text = encode({"jsonrpc": "2.0", "id": id, **outcome})
        except ValueError as error:
            logger.error("An answer to the server cannot be encoded: %s", error)
            problem = McpError(ErrorCode.INTERNAL_ERROR, "The client's answer cannot be encoded")
            text = encode({"jsonrpc": "2.0", "id": id, "error": problem.to_wire()})
        try:
            await self._transport.send(text)
        except (ClientError, ValueError) as error:
            logger.warning("An answer to the server could not be delivered: %s", error)
            waiting = None if carrier is None else self._waiting.get(carrier)
            if carrier is not None and waiting is not None:  # its server waits for what it will not get
                self.unanswered(carrier, NoAnswer(f"The server did not take the answer to its question: {error}"))
                with anyio.CancelScope(shield=True):  # giving the call up cancels its answers, this task among them
                    await self._give_up(carrier, waiting.method, "The answer to its question could not be delivered")

    def _subject(self, carrier: int | None) -> str | None:
        if carrier is not None:
            waiting = self._waiting.get(carrier)
            return waiting.subject if waiting is not None else None
        about = [waiting.subject for waiting in self._waiting.values() if waiting.subject is not None]
        return about[0] if len(about) == 1 else None


def _is_id(value: object) -> bool:
    return type(value) is int or type(value) is str


def named(method: str, subject: str | None) -> str:
    """What a request is called in a message to people."""
    return method if subject is None else f"{method} {subject}"
