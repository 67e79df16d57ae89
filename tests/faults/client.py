"""One call of a scripted client, and the person beside it: what they do is planned, whatever the server does."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .ledger import Ledger
from .links import HttpLink, Lost, Message, Pending, PipeLink, modern_params

Era: TypeAlias = Literal["legacy", "modern"]
Says: TypeAlias = Literal["yes", "no", "decline", "cancel", "unticked", "garbage", "nothing", "yes and cancel"]
SAYS: tuple[Says, ...] = ("yes", "no", "decline", "cancel", "unticked", "garbage", "nothing", "yes and cancel")
Link: TypeAlias = HttpLink | PipeLink

REPLIES: Mapping[str, Any] = {
    "yes": {"action": "accept", "content": {"approve": True}},
    "yes and cancel": {"action": "accept", "content": {"approve": True}},
    "no": {"action": "accept", "content": {"approve": False}},
    "decline": {"action": "decline", "content": {"approve": True}},
    "cancel": {"action": "cancel"},
    "unticked": {"action": "accept"},
    "garbage": {"action": "accept", "content": {"approve": "true"}},
}
IDEMPOTENCY_KEY = "tesseron-py/idempotencyKey"
ids = itertools.count(1000)


@dataclass
class Plan:
    """What one call is, and what is done about it.

    Attributes:
        says: What the person says, question by question; the last one again if there are more.
        leaves: How a client goes whose person says nothing: it cancels the call, or hangs up.
        repeats: A request whose response is lost is sent so many times more.
        twice: Every request is sent twice: at once, or again when the first is answered.
        keyed: Whether a first leg has an idempotency key.
        dawdles: Seconds for which nothing is read of the response.
    """

    tag: str
    tool: str
    era: Era
    says: Sequence[Says] = ("yes",)
    leaves: Literal["cancel", "hang up"] = "cancel"
    rounds: int = 1
    steps: int = 0
    size: int = 0
    repeats: int = 0
    twice: Literal["", "at once", "afterwards"] = ""
    keyed: bool = False
    dawdles: float = 0.0

    @property
    def arguments(self) -> Message:
        """What the tool is called with."""
        if self.tool in ("guarded", "guardedSync"):
            return {"tag": self.tag, "rounds": self.rounds, "steps": self.steps, "size": self.size}
        return {"tag": self.tag}


@dataclass
class Call:
    """A plan as it is carried out.

    Attributes:
        end: How it ended, for its client.
        text: Its result, where it has one.
        abandoned: The server may wait for this client until its time is up.
        open: Legacy questions that the client has been asked, and that it has neither answered nor seen withdrawn.
        asked: Set at the first question.
        firsts: How many requests may each have begun a run.
        hung_up: Its connection is gone, or it has closed it: it hears nothing any more.
        took: Seconds from the first request to the end.
    """

    plan: Plan
    link: Link
    prefix: str
    ledger: Ledger
    end: str = ""
    text: str = ""
    abandoned: bool = False
    firsts: int = 0
    hung_up: bool = False
    took: float = 0.0
    open: set[Any] = field(default_factory=set)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    counts: Counter[str] = field(default_factory=Counter)
    _extra: list[asyncio.Task[Any]] = field(default_factory=list)
    _seen: int = 0
    _said: dict[str, Says] = field(default_factory=dict)

    async def play(self) -> None:
        """From the first request to the end."""
        began = time.monotonic()
        try:
            if self.plan.era == "modern":
                await self._modern()
            else:
                await self._legacy()
        except Lost:
            self.end, self.hung_up = self.end or "lost", True
            self.abandoned = self.abandoned or self.plan.era == "modern"
        finally:
            self.took = time.monotonic() - began
            for task in self._extra:
                task.cancel()
            self._extra.clear()

    # The person

    def _says(self, message: str) -> tuple[str, Says]:
        """The label of a question, and what the person says to it; the same each time it is shown."""
        label = message.partition(" ")[0]
        self.asked.set()
        if label not in self._said:
            self._said[label] = self.plan.says[min(self._seen, len(self.plan.says) - 1)]
            self._seen += 1
        says = self._said[label]
        if says.startswith("yes"):
            self.ledger.said_yes(label)
        return label, says

    def _own(self, params: Message) -> bool:
        return str(params.get("message", "")).startswith(self.plan.tag)

    # The legacy era

    async def _legacy(self) -> None:
        id = next(ids)
        message = {
            "id": id,
            "method": "tools/call",
            "params": {
                "name": self.prefix + self.plan.tool,
                "arguments": self.plan.arguments,
                "_meta": {"progressToken": id},
            },
        }
        self.firsts += 1
        pending = await self.link.begin(message, modern=False)
        if self.plan.twice:
            self._also(message)
        if self.plan.dawdles:
            pending.stop(True)
            await asyncio.sleep(self.plan.dawdles)
            pending.stop(False)
        while (got := await pending.next()) is not None:
            if got.get("method") == "elicitation/create":
                if self._own(got["params"]):
                    self.open.add(got["id"])
                    self._extra.append(asyncio.create_task(self._answer(id, got, pending)))
            elif got.get("method") == "notifications/cancelled":
                if got["params"]["requestId"] in self.open:
                    self.open.discard(got["params"]["requestId"])
                    self.counts["withdrawn"] += 1
            elif got.get("id") == id:
                self._result(got)
                if isinstance(self.link, HttpLink):
                    continue
                return
        self.end = self.end or "closed"

    def _also(self, message: Message) -> None:
        """The same request, once more; what comes of it is nobody's."""

        async def send() -> None:
            self.firsts += 1
            with suppress(Lost):
                pending = await self.link.begin(message, modern=False)
                try:
                    while await pending.next() is not None:
                        pass
                finally:
                    pending.close()

        if isinstance(self.link, HttpLink):
            self._extra.append(asyncio.create_task(send()))

    async def _answer(self, call: int, question: Message, pending: Pending) -> None:
        _, says = self._says(question["params"]["message"])
        if says == "nothing":
            await self._leave(call, pending)
            return
        response = {"id": question["id"], "result": REPLIES[says]}
        self.open.discard(question["id"])
        self.answered.set()
        jobs = [self._tell(response, 1 + self.plan.repeats)]
        if self.plan.twice == "at once":
            jobs.append(self._tell(response, 1))
        if says == "yes and cancel":
            jobs.insert(len(self.plan.tag) % 2, self._tell(_cancelled(call), 1))
            self.end = "cancelled"
        came = await asyncio.gather(*jobs)
        if self.plan.twice == "afterwards":
            await self._tell(response, 1)
        if not any(came) or says == "yes and cancel":
            # Nobody has the answer, or the call is over: either way this client does not wait any more.
            await self._leave(call, pending)

    async def _tell(self, message: Message, times: int) -> bool:
        for _ in range(times):
            try:
                await self.link.tell(message)
            except Lost:
                continue
            return True
        return False

    async def _leave(self, call: int, pending: Pending) -> None:
        """The client gives the call up, and still sees what the server tells until its response ends."""
        self.end = "gave up"
        if self.plan.leaves == "cancel" and await self._tell(_cancelled(call), 2):
            if isinstance(self.link, PipeLink):
                await asyncio.sleep(0)
                if not self.open:
                    pending.messages.put_nowait(None)
                else:
                    self._extra.append(asyncio.create_task(self._until_withdrawn(pending)))
            return
        pending.close()
        self.hung_up = True
        if isinstance(self.link, PipeLink):
            await self._tell(_cancelled(call), 1)
        pending.messages.put_nowait(Lost("hung up"))

    async def _until_withdrawn(self, pending: Pending) -> None:
        while self.open:  # noqa: ASYNC110  # nothing tells of it: the task that withdraws is the one that this ends
            await asyncio.sleep(0.005)
        pending.messages.put_nowait(None)

    # The modern era

    async def _modern(self) -> None:
        params: Message = {"name": self.prefix + self.plan.tool, "arguments": self.plan.arguments}
        meta: Message = {"progressToken": next(ids)}
        if self.plan.keyed:
            meta[IDEMPOTENCY_KEY] = f"key of {self.plan.tag}"
        for _ in range(12):
            result = await self._leg(params, meta)
            if result is None:
                return
            answers: Message = {}
            for key, asked in result["inputRequests"].items():
                _, says = self._says(asked["params"]["message"])
                if says == "nothing":
                    self.end, self.abandoned = "gave up", True
                    return
                answers[key] = REPLIES[says]
                if says == "yes and cancel":
                    self.end = "gave up"
            params = {**params, "inputResponses": answers, "requestState": result["requestState"]}
            self.answered.set()
            if self.end:  # it hangs up on the leg that says yes
                self.abandoned = True
                pending = await self.link.begin(_call(params, meta), modern=True)
                pending.close()
                return
        self.end = "asked for ever"

    async def _leg(self, params: Message, meta: Message) -> Message | None:
        """One leg, repeated where its response is lost; what is asked, or `None` when the call is over."""
        jobs = [self._sent(params, meta)]
        if self.plan.twice:
            jobs.append(self._sent(params, meta, late=self.plan.twice == "afterwards"))
        for attempt in itertools.count():
            try:
                came = await asyncio.gather(*jobs, return_exceptions=True)
                if isinstance(came[0], BaseException):
                    raise came[0]
                got = came[0]
                break
            except Lost:
                if attempt >= self.plan.repeats:
                    raise
                await asyncio.sleep(0.02)
                jobs = [self._sent(params, meta)]
        assert isinstance(got, dict)
        result = got.get("result", {})
        if result.get("resultType") == "input_required":
            return dict(result)
        self._result(got)
        return None

    async def _sent(self, params: Message, meta: Message, *, late: bool = False) -> Message:
        if late:
            await asyncio.sleep(0.03)
        message = _call(params, meta)
        self.firsts += "requestState" not in params
        pending = await self.link.begin(message, modern=True)
        if self.plan.dawdles and not late:
            pending.stop(True)
            await asyncio.sleep(self.plan.dawdles)
            pending.stop(False)
        while (got := await pending.next()) is not None:
            if got.get("id") == message["id"]:
                return got
        raise Lost("the response is over, and was none")

    def _result(self, got: Message) -> None:
        if "error" in got:
            self.end = self.end or f"error {got['error']['code']}"
            return
        result = got["result"]
        self.text = result["content"][0]["text"] if result["content"] else ""
        if result.get("isError"):
            structured = result.get("structuredContent") or {}
            self.end = self.end or f"failed {structured.get('code')}"
            return
        self.end = self.end or ("done" if ": done" in self.text else "refused")


def _call(params: Message, meta: Message) -> Message:
    return {"id": next(ids), "method": "tools/call", "params": modern_params(params, meta)}


def _cancelled(call: int) -> Message:
    return {"method": "notifications/cancelled", "params": {"requestId": call}}
