"""The provider that the official MCP conformance suite asks for: its tools, prompts and resources, by its names.

What each does is what the suite says of it (`conformance list`, the scenarios' descriptions). One provider serves both
eras and asks the same way in both; it knows of no era. Whatever runs, runs as a task in its own home.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import anyio

from tesseron_py.errors import ActionError, ElicitationNotAvailable, SamplingNotAvailable, TesseronError
from tesseron_py.home import Home
from tesseron_py.invocation import (
    Accept,
    Body,
    Cancel,
    Decline,
    Done,
    Failed,
    Form,
    Invocation,
    Log,
    Note,
    Progress,
    Reply,
    Roots,
    Sample,
    Unavailable,
)
from tesseron_py.jsontext import encode
from tesseron_py.mcp.provider import (
    Caller,
    Client,
    ClientCapabilities,
    Prompt,
    PromptOutput,
    Resource,
    ResourceOutput,
    ResourceTemplate,
    ServerInfo,
    Tool,
    ToolOutput,
    ToolsChanged,
    UnknownPrompt,
    UnknownResource,
    UnknownTool,
)

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV: Final = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0"
).decode()

_TEMPLATE: Final = ("test://template/", "/data")


class Call:
    """One running tool or prompt, as its handler sees it."""

    def __init__(self, provider: Everything, caller: Caller) -> None:
        self.provider = provider
        self.scope = anyio.CancelScope()
        self.invocation = Invocation(provider.home, on_cancel=self.scope.cancel)
        self._caller = caller

    @property
    def capabilities(self) -> ClientCapabilities:
        return self._caller.capabilities

    def note(self, note: Note) -> None:
        self.invocation.note(note)

    async def ask(self, key: str, body: Body) -> Reply:
        """Ask, and wait for the reply.

        Raises:
            ElicitationNotAvailable: The client cannot ask the person.
            SamplingNotAvailable: It cannot sample.
            ActionError: It has no roots.
        """
        replies: list[Reply] = []
        replied = anyio.Event()

        def on_reply(reply: Reply) -> None:
            replies.append(reply)
            replied.set()

        question = self.invocation.ask(body, on_reply=on_reply, key=key)
        try:
            await replied.wait()
        finally:
            self.invocation.withdraw(question.id)
        [reply] = replies
        if isinstance(reply, Unavailable):
            match body:
                case Sample():
                    raise SamplingNotAvailable(reply.reason)
                case Roots():
                    raise ActionError(reply.reason)
            raise ElicitationNotAvailable(reply.reason)
        return reply

    async def answer(self, key: str, body: Body) -> Mapping[str, Any]:
        """What the client gave; anything but an accept fails the call."""
        reply = await self.ask(key, body)
        if not isinstance(reply, Accept):
            raise ActionError(f"There was no answer to {key!r}: {_shown(reply)}")
        return reply.content


Handler = Callable[[Call, Mapping[str, Any]], Awaitable[Any]]
"""Gives the `Done` value of the call."""

TOOLS: Final[dict[str, tuple[Tool, Handler]]] = {}
PROMPTS: Final[dict[str, tuple[Prompt, Handler]]] = {}


def tool(description: str, **properties: Mapping[str, Any]) -> Callable[[Handler], Handler]:
    """Offer a handler as a tool of its name, whose arguments are all required."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if properties:
        schema["required"] = list(properties)
    return _tool(description, schema)


def _tool(description: str, schema: Mapping[str, Any]) -> Callable[[Handler], Handler]:
    def offer(handler: Handler) -> Handler:
        TOOLS[handler.__name__] = Tool(handler.__name__, description, schema), handler
        return handler

    return offer


def prompt(description: str, **arguments: str) -> Callable[[Handler], Handler]:
    """Offer a handler as a prompt of its name; the arguments' descriptions by their names."""

    def offer(handler: Handler) -> Handler:
        named = [{"name": name, "description": what, "required": True} for name, what in arguments.items()]
        PROMPTS[handler.__name__] = Prompt(handler.__name__, description, named), handler
        return handler

    return offer


# Contents -----------------------------------------------------------------------------------------------------------


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image() -> dict[str, Any]:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def _resource(uri: str, mime_type: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def _shown(reply: Reply) -> str:
    match reply:
        case Accept(content):
            return f"action=accept, content={encode(content)}"
        case Decline():
            return "action=decline, content={}"
        case Cancel():
            return "action=cancel, content={}"
    return "no answer"


def _form(message: str, **properties: Mapping[str, Any]) -> Form:
    return Form(message, {"type": "object", "properties": properties, "required": list(properties)})


def _sampling(text: str, max_tokens: int) -> Sample:
    return Sample({"messages": [{"role": "user", "content": _text(text)}], "maxTokens": max_tokens})


_NAME: Final = {"type": "string"}
_OK: Final = {"type": "boolean"}


# Tools: results -----------------------------------------------------------------------------------------------------


@tool("Gives a line of text")
async def test_simple_text(call: Call, arguments: Mapping[str, Any]) -> Any:
    return "This is a simple text response for testing."


@tool("Gives an image")
async def test_image_content(call: Call, arguments: Mapping[str, Any]) -> Any:
    return ToolOutput(content=[_image()])


@tool("Gives a sound")
async def test_audio_content(call: Call, arguments: Mapping[str, Any]) -> Any:
    return ToolOutput(content=[{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])


@tool("Gives an embedded resource")
async def test_embedded_resource(call: Call, arguments: Mapping[str, Any]) -> Any:
    embedded = _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return ToolOutput(content=[embedded])


@tool("Gives a text, an image and a resource")
async def test_multiple_content_types(call: Call, arguments: Mapping[str, Any]) -> Any:
    embedded = _resource("test://mixed-content-resource", "application/json", encode({"test": "data", "value": 123}))
    return ToolOutput(content=[_text("Multiple content types test:"), _image(), embedded])


@tool("Fails")
async def test_error_handling(call: Call, arguments: Mapping[str, Any]) -> Any:
    raise ActionError("This tool intentionally returns an error for testing")


# Tools: progress and log --------------------------------------------------------------------------------------------


@tool("Logs three times")
async def test_tool_with_logging(call: Call, arguments: Mapping[str, Any]) -> Any:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.note(Log("info", message))
        await anyio.lowlevel.checkpoint()
    return "Logged three times"


@tool("Logs at every level, for a client that asked for none of it")
async def test_logging_tool(call: Call, arguments: Mapping[str, Any]) -> Any:
    for level in ("debug", "info", "warn", "error"):
        call.note(Log(level, f"This is of level {level}"))
        await anyio.lowlevel.checkpoint()
    return "Logged at every level"


@tool("Reports progress three times")
async def test_tool_with_progress(call: Call, arguments: Mapping[str, Any]) -> Any:
    for percent in (0, 50, 100):
        call.note(Progress(percent))
        await anyio.lowlevel.checkpoint()
    return "Reported progress three times"


# Tools: questions ---------------------------------------------------------------------------------------------------


@tool("Asks the client's model", prompt={"type": "string", "description": "What to ask it"})
async def test_sampling(call: Call, arguments: Mapping[str, Any]) -> Any:
    return f"LLM response: {_sampled(await call.answer('sampling', _sampling(arguments['prompt'], 100)))}"


def _sampled(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    return str(content.get("text")) if isinstance(content, Mapping) else encode(content)


@tool("Asks the person who they are", message={"type": "string", "description": "What to show the person"})
async def test_elicitation(call: Call, arguments: Mapping[str, Any]) -> Any:
    form = _form(
        arguments["message"],
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return f"User response: {_shown(await call.ask('user', form))}"


@tool("Asks the person with a default in every field")
async def test_elicitation_sep1034_defaults(call: Call, arguments: Mapping[str, Any]) -> Any:
    form = _form(
        "Is this right?",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return f"Elicitation completed: {_shown(await call.ask('defaults', form))}"


@tool("Asks the person to choose, in every way there is")
async def test_elicitation_sep1330_enums(call: Call, arguments: Mapping[str, Any]) -> Any:
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"},
    ]
    form = _form(
        "Choose",
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return f"Elicitation completed: {_shown(await call.ask('choices', form))}"


@tool("Asks the person while its response may be a stream")
async def test_streaming_elicitation(call: Call, arguments: Mapping[str, Any]) -> Any:
    call.note(Progress(50))
    return _shown(await call.ask("confirm", _form("Go on?", ok=_OK)))


@tool("Needs the client's model, whether it has one or not")
async def test_missing_capability(call: Call, arguments: Mapping[str, Any]) -> Any:
    return _sampled(await call.answer("sampling", _sampling("Are you there?", 100)))


@tool("Asks the person for their name")
async def test_input_required_result_elicitation(call: Call, arguments: Mapping[str, Any]) -> Any:
    return f"Hello, {await _name(call)}!"


async def _name(call: Call) -> str:
    return _string(await call.answer("user_name", _form("What is your name?", name=_NAME)), "name")


def _string(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise ActionError(f"The answer has no text {name!r}")
    return value


@tool("Asks the client's model for a capital")
async def test_input_required_result_sampling(call: Call, arguments: Mapping[str, Any]) -> Any:
    return _sampled(await call.answer("capital_question", _sampling("What is the capital of France?", 100)))


@tool("Asks the client for its roots")
async def test_input_required_result_list_roots(call: Call, arguments: Mapping[str, Any]) -> Any:
    return f"The client's roots: {await _roots(call)}"


async def _roots(call: Call) -> str:
    return encode((await call.answer("client_roots", Roots())).get("roots"))


@tool("Asks the person to confirm, and says that the state came back whole")
async def test_input_required_result_request_state(call: Call, arguments: Mapping[str, Any]) -> Any:
    content = await call.answer("confirm", _form("Please confirm", ok=_OK))
    return f"state-ok: {encode(content)}"


@tool("Asks the person to confirm, for a client that changes the state on the way")
async def test_input_required_result_tampered_state(call: Call, arguments: Mapping[str, Any]) -> Any:
    content = await call.answer("confirm", _form("Please confirm", ok=_OK))
    return f"The state was whole: {encode(content)}"


@tool("Asks the person, the model and the client at once")
async def test_input_required_result_multiple_inputs(call: Call, arguments: Mapping[str, Any]) -> Any:
    answers: dict[str, str] = {}

    async def name() -> None:
        answers["name"] = await _name(call)

    async def greeting() -> None:
        answers["greeting"] = _sampled(await call.answer("greeting", _sampling("Generate a greeting", 50)))

    async def roots() -> None:
        answers["roots"] = await _roots(call)

    async with anyio.create_task_group() as group:
        for ask in (name, greeting, roots):
            group.start_soon(ask)
    return answers


@tool("Asks the person twice, one after the other")
async def test_input_required_result_multi_round(call: Call, arguments: Mapping[str, Any]) -> Any:
    name = await call.answer("step1", _form("Step 1: What is your name?", name=_NAME))
    color = await call.answer("step2", _form("Step 2: What is your favorite color?", color=_NAME))
    return f"{_string(name, 'name')} likes {_string(color, 'color')}"


@tool("Asks whoever the client can reach, and nobody else")
async def test_input_required_result_capabilities(call: Call, arguments: Mapping[str, Any]) -> Any:
    answers: dict[str, Mapping[str, Any]] = {}

    async def ask(key: str, body: Body) -> None:
        answers[key] = await call.answer(key, body)

    async with anyio.create_task_group() as group:
        if call.capabilities.form:
            group.start_soon(ask, "user_name", _form("What is your name?", name=_NAME))
        if call.capabilities.sampling:
            group.start_soon(ask, "greeting", _sampling("Generate a greeting", 50))
        if call.capabilities.roots:
            group.start_soon(ask, "client_roots", Roots())
    return answers


# Tools: schemas, headers, lists -------------------------------------------------------------------------------------


@_tool(
    "Takes what a schema of 2020-12 can say",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(call: Call, arguments: Mapping[str, Any]) -> Any:
    return dict(arguments)


@tool("Takes an argument that is in a header, too", region={"type": "string", "x-mcp-header": "Region"})
async def test_header_parameter(call: Call, arguments: Mapping[str, Any]) -> Any:
    return f"The region is {arguments['region']}"


@tool("Changes the list of tools: one more, one less")
async def test_trigger_tool_change(call: Call, arguments: Mapping[str, Any]) -> Any:
    call.provider.change_tools()
    return "The list of tools is another"


# Prompts ------------------------------------------------------------------------------------------------------------


def _message(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content}


@prompt("A prompt without arguments")
async def test_simple_prompt(call: Call, arguments: Mapping[str, Any]) -> Any:
    return PromptOutput([_message(_text("This is a simple prompt for testing."))])


@prompt("A prompt with two arguments", arg1="First test argument", arg2="Second test argument")
async def test_prompt_with_arguments(call: Call, arguments: Mapping[str, Any]) -> Any:
    text = f"Prompt with arguments: arg1='{arguments.get('arg1', '')}', arg2='{arguments.get('arg2', '')}'"
    return PromptOutput([_message(_text(text))])


@prompt("A prompt that embeds a resource", resourceUri="URI of the resource to embed")
async def test_prompt_with_embedded_resource(call: Call, arguments: Mapping[str, Any]) -> Any:
    uri = arguments.get("resourceUri", "test://example-resource")
    embedded = _resource(uri, "text/plain", "Embedded resource content for testing.")
    return PromptOutput([_message(embedded), _message(_text("Please process the embedded resource above."))])


@prompt("A prompt with an image")
async def test_prompt_with_image(call: Call, arguments: Mapping[str, Any]) -> Any:
    return PromptOutput([_message(_image()), _message(_text("Please analyze the image above."))])


@prompt("A prompt that asks the person what it is about")
async def test_input_required_result_prompt(call: Call, arguments: Mapping[str, Any]) -> Any:
    asked = _form("What context should the prompt use?", context=_NAME)
    context = _string(await call.answer("user_context", asked), "context")
    return PromptOutput([_message(_text(f"Please consider this: {context}"))])


# The provider -------------------------------------------------------------------------------------------------------


class Everything:
    """See the module. Its home is opened by `ready` and closed by `aclose`."""

    def __init__(self) -> None:
        self.home = Home("the conformance fixture")
        self._clients: list[Client] = []
        self._extra = False

    @property
    def info(self) -> ServerInfo:
        return ServerInfo("mcp-conformance-fixture", "1.0.0", title="Everything the suite asks for")

    async def ready(self) -> None:
        await self.home.open()

    async def aclose(self) -> None:
        await self.home.aclose()

    def change_tools(self) -> None:
        """One more tool, or one less again."""
        self._extra = not self._extra
        for client in self._clients:
            client.on_change(ToolsChanged())

    def attach(self, client: Client) -> None:
        self._clients.append(client)

    def detach(self, client: Client) -> None:
        if client in self._clients:
            self._clients.remove(client)

    def tools(self, client: Client) -> Sequence[Tool]:
        tools = [tool for tool, _ in TOOLS.values()]
        if self._extra:
            tools.append(Tool("test_dynamic_tool", "Is there at times", {"type": "object"}))
        return tools

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        if name not in TOOLS:
            raise UnknownTool
        given, handler = TOOLS[name]
        missing = [required for required in given.input_schema.get("required", ()) if required not in arguments]
        if missing:
            raise ActionError(f"The argument {missing[0]!r} of {name} is missing")
        return self._start(handler, arguments, caller)

    def resources(self, client: Client) -> Sequence[Resource]:
        return [
            Resource("test://static-text", "static-text", "A text that never changes", "text/plain"),
            Resource("test://static-binary", "static-binary", "An image that never changes", "image/png"),
            Resource("test://watched-resource", "watched-resource", "A text to subscribe to", "text/plain"),
        ]

    def read_resource(self, uri: str, caller: Caller) -> Invocation:
        start, end = _TEMPLATE
        match uri:
            case "test://static-text":
                return self._done(ResourceOutput(uri, "This is the content of the static text resource."))
            case "test://static-binary":
                return self._done(ResourceOutput(uri, base64.b64decode(PNG), "image/png"))
            case "test://watched-resource":
                return self._done(ResourceOutput(uri, "Watch me"))
            case _ if uri.startswith(start) and uri.endswith(end) and len(uri) > len(start + end):
                id = uri[len(start) : -len(end)]
                value = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
                return self._done(ResourceOutput(uri, value))
        raise UnknownResource

    def subscribe(self, uri: str, client: Client) -> Invocation:
        if uri not in {resource.uri for resource in self.resources(client)}:
            raise UnknownResource
        return self._done(None)

    def unsubscribe(self, uri: str, client: Client) -> Invocation:
        return self._done(None)

    def templates(self, client: Client) -> Sequence[ResourceTemplate]:
        return [ResourceTemplate("{id}".join(_TEMPLATE), "template", "Data by id", "application/json")]

    def prompts(self, client: Client) -> Sequence[Prompt]:
        return [prompt for prompt, _ in PROMPTS.values()]

    def get_prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Invocation:
        if name not in PROMPTS:
            raise UnknownPrompt
        return self._start(PROMPTS[name][1], arguments, caller)

    def complete(
        self, ref: Mapping[str, Any], name: str, value: str, context: Mapping[str, str], caller: Caller
    ) -> Invocation:
        if ref.get("name") not in PROMPTS:
            raise UnknownPrompt
        return self._done([word for word in ("paris", "park", "party", "test", "testing") if word.startswith(value)])

    # Inside

    def _done(self, value: Any) -> Invocation:
        invocation = Invocation(self.home)
        invocation.finish(Done(value))
        return invocation

    def _start(self, handler: Handler, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        call = Call(self, caller)
        self.home.start(self._run, handler, call, arguments)
        return call.invocation

    async def _run(self, handler: Handler, call: Call, arguments: Mapping[str, Any]) -> None:
        with call.scope:
            try:
                call.invocation.finish(Done(await handler(call, arguments)))
            except Exception as error:
                call.invocation.finish(Failed(_reason(error)))


def _reason(error: Exception) -> TesseronError:
    """What a call failed with; of several questions that failed together, the first."""
    match error:
        case TesseronError():
            return error
        case ExceptionGroup():
            return _reason(error.exceptions[0])
    return ActionError(str(error))
