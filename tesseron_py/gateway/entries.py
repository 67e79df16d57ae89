"""What an app lists in a hello or a list change, made safe: one bad entry must not void a client's whole list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InvalidParams
from ..protocol.messages import APP_ID, DEFAULT_TIMEOUT, RESERVED_APP_IDS

LONGEST_TIMEOUT_MS: Final = 1e12
"""Beyond it, a time is no limit: some thirty years."""
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The one that MCP means where a schema says none."""


@dataclass(frozen=True, slots=True)
class AppInfo:
    """Who an app says it is."""

    id: str
    name: str
    version: str
    description: str


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """One action, as far as it can be believed."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    read_only: bool | None
    destructive: bool | None
    requires_confirmation: bool
    strict_output: bool
    requires_elicitation: bool = False
    timeout: float | None = DEFAULT_TIMEOUT
    """Seconds a call may take by the app's own word; `None` has no limit."""


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One resource, as far as it can be believed."""

    name: str
    description: str
    subscribable: bool


def read_app(value: object) -> AppInfo:
    """The `app` of a hello.

    Raises:
        InvalidParams: It is missing, or its id is none (Tesseron 1.2 §1).
    """
    if not isinstance(value, dict):
        raise InvalidParams("tesseron/hello: 'app' is missing, or not an object")
    id, name = value.get("id"), value.get("name")
    if not isinstance(id, str) or APP_ID.fullmatch(id) is None:
        raise InvalidParams(f"tesseron/hello: app.id is lower-case letters, digits and _, a letter first; not {id!r}")
    if id in RESERVED_APP_IDS:
        raise InvalidParams(f"tesseron/hello: the app id {id!r} is reserved")
    return AppInfo(id, _text(name) or id, _text(value.get("version")), _text(value.get("description")))


def read_actions(value: object, app: AppInfo) -> dict[str, ActionEntry]:
    """The `actions` of a hello or a list change, by name; entries without a name are left out.

    Raises:
        InvalidParams: It is not a list.
    """
    entries: dict[str, ActionEntry] = {}
    for entry in _list(value, "actions"):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
            continue
        hints = entry.get("annotations")
        hints = hints if isinstance(hints, dict) else {}
        name = entry["name"]
        entries[name] = ActionEntry(
            name=name,
            description=_text(entry.get("description")) or f"{name} of {app.name}",
            input_schema=object_schema(entry.get("inputSchema")) or {"type": "object"},
            output_schema=object_schema(entry.get("outputSchema")),
            read_only=_flag(hints.get("readOnly")),
            destructive=_flag(hints.get("destructive")),
            requires_confirmation=hints.get("requiresConfirmation") is True,
            strict_output=entry.get("strictOutput") is True,
            requires_elicitation=entry.get("requiresElicitation") is True,
            timeout=_seconds(entry.get("timeoutMs")),
        )
    return entries


def read_resources(value: object, app: AppInfo) -> dict[str, ResourceEntry]:
    """The `resources` of a hello or a list change, by name; entries without a name are left out.

    Raises:
        InvalidParams: It is not a list.
    """
    entries: dict[str, ResourceEntry] = {}
    for entry in _list(value, "resources"):
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"]:
            name = entry["name"]
            description = _text(entry.get("description")) or f"{name} of {app.name}"
            entries[name] = ResourceEntry(name, description, entry.get("subscribable") is True)
    return entries


def object_schema(value: object) -> dict[str, Any] | None:
    """`value` as a JSON Schema whose root is an object, without what makes clients refuse it; else `None`."""
    if not isinstance(value, dict) or value.get("type") != "object":
        return None
    schema = {key: item for key, item in value.items() if item is not None and (key != "$schema" or item == _DIALECT)}
    if not isinstance(schema.get("properties", {}), dict):
        del schema["properties"]
    if not isinstance(schema.get("required", []), list):
        del schema["required"]
    return schema


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidParams(f"'{what}' is missing, or not a list")
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _seconds(milliseconds: object) -> float | None:
    """`timeoutMs`: 0 has no limit, and what is no number is the default."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or milliseconds < 0:
        return DEFAULT_TIMEOUT
    return milliseconds / 1000 if 0 < milliseconds <= LONGEST_TIMEOUT_MS else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
