"""The HTTP headers of the modern era: what a request says beside its body (MCP 2026-07-28, "Request Metadata").

It owns how a value is written into a header, and which arguments of which tool have a header of their own; that takes
the server's list of tools, which is remembered here. It sends nothing.
"""

from __future__ import annotations

import base64
import logging
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import anyio

from .client_result import objects
from .messages import CALL_TOOL, GET_PROMPT, MODERN_VERSION, READ_RESOURCE

logger = logging.getLogger("tesseron_py.mcp.client")

ANNOTATION: Final = "x-mcp-header"

_NAMED_BY: Final = {CALL_TOOL: "name", GET_PROMPT: "name", READ_RESOURCE: "uri"}
_PLAIN = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PRIMITIVE = ("string", "integer", "boolean")

# Where a JSON Schema holds schemas, by the shape of the value; data such as `default` is never searched.
_ONE = frozenset(
    {"items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties"}
    | {"not", "if", "then", "else", "contentSchema"}
)
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_BY_NAME = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})

Path: TypeAlias = tuple[str, ...]


def standard_headers(method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
    """The headers of every request: version and method, and the name or URI it is about."""
    headers = {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": method}
    name = (params or {}).get(_NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = header_value(name)
    return headers


def header_value(text: str) -> str:
    """`text` as it stands in a header: plain printable ASCII as it is, everything else as `=?base64?…?=`.

    Also encoded is what a header would not keep (space around it) and what reads as if it were encoded.
    """
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def annotated(schema: object) -> dict[Path, str]:
    """Which arguments of a tool have a header: the path of each in the arguments, and the header's name.

    Args:
        schema: The tool's `inputSchema`, as the server lists it.

    Raises:
        ValueError: An annotation breaks a rule, so the tool must not be used over HTTP; the message says which.
    """
    found: dict[Path, str] = {}
    names: set[str] = set()
    for path, position in _positions(schema):
        if ANNOTATION not in position:
            continue
        name, kind = position[ANNOTATION], position.get("type")
        if not path:
            raise ValueError(f"{ANNOTATION} stands where no argument has a fixed place")
        where = ".".join(path)
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{where}: {ANNOTATION} is not the name of a header")
        if kind not in _PRIMITIVE:
            raise ValueError(f"{where}: {ANNOTATION} needs the type string, integer or boolean")
        if name.lower() in names:
            raise ValueError(f"{where}: {ANNOTATION} {name!r} is there twice")
        names.add(name.lower())
        found[path] = name
    return found


def argument_headers(paths: Mapping[Path, str], arguments: object) -> dict[str, str]:
    """The `Mcp-Param-…` headers of a call. An argument that is absent or null has none."""
    headers: dict[str, str] = {}
    for path, name in paths.items():
        value = arguments
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if (text := _text_of(value)) is not None:
            headers[f"Mcp-Param-{name}"] = header_value(text)
    return headers


def _text_of(value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if value.is_integer():  # 42.0 is an integer in JSON Schema
            return str(int(value))
        case str():
            return value
    return None


def _positions(root: object) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Every schema within a schema, with the names that lead to it; `None` where anything but names does."""
    waiting: list[tuple[Path | None, object]] = [((), root)]
    while waiting:
        path, schema = waiting.pop()
        if not isinstance(schema, Mapping):
            continue
        yield path, schema
        for word, value in schema.items():
            if word == "properties" and isinstance(value, Mapping):
                waiting += [(None if path is None else (*path, name), inner) for name, inner in value.items()]
            elif word in _ONE:
                waiting.append((None, value))
            elif word in _SEVERAL and isinstance(value, list):
                waiting += [(None, inner) for inner in value]
            elif word in _BY_NAME and isinstance(value, Mapping):
                waiting += [(None, inner) for inner in value.values()]


@dataclass(slots=True)
class ToolHeaders:
    """Which arguments of the server's tools have headers, as far as its list has been read.

    Attributes:
        paths: For each tool that may be called, what `annotated` says.
        stale_at: When, on the clock of `anyio.current_time()`, the list has to be read again.
    """

    paths: dict[str, dict[Path, str]] = field(default_factory=dict)
    stale_at: float = -math.inf

    @property
    def fresh(self) -> bool:
        """Whether the list is known and still good."""
        return anyio.current_time() < self.stale_at

    def forget(self) -> None:
        """The server's list has changed: it has to be read again."""
        self.stale_at = -math.inf

    def learn(self, page: Mapping[str, Any]) -> dict[str, Any]:
        """Remember a page of the server's list; gives the page without the tools that must not be used.

        A time to live of 0 is kept without an end: a call whose headers are not right is refused before it runs, and
        the list is then read again. Reading it before each call would double every call.
        """
        kept: list[dict[str, Any]] = []
        for tool in objects(page.get("tools")):
            name = tool.get("name")
            try:
                paths = annotated(tool.get("inputSchema"))
            except ValueError as error:
                logger.warning("The tool %r is left out, because of its schema: %s", name, error)
                continue
            kept.append(tool)
            if isinstance(name, str):
                self.paths.pop(name, None)
                if paths:
                    self.paths[name] = paths
        if not isinstance(page.get("nextCursor"), str):
            ttl = page.get("ttlMs")
            self.stale_at = anyio.current_time() + (ttl / 1000 if type(ttl) is int and ttl > 0 else math.inf)
        return {**page, "tools": kept}
