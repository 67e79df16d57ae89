"""The host's end of one connection: hello, welcome, calls, reads, subscriptions (Tesseron 1.2 §3 to §7).

A `Session` lives from its channel's opening to its end and serves one app. It owns the calls and subscriptions of that
connection; the tasks they run in are its `Home`'s.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, Protocol

import anyio
import anyio.lowlevel

from ..bell import Bell
from ..bindings.channel import Channel, Closed, Handing, TooLarge, check_size
from ..errors import (
    ActionCancelled,
    ActionError,
    ActionTimeout,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotFound,
    ProtocolMismatch,
    TesseronError,
    TransportClosed,
)
from ..jsontext import encode
from ..protocol.jsonrpc import Call, Notification, Peer, Rejected, Request, Settled
from ..protocol.messages import (
    ACTIONS_CHANGED,
    ALL_CAPABILITIES,
    CALLER,
    CANCEL,
    CLAIMED,
    DEFAULT_TIMEOUT,
    EXTENSION,
    HELLO,
    INVOKE,
    MAX_QUEUED_BEFORE_WELCOME,
    PENDING_AGENT,
    PROTOCOL_VERSION,
    RESOURCES_CHANGED,
    RESUME,
    AgentInfo,
    Capabilities,
    revision_of,
    same_major,
)
from ..schema.binary import with_base64
from ..schema.handler import is_async
from ..workers import Workers, loop_caller
from .running import RunningCall, error_of, unencodable
from .subscription import Subscriptions

if TYPE_CHECKING:
    from ..actions import AnyAction
    from ..home import Home
    from ..limits import Limits
    from ..resources import Resource
    from .pairing import Pair

logger = logging.getLogger("tesseron_py.host")

MAX_UNSENT_REPLIES = 256
"""How many replies may wait for a gateway that reads slowly; then no further request is read."""


class App(Protocol):
    """What a session needs of the app it serves; `Tesseron` is one."""

    id: str
    name: str
    description: str
    version: str
    origin: str
    icon_url: str | None
    mask_errors: bool
    limits: Limits

    @property
    def workers(self) -> Workers: ...
    @property
    def actions(self) -> dict[str, AnyAction]: ...
    @property
    def resources(self) -> dict[str, Resource]: ...
    def find_action(self, name: str) -> AnyAction | None: ...
    def find_resource(self, name: str) -> Resource | None: ...
    def watch(self, changed: Callable[[Literal["actions", "resources"]], None], /) -> Callable[[], None]: ...


class HandshakeFailure(Exception):
    """The gateway's answer to the hello is none this app can serve under; the connection is closed."""


class Session:
    """One connection of an app to a gateway.

    Args:
        app: What is served.
        channel: The connection, just opened.
        home: Whose tasks the calls run in.
        state: What the app's lifespan yielded.
        check: Raises what a call or a read gets while that cannot be used.
        workers: The threads of its `def` handlers; by default the app's.
        limits: The numbers; by default the app's.
        pair: A claimed session to resume; where the gateway does not, the app says hello instead.
        on_welcome: Called when the gateway has welcomed the app, or resumed its session.
        on_claimed: Called when an agent has claimed the session.

    Example:
        ```python
        await Session(app, channel, home).run()        # until the connection ends
        ```
    """

    def __init__(
        self,
        app: App,
        channel: Channel,
        home: Home,
        *,
        state: Any = None,
        check: Callable[[], None] = lambda: None,
        workers: Workers | None = None,
        limits: Limits | None = None,
        pair: Pair | None = None,
        on_welcome: Callable[[], None] | None = None,
        on_claimed: Callable[[AgentInfo], None] | None = None,
    ) -> None:
        self._app = app
        self._channel = channel
        self.home = home
        self.state = state
        self._check = check
        self._pair = pair
        self._on_welcome = on_welcome
        self._on_claimed = on_claimed
        self.workers: Workers = workers if workers is not None else app.workers
        self._peer = Peer()
        self._waiting: deque[Request] | None = deque()
        self._failure: HandshakeFailure | None = None
        self._calls: dict[str, RunningCall] = {}
        self._handlers: set[RunningCall] = set()
        self._settled = anyio.Event()
        self._ended = anyio.Event()
        self._reads: set[anyio.CancelScope] = set()
        self._limits = limits if limits is not None else app.limits
        self._subscriptions = Subscriptions(self, self._limits.closing)
        self._receiving = False
        self._unsent = 0
        self._sent: anyio.Event | None = None
        self._changed: set[str] = set()
        self._telling = False
        self.session_id: str | None = None
        """The gateway's id for this session, once welcomed."""
        self.resume_token: str | None = None
        """What the session can be resumed with; the newest one."""
        self.claim_code: str | None = None
        """The code a person gives their agent, until the session is claimed."""
        self.resumed: bool = False
        """Whether the gateway has resumed the session."""
        self.agent: AgentInfo = PENDING_AGENT
        """Who claimed the session; the caller of one call may be another (§11)."""
        self.capabilities: Capabilities = Capabilities()
        """What the agent can do, as the gateway said last."""
        self.extended: bool = False
        """Whether the gateway is one of ours and takes what §11 adds."""
        self.closed: Closed | None = None
        """How the connection ended, once it has."""

    # Its life

    async def run(self) -> None:
        """Say hello and serve until the connection ends. The channel is closed when this returns.

        Raises:
            HandshakeFailure: The gateway did not welcome the app in a way it can serve under; nothing was run.
        """
        call_loop = loop_caller()
        stop_watching = self._app.watch(lambda what: call_loop(lambda: self._list_changed(what)))
        timer = self.home.call_at(anyio.current_time() + self._limits.handshake, self._handshake_is_late)
        if isinstance(self._channel, Handing):
            self._channel.hand_to(self._take, self._end_calls)
        try:
            await self._send(self._greet(timer.cancel).text)
            while self._failure is None:
                await self._receive(await self._channel.receive())
        except Closed as closed:
            self.closed = closed
            logger.debug("The connection of %s ended: %s", self._app.id, closed.reason)
        finally:
            timer.cancel()
            stop_watching()
            await self._end()
        if self._failure is not None:
            raise self._failure

    async def _end(self) -> None:
        # The calls first: a handler that waits for an answer is cancelled, and does not take the close for a refusal.
        self._end_calls()
        self._peer.close(TransportClosed("The connection to the gateway is closed"))
        for scope in self._reads:
            scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._channel.aclose()
        await self._subscriptions.aclose()
        self._ended.set()

    def _end_calls(self) -> None:
        for call in list(self._calls.values()):
            call.end(None)

    async def aclose(self) -> None:
        """Close the connection; `run` returns."""
        await self._channel.aclose()

    async def settled(self) -> None:
        """Wait until the connection has ended, subscriptions are cleaned up and every handler has returned.

        Those that run in threads are included.
        """
        await self._ended.wait()
        await self._subscriptions.settled()
        while self._handlers:
            self._settled = anyio.Event()
            await self._settled.wait()
        await self.workers.idle()

    def _hello_params(self) -> dict[str, Any]:
        app = self._app
        about: dict[str, Any] = {"id": app.id, "name": app.name, "origin": app.origin or "unknown"}
        if app.description:
            about["description"] = app.description
        about["version"] = app.version
        if app.icon_url is not None:
            about["iconUrl"] = app.icon_url
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "app": about,
            "actions": [action.to_wire() for action in app.actions.values()],
            "resources": [resource.to_wire() for resource in app.resources.values()],
            "capabilities": ALL_CAPABILITIES.to_wire(),
            "extensions": {EXTENSION: 1},
        }

    def _greet(self, cancel_timer: Callable[[], None]) -> Call:
        """The first request: to resume the session there is a pair for, else a hello."""
        params = self._hello_params()
        if self._pair is not None:
            params |= {"sessionId": self._pair.session_id, "resumeToken": self._pair.resume_token}
        call = self._peer.request(HELLO if self._pair is None else RESUME, params)
        call.on_settled = lambda: self._greeted(call, cancel_timer)
        return call

    def _greeted(self, call: Call, cancel_timer: Callable[[], None]) -> None:
        try:
            welcome = call.result()
        except TransportClosed:
            return
        except ProtocolMismatch as error:
            self._fail(f"the gateway speaks another major version of the protocol: {error.message}")
            return
        except TesseronError as error:
            if self._pair is None:
                self._fail(f"the gateway refused the hello: {error.message} ({error.code})")
                return
            # It may be another gateway than the one that knows the session: a hello on the same connection.
            logger.info("The gateway does not resume the session of %s: %s", self._app.id, error.message)
            self._pair = None
            self.home.start(self.send_text, self._greet(cancel_timer).text, name="hello")
            return
        cancel_timer()
        self._welcomed(welcome)

    def _handshake_is_late(self) -> None:
        self._fail(f"the gateway sent no welcome within {self._limits.handshake:g} s")

    def _fail(self, reason: str) -> None:
        if self._failure is None:
            self._failure = HandshakeFailure(reason)
            self._waiting = None
            self.home.start(self._channel.aclose, name="close after a failed handshake")

    def _welcomed(self, welcome: Any) -> None:
        if not isinstance(welcome, dict) or not isinstance(welcome.get("sessionId"), str):
            return self._fail("the gateway's welcome is unreadable: it has no sessionId")
        version = welcome.get("protocolVersion")
        if not same_major(version):
            return self._fail(f"the gateway speaks version {version!r} of the protocol, this app {PROTOCOL_VERSION}")
        if self._pair is not None and welcome["sessionId"] != self._pair.session_id:
            return self._fail("the gateway resumed another session than the app's")
        self.session_id = welcome["sessionId"]
        token, code = welcome.get("resumeToken"), welcome.get("claimCode")
        self.resume_token = token if isinstance(token, str) else None
        self.resumed = self._pair is not None
        self.claim_code = code if isinstance(code, str) and not self.resumed else None
        self.capabilities = Capabilities.from_wire(welcome.get("capabilities"))
        self.agent = AgentInfo.from_wire(welcome.get("agent")) or PENDING_AGENT
        if self._pair is not None and self.agent == PENDING_AGENT:
            self.agent = self._pair.agent
        extensions = welcome.get("extensions")
        self.extended = isinstance(extensions, dict) and bool(extensions.get(EXTENSION))
        waiting, self._waiting = self._waiting or deque(), None
        if self._on_welcome is not None:
            self._on_welcome()
        for request in waiting:
            self._serve(request)
        self._tell_changes_soon()
        return None

    @property
    def claimed(self) -> bool:
        """Whether an agent has the session: it was welcomed, and no claim code waits (Tesseron 1.2 §3)."""
        return self.session_id is not None and self.claim_code is None

    # What comes in

    async def _receive(self, text: str) -> None:
        self._receiving = True
        try:
            event = self._peer.receive(text)
            # A gateway that does not read its answers has no more questions read.
            while isinstance(event, Request) and self._unsent >= MAX_UNSENT_REPLIES:
                self._sent = anyio.Event()
                await self._sent.wait()
            if isinstance(event, Rejected):
                logger.warning("The gateway sent a frame that is none: %s", event.reason)
                await self._send(event.reply)
            else:
                self._came(event)
        finally:
            self._receiving = False

    def _take(self, text: str) -> bool:
        """`_receive` in the step of a gateway in the same process; `False` where it might have to wait."""
        if self._receiving or self._unsent >= MAX_UNSENT_REPLIES:
            return False
        event = self._peer.receive(text)
        if isinstance(event, Rejected):
            logger.warning("The gateway sent a frame that is none: %s", event.reason)
            self.home.start(self.send_text, event.reply, name="answer")
        else:
            self._came(event)
        return True

    def _came(self, event: Request | Notification | Settled | None) -> None:
        if isinstance(event, Request):
            if self._waiting is None:
                self._serve(event)
            elif len(self._waiting) < MAX_QUEUED_BEFORE_WELCOME:
                self._waiting.append(event)
            else:
                error = f"More than {MAX_QUEUED_BEFORE_WELCOME} requests came before the welcome"
                self.refuse_soon(event, InvalidRequest(error))
        elif isinstance(event, Notification):
            self._notified(event.method, event.params)

    def _serve(self, request: Request) -> None:
        try:
            match request.method:
                case "actions/invoke":
                    self._invoke(request)
                case "resources/read":
                    resource = self._resource_of(request)
                    self.home.start(self._read, request, resource, name=f"read of {resource.name}")
                case "resources/subscribe":
                    resource = self._resource_of(request)
                    if not resource.subscribable:
                        raise NotFound(f"Resource not subscribable: {resource.name}")
                    id = _string(request.params, "subscriptionId", request.method)
                    self._subscriptions.open(id, resource, request)
                case "resources/unsubscribe":
                    id = _string(request.params, "subscriptionId", request.method)
                    self._subscriptions.end(id)
                    self.answer_soon(request, None)
                case method:
                    raise MethodNotFound(f"Unknown method: {method}")
        except TesseronError as error:
            self.refuse_soon(request, error)

    def _invoke(self, request: Request) -> None:
        params = request.params
        name = _string(params, "name", INVOKE)
        id = _string(params, "invocationId", INVOKE)
        action = self._app.find_action(name)
        if action is None:
            raise NotFound(f"Unknown action: {name}")
        self._check()
        if id in self._calls:
            raise InvalidParams(f"{INVOKE}: the invocation {id!r} is running already")
        client, caller = params.get("client"), params.get("caller")
        route = client.get("route") if isinstance(client, dict) else None
        call = RunningCall(
            self,
            request,
            action,
            raw=params.get("input"),
            invocation_id=id,
            route=route if isinstance(route, str) else None,
            agent=AgentInfo.from_wire(caller.get("agent")) if isinstance(caller, dict) else None,
            capabilities=Capabilities.from_wire(caller.get("capabilities")) if isinstance(caller, dict) else None,
            revision=revision_of(caller) if self.extended else None,
        )
        request.params = None  # the call has what it needs of them, and may wait for long
        self._calls[id] = call
        self._handlers.add(call)
        call.task = self.home.start(call.run, name=name)

    def handler_ended(self, call: RunningCall) -> None:
        """Its handler has returned, or never began."""
        self._handlers.discard(call)
        if not self._handlers:
            self._settled.set()

    def forget_call(self, call: RunningCall) -> None:
        """The call is over; its id is free."""
        self._calls.pop(call.invocation_id, None)

    def _resource_of(self, request: Request) -> Resource:
        name = _string(request.params, "name", request.method)
        resource = self._app.find_resource(name)
        if resource is None:
            raise NotFound(f"Unknown resource: {name}")
        self._check()
        return resource

    async def _read(self, request: Request, resource: Resource) -> None:
        result: dict[str, Any] = {}
        error: TesseronError | None = None
        with anyio.move_on_after(DEFAULT_TIMEOUT) as scope:
            self._reads.add(scope)
            try:
                value = await self.run_author_function(resource.read_value)
                if isinstance(value, (bytes, bytearray, memoryview)) and self.extended:
                    result["encoding"] = "base64"
                result["value"] = with_base64(value)
            except anyio.get_cancelled_exc_class():
                if scope.cancel_called or not self.home.is_open:
                    raise
                error = ActionError(f"The read of {resource.name!r} cancelled itself")
            except BaseException as problem:  # an exit of the author's own is its error, and ends nothing else
                error = self.error_of(f"The read of {resource.name!r}", problem)
            finally:
                self._reads.discard(scope)
        if error is None and "value" not in result:
            error = ActionTimeout(f"The read of {resource.name!r} did not end within {DEFAULT_TIMEOUT:g} s")
        if error is None:
            error = await self.answer(request, result)
        if error is not None:
            await self.refuse(request, error)

    def _notified(self, method: str, params: Any) -> None:
        if not isinstance(params, dict):
            return
        if method == CANCEL:
            id = params.get("invocationId")
            if isinstance(id, str):
                self._cancel(id)
        elif method == CALLER:
            self._go_on(params)
        elif method == CLAIMED:
            agent = AgentInfo.from_wire(params.get("agent"))
            if agent is None:
                return
            self.agent = agent
            self.claim_code = None
            if isinstance(params.get("agentCapabilities"), dict):
                self.capabilities = Capabilities.from_wire(params["agentCapabilities"])
            if self._on_claimed is not None:
                self._on_claimed(agent)

    def _go_on(self, params: dict[str, Any]) -> None:
        id, caller = params.get("invocationId"), params.get("caller")
        call = self._calls.get(id) if isinstance(id, str) else None
        if call is None or not isinstance(caller, dict) or not self.extended:
            return
        agent, capabilities = AgentInfo.from_wire(caller.get("agent")), caller.get("capabilities")
        if agent is not None and isinstance(capabilities, dict):
            call.go_on(agent, Capabilities.from_wire(capabilities), revision_of(caller))

    def _cancel(self, id: str) -> None:
        error = ActionCancelled("The agent cancelled the call")
        if (call := self._calls.get(id)) is not None:
            call.end(error)
        if self._waiting:
            given_up = [request for request in self._waiting if _invocation_id(request) == id]
            self._waiting = deque(request for request in self._waiting if request not in given_up)
            for request in given_up:
                self.refuse_soon(request, error)

    # What goes out

    async def _send(self, text: str) -> None:
        await self._channel.send(text)

    async def _send_reply(self, text: str) -> None:
        self._unsent += 1
        try:
            await self._send(text)
        finally:
            self._unsent -= 1
            if self._sent is not None:
                self._sent.set()

    async def answer(self, request: Request, result: Any, action: AnyAction | None = None) -> TesseronError | None:
        """Answer a request. What cannot go out is returned as the error to answer with instead.

        Args:
            request: What is answered.
            result: With what.
            action: Whose result that is, for the log.
        """
        try:
            text = self._peer.answer(request, result)
            if text is not None:
                await self._send_reply(text)
        except ValueError as problem:
            if isinstance(problem, TooLarge):
                request.answered = False
            return self._unencodable("The output", problem, action)
        except Closed:
            pass
        return None

    def _unencodable(self, what: str, problem: ValueError, action: AnyAction | None = None) -> TesseronError:
        return unencodable(what, problem, masked=self._app.mask_errors, action=action)

    async def refuse(self, request: Request, error: TesseronError) -> None:
        """Answer a request with an error."""
        if error.data is not None:
            try:
                data = with_base64(error.data)
                encode(data)
            except ValueError as problem:
                unsent = self._unencodable("Its data", problem)
                error = TesseronError(error.code, f"{error.message} ({unsent.message})")
            else:
                error = TesseronError(error.code, error.message, data)
        text = self._peer.refuse(request, error)
        if text is None:
            return
        try:
            await self._send_reply(text)
        except TooLarge:
            request.answered = False
            await self.refuse(request, TesseronError(error.code, error.message[:500]))
        except Closed:
            pass

    def refuse_soon(self, request: Request, error: TesseronError) -> None:
        """`refuse`, from where nothing can wait."""
        if self.home.is_open:
            self.home.start(self.refuse, request, error, name="answer")

    def answer_soon(self, request: Request, result: Any) -> None:
        """`answer`, from where nothing can wait."""
        if self.home.is_open:
            self.home.start(self.answer, request, result, name="answer")

    def notification_text(self, method: str, params: Any) -> str:
        """The text of a notification; from any thread.

        Raises:
            ValueError: `params` cannot be encoded, or is too large.
        """
        text = self._peer.notification(method, params)
        check_size(text, self._channel.limit)
        return text

    async def send_text(self, text: str) -> None:
        """Send a notification's text; one to a closed connection is dropped."""
        try:
            await self._send(text)
        except Closed:
            pass

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification; one to a closed connection is dropped.

        Raises:
            ValueError: `params` cannot be encoded, or is too large.
        """
        await self.send_text(self._peer.notification(method, params))

    def notify_soon(self, method: str, params: Any) -> None:
        """`notify`, from where nothing can wait."""
        if self.home.is_open:
            self.home.start(self.notify, method, params, name=method)

    def request(
        self, method: str, params: dict[str, Any], *, on_abandon: Callable[[int], None] | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Send a request and wait for its result, which may take long; the params are not kept for it.

        Args:
            method: The method.
            params: Its params.
            on_abandon: Told the request's id when the waiting task is cancelled.

        Raises:
            TesseronError: The gateway answered with an error, or the connection closed.
        """
        try:
            call = self._peer.request(method, params)
        except ValueError as problem:
            raise self._unencodable(f"The params of {method}", problem) from problem
        return self._reply(call, on_abandon)

    async def _reply(self, call: Call, on_abandon: Callable[[int], None] | None) -> Any:
        done = Bell()
        call.on_settled = done.ring
        try:
            await self._send(call.take_text())
            while not call.settled:
                await done.wait()
        except TooLarge as problem:
            self._peer.forget(call)
            raise self._unencodable(f"The params of {call.method}", problem) from problem
        except Closed as closed:
            self._peer.forget(call)
            raise TransportClosed("The connection to the gateway is closed") from closed
        except BaseException:
            self._peer.forget(call)
            if on_abandon is not None and not call.settled:
                on_abandon(call.id)
            raise
        return call.result()

    def _list_changed(self, what: str) -> None:
        self._changed.add(what)
        self._tell_changes_soon()
        if what == "resources" and self.home.is_open:
            self._subscriptions.end_removed(self._app.resources)

    def _tell_changes_soon(self) -> None:
        # What changes between the hello and the welcome is told after the welcome.
        if self._changed and self.session_id is not None and not self._telling and self.home.is_open:
            self._telling = True
            self.home.start(self._tell_changes, name="list changes")

    async def _tell_changes(self) -> None:
        # A burst of changes goes out once: whatever is changed before the loop comes round is in the same list.
        await anyio.lowlevel.checkpoint()
        self._telling = False
        changed, self._changed = self._changed, set()
        if "actions" in changed:
            actions = [action.to_wire() for action in self._app.actions.values()]
            await self.notify(ACTIONS_CHANGED, {"actions": actions})
        if "resources" in changed:
            resources = [resource.to_wire() for resource in self._app.resources.values()]
            await self.notify(RESOURCES_CHANGED, {"resources": resources})

    # What the author gave

    async def run_author_function(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the author's: an `async def` here, a `def` in a worker thread."""
        if is_async(fn):
            value = fn(*args)
        else:
            value = await self.workers.run(lambda _: fn(*args), name=getattr(fn, "__qualname__", repr(fn)))
        return await value if inspect.isawaitable(value) else value

    def error_of(self, what: str, problem: BaseException) -> TesseronError:
        """What a failure of the author's function is on the wire; the log has all of it."""
        return error_of(what, problem, masked=self._app.mask_errors)


def _invocation_id(request: Request) -> Any:
    return request.params.get("invocationId") if isinstance(request.params, dict) else None


def _string(params: Any, key: str, method: str) -> str:
    if not isinstance(params, dict):
        raise InvalidParams(f"{method}: params are missing, or not an object")
    value = params.get(key)
    if not isinstance(value, str):
        raise InvalidParams(f"{method}: {key!r} is missing, or not a string")
    return value
