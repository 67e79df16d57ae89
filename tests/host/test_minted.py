"""A host that mints its claim: manifest, bind, drop, resume, restart (Tesseron 1.2 §3 and §8)."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from errno import ENOSPC
from pathlib import Path
from typing import Any

import anyio
import pytest

from tesseron_py import Context, Tesseron, directory
from tesseron_py.bindings import unix
from tesseron_py.bindings.channel import Closed
from tesseron_py.bindings.websocket import DialRefused, dial
from tesseron_py.content import Text
from tesseron_py.host import host as host_module
from tesseron_py.host.claims import Claim
from tesseron_py.host.events import Claimed, Dropped, HandshakeFailed, Resumed
from tesseron_py.host.listening import listening_host
from tesseron_py.host.pairing import LIFETIME, Pairing
from tesseron_py.protocol.messages import AgentInfo

from .fake_gateway import WELCOME, FakeGateway

CLAUDE = AgentInfo("claude", "Claude")


def shop() -> Tesseron:
    app = Tesseron("shop", "The shop")

    @app.action
    async def who(ctx: Context) -> str:
        return ctx.agent.name

    return app


@asynccontextmanager
async def gateway_at(place: str | dict[str, Any], code: str | None = None) -> AsyncIterator[FakeGateway]:
    with anyio.fail_after(5):
        if isinstance(place, dict) and place["kind"] == "uds":
            channel: Any = await unix.dial(place["path"], code=code)
        else:
            channel = await dial(place if isinstance(place, str) else place["url"], code=code)
    try:
        yield FakeGateway(channel)
    finally:
        await channel.aclose()


async def refused(url: str, code: str | None = None) -> int:
    with pytest.raises(DialRefused) as raised:
        await dial(url, code=code)
    return raised.value.status


def manifest_in(home: Path) -> dict[str, Any]:
    (path,) = (home / "instances").iterdir()
    return dict(json.loads(path.read_text()))


async def manifest_when(home: Path, holds: Any) -> dict[str, Any]:
    """The manifest, as soon as `holds(manifest)`."""
    with anyio.fail_after(5):
        while True:
            manifest = manifest_in(home)
            if holds(manifest):
                return manifest
            await anyio.sleep(0.005)  # a file tells nobody of its changes


async def claim(gateway: FakeGateway, session: str, token: str | None = "rt_2") -> None:
    more = {"resumeToken": token} if token is not None else {}
    await gateway.welcome(sessionId=session, agent={"id": "pending", "name": "Awaiting agent"}, **more)
    await gateway.send(method="tesseron/claimed", params={"agent": CLAUDE.to_wire(), "claimedAt": 1})


async def test_the_manifest_tells_gateways_of_the_claim_and_only_this_user(tesseron_home: Path) -> None:
    before = int(time.time() * 1000)
    async with shop().listen() as host:
        manifest = manifest_in(tesseron_home)
        minted = manifest.pop("hostMintedClaim")
        assert manifest == {
            "version": 2,
            "instanceId": manifest["instanceId"],
            "appName": "The shop",
            "addedAt": manifest["addedAt"],
            "pid": os.getpid(),
            "transport": {"kind": "ws", "url": host.url},
            "helloHandledByHost": True,
        }
        assert before <= manifest["addedAt"] <= time.time() * 1000
        assert minted["code"] == host.claim_code
        assert minted["boundAgent"] is None
        assert minted["expiresAt"] - minted["mintedAt"] == 600_000
        (path,) = (tesseron_home / "instances").iterdir()
        assert path.name == f"{manifest['instanceId']}.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list((tesseron_home / "instances").iterdir()) == []


async def test_every_answer_to_a_bind_before_and_after_the_claim(tesseron_home: Path) -> None:
    async with shop().listen() as host:
        code = host.claim_code
        assert code is not None
        assert await refused(host.url) == 426
        assert await refused(host.url, "WRONG-1") == 403
        async with gateway_at(host.url, code.lower()) as gateway:
            assert await refused(host.url, code) == 409
            await claim(gateway, "s_9")
            with anyio.fail_after(5):
                assert await host.claimed() == CLAUDE
            assert host.claim_code is None
            assert (await gateway.call("who"))["result"]["output"] == "Claude"
            manifest = await manifest_when(tesseron_home, lambda m: m["hostMintedClaim"]["boundAgent"])
            assert manifest["hostMintedClaim"]["boundAgent"] == CLAUDE.to_wire()
            assert manifest["helloHandledByHost"] is True
            assert await refused(host.url, code) == 409
        await manifest_when(tesseron_home, lambda m: "helloHandledByHost" not in m)
        assert await refused(host.url, code) == 409
        assert await refused(host.url) == 426


async def test_after_a_drop_the_manifest_leads_to_the_resume_endpoint_and_tokens_rotate(tesseron_home: Path) -> None:
    async with shop().listen() as host:
        code = host.claim_code
        async with gateway_at(host.url, code) as gateway:
            await claim(gateway, "s_9", "rt_2")
            with anyio.fail_after(5):
                await host.claimed()
        manifest = await manifest_when(tesseron_home, lambda m: "helloHandledByHost" not in m)
        assert manifest["hostMintedClaim"]["boundAgent"] == CLAUDE.to_wire()
        assert not {"code", "resumeToken"} & set(manifest["hostMintedClaim"])
        url = manifest["transport"]["url"]
        assert url.startswith(host.url + "resume-")
        assert len(url) - len(host.url + "resume-") >= 22
        for old, new in (("rt_2", "rt_3"), ("rt_3", "rt_4")):
            async with gateway_at(url) as gateway:
                request = await gateway.recv()
                assert request["method"] == "tesseron/resume"
                assert request["params"]["sessionId"] == "s_9"
                assert request["params"]["resumeToken"] == old
                assert request["params"]["app"]["id"] == "shop"
                assert request["params"]["extensions"] == {"tesseron-py": 1}
                welcome = {**WELCOME, "sessionId": "s_9", "resumeToken": new}
                welcome["agent"] = {"id": "pending", "name": "Awaiting agent"}
                welcome["claimCode"] = "ZZ22-ZZ"  # none of it counts: what is resumed is claimed
                await gateway.send(id=request["id"], result=welcome)
                assert (await gateway.call("who"))["result"]["output"] == "Claude"
                assert host.claim_code is None
        seen = []
        with anyio.fail_after(5):
            while seen.count(Resumed(CLAUDE)) < 2:
                seen.append(await anext(host.events))
        assert seen[0] == Claimed(CLAUDE)
        assert isinstance(seen[1], Dropped)


@pytest.mark.parametrize("code", [-32011, -32602, -32009])
async def test_a_refused_resume_is_followed_by_a_hello_and_the_pair_outlives_it(tesseron_home: Path, code: int) -> None:
    async with shop().listen() as host:
        async with gateway_at(host.url, host.claim_code) as gateway:
            await claim(gateway, "s_9")
            with anyio.fail_after(5):
                await host.claimed()
        url = (await manifest_when(tesseron_home, lambda m: "helloHandledByHost" not in m))["transport"]["url"]
        async with gateway_at(url) as stranger:
            request = await stranger.recv()
            await stranger.send(id=request["id"], error={"code": code, "message": "who?"})
            await stranger.welcome(sessionId="s_other", claimCode="ZZ22-ZZ", agent={"id": "pending", "name": "x"})
            assert stranger.hello["method"] == "tesseron/hello"
            assert "resumeToken" not in stranger.hello["params"]
            assert (await stranger.call("who"))["result"]["output"] == "x"
            assert host.claim_code == "ZZ22-ZZ"
        async with gateway_at(url) as gateway:
            request = await gateway.recv()
            assert request["method"] == "tesseron/resume"
            assert request["params"]["resumeToken"] == "rt_2"


async def test_another_version_or_session_ends_the_resume_and_keeps_the_pair(tesseron_home: Path) -> None:
    async with shop().listen() as host:
        async with gateway_at(host.url, host.claim_code) as gateway:
            await claim(gateway, "s_9")
            with anyio.fail_after(5):
                await host.claimed()
        url = (await manifest_when(tesseron_home, lambda m: "helloHandledByHost" not in m))["transport"]["url"]
        for answer in (
            {"error": {"code": -32000, "message": "version"}},
            {"result": {**WELCOME, "sessionId": "s_other", "resumeToken": "rt_x"}},
        ):
            async with gateway_at(url) as gateway:
                request = await gateway.recv()
                assert request["params"]["resumeToken"] == "rt_2"
                await gateway.send(id=request["id"], **answer)
                with pytest.raises(Closed):
                    await gateway.recv()


async def test_a_claim_whose_handshake_failed_is_not_spent(tesseron_home: Path) -> None:
    async with shop().listen() as host:
        code = host.claim_code
        async with gateway_at(host.url, code) as gateway:
            await gateway.recv()
        async with gateway_at(host.url, code) as gateway:
            hello = await gateway.recv()
            await gateway.send(id=hello["id"], error={"code": -32000, "message": "version"})
            with pytest.raises(Closed):
                await gateway.recv()
        assert host.claim_code == code
        async with gateway_at(host.url, code) as gateway:
            await claim(gateway, "s_9")
            with anyio.fail_after(5):
                await host.claimed()
        seen = []
        while not seen or not isinstance(seen[-1], Claimed):
            seen.append(await anext(host.events))
        assert [type(event) for event in seen] == [HandshakeFailed, HandshakeFailed, Claimed]


async def test_a_minted_session_goes_by_what_the_gateway_says_last() -> None:
    app = shop()

    @app.action
    async def show(ctx: Context) -> Text:
        return Text(str(ctx.capabilities.elicitation))

    async with app.listen() as host, gateway_at(host.url, host.claim_code) as gateway:
        can_not = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": False}
        await gateway.welcome(sessionId="s_9", capabilities=can_not, extensions={"tesseron-py": 1})
        shown = (await gateway.call("show"))["result"]  # a call may come before the claim is told
        assert shown["content"] == [{"type": "text", "text": "False"}]
        claimed = {"agent": CLAUDE.to_wire(), "claimedAt": 1}
        await gateway.send(method="tesseron/claimed", params=claimed)
        assert (await gateway.call("show"))["result"]["content"][0]["text"] == "False"
        claimed["agentCapabilities"] = {**can_not, "elicitation": True}
        await gateway.send(method="tesseron/claimed", params=claimed)
        assert (await gateway.call("show"))["result"]["content"][0]["text"] == "True"


async def test_a_gateway_that_gives_no_token_resumes_with_the_minted_one(tesseron_home: Path) -> None:
    fixed = Claim("AB3X-7K", "s_fixed", "rt_fixed", 0)
    async with listening_host(shop(), claim=fixed) as host:
        assert host.claim_code == "AB3X-7K"
        async with gateway_at(host.url, "AB3X-7K") as gateway:
            await claim(gateway, "s_fixed", None)
            with anyio.fail_after(5):
                await host.claimed()
        url = (await manifest_when(tesseron_home, lambda m: "helloHandledByHost" not in m))["transport"]["url"]
        async with gateway_at(url) as gateway:
            assert (await gateway.recv())["params"]["resumeToken"] == "rt_fixed"


class Failing:
    """An endpoint that fails as soon as it is to give a connection, while there are failures to come."""

    def __init__(self, endpoint: Any, failures: list[Exception]) -> None:
        self._endpoint = endpoint
        self._failures = failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    async def accept(self) -> Any:
        if self._failures:
            raise self._failures.pop()
        return await self._endpoint.accept()


@pytest.mark.parametrize(("binding", "token"), [("ws", "rt_2"), ("uds", "rt_2"), ("ws", None)])
async def test_an_endpoint_that_fails_is_opened_anew_more_and_more_slowly_and_can_be_resumed_at(
    binding: Any,
    token: str | None,
    tesseron_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(host_module, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(host_module, "LONGEST_PAUSE", 0.004)
    failures: list[Exception] = []
    open_again = anyio.Event()
    host = listening_host(shop(), binding)
    real = host._source

    @asynccontextmanager
    async def source() -> AsyncIterator[Any]:
        async with real() as endpoint:
            if host.url and not failures:
                open_again.set()
            yield Failing(endpoint, failures)

    host._source = source
    async with host:
        place = dict(manifest_in(tesseron_home)["transport"])
        async with gateway_at(place, host.claim_code) as gateway:
            await claim(gateway, "s_9", token)
            with anyio.fail_after(5):
                await host.claimed()
            failures.extend([OSError("no such device"), Closed("it broke"), OSError("no"), Closed("no")])
        with anyio.fail_after(5):
            await open_again.wait()
        manifest = manifest_in(tesseron_home)
        assert "helloHandledByHost" not in manifest
        fresh = manifest["transport"]
        assert fresh != place
        async with gateway_at(fresh) as gateway:
            request = await gateway.recv()
            assert request["method"] == ("tesseron/resume" if token else "tesseron/hello")
            assert request["params"].get("resumeToken") == token
    told = [str(event) async for event in host.events]
    assert told[2:6] == [f"handshake failed: {why}" for why in ("no", "no", "it broke", "no such device")]
    pauses = re.findall(r"cannot be reached \(.*\); trying again in (\S+) s", caplog.text)
    assert pauses == ["0.001", "0.002", "0.004", "0.004"]


async def test_a_gateway_minted_claim_is_resumed_at_the_same_place_once_it_was_claimed(tesseron_home: Path) -> None:
    async with shop().listen(claims="gateway") as host:
        manifest = manifest_in(tesseron_home)
        assert "hostMintedClaim" not in manifest
        assert "helloHandledByHost" not in manifest
        async with gateway_at(host.url) as gateway:
            await gateway.welcome(claimCode="AB3X-7K", resumeToken="rt_1")
            assert (await gateway.call("who"))["result"]["output"] == "Claude"
            assert host.claim_code == "AB3X-7K"
        async with gateway_at(host.url) as gateway:  # never claimed, so never resumed
            await gateway.welcome(claimCode="CD3X-7K", resumeToken="rt_2")
            assert gateway.hello["method"] == "tesseron/hello"
            await gateway.send(method="tesseron/claimed", params={"agent": CLAUDE.to_wire()})
            with anyio.fail_after(5):
                await host.claimed()
        async with gateway_at(host.url) as gateway:
            request = await gateway.recv()
            assert (request["method"], request["params"]["resumeToken"]) == ("tesseron/resume", "rt_2")
        assert manifest_in(tesseron_home) == manifest


async def test_a_pairing_kept_in_a_file_outlives_the_process(tesseron_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "private" / "pairing.json"
    async with shop().listen(pairing=file) as host, gateway_at(host.url, host.claim_code) as gateway:
        await claim(gateway, "s_9")
        with anyio.fail_after(5):
            await host.claimed()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    async with shop().listen(pairing=file) as host:
        manifest = manifest_in(tesseron_home)
        assert "helloHandledByHost" not in manifest
        async with gateway_at(manifest["transport"]["url"]) as gateway:
            request = await gateway.recv()
            assert request["params"]["resumeToken"] == "rt_2"
            await gateway.send(id=request["id"], result={**WELCOME, "sessionId": "s_9", "resumeToken": "rt_3"})
            with anyio.fail_after(5):
                assert (await host.claimed()).name == "Claude"
    assert json.loads(file.read_text())["resumeToken"] == "rt_3"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"appId":"bank"}',
        '{"appId":"shop","sessionId":1,"resumeToken":"x","agent":{"id":"a"},"keptAt":1}',
    ],
)
def test_a_pairing_file_that_is_none_is_no_pair(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "pairing.json"
    file.write_text(content)
    assert Pairing("shop", file=file).pair is None
    pairing = Pairing("shop", file=tmp_path)
    pairing.keep("s_1", "rt_secret", CLAUDE)
    assert pairing.pair is not None
    assert "cannot be kept" in caplog.text
    assert "rt_secret" not in caplog.text + repr(pairing.pair)


def test_a_pair_is_forgotten_when_no_gateway_can_know_it_any_more() -> None:
    now = [1000.0]
    pairing = Pairing("shop", now=lambda: now[0])
    pairing.keep("s_1", "rt_1", CLAUDE)
    now[0] += LIFETIME - 1
    assert pairing.pair is not None
    now[0] += 2
    assert pairing.pair is None


async def test_the_claim_is_kept_fresh_while_nobody_has_it(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "REFRESH", 0.01)
    async with shop().listen():
        first = manifest_in(tesseron_home)["hostMintedClaim"]
        fresh = await manifest_when(tesseron_home, lambda m: m["hostMintedClaim"]["mintedAt"] > first["mintedAt"])
        assert fresh["hostMintedClaim"]["code"] == first["code"]
        assert fresh["hostMintedClaim"]["expiresAt"] > first["expiresAt"]


async def test_a_claim_that_is_spent_is_not_kept_fresh(tesseron_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "REFRESH", 0.01)
    async with shop().listen() as host, gateway_at(host.url, host.claim_code) as gateway:
        await claim(gateway, "s_9")
        bound = await manifest_when(tesseron_home, lambda m: m["hostMintedClaim"]["boundAgent"])
        (path,) = (tesseron_home / "instances").iterdir()
        for _ in range(2):  # it is written again all the while, in case somebody removed it
            path.unlink()
            with anyio.fail_after(5):
                while not path.exists():  # noqa: ASYNC110  # a file tells nobody of its changes
                    await anyio.sleep(0.005)
            assert manifest_in(tesseron_home) == bound


async def test_a_removed_manifest_comes_back(tesseron_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "REFRESH", 0.01)
    async with shop().listen(claims="gateway"):
        (path,) = (tesseron_home / "instances").iterdir()
        path.unlink()
        with anyio.fail_after(5):
            while not path.exists():  # noqa: ASYNC110  # a file tells nobody of its changes
                await anyio.sleep(0.005)


async def test_a_manifest_that_cannot_be_written_is_written_as_soon_as_it_can_be(
    tesseron_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(host_module, "RENEWAL", 0.01)
    write, tries, full = directory.write, 0, True

    def write_if_there_is_room(path: Path, content: Any) -> None:
        nonlocal tries
        if full:
            tries += 1
            raise OSError(ENOSPC, "No space left on device")
        write(path, content)

    async with shop().listen() as host:
        minted = manifest_in(tesseron_home)
        monkeypatch.setattr(directory, "write", write_if_there_is_room)
        async with gateway_at(host.url, host.claim_code) as gateway:
            await claim(gateway, "s_9")
        with anyio.fail_after(5):
            while tries < 5:  # noqa: ASYNC110  # a disk tells nobody
                await anyio.sleep(0.005)
        assert manifest_in(tesseron_home) == minted
        full = False
        flipped = await manifest_when(tesseron_home, lambda m: "helloHandledByHost" not in m)
        assert flipped["transport"] != minted["transport"]
    assert caplog.text.count("cannot be written: [Errno 28]") == 1  # however often it was tried


async def test_a_directory_that_cannot_be_used_says_what_to_do(tesseron_home: Path) -> None:
    tesseron_home.write_text("a file")  # noqa: ASYNC240  # before anything runs
    with pytest.raises(OSError, match="TESSERON_HOME"):
        async with shop().listen():
            pass


PROGRAM = """
import sys, asyncio, threading, anyio
from tesseron_py import Tesseron
app = Tesseron("shop")
how, binding = sys.argv[1:]
def up(host):
    print(host.url, flush=True)
async def main():
    async with app.listen(binding) as host:
        up(host)
        if how == "raise":
            raise RuntimeError("mine")
        if how == "exit":
            sys.exit(3)
        if how == "return":
            return
        await anyio.sleep_forever()
if how == "thread":
    up(app.start(binding))
elif how == "thread waits":
    up(app.start(binding))
    threading.Event().wait()
elif how == "leak":
    async def leak():
        up(await app.listen(binding).__aenter__())
    loop = asyncio.new_event_loop()
    loop.run_until_complete(leak())
else:
    anyio.run(main)
"""


def left_by(tesseron_home: Path, url: str) -> list[Path]:
    """What there is of an app on disk: its manifest, and its socket and the directory of that."""
    socket = [Path(url), Path(url).parent] if url.startswith("/") else []
    return [path for path in [*(tesseron_home / "instances").iterdir(), *socket] if path.exists()]


@pytest.mark.parametrize("binding", ["ws", "uds"])
@pytest.mark.parametrize(
    ("how", "number", "code"),
    [
        ("return", None, 0),
        ("raise", None, 1),
        ("exit", None, 3),
        ("thread", None, 0),
        ("leak", None, 0),
        ("wait", signal.SIGINT, 1),
        ("wait", signal.SIGTERM, -signal.SIGTERM),
        ("thread waits", signal.SIGINT, 1),
        ("thread waits", signal.SIGTERM, -signal.SIGTERM),
    ],
)
def test_nothing_of_an_app_is_left_however_its_process_ends(
    tesseron_home: Path, how: str, number: signal.Signals | None, code: int, binding: str
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, how, binding]
    # A measurement of coverage does something of its own on SIGTERM, and then the program is left to it.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url
        if number is not None:
            assert len(left_by(tesseron_home, url)) == (1 if binding == "ws" else 3)
            process.send_signal(number)
        process.communicate(timeout=20)
    assert left_by(tesseron_home, url) == []
    assert process.returncode in (code, -abs(number or 0))


FORKING = """
import os, signal, sys, threading
from tesseron_py import Tesseron
host = Tesseron("shop").start("uds")
for end in ("exit", "terminate"):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # A signal that comes before the child has forgotten what was its parent's is lost.
        os.write(write, b"1")
        if end == "exit":
            sys.exit(0)
        threading.Event().wait()
    os.read(read, 1)
    if end == "terminate":
        os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
print(host.url, flush=True)
input()
"""


def test_a_child_of_an_app_leaves_what_is_its_parents(tesseron_home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert len(left_by(tesseron_home, url)) == 3
        process.communicate("\n", timeout=20)
    assert left_by(tesseron_home, url) == []
    assert process.returncode == 0


def test_run_shows_the_code_large_and_what_to_tell_the_agent(tesseron_home: Path) -> None:
    program = "from tesseron_py import Tesseron\nTesseron('shop', 'The shop').run()"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        shown = ""
        while "Ctrl-C" not in shown:
            shown += process.stderr.readline()
        code = manifest_in(tesseron_home)["hostMintedClaim"]["code"]
        assert " ".join(code) in shown
        assert f"claim the Tesseron session {code}" in shown
        process.terminate()
        assert process.wait(10) == 0
    assert list((tesseron_home / "instances").iterdir()) == []
