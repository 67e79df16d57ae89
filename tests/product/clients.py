"""Clients that nobody here wrote, behind one interface, so that one test can drive them all.

`official` is the client of `mcp` 2.3; `by_hand` and `by_hand_modern` are that package's transports and dispatcher of
JSON-RPC without the client on top, for what the client itself would never send; `old` is `mcp` 1.30 in a process and
environment of its own; `fast` is the client of `fastmcp`.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Any, Protocol, TypeAlias

import anyio
import httpx2
from anyio.abc import TaskGroup, TaskStatus
from fastmcp import Client as FastClient
from fastmcp.client.elicitation import ElicitResult as FastElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import Client as OfficialClient
from mcp import MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.types import (
    CreateMessageResult,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ResourceUpdatedNotification,
    TextContent,
    ToolListChangedNotification,
)

from .person import CANCEL, Person
from .processes import PATIENCE, ROOT, environment

Address: TypeAlias = "str | Sequence[str]"
"""A URL, or the command that starts a server on its standard streams."""

OLD_PYTHON = ROOT / ".venv-mcp1" / "bin" / "python"
DRIVER = Path(__file__).with_name("old_client.py")
FORMS: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}}
VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"


@dataclass(frozen=True)
class Result:
    """What a call gave."""

    text: str
    is_error: bool = False
    structured: Any = None

    @property
    def value(self) -> Any:
        """The text as JSON."""
        assert not self.is_error, self.text
        return json.loads(self.text)

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Result:
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        return cls("\n".join(texts), bool(result.get("isError")), result.get("structuredContent"))


@dataclass
class Heard:
    """What a client heard besides its results."""

    logs: list[tuple[str, Any]] = field(default_factory=list)
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)


class Client(Protocol):
    """One session of a client with a server."""

    person: Person
    heard: Heard
    changes: Changes

    async def tools(self) -> dict[str, Mapping[str, Any]]:
        """The tools as JSON, by name."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, progress: bool = False) -> Result:
        """Call a tool. Cancelled, it tells the server so, in the client's own way."""
        ...

    async def resources(self) -> list[str]:
        """The URIs that can be read."""
        ...

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        ...

    async def subscribe(self, uri: str) -> None:
        """Follow a resource."""
        ...


class Changes:
    """What a session was told has changed: the URI of a resource, or `tools`."""

    def __init__(self) -> None:
        self.put, self._take = anyio.create_memory_object_stream[str](math.inf)

    async def next(self, what: str) -> None:
        """Wait until it is told that `what` has changed, since this was asked last."""
        while await self._take.receive() != what:
            pass

    def forget(self) -> None:
        """Whatever was told so far does not matter."""
        while self._take.statistics().current_buffer_used:
            self._take.receive_nowait()

    def close(self) -> None:
        self.put.close()
        self._take.close()


@asynccontextmanager
async def _transport(
    address: Address, env: Mapping[str, str] | None = None, token: str | None = None
) -> AsyncIterator[Any]:
    """The official transport to a server; what a process says on standard error must hold no traceback."""
    if isinstance(address, str):
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http:
            yield streamable_http_client(address, http_client=http)
        return
    command, *arguments = address
    parameters = StdioServerParameters(command=command, args=arguments, env=environment(env), cwd=ROOT)
    with TemporaryFile("w+", encoding="utf-8") as errors:
        yield stdio_client(parameters, errlog=errors)
        errors.seek(0)
        said = errors.read()
    assert "Traceback" not in said, said


# mcp 2.3 ----------------------------------------------------------------------------------------------------------


class _Official:
    def __init__(self, client: OfficialClient, group: TaskGroup) -> None:
        self.person = Person()
        self.heard = Heard()
        self.changes = Changes()
        self.client = client
        self._group = group

    @property
    def is_modern(self) -> bool:
        return self.client.protocol_version == MODERN_VERSION

    async def listen(self, **what: Any) -> None:
        """In the modern era, have changes told; it goes on in the background, and what comes goes to `changes`."""
        await self._group.start(self._listen, what)

    async def _listen(self, what: Mapping[str, Any], *, task_status: TaskStatus[None]) -> None:
        async with self.client.listen(**what) as subscription:
            task_status.started()
            async for _ in subscription:
                pass  # the client's message handler is told, too

    async def tools(self) -> dict[str, Mapping[str, Any]]:
        tools = (await self.client.list_tools(cache_mode="bypass")).tools
        return {tool.name: tool.model_dump(by_alias=True, exclude_none=True) for tool in tools}

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, progress: bool = False) -> Result:
        async def progressed(done: float, total: float | None, message: str | None) -> None:
            self.heard.progress.append((done, total, message))

        result = await self.client.call_tool(
            tool, None if arguments is None else dict(arguments), progress_callback=progressed if progress else None
        )
        return Result.of(result.model_dump(by_alias=True))

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def read(self, uri: str) -> str:
        contents = (await self.client.read_resource(uri, cache_mode="bypass")).contents
        return str(contents[0].model_dump()["text"])

    async def subscribe(self, uri: str) -> None:
        if self.is_modern:
            await self.listen(resource_subscriptions=[uri])
        else:
            await self.client.session.subscribe_resource(uri)


@asynccontextmanager
async def official(
    address: Address,
    *,
    mode: str = "legacy",
    elicitation: bool = True,
    sampling: str | None = None,
    token: str | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[_Official]:
    """The client of `mcp` 2.3.

    Args:
        address: Where the server is.
        mode: `legacy`, a modern version, or `auto`, which looks for the modern era first.
        elicitation: Whether it has somebody to ask, and so declares it.
        sampling: What its model says; without it, it has none.
        token: What it sends as its bearer token.
        env: Variables for a server that it starts.
    """

    async def elicit(context: Any, params: Any) -> ElicitResult | ErrorData:
        if isinstance(params, ElicitRequestURLParams):
            reply = await connected.person.ask(params.message, None, params.url)
        else:
            reply = await connected.person.ask(params.message, params.requested_schema)
        if "error" in reply:
            return ErrorData(code=-32603, message=reply["error"])
        return ElicitResult.model_validate(reply)

    async def sample(context: Any, params: Any) -> CreateMessageResult:
        content = TextContent(type="text", text=f"{sampling} ({params.max_tokens})")
        return CreateMessageResult(role="assistant", content=content, model="none")

    async def log(params: Any) -> None:
        connected.heard.logs.append((params.level, params.data))

    async def message(message: Any) -> None:
        match message:
            case Exception():
                raise message
            case ResourceUpdatedNotification():
                connected.changes.put.send_nowait(str(message.params.uri))
            case ToolListChangedNotification():
                connected.changes.put.send_nowait("tools")

    async with _transport(address, env, token) as transport:
        client = OfficialClient(
            transport,
            mode=mode,
            elicitation_callback=elicit if elicitation else None,
            sampling_callback=sample if sampling is not None else None,
            logging_callback=log,
            log_level="info",  # in the modern era each request says so; before, the server's default is the same
            message_handler=message,
        )
        async with anyio.create_task_group() as group:
            connected = _Official(client, group)
            with closing(connected.changes):
                async with client:
                    if connected.is_modern:
                        await connected.listen(tools_list_changed=True)
                    yield connected
                    group.cancel_scope.cancel()


# mcp 2.3 without its client ---------------------------------------------------------------------------------------


class _ByHand:
    """Says what it is told to, in well-formed JSON-RPC."""

    def __init__(self, dispatcher: JSONRPCDispatcher[Any]) -> None:
        self.person = Person()
        self.heard = Heard()
        self.changes = Changes()
        self._dispatcher = dispatcher

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return await self._dispatcher.send_raw_request(method, params, {"headers": {"mcp-protocol-version": VERSION}})

    async def tools(self) -> dict[str, Mapping[str, Any]]:
        return {tool["name"]: tool for tool in (await self.request("tools/list"))["tools"]}

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, progress: bool = False) -> Result:
        assert not progress
        return Result.of(await self.request("tools/call", {"name": tool, "arguments": dict(arguments or {})}))

    async def resources(self) -> list[str]:
        return [resource["uri"] for resource in (await self.request("resources/list"))["resources"]]

    async def read(self, uri: str) -> str:
        return str((await self.request("resources/read", {"uri": uri}))["contents"][0]["text"])

    async def subscribe(self, uri: str) -> None:
        await self.request("resources/subscribe", {"uri": uri})


class _ByHandModern(_ByHand):
    """The same in the modern era: each request says everything, and a result that asks is answered by the next."""

    def __init__(self, dispatcher: JSONRPCDispatcher[Any], capabilities: Mapping[str, Any]) -> None:
        super().__init__(dispatcher)
        self._meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
            "io.modelcontextprotocol/clientCapabilities": dict(capabilities),
        }

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        given = {**(params or {}), "_meta": self._meta}
        headers = {"mcp-protocol-version": MODERN_VERSION, "mcp-method": method}
        if "name" in given or "uri" in given:
            headers["mcp-name"] = str(given.get("name", given.get("uri")))
        while True:
            result = await self._dispatcher.send_raw_request(method, given, {"headers": headers})
            if result["resultType"] == "complete":
                return result
            asked = {key: question["params"] for key, question in result["inputRequests"].items()}
            said = {key: await self.said(question) for key, question in asked.items()}
            given = {**given, "inputResponses": said, "requestState": result["requestState"]}

    async def said(self, question: Mapping[str, Any]) -> Any:
        reply = await self.person.ask(question["message"], question.get("requestedSchema"), question.get("url"))
        return CANCEL if "error" in reply else reply


@asynccontextmanager
async def by_hand_modern(
    address: Address,
    *,
    capabilities: Mapping[str, Any] = FORMS,
    elicitation: bool = True,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[_ByHandModern]:
    """`by_hand` in the modern era; an error of the person's dialog has no form of its own there, and is a cancel."""

    async def requested(context: Any, method: str, params: Any) -> dict[str, Any]:
        raise AssertionError(f"{method}: a server of the modern era sends no requests")

    async def notified(context: Any, method: str, params: Any) -> None:
        pass

    async with _transport(address, env) as transport, transport as (reads, writes):
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(reads, writes)
        client = _ByHandModern(dispatcher, capabilities if elicitation else {})
        with closing(client.changes):
            async with anyio.create_task_group() as group:
                await group.start(dispatcher.run, requested, notified)
                yield client
                group.cancel_scope.cancel()


@asynccontextmanager
async def by_hand(
    address: Address,
    *,
    capabilities: Mapping[str, Any] = FORMS,
    version: str = VERSION,
    elicitation: bool = True,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[_ByHand]:
    """The transports and the dispatcher of `mcp` 2.3, and nothing that would check what a person answers.

    Args:
        address: Where the server is.
        capabilities: What is declared.
        version: The revision that is wished for.
        elicitation: Whether anything is declared.
        env: Variables for a server that it starts.
    """

    async def requested(context: Any, method: str, params: Any) -> dict[str, Any]:
        if method != "elicitation/create":
            raise MCPError(code=-32601, message="Method not found")
        reply = await client.person.ask(params["message"], params.get("requestedSchema"), params.get("url"))
        if "error" in reply:
            raise MCPError(code=-32603, message=reply["error"])
        return dict(reply)

    async def notified(context: Any, method: str, params: Any) -> None:
        match method:
            case "notifications/resources/updated":
                client.changes.put.send_nowait(params["uri"])
            case "notifications/tools/list_changed":
                client.changes.put.send_nowait("tools")

    async with _transport(address, env) as transport, transport as (reads, writes):
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(reads, writes)
        client = _ByHand(dispatcher)
        with closing(client.changes):
            async with anyio.create_task_group() as group:
                await group.start(dispatcher.run, requested, notified)
                about = {"name": "by hand", "version": "0"}
                declared = dict(capabilities) if elicitation else {}
                params = {"protocolVersion": version, "capabilities": declared, "clientInfo": about}
                assert (await client.request("initialize", params))["protocolVersion"] == version
                await dispatcher.notify("notifications/initialized", None)
                yield client
                group.cancel_scope.cancel()


# mcp 1.30 ---------------------------------------------------------------------------------------------------------


class _Old:
    """The far end of `old_client.py`: a line of JSON for each wish, and for each thing that happened."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self.process = process
        self.person = Person()
        self.heard = Heard()
        self.changes = Changes()
        self._ids = 0
        self._waiting: dict[int, tuple[anyio.Event, dict[str, Any]]] = {}

    async def listen(self, ask: Callable[..., object], ready: anyio.Event) -> None:
        assert self.process.stdout is not None
        rest = b""
        async for chunk in self.process.stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                match json.loads(line):
                    case {"ready": _}:
                        ready.set()
                    case {"ask": number} as prompt:
                        ask(self._ask, number, prompt)
                    case {"log": [level, data]}:
                        self.heard.logs.append((level, data))
                    case {"progress": [done, total, message]}:
                        self.heard.progress.append((done, total, message))
                    case {"changed": what}:
                        self.changes.put.send_nowait(what)
                    case {"id": id} as response:
                        event, slot = self._waiting.pop(id)
                        slot.update(response)
                        event.set()
        for event, slot in self._waiting.values():
            slot["error"] = "the client is gone"
            event.set()

    async def _ask(self, number: int, prompt: Mapping[str, Any]) -> None:
        reply = await self.person.ask(prompt["message"], prompt["form"], prompt["url"])
        await self._write({"reply": number, "result": dict(reply)})

    async def _write(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(message).encode() + b"\n")

    async def _wish(self, do: str, **more: Any) -> Any:
        self._ids += 1
        id = self._ids
        event, slot = anyio.Event(), {}
        self._waiting[id] = (event, slot)
        await self._write({"id": id, "do": do, **more})
        try:
            await event.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._write({"cancel": id})
                await event.wait()
            raise
        if "error" in slot:
            raise RuntimeError(slot["error"])
        return slot["result"]

    async def tools(self) -> dict[str, Mapping[str, Any]]:
        return {tool["name"]: tool for tool in await self._wish("tools")}

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, progress: bool = False) -> Result:
        return Result.of(await self._wish("call", tool=tool, arguments=arguments, progress=progress))

    async def resources(self) -> list[str]:
        return list(await self._wish("resources"))

    async def read(self, uri: str) -> str:
        return str(await self._wish("read", uri=uri))

    async def subscribe(self, uri: str) -> None:
        await self._wish("subscribe", uri=uri)


@asynccontextmanager
async def old(
    address: Address, *, elicitation: bool = True, env: Mapping[str, str] | None = None
) -> AsyncIterator[_Old]:
    """The client of `mcp` 1.30, in a process of its own.

    Args:
        address: Where the server is.
        elicitation: Whether it has somebody to ask, and so declares it.
        env: Variables for it, and for a server that it starts.
    """
    given = {"address": address, "elicitation": elicitation, "cwd": str(ROOT)}
    command = [str(OLD_PYTHON), str(DRIVER), json.dumps(given)]
    # Measuring once more what other clients run of a server has its price: the start of each process takes longer.
    variables = {name: value for name, value in environment(env).items() if not name.startswith("COVERAGE_")}
    with TemporaryFile("w+", encoding="utf-8") as errors:
        async with await anyio.open_process(command, stderr=errors, env=variables) as process:
            client = _Old(process)
            ready = anyio.Event()
            with closing(client.changes):
                async with anyio.create_task_group() as group:
                    group.start_soon(client.listen, group.start_soon, ready)
                    with anyio.fail_after(PATIENCE):
                        await ready.wait()
                    yield client
                    assert process.stdin is not None
                    with anyio.move_on_after(PATIENCE):
                        await process.stdin.aclose()
                        await process.wait()
                    group.cancel_scope.cancel()
        errors.seek(0)
        said = errors.read()
    assert "Traceback" not in said, said


# fastmcp ----------------------------------------------------------------------------------------------------------


class _Fast:
    def __init__(self) -> None:
        self.person = Person()
        self.heard = Heard()
        self.changes = Changes()
        self.client: Any = None

    async def elicit(self, message: str, response_type: Any, params: Any, context: Any) -> Any:
        reply = await self.person.ask(message, getattr(params, "requested_schema", None), getattr(params, "url", None))
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return FastElicitResult(action=reply["action"], content=reply.get("content"))

    async def tools(self) -> dict[str, Mapping[str, Any]]:
        tools = await self.client.list_tools()
        return {tool.name: tool.model_dump(by_alias=True, exclude_none=True) for tool in tools}

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, progress: bool = False) -> Result:
        assert not progress
        result = await self.client.call_tool(tool, dict(arguments or {}), raise_on_error=False)
        texts = [block.text for block in result.content if block.type == "text"]
        return Result("\n".join(texts), result.is_error, result.structured_content)

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def read(self, uri: str) -> str:
        return str((await self.client.read_resource(uri))[0].text)

    async def subscribe(self, uri: str) -> None:
        raise NotImplementedError


@asynccontextmanager
async def fast(
    address: Address, *, mode: str = "auto", elicitation: bool = True, env: Mapping[str, str] | None = None
) -> AsyncIterator[_Fast]:
    """The client of `fastmcp`, which runs on asyncio alone.

    Args:
        address: Where the server is.
        mode: As that of `official`.
        elicitation: Whether it has somebody to ask, and so declares it.
        env: Variables for a server that it starts.
    """
    connected = _Fast()
    with NamedTemporaryFile("r", encoding="utf-8") as log, closing(connected.changes):
        if isinstance(address, str):
            transport: Any = StreamableHttpTransport(address)
        else:
            command, *arguments = address
            transport = StdioTransport(
                command, arguments, env=environment(env), cwd=str(ROOT), keep_alive=False, log_file=Path(log.name)
            )
        handler = connected.elicit if elicitation else None
        async with FastClient(transport, elicitation_handler=handler, mode=mode) as connected.client:
            yield connected
        said = log.read()
    assert "Traceback" not in said, said
