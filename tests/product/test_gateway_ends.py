"""How a gateway ends: soon, with exit code 0, and with nothing left of it but apps that wait for the next one."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest

from .house import CLAIM, CODE, Traces, gateway, running_app
from .journal import wait_written
from .processes import PATIENCE, SOON, TESSERON, Server
from .raw import Http, Pipe

HOW = [signal.SIGTERM, signal.SIGINT, None]


@pytest.fixture
def traces(tesseron_home: Path) -> Traces:
    """What is left in this test's `~/.tesseron`."""
    return Traces(tesseron_home)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """For apps: where they write down what their handlers live through."""
    return {"DEPOT_JOURNAL": str(tmp_path / "journal")}


def left_well(server: Server, how: signal.Signals | None, app: Server, traces: Traces, journal: str) -> None:
    """The gateway ends soon and without a complaint, its call is cancelled, and nothing of it is left."""
    shown = app.said
    took = server.end(how)
    server.check()
    assert took < SOON
    wait_written(Path(journal), "t: cancelled", PATIENCE)
    app.wait_line("dropped|the gateway has left", shown)
    assert traces.breadcrumbs() == []
    assert traces.gateways() == []
    traces.until(lambda: all("helloHandledByHost" not in manifest for manifest in traces.manifests()))
    assert len(traces.manifests()) == 2
    assert "warning" not in server.errors, server.errors


@pytest.mark.parametrize("how", HOW, ids=["SIGTERM", "SIGINT", "end of input"])
@pytest.mark.parametrize("options", [[], ["--uds"]], ids=["ws", "uds"])
def test_a_gateway_on_stdio_ends_in_the_middle_of_a_prompt(
    options: list[str], how: signal.Signals | None, env: dict[str, str], traces: Traces
) -> None:
    with running_app(*options, env=env) as app, running_app("--plain") as waiting, Pipe([TESSERON, "gateway"]) as pipe:
        pipe.open()
        claimed = pipe.response(pipe.call(CLAIM, code=app.wait_line(CODE)[1]))
        assert "isError" not in claimed["result"] or claimed["result"]["isError"] is False
        waiting.wait_line(CODE)
        assert len(traces.breadcrumbs()) == 1
        pipe.call("depot__outcome", how="confirm", tag="t")
        pipe.said("elicitation/create")
        if how is None:
            pipe.close()
        left_well(pipe.server, how, app, traces, env["DEPOT_JOURNAL"])
        assert pipe.said("notifications/cancelled")["params"]["requestId"] == "q-1"
        with pytest.raises(EOFError):
            pipe.said("anything more")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_over_http_ends_in_the_middle_of_a_prompt(
    how: signal.Signals, env: dict[str, str], traces: Traces
) -> None:
    with running_app(env=env) as app, running_app("--plain") as waiting, gateway() as (url, server):
        client = Http(url)
        with closing(client.call(CLAIM, code=app.wait_line(CODE)[1])) as call:
            assert json.loads(call.body()["result"]["content"][0]["text"])["app_id"] == "depot"
        waiting.wait_line(CODE)
        assert len(traces.breadcrumbs()) == 1
        assert traces.gateways() == [server.process.pid]
        with closing(client.call("depot__outcome", how="confirm", tag="t")) as call:
            events = call.events()
            prompt = next(events)
            assert prompt["method"] == "elicitation/create"
            left_well(server, how, app, traces, env["DEPOT_JOURNAL"])
            (withdrawn,) = events
            assert withdrawn["method"] == "notifications/cancelled"
            assert withdrawn["params"]["requestId"] == prompt["id"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_that_an_app_has_dialled_ends_in_the_middle_of_a_prompt(
    how: signal.Signals, env: dict[str, str], traces: Traces
) -> None:
    with gateway() as (url, server), Server([sys.executable, "-m", "tests.product.dial_out"], env) as app:
        client = Http(url)
        with closing(client.call(CLAIM, code=app.wait_line(CODE)[1])) as call:
            assert json.loads(call.body()["result"]["content"][0]["text"])["app_id"] == "depot"
        with closing(client.call("depot__outcome", how="confirm", tag="t")) as call:
            events = call.events()
            assert next(events)["method"] == "elicitation/create"
            assert server.end(how) < SOON
            server.check()
            assert [message["method"] for message in events] == ["notifications/cancelled"]
        wait_written(Path(env["DEPOT_JOURNAL"]), "t: cancelled", PATIENCE)
        assert traces.gateways() == traces.breadcrumbs() == []


@pytest.mark.parametrize("how", HOW, ids=["SIGTERM", "SIGINT", "end of input"])
def test_a_gateway_with_nothing_to_do_ends(how: signal.Signals | None, traces: Traces) -> None:
    with Pipe([TESSERON, "gateway"]) as pipe:
        pipe.open()
        if how is None:
            pipe.close()
        assert pipe.server.end(how) < SOON
        pipe.server.check()
    if how is not None:
        with gateway() as (_, server):
            assert server.end(how) < SOON
        assert traces.gateways() == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_apps_that_are_claimed_leave_no_trace_when_they_end(how: signal.Signals, traces: Traces) -> None:
    with (
        running_app() as one,
        running_app("--uds") as two,
        running_app("--plain") as three,
        Pipe([TESSERON, "gateway"]) as pipe,
    ):
        pipe.open()
        for app in (one, two, three):
            pipe.response(pipe.call(CLAIM, code=app.wait_line(CODE)[1]))
            app.wait_line("claimed by raw")
        socket = Path(two.wait_line("listens on (/.*)")[1])
        assert socket.exists()
        assert len(traces.manifests()) == 3
        for app in (one, two, three):
            assert app.end(how) < SOON
            app.check()
        assert traces.manifests() == []
        assert not socket.parent.exists()
