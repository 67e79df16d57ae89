"""The package as a whole: what it exports, what imports what, and what an import costs."""

from __future__ import annotations

import ast
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import tesseron_py
from tesseron_py import errors

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tesseron_py"

CONTRACT = """
    Tesseron, Limits, action, Action, Context, SyncContext, current_context, confirm, elicit, ask, sync,
    Accepted, Declined, Cancelled, AgentInfo, Capabilities, Host, SyncHost,
    TesseronError, ErrorCode, RegistrationError, ActionError, InvalidAnswer, MalformedAnswer, InvalidSchema,
    InvalidInput, TooManyPrompts, ElicitationNotAvailable, SamplingNotAvailable, ActionCancelled, ActionTimeout,
    TransportClosed
"""


def test_the_exports_are_exactly_those_of_the_contract() -> None:
    contract = {name.strip() for name in CONTRACT.split(",")}
    assert set(tesseron_py.__all__) == contract | {"__version__"}
    for name in tesseron_py.__all__:
        assert getattr(tesseron_py, name) is not None
    assert set(tesseron_py.__all__) <= set(dir(tesseron_py))
    assert tesseron_py.errors is errors
    with pytest.raises(AttributeError, match="nothing"):
        tesseron_py.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_error_is_in_the_tree_that_its_module_draws() -> None:
    tree = errors.__doc__ or ""
    for name in errors.__all__:
        if name not in ("ErrorCode", "error_from_wire"):
            assert f" {name}" in tree, name
    for code in errors.ErrorCode:
        error = errors.error_from_wire(int(code), "why", {"x": 1})
        assert (error.code, error.message, error.data) == (code, "why", {"x": 1})


def test_errors_survive_pickling() -> None:
    import pickle

    for error in (errors.ActionError("x", [1]), errors.TesseronError(-1, "y")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (copy.code, copy.message, copy.data) == (error.code, error.message, error.data)


# What may import what, by the first part of a module's name. "*" is everything.
LEAVES = {
    "errors",
    "unset",
    "_version",
    "jsontext",
    "plain",
    "limits",
    "asking",
    "invocation",
    "home",
    "content",
    "bell",
}
ALLOWED: dict[str, set[str]] = {
    "bell": set(),
    "errors": set(),
    "unset": set(),
    "_version": set(),
    "plain": set(),
    "limits": set(),
    "asking": set(),
    "content": set(),
    "jsontext": set(),
    "home": set(),
    "invocation": {"bell", "errors"},
    "workers": {"errors"},
    "protocol": {"errors", "jsontext"},
    "schema": {"errors", "jsontext", "plain", "unset", "protocol.messages", "context"},
    "bindings": {"bell", "errors", "home", "jsontext", "protocol", "web"},
    "context": {"errors", "asking", "unset", "protocol", "schema"},
    "sync": {"asking", "context", "unset"},
    "gate": {"context", "errors", "jsontext", "plain", "unset"},
    "actions": {"context", "errors", "protocol", "unset", "schema", "gate"},
    "resources": {"errors", "unset", "schema"},
    "web": set(),
    "mcp": {"errors", "invocation", "home", "jsontext", "web", "_version"},
    "directory": {"jsontext"},
    "announcement": {"directory"},
    "local_gateways": {"announcement", "directory"},
    "host": {
        "announcement", "directory", "local_gateways", "actions", "bell", "bindings", "content", "context", "errors",
        "home", "jsontext", "lifespan", "limits", "protocol", "resources", "schema.binary", "schema.handler",
        "workers", "app",
    },
    "gateway": {
        "bell", "directory", "bindings", "errors", "home", "invocation", "limits", "mcp.provider", "protocol",
        "schema.subset",
    },
    "endpoint": {"gateway", "local_gateways", "mcp", "bindings", "web"},
    "lifespan": {"home", "app", "errors"},
    "running": {"app", "host", "plain"},
    "app": {
        "actions", "errors", "limits", "protocol", "resources", "workers", "host", "direct", "bindings", "mcp",
        "running", "schema.handler", "schema.naming",
    },
    "direct": {
        "_version", "app", "bindings", "gateway", "host", "lifespan", "limits", "mcp", "workers",
    },
    "testing": {"*"},
    "cli": {"*"},
    "__main__": {"cli"},
    "__init__": {"*"},
}  # fmt: skip


def imports_of(path: Path) -> set[str]:
    """The package's own modules that a module names, wherever in it, as dotted names below the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    package = list(parts[:-1])
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            if node.module:
                found.add(".".join([*base, *node.module.split(".")]))
            else:
                found |= {".".join([*base, alias.name]) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tesseron_py"):
            found.add((node.module or "").removeprefix("tesseron_py").lstrip("."))
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_only_what_they_may(path: Path) -> None:
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    allowed = ALLOWED[room]
    if "*" in allowed:
        return
    for imported in imports_of(path):
        other = imported.split(".")[0]
        if other == room:
            continue
        assert any(imported == name or imported.startswith(f"{name}.") for name in allowed), f"{room} -> {imported}"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("__init__.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_package_inits_import_nothing(path: Path) -> None:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("__future__", "importlib", "typing"), path


LIGHT = """
import json, sys
from tesseron_py import (
    Tesseron, Limits, action, Action, Context, SyncContext, current_context, confirm, elicit, ask, sync, Accepted,
    Declined, Cancelled, AgentInfo, Capabilities, TesseronError, ErrorCode, RegistrationError, ActionError,
)
app = Tesseron("shop")
print(json.dumps(sorted(sys.modules)))
"""


def test_importing_what_an_author_touches_loads_nothing_heavy() -> None:
    result = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True, timeout=30)
    loaded = set(json.loads(result.stdout))
    for heavy in ("asyncio", "trio", "websockets", "httpx", "uvicorn", "mcp", "ssl", "pydantic"):
        assert heavy not in loaded, heavy
    ours = {name for name in loaded if name.startswith("tesseron_py.")}
    assert not {name for name in ours if name.split(".")[1] in ("gateway", "mcp", "bindings", "host", "testing", "cli")}


def test_the_version_is_one() -> None:
    from importlib.metadata import version

    assert version("tesseron-py") == tesseron_py.__version__


def test_every_logger_is_under_the_library() -> None:
    for path in PACKAGE.rglob("*.py"):
        for line in path.read_text().splitlines():
            if "logging.getLogger(" in line:
                assert 'getLogger("tesseron_py' in line, f"{path}: {line}"
    assert logging.getLogger("tesseron_py").level == logging.NOTSET
