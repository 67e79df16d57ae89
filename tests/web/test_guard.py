"""Who may talk to the HTTP endpoint."""

from __future__ import annotations

import pytest

from tesseron_py.web.guard import Guard

PLAIN = Guard(token=None, hosts=(), origins=())
CONFIGURED = Guard(
    token="s3cret",
    hosts=["MCP.example.com", "proxy.example.com:8443"],
    origins=["https://App.example.com/", "vscode-webview://abc"],
)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:7475", "[::1]", "[::1]:7475"])
def test_loopback_hosts_pass(host: str) -> None:
    assert PLAIN.allows_host([host.encode()])
    assert CONFIGURED.allows_host([host.encode()])


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "127.0.0.1:80:80",
        "localhost.",
        "::1",
        "[::1",
        "127.0.0.1:123456",
        "127.0.0.2",
        "0.0.0.0",
        "mcp.example.com",
        "",
        "localhost\n",
    ],
)
def test_field_75_other_hosts_do_not(host: str) -> None:
    assert not PLAIN.allows_host([host.encode()])


def test_a_host_is_there_once() -> None:
    assert not PLAIN.allows_host([])
    assert not PLAIN.allows_host([b"localhost", b"localhost"])


def test_configured_hosts_pass_with_any_port_or_their_own() -> None:
    assert CONFIGURED.allows_host([b"mcp.example.com"])
    assert CONFIGURED.allows_host([b"mcp.example.com:99"])
    assert CONFIGURED.allows_host([b"proxy.example.com:8443"])
    assert not CONFIGURED.allows_host([b"proxy.example.com"])
    assert not CONFIGURED.allows_host([b"proxy.example.com:80"])


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173", "HTTP://LocalHost"],
)
def test_loopback_origins_pass(origin: str) -> None:
    assert PLAIN.allows_origin([origin.encode()])


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "localhost",
        "http://localhost.evil.example",
        "http://evil.example",
        "http://localhost@evil.example",
        "http://localhost/path",
        "ftp://localhost",
        "file://",
        "https://app.example.com",
        "http://127.0.0.1:99999999",
    ],
)
def test_field_75_other_origins_do_not(origin: str) -> None:
    assert not PLAIN.allows_origin([origin.encode()])


def test_an_origin_is_there_once_or_not_at_all() -> None:
    assert PLAIN.allows_origin([])
    assert not PLAIN.allows_origin([b"http://localhost", b"http://localhost"])


def test_configured_origins_pass_to_the_letter() -> None:
    assert CONFIGURED.allows_origin([b"https://app.example.com"])
    assert CONFIGURED.allows_origin([b"vscode-webview://abc"])
    assert not CONFIGURED.allows_origin([b"http://app.example.com"])
    assert not CONFIGURED.allows_origin([b"https://app.example.com:8443"])
    assert not CONFIGURED.allows_origin([b"vscode-webview://other"])


def test_the_token() -> None:
    assert PLAIN.allows_token([])
    assert PLAIN.allows_token([b"Bearer anything"])
    assert CONFIGURED.allows_token([b"Bearer s3cret"])
    assert CONFIGURED.allows_token([b"bearer  s3cret "])
    for given in (b"", b"Bearer", b"Bearer ", b"Bearer s3cre", b"Bearer s3crets", b"Basic s3cret", b"s3cret"):
        assert not CONFIGURED.allows_token([given])
    assert not CONFIGURED.allows_token([])
    assert not CONFIGURED.allows_token([b"Bearer s3cret", b"Bearer s3cret"])


def test_a_token_that_is_no_ascii_is_compared_as_utf8() -> None:
    guard = Guard(token="schlüssel", hosts=(), origins=())
    assert guard.allows_token(["Bearer schlüssel".encode()])
    assert not guard.allows_token([b"Bearer schl\xfcssel"])


def test_principals_are_one_a_token_and_do_not_give_it_away() -> None:
    assert PLAIN.principal == "local"
    assert CONFIGURED.principal == Guard(token="s3cret", hosts=(), origins=()).principal
    assert CONFIGURED.principal != Guard(token="other", hosts=(), origins=()).principal
    assert "s3cret" not in CONFIGURED.principal


def test_what_cannot_be_configured_is_said_with_the_mend() -> None:
    with pytest.raises(ValueError, match=r"'https://example\.com' is no host; write it as 'example\.com'"):
        Guard(token=None, hosts=["https://example.com"], origins=())
    with pytest.raises(ValueError, match=r"is no origin; write it as 'https://example\.com'"):
        Guard(token=None, hosts=(), origins=["example.com"])
    with pytest.raises(ValueError, match="The token is empty"):
        Guard(token=" ", hosts=(), origins=())
