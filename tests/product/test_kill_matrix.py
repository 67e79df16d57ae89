"""kill -9 of the app, the gateway or the agent, in every phase, over every binding: what the other two see, and that
the whole path works again once the dead one is back.

The three stand on a site that the cases of one binding share, since a case leaves them as the next one needs them; one
that fails has the site cleared.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pytest

from .house import CLAIM, PENDING, House, failure_of
from .journal import wait_written
from .processes import PATIENCE

Victim: TypeAlias = Literal["app", "gateway", "agent"]
Phase: TypeAlias = Literal["before the claim", "idle", "mid-call", "prompt open"]

TOOL = "depot__echo"
_tags = (f"case {number}" for number in itertools.count(1))


@pytest.fixture(scope="module", params=["ws", "uds", "http"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Where the three of one binding are; none of them is started yet."""
    made = House(request.param, tmp_path_factory.mktemp("site"))
    yield made
    made.close()


@pytest.fixture
def house(site: House) -> House:
    """The three, all alive."""
    if site.is_empty:
        site.start_gateway()
        site.start_app()
        site.start_agent()
    return site


@dataclass(frozen=True)
class Work:
    """What is under way when the end comes.

    Attributes:
        tag: What its handler calls itself in the journal.
        logged: How many lines the gateway has logged before.
        call: The agent's request, where a call is under way.
        prompt: The question the person looks at, where there is one.
    """

    tag: str
    logged: int
    call: int | None = None
    prompt: dict[str, Any] | None = None


def bring_to(phase: Phase, house: House) -> Work:
    """Have the three in that phase."""
    tag, logged = next(_tags), house.gateway.said
    if phase == "before the claim":
        if house.claimed:
            house.app.end(signal.SIGTERM)
            house.agent.tools_until(lambda tools: TOOL not in tools)
            house.start_app()
        house.until(lambda: waiting(house) == ["The depot"])
        return Work(tag, logged)
    if not house.claimed:
        house.claim()
    if phase == "idle":
        return Work(tag, logged)
    if phase == "mid-call":
        call = house.agent.begin("depot__linger", tag=tag)
        wait_written(house.journal, f"{tag}: goes on", PATIENCE)
        return Work(tag, logged, call)
    call = house.agent.begin("depot__outcome", how="confirm", tag=tag)
    return Work(tag, logged, call, house.agent.prompt())


def waiting(house: House) -> list[str]:
    """The names of the apps that wait to be claimed, as the agent is told."""
    return [entry["app_name"] for entry in house.agent.value(PENDING)]


def kill_app(phase: Phase, house: House, work: Work) -> None:
    code = house.code
    house.agent.forget("changed")
    house.app.kill()
    if work.prompt is not None:
        house.agent.next(event="withdrawn", prompt=work.prompt["prompt"])
    if work.call is not None:
        got, message = failure_of(house.agent.result(work.call))
        assert got == -32010
        assert "The depot" in message
        house.gateway.wait_line("warning: .*The depot.*1 call", work.logged)
    house.agent.next(event="changed", what="tools")
    house.agent.tools_until(lambda tools: TOOL not in tools)
    house.until(lambda: house.manifests() == [])
    house.until(lambda: house.breadcrumbs() == [])
    house.until(lambda: waiting(house) == [])
    got, message = house.agent.failure(CLAIM, code=code)
    assert (got, "No app on this machine" in message) == (-32009, True)
    if phase != "before the claim":
        got, message = house.agent.failure(TOOL, text="?")
        assert (got, "'The depot' is not connected any more" in message) == (-32009, True)
    house.start_app()
    assert house.code != code
    house.claim()


def kill_gateway(phase: Phase, house: House, work: Work) -> None:
    app, code, claimed = house.app, house.code, phase != "before the claim"
    shown = app.said
    before = house.manifests()
    house.gateway.kill()
    if work.prompt is not None:
        house.agent.next(event="withdrawn", prompt=work.prompt["prompt"])
    if work.call is not None:
        assert house.agent.outcome(work.call)["failed"] in ("NoAnswer", "TransportEnded")
    assert house.agent.outcome(house.agent.begin(TOOL, text="?"))["failed"] == "NoAnswer"
    if not house.has_manifest:
        # An app that dials out goes on trying for half a minute. It learns of a gateway's end from the next one.
        house.start_gateway()
    if work.call is not None:
        wait_written(house.journal, f"{work.tag}: cancelled", PATIENCE)
    if claimed or not house.has_manifest:
        app.wait_line("dropped|the gateway has left", shown)
    if house.has_manifest and claimed:
        house.until(lambda: house.manifests() != before)
        (manifest,) = house.manifests()
        flipped(manifest, before[0], code)
    else:
        assert house.manifests() == before

    if house.has_manifest:
        house.start_gateway()
    if claimed or not house.has_manifest:  # the sessions are gone with the gateway, or were its own
        house.claimed = False
        house.code = house.next_code(shown)
        assert house.code != code
        house.until(lambda: house.breadcrumbs() == [house.code])
    assert house.agent.outcome(house.agent.begin(TOOL, text="?"))["failed"] in ("McpError", "NoAnswer")
    house.agent.connect()
    assert TOOL not in house.agent.tools()
    house.until(lambda: waiting(house) == ["The depot"])
    assert house.code not in str(house.agent.value(PENDING))  # the person has to be asked anew
    house.claim()


def flipped(manifest: Mapping[str, Any], before: Mapping[str, Any], code: str) -> None:
    """The manifest is of the plain form, names who had the app, and leads to where the app waits to be resumed."""
    assert "helloHandledByHost" not in manifest
    assert manifest["hostMintedClaim"]["boundAgent"] == {"id": "claude", "name": "claude"}
    assert code not in str(manifest)
    assert "resumeToken" not in str(manifest)
    assert before["helloHandledByHost"] is True
    assert manifest["transport"]["kind"] == before["transport"]["kind"]
    assert manifest["transport"] != before["transport"]


def kill_agent(phase: Phase, house: House, work: Work) -> None:
    shown, before = house.app.said, house.manifests()
    house.agent.kill()
    if work.call is not None:
        wait_written(house.journal, f"{work.tag}: cancelled", PATIENCE)
    house.start_agent()
    if phase == "before the claim":
        assert TOOL not in house.agent.tools()
        assert waiting(house) == ["The depot"]
        house.claim()
    else:  # another session of the same principal, whose claim it is
        assert TOOL in house.agent.tools()
        assert house.manifests() == before
    said = house.app.said_after(shown)
    assert "dropped" not in said
    assert "has left" not in said


KILL: Mapping[Victim, Callable[[Phase, House, Work], None]] = {
    "app": kill_app,
    "gateway": kill_gateway,
    "agent": kill_agent,
}


@pytest.mark.parametrize("victim", KILL)
@pytest.mark.parametrize("phase", ["before the claim", "idle", "mid-call", "prompt open"])
def test_after_a_kill_the_others_see_it_and_the_path_works_again(house: House, phase: Phase, victim: Victim) -> None:
    try:
        work = bring_to(phase, house)
        KILL[victim](phase, house, work)
        works(house)
    except BaseException as error:
        house.close(error)  # the next case gets new ones
        raise


def works(house: House) -> None:
    """From the agent to the person and back, and nothing has been left lying about."""
    tag = next(_tags)
    call = house.agent.begin("depot__outcome", how="confirm", tag=tag)
    house.agent.answer(house.agent.prompt(), "yes")
    assert house.agent.result(call)["text"] == "True"
    assert house.agent.value(TOOL, text="still here") == "still here"
    assert house.agent.tools().count(TOOL) == 1
    assert waiting(house) == []
    assert house.agent.heard("prompt") == []
    house.until(lambda: house.breadcrumbs() == [])
    assert [manifest["pid"] for manifest in house.manifests()] == [house.app.process.pid] * house.has_manifest
    assert house.gateways() == [house.gateway.process.pid]
