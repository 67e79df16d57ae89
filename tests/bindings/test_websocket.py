"""The WebSocket binding: the suite of all bindings, then the upgrade, the frames and the close over real sockets."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.abc
import anyio.to_thread
import pytest
import websockets.asyncio.client
import websockets.asyncio.server
import websockets.sync.client
import websockets.sync.server
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidStatus
from websockets.utils import accept_key

from tesseron_py.bindings import loopback, reception, websocket
from tesseron_py.bindings.channel import Admit, Channel, Closed, Gate, Offer, OpenGate, Refusal, Refuse, TooLarge
from tesseron_py.bindings.duplex import BULK
from tesseron_py.bindings.websocket import DialRefused, Listener, WebSocketChannel, dial, listen

from .suite import BULKY, LIMIT, Binding, BindingSuite, Connect, Flooder, drain, guard, until_blocked

GATEWAY = "tesseron-gateway"
ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])
LOGGER = "tesseron_py.bindings.websocket"


# The suite of all bindings


@asynccontextmanager
async def connected(*, limit: int = LIMIT, stall: float = 30.0) -> AsyncIterator[tuple[Channel, Channel]]:
    """The listener's end and the dialler's."""
    async with listen(limit=limit, stall=stall) as listener:
        dialled = await dial(listener.url, limit=limit, stall=stall)
        accepted = await listener.accept()
        try:
            yield accepted, dialled
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as group:
                    group.start_soon(accepted.aclose)
                    group.start_soon(dialled.aclose)


@asynccontextmanager
async def connected_the_other_way(*, limit: int = LIMIT) -> AsyncIterator[tuple[Channel, Channel]]:
    async with connected(limit=limit) as (accepted, dialled):
        yield dialled, accepted


async def vanish(channel: Channel) -> None:
    """Reset the connection, as the kernel does for a killed process with unread input."""
    assert isinstance(channel, WebSocketChannel)
    sock = channel._duplex._sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    channel._duplex.close(Closed("killed"))


class TestSuite(BindingSuite):
    @pytest.fixture(params=[connected, connected_the_other_way], ids=["listener", "dialler"])
    def binding(self, request: pytest.FixtureRequest) -> Binding:
        connect: Connect = request.param
        return Binding(connect, vanish, texts=("", "\u2028\x00\x7f\r\n", '"\\ud800"'))


# Peers that speak bytes


@dataclass
class Raw:
    """A client that is nothing but a TCP connection."""

    stream: anyio.abc.SocketStream
    head: str = ""
    received: bytes = b""

    @property
    def status(self) -> int:
        return int(self.head.split(" ", 2)[1])

    async def send(self, data: bytes) -> None:
        await self.stream.send(data)

    async def exactly(self, size: int) -> bytes:
        while len(self.received) < size:
            self.received += await self.stream.receive()
        data, self.received = self.received[:size], self.received[size:]
        return data

    async def frame(self) -> tuple[int, bytes]:
        """The next frame of the server: its first byte and its payload."""
        first, length = await self.exactly(2)
        if length >= 126:
            length = int.from_bytes(await self.exactly(2 if length == 126 else 8), "big")
        return first, await self.exactly(length)

    async def close_code(self) -> int:
        """The code of the close frame that comes next, and is the last thing that comes."""
        first, payload = await self.frame()
        assert first == 0x88
        await self.end()
        return int.from_bytes(payload[:2], "big")

    async def end(self) -> None:
        """The end of the stream, with nothing before it, and well before a handshake is overdue."""
        with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
            await self.stream.receive()
        assert self.received == b""


def masked(first: int, payload: bytes, *, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    if size < 126:
        head = bytes([first, 0x80 | size])
    elif size < 65536:
        head = bytes([first, 0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([first, 0x80 | 127]) + size.to_bytes(8, "big")
    return head + b"\0\0\0\0" + payload


TEXT, BINARY, CONT, CLOSE, PING, PONG = 0x81, 0x82, 0x80, 0x88, 0x89, 0x8A


def request(*, path: str = "/", drop: tuple[str, ...] = (), **headers: str | tuple[str, ...]) -> bytes:
    """An upgrade request; a header's underscores are dashes, and several values make several lines."""
    lines: dict[str, str | tuple[str, ...]] = {
        "Host": "127.0.0.1:1",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": GATEWAY,
    }
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    for name in drop:
        del lines[name]
    text = f"GET {path} HTTP/1.1\r\n"
    for name, values in lines.items():
        for value in (values,) if isinstance(values, str) else values:
            text += f"{name}: {value}\r\n"
    return f"{text}\r\n".encode()


@asynccontextmanager
async def raw(listener: Listener, sent: bytes | None = None) -> AsyncIterator[Raw]:
    """A raw client that has sent `sent` (an upgrade request) and read the head of the answer."""
    host, port = address(listener)
    async with await anyio.connect_tcp(host, port) as stream:
        client = Raw(stream)
        await client.send(request() if sent is None else sent)
        while b"\r\n\r\n" not in client.received:
            client.received += await stream.receive()
        head, client.received = client.received.split(b"\r\n\r\n", 1)
        client.head = head.decode()
        yield client


def address(listener: Listener) -> tuple[str, int]:
    host, _, port = listener.url.removeprefix("ws://").rstrip("/").rpartition(":")
    return host.strip("[]"), int(port)


async def refused(listener: Listener, sent: bytes) -> tuple[int, str]:
    """The status and the text of a refusal, which must be a complete answer followed by the end of the connection."""
    async with raw(listener, sent) as client:
        headers = dict(line.lower().split(": ", 1) for line in client.head.split("\r\n")[1:])
        text = (await client.exactly(int(headers["content-length"]))).decode()
        await client.end()
        assert headers["connection"] == "close"
        assert headers["content-type"] == "text/plain; charset=utf-8"
        return client.status, text


@asynccontextmanager
async def listening(
    gate: Gate | None = None,
    *,
    limit: int = LIMIT,
    stall: float = 30.0,
    host: str = "127.0.0.1",
    handshake: float = 10.0,
) -> AsyncIterator[Listener]:
    """A listener; what a test accepts from it and does not close is closed at once when the test is over."""
    accepted: list[WebSocketChannel] = []

    async def accept() -> WebSocketChannel:
        accepted.append(await Listener.accept(listener))
        return accepted[-1]

    async with listen(gate, limit=limit, stall=stall, host=host, handshake=handshake) as listener:
        listener.accept = accept
        try:
            yield listener
        finally:
            for channel in accepted:
                channel._duplex.close(Closed("the test is over"))


@dataclass
class Recorder:
    """A gate that answers as it is told and remembers what it was offered."""

    verdict: Admit | Refuse = field(default_factory=Admit)
    offers: list[Offer] = field(default_factory=list)

    def offer(self, offer: Offer) -> Admit | Refuse:
        self.offers.append(offer)
        return self.verdict


# The upgrade


async def test_an_upgrade_selects_the_subprotocol_and_no_extension() -> None:
    async with guard(), listening() as listener:
        offer = request(Sec_WebSocket_Extensions="permessage-deflate; client_max_window_bits")
        async with raw(listener, offer) as client:
            assert client.status == 101
            assert f"Sec-WebSocket-Protocol: {GATEWAY}" in client.head
            assert "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in client.head
            assert "extensions" not in client.head.lower()
            channel = await listener.accept()
            assert (channel.path, channel.subprotocol) == ("/", GATEWAY)
            await client.send(masked(TEXT, b"{}"))
            assert await channel.receive() == "{}"
            await channel.send("[]")
            assert await client.frame() == (TEXT, b"[]")
            await close(channel, client)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.1.2.3:65000", "[::1]", "[::1]:7", "[0:0::1]", "127.0.0.1:"]
)
async def test_loopback_hosts_may_be_addressed(host: str) -> None:
    async with guard(), listening() as listener, raw(listener, request(Host=host)) as client:
        assert client.status == 101


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:127",
        "127.0.0.1@evil.example",
        "localhost.",
        "10.0.0.1",
        "0.0.0.0",
        "127.0.0.256",
        "127.1",
        "::1",
        "[::1",
        "[::2]",
        "[::ffff:7f00:1]",
        "[]",
        "localhost:8a",
        "",
        "2130706433",
    ],
)
async def test_field_75_other_hosts_get_403(host: str) -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        status, text = await refused(listener, request(Host=host))
    assert (status, gate.offers) == (403, [])
    assert "127.0.0.1" in text


async def test_a_missing_or_doubled_host_gets_400() -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        for sent in (request(drop=("Host",)), request(Host=("127.0.0.1", "127.0.0.1"))):
            status, text = await refused(listener, sent)
            assert (status, gate.offers) == (400, [])
            assert "Host" in text


@pytest.mark.parametrize("origin", ["http://localhost:5173", "https://127.0.0.1", "http://[::1]:8080"])
async def test_pages_of_this_machine_may_connect(origin: str) -> None:
    async with guard(), listening() as listener, raw(listener, request(Origin=origin)) as client:
        assert client.status == 101


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://evil.example/http://localhost",
        "http://localhost@evil.example",
        "http://evil.example#@localhost",
        "http://localhost:80/x",
        "null",
        "",
        "file://",
        "localhost",
        ("http://localhost", "http://localhost"),
        ("http://localhost", "http://evil.example"),
    ],
)
async def test_field_75_other_origins_get_403(origin: str | tuple[str, ...]) -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        status, text = await refused(listener, request(Origin=origin))
    assert (status, gate.offers) == (403, [])
    assert "Origin" in text


@pytest.mark.parametrize("path", ["/other", "//", "/?", "/%2e", "http://127.0.0.1/", "*"])
async def test_other_paths_get_403(path: str) -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        status, text = await refused(listener, request(path=path))
    assert (status, gate.offers) == (403, [])
    assert "path" in text


async def test_a_refused_client_may_go_on_sending_and_still_reads_why() -> None:
    async with guard(), listening() as listener:
        assert (await refused(listener, request(path="/other") + masked(TEXT, b"x" * 60_000) * 3))[0] == 403


async def test_a_second_path_can_be_opened() -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        listener.paths.add("/resume-secret")
        async with raw(listener, request(path="/resume-secret")) as client:
            assert client.status == 101
            channel = await listener.accept()
            assert channel.path == "/resume-secret"
        assert gate.offers == [Offer("/resume-secret")]


@pytest.mark.parametrize(
    ("offered", "offer"),
    [
        (GATEWAY, Offer("/")),
        (f"x, {GATEWAY}, tesseron-bin.A, Tesseron-bind.A, tesseron-binder", Offer("/")),
        (f"{GATEWAY},tesseron-bind.aBc_1-2 ", Offer("/", ("aBc_1-2",))),
        (("tesseron-bind.ABCD-EF ,x", GATEWAY), Offer("/", ("ABCD-EF",))),
        (f"{GATEWAY}, tesseron-bind.{'x' * 64}", Offer("/", ("x" * 64,))),
        (f"{GATEWAY}, tesseron-bind.{'x' * 65}", Offer("/", malformed=True)),
        (f"{GATEWAY}, tesseron-bind.", Offer("/", malformed=True)),
        (f"{GATEWAY}, tesseron-bind", Offer("/", malformed=True)),
        (f"{GATEWAY}, tesseron-bind.AB.CD", Offer("/", malformed=True)),
        (f"{GATEWAY}, tesseron-bind.AB$CD", Offer("/", malformed=True)),
        (f"tesseron-bind.A, {GATEWAY}, tesseron-bind.B", Offer("/", ("A", "B"), malformed=True)),
        ((f"{GATEWAY}, tesseron-bind.A", "tesseron-bind.A"), Offer("/", ("A", "A"), malformed=True)),
        (f"{GATEWAY}, tesseron-bind.A, tesseron-bind.", Offer("/", ("A",), malformed=True)),
    ],
)
async def test_the_gate_sees_the_codes_as_they_came(offered: str | tuple[str, ...], offer: Offer) -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        async with raw(listener, request(Sec_WebSocket_Protocol=offered)) as client:
            assert client.status == 101
            assert client.head.lower().count("sec-websocket-protocol") == 1
            assert f"Sec-WebSocket-Protocol: {GATEWAY}\r\n" in f"{client.head}\r\n"
        assert gate.offers == [offer]


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (Refusal.LOCKED_OUT, 429),
        (Refusal.MALFORMED, 400),
        (Refusal.NO_CODE, 426),
        (Refusal.WRONG_CODE, 403),
        (Refusal.SPENT, 409),
        (Refusal.TAKEN, 409),
    ],
)
async def test_a_refusal_of_the_gate_is_a_complete_answer(refusal: Refusal, status: int) -> None:
    gate = Recorder(Refuse(refusal, "No: ask for another code."))
    async with guard(), listening(gate) as listener:
        assert await refused(listener, request()) == (status, "No: ask for another code.\n")
        async with raw(listener) as client:
            assert ("Upgrade: websocket" in client.head) is (status == 426)
        gate.verdict = Admit()
        async with raw(listener) as client:
            assert client.status == 101
            assert (await listener.accept()).subprotocol == GATEWAY


async def test_whoever_is_no_gateway_gets_400_before_the_gate_is_asked() -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        for sent in (
            request(drop=("Sec-WebSocket-Protocol",)),
            request(Sec_WebSocket_Protocol="tesseron-bind.ABCD-EF, tesseron-gateway2"),
            request(Sec_WebSocket_Protocol="TESSERON-GATEWAY"),
        ):
            status, text = await refused(listener, sent)
            assert status == 400
            assert GATEWAY in text
    assert gate.offers == []


def test_the_default_gate_lets_every_gateway_in() -> None:
    for offer in (Offer("/"), Offer("/", ("A",)), Offer("/", ("A", "B"), malformed=True)):
        assert OpenGate().offer(offer) == Admit()


async def test_a_gate_that_fails_refuses_and_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def offer(self, offer: Offer) -> Admit | Refuse:
            if offer.codes:
                return Refuse("no such refusal", "because")
            raise ZeroDivisionError("secret detail")

    async with guard(), listening(Broken()) as listener:
        status, text = await refused(listener, request())
        assert status == 500
        assert "secret" not in text
        with pytest.raises(anyio.EndOfStream):
            async with raw(listener, request(Sec_WebSocket_Protocol=f"{GATEWAY}, tesseron-bind.X")):
                pass
        assert (await refused(listener, request()))[0] == 500
    assert "ZeroDivisionError" in caplog.text
    assert "A handshake failed" in caplog.text


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 426),
        (request().replace(b"GET", b"PUT", 1), 405),
        (request(Sec_WebSocket_Key="short"), 400),
        (request(Sec_WebSocket_Version="8"), 400),
        (request(drop=("Sec-WebSocket-Key",)), 400),
        (request(Sec_WebSocket_Protocol="a b"), 400),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b'{"jsonrpc":"2.0"}\r\n', 400),
    ],
)
async def test_what_is_no_upgrade_gets_an_error_status(sent: bytes, status: int) -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener:
        got, text = await refused(listener, sent)
        # Which error it is, is for websockets to say; its older versions have one for all.
        assert got in (status, 400)
        assert gate.offers == []
        assert text
        async with raw(listener) as client:
            assert client.status == 101


@given(sent=st.binary(min_size=1).map(lambda data: data + b"\r\n\r\n"))
def test_no_bytes_upset_the_listener(sent: bytes) -> None:
    async def meet() -> None:
        async with guard(), listening() as listener:
            host, port = address(listener)
            async with await anyio.connect_tcp(host, port) as stream:
                await stream.send(sent)
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    while await stream.receive():
                        pass
            async with raw(listener) as client:
                assert client.status == 101

    anyio.run(meet)


@pytest.mark.parametrize("size", [1, 3, 7, 50])
async def test_a_request_may_come_in_pieces_with_frames_on_its_heels(size: int) -> None:
    sent = request() + masked(PING, b"early") + masked(TEXT, b"first") + masked(TEXT, b"second")
    async with guard(), listening() as listener:
        host, port = address(listener)
        async with await anyio.connect_tcp(host, port) as stream:
            client = Raw(stream)
            for at in range(0, len(sent), size):
                await client.send(sent[at : at + size])
            channel = await listener.accept()
            assert [await channel.receive(), await channel.receive()] == ["first", "second"]
            await channel.send("third")
            while b"\r\n\r\n" not in client.received:
                client.received += await stream.receive()
            head, client.received = client.received.split(b"\r\n\r\n", 1)
            assert head.startswith(b"HTTP/1.1 101 ")
            assert await client.frame() == (PONG, b"early")
            assert await client.frame() == (TEXT, b"third")


async def test_a_request_and_a_close_in_one_packet_are_an_open_and_a_close() -> None:
    async with guard(), listening() as listener, raw(listener, request() + masked(CLOSE, b"\x03\xe8")) as client:
        assert client.status == 101
        channel = await listener.accept()
        with pytest.raises(Closed) as caught:
            await channel.receive()
        assert caught.value.code == 1000
        assert await client.close_code() == 1000


async def test_closing_at_once_takes_note_of_a_close_that_came_with_the_request() -> None:
    async with guard(), listening() as listener, raw(listener, request() + masked(CLOSE, b"\x03\xe8")) as client:
        channel = await listener.accept()
        await channel.aclose()
        assert await client.close_code() == 1000


async def test_a_slow_handshake_is_cut_off() -> None:
    async with guard(), listening(handshake=0.05) as listener:
        host, port = address(listener)
        for sent in (b"", b"GET / HTTP/1.1\r\nHost:"):
            async with await anyio.connect_tcp(host, port) as stream:
                if sent:
                    await stream.send(sent)
                with pytest.raises(anyio.EndOfStream):
                    await stream.receive()


async def test_waiting_handshakes_do_not_keep_others_out() -> None:
    async with guard(), listening() as listener:
        host, port = address(listener)
        idlers = [await anyio.connect_tcp(host, port) for _ in range(websocket.MAX_HANDSHAKES + 5)]
        try:
            async with raw(listener) as client:
                assert client.status == 101
            # The oldest had to go; the newest may still go on.
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await idlers[0].receive()
            await idlers[-1].send(b"GET / HTTP/1.0\r\n\r\n")
            assert (await idlers[-1].receive()).startswith(b"HTTP/1.1 ")
            assert len(listener._reception._handshakes) <= websocket.MAX_HANDSHAKES
        finally:
            for idler in idlers:
                await idler.aclose()


async def test_a_client_that_gives_up_in_its_handshake_leaves_no_trace(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with guard(), listening() as listener:
        host, port = address(listener)
        for sent in (b"", b"GET / HTT"):
            async with await anyio.connect_tcp(host, port) as stream:
                if sent:
                    await stream.send(sent)
        for sent in (b"", b"GET / HTT"):
            sock = socket.create_connection((host, port))
            sock.sendall(sent)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        async with raw(listener) as client:
            assert client.status == 101
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_a_listener_without_descriptors_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reception, "ACCEPT_PAUSE", 0.01)
    faults: list[OSError] = [OSError(24, "Too many open files"), ConnectionAbortedError(), BlockingIOError()]

    class Exhausted:
        def __init__(self, sock: socket.socket) -> None:
            self.sock = sock

        def accept(self) -> tuple[socket.socket, object]:
            if faults:
                raise faults.pop(0)
            return self.sock.accept()

        def __getattr__(self, name: str) -> object:
            return getattr(self.sock, name)

    monkeypatch.setattr(websocket, "bind", lambda host, port: Exhausted(loopback.bind(host, port)))
    async with guard(), listening() as listener, raw(listener) as client:
        assert client.status == 101
    assert faults == []
    assert "Too many open files" in caplog.text


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "", "127.0.0.1.example.org", "[::1]"])
async def test_only_loopback_addresses_are_listened_on(host: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        async with listening(host=host):
            pass


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::1", "[::1]")])
async def test_every_loopback_address_can_be_listened_on(host: str, shown: str) -> None:
    async with guard(), listening(host=host) as listener:
        assert listener.url.startswith(f"ws://{shown}:")
        assert listener.url.endswith("/")
        channel = await dial(listener.url)
        accepted = await listener.accept()
        await channel.send("hello")
        assert await accepted.receive() == "hello"
        await close_both(accepted, channel)


async def test_a_port_can_be_chosen_and_is_free_again_afterwards() -> None:
    async with guard():
        async with listen() as listener:
            _, port = address(listener)
            channel = await dial(listener.url)
            with pytest.raises(OSError, match="in use"):
                async with listen(port=port):
                    pass
            await close_both(await listener.accept(), channel)
        async with listen(port=port) as listener:
            assert address(listener)[1] == port


async def close_both(one: Channel, other: Channel) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(one.aclose)
        group.start_soon(other.aclose)


# The place


async def test_a_second_connection_gets_409_while_one_is_attached() -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener, raw(listener) as first:
        status, text = await refused(listener, request())  # the first has not been accepted yet
        assert status == 409
        assert "connected" in text
        channel = await listener.accept()
        assert (await refused(listener, request()))[0] == 409
        assert len(gate.offers) == 3
        gate.verdict = Refuse(Refusal.WRONG_CODE, "wrong code")
        assert (await refused(listener, request()))[0] == 403  # the gate comes first
        await first.send(masked(TEXT, b"alive"))
        assert await channel.receive() == "alive"


async def test_the_place_is_free_as_soon_as_the_peer_closes_even_before_the_echo() -> None:
    gate = Recorder()
    async with guard(), listening(gate) as listener, raw(listener) as first, anyio.create_task_group() as group:
        channel = await listener.accept()
        flooder = Flooder(channel)
        group.start_soon(flooder.run)
        await until_blocked(lambda: flooder.sent)
        # The peer reads nothing, so the echo has to wait behind half a message.
        await first.send(masked(CLOSE, b"\x03\xe8"))
        group.start_soon(drain, channel)
        await wait_all_tasks_blocked()
        async with raw(listener) as second:
            assert second.status == 101
            assert flooder.closed is None
            other = await listener.accept()
            await other.send("hello")
            assert await second.frame() == (TEXT, b"hello")


async def test_field_92_the_place_is_free_when_the_peer_vanishes_with_nobody_reading() -> None:
    async with guard(), listening() as listener:
        for reset in (False, True):
            async with raw(listener) as first:
                channel = await listener.accept()
                if reset:
                    sock = first.stream.extra(anyio.abc.SocketAttribute.raw_socket)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            async with raw(listener) as second:
                assert second.status == 101
                other = await listener.accept()
                with pytest.raises(Closed) as caught:
                    await channel.receive()
                assert caught.value.code == 1006
                assert (await refused(listener, request()))[0] == 409  # the old one's end does not free the new one
                await close(other, second)


async def close(channel: WebSocketChannel, client: Raw) -> None:
    """Close our end while the raw client answers as it should."""
    async with anyio.create_task_group() as group:
        group.start_soon(channel.aclose)
        assert await client.frame() == (CLOSE, b"\x03\xe8")
        await client.send(masked(CLOSE, b"\x03\xe8"))
        await client.end()


async def test_the_place_is_free_after_our_close_and_after_a_failed_send() -> None:
    async with guard(), listening() as listener:
        async with raw(listener) as first:
            await close(await listener.accept(), first)
        async with raw(listener):
            channel = await listener.accept()
        with pytest.raises(Closed):
            while True:
                await channel.send("x" * BULKY)
        async with raw(listener) as third:
            assert third.status == 101
            await channel.aclose()
            assert (await refused(listener, request()))[0] == 409


async def test_what_came_before_a_failed_send_is_still_received() -> None:
    async with guard(), listening() as listener:
        async with raw(listener) as client:
            channel = await listener.accept()
            await client.send(masked(TEXT, b"last words") + masked(CLOSE, b"\x03\xe9"))
        with pytest.raises(Closed):
            while True:
                await channel.send("x" * BULKY)
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (["last words"], 1001)


# The listener's life


async def test_what_the_body_raises_leaves_unchanged() -> None:
    mine = ZeroDivisionError("mine")
    async with guard():
        with pytest.raises(ZeroDivisionError) as caught:
            async with listen():
                raise mine
        assert caught.value is mine
        assert mine.__context__ is None
        with pytest.raises(KeyboardInterrupt):
            async with listen():
                raise KeyboardInterrupt


async def test_a_cancelled_body_closes_the_listener() -> None:
    async with guard():
        with anyio.CancelScope() as scope:
            async with listen() as listener:
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        with pytest.raises(OSError, match="refused"):
            await dial(listener.url)


async def test_the_end_of_the_listener_leaves_accepted_connections_and_closes_the_others() -> None:
    async with guard():
        async with listen() as listener:
            dialled = await dial(listener.url)
            accepted = await listener.accept()
        await dialled.send("still there")
        assert await accepted.receive() == "still there"
        await close_both(accepted, dialled)
        async with anyio.create_task_group() as group, listen() as listener:
            dialled = await dial(listener.url)
            group.start_soon(drain, dialled)
        with pytest.raises(Closed) as caught:
            await dialled.receive()
        assert caught.value.code == 1000


async def test_accept_ends_with_the_listener_and_loses_nothing_when_cancelled() -> None:
    async with guard(), anyio.create_task_group() as group:
        ends: list[int] = []

        async def accept() -> None:
            with pytest.raises(Closed) as caught:
                await listener.accept()
            ends.append(caught.value.code)

        async with listen() as listener:
            with anyio.CancelScope() as scope:
                scope.cancel()
                await listener.accept()
            dialled = await dial(listener.url)
            await close_both(await listener.accept(), dialled)
            group.start_soon(accept)
            await wait_all_tasks_blocked()
        await wait_all_tasks_blocked()
        assert ends == [1000]


# Frames


@asynccontextmanager
async def raw_pair(*, limit: int = LIMIT, stall: float = 30.0) -> AsyncIterator[tuple[WebSocketChannel, Raw]]:
    async with listening(limit=limit, stall=stall) as listener, raw(listener) as client:
        yield await listener.accept(), client


async def test_binary_frames_are_text_in_utf_8() -> None:
    async with guard(), raw_pair() as (channel, client):
        await client.send(masked(BINARY, '{"a":"ä"}'.encode()))
        assert await channel.receive() == '{"a":"ä"}'
        await channel.send("ü")
        assert await client.frame() == (TEXT, "ü".encode())


async def test_fragments_are_joined_and_may_be_cut_inside_a_character() -> None:
    whole = "zażółć 😀".encode()
    async with guard(), raw_pair() as (channel, client):
        for first in (0x01, 0x02):
            sent = masked(first, whole[:4])
            for byte in whole[4:]:
                sent += masked(0x00, bytes([byte])) + masked(PING, b"between") + masked(0x00, b"")
            await client.send(sent + masked(CONT, b"") + masked(TEXT, b"next"))
            assert await channel.receive() == whole.decode()
            assert await channel.receive() == "next"


@pytest.mark.parametrize(
    "sent",
    [
        masked(TEXT, b"\xff"),
        masked(BINARY, b"\xed\xa0\x80"),
        masked(0x01, b"\xc3") + masked(CONT, b"("),
    ],
)
async def test_what_is_not_utf_8_closes_with_1007(sent: bytes) -> None:
    async with guard(), raw_pair() as (channel, client), anyio.create_task_group() as group:
        await client.send(masked(TEXT, b"before") + sent + masked(TEXT, b"after"))
        group.start_soon(expect_code, client, 1007)
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (["before"], 1007)


async def expect_code(client: Raw, code: int) -> None:
    assert await client.close_code() == code
    await client.stream.send_eof()


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("a frame", masked(TEXT, b"x" * 1001)),
        ("a frame that is announced", masked(TEXT, b"", length=2**62)),
        ("fragments", masked(0x01, b"x" * 600) + masked(0x00, b"x" * 400) + masked(CONT, b"x")),
    ],
)
async def test_field_83_a_message_above_the_limit_closes_with_1009(name: str, sent: bytes) -> None:
    async with guard(), raw_pair(limit=1000) as (channel, client), anyio.create_task_group() as group:
        await client.send(masked(TEXT, b"x" * 1000) + sent)
        group.start_soon(expect_code, client, 1009)
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (["x" * 1000], 1009)
        with pytest.raises(Closed) as caught:
            await channel.send("late")
        assert caught.value.code == 1009


async def test_field_83_the_sender_of_an_oversized_message_learns_why() -> None:
    async with guard(), listening(limit=1000) as listener, anyio.create_task_group() as group:
        dialled = await dial(listener.url, limit=LIMIT)
        accepted = await listener.accept()
        with pytest.raises(TooLarge):
            await accepted.send("x" * 1001)
        group.start_soon(drain, accepted)
        await dialled.send("x" * LIMIT)
        _, closed = await drain(dialled)
        assert closed.code == 1009


async def test_a_peer_that_breaks_the_protocol_and_vanishes_is_closed_with_1002() -> None:
    async with guard(), raw_pair() as (channel, client):
        await client.send(masked(0x83, b""))
        sock = client.stream.extra(anyio.abc.SocketAttribute.raw_socket)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(drain, channel)
                assert await client.frame() == (CLOSE, b"\x03\xeainvalid opcode")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                await client.stream.aclose()
        assert not scope.cancelled_caught
        _, closed = await drain(channel)
        assert closed.code == 1002


@pytest.mark.parametrize(
    "sent",
    [
        bytes([TEXT, 2]) + b"{}",  # not masked
        masked(0xC1, b"{}"),  # a reserved bit, as compression would set it
        masked(0x83, b""),  # no such frame
        masked(CONT, b"x"),  # continues nothing
        masked(0x01, b"x") + masked(TEXT, b"x"),  # breaks into a message
        masked(0x09, b""),  # a ping in pieces
        masked(PING, b"x" * 126),
        masked(CLOSE, b"x"),
        masked(CLOSE, b"\x03\xed"),  # 1005 is not for the wire
        masked(0x01, b"x") + masked(CLOSE, b"\x03\xe8"),  # a close inside a message
    ],
)
async def test_a_peer_that_breaks_the_protocol_is_closed_with_1002(sent: bytes) -> None:
    async with guard(), raw_pair() as (channel, client), anyio.create_task_group() as group:
        group.start_soon(expect_code, client, 1002)
        await client.send(sent)
        _, closed = await drain(channel)
        assert closed.code == 1002


@given(data=st.binary(min_size=1, max_size=200))
def test_no_bytes_upset_an_open_channel(data: bytes) -> None:
    async def meet() -> None:
        async with guard(), raw_pair() as (channel, client):
            await client.send(data)
            await client.stream.send_eof()
            _, closed = await drain(channel)
            assert closed.code == 1006 or 1000 <= closed.code < 5000

    anyio.run(meet)


async def test_pings_are_answered_while_receiving_even_if_the_peer_only_writes() -> None:
    async with guard(), raw_pair() as (channel, client), anyio.create_task_group() as group:
        flooder = Flooder(channel)
        group.start_soon(flooder.run)
        await until_blocked(lambda: flooder.sent)
        # The way back is full. Input goes on all the same, and the last pong follows the message in progress.
        for number in range(50):
            await client.send(masked(PING, b"%d" % number) + masked(TEXT, b"%d" % number))
            assert await channel.receive() == str(number)
        group.cancel_scope.cancel()
        pongs: list[bytes] = []
        with anyio.CancelScope(shield=True):
            while not pongs:
                first, payload = await client.frame()
                if first == PONG:
                    pongs.append(payload)
                else:
                    assert len(payload) == BULKY
        assert pongs == [b"49"]


async def test_a_pong_that_does_not_fit_is_sent_by_the_receiver() -> None:
    async with guard(), raw_pair() as (channel, client):
        # Pings only: nobody writes but the receiver, whose pongs fill the way back.
        ping = masked(PING, b"p" * 125) * 500

        async def flood() -> None:
            while True:
                await client.send(ping)

        async with anyio.create_task_group() as group:
            group.start_soon(channel.receive)
            group.start_soon(flood)
            while not channel._duplex._rest:
                await checkpoint()
            assert len(channel._duplex._notice) <= BULK
            for _ in range(20_000):
                assert await client.frame() == (PONG, b"p" * 125)
            group.cancel_scope.cancel()


# The end of a connection


@pytest.mark.parametrize(
    ("payload", "code"), [(b"\x03\xe8", 1000), (b"\x03\xe9bye", 1001), (b"", 1005), (b"\x0f\xa0", 4000)]
)
async def test_a_close_of_the_peer_is_echoed_and_its_code_is_told(payload: bytes, code: int) -> None:
    async with guard(), raw_pair() as (channel, client):
        await client.send(masked(TEXT, b"before") + masked(CLOSE, payload) + masked(TEXT, b"after"))
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (["before"], code)
        assert await client.frame() == (CLOSE, payload)
        await client.end()


async def test_a_peer_that_goes_without_closing_is_1006() -> None:
    async with guard(), raw_pair() as (channel, client):
        await client.send(masked(TEXT, b"before") + masked(TEXT, b"never finished", length=100))
        await client.stream.send_eof()
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (["before"], 1006)
        await client.end()


async def test_our_close_is_1000_and_does_not_wait_long_for_an_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "LINGER", 0.05)
    async with guard(), raw_pair() as (channel, client):
        await client.send(masked(TEXT, b"unread"))
        await channel.aclose()
        assert await client.frame() == (CLOSE, b"\x03\xe8")
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await client.stream.receive()


async def test_our_close_ends_well_with_a_peer_that_still_sends() -> None:
    async with guard(), raw_pair() as (channel, client), anyio.create_task_group() as group:
        await client.send(masked(TEXT, b"x" * 300_000) + masked(PING, b"") + masked(0x83, b"") * 3)
        group.start_soon(client.stream.send_eof)
        await channel.aclose()
        assert await client.close_code() == 1000


async def test_a_peer_that_reads_nothing_is_dropped() -> None:
    async with guard(), raw_pair(stall=0.1) as (channel, _), anyio.create_task_group() as group:
        flooders = [Flooder(channel), Flooder(channel)]
        for flooder in flooders:
            group.start_soon(flooder.run)
        _, closed = await drain(channel)
        assert closed.code == 1006
        assert "0.1 s" in closed.reason
        await until_blocked(lambda: sum(flooder.closed is None for flooder in flooders))
        assert [str(flooder.closed) for flooder in flooders] == [closed.reason] * 2


@ASYNCIO
@pytest.mark.parametrize("end", ["receive", "aclose"])
async def test_a_task_cancelled_without_regard_for_shields_leaves_a_closed_channel(end: str) -> None:
    async with guard(), raw_pair(limit=10) as (channel, client):
        if end == "receive":
            await client.send(masked(TEXT, b"x" * 11))
            task = asyncio.create_task(channel.receive())
        else:
            task = asyncio.create_task(channel.aclose())
        assert (await client.frame())[0] == CLOSE
        task.cancel()
        await asyncio.wait([task])
        await channel.aclose()
        with pytest.raises(Closed):
            await channel.receive()
        assert channel._duplex._sock.fileno() == -1


async def test_a_tight_loop_of_sends_or_receives_lets_others_run_and_can_be_cancelled() -> None:
    async with guard(), connected() as (here, there):
        for number in range(3 * websocket.PACE):
            await there.send(str(number))
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(count)
            assert await here.receive() == "0"
            before = turns
            for number in range(1, 3 * websocket.PACE):
                assert await here.receive() == str(number)
            assert turns >= before + 2
            before = turns
            for _ in range(3 * websocket.PACE):
                await here.send("x")
            assert turns >= before + 2
            group.cancel_scope.cancel()
        with anyio.CancelScope() as scope:
            scope.cancel()
            while True:
                await here.send("until the turn comes")
        assert scope.cancelled_caught


async def test_a_text_that_is_no_unicode_is_not_sent() -> None:
    async with guard(), connected() as (here, there):
        with pytest.raises(UnicodeEncodeError):
            await here.send("\ud800")
        await here.send("fine")
        assert await there.receive() == "fine"


async def test_field_47_nothing_is_left_of_a_closed_connection() -> None:
    async with guard():
        async with connected() as (here, there), anyio.create_task_group() as group:
            group.start_soon(drain, there)
            await here.aclose()
        assert [channel._duplex._sock.fileno() for channel in (here, there)] == [-1, -1]
    gc.collect()


async def test_logs_hold_no_code_and_no_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with guard(), listening(Recorder()) as listener, anyio.create_task_group() as group:
        dialled = await dial(listener.url, code="SECRET-42")
        accepted = await listener.accept()
        await dialled.send("SECRET-43")
        await accepted.send(await accepted.receive())
        with pytest.raises(DialRefused):
            await dial(listener.url, code="SECRET-44")
        group.start_soon(drain, accepted)
        await dialled.aclose()
    assert "SECRET" not in caplog.text
    assert {record.name for record in caplog.records} <= {LOGGER, "asyncio"}
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_frames_can_be_traced_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, LOGGER)
    async with guard(), connected() as (here, there):
        await here.send("traced")
        assert await there.receive() == "traced"
    assert "traced" in caplog.text


# Dialling


@pytest.mark.parametrize(
    "url",
    [
        "ws://example.org:80/",
        "ws://10.0.0.1:80/",
        "ws://localhost.evil.example:80/",
        "ws://127.0.0.1@evil.example:80/",
        "ws://user:secret@127.0.0.1:80/",
        "ws://0.0.0.0:80/",
        "ws://[::]:80/",
        "ws://127.0.0.1:99999/",
        "wss://127.0.0.1:443/",
        "http://127.0.0.1:80/",
        "ws:///",
        "127.0.0.1:80",
        "ws://127.0.0.1:80/#fragment",
    ],
)
async def test_only_this_machine_is_dialled(url: str) -> None:
    with pytest.raises(ValueError, match=r"dialled|Port"):
        await dial(url)


@pytest.mark.parametrize("code", ["", "A B", "A,B", "A\r\nX: y", "ÄBCD-EF", "x" * 65])
async def test_a_code_that_cannot_be_one_is_not_sent(code: str) -> None:
    with pytest.raises(ValueError, match="claim code") as caught:
        await dial("ws://127.0.0.1:1/", code=code)
    assert not code or code not in str(caught.value)


async def test_dialling_nobody_is_an_os_error() -> None:
    async with guard():
        for host in ("127.0.0.1", "localhost", "[::1]"):
            with pytest.raises(ConnectionRefusedError):
                await dial(f"ws://{host}:{unused_port()}/")


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


async def test_localhost_is_tried_on_both_families() -> None:
    async with guard(), listening(host="::1") as listener:
        dialled = await dial(f"ws://localhost:{address(listener)[1]}")
        await close_both(await listener.accept(), dialled)


@asynccontextmanager
async def answering(answer: bytes, *, hold: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that gives one answer to whatever comes, and then closes or, with `hold`, waits."""
    requests: list[bytes] = []

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            requests.append(await stream.receive())
            key = requests[0].split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0].decode()
            if answer:
                await stream.send(answer.replace(b"ACCEPT", accept_key(key).encode()))
            if hold:
                await anyio.sleep_forever()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as server, anyio.create_task_group() as group:
        group.start_soon(server.serve, handle)
        yield f"ws://127.0.0.1:{server.extra(anyio.abc.SocketAttribute.local_port)}/", requests
        group.cancel_scope.cancel()


OPEN = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n"
)


async def test_our_request_is_bare() -> None:
    async with guard(), answering(OPEN + b"\r\n", hold=True) as (url, requests):
        channel = await dial(url, code="ABCD-EF")
        head = requests[0].decode().lower()
        assert channel.subprotocol is None
        assert "sec-websocket-protocol: tesseron-gateway, tesseron-bind.abcd-ef\r\n" in head
        assert "sec-websocket-version: 13\r\n" in head
        for header in ("user-agent", "origin", "extensions", "authorization"):
            assert header not in head
        channel._duplex.close(Closed())


async def test_frames_that_come_with_the_answer_are_received() -> None:
    frames = bytes([TEXT, 5]) + b"first" + bytes([PING, 0]) + bytes([TEXT, 6]) + b"second" + bytes([CLOSE, 0])
    async with guard(), answering(OPEN + b"\r\n" + frames) as (url, _):
        texts, closed = await drain(await dial(url))
        assert (texts, closed.code) == (["first", "second"], 1005)


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 11\r\n\r\nwrong code\n", 403, "wrong code"),
        (b"HTTP/1.1 426 Upgrade Required\r\n\r\nno code", 426, "no code"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 503, "Busy"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, "No Content"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n", 302, "Found"),
        (b"HTTP/1.1 409 Conflict\r\nContent-Length: 1\r\n\r\n\xff", 409, "\ufffd"),
    ],
)
async def test_an_answer_other_than_101_is_told(answer: bytes, status: int, reason: str) -> None:
    async with guard(), answering(answer) as (url, _):
        with pytest.raises(DialRefused) as caught:
            await dial(url)
        assert (caught.value.status, caught.value.reason) == (status, reason)
        assert str(status) in str(caught.value)


async def test_field_94_our_own_refusals_reach_the_dialler() -> None:
    async with guard(), listening(Recorder(Refuse(Refusal.WRONG_CODE, "Wrong code. Ask for it again."))) as listener:
        with pytest.raises(DialRefused) as caught:
            await dial(listener.url)
    assert (caught.value.status, caught.value.reason) == (403, "Wrong code. Ask for it again.")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", 1006),
        (b"HTTP/1.1 101 Swi", 1006),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nabc", 1006),
        (b"220 mail.example ESMTP\r\n\r\n", 1002),
        (b"HTTP/1.1 " + b"x" * 9000 + b"\r\n\r\n", 1002),
        (OPEN.replace(b"ACCEPT", b"wrong") + b"\r\n", 1002),
        (OPEN + b"Sec-WebSocket-Protocol: other\r\n\r\n", 1002),
        (OPEN + b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", 1002),
    ],
)
async def test_an_answer_that_is_no_websockets_is_a_fault(answer: bytes, code: int) -> None:
    async with guard(), answering(answer) as (url, _):
        with pytest.raises(Closed, match="did not open") as caught:
            await dial(url)
        assert caught.value.code == code


async def test_dialling_ends_in_time_and_can_be_cancelled() -> None:
    async with guard(), answering(b"HTTP/1.1 101 ", hold=True) as (url, _):
        with pytest.raises(TimeoutError):
            await dial(url, timeout=0.05)
        with anyio.move_on_after(0.05) as scope:
            await dial(url)
        assert scope.cancelled_caught
    gc.collect()


# Foreign peers


async def echo(listener: Listener, connections: int = 1) -> None:
    for _ in range(connections):
        channel = await listener.accept()
        try:
            while True:
                await channel.send(await channel.receive())
        except Closed:
            pass


@ASYNCIO
async def test_a_foreign_asyncio_client_talks_to_our_listener() -> None:
    async with guard(), listening() as listener, anyio.create_task_group() as group:
        group.start_soon(echo, listener, 2)
        for _ in range(2):
            # With its defaults it offers compression, and says who it is.
            async with websockets.asyncio.client.connect(listener.url, subprotocols=[GATEWAY]) as client:
                assert client.subprotocol == GATEWAY
                assert client.protocol.extensions == []
                for text in ("{}", "ä" * 100_000, ""):
                    await client.send(text)
                    assert await client.recv() == text
                await client.send(["a", "b", "c"])
                assert await client.recv() == "abc"
                await client.send(b"binary")
                assert await client.recv() == "binary"
                await (await client.ping())
            assert client.close_code == 1000


@ASYNCIO
async def test_a_foreign_asyncio_client_sees_our_closes() -> None:
    async with guard(), listening(limit=1000) as listener, anyio.create_task_group() as group:
        client = await websockets.asyncio.client.connect(listener.url, subprotocols=[GATEWAY])
        channel = await listener.accept()
        group.start_soon(channel.aclose)
        with pytest.raises(ConnectionClosedOK):
            await client.recv()
        client = await websockets.asyncio.client.connect(listener.url, subprotocols=[GATEWAY])
        channel = await listener.accept()
        await client.send("x" * 100_000)
        with pytest.raises(Closed) as caught:
            await channel.receive()
        assert caught.value.code == 1009
        with pytest.raises(ConnectionClosedError) as refusal:
            await client.recv()
        assert refusal.value.rcvd is not None
        assert refusal.value.rcvd.code == 1009


@ASYNCIO
async def test_a_foreign_asyncio_client_is_told_why_it_is_refused() -> None:
    async with guard(), listening() as listener:
        with pytest.raises(InvalidStatus) as caught:
            await websockets.asyncio.client.connect(listener.url)
        assert caught.value.response.status_code == 400
        assert GATEWAY.encode() in (caught.value.response.body or b"")


@ASYNCIO
async def test_our_channel_talks_to_a_foreign_asyncio_server() -> None:
    async def handler(server: websockets.asyncio.server.ServerConnection) -> None:
        async for message in server:
            if message == "go away":
                await server.close(1001)
            else:
                await server.send([message[:1], message[1:]])

    async with (
        guard(),
        websockets.asyncio.server.serve(handler, "127.0.0.1", 0, subprotocols=[GATEWAY]) as server,
    ):
        channel = await dial(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert channel.subprotocol == GATEWAY
        for text in ("{}", "ä" * 100_000):
            await channel.send(text)
            assert await channel.receive() == text
        await channel.aclose()
        channel = await dial(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        await channel.send("go away")
        _, closed = await drain(channel)
        assert closed.code == 1001


async def test_a_foreign_blocking_client_talks_to_our_listener() -> None:
    def talk(url: str) -> int | None:
        with websockets.sync.client.connect(url, subprotocols=[GATEWAY]) as client:
            for text in ("{}", "ä" * 100_000):
                client.send(text)
                assert client.recv() == text
        return client.close_code

    async with guard(), listening() as listener, anyio.create_task_group() as group:
        group.start_soon(echo, listener, 2)
        for _ in range(2):
            assert await anyio.to_thread.run_sync(talk, listener.url) == 1000


@pytest.fixture
def blocking_server() -> Iterator[websockets.sync.server.Server]:
    def handler(server: websockets.sync.server.ServerConnection) -> None:
        for message in server:
            server.send(message)

    with websockets.sync.server.serve(handler, "127.0.0.1", 0, subprotocols=[GATEWAY]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_our_channel_talks_to_a_foreign_blocking_server(blocking_server: websockets.sync.server.Server) -> None:
    url = f"ws://127.0.0.1:{blocking_server.socket.getsockname()[1]}/"
    async with guard():
        for _ in range(2):
            channel = await dial(url)
            for text in ("{}", "ä" * 100_000):
                await channel.send(text)
                assert await channel.receive() == text
            await channel.aclose()
