"""One client of the legacy era, from `initialize` to its end, over any carrier.

A `LegacySession` owns what the client declared, what of it is running, and which questions wait with it. A carrier
(`stdio.py`, `http.py`) owns how messages get in and out; what a provider answers is in `methods.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..invocation import Failed, Outcome
from .envelope import Answer, Id, Invalid, Notification, Request, is_id
from .exchange import Begin, Exchange, Outlet
from .limits import EndpointLimits
from .listing import Structure, server_info, structure
from .messages import (
    CANCELLED,
    DEFAULT_LOG_LEVEL,
    INITIALIZE,
    INITIALIZED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    LOG_LEVELS,
    METHOD_NOT_FOUND,
    PING,
    RESOURCE_NOT_FOUND,
    SET_LEVEL,
    SUBSCRIBE,
    UNSUBSCRIBE,
    ProtocolError,
)
from .methods import Begun, Method, capabilities, of_resource, offered, text_param
from .notes import Notes, log_text
from .prompts import Prompts
from .provider import Caller, Change, Client, Logged, Provider, ResourceUpdated, ToolsChanged
from .questions import client_capabilities
from .readiness import Readiness
from .repeats import Repeats
from .results import empty_result

logger = logging.getLogger("tesseron_py.mcp.legacy")

Own: TypeAlias = Callable[["LegacySession", Exchange], Begun]


class LegacySession:
    """One client.

    Args:
        provider: What it is served.
        principal: Whose client it is.
        readiness: Whether the provider is ready.
        limits: The endpoint's limits.
        on_change: Told of every change the client is to hear of; returns at once.
        repeats: The calls that can be repeated without doing anything twice.
        versions: The revisions this carrier speaks, oldest first; a client that wants another gets the newest.

    Example:
        ```python
        exchange = session.open(request, outlet)
        if not exchange.over:
            await exchange.run(readiness)
        text = exchange.finish()
        ```
    """

    not_found = RESOURCE_NOT_FOUND

    def __init__(
        self,
        provider: Provider,
        *,
        principal: str,
        readiness: Readiness,
        limits: EndpointLimits,
        on_change: Callable[[Change], None],
        repeats: Repeats,
        versions: tuple[str, ...] = LEGACY_VERSIONS,
    ) -> None:
        self.provider = provider
        self.client: Client | None = None
        self.version: str = versions[-1]
        self.closed: bool = False
        self._limits = limits
        self._principal = principal
        self._readiness = readiness
        self._on_change = on_change
        self.repeats: Repeats = repeats
        self._versions = versions
        self._declared: Mapping[str, Any] = {}
        self._level = DEFAULT_LOG_LEVEL
        self._attached = False
        self._callers: dict[tuple[bool, bool], Caller] = {}
        self._running: dict[Id, Exchange] = {}
        self._prompts = Prompts(limits.prompts)
        self._subscribed: set[str] = set()
        self._structures: Mapping[str, Structure] | None = None
        self._name = provider.info.name
        self._offered = offered(provider)

    @property
    def running(self) -> int:
        """How many requests wait for their response."""
        return len(self._running)

    @property
    def open_prompts(self) -> int:
        """How many questions wait with the client."""
        return len(self._prompts)

    def is_running(self, id: Id) -> bool:
        """Whether a request of this id waits for its response."""
        return id in self._running

    # What comes in

    def open(self, request: Request, outlet: Outlet) -> Exchange:
        """Begin with a request. What can be answered at once is `over` when this returns."""
        name = request.method
        own, method = _OWN.get(name), self._offered.get(name)
        problem = self._problem(request, known=own is not None or method is not None)
        exchange = self._exchange(request, outlet, lambda exchange: self._begin(exchange, own, method))
        if problem is not None:
            exchange.refuse(problem)
            return exchange
        if self._readiness.done or name in _UNPREPARED:
            exchange.start()
        if not exchange.over:
            self._running[request.id] = exchange
            exchange.on_finish = self._finished
        return exchange

    def notified(self, notification: Notification) -> None:
        """Heed a notification. Nothing is wrong enough with one to be told."""
        if notification.method == CANCELLED and isinstance(notification.params, Mapping):
            id = notification.params.get("requestId")
            exchange = self._running.get(id) if is_id(id) else None
            if exchange is not None:
                exchange.cancel("The client cancelled the call")
        elif notification.method == INITIALIZED:
            self.listen()

    def listen(self) -> None:
        """The client is there to be told of changes: the provider hears of it as soon as it is ready."""
        if self.client is not None:
            self._readiness.then(self._attach)

    def answered(self, answer: Answer) -> None:
        """Hand an answer to the call that asked; one that nobody waits for is dropped."""
        if not self._prompts.answer(answer.id, answer.message):
            logger.debug("An answer that nobody waits for is dropped")

    def spoiled(self, invalid: Invalid) -> bool:
        """Whether a message that is none carries the id of one of our questions: then it counts as its answer.

        Nothing is to go back then: the client would take an error under that id for one of its own requests.
        """
        if not self._prompts.issued(invalid.answers):
            return False
        if self._prompts.spoil(invalid.answers):
            logger.warning("A client's answer to a question cannot be read, and counts as none: %s", invalid.reason)
        return True

    def close(self, reason: str) -> None:
        """The session ends: its calls are cancelled, its prompts withdrawn as they end, and the provider is told."""
        self.closed = True
        self._end(reason)

    # For the methods

    def structure(self, name: str, client: Client) -> Structure:
        if self._structures is None:  # asked for every call, so it is kept until the tools change
            self._structures = {tool.name: structure(tool, self.version) for tool in self.provider.tools(client)}
        return self._structures.get(name, "none")

    # Inside

    def _problem(self, request: Request, *, known: bool) -> ProtocolError | None:
        if self.closed:
            return ProtocolError(INVALID_REQUEST, "The session has ended; start a new one with initialize")
        if not known:
            return ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method}")
        if self.client is None and request.method not in _EARLY:
            return ProtocolError(INVALID_REQUEST, f"{request.method} came before initialize; send initialize first")
        if request.params is not None and not isinstance(request.params, Mapping):
            return ProtocolError(INVALID_PARAMS, f'The "params" of {request.method} are no object')
        if request.id in self._running:
            message = f"The id {request.id!r} belongs to a request that is still running; use another"
            return ProtocolError(INVALID_REQUEST, message)
        if len(self._running) >= self._limits.calls:
            message = f"{self._limits.calls} requests are running, which is as many as may be; wait for one to end"
            return ProtocolError(INTERNAL_ERROR, message)
        return None

    def _exchange(self, request: Request, outlet: Outlet, begin: Begin) -> Exchange:
        streams = outlet.can_stream
        token = _progress_token(request.params) if streams else None
        return Exchange(
            request,
            outlet,
            begin,
            caller=self._caller(streams, token is not None),
            version=self.version,
            prompts=self._prompts,
            notes=Notes(token, self._wanted, self._name),
            limits=self._limits,
        )

    def _caller(self, streams: bool, progress: bool) -> Caller | None:
        """Who asks, and what the client can do in a call of this kind: one of four, so each is made once."""
        if self.client is None:
            return None
        caller = self._callers.get((streams, progress))
        if caller is None:
            asks = client_capabilities(self._declared, self.version, can_ask=streams, progress=progress)
            caller = self._callers[streams, progress] = Caller(self.client, asks)
        return caller

    def _wanted(self) -> str:
        return self._level

    def _begin(self, exchange: Exchange, own: Own | None, method: Method | None) -> Begun:
        if exchange.request.method not in _UNPREPARED:
            self._attach()
        if own is not None:
            return own(self, exchange)
        assert method is not None
        return method(self, exchange)

    def _finished(self, exchange: Exchange) -> None:
        del self._running[exchange.request.id]

    def _attach(self) -> None:
        if not self._attached and self.client is not None:
            self.provider.attach(self.client)
            self._attached = True

    def _end(self, reason: str) -> None:
        for exchange in list(self._running.values()):
            exchange.cancel(reason)
        client, self.client = self.client, None
        self._callers.clear()
        if client is not None and self._attached:
            self._attached = False
            try:
                self.provider.detach(client)
            except Exception:
                logger.exception("Detaching a client failed")

    def _changed(self, change: Change) -> None:
        if isinstance(change, ToolsChanged):
            self._structures = None
        wanted = True
        if isinstance(change, ResourceUpdated):
            wanted = change.uri in self._subscribed
        elif isinstance(change, Logged):
            wanted = log_text(change.entry, self._level, change.name) is not None
        if wanted:
            self._on_change(change)

    # The session's own methods

    def _initialize(self, exchange: Exchange) -> Begun:
        params = exchange.params
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise ProtocolError(INVALID_PARAMS, 'initialize needs a "protocolVersion", such as "2025-11-25"')
        # A client that initializes again on its pipe has started afresh, and so does its session.
        self._end("The client initialized again")
        self._declared = _object(params.get("capabilities"))
        self.version = wanted if wanted in self._versions else self._versions[-1]
        self._level = DEFAULT_LOG_LEVEL
        self._subscribed.clear()
        self._structures = None
        info = _object(params.get("clientInfo"))
        name, version = info.get("name"), info.get("version")
        self.client = Client(
            principal=self._principal,
            name=name if isinstance(name, str) and name else "mcp-client",
            version=version if isinstance(version, str) else "",
            era="legacy",
            on_change=self._changed,
            revision=self.version,
        )
        server = self.provider.info
        result: dict[str, Any] = {
            "protocolVersion": self.version,
            "capabilities": capabilities(self._offered),
            "serverInfo": server_info(server),
        }
        if server.instructions:
            result["instructions"] = server.instructions
        return result

    def _ping(self, exchange: Exchange) -> Begun:
        return {}

    def _set_level(self, exchange: Exchange) -> Begun:
        level = exchange.params.get("level")
        if level not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, f'"level" is one of {", ".join(LOG_LEVELS)}')
        self._level = level
        return {}

    def _subscribe(self, exchange: Exchange) -> Begun:
        uri, client = text_param(exchange, "uri"), exchange.caller.client
        new = uri not in self._subscribed
        if new and len(self._subscribed) >= self._limits.subscriptions:
            message = f"The session follows {self._limits.subscriptions} resources, which is as many as it may"
            raise ProtocolError(INTERNAL_ERROR, message)
        # From the start: the first update may come before the provider's word that the subscription stands.
        self._subscribed.add(uri)

        def conclude(outcome: Outcome) -> Mapping[str, Any]:
            if new and isinstance(outcome, Failed):
                self._subscribed.discard(uri)
            return empty_result(outcome, uri)

        try:
            return of_resource(uri, self.not_found, lambda: self.provider.subscribe(uri, client), conclude)
        except ProtocolError:
            if new:
                self._subscribed.discard(uri)
            raise

    def _unsubscribe(self, exchange: Exchange) -> Begun:
        uri, client = text_param(exchange, "uri"), exchange.caller.client
        self._subscribed.discard(uri)
        return of_resource(
            uri,
            self.not_found,
            lambda: self.provider.unsubscribe(uri, client),
            lambda outcome: empty_result(outcome, uri),
        )


_OWN: Final[Mapping[str, Own]] = {
    INITIALIZE: LegacySession._initialize,
    PING: LegacySession._ping,
    SET_LEVEL: LegacySession._set_level,
    SUBSCRIBE: LegacySession._subscribe,
    UNSUBSCRIBE: LegacySession._unsubscribe,
}
_EARLY: Final = frozenset({INITIALIZE, PING})
"""What may be asked before `initialize`."""
_UNPREPARED: Final = frozenset({INITIALIZE, PING, SET_LEVEL})
"""What is answered before the provider is ready."""


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _progress_token(params: Any) -> str | int | None:
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if is_id(token) else None
