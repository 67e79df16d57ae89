"""No text gets out of its event: not a question, nor progress, nor a log entry, nor a result, whatever is in it."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest

from tesseron_py import Context, Tesseron

EVIL = [
    "one\n\ndata: {}\n\n",
    'one\r\rdata: {"jsonrpc":"2.0","id":1,"result":{}}\r\r',
    "one\r\n\r\nevent: endpoint\r\ndata: /evil\r\n\r\n",
    "id: 7\nretry: 1\n: comment\n",
    "x\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e",
    "\ufeffdata: x",
    "x\x00",
    '"}}\n\ndata: {"a":"',
]


def shop() -> Tesseron:
    app = Tesseron("shop")

    @app.action
    async def ask(ctx: Context, text: str) -> str:
        """Ask, and say in every way what was given."""
        await ctx.progress(10, text)
        await ctx.log(text)
        await ctx.confirm(text)
        return text

    return app


class Legacy:
    """A client that looks at each line of the stream, as the standard has them."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.headers = {"accept": "application/json, text/event-stream"}

    async def post(self, **message: Any) -> httpx.Response:
        return await self.http.post("/mcp", json={"jsonrpc": "2.0", **message}, headers=self.headers)

    async def open(self) -> None:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"},
        }
        response = await self.post(id=0, method="initialize", params=params)
        self.headers["mcp-session-id"] = response.headers["mcp-session-id"]


@pytest.mark.parametrize("text", EVIL)
async def test_each_text_is_one_event_with_one_line(text: str) -> None:
    endpoint = shop().asgi()
    body = bytearray()
    statuses: list[int] = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(endpoint), base_url="http://127.0.0.1") as http:
        client = Legacy(http)
        await client.open()
        call = {"name": "ask", "arguments": {"text": text}, "_meta": {"progressToken": "p"}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        sent = [{"type": "http.request", "body": json.dumps(request).encode()}]
        left = anyio.Event()

        async def receive() -> dict[str, Any]:
            if not sent:
                await left.wait()
                return {"type": "http.disconnect"}
            return sent.pop()

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                return
            body.extend(message.get("body", b""))
            for line in message.get("body", b"").split(b"\n"):
                if b"elicitation/create" in line:
                    prompt = json.loads(line.removeprefix(b"data: "))
                    group.start_soon(answer, prompt["id"])
            if not message.get("more_body"):
                left.set()

        async def answer(id: Any) -> None:
            assert (await client.post(id=id, result={"action": "decline"})).status_code == 202

        headers = [(b"host", b"127.0.0.1"), *((k.encode(), v.encode()) for k, v in client.headers.items())]
        scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/mcp", "headers": headers}
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                await endpoint(scope, receive, send)
    await endpoint.aclose()
    assert statuses == [200]
    assert b"\r" not in body
    frames = bytes(body).removesuffix(b"\n\n").split(b"\n\n")
    messages = [json.loads(frame.removeprefix(b"data: ")) for frame in frames if frame != b":"]
    assert all(frame == b":" or (frame.startswith(b"data: ") and b"\n" not in frame) for frame in frames)
    assert [message.get("method", "result") for message in messages] == [
        "notifications/progress",
        "notifications/message",
        "elicitation/create",
        "result",
    ]
    progress, log, question, result = messages
    assert progress["params"]["message"] == text
    assert text in json.dumps(log["params"]["data"], ensure_ascii=False) or log["params"]["data"] in (text, [text])
    assert question["params"]["message"] == text
    assert result["result"]["content"][0]["text"] == text
