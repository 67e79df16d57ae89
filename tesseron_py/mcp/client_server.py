"""`Server`: what a server says of itself when a client arrives, in either era."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .client_errors import BadAnswer
from .messages import LEGACY_VERSIONS, MODERN_VERSION

PROTOCOL_VERSION: Final = LEGACY_VERSIONS[-1]
"""The version that is offered in the legacy era."""
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


@dataclass(frozen=True, slots=True)
class Server:
    """What a server said of itself.

    Attributes:
        name: `serverInfo.name`, or `""`.
        version: `serverInfo.version`, or `""`.
        protocol_version: The version both speak from now on.
        capabilities: As they came.
        instructions: How the server wants to be used, or `None`.
    """

    name: str
    version: str
    protocol_version: str
    capabilities: Mapping[str, Any]
    instructions: str | None = None

    @classmethod
    def from_initialize(cls, result: object) -> Server:
        """From the answer to `initialize` (legacy).

        Raises:
            BadAnswer: It is no such answer, or its version is none of ours.
        """
        version = result.get("protocolVersion") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(version, str):
            raise BadAnswer("The server's answer to initialize has no protocolVersion; is it an MCP server?")
        if version not in LEGACY_VERSIONS:
            known = ", ".join(reversed(LEGACY_VERSIONS))
            raise BadAnswer(f"The server speaks MCP {version[:40]}, and this client {known}")
        return cls._made(result, result.get("serverInfo"), version)

    @classmethod
    def from_discover(cls, result: object) -> Server:
        """From the answer to `server/discover` (modern).

        Raises:
            BadAnswer: It is no such answer, or does not name the modern version.
        """
        versions = result.get("supportedVersions") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(versions, list):
            raise BadAnswer("The server's answer to server/discover has no supportedVersions")
        if MODERN_VERSION not in versions:
            names = ", ".join(version[:40] for version in versions[:8] if isinstance(version, str))
            raise BadAnswer(f"The server speaks MCP {names or 'of no version'}, and this client {MODERN_VERSION}")
        meta = result.get("_meta")
        return cls._made(result, meta.get(SERVER_INFO) if isinstance(meta, dict) else None, MODERN_VERSION)

    @classmethod
    def _made(cls, result: Mapping[str, Any], info: object, version: str) -> Server:
        info = info if isinstance(info, dict) else {}
        capabilities, instructions = result.get("capabilities"), result.get("instructions")
        return cls(
            name=str(info.get("name", "")),
            version=str(info.get("version", "")),
            protocol_version=version,
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            instructions=instructions if isinstance(instructions, str) else None,
        )
