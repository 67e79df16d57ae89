"""The client of `mcp` 1.30, driven by lines of JSON. Run with the Python of `.venv-mcp1`; imports nothing of ours.

python old_client.py '{"address": "http://…" or ["command", …], "elicitation": true, "cwd": "…"}'

Wishes come on standard input, `{"id": 1, "do": "call", "tool": …}`, `{"cancel": 1}`, `{"reply": 1, "result": …}`; what
happens goes out, `{"id": 1, "result": …}`, `{"ask": 1, "message": …}`, `{"log": …}`. The end of the input ends it.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from contextlib import AsyncExitStack
from typing import Any

import anyio
import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError


class Driver:
    def __init__(self, session: ClientSession | None = None) -> None:
        self.session: Any = session
        self._asked = 0
        self._replies: dict[int, tuple[anyio.Event, dict[str, Any]]] = {}
        self._calls: dict[int, tuple[anyio.CancelScope, int]] = {}

    # What happens

    async def elicit(self, context: Any, params: Any) -> Any:
        self._asked += 1
        number = self._asked
        event: anyio.Event = anyio.Event()
        slot: dict[str, Any] = {}
        self._replies[number] = (event, slot)
        form, url = getattr(params, "requestedSchema", None), getattr(params, "url", None)
        say(ask=number, message=params.message, form=form, url=url)
        await event.wait()
        if "error" in slot:
            return types.ErrorData(code=-32603, message=slot["error"])
        try:
            return types.ElicitResult.model_validate(slot)
        except ValidationError:
            return types.ElicitResult.model_construct(**slot)  # what goes out is what the test says, right or wrong

    async def log(self, params: Any) -> None:
        say(log=[params.level, params.data])

    async def message(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        match getattr(message, "root", None):
            case types.ResourceUpdatedNotification(params=params):
                say(changed=str(params.uri))
            case types.ToolListChangedNotification():
                say(changed="tools")

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        say(progress=[done, total, message])

    # What is wished

    def reply(self, number: int, result: dict[str, Any]) -> None:
        event, slot = self._replies.pop(number)
        slot.update(result)
        event.set()

    async def cancel(self, id: int) -> None:
        scope, request = self._calls[id]
        params = types.CancelledNotificationParams(requestId=request, reason="the test says so")
        await self.session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        scope.cancel()

    async def grant(self, wish: dict[str, Any]) -> None:
        with anyio.CancelScope() as scope:
            self._calls[wish["id"]] = (scope, self.session._request_id)
            try:
                say(id=wish["id"], result=await self._do(wish))
            except Exception as error:
                say(id=wish["id"], error=f"{type(error).__name__}: {error}")
        if scope.cancelled_caught:
            say(id=wish["id"], error="cancelled")
        del self._calls[wish["id"]]

    async def _do(self, wish: dict[str, Any]) -> Any:
        match wish["do"]:
            case "tools":
                return [dump(tool) for tool in (await self.session.list_tools()).tools]
            case "call":
                progress = self.progress if wish["progress"] else None
                return dump(await self.session.call_tool(wish["tool"], wish["arguments"], progress_callback=progress))
            case "resources":
                return [str(resource.uri) for resource in (await self.session.list_resources()).resources]
            case "read":
                return dump(await self.session.read_resource(wish["uri"]))["contents"][0]["text"]
            case "subscribe":
                await self.session.subscribe_resource(wish["uri"])
                return None
        raise ValueError(f"no wish is called {wish['do']}")


def dump(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


async def main(given: dict[str, Any]) -> None:
    driver = Driver()
    async with AsyncExitStack() as stack:
        if isinstance(given["address"], str):
            reads, writes, _ = await stack.enter_async_context(streamable_http_client(given["address"]))
        else:
            command, *arguments = given["address"]
            parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ), cwd=given["cwd"])
            reads, writes = await stack.enter_async_context(stdio_client(parameters))
        driver.session = await stack.enter_async_context(
            ClientSession(
                reads,
                writes,
                elicitation_callback=driver.elicit if given["elicitation"] else None,
                logging_callback=driver.log,
                message_handler=driver.message,
            )
        )
        await driver.session.initialize()
        say(ready=True)
        async with anyio.create_task_group() as group:
            async for line in anyio.wrap_file(sys.stdin):
                wish = json.loads(line)
                if "reply" in wish:
                    driver.reply(wish["reply"], wish["result"])
                elif "cancel" in wish:
                    group.start_soon(driver.cancel, wish["cancel"])
                else:
                    group.start_soon(driver.grant, wish)
            group.cancel_scope.cancel()


warnings.simplefilter("ignore")  # pydantic's, about results that do not fit
anyio.run(main, json.loads(sys.argv[1]))
