"""Which names mean this machine, and that nothing else is listened on or dialled."""

from __future__ import annotations

import socket
import struct

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.bindings import loopback
from tesseron_py.bindings.loopback import is_loopback_authority, is_loopback_origin
from tesseron_py.web.loopback import is_loopback_host

from .suite import guard


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1"])
def test_names_of_this_machine(host: str) -> None:
    assert is_loopback_host(host)
    authority = f"[{host}]" if ":" in host else host
    assert is_loopback_authority(authority)
    assert is_loopback_authority(f"{authority}:8080")
    assert is_loopback_origin(f"http://{authority}")
    assert is_loopback_origin(f"https://{authority}:8080")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost.",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "128.0.0.1",
        "0.0.0.0",
        "::",
        "::2",
        "::ffff:127.0.0.1",
        "::1%lo",
        "127.1",
        "127.0.0.01",
        "2130706433",
        "localhost\n",
        " localhost",
        "ⅼocalhost",
    ],
)
def test_names_that_are_not(host: str) -> None:
    assert not is_loopback_host(host)
    assert not is_loopback_authority(f"[{host}]")
    assert not is_loopback_origin(f"http://{host}")


@given(text=st.text() | st.from_regex(r"https?://[a-z0-9.:@\[\]/-]*", fullmatch=True))
def test_a_local_origin_is_a_scheme_and_a_local_authority(text: str) -> None:
    if is_loopback_origin(text):
        scheme, authority = text.split("://")
        assert scheme in ("http", "https")
        host = authority.rpartition(":")[0] if not authority.endswith("]") and ":" in authority else authority
        assert host.lower() == "localhost" or host.startswith(("127.", "["))


async def test_a_connection_in_progress_can_be_cancelled() -> None:
    # A backlog that is full: connections are neither taken nor refused.
    fillers = [socket.socket() for _ in range(4)]
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        async with guard():
            with anyio.move_on_after(0.05) as scope:
                await loopback.connect("127.0.0.1", port)
            assert scope.cancelled_caught
    for filler in fillers:
        filler.close()


def test_a_connection_that_is_reset_already_is_no_error_yet() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        loopback.send_at_once(accepted)
        accepted.close()
        loopback.send_at_once(accepted)
