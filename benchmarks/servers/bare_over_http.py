"""The floor: an application that answers every request with bytes that were made before. Prints its port.

What it answers with depends on the tool that is called, so that its answers are as long as the others'.
"""

from __future__ import annotations

from typing import Any

from benchmarks.servers.uvicorn_on_loopback import serve
from benchmarks.work import ECHO, LARGE_RESULT, PROGRESS, bare_answers

SMALL, BIG = (bare_answers(work)[0][0].encode() for work in (ECHO, LARGE_RESULT))
EVENTS = [f"event: message\r\ndata: {text}\r\n\r\n".encode() for text in bare_answers(PROGRESS)[0]]


async def floor(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message["more_body"]:
            break
    if b'"report"' in body:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for event in EVENTS:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    answer = BIG if b'"large"' in body else SMALL
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


serve(floor, lifespan="off")
