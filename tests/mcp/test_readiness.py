"""A provider that becomes ready late, once, or not at all."""

from __future__ import annotations

import anyio
import pytest

from tesseron_py.home import Home
from tesseron_py.mcp.messages import ProtocolError
from tesseron_py.mcp.readiness import Readiness


class Late:
    def __init__(self) -> None:
        self.calls = 0
        self.gate = anyio.Event()
        self.error: BaseException | None = None

    async def ready(self) -> None:
        self.calls += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error


async def test_many_wait_for_one_attempt_and_one_that_leaves_does_not_break_it_off() -> None:
    provider = Late()
    done: list[str] = []
    async with Home() as home:
        readiness = Readiness(provider, home)
        readiness.then(lambda: done.append("told"))

        async def wait(name: str) -> None:
            await readiness.wait()
            done.append(name)

        with anyio.fail_after(5):
            with anyio.move_on_after(0):
                await readiness.wait()
            async with anyio.create_task_group() as group:
                group.start_soon(wait, "a")
                group.start_soon(wait, "b")
                await anyio.wait_all_tasks_blocked()
                assert done == []
                provider.gate.set()
            await readiness.wait()
        readiness.then(lambda: done.append("later"))
        assert sorted(done) == ["a", "b", "later", "told"]
        assert readiness.done
    assert provider.calls == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [(ImportError("No module named shop"), "No module named shop"), (SystemExit(3), "3"), (ValueError(), "ValueError")],
)
async def test_a_failure_answers_who_waited_and_the_next_tries_again(error: BaseException, message: str) -> None:
    provider = Late()
    provider.error = error
    provider.gate.set()
    told: list[str] = []
    async with Home() as home:
        readiness = Readiness(provider, home)
        readiness.then(lambda: told.append("forgotten"))
        for attempt in (1, 2):
            with anyio.fail_after(5), pytest.raises(ProtocolError) as caught:
                await readiness.wait()
            assert (caught.value.code, caught.value.message) == (-32603, message)
            assert provider.calls == attempt
        provider.error = None
        with anyio.fail_after(5):
            await readiness.wait()
        assert told == []


async def test_who_waits_is_told_when_the_server_closes() -> None:
    provider = Late()
    outcome: list[object] = []
    async with Home() as home, anyio.create_task_group() as group:
        readiness = Readiness(provider, home)

        async def wait() -> None:
            try:
                await readiness.wait()
            except ProtocolError as error:
                outcome.append(error.message)

        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await home.aclose()
    assert outcome == ["The server is closing"]


async def test_one_that_cannot_be_told_does_not_keep_the_others_waiting(caplog: pytest.LogCaptureFixture) -> None:
    provider = Late()
    told: list[str] = []
    async with Home() as home:
        readiness = Readiness(provider, home)
        readiness.then(lambda: 1 / 0)
        readiness.then(lambda: told.append("told"))
        provider.gate.set()
        with anyio.fail_after(5):
            await readiness.wait()
        readiness.then(lambda: 1 / 0)
        assert told == ["told"]
        assert caplog.text.count("ZeroDivisionError: division by zero") == 2
