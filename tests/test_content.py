"""Content blocks: what each is on the wire, and what counts as blocks."""

from __future__ import annotations

from typing import Any

import pytest

from tesseron_py.content import Audio, EmbeddedResource, Image, ResourceLink, Text, blocks_of

BLOCKS: list[tuple[Any, dict[str, Any]]] = [
    (Text("hi"), {"type": "text", "text": "hi"}),
    (Image(b"\xfb\xff", "image/png"), {"type": "image", "data": "+/8=", "mimeType": "image/png"}),
    (Audio(b"x", "audio/wav"), {"type": "audio", "data": "eA==", "mimeType": "audio/wav"}),
    (EmbeddedResource("file:///a", "text"), {"type": "resource", "resource": {"uri": "file:///a", "text": "text"}}),
    (
        EmbeddedResource("file:///a", b"x", "image/png"),
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "image/png", "blob": "eA=="}},
    ),
    (ResourceLink("https://x", "x"), {"type": "resource_link", "uri": "https://x", "name": "x"}),
    (
        ResourceLink("https://x", "x", "An x", "text/html"),
        {"type": "resource_link", "uri": "https://x", "name": "x", "description": "An x", "mimeType": "text/html"},
    ),
]


@pytest.mark.parametrize(("block", "wire"), BLOCKS)
def test_a_block_on_the_wire(block: Any, wire: dict[str, Any]) -> None:
    assert block.to_wire() == wire
    assert blocks_of(block) == [wire]
    assert blocks_of([block, Text("and")]) == [wire, {"type": "text", "text": "and"}]


@pytest.mark.parametrize("output", [None, "text", [], [Text("a"), "b"], {"type": "text"}, (1,)])
def test_anything_else_is_a_value(output: object) -> None:
    assert blocks_of(output) is None
