"""The gateway's end of one connection to an app: hello, calls, and the questions they ask (Tesseron 1.2 §3 to §7).

A `ConnectedApp` is state around a `Peer`: a call is an `Invocation`, not a task. Its two tasks read and write the
channel. A malformed frame, a flood or a giant frame costs at most this connection.
"""

from __future__ import annotations

import base64
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias

import anyio

from ..bell import Bell
from ..bindings.channel import Channel, Closed, Handing, Immediate, TooLarge, Unsure, check_size
from ..bindings.memory import MemoryChannel
from ..errors import (
    ElicitationNotAvailable,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotFound,
    ResumeFailed,
    SamplingDepthExceeded,
    SamplingNotAvailable,
    TesseronError,
    TransportClosed,
    Unauthorized,
)
from ..home import Home
from ..invocation import (
    Body,
    Done,
    Failed,
    Form,
    Invocation,
    Log,
    Outcome,
    Progress,
    Reply,
    Sample,
    Url,
)
from ..limits import Limits
from ..mcp.provider import Caller, Client, ClientCapabilities, ResourceOutput, ResourceUpdated, ToolOutput
from ..protocol.jsonrpc import Call, Notification, Peer, Rejected, Request, Settled
from ..protocol.messages import (
    ACTIONS_CHANGED,
    CALLER,
    CANCEL,
    CLAIMED,
    DEFAULT_TIMEOUT,
    HELLO,
    INVOKE,
    LOG,
    MAX_SAMPLING_DEPTH,
    READ,
    RESOURCES_CHANGED,
    RESUME,
    SUBSCRIBE,
    UNSUBSCRIBE,
    AgentInfo,
    Capabilities,
)
from ..schema.subset import check_subset
from .answers import APPROVE, approval, bare_answer, form_answer, sampled, with_titles
from .entries import ActionEntry, AppInfo, ResourceEntry, read_actions, read_resources
from .greeting import Greeting, Welcome, read_greeting
from .patience import Patience, late
from .running import OpenQuestion, RunningCall

logger = logging.getLogger("tesseron_py.gateway")

ConfirmForm: TypeAlias = Literal["approve", "empty"]

MAX_OUTBOX = 1024
"""Messages that may wait for an app that does not read: above, calls fail; at twice that, its connection is dropped."""
MAX_OUTBOX_BYTES = 64 * 1024 * 1024
"""Characters that may wait for an app that does not read; above, its connection is dropped."""
BASE64 = "base64"
"""The `encoding` of a value in the result of a read that was bytes."""
SPREAD = 0.004
"""Seconds that may be between the messages of an app in another process which it sends at once."""
SAMPLE_TOKENS = 1024
"""`maxTokens` of a sampling request that names none; MCP requires one."""


class Register(Protocol):
    """Who is told what becomes of an app: the gateway."""

    def welcome(self, app: ConnectedApp, greeting: Greeting) -> Welcome:
        """What to answer a hello or a resume.

        Raises:
            TesseronError: It is refused; a refused resume may be followed by a hello, anything else is the end.
        """
        ...

    def joined(self, app: ConnectedApp) -> None: ...
    def changed(self, app: ConnectedApp, what: Literal["actions", "resources"]) -> None: ...
    def logged(self, app: ConnectedApp, entry: Log) -> None: ...
    def left(self, app: ConnectedApp) -> None: ...


@dataclass(eq=False, slots=True)
class _Subscription:
    """That one client follows one resource; `id` is what the app knows it by."""

    id: str
    name: str


class ConnectedApp:
    """One app behind one channel.

    Args:
        channel: The connection, just opened.
        home: Whose tasks read and write it.
        register: Who is told of it.
        limits: The numbers.
        confirm_form: How a confirm is put to the person: a form with one required boolean, or the bare empty form.
    """

    def __init__(
        self,
        channel: Channel,
        home: Home,
        register: Register,
        *,
        limits: Limits,
        confirm_form: ConfirmForm = "approve",
    ) -> None:
        self._channel = channel
        self._home = home
        self._register = register
        self._limits = limits
        self._confirm_form = confirm_form
        self._peer = Peer()
        self._outbox: deque[str] = deque()
        self._outbox_bytes = 0
        self._outbox_bell = Bell()
        self._writing = False
        self._send_now = channel.send_now if isinstance(channel, Immediate) else None
        self._calls: dict[str, RunningCall] = {}
        self._subscriptions: dict[tuple[Client, str], _Subscription] = {}
        self._subscribers: dict[str, tuple[Client, str]] = {}
        self._ids = itertools.count(1)
        self._closing = False
        self.welcome: Welcome | None = None
        """What the app was answered: its session, once it has one."""
        self.info: AppInfo | None = None
        """Who the app is, once it has said hello."""
        self.principal: str | None = None
        """Whose clients may call it; `None` until it is claimed."""
        self.refusal: TesseronError | None = None
        self._warned = False
        """Why its hello was refused."""
        self.greeted: anyio.Event = anyio.Event()
        """Set once the hello is answered, whatever the answer, or the connection has ended before."""
        self.ended: anyio.Event = anyio.Event()
        """Set once the connection has ended."""
        self.actions: Mapping[str, ActionEntry] = {}
        self.resources: Mapping[str, ResourceEntry] = {}
        self.extended: bool = False
        """Whether the app is one of ours and takes what §11 adds."""

    @property
    def is_live(self) -> bool:
        """Whether it has said hello and its connection stands."""
        return self.info is not None and not self._closing

    def has_answer(self) -> bool:
        """Whether the app has shown that the answer to its hello came; where answers do not get lost, it has."""
        return not isinstance(self._channel, Unsure) or self._channel.used

    # Its life

    async def run(self) -> None:
        """Serve the connection until it ends; never raises for what the app does."""
        deadline = self._home.call_at(anyio.current_time() + self._limits.handshake, self._hello_is_late)
        self._home.start(self._write, name="writer to an app")
        reason = "the connection ended"
        if isinstance(self._channel, Handing):
            self._channel.hand_to(self._take, lambda: None)
        try:
            while True:
                self._receive(await self._channel.receive())
        except Closed as closed:
            reason = closed.reason
        finally:
            deadline.cancel()
            self._end(reason)
            with anyio.CancelScope(shield=True):
                await self._channel.aclose()

    def _hello_is_late(self) -> None:
        if self.info is None:
            logger.warning("An app said no hello within %g s; its connection is closed", self._limits.handshake)
            self.close()

    def close(self) -> None:
        """Close the connection; what waits to be sent goes out before."""
        self._closing = True
        self._outbox_bell.ring()

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.info.name if self.info is not None else "the app"

    def _end(self, reason: str) -> None:
        if self.ended.is_set():
            return
        self._closing = True
        self._outbox_bell.ring()
        self.ended.set()
        name = self.name
        if self._calls:
            calls = "1 call" if len(self._calls) == 1 else f"{len(self._calls)} calls"
            logger.warning("The connection to %s ended with %s under way: %s", name, calls, reason)
        else:
            logger.info("The connection to %s ended: %s", name, reason)
        for call in list(self._calls.values()):
            call.invocation.lose(f"The connection to {name} ended while it ran the action ({reason})")
        self._peer.close(TransportClosed(f"The connection to {name} is closed"))
        self._calls.clear()
        self._subscriptions.clear()
        self._subscribers.clear()
        if self.info is not None:
            self._register.left(self)
        self.greeted.set()

    async def _write(self) -> None:
        try:
            while True:
                while self._outbox:
                    text = self._outbox.popleft()
                    self._outbox_bytes -= len(text)
                    self._writing = True
                    await self._channel.send(text)
                    self._writing = False
                if self._closing:
                    return
                await self._outbox_bell.wait()
        except Closed:
            pass
        finally:
            with anyio.CancelScope(shield=True):
                await self._channel.aclose()

    def _send(self, text: str | None) -> None:
        if text is None or self._closing:
            return
        # Waking a task for each message costs more than handing it over.
        if self._send_now is not None and not self._outbox and not self._writing and self._send_now(text):
            return
        if len(self._outbox) >= 2 * MAX_OUTBOX or self._outbox_bytes + len(text) > MAX_OUTBOX_BYTES:
            waiting = len(self._outbox)
            logger.warning("%d messages wait for %s, which does not read; it is dropped", waiting, self.name)
            self._outbox.clear()
            self._end("it does not read")
            self._home.start(self._channel.aclose, name="drop of an app")
            return
        self._outbox.append(text)
        self._outbox_bytes += len(text)
        self._outbox_bell.ring()

    # What comes in

    def _receive(self, text: str) -> None:
        match self._peer.receive(text):
            case Request() as request:
                try:
                    self._requested(request)
                except TesseronError as error:
                    self._refuse(request, error)
            case Notification(method=method, params=params):
                if isinstance(params, dict) and self.info is not None:
                    self._notified(method, params)
            case Rejected(reply=reply, reason=reason):
                logger.warning("An app sent a frame that is none: %s", reason)
                self._send(reply)
            case Settled() | None:
                pass

    def _take(self, text: str) -> bool:
        """`_receive` in the step of an app in the same process."""
        self._receive(text)
        return True

    def _requested(self, request: Request) -> None:
        method = request.method
        if method in (HELLO, RESUME):
            if self.info is not None:
                raise InvalidRequest(f"{method} came a second time on this connection")
            return self._greet(request)
        if self.info is None:
            raise InvalidRequest(f"{method} came before {HELLO}")
        if self.principal is None:
            if not self._warned:  # once: an app may go on asking for as long as it likes
                self._warned = True
                logger.warning("%s asks for %s before an agent has claimed it; it is refused", self.name, method)
            raise Unauthorized(f"{method}: no agent has claimed the app yet")
        match method:
            case "elicitation/request":
                return self._elicit(request)
            case "sampling/request":
                return self._sample(request)
            case _:
                raise MethodNotFound(f"Unknown method: {method}")

    def _greet(self, request: Request) -> None:
        try:
            greeting = read_greeting(request.method, request.params)
            welcome = self._register.welcome(self, greeting)
        except ResumeFailed:
            raise  # a hello on the same connection may follow
        except TesseronError as error:
            logger.warning("The %s of an app was refused: %s", request.method, error.message)
            self.refusal = error
            self._refuse(request, error)
            self.greeted.set()
            return self.close()
        self.info, self.actions, self.resources = greeting.info, greeting.actions, greeting.resources
        self.extended, self.welcome, self.principal = greeting.extended, welcome, welcome.principal
        self._send(self._peer.answer(request, welcome.to_wire(extended=greeting.extended)))
        self._register.joined(self)
        self.greeted.set()
        return None

    def claim(self, principal: str, agent: AgentInfo, capabilities: Capabilities) -> None:
        """An agent has the app from now on; the app is told."""
        self.principal = principal
        params = {
            "agent": agent.to_wire(),
            "claimedAt": int(time.time() * 1000),
            "agentCapabilities": capabilities.to_wire(),
        }
        self._send(self._peer.notification(CLAIMED, params))

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        assert self.info is not None
        if self.principal is None and method not in (LOG, ACTIONS_CHANGED, RESOURCES_CHANGED):
            return
        match method:
            case "actions/progress":
                if (call := self._call_of(params)) is not None:
                    call.invocation.note(
                        Progress(_percent(params.get("percent")), _message(params.get("message")), params.get("data"))
                    )
            case "log":
                if isinstance(params.get("message"), str):
                    self._logged(params)
            case "actions/list_changed":
                if isinstance(params.get("actions"), list):
                    self.actions = read_actions(params["actions"], self.info)
                    self._register.changed(self, "actions")
            case "resources/list_changed":
                if isinstance(params.get("resources"), list):
                    self.resources = read_resources(params["resources"], self.info)
                    self._forget_removed()
                    self._register.changed(self, "resources")
            case "resources/updated":
                id = params.get("subscriptionId")
                if isinstance(id, str) and (subscriber := self._subscribers.get(id)) is not None:
                    client, uri = subscriber
                    client.on_change(ResourceUpdated(uri))
            case "elicitation/withdraw":
                if (call := self._call_of(params)) is not None:
                    call.withdraw(params.get("requestId"))

    def _logged(self, params: dict[str, Any]) -> None:
        level = params.get("level")
        known = level if level in ("debug", "info", "warn", "error") else "info"
        entry = Log(known, params["message"], params.get("meta"))
        if (call := self._call_of(params)) is not None:
            call.invocation.note(entry)
        elif params.get("invocationId") is None:
            self._register.logged(self, entry)

    def _call_of(self, params: dict[str, Any]) -> RunningCall | None:
        id = params.get("invocationId")
        return self._calls.get(id) if isinstance(id, str) else None

    # What an action asks

    def _asking_call(self, request: Request) -> RunningCall:
        if not isinstance(request.params, dict):
            raise InvalidParams(f"{request.method}: params are missing, or not an object")
        call = self._call_of(request.params)
        if call is None:
            raise InvalidParams(f"{request.method}: no call of that invocationId is running")
        return call

    def _elicit(self, request: Request) -> None:
        call = self._asking_call(request)
        params = request.params
        question, key = params.get("question"), params.get("key")
        if not isinstance(question, str):
            raise InvalidParams(f"{request.method}: 'question' is missing, or not a string")
        check_subset(params.get("schema"), lists=self.extended)
        body: Body
        to_wire: Callable[[Reply], dict[str, Any]]
        if params.get("kind") == "url":
            if not isinstance(params.get("url"), str):
                raise InvalidParams(f"{request.method}: 'url' is missing, or not a string")
            if not call.caller.capabilities.url:
                raise ElicitationNotAvailable("The agent's client cannot send the person to a URL")
            body, to_wire = Url(question, params["url"]), bare_answer
        else:
            if not call.caller.capabilities.form:
                raise ElicitationNotAvailable("The agent's client cannot ask the person")
            schema = params["schema"]
            if schema.get("properties"):
                body, to_wire = Form(question, with_titles(schema)), form_answer
            elif self._confirm_form == "approve":
                body, to_wire = Form(question, APPROVE), approval
            else:
                body, to_wire = Form(question, schema), bare_answer

        call.ask(request, body, key if isinstance(key, str) else None, to_wire)

    def _sample(self, request: Request) -> None:
        call = self._asking_call(request)
        params = request.params
        prompt, tokens = params.get("prompt"), params.get("maxTokens")
        if not isinstance(prompt, str):
            raise InvalidParams(f"{request.method}: 'prompt' is missing, or not a string")
        if not call.caller.capabilities.sampling:
            raise SamplingNotAvailable("The agent's client cannot sample")
        if call.sampling >= MAX_SAMPLING_DEPTH:
            raise SamplingDepthExceeded(
                f"The call has {call.sampling} sampling requests open, which is as many as it may have",
                {"depth": call.sampling + 1, "max": MAX_SAMPLING_DEPTH},
            )
        message = {"role": "user", "content": {"type": "text", "text": prompt}}
        body = Sample({"messages": [message], "maxTokens": tokens if type(tokens) is int else SAMPLE_TOKENS})
        call.ask(request, body, None, sampled)

    def replied(self, question: OpenQuestion, reply: Reply) -> None:
        """A question of one of its calls has its reply."""
        call, request = question.call, question.request
        self._tell_caller(call)
        try:
            self._answer(request, question.to_wire(reply))
        except TesseronError as error:
            self._refuse(request, error)
        except Exception as problem:  # the app waits for it, so it must hear something
            logger.warning("An answer cannot be sent to %s: %s", self.name, problem)
            self._refuse(request, InternalError(f"The answer cannot be sent to the app: {problem}"))

    def _answer(self, request: Request, result: Any) -> None:
        text = self._peer.answer(request, result)
        if text is not None:
            try:
                check_size(text, self._channel.limit)
            except TooLarge as problem:
                request.answered = False
                return self._refuse(request, InternalError(f"The answer cannot be sent to the app: {problem}"))
        return self._send(text)

    def _refuse(self, request: Request, error: TesseronError) -> None:
        self._send(self._peer.refuse(request, error))

    # What a gateway asks of the app

    def invoke(
        self, action: str, arguments: Mapping[str, Any], caller: Caller, *, route: str | None = None
    ) -> Invocation:
        """Start a call of an action; its `Done` value is a `ToolOutput`."""
        id = f"i-{next(self._ids)}"
        entry = self.actions.get(action)
        call = RunningCall(self, id, action, caller, entry.timeout if entry is not None else DEFAULT_TIMEOUT)
        invocation = call.invocation = self._invocation(on_cancel=call.cancel, on_caller=call.go_on)
        params: dict[str, Any] = {"name": action, "input": arguments, "invocationId": id}
        if self.extended:
            params["caller"] = _caller_to_wire(caller)
        # Known before it is sent: an app in the same process may ask in that very step.
        self._calls[id] = call
        invocation.then(call.ended)
        self._request(INVOKE, params, invocation, _tool_output)
        return invocation

    def _expect(self, invocation: Invocation, what: str) -> None:
        """Have an invocation fail that the app leaves unanswered."""
        patience = Patience(self._home, DEFAULT_TIMEOUT, lambda: late(invocation, self.name, what, DEFAULT_TIMEOUT))
        invocation.then(lambda _: patience.stop())

    # What its calls ask of it

    @property
    def home(self) -> Home:
        """Whose clock its calls have."""
        return self._home

    def forget(self, call: RunningCall) -> None:
        """A call is over."""
        self._calls.pop(call.id, None)

    def cancel(self, call: RunningCall) -> None:
        """A call is given up; the app is told."""
        self.forget(call)
        self._send(self._peer.notification(CANCEL, {"invocationId": call.id}))

    def goes_on(self, call: RunningCall) -> None:
        """A call goes on for another caller; an app of ours hears what that one's client can do."""
        # An app that does not read hears of the newest with its next answer, however many there were.
        if len(self._outbox) < MAX_OUTBOX:
            self._tell_caller(call)

    def _tell_caller(self, call: RunningCall) -> None:
        told, call.told = call.told, call.caller
        if told is call.caller or not self.extended:
            return
        if _is_like(call.caller, told):
            return
        try:
            params = {"invocationId": call.id, "caller": _caller_to_wire(call.caller)}
            text = self._peer.notification(CALLER, params)
            check_size(text, self._channel.limit)
        except ValueError as problem:
            logger.warning("%s cannot be told for whom a call goes on: %s", self.name, problem)
            return
        self._send(text)

    def read(self, name: str, uri: str) -> Invocation:
        """Read a resource; its `Done` value is a `ResourceOutput`."""

        def output(result: Any) -> ResourceOutput:
            if not isinstance(result, dict) or "value" not in result:
                raise InternalError("The app's answer to a read has no value")
            value = result["value"]
            # What was bytes, an app of ours marks (§11), since JSON has none.
            return ResourceOutput(uri, _bytes(value) if self.extended and result.get("encoding") == BASE64 else value)

        invocation = self._invocation()
        if self._request(READ, {"name": name}, invocation, output) is not None:
            self._expect(invocation, f"the read of {name}")
        return invocation

    def subscribe(self, name: str, uri: str, client: Client) -> Invocation:
        """Follow a resource for a client; a second subscription of one client to one URI changes nothing."""
        invocation = self._invocation()
        if self.follows(uri, client):
            invocation.finish(Done(None))
            return invocation
        id = f"sub-{next(self._ids)}"
        subscription = self._subscriptions[client, uri] = _Subscription(id, name)
        self._subscribers[id] = (client, uri)

        def ended(outcome: Outcome) -> None:
            # By now another may have taken its place, when the resource was removed and came back.
            if isinstance(outcome, Failed) and self._subscriptions.get((client, uri)) is subscription:
                self._forget(client, uri)

        invocation.then(ended)
        if self._request(SUBSCRIBE, {"name": name, "subscriptionId": id}, invocation, lambda _: None) is not None:
            self._expect(invocation, f"the subscription to {name}")
        return invocation

    def follows(self, uri: str, client: Client) -> bool:
        """Whether the client follows the resource here, under that very URI."""
        return (client, uri) in self._subscriptions

    def unsubscribe(self, uri: str, client: Client) -> Invocation:
        """Follow it no longer; an unknown subscription is ignored."""
        invocation = self._invocation()
        id = self._forget(client, uri)
        if id is None:
            invocation.finish(Done(None))
        elif self._request(UNSUBSCRIBE, {"subscriptionId": id}, invocation, lambda _: None) is not None:
            self._expect(invocation, f"the end of a subscription to {uri}")
        return invocation

    def unsubscribe_all(self, client: Client) -> None:
        """A client is gone: its subscriptions end."""
        for who, uri in [key for key in self._subscriptions if key[0] is client]:
            self.unsubscribe(uri, who)

    def _forget(self, client: Client, uri: str) -> str | None:
        subscription = self._subscriptions.pop((client, uri), None)
        if subscription is None:
            return None
        self._subscribers.pop(subscription.id, None)
        return subscription.id

    def _forget_removed(self) -> None:
        """Removing a resource ended its subscriptions at the app, which says so with the list alone."""
        for (client, uri), subscription in list(self._subscriptions.items()):
            if subscription.name not in self.resources:
                self._forget(client, uri)

    def _invocation(
        self, *, on_cancel: Callable[[], None] | None = None, on_caller: Callable[[Caller], None] | None = None
    ) -> Invocation:
        return Invocation(
            self._home,
            on_cancel=on_cancel,
            on_caller=on_caller,
            deadline=self._limits.question,
            max_questions=self._limits.questions,
            spread=0.0 if isinstance(self._channel, MemoryChannel) else SPREAD,
        )

    def _request(
        self, method: str, params: dict[str, Any], invocation: Invocation, output: Callable[[Any], Any]
    ) -> Call | None:
        """Send a request whose answer ends `invocation`; `None` when it could not be sent, which ended it."""
        try:
            call = self._peer.request(method, params)
        except ValueError as problem:
            invocation.finish(Failed(InvalidParams(f"The arguments cannot go on the wire: {problem}")))
            return None

        sent = _Sent(self._peer, call, invocation, output)
        call.on_settled = sent.settled
        if call.settled:  # the connection was closed already
            sent.settled()
            return None
        try:
            check_size(call.text, self._channel.limit)
        except TooLarge as problem:
            self._peer.forget(call)
            invocation.finish(Failed(InvalidParams(f"The arguments cannot be sent to the app: {problem}")))
            return None
        if len(self._outbox) >= MAX_OUTBOX:
            self._peer.forget(call)
            invocation.finish(
                Failed(InternalError(f"{len(self._outbox)} messages wait for the app, which does not read"))
            )
            return None
        invocation.then(sent.over)
        self._send(call.take_text())
        return call

    def find_action(self, name: str) -> ActionEntry:
        """The action of that name.

        Raises:
            NotFound: The app has none.
        """
        entry = self.actions.get(name)
        if entry is None:
            raise NotFound(f"Unknown action: {name}")
        return entry


class _Sent:
    """A request whose answer ends an invocation, and which nobody waits for once that is over."""

    __slots__ = ("_call", "_invocation", "_output", "_peer")

    def __init__(self, peer: Peer, call: Call, invocation: Invocation, output: Callable[[Any], Any]) -> None:
        self._peer = peer
        self._call = call
        self._invocation = invocation
        self._output = output

    def settled(self) -> None:
        try:
            self._invocation.finish(Done(self._output(self._call.result())))
        except TesseronError as error:
            self._invocation.finish(Failed(error))

    def over(self, outcome: Outcome) -> None:
        self._peer.forget(self._call)


def _caller_to_wire(caller: Caller) -> dict[str, Any]:
    """What a call's client is and can do, for a host of ours (§11)."""
    wire: dict[str, Any] = {
        "agent": AgentInfo(caller.client.name, caller.client.name).to_wire(),
        "capabilities": _capabilities_to_wire(caller.capabilities),
        "era": caller.client.era,
    }
    if caller.client.revision:
        wire["revision"] = caller.client.revision
    return wire


@cache
def _capabilities_to_wire(can: ClientCapabilities) -> Mapping[str, Any]:
    return Capabilities(
        streaming=can.progress,
        subscriptions=can.subscriptions,
        sampling=can.sampling,
        elicitation=can.form,
        elicitation_url=can.url,
    ).to_wire()


def _is_like(caller: Caller, other: Caller) -> bool:
    """Whether a host hears the same of both."""
    return (
        _capabilities_to_wire(caller.capabilities) == _capabilities_to_wire(other.capabilities)
        and caller.client.name == other.client.name
        and caller.client.era == other.client.era
        and caller.client.revision == other.client.revision
    )


def _tool_output(result: Any) -> ToolOutput:
    if not isinstance(result, dict) or "output" not in result:
        raise InternalError("The app's answer to the call has no output")
    content = result.get("content")
    blocks = content if isinstance(content, list) and all(isinstance(block, dict) for block in content) else None
    return ToolOutput(result["output"], blocks or None)


def _bytes(value: object) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else b"?", validate=True)
    except ValueError as error:
        raise InternalError("The app's answer to a read says that it is base64, and it is not") from error


def _percent(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _message(value: object) -> str | None:
    return value if isinstance(value, str) else None
