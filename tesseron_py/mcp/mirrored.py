"""What a request of the modern era says twice, in its headers and in its body: both must say the same.

It knows the header's encoding (`=?base64?…?=`) and which parameters of a tool are mirrored (`x-mcp-header`). Requests
on stdio have no headers, and nothing is checked there.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

from .messages import CALL_TOOL, GET_PROMPT, HEADER_MISMATCH, READ_RESOURCE, VERSION_META, ProtocolError

ANNOTATION: Final = "x-mcp-header"
"""The keyword of a tool's parameter that names the header it is mirrored in, without `Mcp-Param-`."""
_NAMED_BY: Final[Mapping[str, str]] = {CALL_TOOL: "name", GET_PROMPT: "name", READ_RESOURCE: "uri"}
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", re.ASCII)
_INTEGER: Final = re.compile(r"-?[0-9]+(?:\.0*)?", re.ASCII)
_LONGEST: Final = 100
"""Characters of a number that is compared; none of JavaScript's integers is as long."""
_PRIMITIVE: Final = ("string", "integer", "boolean")
_VALUES: Final = ("const", "enum", "default", "examples")
"""Keywords whose values are no schemas."""
_BEGIN: Final = "=?base64?"
_END: Final = "?="


class Headers(Protocol):
    """The headers of one request."""

    def all(self, name: bytes, /) -> Sequence[bytes]: ...


@dataclass(frozen=True, slots=True)
class MirroredParameter:
    """A parameter of a tool that clients mirror in a header.

    Attributes:
        header: The header, in lower case.
        path: The keys that lead to the value in the arguments.
    """

    header: bytes
    path: tuple[str, ...]


def check_headers(headers: Headers, method: str, params: Mapping[str, Any], version: str) -> None:
    """Refuse a request whose standard headers are missing or differ from its body.

    Raises:
        ProtocolError: -32020.
    """
    _same(headers, "MCP-Protocol-Version", version, f"_meta[{VERSION_META!r}]", encoded=False)
    _same(headers, "Mcp-Method", method, "the method", encoded=False)
    member = _NAMED_BY.get(method)
    name = params.get(member) if member is not None else None
    if isinstance(name, str):
        _same(headers, "Mcp-Name", name, f"params.{member}", encoded=True)


def check_parameters(headers: Headers, mirrored: Sequence[MirroredParameter], arguments: Mapping[str, Any]) -> None:
    """Refuse a tool call whose mirrored parameters differ from its arguments.

    Raises:
        ProtocolError: -32020.
    """
    for parameter in mirrored:
        value: Any = arguments
        for key in parameter.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        name, what = parameter.header.decode(), f"the argument {'.'.join(parameter.path)}"
        if value is None:
            if headers.all(parameter.header):
                raise _mismatch(f"The header {name} is there, and {what} is not")
        elif isinstance(value, str | int):
            _same(headers, name, value, what, encoded=True)
        elif isinstance(value, float) and value.is_integer():  # 5.0 is an integer in JSON Schema
            _same(headers, name, int(value), what, encoded=True)
        # A value of another type cannot be mirrored, and does not fit the tool's schema either.


def mirrored_parameters(schema: object) -> tuple[MirroredParameter, ...]:
    """The parameters that a tool's input schema says are mirrored.

    Raises:
        ValueError: An annotation breaks the rules of MCP 2026-07-28: then clients refuse the tool.
    """
    found: dict[bytes, MirroredParameter] = {}
    if isinstance(schema, Mapping):
        for path, part, reachable in _annotated(schema, (), reachable=True):
            name = part[ANNOTATION]
            where = f"{ANNOTATION} of {'.'.join(path) or 'the root'}"
            if not isinstance(name, str) or not _TOKEN.fullmatch(name):
                raise ValueError(f"{where} is {name!r}, which is no name of a header")
            if not reachable or not path:
                raise ValueError(f"{where} is not on a property that only properties lead to")
            if part.get("type") not in _PRIMITIVE:
                raise ValueError(f"{where} is on a parameter that is no string, integer or boolean")
            header = f"mcp-param-{name.lower()}".encode()
            if header in found:
                raise ValueError(f"{where} is {name!r}, which another parameter has, too")
            found[header] = MirroredParameter(header, path)
    return tuple(found.values())


def without_annotations(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every `x-mcp-header` left out; a property of that name, and values, stay as they are."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            kept[key] = {name: _without(part) for name, part in value.items()}
        elif key != ANNOTATION:
            kept[key] = value if key in _VALUES else _without(value)
    return kept


def _without(part: Any) -> Any:
    if isinstance(part, Mapping):
        return without_annotations(part)
    return [_without(entry) for entry in part] if isinstance(part, list) else part


def _annotated(
    schema: Mapping[str, Any], path: tuple[str, ...], *, reachable: bool
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any], bool]]:
    """Every part of a schema with an annotation; whether a chain of `properties` alone leads to it."""
    if ANNOTATION in schema:
        yield path, schema, reachable
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            for name, part in value.items():
                if isinstance(part, Mapping):
                    yield from _annotated(part, (*path, str(name)), reachable=reachable)
        elif key in _VALUES:
            continue
        else:
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, Mapping):
                    yield from _annotated(part, (*path, key), reachable=False)


def _same(headers: Headers, name: str, value: str | int, what: str, *, encoded: bool) -> None:
    given = headers.all(_lower(name))
    if not given:
        raise _mismatch(f"The header {name} is missing, and {what} is there")
    if len(given) == 1 and isinstance(value, str) and given[0] == value.encode() and _is_plain(value):
        return  # as nearly always
    if len(given) > 1:
        raise _mismatch(f"The header {name} is there {len(given)} times")
    text = _text(given[0], name, encoded=encoded)
    if isinstance(value, bool):
        same = text == ("true" if value else "false")
    elif isinstance(value, int):
        same = _INTEGER.fullmatch(text) is not None and len(text) < _LONGEST and int(text.partition(".")[0]) == value
    else:
        same = text == value
    if not same:
        raise _mismatch(f"The header {name} says {text!r}, and {what} is something else")


@lru_cache(maxsize=256)
def _is_plain(value: str) -> bool:
    """Whether a header says it as it is, whatever is allowed there."""
    return value.isascii() and value.isprintable() and value == value.strip() and not value.startswith(_BEGIN)


@lru_cache(maxsize=256)
def _lower(name: str) -> bytes:
    return name.lower().encode()


def _text(raw: bytes, name: str, *, encoded: bool) -> str:
    """What a header says.

    Raises:
        ProtocolError: It has characters that no header may have, or an encoding that is none.
    """
    text = raw.decode("latin-1").strip(" \t")
    if not (text.isascii() and text.isprintable()) and not all(" " <= at <= "~" or at == "\t" for at in text):
        raise _mismatch(f"The header {name} has characters that are not plain ASCII; write {_BEGIN}…{_END}")
    if not encoded or not (text.startswith(_BEGIN) and text.endswith(_END) and len(text) >= len(_BEGIN) + len(_END)):
        return text
    inside = text[len(_BEGIN) : -len(_END)]
    try:
        raw = base64.b64decode(inside, validate=True)
        if base64.b64encode(raw).decode() != inside:  # the decoder overlooks stray bits and padding
            raise binascii.Error
        return raw.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise _mismatch(f"The header {name} is not base64 of UTF-8 between {_BEGIN} and {_END}") from None


def _mismatch(message: str) -> ProtocolError:
    return ProtocolError(HEADER_MISMATCH, message, status=400)
