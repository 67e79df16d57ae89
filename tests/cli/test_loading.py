"""An app that is loaded late on stdio is imported as every other command imports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_serving import INITIALIZE, LIST_TOOLS, command, ended, exchange

APP = """
import asyncio, signal, sqlite3, threading
import anyio
from tesseron_py import Tesseron

async def settings():
    await asyncio.sleep(0)
    return ["first"]

names = asyncio.run(settings()) + anyio.run(settings)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
assert threading.current_thread() is threading.main_thread()
db = sqlite3.connect(":memory:")
app = Tesseron("shop")

@app.action
async def look() -> list[str]:
    db.execute("select 1")
    return names
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "loop_app.py").write_text(APP)
    return tmp_path


def test_a_module_may_run_an_event_loop_while_it_is_imported(shop: Path) -> None:
    process = command(shop, "mcp", "loop_app:app")
    exchange(process, INITIALIZE)
    assert [tool["name"] for tool in exchange(process, LIST_TOOLS)["result"]["tools"]] == ["look"]
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "look"}}
    assert exchange(process, call)["result"]["content"][0]["text"] == '["first","first"]'
    assert ended(process) == (0, "", "")


def test_so_may_a_module_whose_agent_is_in_the_same_process(shop: Path) -> None:
    code, out, err = ended(command(shop, "agent", "--app", "loop_app:app"), "@look\n")
    assert (code, out) == (0, '["first","first"]\n'), err
