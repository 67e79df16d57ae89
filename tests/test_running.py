"""What an app in the foreground shows: codes, addresses and events, and nothing in them acts on a terminal."""

from __future__ import annotations

import anyio
import pytest

from tesseron_py import AgentInfo, Tesseron
from tesseron_py.host.events import Claimed, Dropped, HandshakeFailed, Resumed
from tesseron_py.running import Ending, _serve, code_card

EVIL = "\x1b]0;title\x07evil\nclaimed by somebody\x1b[2J\u202e"


async def test_what_agents_and_gateways_say_is_shown_as_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    app = Tesseron("shop", f"The shop {EVIL}")
    host = app.listen(claims="gateway")
    for event in (Claimed(AgentInfo("a", EVIL)), Resumed(AgentInfo("a", EVIL)), Dropped(EVIL), HandshakeFailed(EVIL)):
        host.events.add(event)
    said = ""
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, app, host, Ending())
        with anyio.fail_after(5):
            while "handshake failed" not in said:
                await anyio.wait_all_tasks_blocked()
                said += capsys.readouterr().err
        host.on_claim_code(EVIL)
        said += capsys.readouterr().err
        group.cancel_scope.cancel()
    assert [char for char in "\x1b\x07\u202e" if char in said] == []
    assert "claimed by somebody" not in said.splitlines()
    assert said.count("\\x1b]0;title\\x07evil\\nclaimed by somebody\\x1b[2J\\u202e") == 6


def test_a_claim_code_is_shown_large_and_as_what_to_tell_the_agent() -> None:
    card = code_card("ABCD-EF")
    assert "│ A B C D - E F │" in card
    assert card.endswith("Tell your agent: claim the Tesseron session ABCD-EF\n")
