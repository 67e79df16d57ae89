"""Which era a client speaks: what it is told, and what `auto` makes of each answer to `server/discover`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from client_peers import PATIENCE, ByHand, HttpRequest, discovered, initialized, raw_http

from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.memory import pair
from tesseron_py.mcp import client as client_module
from tesseron_py.mcp.client import (
    BadAnswer,
    ClientError,
    EraChoice,
    McpClient,
    McpError,
    NoAnswer,
    PipeTransport,
    RequestTimeout,
    TransportEnded,
    UnsupportedVersion,
)
from tesseron_py.mcp.client_http import HttpTransport

Answer = Callable[[int], dict[str, Any]]


def error(code: int, data: Any = None, message: str = "No") -> Answer:
    return lambda id: {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}}


def discovers(**more: Any) -> Answer:
    return lambda id: discovered(id, **more)


class Server:
    """Answers by method, with what a test says; what is not there is not answered."""

    def __init__(self, channel: Any, answers: dict[str, Answer]) -> None:
        self._hand = ByHand(channel)
        self._answers = answers
        self.seen: list[str] = []

    async def serve(self) -> None:
        while True:
            try:
                request = await self._hand.take()
            except Closed:
                return
            self.seen.append(request["method"])
            if (answer := self._answers.get(request["method"])) is not None:
                await self._hand.put(answer(request["id"]))


@asynccontextmanager
async def met(era: EraChoice, answers: dict[str, Answer], **options: Any) -> AsyncIterator[tuple[McpClient, Server]]:
    here, there = pair()
    server = Server(there, answers)
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve)
        try:
            with anyio.fail_after(PATIENCE):
                async with McpClient(PipeTransport(here), era=era, **options) as client:
                    yield client, server
        except Exception as raised:  # out of the task group as it is
            problem = raised
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem


HELLO: dict[str, Answer] = {"initialize": initialized}


async def test_auto_is_modern_with_a_server_that_is_and_no_handshake_is_made() -> None:
    async with met("auto", HELLO | {"server/discover": discovers(instructions="Ask first.")}) as (client, server):
        assert (client.era, client.server.protocol_version) == ("modern", "2026-07-28")
        assert client.server.instructions == "Ask first."
        await client.ping()
    assert server.seen == ["server/discover", "server/discover"]


async def test_legacy_asks_nothing_first() -> None:
    async with met("legacy", HELLO | {"server/discover": discovers()}) as (client, server):
        assert client.era == "legacy"
    assert "server/discover" not in server.seen


@pytest.mark.parametrize(
    "answer",
    [
        error(-32601),
        error(-32602),
        error(-32600, message="Not initialized"),
        error(-32000),
        error(-32022, {"supported": ["2025-11-25"], "requested": "2026-07-28"}),
        discovers(supportedVersions=["2025-11-25"]),
        discovers(supportedVersions="2026-07-28"),
        lambda id: {"jsonrpc": "2.0", "id": id, "result": None},
        lambda id: {"jsonrpc": "2.0", "id": id},
    ],
)
async def test_auto_is_legacy_with_a_server_that_answers_so(answer: Answer) -> None:
    async with met("auto", HELLO | {"server/discover": answer}) as (client, server):
        assert (client.era, client.server.protocol_version) == ("legacy", "2025-11-25")
        await anyio.wait_all_tasks_blocked()
    assert server.seen == ["server/discover", "initialize", "notifications/initialized"]


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (error(-32022, {"supported": ["2027-01-01"]}), UnsupportedVersion, "2027-01-01"),
        (error(-32022), UnsupportedVersion, "does not say which"),
        (error(-32021, {"requiredCapabilities": {"roots": {}}}), McpError, "does not offer: roots"),
        (error(-32020), McpError, "No"),
    ],
)
@pytest.mark.parametrize("era", ["auto", "modern"])
async def test_an_error_of_the_modern_era_is_no_reason_to_fall_back(
    answer: Answer, kind: type[Exception], says: str, era: EraChoice
) -> None:
    with pytest.raises(kind, match=says):
        async with met(era, HELLO | {"server/discover": answer}):
            raise AssertionError("the client must not open")


async def test_modern_with_a_legacy_server_is_a_clear_error() -> None:
    with pytest.raises(BadAnswer, match=r"not speak MCP 2026-07-28, and no other was to be tried.*Method not found"):
        async with met("modern", HELLO | {"server/discover": error(-32601, message="Method not found")}):
            raise AssertionError("the client must not open")


async def test_modern_with_a_server_that_is_silent_is_a_timeout() -> None:
    with pytest.raises(RequestTimeout, match=r"server/discover: no answer within 0\.05 s"):
        async with met("modern", HELLO, timeout=0.05):
            raise AssertionError("the client must not open")


async def test_a_server_that_is_silent_is_legacy_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "PATIENCE", 0.01)
    async with met("auto", HELLO) as (client, server):
        assert client.era == "legacy"
        await anyio.wait_all_tasks_blocked()
    assert server.seen == ["server/discover", "initialize", "notifications/initialized"]  # nothing is cancelled


async def test_a_server_that_starts_slowly_is_still_modern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "PATIENCE", 0.01)
    here, there = pair()
    server = ByHand(there)

    async def start_slowly() -> None:
        probe, hello = await server.take(), await server.take()
        await server.put(discovered(probe["id"]), initialized(hello["id"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(start_slowly)
        async with McpClient(PipeTransport(here), era="auto") as client:
            assert client.era == "modern"


async def test_a_slow_server_that_locks_its_era_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """`mcp` 2.3 serves the era of the first request alone, and may refuse the second before it answers the first."""
    monkeypatch.setattr(client_module, "PATIENCE", 0.01)
    here, there = pair()
    server = ByHand(there)

    async def lock() -> None:
        probe, hello = await server.take(), await server.take()
        await server.put(error(-32022, {"supported": ["2026-07-28"]})(hello["id"]), discovered(probe["id"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lock)
        async with McpClient(PipeTransport(here), era="auto") as client:
            assert client.era == "modern"


@pytest.mark.parametrize("first", ["server/discover", "initialize"])
@pytest.mark.parametrize(
    ("probe", "says"), [(error(-32601, message="unknown"), "not today"), (error(-32020, message="headers"), "headers")]
)
async def test_of_two_late_refusals_the_one_that_tells_more_is_raised(
    first: str, probe: Answer, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "PATIENCE", 0.01)
    here, there = pair()
    server = ByHand(there)

    async def refuse() -> None:
        asked, hello = await server.take(), await server.take()
        frames = [probe(asked["id"]), error(-32603, message="not today")(hello["id"])]
        await server.put(*(frames if first == "server/discover" else reversed(frames)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refuse)
        with pytest.raises(McpError, match=says):
            await McpClient(PipeTransport(here), era="auto").__aenter__()


async def test_a_server_that_is_gone_is_not_asked_again() -> None:
    here, there = pair()
    await there.aclose()
    with pytest.raises(TransportEnded):
        async with McpClient(PipeTransport(here), era="auto"):
            raise AssertionError("the client must not open")


async def test_what_cannot_be_said_at_all_is_raised_as_it_is() -> None:
    here, _ = pair()
    with pytest.raises(ValueError, match=r".+"):
        async with McpClient(PipeTransport(here), era="auto", name=object()):  # type: ignore[arg-type]
            raise AssertionError("the client must not open")


def test_an_era_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="era is one of legacy, modern, auto, not 'future'"):
        McpClient(PipeTransport(pair()[0]), era="future")  # type: ignore[arg-type]


# Over HTTP


async def opened(respond: Callable[[HttpRequest], Any], era: EraChoice = "auto") -> tuple[str, list[str], Any]:
    """The era a client ends up in, what it has sent, and the first request."""
    async with raw_http() as server:
        server.on["server/discover"] = respond
        with anyio.fail_after(PATIENCE):
            async with McpClient(HttpTransport(server.url), era=era) as client:
                chosen = client.era
        return chosen, [request.json["method"] for request in server.seen if request.method == "POST"], server.seen


LEGACY_POSTS = ["server/discover", "initialize", "notifications/initialized"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("400 Bad Request", ""),
        ("400 Bad Request", "Bad Request: Missing session ID"),
        ("400 Bad Request", '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"No session"}}'),
        ("404 Not Found", ""),
        ("404 Not Found", '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'),
        ("405 Method Not Allowed", ""),
        ("422 Unprocessable", "<html>"),
        ("202 Accepted", ""),
    ],
)
async def test_a_refusal_that_is_not_of_the_modern_era_leads_to_the_handshake(status: str, body: str) -> None:
    async def respond(request: HttpRequest) -> None:
        await request.respond(status, body)

    era, posts, _ = await opened(respond)
    assert (era, posts) == ("legacy", LEGACY_POSTS)


async def test_a_session_that_a_probe_is_given_is_not_taken() -> None:
    async def respond(request: HttpRequest) -> None:
        body = error(-32601)(request.json["id"])
        await request.respond_json(body, mcp_session_id="not-this-one")

    era, _, seen = await opened(respond)
    assert era == "legacy"
    assert [request.headers.get("mcp-session-id") for request in seen][:3] == [None, None, "s-1"]
    assert "mcp-method" not in seen[1].headers


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "429 Too Many Requests", "503 Unavailable"])
@pytest.mark.parametrize("era", ["auto", "modern"])
async def test_a_server_that_lets_nobody_in_is_not_asked_twice(status: str, era: EraChoice) -> None:
    async with raw_http() as server:

        async def respond(request: HttpRequest) -> None:
            await request.respond(status)

        server.on["server/discover"] = respond
        with pytest.raises(NoAnswer, match=status[:3]):
            async with McpClient(HttpTransport(server.url), era=era):
                raise AssertionError("the client must not open")
        assert len(server.seen) == 1


@pytest.mark.parametrize("era", ["auto", "modern"])
async def test_a_server_that_is_not_there_is_tried_once(era: EraChoice) -> None:
    with pytest.raises(ClientError, match="Cannot connect"):
        async with McpClient(HttpTransport("http://127.0.0.1:9/mcp"), era=era):
            raise AssertionError("the client must not open")


async def test_a_modern_refusal_with_its_status_is_raised() -> None:
    async with raw_http() as server:

        async def respond(request: HttpRequest) -> None:
            await request.respond_json(error(-32020, message="Mcp-Method is missing")(1), "400 Bad Request")

        server.on["server/discover"] = respond
        with pytest.raises(McpError, match="Mcp-Method is missing"):
            async with McpClient(HttpTransport(server.url), era="auto"):
                raise AssertionError("the client must not open")
        assert len(server.seen) == 1
