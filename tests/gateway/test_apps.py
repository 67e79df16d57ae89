"""The gateway's end of a connection: hello, calls, questions, and what a bad app costs (Tesseron 1.2 §3 to §7)."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import anyio
import pytest

from tesseron_py.bindings import memory
from tesseron_py.bindings.channel import Closed
from tesseron_py.gateway import apps
from tesseron_py.gateway.answers import APPROVE
from tesseron_py.invocation import (
    TOO_MANY_PROMPTS,
    Accept,
    Cancel,
    Decline,
    Form,
    Log,
    Malformed,
    Progress,
    Reply,
    Sample,
    Unavailable,
    Url,
)
from tesseron_py.limits import Limits
from tesseron_py.mcp.provider import (
    ResourceOutput,
    ResourcesChanged,
    ResourceUpdated,
    ToolOutput,
    ToolsChanged,
    UnknownResource,
    UnknownTool,
)

from .fake_app import HELLO, FakeApp, FakeClient, connect, error, gateway_of, outcome, question, value

WAREHOUSE = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


async def closed(app: FakeApp) -> None:
    with pytest.raises(Closed):
        while True:
            await app.recv()


async def test_a_hello_is_welcomed_and_its_actions_are_tools() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        welcome = (await app.hello())["result"]
        assert welcome["protocolVersion"] == "1.2.0"
        assert welcome["sessionId"].startswith("s_")
        assert welcome["agent"] == {"id": "pending", "name": "Awaiting agent"}
        assert welcome["capabilities"] == HELLO["capabilities"]
        assert "claimCode" not in welcome
        assert "extensions" not in welcome
        (tool,) = gateway.tools(client.client)
        assert (tool.name, tool.description) == ("shop__clear", "Empty the cart")
        (resource,) = gateway.resources(client.client)
        assert resource.uri == "tesseron://shop/cart"
        assert client.changes == [ToolsChanged(), ResourcesChanged()]
        await app.channel.aclose()
        await anyio.wait_all_tasks_blocked()
        assert gateway.tools(client.client) == []
        assert client.changes == [ToolsChanged(), ResourcesChanged()] * 2


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"protocolVersion": "2.0.0"}, -32000, "protocol"),
        ({"protocolVersion": None}, -32000, "protocol"),
        ({"app": None}, -32602, "'app'"),
        ({"app": {"id": "My-App", "name": "x"}}, -32602, "app.id"),
        ({"app": {"id": "tesseron", "name": "x"}}, -32602, "reserved"),
        ({"actions": {}}, -32602, "'actions'"),
        ({"resources": None}, -32602, "'resources'"),
    ],
)
async def test_a_hello_it_cannot_take_is_refused_with_the_reason_and_closed(
    change: dict[str, Any], code: int, says: str
) -> None:
    async with gateway_of() as gateway:
        app = connect(gateway)
        refused = (await app.hello(**change))["error"]
        assert refused["code"] == code
        assert says in refused["message"]
        await closed(app)
        assert gateway.apps == ()


async def test_a_hello_without_params_is_refused() -> None:
    async with gateway_of() as gateway:
        app = connect(gateway)
        await app.send(id=1, method="tesseron/hello")
        assert (await app.recv())["error"]["code"] == -32602
        await closed(app)


async def test_another_minor_version_is_taken_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway_of() as gateway:
        app = connect(gateway)
        assert "result" in await app.hello(protocolVersion="1.9.0")
    assert "1.9.0" in caplog.text


async def test_frames_out_of_turn_are_refused_and_the_connection_lives() -> None:
    async with gateway_of() as gateway:
        app = connect(gateway)
        await app.ask("i-1")
        assert (await app.recv())["error"]["code"] == -32600
        await app.send(id=2, method="tesseron/resume", params={})
        assert (await app.recv())["error"]["code"] == -32011
        assert "result" in await app.hello()
        assert (await app.hello())["error"]["code"] == -32600
        await app.send(id=3, method="tesseron/resume", params={})
        assert (await app.recv())["error"]["code"] == -32600
        await app.send(id=4, method="what/ever", params={})
        assert (await app.recv())["error"]["code"] == -32601
        assert len(gateway.apps) == 1


async def test_an_app_that_says_no_hello_is_closed() -> None:
    async with gateway_of(limits=Limits(handshake=0.01)) as gateway:
        await closed(connect(gateway))


async def test_a_foreign_manifest_is_made_safe() -> None:
    actions = [
        None,
        {"description": "no name"},
        {"name": ""},
        {"name": "a.b", "description": "bad name"},
        {"name": "x" * 70, "description": "long name"},
        {"name": "bare"},
        {"name": "odd", "description": None, "inputSchema": {"type": ["object"]}, "annotations": {"readOnly": "yes"}},
        {
            "name": "good",
            "description": "Good",
            "inputSchema": {"$schema": "x", "type": "object", "required": None, "properties": None},
            "annotations": {"destructive": True, "requiresConfirmation": True},
        },
        {"name": "worse", "description": "", "inputSchema": {"type": "object", "required": 7, "properties": []}},
        {"name": "strict", "outputSchema": {"$schema": "x", "type": "object"}, "strictOutput": True},
        {"name": "loose", "outputSchema": {"type": "object"}, "strictOutput": "yes"},
    ]
    resources = [None, {}, {"name": "todos://all"}, {"name": "cart", "subscribable": "yes"}]
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(actions=actions, resources=resources)
        tools = {tool.name: tool for tool in gateway.tools(client.client)}
        assert list(tools) == [
            *("shop__bare", "shop__odd", "shop__good", "shop__worse"),
            *("shop__strict", "shop__loose"),
        ]
        assert tools["shop__strict"].output_schema == {"type": "object"}
        assert tools["shop__loose"].output_schema is None  # nobody promises that its outputs fit
        assert tools["shop__bare"].description == "bare of The shop"
        assert tools["shop__bare"].input_schema == {"type": "object"}
        assert tools["shop__odd"].input_schema == {"type": "object"}
        assert tools["shop__odd"].read_only is None
        assert tools["shop__good"].input_schema == {"type": "object"}
        assert tools["shop__worse"].input_schema == {"type": "object"}
        assert tools["shop__good"].destructive is True
        assert tools["shop__good"].meta == {"tesseron/requiresConfirmation": True}
        assert "asked to confirm" in tools["shop__good"].description
        listed = gateway.resources(client.client)
        assert [(resource.uri, resource.description) for resource in listed] == [
            ("tesseron://shop/todos%3A%2F%2Fall", "todos://all of The shop"),
            ("tesseron://shop/cart", "cart of The shop"),
        ]
        invocation = gateway.call_tool("shop__a.b", {}, client.caller())  # not listed, and still there
        assert (await app.recv())["params"]["name"] == "a.b"
        invocation.cancel()


async def test_a_call_goes_to_the_app_and_its_output_comes_back() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {"all": True}, client.caller())
        request = await app.recv()
        assert request["method"] == "actions/invoke"
        assert request["params"]["name"] == "clear"
        assert request["params"]["input"] == {"all": True}
        assert "caller" not in request["params"]
        id = request["params"]["invocationId"]
        await app.send(method="actions/progress", params={"invocationId": id, "percent": 10, "message": "going"})
        await app.send(method="actions/progress", params={"invocationId": id, "percent": "x", "message": 7, "data": 1})
        await app.send(method="log", params={"invocationId": id, "level": "warn", "message": "hm", "meta": {"a": 1}})
        await app.send(method="log", params={"invocationId": id, "level": "loud", "message": "odd"})
        await app.send(id=request["id"], result={"invocationId": id, "output": {"removed": 5}})
        assert await value(invocation) == ToolOutput({"removed": 5})
        assert [note for _, note in invocation.notes_after(0)] == [
            Progress(10.0, "going"),
            Progress(None, None, 1),
            Log("warn", "hm", {"a": 1}),
            Log("info", "odd"),
        ]
        with pytest.raises(UnknownTool):
            gateway.call_tool("shop__none", {}, client.caller())


async def test_an_app_of_ours_is_told_who_calls_and_what_its_client_can_do() -> None:
    async with gateway_of(bare_names=True) as gateway:
        client, app = FakeClient(gateway, "Codex"), connect(gateway)
        welcome = (await app.hello(extensions={"tesseron-py": 1}))["result"]
        assert welcome["extensions"] == {"tesseron-py": 1}
        invocation = gateway.call_tool("clear", {}, client.caller(form=False, progress=False))
        request = await app.recv()
        assert request["params"]["caller"] == {
            "agent": {"id": "Codex", "name": "Codex"},
            "capabilities": {
                "streaming": False,
                "subscriptions": True,
                "sampling": True,
                "elicitation": False,
                "elicitationUrl": True,
            },
            "era": "legacy",
        }
        block = {"type": "text", "text": "hi"}
        await app.send(id=request["id"], result={"invocationId": "i-1", "output": [block], "content": [block]})
        assert await value(invocation) == ToolOutput([block], [block])


@pytest.mark.parametrize("result", [None, 7, {}, {"invocationId": "i-1"}, "text"])
async def test_a_result_without_an_output_is_a_clear_error(result: Any) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        await app.send(id=request["id"], result=result)
        code, message, _ = await error(invocation)
        assert code == -32603
        assert "no output" in message


async def test_an_error_of_the_app_keeps_code_message_and_data() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        await app.send(id=request["id"], error={"code": -31000, "message": "mine", "data": {"x": [1]}})
        assert await error(invocation) == (-31000, "mine", {"x": [1]})


REPLIES: list[tuple[Reply, dict[str, Any], dict[str, Any]]] = [
    (Accept({"approve": True}), {"action": "accept"}, {"action": "accept", "value": {"approve": True}}),
    (Accept({"approve": "true"}), {"action": "decline"}, {"action": "accept", "value": {"approve": "true"}}),
    (Accept({"approve": 1}), {"action": "decline"}, {"action": "accept", "value": {"approve": 1}}),
    (Accept({"approve": False}), {"action": "decline"}, {"action": "accept", "value": {"approve": False}}),
    (Accept({}), {"action": "decline"}, {"action": "accept", "value": {}}),
    (
        Accept({"n": 0, "s": "", "b": False, "x": None}),
        {"action": "decline"},
        {"action": "accept", "value": {"n": 0, "s": "", "b": False, "x": None}},
    ),
    (Decline(), {"action": "decline"}, {"action": "decline"}),
    (Cancel("dismissed"), {"action": "cancel"}, {"action": "cancel"}),
    (Malformed({"action": "reject"}), {"action": "reject"}, {"action": "reject", "value": None}),
    (
        Malformed({"action": "accept", "content": "yes"}),
        {"action": "decline"},
        {"action": "accept", "value": "yes"},
    ),
    (Malformed("yes"), {"action": None}, {"action": None, "value": "yes"}),
    (Malformed(None), {"action": None}, {"action": None, "value": None}),
    (Malformed({"action": "accept"}), {"action": None}, {"action": None, "value": None}),
    (
        Malformed({"action": "accept", "content": {"approve": True}}),
        {"action": None},
        {"action": None, "value": {"approve": True}},
    ),
]


@pytest.mark.parametrize(("reply", "confirmed", "elicited"), REPLIES)
async def test_fields_28_36_52_what_the_app_hears_of_every_reply(
    reply: Reply, confirmed: dict[str, Any], elicited: dict[str, Any]
) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        for schema, hears in ((None, confirmed), (WAREHOUSE, elicited)):
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            id = (await app.recv())["params"]["invocationId"]
            await app.ask(id, **({"schema": schema} if schema else {}))
            asked = await question(invocation)
            assert asked.body == Form("Sure?", schema if schema else APPROVE)
            assert invocation.answer(asked.id, reply) == "taken"
            assert await app.recv() == {"jsonrpc": "2.0", "id": "e-1", "result": hears}
            invocation.cancel()
            assert (await app.recv())["method"] == "actions/cancel"


async def test_an_answer_that_cannot_go_on_the_wire_is_an_error_at_once() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        deep: Any = "bottom"
        for _ in range(195):
            deep = [deep]
        looped: list[Any] = []
        looped.append(looped)
        for content in ({"id": deep}, {"id": looped}, {"id": object()}):
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            await app.ask((await app.recv())["params"]["invocationId"], schema=WAREHOUSE)
            invocation.answer((await question(invocation)).id, Accept(content))
            refused = (await app.recv())["error"]
            assert refused["code"] == -32603
            assert "cannot be sent to the app" in refused["message"]
            invocation.cancel()
            await app.recv()


async def test_field_83_an_answer_above_the_apps_frame_is_an_error_and_the_session_survives() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway, limit=4000)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        for content, hears in (("x" * 5000, "error"), ("x" * 3000, "result")):
            await app.ask(id, schema=WAREHOUSE)
            invocation.answer((await question(invocation)).id, Accept({"id": content}))
            answer = await app.recv()
            assert hears in answer
            if hears == "error":
                assert answer["error"]["code"] == -32603
                assert "cannot be sent to the app" in answer["error"]["message"]


async def test_a_bare_confirm_form_is_confirmed_by_any_accept_and_nothing_else() -> None:
    async with gateway_of(confirm_form="empty") as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        for reply, hears in (
            (Accept({}), "accept"),
            (Accept({"approve": False}), "accept"),
            (Decline(), "decline"),
            (Malformed({"action": "accept", "content": 7}), "decline"),
        ):
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            await app.ask((await app.recv())["params"]["invocationId"])
            asked = await question(invocation)
            assert isinstance(asked.body, Form)
            assert asked.body.schema["properties"] == {}
            invocation.answer(asked.id, reply)
            assert (await app.recv())["result"] == {"action": hears}
            invocation.cancel()
            await app.recv()


async def test_a_client_that_cannot_ask_is_not_asked() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        gateway.call_tool("shop__clear", {}, client.caller(form=False, url=False, sampling=False))
        id = (await app.recv())["params"]["invocationId"]
        await app.ask(id)
        assert (await app.recv())["error"]["code"] == -32007
        await app.ask(id, kind="url", url="https://x.example")
        assert (await app.recv())["error"]["code"] == -32007
        await app.send(id=3, method="sampling/request", params={"invocationId": id, "prompt": "x"})
        assert (await app.recv())["error"]["code"] == -32006


async def test_what_a_call_may_ask_goes_by_its_newest_caller_with_any_app() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        nothing = {"form": False, "url": False, "sampling": False}
        invocation = gateway.call_tool("shop__clear", {}, client.caller(**nothing))
        id = (await app.recv())["params"]["invocationId"]
        await app.ask(id)
        assert (await app.recv())["error"]["code"] == -32007
        invocation.go_on(client.caller())
        await app.ask(id, 2, kind="url", url="https://x.example")
        await question(invocation)
        await app.send(id=3, method="sampling/request", params={"invocationId": id, "prompt": "x"})
        await app.nothing_comes()
        invocation.go_on(client.caller(**nothing))
        await app.send(id=4, method="sampling/request", params={"invocationId": id, "prompt": "x"})
        assert ((refused := await app.recv())["id"], refused["error"]["code"]) == (4, -32006)
        await app.ask(id, 5)
        assert ((refused := await app.recv())["id"], refused["error"]["code"]) == (5, -32007)
        assert [type(asked.body) for asked in invocation.view().open] == [Url, Sample]
        invocation.answer(invocation.view().open[0].id, Decline())
        assert await app.recv() == {"jsonrpc": "2.0", "id": 2, "result": {"action": "decline"}}  # and nothing before it
        await app.nothing_comes()


async def test_an_app_of_ours_is_told_of_another_caller_before_the_answer_of_its_question() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(extensions={"tesseron-py": 1})
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        id, caller = request["params"]["invocationId"], request["params"]["caller"]
        await app.ask(id)
        asked = await question(invocation)
        invocation.go_on(FakeClient(gateway).caller())  # another who is and can the same
        await app.nothing_comes()
        invocation.go_on(client.caller(form=False))
        invocation.answer(asked.id, Decline())
        told = await app.recv()
        assert told["method"] == "actions/caller"
        caller = {**caller, "capabilities": {**caller["capabilities"], "elicitation": False}}
        assert told["params"] == {"invocationId": id, "caller": caller}
        assert "id" not in told
        assert (await app.recv())["result"] == {"action": "decline"}
        invocation.go_on(FakeClient(gateway, "Codex").caller(form=False))
        caller = {**caller, "agent": {"id": "Codex", "name": "Codex"}}
        assert (await app.recv())["params"] == {"invocationId": id, "caller": caller}
        await app.send(id=request["id"], result={"output": 1})
        assert await value(invocation) == ToolOutput(1)
        invocation.go_on(client.caller())
        await app.nothing_comes()


async def test_an_app_that_does_not_read_is_told_of_the_newest_caller_with_its_next_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apps, "MAX_OUTBOX", 8)
    monkeypatch.setattr(memory, "CAPACITY", 4)
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(extensions={"tesseron-py": 1})
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        await app.ask(id)
        asked = await question(invocation)
        for _ in range(50):
            invocation.go_on(client.caller(form=False))
            invocation.go_on(client.caller(sampling=False))
        invocation.go_on(client.caller(form=False, sampling=False))
        invocation.answer(asked.id, Decline())
        frames = [await app.recv()]
        while "result" not in frames[-1]:
            frames.append(await app.recv())
        assert len(frames) <= 4 + 8 + 2
        can = frames[-2]["params"]["caller"]["capabilities"]
        assert (can["elicitation"], can["sampling"]) == (False, False)
        assert len(gateway.apps) == 1


async def test_a_caller_that_cannot_be_told_costs_the_app_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway, limit=2000)
        await app.hello(extensions={"tesseron-py": 1})
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        invocation.go_on(FakeClient(gateway, "x" * 3000).caller(form=False))
        assert "cannot be told" in caplog.text
        await app.ask(request["params"]["invocationId"])
        assert (await app.recv())["error"]["code"] == -32007
        await app.send(id=request["id"], result={"output": 1})
        assert await value(invocation) == ToolOutput(1)


async def test_a_question_that_becomes_unavailable_is_told_why() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        for reply, code, data in (
            (Unavailable(TOO_MANY_PROMPTS, 2), -32603, {"reason": "too_many_prompts", "limit": 2}),
            (Unavailable("the client takes no stream"), -32007, None),
        ):
            invocation = gateway.call_tool("shop__clear", {}, client.caller())
            await app.ask((await app.recv())["params"]["invocationId"])
            invocation.answer((await question(invocation)).id, reply)
            refused = (await app.recv())["error"]
            assert refused["code"] == code
            assert refused.get("data") == data
            invocation.cancel()
            await app.recv()


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"invocationId": "unknown"},
        {"invocationId": "ID", "question": 7},
        {"invocationId": "ID", "question": "?", "schema": None},
        {"invocationId": "ID", "question": "?", "schema": {"type": "array"}},
        {"invocationId": "ID", "question": "?", "schema": {"type": "object", "oneOf": [{}]}},
        {"invocationId": "ID", "question": "?", "schema": {"type": "object", "properties": {"a": {"type": "object"}}}},
        {"invocationId": "ID", "question": "?", "schema": {"type": "object"}, "kind": "url"},
    ],
)
async def test_a_question_that_is_none_is_refused_and_nobody_is_asked(params: Any) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        if params and params.get("invocationId") == "ID":
            params = {**params, "invocationId": id}
        await app.send(id=5, method="elicitation/request", params=params)
        refused = await app.recv()
        assert refused["id"] == 5
        assert refused["error"]["code"] == -32602
        assert invocation.view().open == ()


async def test_a_question_is_withdrawn_when_the_app_gives_it_up() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        await app.ask(id, id="7", key="sure")
        asked = await question(invocation)
        assert asked.key == "sure"
        for request_id in (7, "8", None):
            await app.send(method="elicitation/withdraw", params={"invocationId": id, "requestId": request_id})
        await app.nothing_comes()
        assert invocation.view().open == (asked,)
        await app.send(method="elicitation/withdraw", params={"invocationId": id, "requestId": "7"})
        await app.nothing_comes()
        assert invocation.view().open == ()
        assert invocation.answer(asked.id, Accept({"approve": True})) == "unknown"
        await app.nothing_comes()


async def test_a_url_is_for_the_person_and_sampling_for_the_model() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        await app.ask(id, kind="url", url="https://pay.example")
        asked = await question(invocation)
        assert asked.body == Url("Sure?", "https://pay.example")
        invocation.answer(asked.id, Accept({}))
        assert (await app.recv())["result"] == {"action": "accept"}

        for number in range(4):
            params: dict[str, Any] = {"invocationId": id, "prompt": f"say {number}"}
            if number == 1:
                params["maxTokens"] = 50
            await app.send(id=number, method="sampling/request", params=params)
        refused = await app.recv()
        assert refused["id"] == 3
        assert refused["error"]["code"] == -32008
        assert refused["error"]["data"] == {"depth": 4, "max": 3}
        first, second, third = invocation.view().open
        message = {"role": "user", "content": {"type": "text", "text": "say 1"}}
        assert second.body == Sample({"messages": [message], "maxTokens": 50})
        assert isinstance(first.body, Sample)
        assert first.body.params["maxTokens"] == 1024
        content = {"type": "text", "text": "hi"}
        invocation.answer(first.id, Accept({"role": "assistant", "content": content, "model": "m"}))
        assert (await app.recv())["result"] == {"content": content}
        invocation.answer(second.id, Cancel("refused"))
        assert (await app.recv())["error"]["code"] == -32603
        invocation.answer(third.id, Unavailable("no stream"))
        assert (await app.recv())["error"]["code"] == -32006
        await app.send(id=9, method="sampling/request", params={"invocationId": id, "prompt": 7})
        assert (await app.recv())["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("reply", "code", "data"),
    [
        (Unavailable(TOO_MANY_PROMPTS, 2), -32603, {"reason": "too_many_prompts", "limit": 2}),
        (Malformed(None), -32603, None),
        (Malformed({"content": "x"}), -32603, None),
        (Accept({"content": {"type": "text", "text": "x" * 5000}}), -32603, None),
    ],
)
async def test_what_a_model_does_not_say_is_an_error(reply: Reply, code: int, data: Any) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway, limit=4000)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        await app.send(id=1, method="sampling/request", params={"invocationId": id, "prompt": "say"})
        invocation.answer((await question(invocation)).id, reply)
        refused = (await app.recv())["error"]
        assert (refused["code"], refused.get("data")) == (code, data)


async def test_as_many_questions_as_a_call_may_have() -> None:
    async with gateway_of(limits=Limits(questions=2)) as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        gateway.call_tool("shop__clear", {}, client.caller())
        id = (await app.recv())["params"]["invocationId"]
        for number in range(3):
            await app.ask(id, id=number)
        refused = await app.recv()
        assert refused["id"] == 2
        assert refused["error"]["data"] == {"reason": "too_many_prompts", "limit": 2}


async def test_a_cancelled_call_is_cancelled_at_the_app_before_its_question_is() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        id = request["params"]["invocationId"]
        await app.ask(id)
        await question(invocation)
        invocation.cancel()
        assert await app.recv() == {"jsonrpc": "2.0", "method": "actions/cancel", "params": {"invocationId": id}}
        assert (await app.recv())["result"] == {"action": "cancel"}
        await app.send(id=request["id"], result={"invocationId": id, "output": "late"})
        await app.ask(id, id="late")
        assert (await app.recv())["error"]["code"] == -32602
        assert (await error(invocation))[0] == -32001


async def test_field_47_an_app_that_goes_away_fails_its_calls_and_no_other() -> None:
    async with gateway_of() as gateway:
        client, shop, bank = FakeClient(gateway), connect(gateway), connect(gateway)
        await shop.hello()
        await bank.hello(app={"id": "bank", "name": "The bank"})
        lost = gateway.call_tool("shop__clear", {}, client.caller())
        kept = gateway.call_tool("bank__clear", {}, client.caller())
        await shop.ask((await shop.recv())["params"]["invocationId"])
        await question(lost)
        await shop.channel.aclose()
        code, message, _ = await error(lost)
        assert code == -32010
        assert "The shop" in message
        assert lost.view().open == ()
        request = await bank.recv()
        await bank.send(id=request["id"], result={"output": 1})
        assert await value(kept) == ToolOutput(1)
        with pytest.raises(UnknownTool):
            gateway.call_tool("shop__clear", {}, client.caller())


async def test_what_waits_at_a_connection_that_ends_fails_at_once_and_so_does_what_comes_after() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        (connected,) = gateway.apps
        uri = "tesseron://shop/cart"
        subscription = gateway.subscribe(uri, client.client)
        await app.send(id=(await app.recv())["id"], result=None)
        assert await value(subscription) is None
        waiting = [
            gateway.call_tool("shop__clear", {}, client.caller()),
            gateway.read_resource(uri, client.caller()),
            gateway.unsubscribe(uri, client.client),
        ]
        waiting.append(gateway.subscribe(uri, client.client))
        await app.channel.aclose()
        for invocation in waiting:
            assert (await error(invocation))[0] == -32010
        for invocation in (
            connected.invoke("clear", {}, client.caller()),
            connected.read("cart", uri),
            connected.subscribe("cart", uri, client.client),
        ):
            assert (await error(invocation))[0] == -32010
        assert await value(connected.unsubscribe(uri, client.client)) is None


async def test_field_91_the_newest_session_of_an_app_gets_the_call() -> None:
    async with gateway_of() as gateway:
        client, old, new = FakeClient(gateway), connect(gateway), connect(gateway)
        await old.hello()
        await new.hello()
        assert len(gateway.tools(client.client)) == 1
        gateway.call_tool("shop__clear", {}, client.caller())
        assert (await new.recv())["method"] == "actions/invoke"
        await new.channel.aclose()
        await anyio.wait_all_tasks_blocked()
        gateway.call_tool("shop__clear", {}, client.caller())
        assert (await old.recv())["method"] == "actions/invoke"


async def test_list_changes_replace_the_lists() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        client.changes.clear()
        await app.send(method="actions/list_changed", params={"actions": [{"name": "one"}, {"name": "two"}]})
        await app.send(method="resources/list_changed", params={"resources": []})
        for params in (None, {}, {"actions": 7}, {"resources": "x"}):
            await app.send(method="actions/list_changed", params=params)
            await app.send(method="resources/list_changed", params=params)
        await app.nothing_comes()
        assert [tool.name for tool in gateway.tools(client.client)] == ["shop__one", "shop__two"]
        assert gateway.resources(client.client) == []
        assert client.changes == [ToolsChanged(), ResourcesChanged()]


async def test_resources_are_read_by_uri_however_it_is_encoded() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(resources=[{"name": "todos://all"}])
        for uri in (
            "tesseron://shop/todos%3A%2F%2Fall",
            "tesseron://shop/todos://all",
            "tesseron://shop/todos%3a//all",
        ):
            invocation = gateway.read_resource(uri, client.caller())
            request = await app.recv()
            assert (request["method"], request["params"]) == ("resources/read", {"name": "todos://all"})
            await app.send(id=request["id"], result={"value": [1]})
            assert await value(invocation) == ResourceOutput(uri, [1])
        invocation = gateway.read_resource("tesseron://shop/todos://all", client.caller())
        await app.send(id=(await app.recv())["id"], result={})
        assert (await error(invocation))[0] == -32603
        for uri in (
            "tesseron://shop/none",
            "tesseron://bank/todos://all",
            "http://shop/todos://all",
            "tesseron://shop",
        ):
            with pytest.raises(UnknownResource):
                gateway.read_resource(uri, client.caller())


OURS = {"extensions": {"tesseron-py": 1}}


@pytest.mark.parametrize("encoded", [b"\x89PNG\xff", b"", b"??>>"])
async def test_bytes_of_an_app_of_ours_are_bytes_again(encoded: bytes) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello(**OURS)
        invocation = gateway.read_resource("tesseron://shop/cart", client.caller())
        result = {"value": b64encode(encoded).decode(), "encoding": "base64"}
        await app.send(id=(await app.recv())["id"], result=result)
        assert await value(invocation) == ResourceOutput("tesseron://shop/cart", encoded)


async def test_an_encoding_counts_only_with_an_app_of_ours_and_must_be_one() -> None:
    async with gateway_of() as gateway:
        client, foreign = FakeClient(gateway), connect(gateway)
        await foreign.hello()
        invocation = gateway.read_resource("tesseron://shop/cart", client.caller())
        await foreign.send(id=(await foreign.recv())["id"], result={"value": "aGk=", "encoding": "base64"})
        assert (await value(invocation)).value == "aGk="
        ours = connect(gateway)
        await ours.hello(**OURS)
        for result, shown in (
            ({"value": "aGk=", "encoding": "utf-7"}, "aGk="),
            ({"value": 7, "encoding": None}, 7),
        ):
            invocation = gateway.read_resource("tesseron://shop/cart", client.caller())
            await ours.send(id=(await ours.recv())["id"], result=result)
            assert (await value(invocation)).value == shown
        for odd in ("aGk", "a-_=", "ü", 7, None):
            invocation = gateway.read_resource("tesseron://shop/cart", client.caller())
            await ours.send(id=(await ours.recv())["id"], result={"value": odd, "encoding": "base64"})
            code, message, _ = await error(invocation)
            assert code == -32603
            assert "base64" in message


CART = {"name": "cart", "subscribable": True}


async def test_a_resource_that_was_removed_and_came_back_is_followed_again_and_tells() -> None:
    uri = "tesseron://shop/cart"
    async with gateway_of() as gateway:
        one, other, app = FakeClient(gateway), FakeClient(gateway, "Other"), connect(gateway)
        await app.hello()
        for client in (one, other):
            invocation = gateway.subscribe(uri, client.client)
            await app.send(id=(await app.recv())["id"], result=None)
            await value(invocation)
        await app.send(method="resources/list_changed", params={"resources": []})
        await app.nothing_comes()
        assert await value(gateway.unsubscribe(uri, other.client)) is None
        with pytest.raises(UnknownResource):
            gateway.unsubscribe(uri, other.client)
        await app.nothing_comes()
        await app.send(method="resources/list_changed", params={"resources": [CART]})
        request = await app.recv()
        assert (request["method"], request["params"]["name"]) == ("resources/subscribe", "cart")
        again = gateway.subscribe(uri, one.client)  # as clients do that look at the list themselves
        assert await value(again) is None
        await app.send(id=request["id"], result=None)
        await app.send(method="resources/list_changed", params={"resources": [CART]})
        await app.nothing_comes()
        one.changes.clear()
        other.changes.clear()
        await app.send(
            method="resources/updated", params={"subscriptionId": request["params"]["subscriptionId"], "value": 1}
        )
        await app.nothing_comes()
        assert (one.changes, other.changes) == ([ResourceUpdated(uri)], [])


async def test_a_refusal_that_comes_late_ends_only_its_own_subscription() -> None:
    uri = "tesseron://shop/cart"
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        first = gateway.subscribe(uri, client.client)
        refused = await app.recv()
        for resources in ([], [CART]):
            await app.send(method="resources/list_changed", params={"resources": resources})
        taken = await app.recv()
        await app.send(id=taken["id"], result=None)
        await app.send(id=refused["id"], error={"code": -32003, "message": "gone"})
        assert (await error(first))[0] == -32003
        (connected,) = gateway.apps
        assert connected.follows(uri, client.client)


async def test_a_client_that_was_refused_follows_nothing() -> None:
    uri = "tesseron://shop/cart"
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.subscribe(uri, client.client)
        await app.send(id=(await app.recv())["id"], error={"code": -32003, "message": "not now"})
        await error(invocation)
        await app.send(method="resources/list_changed", params={"resources": [CART]})
        await app.nothing_comes()
        assert await value(gateway.unsubscribe(uri, client.client)) is None
        await app.nothing_comes()


async def test_one_subscription_per_client_and_uri() -> None:
    async with gateway_of() as gateway:
        one, other, app = FakeClient(gateway), FakeClient(gateway, "Other"), connect(gateway)
        await app.hello()
        uri = "tesseron://shop/cart"
        one.changes.clear()
        ids = []
        for client in (one, other):
            invocation = gateway.subscribe(uri, client.client)
            request = await app.recv()
            assert request["method"] == "resources/subscribe"
            ids.append(request["params"]["subscriptionId"])
            await app.send(id=request["id"], result=None)
            assert await value(invocation) is None
        assert await value(gateway.subscribe(uri, one.client)) is None
        await app.nothing_comes()
        await app.send(method="resources/updated", params={"subscriptionId": ids[0], "value": 1})
        for params in ({}, {"subscriptionId": "unknown"}, {"subscriptionId": 7}):
            await app.send(method="resources/updated", params=params)
        await app.nothing_comes()
        assert one.changes == [ResourceUpdated(uri)]
        assert ResourceUpdated(uri) not in other.changes
        invocation = gateway.unsubscribe(uri, one.client)
        request = await app.recv()
        assert (request["method"], request["params"]) == ("resources/unsubscribe", {"subscriptionId": ids[0]})
        await app.send(id=request["id"], result=None)
        assert await value(invocation) is None
        assert await value(gateway.unsubscribe(uri, one.client)) is None
        gateway.detach(other.client)
        assert (await app.recv())["params"] == {"subscriptionId": ids[1]}


async def test_a_refused_subscription_can_be_tried_again() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        for _ in range(2):
            invocation = gateway.subscribe("tesseron://shop/cart", client.client)
            request = await app.recv()
            await app.send(id=request["id"], error={"code": -32003, "message": "Resource not subscribable: cart"})
            assert (await error(invocation))[0] == -32003


BAD_NOTIFICATIONS = [
    ("actions/progress", None),
    ("actions/progress", {}),
    ("log", None),
    ("log", {"invocationId": 7}),
    ("resources/updated", None),
    ("elicitation/withdraw", {}),
    ("what/ever", {"a": 1}),
]


async def test_one_bad_frame_costs_nothing_but_itself(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        for method, params in BAD_NOTIFICATIONS:
            await app.send(method=method, params=params)
        await app.nothing_comes()
        for text in ("nope", "[]", '{"id":99}', '{"jsonrpc":"2.0","id":99,"error":null}'):
            await app.channel.send(text)
            assert (await app.recv())["error"]["code"] in (-32700, -32600)
        await app.send(id=request["id"], result={"output": "still here"})
        assert await value(invocation) == ToolOutput("still here")
    assert "a frame that is none" in caplog.text


async def test_calls_of_an_app_that_does_not_read_fail_and_memory_stays_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apps, "MAX_OUTBOX", 8)
    monkeypatch.setattr(memory, "CAPACITY", 4)
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        calls = [gateway.call_tool("shop__clear", {}, client.caller()) for _ in range(20)]
        for call in calls[4 + 8 :]:
            code, message, _ = await error(call)
            assert code == -32603
            assert "does not read" in message
        for call in calls[: 4 + 8]:
            await app.send(id=(await app.recv())["id"], result={"output": 1})
            assert await value(call) == ToolOutput(1)


async def test_an_app_that_floods_and_does_not_read_is_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(apps, "MAX_OUTBOX", 8)
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        with anyio.fail_after(5), pytest.raises(Closed):
            while True:
                await app.send(id=1, method="what/ever")
        code, message, _ = await error(invocation)
        assert (code, "The shop" in message) == (-32010, True)
        assert gateway.apps == ()
    assert "The shop, which does not read" in caplog.text


async def test_arguments_that_cannot_be_sent_fail_that_call_alone() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway, limit=2000)
        await app.hello()
        big = gateway.call_tool("shop__clear", {"x": "y" * 3000}, client.caller())
        assert (await error(big))[0] == -32602
        odd = gateway.call_tool("shop__clear", {"x": object()}, client.caller())
        assert (await error(odd))[0] == -32602
        fine = gateway.call_tool("shop__clear", {}, client.caller())
        request = await app.recv()
        await app.ask(request["params"]["invocationId"], schema=WAREHOUSE)
        asked = await question(fine)
        fine.answer(asked.id, Accept({"id": "z" * 3000}))
        assert (await app.recv())["error"]["code"] == -32603
        await app.send(id=request["id"], result={"output": 1})
        assert await value(fine) == ToolOutput(1)


async def test_closing_the_gateway_ends_every_call() -> None:
    async with gateway_of() as gateway:
        client, app = FakeClient(gateway), connect(gateway)
        await app.hello()
        invocation = gateway.call_tool("shop__clear", {}, client.caller())
        await app.recv()
        await gateway.aclose()
        assert (await outcome(invocation)) is not None
        await closed(app)
