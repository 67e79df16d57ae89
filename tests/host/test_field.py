"""What other ends were seen to do, and what a host of ours makes of it (Tesseron 1.2 §10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tesseron_py import ActionCancelled, Context, ElicitationNotAvailable, InvalidAnswer, Tesseron
from tesseron_py.content import Text
from tesseron_py.home import Home
from tesseron_py.host.host import Host

from .fake_gateway import serving


async def test_field_97_a_host_that_is_entered_twice_at_once_listens_once(tesseron_home: Path) -> None:
    host = Tesseron("shop").listen()
    entered: list[Host] = []
    refused: list[str] = []

    async def enter() -> None:
        try:
            entered.append(await host.__aenter__())
        except RuntimeError as problem:
            refused.append(str(problem))

    async with Home() as home:
        for _ in range(2):
            home.start(enter)
        with anyio.fail_after(5):
            while not (entered and refused):
                await anyio.wait_all_tasks_blocked()
    assert "app.listen()" in refused[0]
    assert len(list((tesseron_home / "instances").iterdir())) == 1
    assert host.url.startswith("ws://127.0.0.1:")  # the one that entered first is none the worse
    await host.aclose()
    with pytest.raises(RuntimeError, match="entered already"):
        await host.__aenter__()
    assert list((tesseron_home / "instances").iterdir()) == []


async def test_field_88_a_host_is_closed_from_another_task_than_it_was_entered_in(tesseron_home: Path) -> None:
    host = Tesseron("shop").listen("uds")

    async def enter() -> None:
        await host.__aenter__()

    async with Home() as entering, Home() as leaving:
        entering.start(enter)
        with anyio.fail_after(5):
            while not host.url:
                await anyio.wait_all_tasks_blocked()
            done = anyio.Event()

            async def leave() -> None:
                await host.aclose()
                done.set()

            leaving.start(leave)
            await done.wait()
    assert host.stubborn == 0
    assert list((tesseron_home / "instances").iterdir()) == []
    assert not Path(host.url).parent.exists()
    assert [event async for event in host.events] == []


async def test_field_45_after_its_call_nothing_is_asked_and_whoever_asks_learns_it_at_once() -> None:
    app = Tesseron("shop")
    kept: list[Context] = []

    @app.action
    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    async with serving(app) as gateway:
        assert (await gateway.call("keep"))["result"]["output"] is None
        (ctx,) = kept
        with anyio.fail_after(5):
            for late in (ctx.confirm("Late?"), ctx.elicit("Late?", str), ctx.sample("Late?")):
                with pytest.raises(ActionCancelled):
                    await late
        await gateway.nothing_comes()


def asks_for(app_id: str, *sizes: str) -> Tesseron:
    """An app that asks for one of its sizes, with a schema that has the same `$id` in every app."""
    app = Tesseron(app_id)
    size = {"type": "string", "enum": list(sizes)}
    schema = {"$id": "https://x.example/size", "type": "object", "properties": {"size": size}, "required": ["size"]}

    @app.action
    async def ask(ctx: Context) -> str:
        try:
            return str(await ctx.elicit("Which size?", json_schema=schema))
        except InvalidAnswer:
            return "not one of mine"

    return app


async def test_an_answer_is_checked_against_the_schema_of_its_own_question_whatever_its_id_is() -> None:
    outputs: list[Any] = []
    for app in (asks_for("shop", "S", "M"), asks_for("bank", "10", "20"), asks_for("shop", "XL")):
        async with serving(app) as gateway:
            for size in ("M", "20", "XL"):
                await gateway.invoke("ask")
                request = await gateway.recv()
                await gateway.send(id=request["id"], result={"action": "accept", "value": {"size": size}})
                outputs.append((await gateway.recv())["result"]["output"])
    no = "not one of mine"
    assert outputs == ["{'size': 'M'}", no, no, no, "{'size': '20'}", no, no, no, "{'size': 'XL'}"]


async def test_a_gateway_that_is_not_ours_is_sent_nothing_of_ours() -> None:
    """Tesseron 1.2 §11: without its sign in the welcome, what we add stays at home."""
    app = Tesseron("shop")

    @app.action
    async def work(ctx: Context) -> Text:
        try:
            await ctx.ask_url("Pay here", "https://pay.example/7")
        except ElicitationNotAvailable:
            with anyio.move_on_after(0.01):  # nothing is withdrawn either
                await ctx.confirm("Given up?")
            await ctx.confirm("Sure?", key="sure")
        return Text("done")

    capabilities = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True}
    async with serving(app, capabilities={**capabilities, "elicitationUrl": True}) as gateway:
        await gateway.invoke("work")
        frames = [await gateway.recv(), await gateway.recv()]
        await gateway.send(id=frames[1]["id"], result={"action": "accept"})
        frames.append(await gateway.recv())
        await gateway.nothing_comes()
    bare = {"invocationId", "question", "schema"}
    assert [set(frame["params"]) for frame in frames[:2]] == [bare, bare]
    assert [frame["params"]["question"] for frame in frames[:2]] == ["Given up?", "Sure?"]
    assert set(frames[2]["result"]) == {"invocationId", "output"}
