"""Clients of the modern era that do everything wrong, an app that keeps count, and what must hold whatever they do.

A history is a list of steps; a step is time that passes, or legs that are sent at once. A leg is drawn without knowing
what will be there by then ("the newest state of the third call"), so that any history can be played. The `Ledger` is
the truth: the handlers write down what they were told and when they had their effect, and the clients what they said.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import anyio
from pydantic import BaseModel

from tesseron_py import Accepted, Context, Tesseron, TesseronError
from tesseron_py.direct import DirectServer
from tesseron_py.invocation import QUESTION_DEADLINE
from tesseron_py.mcp.http import HttpEndpoint
from tesseron_py.mcp.limits import EndpointLimits
from tesseron_py.mcp.messages import INVALID_PARAMS, MISSING_CAPABILITY, MODERN_VERSION
from tesseron_py.mcp.parked import GONE
from tesseron_py.mcp.repeats import GRACE, IDEMPOTENCY_KEY

LIMITS: Final = EndpointLimits(parked=4)
PATIENCE: Final = 300.0
"""Seconds for one leg: no handler here takes as long, unless it waits for an answer, and then the leg does not."""
WHILE: Final = 90.0
"""Seconds after which a fleeting question is withdrawn."""
AT_LAST: Final = 2 * LIMITS.parked_for + LIMITS.kept + GRACE
"""Seconds after which nothing may be left of any call."""

# What is done

Way: TypeAlias = Literal["confirm", "fleeting", "elicit", "ask"]
Plan: TypeAlias = tuple[tuple[Way, ...], ...]
"""What a handler asks: rounds, each of questions that are asked at once."""

PLANS: Final[Sequence[Plan]] = (
    (("confirm",),),
    (("elicit",), ("confirm",)),
    (("confirm", "elicit"),),
    (("confirm",), ("confirm", "ask", "confirm")),
    (("fleeting",), ("elicit",), ("confirm",)),
    (("ask",),),
)
PAUSES: Final = (0, 1, 16)
"""Seconds that a handler works before and after each round; the longest makes the response a stream."""

DoorName: TypeAlias = Literal["main", "twin", "stranger", "elsewhere"]
DOORS: Final[Sequence[DoorName]] = ("main", "twin", "stranger", "elsewhere")

Kind: TypeAlias = Literal[
    "yes", "decline", "decline with a yes", "cancel", "not ticked", "wrong", "empty", "list", "text", "reject",
    "none", "string", "no action", "number for an action",
]  # fmt: skip
NOTHING: Final = frozenset({"none", "string", "no action", "number for an action"})
"""What is no answer at all, so that the question is asked again."""
WRONG: Final = frozenset({"not ticked", "wrong", "empty"})
"""Accepted with content that does not fit, which `ask` asks for again."""

Which: TypeAlias = Literal["every", "first", "last", "earlier", "another's", "unknown"]
Choice: TypeAlias = Literal["newest", "older", "left out", "changed", "cut", "foreign", "number"]
Change: TypeAlias = Literal["tag", "plan", "more", "tool"]


@dataclass(frozen=True)
class Answers:
    """Which questions a leg answers and how; of legs sent at once, each in the next of these ways."""

    which: Which
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class First:
    """A first leg, with no state; a keyed one is the same call each time."""

    tag: int
    plan: int
    pause: int
    keyed: bool = False
    door: int = 0
    ahead: bool = False
    able: bool = True
    streams: bool = True
    hangs_up: float | None = None
    times: int = 1


@dataclass(frozen=True)
class Later:
    """A leg of a call that has asked."""

    of: int
    state: Choice
    answers: tuple[Answers, ...]
    change: Change | None = None
    whole: Literal["object", "list", "string"] = "object"
    door: int = 0
    able: bool = True
    streams: bool = True
    hangs_up: float | None = None
    times: int = 1


@dataclass(frozen=True)
class Again:
    """A leg that was sent before, once more, as it was."""

    which: int
    times: int = 1


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    seconds: float


Leg: TypeAlias = First | Later | Again
Step: TypeAlias = Wait | tuple[Leg, ...]

# What is true


class Word(BaseModel):
    """What the person says, no two of them the same."""

    word: str


@dataclass
class Asked:
    """One question, whichever clients saw it."""

    way: Way
    round: int
    may_be_yes: bool = False
    is_no: bool = False
    words: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Call:
    """One run of a handler."""

    number: int
    tag: str
    whole: tuple[str, str, Plan, float]
    """Which tool it is of, and its arguments: tag, plan and pause."""
    began: float
    questions: dict[str, Asked]
    effects: int = 0
    may_be_no: bool = False
    works: bool = False
    """Whether it does something and waits for nobody."""
    ended: float | None = None


class Ledger:
    """What has happened, from both sides; what must never happen is noted in `wrongs`."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.wrongs: list[str] = []

    async def act(self, name: str, tag: str, plan: list[list[Way]], pause: float, ctx: Context) -> str:
        call = self._begin((name, tag, tuple(map(tuple, plan)), pause))
        try:
            for number, ways in enumerate(plan):
                await self._work(call, pause)
                await ctx.progress(50, f"round {number}")
                if not await self._ask(call, number, ways, ctx):
                    return f"{call.number}: refused"
            await self._work(call, pause)
            self._effect(call)
            await self._work(call, pause)
            return f"{call.number}: done"
        finally:
            call.ended = anyio.current_time()

    async def _work(self, call: Call, seconds: float) -> None:
        call.works = True
        try:
            await anyio.sleep(seconds)
        finally:
            call.works = False

    def _begin(self, whole: tuple[str, str, Plan, float]) -> Call:
        number, (_, tag, plan, _) = len(self.calls), whole
        questions = {
            f"{number}/{row}/{column}": Asked(way, row)
            for row, ways in enumerate(plan)
            for column, way in enumerate(ways)
        }
        call = Call(number, tag, whole, anyio.current_time(), questions)
        if "keyed" in tag:
            for other in self.calls:
                if other.whole == whole and (other.ended is None or other.ended + GRACE > call.began):
                    self.wrongs.append(f"call {number} repeats call {other.number}, and has the same key")
        self.calls.append(call)
        return call

    async def _ask(self, call: Call, round: int, ways: Sequence[Way], ctx: Context) -> bool:
        said: list[bool] = []

        async def one(way: Way, label: str) -> None:
            asked = anyio.current_time()
            said.append(await self._question(call, way, label, ctx))
            if anyio.current_time() >= asked + QUESTION_DEADLINE - 1:
                call.may_be_no = True  # nobody answered in time

        if len(ways) == 1:
            await one(ways[0], f"{call.number}/{round}/0")
        else:
            async with anyio.create_task_group() as group:
                for column, way in enumerate(ways):
                    group.start_soon(one, way, f"{call.number}/{round}/{column}")
        return all(said)

    async def _question(self, call: Call, way: Way, label: str, ctx: Context) -> bool:
        answer: Any = False
        try:
            match way:
                case "confirm":
                    return await ctx.confirm(label)
                case "fleeting":
                    with anyio.move_on_after(WHILE) as scope:
                        return await ctx.confirm(label)
                    if scope.cancelled_caught:
                        call.may_be_no = True
                    return False
                case "elicit":
                    answer = await ctx.elicit(label, Word)
                case "ask":
                    got = await ctx.ask(label, Word, attempts=2)
                    answer = got.value if isinstance(got, Accepted) else None
        except TesseronError:
            return False
        if answer is not None and answer.word not in call.questions[label].words:
            self.wrongs.append(f"{label} was told {answer.word!r}, which was said to something else")
        return answer is not None

    def _effect(self, call: Call) -> None:
        call.effects += 1
        if call.effects > 1:
            self.wrongs.append(f"call {call.number} had its effect {call.effects} times")
        for label, question in call.questions.items():
            if not question.may_be_yes:
                self.wrongs.append(f"call {call.number} had its effect, and nobody said yes to {label}")
            if question.is_no:
                self.wrongs.append(f"call {call.number} had its effect, and {label} was answered with no")

    def app(self) -> Tesseron:
        """The app whose every call is in this ledger; its two actions differ in name alone."""
        app = Tesseron("ledger")

        @app.action("act").timeout(3600)
        async def act(tag: str, plan: list[list[Way]], pause: float, ctx: Context) -> str:
            return await self.act("act", tag, plan, pause, ctx)

        @app.action("other").timeout(3600)
        async def other(tag: str, plan: list[list[Way]], pause: float, ctx: Context) -> str:
            return await self.act("other", tag, plan, pause, ctx)

        return app


# Who does it


@dataclass(frozen=True)
class State:
    """What a client was given with questions."""

    text: str
    door: DoorName
    request: Mapping[str, Any]
    call: Call
    keys: Mapping[str, str]
    round: int
    given: float

    def is_old(self, now: float) -> bool:
        """Whether it may have expired."""
        return now >= self.given + LIMITS.parked_for - 1


@dataclass(frozen=True)
class Sent:
    """One request, and what is expected of it."""

    door: DoorName
    params: Mapping[str, Any]
    first: bool
    state: State | None
    """Where it belongs to a call, by a state that is good but for its age."""
    refused: int | None
    lost: bool
    of: State | None
    """Its state, where that is good at this door or another."""
    said: Mapping[str, Kind]
    able: bool
    streams: bool
    hangs_up: float | None


@dataclass(frozen=True)
class Response:
    """What came back."""

    status: int
    message: Mapping[str, Any]


class Crowd:
    """All the clients: what they know, they know together."""

    def __init__(self, ledger: Ledger, doors: Mapping[DoorName, HttpEndpoint]) -> None:
        self.ledger = ledger
        self.doors = doors
        self.counts: Counter[str] = Counter()
        self._states: list[State] = []
        self._sent: list[Sent] = []
        self._labels: dict[str, str] = {}
        self._ids = itertools.count(1)
        self._words = itertools.count(1)
        self._firsts = 0
        self._unable: set[str] = set()
        self._results: dict[int, str] = {}

    # Playing

    async def play(self, steps: Sequence[Step], *, to_the_end: bool) -> None:
        for step in steps:
            if isinstance(step, Wait):
                await anyio.sleep(step.seconds)
            else:
                requests = [request for leg in step for request in self._requests(leg)]
                async with anyio.create_task_group() as group:
                    for request in requests:
                        group.start_soon(self._send, request)
                await anyio.sleep(0.01)
                assert not any(call.works for call in self.ledger.calls), "a handler works on, and its client hung up"
            for name, door in self.doors.items():
                assert len(door.modern.parked) <= LIMITS.parked, f"too many wait at {name}"
        if to_the_end:
            for call in list(self.ledger.calls):
                await self._finish(call)

    async def _finish(self, call: Call) -> None:
        """Whoever holds a state of the call says yes to everything that is still asked."""
        for _ in range(10):
            now = anyio.current_time()
            held = [number for number, state in enumerate(self._states) if state.call is call and not state.is_old(now)]
            if not held or call.ended is not None:
                return
            leg = Later(held[-1], "newest", (Answers("every", ("yes",)),))
            for request in self._requests(leg):
                await self._send(request)
            if call.number in self._results:
                return
        raise AssertionError(f"call {call.number} does not come to an end")

    def _requests(self, leg: Leg) -> list[Sent]:
        match leg:
            case First():
                return [self._first(leg, number) for number in range(leg.times)]
            case Later() if self._states:
                return [self._later(leg, number) for number in range(leg.times)]
            case Again() if self._sent:
                return [self._sent[leg.which % len(self._sent)]] * leg.times
        return []

    def _first(self, leg: First, number: int) -> Sent:
        door = DOORS[leg.door]
        tag = f"{door} {leg.tag}{' keyed' if leg.keyed else ''}"
        arguments = {"tag": tag, "plan": PLANS[leg.plan], "pause": PAUSES[leg.pause]}
        params: dict[str, Any] = {"name": "act", "arguments": arguments}
        if leg.keyed:
            params["_meta"] = {IDEMPOTENCY_KEY: "the key"}
        if leg.ahead:
            params["inputResponses"] = {key: self._answer(key, "yes") for key in [*self._labels, "approve", "0", "1"]}
        return Sent(door, params, True, None, None, False, None, {}, leg.able, leg.streams, leg.hangs_up)

    def _later(self, leg: Later, number: int) -> Sent:
        newest = self._states[leg.of % len(self._states)]
        states = [state for state in self._states if state.call is newest.call and state.door == newest.door]
        state = states[0] if leg.state == "older" else states[-1]
        params = dict(state.request)
        good, first = True, False
        match leg.state:
            case "left out":
                first = True
            case "newest" | "older":
                params["requestState"] = state.text
            case "number":
                params["requestState"], good = 7, False
            case _:
                params["requestState"], good = self._spoilt(leg.state, state, leg.of), False
        if leg.change is not None:
            params |= self._changed(leg.change, params)
            good = False
        keyed = first and "_meta" in params  # by another door its key would be another
        door = state.door if not leg.door or keyed else DOORS[(DOORS.index(state.door) + leg.door) % len(DOORS)]
        lost = False
        if door != state.door:
            lost = good and not first and {door, state.door} == {"main", "twin"}
            good = False
        said = self._said(leg, state, number)
        answers: Any = {key: self._answer(key, kind) for key, kind in said.items()}
        if leg.whole != "object":
            answers, good = [answers] if leg.whole == "list" else "accept", False
            lost = first = False
        params["inputResponses"] = answers
        refused = None if good or lost or first else INVALID_PARAMS
        if first:
            said = {}
        belongs = state if good and not first else None
        of = state if belongs or lost else None
        return Sent(door, params, first, belongs, refused, lost, of, said, leg.able, leg.streams, leg.hangs_up)

    def _spoilt(self, how: Choice, state: State, number: int) -> str:
        text = state.text
        if how == "cut":
            return text[: number % len(text)]
        if how == "foreign":
            others = [other.text for other in self._states if other.call.whole != state.call.whole]
            if others:
                return others[number % len(others)]
        place = number % len(text)
        return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]

    def _changed(self, change: Change, params: Mapping[str, Any]) -> dict[str, Any]:
        arguments = params["arguments"]
        match change:
            case "tag":
                return {"arguments": {**arguments, "tag": f"{arguments['tag']}, or not"}}
            case "plan":
                return {"arguments": {**arguments, "plan": []}}
            case "more":
                return {"arguments": {**arguments, "more": None}}
        return {"name": "other" if params["name"] == "act" else "act"}

    def _said(self, leg: Later, state: State, number: int) -> dict[str, Kind]:
        """What this leg answers, by key."""
        said: dict[str, Kind] = {}
        for answers in leg.answers:
            kind = answers.kinds[number % len(answers.kinds)]
            open = list(state.keys)
            match answers.which:
                case "every":
                    keys = open
                case "first":
                    keys = open[:1]
                case "last":
                    keys = open[-1:]
                case "earlier":
                    keys = [key for other in self._states if other.call is state.call for key in other.keys]
                case "another's":
                    keys = [key for other in self._states if other.call is not state.call for key in other.keys][-3:]
                case "unknown":
                    keys = ["nobody", ""]
            said |= dict.fromkeys(keys, kind)
        return said

    def _answer(self, key: str, kind: Kind) -> Any:
        label = self._labels.get(key)
        question = None if label is None else self._question(label)
        content: Mapping[str, Any] = {"approve": True}
        if question is not None and question.way in ("elicit", "ask"):
            word = f"word {next(self._words)}"
            content = {"word": word, "approve": True}
            if kind == "yes":
                question.words.add(word)
        match kind:
            case "yes":
                return {"action": "accept", "content": content}
            case "decline":
                return {"action": "decline"}
            case "decline with a yes":
                return {"action": "decline", "content": content}
            case "cancel":
                return {"action": "cancel"}
            case "not ticked":
                return {"action": "accept", "content": {"approve": False}}
            case "wrong":
                return {"action": "accept", "content": {"approve": 1, "word": 1}}
            case "empty":
                return {"action": "accept"}
            case "list":
                return {"action": "accept", "content": [content]}
            case "text":
                return {"action": "accept", "content": "yes"}
            case "reject":
                return {"action": "reject", "content": content}
            case "none":
                return None
            case "string":
                return "accept"
            case "no action":
                return {"content": content}
        return {"action": 1, "content": content}

    def _question(self, label: str) -> Asked:
        return self.ledger.calls[int(label.partition("/")[0])].questions[label]

    # Sending

    async def _send(self, sent: Sent) -> None:
        self._sent.append(sent)
        self._firsts += sent.first
        if not sent.able:
            self._unable.add(sent.params["arguments"]["tag"])
        answered = self._note_answers(sent)
        is_late = sent.of is not None and anyio.current_time() > sent.of.given + LIMITS.parked_for
        with anyio.fail_after(PATIENCE):
            response = await self._exchange(sent)
        if response is None:
            self.counts["hung up"] += 1
            return
        if is_late:
            told = response.message.get("result", {}).get("resultType") == "complete"  # what is done already
            assert told or response.message["error"]["code"] == INVALID_PARAMS, "a state does not expire"
        self._look_at(sent, response)
        if "result" in response.message and not response.message["result"].get("isError"):
            for question in answered:
                if not question.may_be_yes:
                    question.is_no = True

    def _note_answers(self, sent: Sent) -> list[Asked]:
        """Note what may be a yes from now on; gives what is a no once the leg has been answered."""
        refused: list[Asked] = []
        state = sent.state
        if state is None or anyio.current_time() > state.given + LIMITS.parked_for:
            return refused
        for key, kind in sent.said.items():
            label = self._labels.get(key)
            question = state.call.questions.get(label or "")
            if question is None or question.round > state.round or kind in NOTHING:
                continue
            if kind == "yes":
                question.may_be_yes = True
            else:
                state.call.may_be_no = True
                if key in state.keys and not (question.way == "ask" and kind in WRONG) and not question.may_be_yes:
                    refused.append(question)
        return refused

    async def _exchange(self, sent: Sent) -> Response | None:
        """One request on a connection of its own; `None` when the client hung up before its response."""
        able = {"elicitation": {}} if sent.able else {}
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
            "io.modelcontextprotocol/clientCapabilities": able,
            "progressToken": next(self._ids),
            **sent.params.get("_meta", {}),
        }
        params = {**sent.params, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        headers = [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream" if sent.streams else b"application/json"),
            (b"mcp-protocol-version", MODERN_VERSION.encode()),
            (b"mcp-method", b"tools/call"),
            (b"mcp-name", sent.params["name"].encode()),
            (b"authorization", b"Bearer secret"),
        ]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "http_version": "1.1"}
        over = anyio.Event()
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        status, came = 0, b""
        gone = False

        async def receive() -> Mapping[str, Any]:
            if parts:
                return parts.pop()
            await over.wait()
            return {"type": "http.disconnect"}

        async def send(part: Mapping[str, Any]) -> None:
            nonlocal status, came
            if gone:
                raise OSError("nobody is there")
            if part["type"] == "http.response.start":
                status = part["status"]
            else:
                came += part.get("body", b"")
                if not part.get("more_body"):
                    over.set()

        async def hang_up(after: float) -> None:
            nonlocal gone
            await anyio.sleep(after)
            if not over.is_set():
                gone = True
                over.set()

        async with anyio.create_task_group() as group:
            if sent.hangs_up is not None:
                group.start_soon(hang_up, sent.hangs_up)
            await self.doors[sent.door](scope, receive, send)  # type: ignore[arg-type]
            group.cancel_scope.cancel()
        if gone:
            return None
        assert over.is_set(), "the response is not whole"
        frames = [line[6:] for line in came.split(b"\n") if line.startswith(b"data: ")] or [came]
        final = json.loads(frames[-1])
        assert final["id"] == message["id"], final
        return Response(status, final)

    # Looking at what came

    def _look_at(self, sent: Sent, response: Response) -> None:
        message = response.message
        error = message.get("error")
        code = None if error is None else error["code"]
        if sent.refused is not None:
            assert code == sent.refused, message
            self.counts["refused"] += 1
            return
        if code is not None:
            expired = sent.of is not None and sent.of.is_old(anyio.current_time())
            assert (code == MISSING_CAPABILITY and not sent.able) or (code == INVALID_PARAMS and expired), message
            self.counts[f"error {code}"] += 1
            return
        result = message["result"]
        if result["resultType"] == "input_required":
            assert not sent.lost
            self._keep(sent, result)
            self.counts["asked"] += 1
            return
        text = result["content"][0]["text"]
        if result.get("isError"):
            assert not sent.lost or text == GONE
            if text == GONE and not sent.lost:
                assert sent.state is not None
                ended = sent.state.call.ended
                assert ended is not None, "a call that runs is said to be gone"
                assert anyio.current_time() > ended + LIMITS.kept - 1, "a result was not kept"
            self.counts["failed"] += 1
            return
        assert not sent.lost
        number, what = re.fullmatch(r"(\d+): (done|refused)", text).groups()  # type: ignore[union-attr]
        call = self.ledger.calls[int(number)]
        assert call.tag == sent.params["arguments"]["tag"], "a leg got another's result"
        assert sent.state is None or sent.state.call is call, "a leg got another's result"
        assert self._results.setdefault(call.number, what) == what, "a call has two results"
        assert call.effects == (what == "done")
        assert what == "done" or call.may_be_no or call.tag in self._unable, "it was refused, and nobody has said no"
        self.counts[what] += 1

    def _keep(self, sent: Sent, result: Mapping[str, Any]) -> None:
        keys: dict[str, str] = {}
        for key, asked in result["inputRequests"].items():
            label = asked["params"]["message"].partition("\n")[0]
            assert self._labels.setdefault(key, label) == label, "a key is used for two questions"
            keys[key] = label
        assert keys, "nothing is asked"
        (number,) = {int(label.partition("/")[0]) for label in keys.values()}
        call = self.ledger.calls[number]
        assert call.tag == sent.params["arguments"]["tag"], "a leg was asked another's questions"
        assert sent.state is None or sent.state.call is call, "a leg was asked another's questions"
        request = {name: sent.params[name] for name in ("name", "arguments", "_meta") if name in sent.params}
        round = max(call.questions[label].round for label in keys.values())
        text = result["requestState"]
        assert all(text != state.text for state in self._states), "a state was given out twice"
        self._states.append(State(text, sent.door, request, call, keys, round, anyio.current_time()))

    def look_back(self) -> None:
        """Look at what must hold in the end."""
        assert not self.ledger.wrongs, self.ledger.wrongs
        assert all(call.ended is not None for call in self.ledger.calls), "a handler has not ended"
        assert len(self.ledger.calls) <= self._firsts, "more was begun than was asked for"


@asynccontextmanager
async def _open_doors(server: DirectServer) -> AsyncIterator[dict[DoorName, HttpEndpoint]]:
    """One app behind four endpoints: two of the same keys and users, one of other users, one of other keys."""
    keys = ["a state key of the house"]
    doors: dict[DoorName, HttpEndpoint] = {
        "main": HttpEndpoint(server, limits=LIMITS, state_keys=keys),
        "twin": HttpEndpoint(server, limits=LIMITS, state_keys=keys),
        "stranger": HttpEndpoint(server, limits=LIMITS, state_keys=keys, token="secret"),
        "elsewhere": HttpEndpoint(server, limits=LIMITS),
    }
    await server.ready()
    for door in doors.values():
        door.modern._seal._clock = anyio.current_time
        await door.home.open()
    try:
        yield doors
    finally:
        for door in doors.values():
            await door.aclose()
        await server.aclose()


async def play(steps: Sequence[Step], to_the_end: bool) -> Counter[str]:
    """Play a history, wait until nothing can be left of it, and look whether anything is; gives what happened."""
    ledger = Ledger()
    server = DirectServer(ledger.app())
    async with _open_doors(server) as doors:
        crowd = Crowd(ledger, doors)
        idle = server.home.running
        with anyio.fail_after(1_000_000):
            await crowd.play(steps, to_the_end=to_the_end)
            await anyio.sleep(AT_LAST)
        for door in doors.values():
            assert (len(door.modern.parked), door.modern.parked.kept, len(door._repeats)) == (0, 0, 0)
            assert (door.modern.running, door.home.running) == (0, 0)
        assert server.home.running == idle
        crowd.look_back()
    crowd.counts["effects"] = sum(call.effects for call in ledger.calls)
    crowd.counts["calls"] = len(ledger.calls)
    return crowd.counts
