"""The MCP endpoint over HTTP, under a real server: every status, header and refusal, and the upgrade byte by byte."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import mcp_schemas
import pytest
from desk import value_of
from fixture_provider import FixtureProvider
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web import Web, serving, web

from tesseron_py.mcp.http import HttpEndpoint
from tesseron_py.mcp.provider import ResourcesChanged, ToolsChanged

ACCEPT = {"action": "accept", "content": {"approve": True}}


def error_of(response: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    assert error["message"]
    return error


# Statuses ---------------------------------------------------------------------------------------------------------


async def test_an_ordinary_call_is_json_and_nothing_else() -> None:
    async with web() as (client, _):
        response = await client.post("tools/call", {"name": "echo", "arguments": {"value": "Zoë \u2028 \U0001f600"}})
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert int(response.headers["content-length"]) == len(response.content)
        assert "mcp-session-id" not in response.headers
        assert value_of(response.json()["result"]) == "Zoë \u2028 \U0001f600"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE"])
async def test_other_methods_are_405_and_say_which_are_allowed(method: str) -> None:
    async with web() as (client, _):
        response = await client.send(method)
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, POST, DELETE, OPTIONS"
        assert (await client.send("OPTIONS")).status_code == 204
        assert (await client.send("OPTIONS")).headers["allow"] == "GET, POST, DELETE, OPTIONS"


@pytest.mark.parametrize("path", ["/", "/mcp/", "/other", "/mcp/x", "/.well-known/oauth-protected-resource"])
async def test_other_paths_are_404(path: str) -> None:
    async with web(options={"token": "t"}, initialize=False) as (client, _):
        assert (await client.send("GET", path=path)).status_code == 404


async def test_a_body_above_the_limit_is_413_and_the_next_request_works() -> None:
    async with web(body=2000) as (client, _):
        async with client.unfinished(b"x" * 2001) as response:
            assert response.status == 413
            assert response.headers["connection"] == "close"
        response = await client.send("POST", b"x" * 2001)
        assert response.status_code == 413
        assert error_of(response)["code"] == -32600
        assert await client.call("echo", {"value": 1}) == 1


async def test_a_body_that_does_not_come_is_408() -> None:
    async with web(body_deadline=0.05, initialize=False) as (client, _), client.unfinished(b"{") as response:
        assert response.status == 408
        assert response.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (None, 200),
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/jsonp", 415),
        ("", 415),
    ],
)
async def test_content_types(kind: str | None, status: int) -> None:
    async with web() as (client, _):
        response = await client.send("POST", client.message("ping"), headers={"Content-Type": kind})
        assert response.status_code == status


@pytest.mark.parametrize("body", [b"", b"{", b"nope", b'{"a":NaN}', b"\xff", b"[" * 300])
async def test_bad_json_is_400_with_a_parse_error_without_id(body: bytes) -> None:
    async with web() as (client, _):
        response = await client.send("POST", body)
        assert response.status_code == 400
        assert error_of(response)["code"] == -32700
        assert "id" not in response.json()
        mcp_schemas.check("2025-11-25", response.json())
        assert await client.call("echo", {"value": 1}) == 1


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25"])
async def test_field_59_a_batch_is_400_with_one_error(version: str) -> None:
    async with web(version=version) as (client, _):
        response = await client.send("POST", [client.message("ping"), client.message("ping")])
        assert response.status_code == 400
        assert error_of(response)["code"] == -32600
        assert "id" not in response.json()


async def test_field_56_a_request_that_is_none_is_400() -> None:
    async with web() as (client, _):
        for message, id in (
            ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
            ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1),
            ({"jsonrpc": "2.0", "id": "x", "method": 5}, "x"),
            ({"jsonrpc": "2.0", "id": "x"}, "x"),
        ):
            response = await client.send("POST", message)
            assert (response.status_code, response.json()["id"]) == (400, id)
            assert error_of(response)["code"] == -32600


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", None, -32601),
        ("notifications/cancelled", {"requestId": 1}, -32601),
        ("tools/call", {"name": "no_such_tool"}, -32602),
        ("tools/call", [1], -32602),
        ("tools/list", {"cursor": "x"}, -32602),
        ("resources/read", {"uri": "test://nowhere"}, -32002),
        ("tools/call", {"name": "broken"}, -32603),
    ],
)
async def test_a_well_formed_request_that_fails_is_200(method: str, params: Any, code: int) -> None:
    async with web() as (client, _):
        response = await client.post(method, params)
        assert response.status_code == 200
        assert error_of(response)["code"] == code


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"method": 5},
        {"jsonrpc": "2.0", "id": "q-99", "result": {"action": "accept"}},
        {"jsonrpc": "2.0", "id": None, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": None},
        {"result": 5},
        {"id": 5, "error": "odd"},
    ],
)
async def test_a_notification_or_an_answer_is_always_202(message: Any) -> None:
    async with web() as (client, _):
        response = await client.send("POST", message)
        assert (response.status_code, response.content) == (202, b"")
        assert "content-type" not in response.headers


# Sessions ---------------------------------------------------------------------------------------------------------


async def test_initialize_opens_a_session_with_an_id_that_cannot_be_guessed() -> None:
    async with web(initialize=False) as (client, endpoint):
        ids = set()
        for _ in range(3):
            result = await client.initialize()
            assert result["serverInfo"]["name"] == "fixture"
            assert re.fullmatch(r"[!-~]{22,}", client.session or "")
            ids.add(client.session)
        assert len(ids) == endpoint.sessions == 3


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25"), ("x", "2025-11-25")],
)
async def test_the_revision_is_the_clients_if_http_has_it(wanted: str, spoken: str) -> None:
    async with web(initialize=False) as (client, _):
        assert (await client.initialize(wanted))["protocolVersion"] == spoken
        assert await client.call("echo", {"value": 1}) == 1


async def test_an_initialize_that_is_refused_opens_none() -> None:
    async with web(initialize=False) as (client, endpoint):
        response = await client.post("initialize", {})
        assert response.status_code == 200
        assert error_of(response)["code"] == -32602
        assert "mcp-session-id" not in response.headers
        assert endpoint.sessions == 0


async def test_field_72_a_session_is_needed_and_an_unknown_one_is_404() -> None:
    async with web() as (client, _):
        for method, message in (
            ("POST", client.message("ping", id=5)),
            ("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
            ("POST", {"jsonrpc": "2.0", "id": "q-1", "result": ACCEPT}),
            ("GET", None),
            ("DELETE", None),
        ):
            response = await client.send(method, message, headers={"Mcp-Session-Id": None})
            assert response.status_code == 400
            assert "initialize" in error_of(response)["message"]
            response = await client.send(method, message, headers={"Mcp-Session-Id": "stale"})
            assert response.status_code == 404
            assert response.json().get("id") == (5 if message and message.get("method") == "ping" else None)


async def test_field_74_version_headers() -> None:
    async with web() as (client, _):
        for version in (None, "2025-03-26", "2025-06-18", "2025-11-25"):
            assert (await client.post("ping", headers={"MCP-Protocol-Version": version})).status_code == 200
        for version, code, other in (
            ("2024-11-05", -32600, 400),
            ("2026-07-28", -32602, 405),
            ("2099-01-01", -32602, 405),
            ("", -32602, 405),
            ("\xff", -32602, 405),
        ):
            headers: Any = {"MCP-Protocol-Version": version.encode("latin-1")}
            response = await client.post("ping", id=5, headers=headers)
            assert (response.status_code, response.json()["id"]) == (400, 5)
            assert error_of(response)["code"] == code
            assert (await client.send("GET", headers=headers)).status_code == other
            assert (await client.send("DELETE", headers=headers)).status_code == other
            response = await client.send("POST", {"jsonrpc": "2.0", "method": "x"}, headers=headers)
            assert response.status_code == (202 if version == "2026-07-28" else 400)
        assert await client.call("echo", {"value": 1}) == 1


async def test_initialize_takes_any_version_header_of_its_era() -> None:
    async with web(initialize=False) as (client, _):
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        for version in ("2024-11-05", "2025-03-26", "2025-11-25"):
            response = await client.post("initialize", params, headers={"MCP-Protocol-Version": version})
            assert response.status_code == 200
        response = await client.post("initialize", params, headers={"MCP-Protocol-Version": "2026-07-28"})
        assert response.status_code == 400


async def test_delete_ends_a_session_and_its_calls() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, endpoint):
        async with client.calling("confirm") as stream, client.listen() as listening:
            prompt = await stream.next("elicitation/create")
            response = await client.send("DELETE")
            assert (response.status_code, response.content) == (204, b"")
            assert (await stream.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
            assert await stream.ended()
            assert await listening.ended()
        assert (await client.post("ping")).status_code == 404
        assert (await client.send("DELETE")).status_code == 404
        assert endpoint.sessions == 0
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
        assert provider.clients == []


async def test_a_session_beyond_the_last_is_429() -> None:
    async with web(sessions=2) as (client, endpoint):
        other = await client.another()
        response = await client.post("initialize", {"protocolVersion": "2025-11-25"}, id="i")
        assert response.status_code == 429
        assert int(response.headers["retry-after"]) > 0
        assert response.json()["id"] == "i"
        assert await client.call("echo", {"value": 1}) == 1
        await other.send("DELETE")
        await client.another()
        assert endpoint.sessions == 2


async def test_an_idle_session_ends_and_one_in_use_does_not() -> None:
    provider = FixtureProvider()
    async with web(provider, idle=0.2) as (client, endpoint):
        listener, caller = await client.another(), await client.another()
        async with listener.listen() as listening, caller.calling("confirm") as stream:
            await listening.chunk()
            prompt = await stream.next("elicitation/create")
            with anyio.fail_after(5):
                await provider.event("detached").wait()
            assert endpoint.sessions == 2
            assert (await client.post("ping")).status_code == 404
            assert (await listener.post("ping")).status_code == 200
            await caller.answer(prompt, approve=True)
            assert value_of(await stream.result())["reply"] == "Accept"


async def test_a_session_that_is_used_now_and_then_is_not_idle() -> None:
    async with web(idle=0.2) as (client, endpoint):
        began = anyio.current_time()
        while anyio.current_time() < began + 0.5:
            assert (await client.post("ping")).status_code == 200
        assert endpoint.sessions == 1


async def test_field_50_sessions_do_not_see_each_other() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _):
        other = await client.another()
        async with (
            client.calling("confirm") as stream,
            other.calling("confirm") as foreign,
            other.listen() as listening,
        ):
            prompt, foreign_prompt = await stream.next(), await foreign.next()
            assert prompt["id"] == foreign_prompt["id"]
            await other.answer(foreign_prompt, "decline")
            assert value_of(await foreign.result())["reply"] == "Decline"
            # The other session answers again, with an id that is ours: it is dropped.
            assert (await other.answer(prompt, approve=True)).status_code == 202
            assert (await client.answer(prompt, approve=True)).status_code == 202
            assert value_of(await stream.result())["content"] == {"approve": True}
            provider.change(ToolsChanged())
            await listening.next("notifications/tools/list_changed")  # the first it is told: no prompt came before


# The upgrade ------------------------------------------------------------------------------------------------------


async def test_field_44_the_response_becomes_a_stream_byte_by_byte() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _), client.listen() as listening:
        async with client.calling("confirm", {"question": "Sure \u2028?"}, id=7) as stream:
            assert stream.status == 200
            assert stream.headers["content-type"] == "text/event-stream"
            assert stream.headers["cache-control"] == "no-cache"
            assert stream.headers["x-accel-buffering"] == "no"
            assert "content-length" not in stream.headers
            first = await stream.chunk()
            expected = {
                "jsonrpc": "2.0",
                "id": "q-1",
                "method": "elicitation/create",
                "params": {
                    "message": "Sure \u2028?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"approve": {"type": "boolean"}},
                        "required": ["approve"],
                    },
                },
            }
            text = json.dumps(expected, separators=(",", ":"))
            assert "\\u2028" in text  # escaped, since some clients take it for the end of a line
            assert first == f"data: {text}\n\n".encode()
            answer = await client.answer(expected, approve=True)
            assert (answer.status_code, answer.content) == (202, b"")
            await stream.next()
            result = await stream.next()
            assert result["id"] == 7
            assert await stream.ended()
            assert stream.raw.count(b"data: ") == 2
            assert stream.raw.endswith(b"}\n\n")
            assert b"id:" not in stream.raw.replace(b'"id":', b"")
        provider.change(ToolsChanged())
        await listening.next("notifications/tools/list_changed")  # the first it is told: no prompt came before


async def test_further_questions_reuse_the_stream_and_are_answered_in_any_order() -> None:
    async with web() as (client, _), client.calling("many", {"count": 3}) as stream:
        prompts = [await stream.next("elicitation/create") for _ in range(3)]
        assert await client.call("echo", {"value": 1}) == 1
        for prompt in reversed(prompts):
            await client.answer(prompt, asked=prompt["params"]["message"])
        replies = [shown["content"]["asked"] for shown in value_of(await stream.result())]
        assert replies == ["Question 0", "Question 1", "Question 2"]


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ({"result": {"action": "accept"}}, "Accept"),
        ({"result": {"action": "decline", "content": {"approve": True}}}, "Decline"),
        ({"result": {"action": "cancel"}}, "Cancel"),
        ({"error": {"code": -32000, "message": "no"}}, "Cancel"),
        ({"result": {"action": "reject"}}, "Malformed"),
        ({"result": {"action": "accept", "content": [1]}}, "Malformed"),
        ({"approve": True}, "Malformed"),
    ],
)
async def test_every_answer_is_202_and_has_its_reply(message: Any, reply: str) -> None:
    async with web() as (client, _), client.calling("confirm") as stream:
        prompt = await stream.next()
        for _ in range(2):  # the second is late
            response = await client.send("POST", {"jsonrpc": "2.0", "id": prompt["id"], **message})
            assert response.status_code == 202
        assert value_of(await stream.result())["reply"] == reply


YES = '{"action":"accept","content":{"approve":true,"x":%s}}'
ENVELOPES = ['{"jsonrpc":"2.0","id":"ID","result":%s}', '{"result":%s,"jsonrpc":"2.0","id":"ID"}']


@pytest.mark.parametrize("envelope", ENVELOPES)
async def test_an_answer_that_cannot_be_read_is_202_and_no_yes(envelope: str) -> None:
    async with web() as (client, _):
        for x in ("NaN", "[" * 250 + "]" * 250, '"\\ud800"'):
            async with client.calling("confirm") as stream:
                prompt = await stream.next("elicitation/create")
                body = (envelope.replace("ID", prompt["id"]) % (YES % x)).encode()
                assert (await client.send("POST", body)).status_code == 202
                assert value_of(await stream.result()) == {"reply": "Malformed", "raw": None}
                assert (await client.send("POST", body)).status_code == 202  # late, too
        assert (await client.send("POST", body.replace(b"q-", b"x-"))).status_code == 400


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("declared", [True, False])
async def test_field_83_an_answer_above_the_limit_is_413_and_ends_its_question(envelope: str, declared: bool) -> None:
    async with web(body=10_000) as (client, _), client.calling("confirm") as stream:
        prompt = await stream.next("elicitation/create")
        body = (envelope.replace("ID", prompt["id"]) % (YES % ('"' + "x" * 120_000 + '"'))).encode()

        async def parts() -> AsyncIterator[bytes]:
            for start in range(0, len(body), 50_000):
                yield body[start : start + 50_000]

        with anyio.fail_after(10):
            response = await client.client.post(
                "/mcp", content=body if declared else parts(), headers=client.headers({})
            )
        assert response.status_code == 413
        assert value_of(await stream.result()) == {"reply": "Malformed", "raw": None}


async def test_field_73_without_sse_in_accept_a_call_is_json_and_asking_fails_fast() -> None:
    async with web() as (client, _):
        headers: dict[str, str | None] = {"Accept": "application/json"}
        assert await client.call("echo", {"value": 1}, headers=headers) == 1
        shown = await client.call("confirm", headers=headers)
        assert shown["reply"] == "Unavailable"
        for accept in ("*/*", None):
            async with client.calling("confirm", Accept=accept) as stream:
                await client.answer(await stream.next("elicitation/create"), "decline")
                assert value_of(await stream.result())["reply"] == "Decline"


async def test_progress_and_log_upgrade_and_come_before_the_result() -> None:
    async with web() as (client, _):
        async with client.calling("progress", token="t") as stream:
            assert [(await stream.next())["params"]["progress"] for _ in range(3)] == [0, 50, 100]
            assert value_of(await stream.result()) == "done"
        async with client.calling("log") as stream:
            assert [(await stream.next())["params"]["level"] for _ in range(3)] == ["info", "warning", "error"]
            assert value_of(await stream.result()) == "logged"
        # What is not told upgrades nothing.
        assert await client.call("progress") == "done"
        await client.request("logging/setLevel", {"level": "critical"})
        assert await client.call("log") == "logged"


async def test_a_silent_call_is_upgraded_and_kept_alive() -> None:
    provider = FixtureProvider()
    async with web(provider, silence=0.05) as (client, _):
        async with client.calling("slow") as stream:
            assert await stream.chunk() == b":\n\n"
            assert await stream.chunk() == b":\n\n"
            provider.event("go").set()
            assert value_of(await stream.result()) == "finished"
        provider.events.clear()
        async with client.calling("slow", token=7) as stream:
            beats = [(await stream.next("notifications/progress"))["params"]["progress"] for _ in range(2)]
            assert beats == [0.001, 0.002]
            assert stream.raw.startswith(b":\n\ndata: ")
            provider.event("go").set()
            while (message := await stream.next()).get("method"):
                pass
            assert message["result"]
        # A client that takes no stream waits for its JSON.
        provider.events.clear()
        async with anyio.create_task_group() as group:

            async def let_go() -> None:
                with anyio.move_on_after(0.12):
                    await anyio.sleep_forever()
                provider.event("go").set()

            group.start_soon(let_go)
            assert await client.call("slow", headers={"Accept": "application/json"}) == "finished"


async def test_a_frame_above_its_limit_becomes_a_clear_error_and_json_may_be_larger() -> None:
    async with web(frame=5000, json=20_000) as (client, _):
        assert len(await client.call("big", {"size": 15_000})) == 15_000
        result = await client.request("tools/call", {"name": "big", "arguments": {"size": 25_000}})
        assert result["isError"] is True
        assert "takes 20000" in result["content"][0]["text"]
        async with client.calling("big", {"size": 6000, "note": True}) as stream:
            await stream.next("notifications/message")
            result = await stream.result()
            assert result["isError"] is True
            assert "takes 5000" in result["content"][0]["text"]


async def test_field_83_two_mebibytes_are_answered_as_json_by_default() -> None:
    async with web() as (client, _):
        assert len(await client.call("big", {"size": 2 * 1024 * 1024})) == 2 * 1024 * 1024
        async with client.calling("big", {"size": 2 * 1024 * 1024, "note": True}) as stream:
            await stream.next("notifications/message")
            assert (await stream.result())["isError"] is True
        assert await client.call("echo", {"value": 1}) == 1


# Cancelling -------------------------------------------------------------------------------------------------------


async def test_a_cancelled_call_that_was_not_upgraded_is_202() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _):
        responses: list[httpx.Response] = []
        async with anyio.create_task_group() as group:

            async def call() -> None:
                responses.append(await client.post("tools/call", {"name": "slow"}, id="c"))

            group.start_soon(call)
            await provider.event("slow runs").wait()
            assert (await client.notify("notifications/cancelled", {"requestId": "c"})).status_code == 202
        assert (responses[0].status_code, responses[0].content) == (202, b"")
        assert provider.ended == {"slow": "cancelled"}
        assert await client.call("echo", {"value": 1}, id="c") == 1


async def test_an_upgraded_stream_of_a_cancelled_call_just_ends_and_late_answers_are_202() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _):
        async with client.calling("confirm", id="c") as stream:
            prompt = await stream.next()
            await client.notify("notifications/cancelled", {"requestId": "c"})
            assert (await stream.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
            assert await stream.ended()
        assert (await client.answer(prompt, approve=True)).status_code == 202
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
        assert provider.ended == {"confirm": "cancelled"}


async def test_field_47_a_connection_that_drops_mid_prompt_ends_its_call() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _):
        async with client.calling("confirm") as stream:
            prompt = await stream.next()
        with anyio.fail_after(5):
            await provider.event("ended confirm").wait()
        assert provider.ended == {"confirm": "cancelled"}
        assert (await client.answer(prompt, approve=True)).status_code == 202
        assert await client.call("echo", {"value": 1}) == 1
        # All 32 places are free again.
        async with client.calling("many", {"count": 32}) as stream:
            for _ in range(32):
                await client.answer(await stream.next(), "decline")
            await stream.result()


async def test_a_connection_that_drops_before_any_upgrade_ends_its_call() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _):
        async with anyio.create_task_group() as group:
            group.start_soon(client.post, "tools/call", {"name": "slow"})
            await provider.event("slow runs").wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await provider.event("ended slow").wait()
        assert provider.ended == {"slow": "cancelled"}


async def test_field_48_an_answer_after_the_deadline_is_dropped() -> None:
    async with web(FixtureProvider(deadline=0.05)) as (client, _), client.calling("confirm") as stream:
        prompt = await stream.next("elicitation/create")
        await stream.next("notifications/cancelled")
        assert value_of(await stream.result())["reply"] == "Cancel"
        assert (await client.answer(prompt, approve=True)).status_code == 202


async def test_the_33rd_prompt_fails_at_once() -> None:
    async with web() as (client, _), client.calling("many", {"count": 32}) as stream:
        prompts = [await stream.next() for _ in range(32)]
        assert await client.call("confirm") == {"reply": "Unavailable", "reason": "too_many_prompts"}
        for prompt in prompts:
            await client.answer(prompt, "decline")
        await stream.result()


async def test_a_second_request_with_a_running_id_is_200_with_an_error() -> None:
    async with web() as (client, _), client.calling("confirm", id=1) as stream:
        prompt = await stream.next()
        response = await client.post("tools/call", {"name": "echo"}, id=1)
        assert response.status_code == 200
        assert error_of(response)["code"] == -32600
        assert await client.call("echo", {"value": 2}, id="1") == 2
        await client.answer(prompt, approve=True)
        assert value_of(await stream.result())["reply"] == "Accept"
        assert (await client.post("ping", id=1)).status_code == 200


# GET --------------------------------------------------------------------------------------------------------------


async def test_the_get_stream_tells_of_changes_and_never_asks() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _), client.listen() as listening:
        assert listening.status == 200
        assert listening.headers["content-type"] == "text/event-stream"
        assert listening.headers["cache-control"] == "no-cache"
        assert await listening.chunk() == b":\n\n"
        await client.request("resources/subscribe", {"uri": "test://text"})
        provider.update("test://text")
        assert (await listening.next("notifications/resources/updated"))["params"] == {"uri": "test://text"}
        await client.call("grow")
        await listening.next("notifications/tools/list_changed")
        async with client.calling("confirm") as stream:
            await client.answer(await stream.next("elicitation/create"))
            await stream.result()
        provider.change(ResourcesChanged())
        await listening.next("notifications/resources/list_changed")
        assert b"id:" not in listening.raw


async def test_changes_while_nobody_listens_are_told_once_when_somebody_does() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _):
        await client.request("tools/list")
        for _ in range(50):
            provider.change(ToolsChanged())
        async with client.listen() as listening:
            await listening.next("notifications/tools/list_changed")
            provider.change(ResourcesChanged())
            await listening.next("notifications/resources/list_changed")


async def test_a_get_stream_is_kept_alive() -> None:
    async with web(silence=0.05) as (client, _), client.listen() as listening:
        assert [await listening.chunk() for _ in range(3)] == [b":\n\n"] * 3


async def test_a_newer_get_stream_takes_the_place_of_the_older() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, _), client.listen() as older:
        await older.chunk()
        async with client.listen() as newer:
            await newer.chunk()
            assert await older.ended()
            await client.request("tools/list")
            provider.change(ToolsChanged())
            await newer.next("notifications/tools/list_changed")


async def test_get_without_sse_in_accept_is_406() -> None:
    async with web() as (client, _):
        assert (await client.send("GET", headers={"Accept": "application/json"})).status_code == 406


async def test_a_session_that_only_listens_hears_of_changes() -> None:
    provider = FixtureProvider()
    async with web(provider, initialize=False) as (client, _):
        response = await client.post("initialize", {"protocolVersion": "2025-11-25"})
        client.session = response.headers["mcp-session-id"]
        async with client.listen() as listening:
            await listening.chunk()
            with anyio.fail_after(5):
                while not provider.clients:
                    await anyio.lowlevel.checkpoint()
            provider.change(ToolsChanged())
            await listening.next("notifications/tools/list_changed")


# Who may ----------------------------------------------------------------------------------------------------------


async def test_field_75_foreign_hosts_and_origins_are_403() -> None:
    async with web(options={"hosts": ["mcp.example.com"], "origins": ["https://app.example.com"]}) as (client, _):
        for headers, status in (
            ({"Host": "evil.example"}, 403),
            ({"Host": "localhost.evil.example:80"}, 403),
            ({"Host": "mcp.example.com"}, 200),
            ({"Host": "localhost:99"}, 200),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://localhost.evil.example"}, 403),
            ({"Origin": "http://localhost:3000"}, 200),
            ({"Origin": "https://app.example.com"}, 200),
        ):
            response = await client.post("ping", headers=headers)
            assert response.status_code == status, headers
            if status == 403:
                assert "access-control-allow-origin" not in response.headers
                assert error_of(response)["code"] == -32600


async def test_a_token_is_asked_for_on_every_request() -> None:
    async with web(options={"token": "s3cret"}, initialize=False) as (client, endpoint):
        client.client.headers["Authorization"] = "Bearer s3cret"
        await client.initialize()
        for method in ("POST", "GET", "DELETE", "OPTIONS", "PUT"):
            for wrong in ("", "Bearer", "Bearer s3cre", "Basic s3cret"):
                response = await client.send(method, headers={"Authorization": wrong})
                assert response.status_code == 401
                assert response.headers["www-authenticate"].startswith("Bearer")
        assert await client.call("echo", {"value": 1}) == 1
        assert endpoint.provider.clients[0].principal.startswith("token-")


async def test_pages_of_allowed_origins_may_read_the_answers() -> None:
    async with web(options={"token": "s3cret"}, initialize=False) as (client, _):
        origin = {"Origin": "http://localhost:5173"}
        response = await client.send(
            "OPTIONS",
            headers={
                **origin,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,mcp-session-id,Mcp-Param-Region,x-other",
            },
        )
        assert (response.status_code, response.content) == (204, b"")
        assert response.headers["access-control-allow-origin"] == "http://localhost:5173"
        assert response.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
        allowed = response.headers["access-control-allow-headers"].split(", ")
        for name in (
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "Mcp-Method",
            "Mcp-Name",
            "Authorization",
            "Content-Type",
            "mcp-param-region",
        ):
            assert name in allowed
        assert "x-other" not in allowed
        assert response.headers["vary"] == "Origin"
        # Refusals can be read, too.
        response = await client.post("ping", headers=origin)
        assert response.status_code == 401
        assert response.headers["access-control-allow-origin"] == "http://localhost:5173"
        exposed = response.headers["access-control-expose-headers"].split(", ")
        assert exposed == ["Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "WWW-Authenticate"]
        client.client.headers["Authorization"] = "Bearer s3cret"
        client.client.headers["Origin"] = "http://localhost:5173"
        await client.initialize()
        async with client.calling("confirm") as stream:
            assert stream.headers["access-control-allow-origin"] == "http://localhost:5173"
            await client.answer(await stream.next())
            await stream.result()


# Life -------------------------------------------------------------------------------------------------------------


async def test_a_provider_that_is_ready_late() -> None:
    provider = FixtureProvider()
    provider.gate = anyio.Event()
    async with web(provider) as (client, _):
        listed: list[Any] = []
        async with anyio.create_task_group() as group:

            async def tools() -> None:
                listed.append(await client.request("tools/list"))

            group.start_soon(tools)
            assert (await client.post("ping")).status_code == 200
            async with anyio.create_task_group() as impatient:
                impatient.start_soon(tools)
                assert (await client.post("ping")).status_code == 200
                impatient.cancel_scope.cancel()
            provider.gate.set()
        assert len(listed) == 1
        assert provider.readied == 1


async def test_closing_withdraws_ends_and_refuses_further_requests() -> None:
    provider = FixtureProvider()
    async with web(provider) as (client, endpoint):
        async with client.calling("confirm") as stream, client.listen() as listening:
            prompt = await stream.next()
            await listening.chunk()
            async with anyio.create_task_group() as group:
                group.start_soon(endpoint.aclose)
                assert (await stream.next("notifications/cancelled"))["params"]["requestId"] == prompt["id"]
                assert await stream.ended()
                assert await listening.ended()
        response = await client.post("ping")
        assert response.status_code == 503
        assert "retry-after" in response.headers
        assert provider.clients == []
        await endpoint.aclose()


async def test_closing_does_not_wait_for_a_body_that_does_not_come() -> None:
    async with web() as (client, endpoint), anyio.create_task_group() as group:

        async def close() -> None:
            while not endpoint._bodies._reading:
                await anyio.wait_all_tasks_blocked()
            await endpoint.aclose()

        group.start_soon(close)
        with anyio.fail_after(5):
            async with client.unfinished(b"{") as response:
                assert response.status == 503
                assert response.headers["connection"] == "close"
                assert "retry-after" in response.headers


async def test_a_mounted_endpoint_needs_no_lifespan_and_keeps_nothing_of_the_first_request() -> None:
    from contextvars import ContextVar

    from starlette.applications import Starlette
    from starlette.routing import Mount, Route

    of_request: ContextVar[str] = ContextVar("of_request", default="clean")
    seen: list[str] = []
    provider = FixtureProvider()
    ready = provider.ready

    async def remember() -> None:
        seen.append(of_request.get())
        await ready()

    provider.ready = remember
    endpoint = HttpEndpoint(provider)
    outer = Starlette(routes=[Route("/mcp", endpoint), Mount("/api", endpoint), Mount("/", endpoint)])

    async def with_variable(scope: Any, receive: Any, send: Any) -> None:
        of_request.set("of the first request")
        await outer(scope, receive, send)

    async with serving(with_variable) as url, httpx.AsyncClient(base_url=url) as http:
        for path in ("/mcp", "/api/mcp"):
            client = Web(http, path)
            await client.initialize()
            async with client.calling("confirm") as stream:
                await client.answer(await stream.next())
                assert value_of(await stream.result())["reply"] == "Accept"
        assert (await http.get("/api/other")).status_code == 404
        await endpoint.aclose()
        await provider.home.aclose()
    assert seen == ["clean"]


async def test_under_a_root_path() -> None:
    endpoint = HttpEndpoint(FixtureProvider(), path="/tools")

    async def rooted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "root_path": "/behind", "path": "/behind" + scope["path"]}
        await endpoint(scope, receive, send)

    async with serving(rooted) as url, httpx.AsyncClient(base_url=url) as http:
        client = Web(http, "/tools")
        await client.initialize()
        lost = await http.get("/mcp")
        assert lost.status_code == 404
        assert "MCP is at /behind/tools" in lost.text


async def test_a_websocket_is_refused_and_anything_else_is_no_request() -> None:
    endpoint = HttpEndpoint(FixtureProvider())
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await endpoint({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": "MCP is spoken over HTTP here"}]
    with pytest.raises(ValueError, match="serves HTTP, not 'smoke'"):
        await endpoint({"type": "smoke"}, receive, send)


async def test_a_startup_that_fails_is_told_to_the_server() -> None:
    endpoint = HttpEndpoint(FixtureProvider())
    await endpoint.aclose()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    await endpoint({"type": "lifespan"}, receive, send)
    assert sent[0]["type"] == "lifespan.startup.failed"
    assert "closed" in sent[0]["message"]


async def test_a_client_that_leaves_before_its_request_is_whole_gets_no_answer() -> None:
    endpoint = HttpEndpoint(FixtureProvider())
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    await endpoint(scope, receive, send)
    assert sent == []
    await endpoint.aclose()


@pytest.mark.parametrize(("version", "closes"), [("1.1", True), ("2", False)])
async def test_only_http_1_has_a_connection_to_close(version: str, closes: bool) -> None:
    endpoint = HttpEndpoint(FixtureProvider())
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 5000, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-length", b"99999999")]
    scope = {"type": "http", "http_version": version, "method": "POST", "path": "/mcp", "headers": headers}
    await endpoint(scope, receive, send)
    assert sent[0]["status"] == 413
    assert ((b"connection", b"close") in sent[0]["headers"]) is closes
    await endpoint.aclose()


@pytest.mark.parametrize("at", ["question", "silence", "stream"])
async def test_a_client_that_reads_nothing_is_given_up(at: str) -> None:
    """Driven as a server would, since a real one buffers what a test can send."""
    provider = FixtureProvider()
    endpoint = HttpEndpoint(provider)
    object.__setattr__(endpoint.limits, "write_deadline", 0.05)
    object.__setattr__(endpoint.limits, "silence", 0.02 if at == "silence" else 15.0)
    replies: list[Any] = []

    async def request(method: str, message: Any, *headers: tuple[bytes, bytes], stuck: bool = False) -> None:
        parts = iter([{"type": "http.request", "body": json.dumps(message).encode()}])

        async def receive() -> Any:
            part = next(parts, None)
            if part is None:
                await anyio.sleep_forever()
            return part

        async def send(message: Any) -> None:
            if stuck:
                await anyio.sleep_forever()
            replies.append(message)

        scope = {"type": "http", "method": method, "path": "/mcp", "headers": [(b"host", b"localhost"), *headers]}
        await endpoint(scope, receive, send)

    with anyio.fail_after(10):
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
        await request("POST", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        session = next(header for header in replies[0]["headers"] if header[0] == b"mcp-session-id")
        if at == "stream":
            await request("GET", {}, session, stuck=True)
        else:
            tool = "slow" if at == "silence" else "confirm"
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool}}
            await request("POST", call, session, stuck=True)
            await provider.event(f"ended {tool}").wait()
            assert provider.ended == {tool: "cancelled"}
    await endpoint.aclose()
    await provider.home.aclose()


def test_what_cannot_be_configured_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="write '/mcp'"):
        HttpEndpoint(FixtureProvider(), path="mcp")
    with pytest.raises(ValueError, match="is no host"):
        HttpEndpoint(FixtureProvider(), hosts=["http://x"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
bodies = st.binary() | (
    json_values
    | st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0")},
        optional={
            "id": json_values,
            "method": st.sampled_from(["ping", "tools/call", "tools/list", "notifications/cancelled"]) | json_values,
            "params": json_values
            | st.fixed_dictionaries({"name": st.just("echo")}, optional={"arguments": json_values}),
            "result": json_values,
            "error": json_values,
        },
    )
).map(lambda value: json.dumps(value).encode())


@settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)
@given(posted=st.lists(bodies, max_size=25))
async def test_no_body_ends_the_session(posted: list[bytes], anyio_backend: str) -> None:
    async with web() as (client, _):
        for body in posted:
            response = await client.send("POST", body)
            assert response.status_code in (200, 202, 400)
            if response.content:
                assert response.json()["jsonrpc"] == "2.0"
        assert await client.call("echo", {"value": "alive"}) == "alive"
