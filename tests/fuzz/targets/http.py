"""HTTP requests, played in memory against both endpoints: `/mcp` in both eras, and `/tesseron`.

An input is requests with `%%` on a line between them. Each is a line with method and path, headers, an empty line and
the body. `$SESSION`, `$STATE`, `$KEY`, `$PROMPT` and `$CONNECTION` stand for the newest such thing in a response.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import anyio

from tesseron_py.bindings.http_endpoint import TesseronEndpoint
from tesseron_py.direct import DirectServer
from tesseron_py.gateway.provider import AppProvider
from tesseron_py.jsontext import decode
from tesseron_py.mcp.http import HttpEndpoint
from tesseron_py.mcp.provider import ServerInfo
from tesseron_py.web.sse import EventParser

from ...product.clocks import run_without_waiting
from . import event_loop
from .frames import _app
from .web import _is_local

MOST = 12
"""Requests of one input that are played."""
STATUSES = frozenset({200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 429, 503})
TOKEN = "s3cret"


@dataclass
class Asked:
    """One request as it went in, and what came of it."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    status: int | None = None
    response_headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    response: bytes = b""
    whole: bool = False

    def all(self, name: bytes) -> list[bytes]:
        return [value for given, value in self.headers if given == name]


class Browser:
    """Plays requests against an ASGI application, and remembers what later ones may name."""

    def __init__(self, app: Any) -> None:
        self.known: dict[bytes, bytes] = {}
        self.asked: list[Asked] = []
        self.left = anyio.Event()
        self._app = app

    async def play(self, data: bytes) -> None:
        """Send each request when the one before has been answered or waits; in the end the client leaves."""
        async with anyio.create_task_group() as group:
            for part in data.split(b"\n%%\n")[:MOST]:
                group.start_soon(self._request, self._read(part))
                await anyio.wait_all_tasks_blocked()
                self._learn()
            with anyio.CancelScope(shield=True), anyio.fail_after(3600):
                await anyio.sleep(20)  # long enough for silence to become a stream
                self.left.set()

    def _read(self, part: bytes) -> Asked:
        for name, value in self.known.items():
            part = part.replace(name, value)
        head, _, body = part.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, path = first.decode("latin-1").partition(" ")
        headers = [line.partition(b":")[::2] for line in lines]
        pairs = [(name.lower().strip(), value.strip(b" ")) for name, value in headers]
        if not any(name == b"host" for name, _ in pairs):
            pairs.append((b"host", b"127.0.0.1"))
        pairs = [(name, b"" if value == b"-" else value) for name, value in pairs]
        asked = Asked(method, path, pairs, body)
        self.asked.append(asked)
        return asked

    async def _request(self, asked: Asked) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": asked.method,
            "path": asked.path,
            "raw_path": asked.path.encode("latin-1", "replace"),
            "root_path": "",
            "query_string": b"",
            "headers": asked.headers,
            "scheme": "http",
        }
        parts = [{"type": "http.request", "body": asked.body, "more_body": False}]
        done = anyio.Event()

        async def receive() -> dict[str, Any]:
            if parts:
                return parts.pop()
            async with anyio.create_task_group() as group:
                for event in (self.left, done):

                    async def wait(event: anyio.Event = event) -> None:
                        await event.wait()
                        group.cancel_scope.cancel()

                    group.start_soon(wait)
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                assert asked.status is None, "two responses"
                asked.status, asked.response_headers = message["status"], list(message["headers"])
            else:
                assert asked.status is not None
                assert not asked.whole, "more after the end"
                asked.response += message.get("body", b"")
                if not message.get("more_body", False):
                    asked.whole = True
                    done.set()

        await self._app(scope, receive, send)

    def _learn(self) -> None:
        for asked in self.asked:
            for name, value in asked.response_headers:
                if name.lower() == b"mcp-session-id":
                    self.known[b"$SESSION"] = value
                if name.lower() == b"tesseron-connection":
                    self.known[b"$CONNECTION"] = value
            for message in messages_of(asked):
                if message.get("method") == "elicitation/create":
                    self.known[b"$PROMPT"] = json.dumps(message["id"]).encode()
                result = message.get("result")
                if isinstance(result, dict) and "requestState" in result:
                    self.known[b"$STATE"] = result["requestState"].encode()
                    self.known[b"$KEY"] = next(iter(result["inputRequests"])).encode()


def messages_of(asked: Asked) -> list[dict[str, Any]]:
    """What a response says, as JSON or as events."""
    kind = dict(asked.response_headers).get(b"content-type", b"")
    if kind == b"text/event-stream":
        return [json.loads(event.data) for event in EventParser().feed(asked.response)]
    return [json.loads(asked.response)] if asked.response else []


def _check(browser: Browser, path: str, *, token: str | None) -> None:
    for asked in browser.asked:
        assert asked.status is not None or browser.left.is_set()
        if asked.status is None:
            continue
        assert asked.status in STATUSES, asked
        for name, value in asked.response_headers:
            assert re.fullmatch(rb"[a-z0-9-]+", name), asked
            assert not re.search(rb"[\r\n\0]", value), asked
        answers = [message for message in messages_of(asked) if "method" not in message]
        hosts, origins = asked.all(b"host"), asked.all(b"origin")
        foreign = len(hosts) != 1 or not _is_local(f"//{hosts[0].decode('latin-1')}")
        foreign = foreign or len(origins) > 1 or any(not _is_local(origin.decode("latin-1")) for origin in origins)
        assert not foreign or asked.status == 403, asked
        if token is not None and not foreign and asked.path == path and asked.status != 204:
            right = [value.split(b" ", 1) for value in asked.all(b"authorization")]
            shown = len(right) == 1 and len(right[0]) == 2 and right[0][1].strip(b" ") == token.encode()
            assert shown or asked.status == 401, asked
        if asked.path != path:
            assert asked.status in (403, 404), asked
            continue
        message = _decoded(asked.body)
        if asked.status == 200 and path == "/mcp" and asked.method == "POST":
            assert isinstance(message, dict), asked
            assert len(answers) <= 1, asked
            for answer in answers:
                assert (type(answer["id"]), answer["id"]) == (type(message["id"]), message["id"]), asked
                assert ("result" in answer) != ("error" in answer), asked


def _decoded(body: bytes) -> Any:
    try:
        return decode(body)
    except ValueError:
        return None


def _accepted(body: bytes) -> list[Any]:
    """The contents of the acceptances in a message."""
    message = _decoded(body)
    if not isinstance(message, dict):
        return []
    params = message.get("params")
    responses = params.get("inputResponses") if isinstance(params, dict) else None
    answers = [message.get("result"), *(responses.values() if isinstance(responses, dict) else ())]
    return [
        answer.get("content") for answer in answers if isinstance(answer, dict) and answer.get("action") == "accept"
    ]


def http_target(data: bytes) -> None:
    """Every request to `/mcp` gets one response that fits it, none gets past the guard, and nothing is done unasked."""
    run_without_waiting(_play_mcp, data, backend=event_loop())


async def _play_mcp(data: bytes) -> None:
    effects: list[str] = []
    endpoint = HttpEndpoint(DirectServer(_app(effects)), state_keys=["0123456789abcdef"])
    browser = Browser(endpoint)
    with anyio.fail_after(7200):
        await browser.play(data)
        await endpoint.aclose()
        await endpoint.provider.aclose()  # a `DirectServer` has it
    _check(browser, "/mcp", token=None)
    accepted = [content for asked in browser.asked for content in _accepted(asked.body)]
    yeses = sum(isinstance(content, dict) and content.get("approve") is True for content in accepted)
    assert effects.count("paid") <= yeses, (effects, data)
    assert len(effects) <= len(accepted), (effects, data)


def binding_target(data: bytes) -> None:
    """Every request to `/tesseron` gets one response that fits it, and none gets past the guard without the token."""
    run_without_waiting(_play_tesseron, data, backend=event_loop())


async def _play_tesseron(data: bytes) -> None:
    gateway = AppProvider(ServerInfo("fuzz", "1"))
    await gateway.open()
    endpoint = TesseronEndpoint(gateway.connect, token=TOKEN)
    browser = Browser(endpoint)
    browser.known[b"$TOKEN"] = TOKEN.encode()
    with anyio.fail_after(7200):
        await browser.play(data)
        await endpoint.aclose()
        await gateway.aclose()
    _check(browser, "/tesseron", token=TOKEN)
    assert not endpoint.connections
