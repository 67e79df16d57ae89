"""What comes over HTTP beside the body: streams of events, Host, Origin and Accept, mirrored headers, states."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from tesseron_py.bindings.http_wire import number
from tesseron_py.bindings.loopback import is_loopback_authority, is_loopback_origin
from tesseron_py.mcp.client_headers import annotated, argument_headers, standard_headers
from tesseron_py.mcp.messages import HEADER_MISMATCH, INVALID_PARAMS, MODERN_VERSION, ProtocolError
from tesseron_py.mcp.mirrored import check_headers, check_parameters, mirrored_parameters
from tesseron_py.mcp.seal import Seal, State, binding_of
from tesseron_py.web.asgi import accepts_stream
from tesseron_py.web.guard import Guard, cors, preflight
from tesseron_py.web.sse import Event, EventParser, EventTooLarge, encode

from ..draw import Draw

# Events ------------------------------------------------------------------------------------------------------------


def sse_target(data: bytes) -> None:
    """However a stream is cut, its events are those that the standard's own words give; text travels unharmed."""
    size, stream = (data[0] % 9 + 1, data[1:]) if data else (1, b"")
    expected = list(_events(stream))
    for step in (size, max(1, len(stream))):
        parser = EventParser()
        found = [event for at in range(0, len(stream), step) for event in parser.feed(stream[at : at + step])]
        assert found == expected, (found, expected)
    text = stream.decode("utf-8", "replace")
    [event] = EventParser().feed(encode(text)) or [Event("")]
    assert event.data == text.replace("\r\n", "\n").replace("\r", "\n"), event
    assert encode(text).count(b"\n\n") == 1, "no text ends its frame early"
    limited = EventParser(limit=16)
    try:
        assert all(len(event.data) <= 16 for event in limited.feed(stream))
    except EventTooLarge:
        pass


def _events(stream: bytes) -> Any:
    """WHATWG HTML §9.2.6, as it is written there: whole lines, one after the other."""
    lines = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]
    data: list[bytes] = []
    id, type = None, ""
    for line in lines:
        if not line:
            joined = b"\n".join(data)
            if joined:
                yield Event(joined.decode("utf-8", "replace"), id, type or "message")
            data, type = [], ""
            continue
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"data":
            data.append(value)
        elif name == b"event":
            type = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            id = value.decode("utf-8", "replace")


# Who asks ----------------------------------------------------------------------------------------------------------

_LOCAL = Guard(token="s3cret", hosts=[], origins=[])
_NAMED = Guard(token=None, hosts=["mcp.example", "proxy.example:8443"], origins=["https://app.example"])


def guard_target(data: bytes) -> None:
    """A header that is let in names this machine to another reader of URLs as well; no header does anything else."""
    for line in data.split(b"\n"):
        text = line.decode("latin-1")
        if _LOCAL.allows_host([line]) or is_loopback_authority(text):
            assert _is_local(f"//{text}"), text
        if _NAMED.allows_host([line]) and not _LOCAL.allows_host([line]):
            assert urlsplit(f"//{text}").hostname in ("mcp.example", "proxy.example"), text
        if _LOCAL.allows_origin([line]) or is_loopback_origin(text):
            assert _is_local(text), text
            assert urlsplit(text).scheme in ("http", "https"), text
            assert all(b"\r" not in value and b"\n" not in value for _, value in cors(line))
        if _NAMED.allows_origin([line]) and not _LOCAL.allows_origin([line]):
            assert text.lower() == "https://app.example", text
        if _LOCAL.allows_token([line]):
            assert text.split(" ", 1)[0].lower() == "bearer", text
            assert text.split(" ", 1)[1].strip(" ") == "s3cret", text
        assert not _LOCAL.allows_host([line, b"localhost"])
        assert not _LOCAL.allows_origin([line, b"http://localhost"])
        for _, value in preflight(line):
            assert value.isascii(), value
            assert value.decode().isprintable(), value
        accepts_stream(line)
        counted = number(line)
        assert counted is None or str(counted).encode() == (line.lstrip(b"0") or b"0"), line


def _is_local(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    host = parts.hostname or ""
    if parts.username is not None or parts.password is not None or parts.path or parts.query or parts.fragment:
        return False
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback and "%" not in host
    except ValueError:
        return False


# What is said twice ------------------------------------------------------------------------------------------------


class _Headers:
    def __init__(self, pairs: Sequence[tuple[str, bytes]]) -> None:
        self._pairs = [(name.lower().encode(), value) for name, value in pairs]

    def all(self, name: bytes, /) -> Sequence[bytes]:
        return [value for given, value in self._pairs if given == name]


_METHODS = ("tools/call", "prompts/get", "resources/read", "tools/list")


def mirrored_target(data: bytes) -> None:
    """What our client writes in a header our server reads as it was; no other value passes for it or breaks a line."""
    draw = Draw(data)
    method, text, other = draw.one_of(_METHODS), draw.text(), draw.text()
    member = "uri" if method == "resources/read" else "name"
    params: dict[str, Any] = {member: text}
    written = standard_headers(method, params)
    _assert_whole_lines(written)
    pairs = [(name, value.encode()) for name, value in written.items()]
    check_headers(_Headers(pairs), method, params, MODERN_VERSION)
    if method != "tools/list" and other != text:
        _assert_mismatch(lambda: check_headers(_Headers(pairs), method, {member: other}, MODERN_VERSION))
    _assert_mismatch(lambda: check_headers(_Headers([*pairs, *pairs]), method, params, MODERN_VERSION))

    schema = {"type": "object", "properties": {"p": {"type": draw.one_of(("string", "integer", "boolean"))}}}
    schema["properties"]["p"]["x-mcp-header"] = draw.one_of(("Region", "x", "bad name", "", "a:b", "\r\n"))
    try:
        paths = annotated(schema)
    except ValueError:
        _assert_refused(schema)
    else:
        mirrored = mirrored_parameters(schema)
        arguments = {"p": draw.json(1)}
        headers = argument_headers(paths, arguments)
        _assert_whole_lines(headers)
        given = _Headers([(name, value.encode()) for name, value in headers.items()])
        _tolerating_long_numbers(arguments, lambda: check_parameters(given, mirrored, arguments))
    # Whatever stands in a header, it is read or refused.
    raw = draw.rest()
    for named in (raw, b"=?base64?" + raw + b"?=", b"=?base64?" + base64.b64encode(raw) + b"?="):
        given = _Headers([("mcp-protocol-version", MODERN_VERSION.encode()), ("mcp-method", method.encode())])
        given._pairs.append((b"mcp-name", named))
        try:
            check_headers(given, method, params, MODERN_VERSION)
        except ProtocolError as error:
            assert error.code == HEADER_MISMATCH
        else:
            assert method == "tools/list" or text in _readings(named), named
    try:
        mirrored_parameters(Draw(raw).json(4))
    except ValueError:
        pass


def _readings(header: bytes) -> list[str]:
    """Each text that a header may stand for."""
    stripped = header.decode("latin-1").strip(" \t")
    found = [stripped]
    if stripped.startswith("=?base64?") and stripped.endswith("?="):
        try:
            found.append(base64.b64decode(stripped[9:-2]).decode())
        except ValueError:
            pass
    return found


def _tolerating_long_numbers(arguments: dict[str, Any], check: Any) -> None:
    """No integer of JavaScript's is as long as those that are not compared."""
    value = arguments["p"]
    if isinstance(value, float | int) and abs(value) > 2**53:
        try:
            check()
        except ProtocolError:
            return
    check()


def _assert_whole_lines(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        assert name.isascii(), name
        assert value.isascii(), value
        assert name.isprintable(), name
        assert value.isprintable(), value


def _assert_mismatch(check: Any) -> None:
    try:
        check()
    except ProtocolError as error:
        assert error.code == HEADER_MISMATCH
    else:
        raise AssertionError("another value passes for it")


def _assert_refused(schema: dict[str, Any]) -> None:
    try:
        mirrored_parameters(schema)
    except ValueError:
        return
    raise AssertionError("the client refuses a tool that the server lists")


# States ------------------------------------------------------------------------------------------------------------

_SEAL = Seal(["0123456789abcdef"], lifetime=60.0, clock=lambda: 1000.0)
_BINDING = binding_of("local", "tools/call", "pay", {"amount": 5})
_GOOD = _SEAL.close(State(b"c" * 16, 1), _BINDING)


def seal_target(data: bytes) -> None:
    """No text opens but one that was given out, and that one only for its own call."""
    draw = Draw(data)
    arguments = {draw.text(): draw.json(2)}
    binding = binding_of(draw.text(), draw.text(), draw.text(), arguments)
    state = State(draw.bytes(16).ljust(16, b"\0"), draw.below(200))
    given_out = _SEAL.close(state, binding)
    assert _SEAL.open(given_out, binding) == state
    changed = bytearray(_GOOD.encode())
    changed[draw.byte() % len(changed)] ^= draw.byte()
    for text in (draw.rest().decode("utf-8", "replace"), changed.decode("utf-8", "replace"), given_out):
        try:
            _SEAL.open(text, _BINDING)
        except ProtocolError as error:
            assert error.code == INVALID_PARAMS
        else:
            assert text == _GOOD or binding == _BINDING
