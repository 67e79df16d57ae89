"""How a server ends: soon, with exit code 0 and without a traceback, whatever its handlers do; and how clients do."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import anyio
import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from .clients import Client, official, old
from .conftest import APP, FOREIGN
from .journal import wait_written, written
from .person import YES
from .processes import PATIENCE, SOON, TESSERON, Server, http_server, mcp_command
from .raw import Http, Pipe, gateway

pytestmark = FOREIGN

STUCK = "tests.product.app:stuck"
BUSY = ["outcome", "outcomeSync", "linger", "stubborn", "stubbornSync"]
"""What runs when the end comes: two actions ask the person, one heeds its cancellation, two do not."""


@pytest.fixture
def anyio_backend() -> str:
    """What is killed here is a process; on which loop its killer runs makes no difference."""
    return "asyncio"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Where the app writes down what its handlers live through."""
    return tmp_path / "journal"


def arguments(tool: str, tag: str) -> dict[str, str]:
    """What the action is called with."""
    return {"how": "confirm", "tag": tag} if tool.startswith("outcome") else {"tag": tag}


@contextmanager
def on_stdio(tool: str, journal: Path) -> Iterator[Pipe]:
    """A server on pipes, in the middle of a call."""
    with Pipe(APP, {"DEPOT_JOURNAL": str(journal)}) as pipe:
        pipe.open()
        pipe.call(tool, **arguments(tool, "t"))
        if tool.startswith("outcome"):
            pipe.said("elicitation/create")
        else:
            wait_written(journal, "t: goes on", PATIENCE)
        yield pipe


def ended_well(server: Server, how: signal.Signals | None) -> None:
    """It ends soon, with 0 and without a traceback."""
    took = server.end(how)
    server.check()
    assert took < SOON


def lived_through(tool: str, journal: Path) -> None:
    """The handler saw its end, unless it is one that does not look; and the lifespan was left.

    A handler in a thread learns of it, too, but the process does not wait for what it does then.
    """
    entries = journal.read_text().splitlines()
    if tool in ("outcome", "linger"):
        assert "t: cancelled" in entries, entries
    assert "lifespan: left" in entries, entries


@pytest.mark.parametrize("how", [signal.SIGTERM, None], ids=["SIGTERM", "end of input"])
@pytest.mark.parametrize("tool", BUSY)
def test_a_server_on_stdio_ends(tool: str, how: signal.Signals | None, journal: Path) -> None:
    with on_stdio(tool, journal) as pipe:
        if how is None:
            pipe.close()
        ended_well(pipe.server, how)
        lived_through(tool, journal)
        if tool.startswith("outcome"):
            assert pipe.said("notifications/cancelled")["params"]["requestId"] == "q-1"
        with pytest.raises(EOFError):
            pipe.said("anything more")


@pytest.mark.parametrize("tool", BUSY)
def test_a_server_over_http_ends(tool: str, journal: Path) -> None:
    with http_server(APP, env={"DEPOT_JOURNAL": str(journal)}) as (url, server):
        with closing(Http(url).call(tool, **arguments(tool, "t"))) as call:
            events = call.events()
            if tool.startswith("outcome"):
                prompt = next(events)
                assert prompt["method"] == "elicitation/create"
            else:
                wait_written(journal, "t: goes on", PATIENCE)
            ended_well(server, signal.SIGTERM)
            if tool.startswith("outcome"):
                (withdrawn,) = events
                assert withdrawn["method"] == "notifications/cancelled"
                assert withdrawn["params"]["requestId"] == prompt["id"]
            else:
                assert (call.response.status, call.body()) == (202, None)
        lived_through(tool, journal)


def test_a_server_over_http_ends_with_many_clients_in_the_middle_of_prompts() -> None:
    with http_server(APP) as (url, server):
        calls = [client.call("outcome", how="confirm") for client in [Http(url) for _ in range(5)] for _ in range(3)]
        streams = [call.events() for call in calls]
        assert {next(stream)["method"] for stream in streams} == {"elicitation/create"}
        ended_well(server, signal.SIGTERM)
        for call, stream in zip(calls, streams, strict=True):
            assert [message["method"] for message in stream] == ["notifications/cancelled"]
            call.close()


@pytest.mark.parametrize("tool", BUSY)
def test_an_app_that_a_gateway_is_calling_ends(tool: str, journal: Path) -> None:
    with Server([TESSERON, "run", APP, "--plain"], {"DEPOT_JOURNAL": str(journal)}) as server:
        with gateway(server.wait_line(r"listens on (ws://\S+)")[1]) as peer:
            assert peer.app["id"] == "depot"
            peer.call(tool, **arguments(tool, "t"))
            if tool.startswith("outcome"):
                assert peer.next()["method"] == "elicitation/request"
            else:
                wait_written(journal, "t: goes on", PATIENCE)
            ended_well(server, signal.SIGTERM)
            with pytest.raises(ConnectionClosed):
                peer.next()
        lived_through(tool, journal)


def test_servers_end_although_neither_a_handler_nor_the_lifespan_does(journal: Path) -> None:
    env = {"DEPOT_JOURNAL": str(journal)}
    with Pipe(STUCK, env) as pipe:
        pipe.open()
        pipe.call("stubborn", tag="stdio")
        wait_written(journal, "stdio: goes on", PATIENCE)
        ended_well(pipe.server, signal.SIGTERM)
    with http_server(STUCK, env=env) as (url, server), closing(Http(url).call("stubborn", tag="http")):
        wait_written(journal, "http: goes on", PATIENCE)
        ended_well(server, signal.SIGTERM)
    with (
        Server([TESSERON, "run", STUCK, "--plain"], env) as server,
        gateway(server.wait_line(r"listens on (ws://\S+)")[1]) as peer,
    ):
        peer.call("stubborn", tag="run")
        wait_written(journal, "run: goes on", PATIENCE)
        ended_well(server, signal.SIGTERM)


def test_servers_end_on_ctrl_c_too(journal: Path) -> None:
    with on_stdio("outcome", journal) as pipe:
        ended_well(pipe.server, signal.SIGINT)
    with http_server(APP) as (url, server), closing(Http(url).call("outcome", how="confirm")) as call:
        assert next(call.events())["method"] == "elicitation/create"
        ended_well(server, signal.SIGINT)
    with (
        Server([TESSERON, "run", APP, "--plain"]) as server,
        gateway(server.wait_line(r"listens on (ws://\S+)")[1]) as peer,
    ):
        peer.call("outcome", how="confirm")
        assert peer.next()["method"] == "elicitation/request"
        ended_well(server, signal.SIGINT)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_servers_with_nothing_to_do_end(how: signal.Signals) -> None:
    with http_server(APP) as (_, server), Server([TESSERON, "run", APP]) as app, Pipe(APP) as pipe:
        app.wait_line("listens on")
        pipe.open()
        for each in (server, app, pipe.server):
            ended_well(each, how)


# The end of a client, or of a gateway

OPEN = {
    ("outcome", "confirm"): "cancelled",
    ("outcome", "elicit"): "cancelled",
    ("outcome", "ask"): "cancelled",
    ("outcomeSync", "confirm"): "False, cancelled",
    ("outcomeSync", "elicit"): "cancelled",
    ("outcomeSync", "ask"): "cancelled",
}
"""What handlers of each kind see when the connection is gone while they ask."""


def test_field_47_a_gateway_that_goes_in_mid_prompt_costs_its_calls_alone(journal: Path) -> None:
    with Server([TESSERON, "run", APP, "--plain"], {"DEPOT_JOURNAL": str(journal)}) as server:
        url = server.wait_line(r"listens on (ws://\S+)")[1]
        with gateway(url) as peer:
            for number, (tool, how) in enumerate(OPEN):
                peer.call(tool, number, how=how, tag=f"{tool} {how}")
                assert peer.next()["method"] == "elicitation/request"
        for (tool, how), seen in OPEN.items():
            wait_written(journal, f"{tool} {how}: {seen}", PATIENCE)
        with gateway(url) as peer:
            peer.call("outcome", 1, how="confirm", tag="again")
            peer.send(id=peer.next()["id"], result={"action": "accept"})
            assert peer.next()["result"]["output"] == "True"


async def test_field_47_a_client_that_is_killed_in_mid_prompt_costs_its_calls_alone(url: str) -> None:
    tag = str(uuid4())
    with anyio.fail_after(PATIENCE):
        async with official(url) as other:
            async with old(url) as client, anyio.create_task_group() as group:
                for tool, how in OPEN:
                    group.start_soon(doomed, client, tool, how, f"{tag} {tool} {how}")
                    assert (await other.call("until", {"entry": f"{tag} {tool} {how}: asks"})).value is True
                await client.person.prompt()
                client.process.kill()
            for (tool, how), seen in OPEN.items():
                assert (await other.call("until", {"entry": f"{tag} {tool} {how}: {seen}"})).value is True
            other.person.will(YES)
            assert (await other.call("outcome", {"how": "confirm"})).text == "True"
        async with old(url) as again:
            again.person.will(YES)
            assert (await again.call("outcome", {"how": "confirm"})).text == "True"


async def test_field_47_a_server_whose_client_is_killed_in_mid_prompt_ends_with_it(journal: Path) -> None:
    with anyio.fail_after(PATIENCE):
        async with old(mcp_command(APP), env={"DEPOT_JOURNAL": str(journal)}) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(doomed, client, "outcome", "confirm", "t")
                await client.person.prompt()
                servers = psutil.Process(client.process.pid).children(recursive=True)
                assert servers
                client.process.kill()
            await written(journal, "t: cancelled", PATIENCE)
            await written(journal, "lifespan: left", PATIENCE)
            _, alive = await anyio.to_thread.run_sync(lambda: psutil.wait_procs(servers, timeout=PATIENCE))
            assert alive == []


async def doomed(client: Client, tool: str, how: str, tag: str) -> None:
    """A call whose client does not live to see the result."""
    with pytest.raises(RuntimeError, match="the client is gone"):
        await client.call(tool, {"how": how, "tag": tag})
