"""The gateway's own tools: what they give back."""

from __future__ import annotations

from tesseron_py.gateway.meta import resource_output
from tesseron_py.mcp.provider import ResourceOutput, ToolOutput


def test_what_is_read_is_a_value_and_bytes_are_an_embedded_resource() -> None:
    uri = "tesseron://shop/logo"
    assert resource_output(ResourceOutput(uri, {"n": 1})) == ToolOutput({"n": 1})
    held = {"uri": uri, "mimeType": "application/octet-stream", "blob": "aGk="}
    content = [{"type": "resource", "resource": held}]
    assert resource_output(ResourceOutput(uri, b"hi")) == ToolOutput("aGk=", content)
    held["mimeType"] = "image/png"
    assert resource_output(ResourceOutput(uri, b"hi", "image/png")) == ToolOutput("aGk=", content)
