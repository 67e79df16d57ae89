"""What a provider lists, as MCP lists it: tools, resources, templates and prompts, each made safe on its own.

A client that cannot read one entry throws the whole list away, so an entry that cannot be mended is left out and
logged. Both eras list through here; a list is one page.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pydantic_core import Url

from ..jsontext import encode
from .messages import INVALID_PARAMS, MODERN_VERSION, ProtocolError
from .mirrored import ANNOTATION, mirrored_parameters, without_annotations
from .provider import Prompt, Resource, ResourceTemplate, ServerInfo, Tool
from .safe_schema import is_object_schema, safe_schema

logger = logging.getLogger("tesseron_py.mcp.listing")

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)

_T = TypeVar("_T")


def server_info(info: ServerInfo) -> dict[str, Any]:
    """`serverInfo`."""
    return _present(name=info.name, version=info.version, title=info.title)


def only_page(params: Mapping[str, Any]) -> None:
    """Refuse a cursor: lists are one page, so none of ours can be known.

    Raises:
        ProtocolError: There is one; -32602.
    """
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Unknown cursor: the list is one page; ask for it without a cursor")


def tool_list(tools: Iterable[Tool], version: str) -> list[dict[str, Any]]:
    """The entries of `tools/list`, in the provider's order; of two with one name, the first."""
    return _entries("tool", tools, lambda tool: tool.name, lambda tool: _tool(tool, version))


def resource_list(resources: Iterable[Resource]) -> list[dict[str, Any]]:
    """The entries of `resources/list`; of two with one URI, the first."""
    return _entries("resource", resources, lambda resource: resource.uri, _resource)


def template_list(templates: Iterable[ResourceTemplate]) -> list[dict[str, Any]]:
    """The entries of `resources/templates/list`."""
    return _entries("resource template", templates, lambda template: template.uri_template, _template)


def prompt_list(prompts: Iterable[Prompt]) -> list[dict[str, Any]]:
    """The entries of `prompts/list`."""
    return _entries("prompt", prompts, lambda prompt: prompt.name, _prompt)


Structure: TypeAlias = Literal["none", "object", "any"]
"""What a client insists on as a tool's `structuredContent`: nothing, an object, or any value."""


def structure(tool: Tool, version: str) -> Structure:
    """What the output schema promises that the tool is listed with; before 2026-07-28, its root is an object."""
    if is_object_schema(tool.output_schema):
        return "object"
    return "any" if version >= MODERN_VERSION and isinstance(tool.output_schema, Mapping) else "none"


def _entries(
    what: str, given: Iterable[_T], key: Callable[[_T], str], entry: Callable[[_T], dict[str, Any]]
) -> list[dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {}
    for thing in given:
        name = key(thing)
        try:
            if name in entries:
                raise ValueError("there is one before it with this name")
            made = entry(thing)
            encode(made)
        except ValueError as error:
            logger.warning("The %s %r is left out of the list: %s", what, name, error)
        else:
            entries[name] = made
    return list(entries.values())


def _tool(tool: Tool, version: str) -> dict[str, Any]:
    if not _TOOL_NAME.fullmatch(tool.name):
        raise ValueError("a tool's name is 1 to 64 of A-Z, a-z, 0-9, _ and -")
    entry = _present(
        name=tool.name,
        title=tool.title,
        description=tool.description or tool.title or tool.name,
        inputSchema=input_schema(tool),
    )
    promised = structure(tool, version)
    if promised != "none":
        entry["outputSchema"] = safe_schema(tool.output_schema, object_root=promised == "object")
    hints = {
        name: value
        for name, value in (("readOnlyHint", tool.read_only), ("destructiveHint", tool.destructive))
        if isinstance(value, bool)
    }
    if hints:
        entry["annotations"] = hints
    if isinstance(tool.meta, Mapping) and tool.meta:
        entry["_meta"] = tool.meta
    return entry


def input_schema(tool: Tool) -> dict[str, Any]:
    """The input schema as it is listed, or that of any object: what a tool takes, it says when it is called wrongly.

    Its parameters can be mirrored as it says, or it says nothing of it.
    """
    try:
        safe = safe_schema(tool.input_schema)
        encode(safe)
    except ValueError as error:
        message = "The tool %r is listed as taking any object: its input schema cannot be sent: %s"
        logger.warning(message, tool.name, error)
        return {"type": "object"}
    try:
        mirrored_parameters(safe)
    except ValueError as error:
        logger.warning("The tool %r is listed without %s: %s", tool.name, ANNOTATION, error)
        return without_annotations(safe)
    return safe


def _resource(resource: Resource) -> dict[str, Any]:
    Url(resource.uri)  # some clients refuse a list with a URI that they cannot parse
    return _present(uri=resource.uri, name=resource.name, description=resource.description, mimeType=resource.mime_type)


def _template(template: ResourceTemplate) -> dict[str, Any]:
    return _present(
        uriTemplate=template.uri_template,
        name=template.name,
        description=template.description,
        mimeType=template.mime_type,
    )


def _prompt(prompt: Prompt) -> dict[str, Any]:
    entry = _present(name=prompt.name, description=prompt.description)
    if prompt.arguments:
        entry["arguments"] = [
            {key: value for key, value in argument.items() if value is not None} for argument in prompt.arguments
        ]
    return entry


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
