"""What bad input gets, seen by giving it: one function for each kind of table in `docs/bad-input.md`.

Each is given the first cell of a row, and says what the columns after it are to hold.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, TypeAlias

import anyio
import httpx
import pytest
from pydantic import Field

from tesseron_py import Context, RegistrationError, Tesseron, TesseronError
from tesseron_py.bindings.memory import MemoryChannel, pair
from tesseron_py.cli.failure import Failure
from tesseron_py.cli.script import parse
from tesseron_py.endpoint import GatewayEndpoint
from tesseron_py.errors import InvalidSchema
from tesseron_py.gateway.gateway import Gateway
from tesseron_py.mcp.provider import ServerInfo
from tesseron_py.testing import ActionFailed, Agent, context

from ..gateway.fake_app import HELLO
from ..host.fake_gateway import serving
from .blocks import ROOT, blocks_of
from .shell import Shell
from .tables import codes

GUIDE = ROOT / "docs" / "bad-input.md"

See: TypeAlias = Callable[[str], Awaitable[tuple[str, ...]]]


def names() -> dict[str, Any]:
    """What the guide's own blocks define, made anew."""
    source = "\n\n".join(block.text for block in blocks_of(GUIDE) if block.kind == "python")
    found: dict[str, Any] = {"__name__": "shop"}
    exec(compile(source, "shop.py", "exec", dont_inherit=True), found)
    return found


async def run(code: str, found: dict[str, Any]) -> None:
    """Run a line as the guide's names see it; it may await."""
    compiled = compile(code, "shop.py", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = FunctionType(compiled, found)()
    if inspect.isawaitable(result):
        await result


# Declarations


async def refused(code: str) -> str:
    found = names()
    try:
        await run(code, found)
        if code.startswith(("def ", "async def ")):
            found["app"].action(found["act"])
    except RegistrationError as error:
        return str(error)
    raise AssertionError(f"{code} is not refused")


async def handler(cell: str) -> tuple[str, ...]:
    place, colon, message = (await refused(codes(cell)[0])).partition("): ")
    assert colon
    assert re.fullmatch(r"\S+ \(shop\.py:\d+", place), place
    return (message.partition("\n  found:  ")[0],)


async def signature(cell: str) -> tuple[str, ...]:
    """A handler, and its corrected first line."""
    message, _, corrected = (await refused(codes(cell)[0])).partition("\n  write:  ")
    assert message.endswith(f"\n  found:  {codes(cell)[0].removesuffix(': ...')}".replace('"', "")), message
    return (corrected,)


async def declaration(cell: str) -> tuple[str, ...]:
    message = await refused(codes(cell)[0])
    assert "(shop.py:" not in message
    return (message,)


async def line(cell: str) -> tuple[str, ...]:
    """A line that raises, wherever it is: within a handler, or outside."""
    found = names() | {"ctx": context()}
    try:
        await run(codes(cell)[0], found)
    except Exception as error:
        return (f"{type(error).__name__}: {error}",)
    raise AssertionError(f"{cell} raises nothing")


async def schema(cell: str) -> tuple[str, ...]:
    found = names() | {"ctx": context()}
    with pytest.raises(InvalidSchema) as raised:
        await run(f'await ctx.elicit("Which?", {codes(cell)[0]})', found)
    assert found["ctx"].questions == []
    return (raised.value.message,)


async def arguments(cell: str) -> tuple[str, ...]:
    async with Agent(names()["app"]) as agent:
        with pytest.raises(ActionFailed) as raised:
            await agent.call("order", json.loads(codes(cell)[0]))
    assert raised.value.code == -32004
    assert all(set(issue) == {"message", "path"} for issue in raised.value.data)
    return (raised.value.message,)


# A client that writes every message itself


async def receive(channel: MemoryChannel) -> dict[str, Any]:
    with anyio.fail_after(5):
        return dict(json.loads(await channel.receive()))


@asynccontextmanager
async def client(app: Tesseron, capabilities: dict[str, Any]) -> AsyncIterator[MemoryChannel]:
    async with app._memory_endpoint() as channel:
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        await channel.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
        await receive(channel)
        yield channel


async def reply(channel: MemoryChannel, message: str) -> str:
    await channel.send(message)
    error = (await receive(channel))["error"]
    await channel.send('{"jsonrpc": "2.0", "id": "next", "method": "ping"}')
    assert (await receive(channel))["id"] == "next"
    return f"{error['code']}: {error['message']}"


async def message(cell: str) -> tuple[str, ...]:
    async with client(names()["app"], {}) as channel:
        return (await reply(channel, codes(cell)[0]),)


asking = Tesseron("asking")


@asking.action
async def sure(ctx: Context) -> str:
    return str(await ctx.confirm("Sure?"))


@asking.action
async def number(ctx: Context) -> str:
    try:
        return repr(await ctx.elicit("Which?", Annotated[int, Field(le=9)]))
    except TesseronError as error:
        return f"{type(error).__name__}: {error}"


async def response(cell: str) -> tuple[str, ...]:
    said: list[str] = []
    answer = json.loads(codes(cell)[0]) if codes(cell) else None
    async with client(asking, {} if answer is None else {"elicitation": {}}) as channel:
        for action in ("sure", "number"):
            call = {"jsonrpc": "2.0", "id": action, "method": "tools/call", "params": {"name": action}}
            await channel.send(json.dumps(call))
            if answer is not None:
                question = await receive(channel)
                assert question["method"] == "elicitation/create"
                await channel.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], **answer}))
            said.append((await receive(channel))["result"]["content"][0]["text"])
    return tuple(said)


# HTTP

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}'
)


def changed(headers: dict[str, str], cell: str) -> tuple[str, str, dict[str, str]]:
    """Method, path and headers of a cell: `METHOD PATH` with `Name: value`, or without `Name`."""
    request, *rest = codes(cell)
    method, _, path = request.partition(" ")
    headers = dict(headers)
    for header in rest:
        name, colon, value = header.partition(": ")
        headers.pop(name.lower(), None)
        if colon:
            headers[name.lower()] = value
    return method, path, headers


async def request(cell: str) -> tuple[str, ...]:
    endpoint = names()["app"].asgi(token="s3cret")
    headers = {
        "host": "localhost",
        "origin": "http://localhost",
        "authorization": "Bearer s3cret",
        "content-type": "application/json",
        "content-length": str(len(PING)),
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(endpoint), base_url="http://localhost") as http:
            begun = await http.post("/mcp", content=INITIALIZE, headers=headers | {"content-length": "105"})
            headers["mcp-session-id"] = begun.headers["mcp-session-id"]
            method, path, given = changed(headers, cell)
            answer = await http.request(method, path, content=PING, headers=given)
            return (f"{answer.status_code}: {answer.json()['error']['message']}",)
    finally:
        await endpoint.aclose()


# An app's end of a connection to a gateway


async def frame(cell: str) -> tuple[str, ...]:
    async with serving(names()["app"]) as gateway:
        await gateway.send_text(codes(cell)[0])
        error = (await gateway.recv())["error"]
        await gateway.invoke("order", {"sku": "A1"})
        assert "result" in await gateway.recv()
    return (f"{error['code']}: {error['message']}",)


async def upgrade(cell: str) -> tuple[str, ...]:
    async with Tesseron("shop").listen() as host:
        port = int(host.url.rstrip("/").rpartition(":")[2])
        headers = {
            "host": f"127.0.0.1:{port}",
            "origin": "http://localhost",
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            "sec-websocket-version": "13",
            "sec-websocket-protocol": "tesseron-gateway",
        }
        method, path, headers = changed(headers, cell)
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send("\r\n".join(lines).encode())
            received = b""
            with anyio.fail_after(5):
                async for data in stream:
                    received += data
    head, _, body = received.decode().partition("\r\n\r\n")
    return (f"{head.split(' ')[1]}: {body.strip()}",)


async def bind(cell: str) -> tuple[str, ...]:
    async with Tesseron("shop").listen("uds") as host, await anyio.connect_unix(host.url) as stream:
        await stream.send(f"{codes(cell)[0]}\n".encode())
        received = b""
        with anyio.fail_after(5):
            while not received.endswith(b"\n"):
                received += await stream.receive()
    error = json.loads(received)["error"]
    return (f"{error['code']}: {error['message']}",)


# A gateway's end of a connection to an app


def gateway() -> Gateway:
    return Gateway(ServerInfo("tesseron-py", "1"), discover=False)


async def messages(cell: str) -> tuple[str, ...]:
    """What an app sends, each a method and what differs from a good hello's params; the last gets an error."""
    here, there = pair()
    served = gateway()
    await served.open()
    try:
        served.connect(there)
        method, params = "", dict[str, Any]()
        for part in [*codes(cell), ""]:
            if part.startswith("{"):
                params = json.loads(part)
                continue
            if method:
                request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**HELLO, **params}}
                await here.send(json.dumps(request))
                answer = await receive(here)
            method, params = part, {}
    finally:
        await served.aclose()
    return (f"{answer['error']['code']}: {answer['error']['message']}",)


async def dialled(cell: str) -> tuple[str, ...]:
    endpoint = GatewayEndpoint(gateway(), token="s3cret")
    headers = {
        "host": "localhost",
        "authorization": "Bearer s3cret",
        "content-type": "application/json",
        "tesseron-attempt": "A" * 22,
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tesseron/hello", "params": HELLO})
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(endpoint), base_url="http://localhost") as http:
            method, path, given = changed(headers, cell)
            answer = await http.request(method, path, content=body, headers=given)
            return (f"{answer.status_code}: {answer.json()['error']}",)
    finally:
        await endpoint.aclose()


# The command line


def command(cell: str, shell: Shell) -> tuple[str, ...]:
    said, code = shell.run(codes(cell)[0].replace("(", r"\(").replace(")", r"\)"))
    assert all(more.startswith("Try: tesseron-py") for more in said[1:]), said
    return (str(code), said[0])


async def script(cell: str) -> tuple[str, ...]:
    with pytest.raises(Failure) as raised:
        parse(codes(cell)[0], 1)
    assert raised.value.code == 2
    return (f"error: {raised.value.message}",)


SEE: dict[str, See] = {
    "handler": handler,
    "signature": signature,
    "declaration": declaration,
    "line": line,
    "schema": schema,
    "arguments": arguments,
    "response": response,
    "message": message,
    "request": request,
    "frame": frame,
    "upgrade": upgrade,
    "line over a socket": bind,
    "messages": messages,
    "dialled": dialled,
    "script": script,
}


def write_shop(directory: Path) -> None:
    """The README's app, which the command lines name."""
    for block in blocks_of(ROOT / "README.md"):
        if block.file == "shop.py":
            (directory / block.file).write_text(block.text, encoding="utf-8")
