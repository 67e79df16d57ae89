"""Content blocks an action may return in place of a value: what MCP shows as text, picture, sound or file."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Audio", "Block", "EmbeddedResource", "Image", "ResourceLink", "Text", "blocks_of"]


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str

    def to_wire(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes and its type, such as `"image/png"`."""

    data: bytes
    mime_type: str

    def to_wire(self) -> dict[str, Any]:
        return {"type": "image", "data": b64encode(self.data).decode(), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound: its bytes and its type, such as `"audio/wav"`."""

    data: bytes
    mime_type: str

    def to_wire(self) -> dict[str, Any]:
        return {"type": "audio", "data": b64encode(self.data).decode(), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """A file with its contents: text, or bytes."""

    uri: str
    contents: str | bytes
    mime_type: str | None = None

    def to_wire(self) -> dict[str, Any]:
        resource: dict[str, Any] = {"uri": self.uri}
        if self.mime_type is not None:
            resource["mimeType"] = self.mime_type
        if isinstance(self.contents, str):
            resource["text"] = self.contents
        else:
            resource["blob"] = b64encode(self.contents).decode()
        return {"type": "resource", "resource": resource}


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A file that can be fetched elsewhere."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.description is not None:
            wire["description"] = self.description
        if self.mime_type is not None:
            wire["mimeType"] = self.mime_type
        return wire


Block: TypeAlias = Text | Image | Audio | EmbeddedResource | ResourceLink

_BLOCKS = (Text, Image, Audio, EmbeddedResource, ResourceLink)


def blocks_of(output: object) -> list[dict[str, Any]] | None:
    """The content blocks in `output`, when it is one or a non-empty list of nothing else; otherwise `None`."""
    if isinstance(output, _BLOCKS):
        return [output.to_wire()]
    if isinstance(output, (list, tuple)) and output and all(isinstance(item, _BLOCKS) for item in output):
        return [item.to_wire() for item in output]
    return None
