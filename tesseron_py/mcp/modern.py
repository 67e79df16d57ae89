"""Every client of the modern era at one endpoint: each request stands for itself; a call that asks waits for the next.

A `ModernServer` owns what is running and what is parked, and says what each request is. A carrier (`stdio.py`,
`http.py`) owns how messages get in and out; what a provider answers is in `methods.py`; one request is a `Leg`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..home import Home
from .envelope import Request, is_id
from .exchange import Exchange, Outlet
from .leg import Leg
from .limits import EndpointLimits
from .listening import Filter, Listening
from .listing import Structure, input_schema, server_info, structure
from .messages import (
    CALL_TOOL,
    CAPABILITIES_META,
    CLIENT_META,
    COMPLETED,
    DISCOVER,
    GET_PROMPT,
    INITIALIZE,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LEGACY_VERSIONS,
    LEVEL_META,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_TEMPLATES,
    LIST_TOOLS,
    LISTEN,
    LOG_LEVELS,
    METHOD_NOT_FOUND,
    MODERN_VERSION,
    READ_RESOURCE,
    SERVER_META,
    UNSUPPORTED_VERSION,
    VERSION_META,
    ProtocolError,
)
from .methods import Begun, Method, capabilities, offered
from .mirrored import Headers, MirroredParameter, check_headers, check_parameters, mirrored_parameters
from .notes import Notes
from .parked import GONE, Parked
from .provider import Caller, Change, Client, Provider, ServerInfo, Tool, ToolsChanged
from .questions import client_capabilities
from .readiness import Readiness
from .repeats import Repeats, was_given_up
from .results import lost_result
from .seal import Seal, binding_of

logger = logging.getLogger("tesseron_py.mcp.modern")

Conversation: TypeAlias = Leg | Listening
"""What a carrier runs for one request."""

_ASKING: Final[Mapping[str, str]] = {CALL_TOOL: "name", GET_PROMPT: "name", READ_RESOURCE: "uri"}
"""What may be answered with a question, and the param that names what it is about."""
_CACHED: Final = frozenset({DISCOVER, LIST_TOOLS, LIST_RESOURCES, LIST_TEMPLATES, LIST_PROMPTS, READ_RESOURCE})


def speaks_modern(method: str, params: Any) -> bool:
    """Whether a message is of the modern era by itself, without the header that it may have.

    Its `_meta` names a version that is no legacy one, or its method is one that only this era has. `initialize` is
    always of the legacy era by itself.
    """
    if method == INITIALIZE:
        return False
    version = _meta(params).get(VERSION_META)
    return method in (DISCOVER, LISTEN) or (isinstance(version, str) and version not in LEGACY_VERSIONS)


@dataclass(frozen=True, slots=True)
class _ToolFacts:
    """What has to be known of a tool when it is called."""

    structure: Structure
    mirrored: Sequence[MirroredParameter]


_UNKNOWN_TOOL: Final = _ToolFacts("none", ())


class ModernServer:
    """The modern era at one endpoint.

    Args:
        provider: What is served.
        principal: Whose clients these are.
        readiness: Whether the provider is ready.
        limits: The endpoint's limits.
        home: Who keeps the time.
        repeats: The calls that can be repeated without doing anything twice.
        state_keys: Secrets that the `requestState` is sealed with; see `Seal`.

    Raises:
        ValueError: A state key is too short.

    Example:
        ```python
        leg = modern.open(request, outlet, headers)
        await leg.settle()
        if not leg.over:
            await leg.run(readiness)
        status, text = leg.status, leg.finish()
        ```
    """

    not_found = INVALID_PARAMS

    def __init__(
        self,
        provider: Provider,
        *,
        principal: str,
        readiness: Readiness,
        limits: EndpointLimits,
        home: Home,
        repeats: Repeats,
        state_keys: Sequence[str] = (),
    ) -> None:
        self.provider = provider
        self.repeats: Repeats = repeats
        self.parked: Parked = Parked(
            home, most=limits.parked, lifetime=limits.parked_for, grace=limits.kept, room=limits.kept_room
        )
        self._principal = principal
        self._readiness = readiness
        self._limits = limits
        self._seal = Seal(state_keys, lifetime=limits.parked_for)
        self._running: dict[Conversation, None] = {}
        self._listening = 0
        self._offered = offered(provider)
        self._name = provider.info.name
        self._tools: dict[str, _ToolFacts] | None = None
        self._watcher: Client | None = None
        self._closed = False
        self._info: ServerInfo | None = None
        self._server_meta: Mapping[str, Any] = {}

    @property
    def running(self) -> int:
        """How many requests wait for their response."""
        return len(self._running)

    def open(self, request: Request, outlet: Outlet, headers: Headers | None = None) -> Conversation:
        """Begin with a request. What can be answered at once is `over` when this returns.

        Args:
            request: The request.
            outlet: Where its messages go.
            headers: Those it came with, where the carrier has any.
        """
        method = self._offered.get(request.method)
        try:
            meta = self._checked(request, headers, known=method is not None)
            if request.method == LISTEN:
                conversation: Conversation = self._listen(request, outlet, meta)
            else:
                caller = self._caller(request, outlet, meta)
                begin = self._beginning(method, headers)
                conversation = self._leg(request, outlet, begin, caller, meta)
        except ProtocolError as problem:
            return self.refused(request, outlet, problem)
        if isinstance(conversation, Leg) and (self._readiness.done or method is None):
            conversation.start()
        if not conversation.over:
            self._running[conversation] = None
            conversation.on_finish = self._finished
        return conversation

    def refused(self, request: Request, outlet: Outlet, problem: ProtocolError) -> Leg:
        """The conversation about a request that does not begin."""
        leg = self._leg(request, outlet, _never, None, {})
        leg.refuse(problem)
        return leg

    def close(self, reason: str) -> None:
        """Every request ends, and every parked call is cancelled."""
        self._closed = True
        for conversation in list(self._running):
            if isinstance(conversation, Listening):
                conversation.end()
            else:
                conversation.abort(ProtocolError(INTERNAL_ERROR, reason, status=503))
        for call in self.parked:
            call.invocation.cancel(reason)
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            try:
                self.provider.detach(watcher)
            except Exception:
                logger.exception("Detaching a client failed")

    # For the methods

    def structure(self, name: str, client: Client) -> Structure:
        return self._facts(name, client).structure

    # What a request is

    def _checked(self, request: Request, headers: Headers | None, *, known: bool) -> Mapping[str, Any]:
        """The request's `_meta`, once everything about it is as it must be; the order is that of `spec/mcp.md` §4.

        Raises:
            ProtocolError: Something is not.
        """
        method, params = request.method, request.params
        meta = _meta(params)
        version, declared = meta.get(VERSION_META), meta.get(CAPABILITIES_META)
        if not isinstance(version, str) or not isinstance(declared, dict):
            missing = VERSION_META if not isinstance(version, str) else CAPABILITIES_META
            what = "a string" if missing == VERSION_META else "an object"
            message = f"{method} needs _meta[{missing!r}], {what}, as every request of MCP {MODERN_VERSION}"
            raise ProtocolError(INVALID_PARAMS, message, status=400)
        if headers is not None:
            check_headers(headers, method, params, version)
        if version != MODERN_VERSION:
            message = f"MCP {version} is not served in this way; {MODERN_VERSION} is, and older revisions by initialize"
            data = {"supported": [MODERN_VERSION], "requested": version}
            raise ProtocolError(UNSUPPORTED_VERSION, message, data, status=400)
        if not known and method not in (DISCOVER, LISTEN):
            raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method}", status=404)
        level = meta.get(LEVEL_META)
        if level is not None and level not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, f"_meta[{LEVEL_META!r}] is one of {', '.join(LOG_LEVELS)}")
        if self._closed:
            raise ProtocolError(INTERNAL_ERROR, "The server is closing", status=503)
        if len(self._running) >= self._limits.requests:
            message = f"{self._limits.requests} requests are running, which is as many as may be; try again later"
            raise ProtocolError(INTERNAL_ERROR, message, status=503)
        return meta

    def _caller(self, request: Request, outlet: Outlet, meta: Mapping[str, Any]) -> Caller:
        capabilities = client_capabilities(
            meta[CAPABILITIES_META],
            MODERN_VERSION,
            can_ask=request.method in _ASKING,
            progress=outlet.can_stream and is_id(meta.get("progressToken")),
        )
        return Caller(self._client(meta, _told_to_nobody), capabilities)

    def _client(self, meta: Mapping[str, Any], on_change: Callable[[Change], None]) -> Client:
        info = meta.get(CLIENT_META)
        name, version = (info.get("name"), info.get("version")) if isinstance(info, dict) else (None, None)
        return Client(
            principal=self._principal,
            name=name if isinstance(name, str) and name else "mcp-client",
            version=version if isinstance(version, str) else "",
            era="modern",
            on_change=on_change,
            revision=MODERN_VERSION,
        )

    def _leg(
        self,
        request: Request,
        outlet: Outlet,
        begin: Callable[[Exchange], Begun],
        caller: Caller | None,
        meta: Mapping[str, Any],
    ) -> Leg:
        token, level = meta.get("progressToken"), meta.get(LEVEL_META)
        cached = request.method in _CACHED
        return Leg(
            request,
            outlet,
            begin,
            caller=caller,
            notes=Notes(token if outlet.can_stream and is_id(token) else None, lambda: level, self._name),
            limits=self._limits,
            decorate=lambda result: self._decorated(result, cached=cached),
            parked=self.parked,
            seal=lambda state: self._seal.close(state, self._binding(request.method, request.params)),
        )

    def _binding(self, method: str, params: Mapping[str, Any]) -> bytes:
        arguments = params.get("arguments")
        return binding_of(self._principal, method, params[_ASKING[method]], {} if arguments is None else arguments)

    def _decorated(self, result: Mapping[str, Any], *, cached: bool = False) -> Mapping[str, Any]:
        info = self.provider.info
        if info is not self._info:  # asked for every result; a provider may come to be another as it gets ready
            self._info, self._server_meta = info, {SERVER_META: server_info(info)}
        meta = result.get("_meta")
        own = self._server_meta if not isinstance(meta, Mapping) else {**meta, **self._server_meta}
        whole: dict[str, Any] = {"resultType": COMPLETED, **result, "_meta": own}
        if cached:
            # What is served is the live state of a process, and what is listed depends on who asks.
            whole |= {"ttlMs": 0, "cacheScope": "private"}
        return whole

    # How it begins

    def _beginning(self, method: Method | None, headers: Headers | None) -> Callable[[Exchange], Begun]:
        def begin(exchange: Exchange) -> Begun:
            if method is None:
                return self._discover()
            request = exchange.request
            if request.method == CALL_TOOL and headers is not None:
                self._check_parameters(exchange, headers)
            if request.method in _ASKING:
                later = self._later(exchange)
                if later is not None:
                    return later
            return method(self, exchange)

        return begin

    def _later(self, exchange: Exchange) -> Begun | None:
        """What a later leg waits for, once its answers are handed in; `None` for a first leg."""
        state, responses = exchange.params.get("requestState"), exchange.params.get("inputResponses")
        if responses is not None and not isinstance(responses, dict):
            raise ProtocolError(INVALID_PARAMS, '"inputResponses" is no object')
        if state is None:
            return None  # answers without a state are answers to nothing
        method = exchange.request.method
        if not isinstance(state, str) or not isinstance(exchange.params.get(_ASKING[method]), str):
            wrong = "requestState" if not isinstance(state, str) else _ASKING[method]
            raise ProtocolError(INVALID_PARAMS, f'"{wrong}" is no string')
        opened = self._seal.open(state, self._binding(method, exchange.params))
        call = self.parked.find(opened.call)
        assert isinstance(exchange, Leg)
        if opened.expired:
            message = f"The requestState has expired: it holds for {self._limits.parked_for:g} s; call again without it"
            problem = ProtocolError(INVALID_PARAMS, message)
            # It answers nothing; but where there is nothing to answer, calling again would do it a second time.
            if call is None or call.invocation.view().open or was_given_up(call.invocation.outcome):
                raise problem
            exchange.only_for_its_result(problem)
        if call is None:
            return lost_result(method, GONE, structured=self._is_structured(exchange))
        exchange.overlook(call.invocation)
        if not opened.expired:
            call.invocation.go_on(exchange.caller)
            call.answer(responses or {}, opened.asked)
        return call.pending

    def _is_structured(self, exchange: Exchange) -> bool:
        name = exchange.params.get("name")
        return isinstance(name, str) and self.structure(name, exchange.caller.client) != "none"

    def _check_parameters(self, exchange: Exchange, headers: Headers) -> None:
        name, arguments = exchange.params.get("name"), exchange.params.get("arguments")
        if isinstance(name, str):
            mirrored = self._facts(name, exchange.caller.client).mirrored
            check_parameters(headers, mirrored, arguments if isinstance(arguments, dict) else {})

    def _discover(self) -> Mapping[str, Any]:
        info = self.provider.info
        result: dict[str, Any] = {
            "supportedVersions": [MODERN_VERSION],
            "capabilities": capabilities(self._offered),
        }
        if info.instructions:
            result["instructions"] = info.instructions
        return result

    def _listen(self, request: Request, outlet: Outlet, meta: Mapping[str, Any]) -> Listening:
        if not outlet.can_stream:
            message = "subscriptions/listen answers with text/event-stream; the Accept header does not allow it"
            raise ProtocolError(INVALID_PARAMS, message, status=406)
        if self._listening >= self._limits.streams:
            message = f"{self._limits.streams} streams are open, which is as many as may be; try again later"
            raise ProtocolError(INTERNAL_ERROR, message, status=503)
        listening = Listening(
            request,
            outlet,
            provider=self.provider,
            client=lambda on_change: self._client(meta, on_change),
            filter=Filter.of(request.params, self._limits.subscriptions),
            decorate=self._decorated,
            limits=self._limits,
        )
        self._listening += 1
        return listening

    # What is known of tools

    def _facts(self, name: str, client: Client) -> _ToolFacts:
        if self._tools is None:  # asked for every call, so it is kept until the tools change
            self._watch(client)
            self._tools = {tool.name: _facts_of(tool) for tool in self.provider.tools(client)}
        return self._tools.get(name, _UNKNOWN_TOOL)

    def _watch(self, client: Client) -> None:
        """Have the provider tell of changed tools; it is told that it is the client that came first."""
        if self._watcher is None:
            self._watcher = Client(self._principal, client.name, client.version, "modern", self._changed)
            self.provider.attach(self._watcher)

    def _changed(self, change: Change) -> None:
        if isinstance(change, ToolsChanged):
            self._tools = None

    def _finished(self, conversation: Exchange | Listening) -> None:
        if isinstance(conversation, Leg | Listening):
            self._running.pop(conversation, None)
        if isinstance(conversation, Listening):
            self._listening -= 1


def _facts_of(tool: Tool) -> _ToolFacts:
    # What clients mirror is what they were told to, which is not always what the provider said.
    return _ToolFacts(structure(tool, MODERN_VERSION), mirrored_parameters(input_schema(tool)))


def _meta(params: Any) -> Mapping[str, Any]:
    # What the parser gives are dicts, and to ask for those costs a third of asking for a Mapping.
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _told_to_nobody(change: Change) -> None:
    """Outside of a stream, a client of this era hears of no changes."""


def _never(exchange: Exchange) -> Begun:
    raise AssertionError("A request that was refused does not begin")
