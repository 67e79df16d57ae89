"""`app.asgi()` under uvicorn and hypercorn on trio, alone and inside other applications, by the official client."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import anyio
import httpx
import pytest

from .clients import official
from .conftest import FOREIGN
from .hosting import APPLICATIONS, SERVERS
from .person import YES, accept
from .processes import PATIENCE, SOON, Server
from .raw import Http

pytestmark = FOREIGN


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The loop that matters here is the server's."""
    return "asyncio"


@pytest.fixture(scope="module", params=SERVERS)
def hosted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The URLs of the app, in all applications, under one server, which ends well."""
    journal = tmp_path_factory.mktemp("hosting") / "journal"
    command = [sys.executable, "-m", "tests.product.hosting", request.param]
    with Server(command, {"DEPOT_JOURNAL": str(journal)}, stdout=subprocess.PIPE) as server:
        assert server.process.stdout is not None
        yield json.loads(server.process.stdout.readline())
        assert server.end(signal.SIGTERM) < 3 * SOON
        server.check()
        entries = journal.read_text().splitlines()
        assert entries.count("lifespan: entered") == entries.count("lifespan: left") == len(APPLICATIONS)


@pytest.mark.parametrize("application", APPLICATIONS)
async def test_the_app_works_inside(hosted: dict[str, str], application: str) -> None:
    stock = "tesseron://depot/stock"
    with anyio.fail_after(PATIENCE):
        async with official(hosted[application]) as client:
            assert "echo" in await client.tools()
            client.person.will(YES, accept(warehouse="WH-8", count=2))
            assert (await client.call("outcome", {"how": "confirm"})).text == "True"
            assert (await client.call("outcomeSync", {"how": "elicit"})).text == "WH-8 2"
            assert (await client.call("desk")).text == "open"
            await client.call("work", {"steps": 2}, progress=True)
            assert client.heard.progress == [(50, 100, "step 1"), (100, 100, "step 2")]
            await client.subscribe(stock)
            await client.call("ship", {"left": 2})
            await client.changes.next(stock)


def test_the_outer_application_is_still_there(hosted: dict[str, str]) -> None:
    for application, path in (("FastAPI, mounted at /", "/health"), ("Starlette, mounted", "/health")):
        root = httpx.URL(hosted[application]).join("/")
        assert httpx.get(root.join(path), trust_env=False).status_code == 200
        assert httpx.get(root.join("/nothing"), trust_env=False).status_code == 404


@pytest.mark.parametrize("application", ["alone", "FastAPI, mounted at /tools"])
def test_a_call_whose_client_has_left_is_cancelled(hosted: dict[str, str], application: str) -> None:
    leaver, stayer = Http(hosted[application]), Http(hosted[application])
    tag = str(uuid4())
    with closing(leaver.call("linger", tag=tag)):
        assert said(stayer, "until", entry=f"{tag}: goes on") == "true"
    assert said(stayer, "until", entry=f"{tag}: cancelled") == "true"
    with closing(leaver.call("outcome", how="confirm", tag=f"{tag} asking")) as call:
        assert next(call.events())["method"] == "elicitation/create"
    assert said(stayer, "until", entry=f"{tag} asking: cancelled") == "true"


def said(client: Http, tool: str, **arguments: str) -> str:
    """The text of a call's result."""
    with closing(client.call(tool, **arguments)) as call:
        return str(call.body()["result"]["content"][0]["text"])
