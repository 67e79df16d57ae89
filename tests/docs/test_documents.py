"""Every fenced block of the README and the guides: run, compared, or read; nothing is shown that does not hold.

A block whose first line is a comment with a file name is that file. Python without a name goes on where the document's
last such block ended, and may await; one that says `asyncio` runs there alone. A console block shows commands after
`$ `, and below each exactly what it prints.
Ports and claim codes are others each time; what a document shows stands for those that a command was given or printed.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from types import FunctionType
from typing import Any

import pytest

from .blocks import DOCUMENTS, ROOT, Block, Command, blocks_of, commands_of, shows
from .shell import Shell

BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]

KINDS = {"python", "console", "json", "toml", "text"}

# What cannot be run here, and why.
NOT_RUN = {
    r"claude mcp add .*": "needs Claude Code",
    r"pip-audit": "asks the network",
    r"pip install .*": "would change the environment that the tests run in",
    r"make (demo|test|bench|fuzz)( .*)?": "makes an environment; what they run has tests of its own",
    r"ssh .*": "needs another machine",
    r"caddy .*": "needs a name and a certificate",
}
# What goes on until it is stopped: it runs until the end of its document, or until it is started again.
SERVERS = re.compile(
    r"(\w+=\S+ )?(tesseron-py ((mcp|gateway) .*--http|run)|uvicorn|hypercorn|docker run|python) .*", re.DOTALL
)
# Ports that are written in the documents, and are others when the documents are tested.
PORTS = ("7475", "8000", "8001", "8002", "8003", "8004", "8005", "8006")
# A claim code, and the code that an app has minted, in what it shows.
CODE = re.compile(r"\b[A-HJKMNP-Z2-9]{4}-[A-HJKMNP-Z2-9]{2}\b")


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory that is the current one, and in which modules are found."""
    known = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_document_has_blocks_of_known_kinds() -> None:
    assert names(DOCUMENTS[0]) == "README.md"
    for block in BLOCKS:
        assert block.kind in KINDS, f"{block.place}: {block.kind or 'a block without a kind'}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
async def test_python_blocks_run(document: Path, directory: Path, anyio_backend_name: str) -> None:
    write_readme(directory, {})
    shared: dict[str, Any] = {"__name__": "document", "__builtins__": builtins}
    for block in blocks_of(document):
        if block.kind != "python":
            continue
        if "asyncio" in block.flags and anyio_backend_name != "asyncio":
            continue
        if block.file is None:
            await execute(block, shared)
            continue
        write(block, directory, {})
        if not block.file.startswith("test_"):
            import_module(block.file.removesuffix(".py"))


async def execute(block: Block, shared: dict[str, Any]) -> None:
    source = "\n" * (block.line - 1) + block.text  # so that a traceback names the document's own line
    code = compile(source, str(block.document), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = FunctionType(code, shared)()
    if inspect.isawaitable(result):
        await result


def write(block: Block, directory: Path, stand_ins: dict[str, str]) -> None:
    """Write the file that a block shows; a module that was imported before is imported anew."""
    assert block.file is not None
    (directory / block.file).write_text(moved(block.text, stand_ins), encoding="utf-8")
    sys.modules.pop(block.file.removesuffix(".py"), None)


def write_readme(directory: Path, ports: dict[str, str]) -> None:
    """The files of the README, which the guides go on with."""
    for block in blocks_of(DOCUMENTS[0]):
        if block.file is not None:
            write(block, directory, ports)


def moved(text: str, stand_ins: dict[str, str]) -> str:
    """The text with what its ports and claim codes stand for."""
    if not stand_ins:
        return text
    return re.sub(rf"\b({'|'.join(stand_ins)})\b", lambda match: stand_ins[match[0]], text)


def with_any_code(shown: tuple[str, ...]) -> tuple[str, ...]:
    """What a server is shown to print, whatever code it mints: in one word, and wide on its card."""
    codes = {code for line in shown for code in CODE.findall(line)}
    wide = {" ".join(code) for code in codes}
    return tuple(re.sub("|".join(codes | wide), "…", line) if codes else line for line in shown)


def free_ports() -> dict[str, str]:
    """A free port for each that is written; none twice."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in PORTS]
        return {port: str(each.getsockname()[1]) for port, each in zip(PORTS, listeners, strict=True)}


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if any(each.kind == "console" for each in blocks_of(path))], ids=names
)
def test_console_blocks_show_what_their_commands_print(document: Path, tmp_path: Path) -> None:
    stand_ins = free_ports()
    with Shell(tmp_path) as shell:
        write_readme(tmp_path, stand_ins)
        for block in blocks_of(document):
            if block.file is not None:
                write(block, tmp_path, stand_ins)
            elif block.kind == "console":
                for command in commands_of(block):
                    check(command, block, shell, stand_ins)


def check(command: Command, block: Block, shell: Shell, stand_ins: dict[str, str]) -> None:
    """Run a command; the claim code that a server shows is what the document's code stands for from then on."""
    if any(re.fullmatch(pattern, command.line) for pattern in NOT_RUN):
        return
    code = 0
    line = moved(command.line, stand_ins)
    if SERVERS.fullmatch(command.line) and "fails" not in block.flags:
        shown = tuple(moved(each, stand_ins) for each in with_any_code(command.shown))
        said = shell.serve(line, lambda said: shows(shown, said))
        minted = [CODE.findall("\n".join(lines)) for lines in (command.shown, said)]
        stand_ins.update(zip(*minted, strict=False))
    else:
        shown = tuple(moved(each, stand_ins) for each in command.shown)
        said, code = shell.run(line)
    assert shows(shown, said), "\n".join([f"{block.place}: {line}", *said])
    assert (code != 0) == ("fails" in block.flags), f"{block.place}: {line} exits with {code}"


def test_what_is_not_run_is_there_and_is_a_command() -> None:
    lines = [command.line for block in BLOCKS if block.kind == "console" for command in commands_of(block)]
    for pattern in NOT_RUN:
        assert any(re.fullmatch(pattern, line) for line in lines), pattern


def test_data_blocks_can_be_read() -> None:
    for block in BLOCKS:
        match block.kind:
            case "json":
                json.loads(block.text)
            case "toml":
                tomllib.loads(block.text)
            case "text":
                assert block.file or "figure" in block.flags, f"{block.place}: text is a file or a figure"


def modules() -> dict[str, str]:
    """The Python of all documents as modules: the files, and what goes on from block to block as one a document."""
    found: dict[str, str] = {}
    for block in BLOCKS:
        if block.kind == "python" and block.file is not None:
            assert found.setdefault(block.file, block.text) == block.text, f"{block.place}: another {block.file}"
    for document in DOCUMENTS:
        texts = [checkable(block) for block in blocks_of(document) if block.kind == "python" and block.file is None]
        if texts:
            found[f"{document.stem.replace('-', '_').lower()}_blocks.py"] = "\n\n".join(texts)
    return found


def decorators(statement: ast.stmt) -> list[ast.expr]:
    return getattr(statement, "decorator_list", [])


def checkable(block: Block) -> str:
    """A block with every statement that awaits in a function, since type checkers know no other place for that."""
    lines = block.text.splitlines(keepends=True)
    statements = ast.parse(block.text).body
    begins = [min(each.lineno for each in (statement, *decorators(statement))) for statement in statements]
    checked = ""
    for begin, end in pairwise([*begins, len(lines) + 1]):
        text = "".join(lines[begin - 1 : end - 1])
        try:
            compile(text, block.place, "exec", dont_inherit=True)
        except SyntaxError:
            text = f"async def line_{block.line + begin - 1}() -> None:\n{indent(text, '    ')}"
        checked += text
    return checked


def test_python_is_clean_for_type_checker_and_linter(tmp_path: Path) -> None:
    for name, text in modules().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    config, cache = str(ROOT / "pyproject.toml"), str(ROOT / ".mypy_cache")
    # Blocks import where they need something, also what only the rows of a table use.
    lint = ["ruff", "check", "--config", config, "--extend-ignore", "T20,I001,E402,F401"]
    types = ["mypy", "--strict", "--cache-dir", cache]
    for command in (lint, types):
        done = subprocess.run(
            [sys.executable, "-m", *command, "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_python_is_formatted(tmp_path: Path) -> None:
    for block in BLOCKS:
        if block.kind == "python":
            (tmp_path / f"{block.place.replace('/', '_').replace(':', '_')}.py").write_text(block.text, "utf-8")
    command = [sys.executable, "-m", "ruff", "format", "--diff", "--config", str(ROOT / "pyproject.toml"), "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=names)
def test_links_lead_somewhere(document: Path) -> None:
    for target in _LINK.findall(document.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        there = (document.parent / path).resolve() if path else document
        assert there.exists(), f"{names(document)}: {target}"
        assert not anchor or anchor in anchors(there), f"{names(document)}: {target}"
