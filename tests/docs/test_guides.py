"""What the guides say of the code in tables and lists: it is all there, and it is what the code says."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import re
import tomllib
from dataclasses import fields
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from tesseron_py import Limits, Tesseron
from tesseron_py.cli.main import COMMANDS
from tesseron_py.gateway import meta
from tesseron_py.mcp import client as mcp
from tesseron_py.mcp.client_process import ProcessTransport
from tesseron_py.mcp.messages import HTTP_VERSIONS, LEGACY_VERSIONS, MODERN_VERSION

from .blocks import ROOT, blocks_of
from .shell import environment
from .tables import codes, rows_of

DOCS = ROOT / "docs"
PACKAGE = ROOT / "tesseron_py"
UNITS = {"B": 1, "MiB": 1024**2, "s": 1, "min": 60, "h": 3600}


def section(document: Path, heading: str) -> str:
    text = document.read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_limits_are_those_of_the_code() -> None:
    told: dict[str, float] = {}
    for row in rows_of(DOCS / "running.md"):
        if row.table == "field":
            number, _, unit = row.cells[1].partition(" ")
            told[codes(row.cells[0])[0]] = float(number) * UNITS.get(unit, 1)
    assert told == {field.name: float(getattr(Limits(), field.name)) for field in fields(Limits)}


def test_the_revisions_are_those_of_the_code() -> None:
    told = {row.cells[0]: row.cells[1:] for row in rows_of(DOCS / "running.md") if row.table == "revision"}
    assert tuple(told) == (*LEGACY_VERSIONS, MODERN_VERSION)
    for version in LEGACY_VERSIONS:
        assert told[version][1].startswith("yes") == (version in HTTP_VERSIONS)


def test_the_gateways_tools_and_surfaces_are_those_of_the_code() -> None:
    tools = {codes(row.cells[0])[0] for row in rows_of(DOCS / "gateway.md") if row.table == "tool"}
    assert tools == {*meta.TOOLS, "<app>__<action>"}
    surfaces = {codes(row.cells[0])[0] for row in rows_of(DOCS / "gateway.md") if row.table == "surface"}
    assert surfaces == {*get_args(meta.Surface)}


def test_the_ways_to_run_take_what_is_told() -> None:
    told = {row.cells[0]: row.cells[1] for row in rows_of(DOCS / "running.md") if row.table == "parameter"}
    listen, connect, start = (
        inspect.signature(way).parameters for way in (Tesseron.listen, Tesseron.connect, Tesseron.start)
    )
    for cell, of in told.items():
        name = codes(cell)[0].removesuffix("=")
        if name == '"ws"':
            assert listen["binding"].annotation == f"Literal[{', '.join(codes(cell))}]".replace('"', "'")
        else:
            assert (name in listen, name in connect, name in start) == {
                "all": (True, True, True),
                "all but `connect`": (True, False, True),
                "`connect`": (False, True, False),
                "`start`": (False, False, True),
            }[of], name
    assert {"port", "claims", "pairing", "binding"} == {*listen} - {"self"}
    assert {"url", "token", "pairing"} == {*connect} - {"self"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_there_with_every_option(command: str) -> None:
    guide = DOCS / "command-line.md"
    told = section(guide, command)
    if importlib.util.find_spec(f"tesseron_py.cli.{command}") is None:
        assert not told
        return
    parser = argparse.ArgumentParser()
    importlib.import_module(f"tesseron_py.cli.{command}").configure(parser)
    options = {name for action in parser._actions for name in action.option_strings if name not in ("-h", "--help")}
    assert {codes(line)[0].split()[0] for line in told.splitlines() if line.startswith("| `--")} == options


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[>=\[]", each)[0] for each in project["dependencies"]}
    rows = list(rows_of(DOCS / "dependencies.md"))
    assert {row.cells[0] for row in rows if row.table == "package"} == needed
    extras = {codes(row.cells[0])[0]: row.cells[1] for row in rows if row.table == "extra"}
    assert extras.keys() == project["optional-dependencies"].keys()
    for extra, packages in project["optional-dependencies"].items():
        assert extras[extra] == (", ".join(re.split(r"[>=\[]", each)[0] for each in packages) or "none today")


def test_everything_that_a_dependency_brings_is_reviewed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    waiting = [re.split(r"[>=\[]", each)[0] for each in (*project["dependencies"], *extras)]
    brought: set[str] = set()
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in brought:
            continue
        brought.add(name)
        for each in metadata.requires(name) or []:
            needed, _, marker = each.partition(";")
            if not marker:  # under a marker are extras, and what older Pythons or other systems need
                waiting.append(re.split(r"[ <>=!~(\[]", needed)[0])
    told = [row.cells[0] for row in rows_of(DOCS / "dependencies.md") if row.table == "what runs"]
    assert set(", ".join(told).split(", ")) == brought


def test_every_room_is_on_the_plan() -> None:
    plan = next(block.text for block in blocks_of(DOCS / "architecture.md"))
    told = set(re.findall(r"(\w+(?:\.py|/))(?=\s)", plan)) - {"tesseron_py/"}
    there = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    there |= {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("_")}
    assert told == there


async def test_the_configuration_that_is_shown_starts_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in blocks_of(ROOT / "README.md"):
        if block.file == "shop.py":
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", environment()["PATH"])
    block = next(block for block in blocks_of(DOCS / "running.md") if block.kind == "json")
    for server in json.loads(block.text)["mcpServers"].values():
        async with mcp.McpClient(ProcessTransport([server["command"], *server["args"]])) as client:
            assert [tool["name"] for tool in await client.tools()] == ["clear_cart"]


def test_every_guide_can_be_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for guide in DOCS.glob("*.md"):
        assert f"(docs/{guide.name})" in readme
