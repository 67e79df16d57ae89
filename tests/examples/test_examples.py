"""Every example, run as its first lines say: in a process of its own, driven by `tesseron-py agent`."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..docs.shell import Shell

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py"))
YES = 'elicit-accept {"approve": true}'


@pytest.fixture
def shell() -> Any:
    with Shell(ROOT) as shell:
        yield shell


def play(shell: Shell, server: str, script: list[str], tmp_path: Path) -> tuple[list[Any], list[str]]:
    """The results of a script's calls, and what the person was asked."""
    path = tmp_path / "script.txt"
    path.write_text("\n".join(script), encoding="utf-8")
    said, code = shell.run(f"tesseron-py agent --elicit {server} < {path} 2> {path}.err")
    told = (tmp_path / "script.txt.err").read_text(encoding="utf-8").splitlines()
    assert code == 0, told
    return [json.loads(line) for line in said], [line[2:] for line in told if line.startswith("? ")]


def test_every_example_says_how_it_is_run() -> None:
    for path in EXAMPLES:
        first, blank, *lines = path.read_text(encoding="utf-8").partition('"""\n\n')[0].splitlines()
        assert first.startswith('"""'), path
        assert (blank, bool(lines)) == ("", True), path
        commands = lines[: lines.index("")] if "" in lines else lines
        for line in commands:
            assert re.match(r"(tesseron-py|uvicorn|claude|pytest|python) ", line), f"{path}: {line}"


def test_todo(shell: Shell, tmp_path: Path) -> None:
    results, asked = play(
        shell,
        '--stdio "tesseron-py mcp examples.todo:app"',
        [
            '@import_todos {"texts": ["tea", "mugs"]}',
            '@complete_todo {"id": 1}',
            'elicit-accept {"project": "work", "position": 2}',
            '@move_todo {"id": 2}',
            "elicit-decline",
            "@clear_completed",
            YES,
            "@clear_completed",
            "@list_todos",
            "read tesseron://todo/counts",
        ],
        tmp_path,
    )
    todo = {"id": 2, "text": "mugs", "project": "work", "done": False}
    assert results[2:] == [todo, 0, 1, [todo], {"open": 1, "done": 0}]
    assert asked == ["Where does 'mugs' go?", "Remove 1 completed todos?", "Remove 1 completed todos?"]


def test_the_shop_and_its_pages_share_one_cart(shell: Shell, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shell.serve(
        f"uvicorn --app-dir examples shop_fastapi:web --port {port} --timeout-graceful-shutdown 1",
        lambda said: any("Uvicorn running" in line for line in said),
    )
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url, trust_env=False) as page:
        assert page.post("/cart/tea", params={"amount": 2}).json() == {"items": {"tea": 2}, "total": 9}
        assert page.post("/cart/rum").status_code == 404
        order = [
            "@add_to_cart {}".replace("{}", '{"name": "mug"}'),
            'elicit-accept {"address": "1 High Street"}',
            "elicit-decline",
            "@order",
        ]
        results, asked = play(shell, f"--url {url}/mcp", order, tmp_path)
        assert results == [{"items": {"tea": 2, "mug": 1}, "total": 18}, "Nothing was ordered."]
        assert asked == ["Where does it go?", "Order for 18.00 €, to 1 High Street?"]
        assert page.get("/cart").json()["total"] == 18
        results, asked = play(shell, f"--url {url}/mcp", [YES, "@empty_cart"], tmp_path)
        assert (results, asked) == ([{"items": {}, "total": 0}], ["Empty the cart?"])
        assert page.get("/cart").json() == {"items": {}, "total": 0}


def test_field_101_a_model_cannot_say_yes_in_place_of_a_person(shell: Shell, tmp_path: Path) -> None:
    app = '--app "examples.shop_fastapi:app"'
    script = ['@add_to_cart {"name": "tea"}', "elicit-decline", "@empty_cart", "read tesseron://shop/cart"]
    results, _ = play(shell, app, script, tmp_path)
    assert results[1:] == [{"cancelled": True}, {"items": {"tea": 1}, "total": 4.5}]
    said, code = shell.run(f"echo '@empty_cart {{\"confirm\": true}}' | tesseron-py agent {app}")
    assert code == 1
    assert said[0].startswith('error: @empty_cart: confirm: unknown argument "confirm"')


def test_the_shops_own_tests_pass(shell: Shell) -> None:
    said, code = shell.run("pytest examples/test_shop.py")
    assert code == 0, said
    assert re.fullmatch(r"8 passed in .*", said[-1])


def test_notes(shell: Shell, tmp_path: Path) -> None:
    target, database = tmp_path / "notes.txt", tmp_path / "notes.db"
    results, asked = play(
        shell,
        f'--stdio "env NOTES_DB={database} tesseron-py mcp examples.notes_sync:app"',
        [
            '@add_note {"text": "buy tea"}',
            '@add_note {"text": "buy mugs"}',
            f'elicit-accept {{"path": "{target}"}}',
            "@export_notes",
            f'elicit-accept {{"path": "{target}"}}',
            "elicit-decline",
            "@export_notes",
            "elicit-decline",
            "@export_notes",
            "elicit-decline",
            '@delete_notes {"part": "buy"}',
            YES,
            '@delete_notes {"part": "tea"}',
            "@find_notes",
        ],
        tmp_path,
    )
    nothing = "Nothing was written."
    expected = [1, 2, f"2 notes are in {target}.", nothing, nothing, {"cancelled": True}, 1, ["buy mugs"]]
    assert results == expected
    assert asked[2] == f"{target} is there already. Replace it?"
    assert asked[-1] == "Delete every note that contains “tea”?"
    assert target.read_text(encoding="utf-8") == "buy tea\nbuy mugs\n"
    kept, _ = play(
        shell, f'--stdio "env NOTES_DB={database} tesseron-py mcp examples.notes_sync:app"', ["@find_notes"], tmp_path
    )
    assert kept == [["buy mugs"]]


def test_timers_on_trio(shell: Shell, tmp_path: Path) -> None:
    results, asked = play(
        shell,
        '--stdio "python examples/trio_app.py"',
        [
            '@start_timer {"name": "eggs", "seconds": 300}',
            '@start_timer {"name": "rice", "seconds": 0.001}',
            YES,
            '@start_timer {"name": "eggs", "seconds": 360}',
            "elicit-cancel",
            '@start_timer {"name": "eggs", "seconds": 420}',
            YES,
            "@stop_timers",
            "read tesseron://timers/timers",
        ],
        tmp_path,
    )
    assert results[0] == ["eggs"]
    assert "rice" in results[1]
    assert results[-2:] == [[], []]
    assert asked[:2] == ["The timer eggs runs already. Start it afresh?"] * 2
    assert asked[2].startswith("Stop eggs")
