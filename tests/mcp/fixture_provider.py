"""A provider that offers everything there is, under bare names: what the endpoint's tests serve.

Its tools are coroutines in a `Home` of its own. As a program it serves itself: `python fixture_provider.py stdio` on
standard input and output, `… http FD` on an open socket.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio

from tesseron_py.errors import ActionError, NotFound, TesseronError
from tesseron_py.home import Home
from tesseron_py.invocation import (
    Body,
    Done,
    Failed,
    Form,
    Invocation,
    Log,
    Progress,
    Reply,
    Roots,
    Sample,
    Url,
)
from tesseron_py.mcp.provider import (
    Caller,
    Change,
    Client,
    Prompt,
    PromptOutput,
    Resource,
    ResourceOutput,
    ResourceTemplate,
    ResourceUpdated,
    ServerInfo,
    Tool,
    ToolOutput,
    ToolsChanged,
    UnknownPrompt,
    UnknownResource,
    UnknownTool,
)

CONFIRM = {"type": "object", "properties": {"approve": {"type": "boolean"}}, "required": ["approve"]}
ANYTHING: Mapping[str, Any] = {"type": "object"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

logger = logging.getLogger("fixture")


class Running:
    """One running tool: its invocation as an author would see it."""

    def __init__(self, provider: FixtureProvider, name: str, caller: Caller) -> None:
        self.name = name
        self.caller = caller
        self.scope = anyio.CancelScope()
        self.gone_on: list[Caller] = []
        self.invocation = Invocation(
            provider.home, on_cancel=self.scope.cancel, deadline=provider.deadline, on_caller=self.gone_on.append
        )

    async def ask(self, body: Body, key: str | None = None) -> Reply:
        replies: list[Reply] = []
        answered = anyio.Event()

        def on_reply(reply: Reply) -> None:
            replies.append(reply)
            answered.set()

        question = self.invocation.ask(body, on_reply=on_reply, key=key)
        try:
            await answered.wait()
        finally:
            self.invocation.withdraw(question.id)
        return replies[0]

    async def confirm(self, message: str = "Sure?") -> Reply:
        return await self.ask(Form(message, CONFIRM))


def show(reply: Reply) -> dict[str, Any]:
    """A reply as JSON, so that a test reads it in a result."""
    shown: dict[str, Any] = {"reply": type(reply).__name__}
    for member in ("content", "reason", "raw"):
        if hasattr(reply, member):
            shown[member] = getattr(reply, member)
    return shown


Handler = Callable[["FixtureProvider", Running, Mapping[str, Any]], Awaitable[Any]]


class FixtureProvider:
    """See the module. What happened is on record, for tests in the same process to look at."""

    def __init__(self, *, deadline: float = 1800.0) -> None:
        self.home = Home("fixture")
        self.deadline = deadline
        self.clients: list[Client] = []
        self.detached: list[Client] = []
        self.callers: list[Caller] = []
        self.running: dict[str, Running] = {}
        self.events: dict[str, anyio.Event] = {}
        self.ended: dict[str, Any] = {}
        self.subscriptions: dict[Client, set[str]] = {}
        self.handlers: dict[str, Handler] = dict(HANDLERS)
        self.listed = [*TOOLS]
        self.withdrawn: set[str] = set()
        self.readied = 0
        self.not_ready: Exception | None = None
        self.gate: anyio.Event | None = None

    # For tests

    def event(self, name: str) -> anyio.Event:
        """An event that a tool sets or waits for, by name."""
        return self.events.setdefault(name, anyio.Event())

    def change(self, change: Change) -> None:
        for client in self.clients:
            client.on_change(change)

    def update(self, uri: str) -> None:
        for client, uris in self.subscriptions.items():
            if uri in uris:
                client.on_change(ResourceUpdated(uri))

    # The provider

    @property
    def info(self) -> ServerInfo:
        return ServerInfo("fixture", "1.2.3", title="The fixture", instructions="Call echo.")

    async def ready(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.not_ready is not None:
            raise self.not_ready
        await self.home.open()
        self.readied += 1

    def attach(self, client: Client) -> None:
        self.clients.append(client)

    def detach(self, client: Client) -> None:
        self.clients.remove(client)
        self.detached.append(client)
        self.subscriptions.pop(client, None)
        self.event("detached").set()

    def tools(self, client: Client) -> Sequence[Tool]:
        return self.listed

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        if name == "refused":
            raise ActionError("Refused before it began", {"why": "test"})
        if name == "broken":
            raise RuntimeError("secret detail")
        if name not in self.handlers:
            raise UnknownTool(f"Unknown tool: {name}")
        self.callers.append(caller)
        running = Running(self, name, caller)
        self.running[str(arguments.get("as", name))] = running
        self.home.start(self._run, running, arguments)
        return running.invocation

    async def _run(self, running: Running, arguments: Mapping[str, Any]) -> None:
        name = str(arguments.get("as", running.name))
        try:
            with running.scope:
                value = await self.handlers[running.name](self, running, arguments)
                output = value if isinstance(value, ToolOutput) else ToolOutput(value)
                running.invocation.finish(Done(output))
                self.ended[name] = "done"
                return
            self.ended[name] = "cancelled"
        except TesseronError as error:
            running.invocation.finish(Failed(error))
            self.ended[name] = error
        except Exception as error:
            running.invocation.finish(Failed(ActionError(str(error))))
            self.ended[name] = error
        finally:
            self.event(f"ended {name}").set()

    def resources(self, client: Client) -> Sequence[Resource]:
        return [
            Resource("test://text", "text", "Some text", "text/plain"),
            Resource("test://blob", "blob", "A pixel", "image/png"),
            Resource("test://json", "json"),
        ]

    def read_resource(self, uri: str, caller: Caller) -> Invocation:
        values: dict[str, Any] = {
            "test://text": "héllo",
            "test://blob": b"\x00\xff",
            "test://json": {"n": 1},
            "test://empty": "",
        }
        if uri.startswith("test://template/"):
            return self._finished(ResourceOutput(uri, uri.removeprefix("test://template/")))
        if uri == "test://gone":
            return self._failed(NotFound("It went away"))
        if uri == "test://failing":
            return self._failed(ActionError("The disk is on fire", {"disk": 1}))
        if uri == "test://refused":
            raise NotFound("There is no such thing")
        if uri == "test://odd":
            return self._finished(ResourceOutput(uri, object()))
        if uri not in values:
            raise UnknownResource
        mime = "image/png" if uri == "test://blob" else None
        return self._finished(ResourceOutput(uri, values[uri], mime))

    def subscribe(self, uri: str, client: Client) -> Invocation:
        if uri in self.withdrawn:
            raise UnknownResource
        if uri == "test://failing":
            return self._failed(ActionError("Not now"))
        if uri == "test://gone":
            return self._failed(NotFound("It went away"))
        if not uri.startswith("test://"):
            raise UnknownResource(f"There is no {uri}")
        self.subscriptions.setdefault(client, set()).add(uri)
        return self._finished(None)

    def unsubscribe(self, uri: str, client: Client) -> Invocation:
        self.subscriptions.get(client, set()).discard(uri)
        return self._finished(None)

    def templates(self, client: Client) -> Sequence[ResourceTemplate]:
        return [ResourceTemplate("test://template/{id}", "template", "By id", "text/plain")]

    def prompts(self, client: Client) -> Sequence[Prompt]:
        return [
            Prompt("greet", "Greets", [{"name": "who", "description": "Whom", "required": True}]),
            Prompt("plain"),
        ]

    def get_prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Invocation:
        if name == "failing":
            return self._failed(TesseronError(-32602, "The argument who is missing"))
        if name == "refused":
            raise ActionError("Not this one")
        if name not in ("greet", "plain"):
            raise UnknownPrompt(f"Unknown prompt: {name}")
        text = {"type": "text", "text": f"Hello {arguments.get('who', 'you')}"}
        description = "A greeting" if name == "greet" else None
        return self._finished(PromptOutput([{"role": "user", "content": text}], description))

    def complete(
        self, ref: Mapping[str, Any], name: str, value: str, context: Mapping[str, str], caller: Caller
    ) -> Invocation:
        if ref.get("name") == "failing":
            return self._failed(ActionError("No idea"))
        if ref.get("name") not in ("greet", "many"):
            raise UnknownPrompt
        if ref["name"] == "many":
            return self._finished([str(n) for n in range(250)])
        return self._finished([f"{value}{end}" for end in ("a", "b")] + sorted(context.values()))

    def _finished(self, value: Any) -> Invocation:
        invocation = Invocation(self.home)
        invocation.finish(Done(value))
        return invocation

    def _failed(self, error: TesseronError) -> Invocation:
        invocation = Invocation(self.home)
        invocation.finish(Failed(error))
        return invocation


# The tools ---------------------------------------------------------------------------------------------------------


async def echo(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    return arguments.get("value", arguments)


async def confirm(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    return show(await running.confirm(arguments.get("question", "Sure?")))


async def elicit(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    schema = arguments.get("schema", {"type": "object", "properties": {"name": {"type": "string"}}})
    return show(await running.ask(Form(arguments.get("question", "Who?"), schema)))


async def visit(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    return show(await running.ask(Url("Log in there", "https://example.com/login")))


async def sample(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    messages = [{"role": "user", "content": {"type": "text", "text": "Say hi"}}]
    return show(await running.ask(Sample({"messages": messages, **arguments.get("params", {})})))


async def roots(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    return show(await running.ask(Roots()))


async def many(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Ask `count` questions at once; the replies, in the order of the questions."""
    replies: list[Any] = [None] * arguments["count"]

    async def one(i: int) -> None:
        replies[i] = show(await running.confirm(f"Question {i}"))

    async with anyio.create_task_group() as group:
        for i in range(arguments["count"]):
            group.start_soon(one, i)
    return replies


async def impatient(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Ask, and give the question up when the event `give up` is set."""
    async with anyio.create_task_group() as group:
        group.start_soon(running.confirm)
        await provider.event("give up").wait()
        group.cancel_scope.cancel()
    return "gave up"


async def progress(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    for step in arguments.get("steps", [[0, None], [50, "half"], [100, None]]):
        running.invocation.note(Progress(step[0], step[1]))
    return "done"


async def log(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    for level in arguments.get("levels", ["debug", "info", "warn", "error"]):
        running.invocation.note(Log(level, f"a {level} entry", arguments.get("meta")))
    return "logged"


async def slow(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Run until the event `go` is set."""
    provider.event("slow runs").set()
    await provider.event("go").wait()
    return "finished"


async def fail(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    raise TesseronError(arguments.get("code", -32005), arguments.get("message", "It failed"), arguments.get("data"))


async def structured(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    return arguments.get("value", {"n": 1})


async def strict_fail(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    raise ActionError("Out of stock", {"sku": "A1"})


async def blocks(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    content: list[Mapping[str, Any]] = arguments.get("content") or [
        {"type": "text", "text": "words"},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "test://text", "mimeType": "text/plain", "text": "held"}},
        {"type": "resource_link", "uri": "test://json", "name": "json"},
    ]
    return ToolOutput("unused", content)


async def big(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    if arguments.get("note"):
        running.invocation.note(Log("info", "on its way"))
    return "x" * arguments["size"]


async def printer(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    print("a print of \U0001f600", flush=True)
    sys.stdout.write("and unflushed")
    return sys.stdin.read()


async def chatty(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """Say something after the end."""
    running.invocation.finish(Done(ToolOutput("done")))
    running.invocation.note(Progress(50, "late"))
    running.invocation.note(Log("error", "late"))


async def odd(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    return ToolOutput(object())


async def grow(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    """One more tool, and a word to everyone."""
    provider.listed = [*provider.listed, Tool("grown", "It was not there before", ANYTHING)]
    provider.change(ToolsChanged())
    return "grown"


async def touch(provider: FixtureProvider, running: Running, arguments: Mapping[str, Any]) -> Any:
    provider.update(arguments["uri"])
    return "touched"


HANDLERS: dict[str, Handler] = {
    handler.__name__: handler
    for handler in (
        echo, confirm, elicit, visit, sample, roots, many, impatient, progress, log, slow, fail, structured,
        strict_fail, blocks, big, printer, chatty, odd, grow, touch,
    )
}  # fmt: skip

_STRICT = {"structured", "strict_fail"}
TOOLS = [
    Tool(
        name,
        (handler.__doc__ or f"The tool {name}").strip(),
        ANYTHING,
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}} if name in _STRICT else None,
        title=f"Tool {name}",
        read_only=name == "echo" or None,
        destructive=name == "confirm" or None,
        meta={"fixture": True},
    )
    for name, handler in HANDLERS.items()
]


class BareProvider:
    """Only what every provider has: no templates, prompts or completions."""

    def __init__(self, full: FixtureProvider) -> None:
        for name in (
            "ready", "attach", "detach", "tools", "call_tool", "resources", "read_resource", "subscribe", "unsubscribe",
        ):  # fmt: skip
            setattr(self, name, getattr(full, name))
        self.info = ServerInfo("bare", "0")


def main() -> None:
    from tesseron_py.mcp.stdio import serve_stdin_stdout

    backend = sys.argv[2] if len(sys.argv) > 2 else "asyncio"
    provider = FixtureProvider()
    if sys.argv[1] == "stdio":
        anyio.run(serve_stdin_stdout, provider, backend=backend)
    else:
        import socket

        import uvicorn

        from tesseron_py.mcp.http import HttpEndpoint

        config = uvicorn.Config(HttpEndpoint(provider), log_level="warning")
        uvicorn.Server(config).run([socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()
