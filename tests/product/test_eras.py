"""The same app, unchanged: every outcome with every foreign client, in both eras, directly and through a gateway.

Over stdio and HTTP alike, what a handler learns depends on what the person did and on nothing else, and it runs once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from .clients import MODERN_VERSION, Address, Client, by_hand, by_hand_modern, fast, official, old
from .conftest import APP, FOREIGN
from .house import CLAIM, CODE, gateway, running_app
from .journal import wait_written
from .person import CANCEL, DECLINE, ERROR, YES, Person, Reply, accept
from .processes import PATIENCE, TESSERON, http_server, mcp_command

pytestmark = FOREIGN

ORDER = {"warehouse": "WH-7", "count": 3}
WRONG = {"warehouse": "WH-9", "count": 0}
TICKED = {"approve": True}

# Who asks


@dataclass(frozen=True)
class Kind:
    """A client in one era.

    Attributes:
        checks: It looks at what the person filled in by itself, and takes what does not fit for an error of its own.
        gives_up: An error of its own ends its call in the modern era: it does not come back, and nobody has answered.
        raw: It can say what no client says.
    """

    name: str
    era: Literal["legacy", "modern"]
    connect: Callable[..., AbstractAsyncContextManager[Client]]
    checks: bool = False
    raw: bool = False
    gives_up: bool = False

    def __str__(self) -> str:
        return self.name


KINDS = [
    Kind("mcp 2.3 legacy", "legacy", partial(official, mode="legacy")),
    Kind("mcp 2.3 auto", "modern", partial(official, mode="auto"), gives_up=True),
    Kind("mcp 2.3 2026-07-28", "modern", partial(official, mode=MODERN_VERSION), gives_up=True),
    Kind("mcp 1.30", "legacy", old, raw=True),
    Kind("fastmcp legacy", "legacy", partial(fast, mode="legacy"), checks=True),
    Kind("fastmcp auto", "modern", partial(fast, mode="auto"), checks=True, gives_up=True),
    Kind("by hand legacy", "legacy", by_hand, raw=True),
    Kind("by hand modern", "modern", by_hand_modern, raw=True),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """What is tested is at the other end, and `fastmcp` knows no other event loop."""
    return "asyncio"


# Where the app is


class Place:
    """One way to the app: directly or through a gateway, on stdio or over HTTP. Where it can be, it is shared.

    Args:
        name: Which.
        directory: Where its processes write.
    """

    def __init__(self, name: str, directory: Path) -> None:
        self.through_gateway, self.carrier = name.startswith("gateway"), name.rpartition(" ")[2]
        self._directory = directory
        self._numbers = itertools.count()
        self._processes = ExitStack()
        self._shared: tuple[Address, dict[str, str], str | None] | None = None
        self._code: str | None = None

    @property
    def journal(self) -> Path:
        return self._directory / "journal"

    def close(self) -> None:
        self._processes.close()

    def _start(self) -> tuple[Address, dict[str, str]]:
        """What the app needs to be there; gives where its server is, and its variables."""
        home = self._directory / f"home-{next(self._numbers)}"
        env = {"DEPOT_JOURNAL": str(self.journal), "TESSERON_HOME": str(home)}
        if not self.through_gateway:
            if self.carrier == "stdio":
                return mcp_command(APP), env
            url, _ = self._processes.enter_context(http_server(APP, env=env))
            return url, env
        app = self._processes.enter_context(running_app(env=env))
        self._code = app.wait_line(CODE)[1]
        if self.carrier == "stdio":
            return [TESSERON, "gateway"], env
        url, _ = self._processes.enter_context(gateway(env=env))
        return url, env

    @asynccontextmanager
    async def connected(self, kind: Kind, **options: Any) -> AsyncIterator[Client]:
        """A client of the app; the first one of a gateway claims it."""
        if self._shared is None or self.carrier == "stdio":
            self._shared = (*self._start(), self._code)
        address, env, code = self._shared
        async with kind.connect(address, env=env, **options) as client:
            if code is not None:
                assert not (await client.call(CLAIM, {"code": code})).is_error
                self._shared = address, env, None
            yield client

    def tool(self, name: str) -> str:
        """What the tool is called there."""
        return f"depot__{name}" if self.through_gateway else name


@pytest.fixture(scope="module", params=["stdio", "http", "gateway on stdio", "gateway over http"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(request.param, tmp_path_factory.mktemp("place"))
    try:
        yield made
    finally:
        made.close()


# What comes of it

INVALID, MALFORMED, UNABLE = "raises InvalidAnswer", "raises MalformedAnswer", "raises ElicitationNotAvailable"


@dataclass(frozen=True)
class Case:
    """What the person does each time that they are asked, and what the handler learns.

    `needs` is what not every client can do: `invalid`, to send content that does not fit the form; `raw`, to say what
    is no answer. `error` is one of the client itself.
    """

    how: Literal["confirm", "elicit", "ask"]
    replies: tuple[Reply, ...]
    learns: str
    needs: Literal["", "invalid", "raw", "error"] = ""
    attempts: int = 1


# fmt: off
CASES = [
    Case("confirm", (YES,),                                       "True"),
    Case("confirm", (accept(approve=False),),                     "False"),
    Case("confirm", (accept(approve="true"),),                    "False",            "invalid"),
    Case("confirm", ({"action": "accept"},),                      "False",            "invalid"),
    Case("confirm", (DECLINE,),                                   "False"),
    Case("confirm", (CANCEL,),                                    "False"),
    Case("confirm", ({**CANCEL, "content": TICKED},),             "False",            "invalid"),
    Case("confirm", (ERROR,),                                     "False",            "error"),
    Case("confirm", ({"action": "yes", "content": TICKED},),      "False",            "raw"),
    Case("confirm", ({"action": "accept", "content": "y"},),      "False",            "raw"),
    Case("elicit",  (accept(**ORDER),),                           "WH-7 3"),
    Case("elicit",  (accept(**WRONG),),                           INVALID,            "invalid"),
    Case("elicit",  ({"action": "accept"},),                      INVALID,            "invalid"),
    Case("elicit",  (DECLINE,),                                   "None"),
    Case("elicit",  ({**DECLINE, "content": ORDER},),             "None",             "invalid"),
    Case("elicit",  (CANCEL,),                                    "None"),
    Case("elicit",  (ERROR,),                                     "None",             "error"),
    Case("elicit",  ({"action": "reject"},),                      MALFORMED,          "raw"),
    Case("elicit",  ({"action": "accept", "content": [1]},),      MALFORMED,          "raw"),
    Case("ask",     (accept(**ORDER),),                           "Accepted(WH-7 3)"),
    Case("ask",     (accept(**WRONG), accept(**ORDER)),           "Accepted(WH-7 3)", "invalid", 2),
    Case("ask",     (accept(**WRONG), accept(**WRONG)),           INVALID,            "invalid", 2),
    Case("ask",     (accept(**WRONG), DECLINE),                   "Declined()",       "invalid", 3),
    Case("ask",     (DECLINE,),                                   "Declined()"),
    Case("ask",     (CANCEL,),                                    "Cancelled()"),
    Case("ask",     (ERROR,),                                     "Cancelled()",      "error"),
    Case("ask",     ({"action": "reject"},),                      MALFORMED,          "raw"),
]
NO_ANSWER = {
    # What has no action at all is a bad answer to a request, and none to a question that a result asks: there it is
    # asked again.
    "legacy": Case("ask", ({},), MALFORMED, "raw"),
    "modern": Case("ask", ({}, accept(**ORDER)), "Accepted(WH-7 3)", "raw"),
}
# fmt: on


class Tags:
    """A name for each call, by which the journal says how often its handler ran."""

    def __init__(self, place: Place, kind: Kind) -> None:
        self._place = place
        self._prefix = f"{kind} {id(self)}"
        self._numbers = itertools.count()
        self.learnt: dict[str, str | None] = {}

    def next(self, learns: str | None) -> str:
        tag = f"{self._prefix} {next(self._numbers)}"
        self.learnt[tag] = learns
        return tag

    def check(self) -> None:
        """Each handler ran once, and learnt what it did once; one whose client gave up has learnt nothing."""
        last = list(self.learnt)[-1]
        wait_written(self._place.journal, f"{last}: {self.learnt[last]}", PATIENCE)
        written = Counter(self._place.journal.read_text(encoding="utf-8").splitlines())
        for tag, learns in self.learnt.items():
            entries = {entry: times for entry, times in written.items() if entry.startswith(f"{tag}: ")}
            expected = {f"{tag}: asks": 1} | ({} if learns is None else {f"{tag}: {learns}": 1})
            assert entries == expected


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_what_the_person_does_is_what_the_handler_learns_once(place: Place, kind: Kind) -> None:
    tags = Tags(place, kind)
    with anyio.fail_after(2 * PATIENCE):
        async with place.connected(kind) as client:
            for case in [*CASES, NO_ANSWER[kind.era], CASES[0]]:
                if case.needs == "raw" and not kind.raw:
                    continue
                for tool in ("outcome", "outcomeSync"):
                    await _learns(client, kind, place.tool(tool), case, tags)
            await _asks_in_other_ways(client, kind, place)
            tags.check()


async def _learns(client: Client, kind: Kind, tool: str, case: Case, tags: Tags) -> None:
    # A client that checks answers itself sends an error for one that does not fit.
    error = case.needs == "error" or (case.needs == "invalid" and kind.checks and "content" in case.replies[0])
    replies, learns = case.replies, case.learns
    if case.needs == "invalid" and kind.checks:
        if case.replies[0]["action"] != "accept" or not error:
            return  # it makes something of its own of these
        replies = replies[:1]
        learns = {"confirm": "False", "elicit": "None", "ask": "Cancelled()"}[case.how]
    lost = error and kind.gives_up
    before = len(client.person.prompts)
    client.person.will(*replies)
    tag = tags.next(None if lost else learns)
    arguments = {"how": case.how, "attempts": case.attempts, "tag": tag}
    if lost:
        with pytest.raises(Exception, match=r".*"):
            await client.call(tool, arguments)
    else:
        assert (case, (await client.call(tool, arguments)).text) == (case, learns)
    assert len(client.person.prompts) - before == len(replies)


async def _asks_in_other_ways(client: Client, kind: Kind, place: Place) -> None:
    before = len(client.person.prompts)
    for how in ("elicit", "ask"):
        assert (await client.call(place.tool("unaskable"), {"how": how})).text == "raises InvalidSchema -32602"
    assert len(client.person.prompts) == before
    client.person.will(*[accept(**ORDER)] * 33)
    learnt = Counter((await client.call(place.tool("crowd"), {"how": "elicit", "count": 33})).value)
    assert learnt.total() == 33
    assert len(client.person.prompts) == before + learnt["WH-7 3"]
    if not place.through_gateway:  # else the first is answered before the app, another process, has asked the last
        assert learnt == {"WH-7 3": 32, "raises TooManyPrompts": 1}
    client.person = Person()
    client.person.will(YES, YES)
    assert (await client.call(place.tool("pair"))).value == {"left": True, "right": True}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name != "mcp 2.3 auto"], ids=str)
async def test_a_client_without_a_person_is_asked_nothing(place: Place, kind: Kind) -> None:
    unable: Mapping[str, str] = {"confirm": "False", "elicit": UNABLE, "ask": UNABLE}
    tags = Tags(place, kind)
    with anyio.fail_after(2 * PATIENCE):
        async with place.connected(kind, elicitation=False) as client:
            for how, learns in unable.items():
                for tool in ("outcome", "outcomeSync"):
                    result = await client.call(place.tool(tool), {"how": how, "tag": tags.next(learns)})
                    assert (how, result.text) == (how, learns)
            assert client.person.prompts == []
            tags.check()
