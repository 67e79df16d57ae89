"""The Unix socket binding: the suite of all bindings, then the bind, the lines and the files over real sockets."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.bindings import unix
from tesseron_py.bindings.channel import Admit, Channel, Closed, Gate, Offer, Refusal, Refuse
from tesseron_py.bindings.unix import BindRefused, Listener, UnixChannel, _Lines, dial, listen

from .suite import LIMIT, Binding, BindingSuite, Connect, Flooder, drain, guard, until_blocked

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")

LOGGER = "tesseron_py.bindings.unix"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A short one: the path of a socket may have about a hundred bytes."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t-") as directory:
        yield Path(directory)


# The suite of all bindings


@asynccontextmanager
async def connected(
    *, limit: int = LIMIT, stall: float = 30.0, code: str | None = None
) -> AsyncIterator[tuple[Channel, Channel]]:
    """The listener's end and the dialler's."""
    async with listen(limit=limit, stall=stall, bind_required=code is not None) as listener:
        dialled = await dial(listener.path, code=code, limit=limit, stall=stall)
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
    async with connected(limit=limit, code="ABCD-EF") as (accepted, dialled):
        yield dialled, accepted


async def vanish(channel: Channel) -> None:
    """Close the socket and nothing else, as the kernel does for a killed process."""
    assert isinstance(channel, UnixChannel)
    channel._duplex.close(Closed("killed"))


class TestSuite(BindingSuite):
    @pytest.fixture(params=[connected, connected_the_other_way], ids=["listener", "dialler"])
    def binding(self, request: pytest.FixtureRequest) -> Binding:
        connect: Connect = request.param
        return Binding(connect, vanish, texts=("x\r", "\x00\x7f", '"\\ud800"'))


# Peers that speak bytes


@dataclass
class Raw:
    """A client that is nothing but a Unix socket."""

    stream: anyio.abc.SocketStream
    received: bytes = b""

    async def send(self, *messages: Any) -> None:
        """Send bytes as they are, and anything else as a line of JSON."""
        for message in messages:
            await self.stream.send(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def line(self) -> Any:
        """The next line of the listener, parsed."""
        while b"\n" not in self.received:
            self.received += await self.stream.receive()
        line, _, self.received = self.received.partition(b"\n")
        return json.loads(line)

    async def error(self) -> tuple[Any, int]:
        """The id and code of the error that comes next."""
        answer = await self.line()
        assert answer.keys() == {"jsonrpc", "id", "error"}
        assert answer["error"]["message"]
        return answer["id"], answer["error"]["code"]

    async def end(self) -> None:
        """The end of the stream, with nothing before it, and well before a bind is overdue."""
        with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
            await self.stream.receive()
        assert self.received == b""

    async def is_open(self) -> bool:
        with anyio.move_on_after(0.05):
            await self.end()
            return False
        return True


@asynccontextmanager
async def raw(path: str) -> AsyncIterator[Raw]:
    async with await anyio.connect_unix(path) as stream:
        yield Raw(stream)


@asynccontextmanager
async def listening(
    gate: Gate | None = None, *, bind_required: bool = False, limit: int = LIMIT, **options: Any
) -> AsyncIterator[Listener]:
    """A listener; what a test accepts from it and does not close is closed at once when the test is over."""
    accepted: list[UnixChannel] = []

    async def accept() -> UnixChannel:
        accepted.append(await Listener.accept(listener))
        return accepted[-1]

    async with listen(gate, bind_required=bind_required, limit=limit, **options) as listener:
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


def bind(code: Any = "ABCD-EF", *, id: Any = 1, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tesseron/bind", "params": {"code": code}} | members


def refusing(refusal: Refusal) -> Recorder:
    return Recorder(Refuse(refusal, "No: ask for another code."))


# The bind


@pytest.mark.parametrize("id", [1, 0, "007", " 7 ", "", None, 2**60, -1])
async def test_a_bind_is_answered_with_its_id_and_then_the_connection_is_a_channel(id: Any) -> None:
    gate = Recorder()
    async with guard(), listening(gate, bind_required=True) as listener, raw(listener.path) as client:
        await client.send(bind("aBc_1-2", id=id))
        assert await client.line() == {"jsonrpc": "2.0", "id": id, "result": {"ok": True}}
        channel = await listener.accept()
        assert gate.offers == [Offer(listener.path, ("aBc_1-2",))]
        assert channel.path == listener.path
        await channel.send('{"hello":1}')
        assert await client.line() == {"hello": 1}
        await client.send(bind(), bind("another"))  # of no meaning any more
        assert json.loads(await channel.receive()) == bind()
        assert json.loads(await channel.receive()) == bind("another")
        assert len(gate.offers) == 1


async def test_nothing_is_said_before_the_bind() -> None:
    async with guard(), listening(bind_required=True) as listener, raw(listener.path) as client:
        assert await client.is_open()
        assert client.received == b""


async def test_without_a_bind_the_connection_is_a_channel_at_once() -> None:
    gate = refusing(Refusal.NO_CODE)
    async with guard(), listening(gate) as listener, raw(listener.path) as client:
        channel = await listener.accept()
        await channel.send("{}")
        assert await client.line() == {}
        assert gate.offers == []


@pytest.mark.parametrize(
    ("refusal", "code", "stays"),
    [
        (Refusal.LOCKED_OUT, -32009, False),
        (Refusal.WRONG_CODE, -32009, False),
        (Refusal.SPENT, -32009, True),
        (Refusal.TAKEN, -32009, True),
        (Refusal.NO_CODE, -32602, True),
        (Refusal.MALFORMED, -32602, True),
    ],
)
async def test_a_refusal_of_the_gate_has_its_code_and_closes_or_does_not(
    refusal: Refusal, code: int, stays: bool
) -> None:
    gate = refusing(refusal)
    async with guard(), listening(gate, bind_required=True) as listener, raw(listener.path) as client:
        await client.send(bind(id="first"))
        answer = await client.line()
        assert answer == {
            "jsonrpc": "2.0", "id": "first", "error": {"code": code, "message": "No: ask for another code."},
        }  # fmt: skip
        assert await client.is_open() is stays
        if stays:
            gate.verdict = Admit()
            await client.send(bind(id="second"))
            assert (await client.line())["result"] == {"ok": True}
            await listener.accept()


@pytest.mark.parametrize(
    "params", [None, {}, {"code": None}, {"code": 7}, {"code": ["ABCD-EF"]}, {"code": True}, [], "ABCD-EF", "absent"]
)
async def test_a_bind_without_a_code_is_invalid_and_the_connection_stays(params: Any) -> None:
    gate = refusing(Refusal.NO_CODE)
    message = bind(params=params)
    if params == "absent":
        del message["params"]
    async with guard(), listening(gate, bind_required=True) as listener, raw(listener.path) as client:
        await client.send(message)
        assert await client.error() == (1, -32602)
        assert gate.offers == [Offer(listener.path)]
        gate.verdict = Admit()
        await client.send(message)  # whatever the gate says to no code
        assert await client.error() == (1, -32602)
        await client.send(bind())
        assert (await client.line())["result"] == {"ok": True}


@pytest.mark.parametrize(
    ("message", "id"),
    [
        ({"jsonrpc": "2.0", "id": "h", "method": "tesseron/hello", "params": {}}, "h"),
        ({"jsonrpc": "2.0", "id": None, "method": "actions/invoke"}, None),
        ({"jsonrpc": "2.0", "method": "tesseron/bind", "params": {"code": "ABCD-EF"}}, None),
        ({"jsonrpc": "2.0", "method": "log"}, None),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, None),
        ({"jsonrpc": "1.0", "id": 5, "method": "tesseron/bind", "params": {"code": "ABCD-EF"}}, 5),
        ({"id": "x", "method": "tesseron/bind", "params": {"code": "ABCD-EF"}}, "x"),
        ({"jsonrpc": "2.0", "id": [], "method": "tesseron/bind"}, None),
        ({}, None),
        ([bind()], None),
        ("tesseron/bind", None),
        (None, None),
    ],
)
async def test_any_other_first_frame_is_an_invalid_request_and_the_end(message: Any, id: Any) -> None:
    gate = Recorder()
    async with guard(), listening(gate, bind_required=True) as listener, raw(listener.path) as client:
        await client.send(message)
        assert await client.error() == (id, -32600)
        await client.end()
        assert not any(offer.codes for offer in gate.offers)


async def test_the_order_after_a_frame_that_stayed_is_the_same() -> None:
    gate = refusing(Refusal.SPENT)
    async with guard(), listening(gate, bind_required=True) as listener, raw(listener.path) as client:
        await client.send(bind(), {"jsonrpc": "2.0", "id": 2, "method": "tesseron/hello"}, bind(id=3))
        assert await client.error() == (1, -32009)
        assert await client.error() == (2, -32600)
        await client.end()


@pytest.mark.parametrize(
    ("message", "id"),
    [({"jsonrpc": "2.0", "id": 1, "method": "tesseron/hello"}, 1), (bind(None, id=2), 2), (bind(id=3), 3)],
)
async def test_a_locked_gate_comes_before_all_else_that_is_a_request(message: Any, id: Any) -> None:
    async with (
        guard(),
        listening(refusing(Refusal.LOCKED_OUT), bind_required=True) as listener,
        raw(listener.path) as client,
    ):
        await client.send(message)
        assert await client.error() == (id, -32009)
        await client.end()


@pytest.mark.parametrize(
    "line", [b"garbage\n", b"{\n", b'{"a":NaN}\n', b"\xff\xfe\n", b" \n", b"GET / HTTP/1.1\r\n", b'"\\ud800"\n']
)
async def test_garbage_is_a_parse_error_and_the_end(line: bytes) -> None:
    gate = Recorder()
    async with guard(), listening(gate, bind_required=True) as listener:
        async with raw(listener.path) as client:
            await client.send(line)
            assert await client.error() == (None, -32700)
            await client.end()
        assert gate.offers == []
        async with raw(listener.path) as client:
            await client.send(bind())
            assert (await client.line())["result"] == {"ok": True}


@given(data=st.binary(min_size=1))
def test_no_bytes_upset_the_listener(data: bytes) -> None:
    async def meet() -> None:
        async with guard(), listening(refusing(Refusal.WRONG_CODE), bind_required=True) as listener:
            async with raw(listener.path) as client:
                await client.send(data)
                await client.stream.send_eof()
                with pytest.raises(anyio.EndOfStream):
                    while await client.stream.receive():
                        pass
            async with raw(listener.path) as client:
                await client.send(bind())
                assert await client.error() == (1, -32009)

    anyio.run(meet)


async def test_a_refused_peer_may_go_on_sending_and_still_reads_why() -> None:
    async with (
        guard(),
        listening(refusing(Refusal.WRONG_CODE), bind_required=True) as listener,
        raw(listener.path) as client,
    ):
        await client.send(bind(), b"x" * 60_000, b"x" * 60_000)
        assert await client.error() == (1, -32009)
        await client.send(b"x" * 60_000)
        await client.end()


@pytest.mark.parametrize("ended", [True, False])
async def test_a_first_line_that_is_too_long_is_an_invalid_request(ended: bool) -> None:
    async with guard(), listening(bind_required=True) as listener, raw(listener.path) as client:
        await client.send(b"[" + b" " * unix.MAX_BIND + (b"]\n" if ended else b""))
        assert await client.error() == (None, -32600)
        await client.end()


async def test_a_bind_may_come_in_pieces_between_empty_lines_with_messages_on_its_heels() -> None:
    sent = b"\n\r\n\n" + json.dumps(bind()).encode() + b'\r\n\n{"first":1}\n\n{"second":2}\r\n{"third":'
    async with guard(), listening(bind_required=True) as listener, raw(listener.path) as client:
        for at in range(0, len(sent), 3):
            await client.send(sent[at : at + 3])
            await checkpoint()
        channel = await listener.accept()
        assert json.loads(await channel.receive()) == {"first": 1}
        assert json.loads(await channel.receive()) == {"second": 2}
        await client.send(b"3}\n")
        assert await channel.receive() == '{"third":3}'


async def test_a_bind_and_an_end_in_one_packet_are_an_open_and_a_close() -> None:
    async with guard(), listening(bind_required=True) as listener, raw(listener.path) as client:
        await client.send(bind())
        await client.stream.send_eof()
        channel = await listener.accept()
        _, closed = await drain(channel)
        assert closed.code == 1000
        assert (await client.line())["result"] == {"ok": True}
        await client.end()


async def test_a_peer_that_leaves_without_binding_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with guard(), listening(bind_required=True) as listener:
        for sent in (b"", b'{"jsonrpc":', json.dumps(bind()).encode()):
            async with raw(listener.path) as client:
                await client.send(sent)
        async with raw(listener.path) as client:
            await client.send(bind())
            assert (await client.line())["result"] == {"ok": True}
        assert listener._reception._handshakes == {}
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_a_connection_that_does_not_bind_in_time_is_closed() -> None:
    async with (
        guard(),
        listening(refusing(Refusal.SPENT), bind_required=True, handshake=0.1) as listener,
        raw(listener.path) as silent,
        raw(listener.path) as slow,
        raw(listener.path) as refused,
    ):
        await slow.send(b'{"jsonrpc"')
        await refused.send(bind())
        assert await refused.error() == (1, -32009)
        for client in (silent, slow, refused):
            await client.end()


async def test_at_most_eight_wait_and_a_ninth_takes_the_place_of_the_oldest() -> None:
    async with guard(), listening(bind_required=True) as listener, anyio.create_task_group() as group:
        clients = [Raw(await anyio.connect_unix(listener.path)) for _ in range(9)]
        try:
            await clients[0].end()
            assert len(listener._reception._handshakes) == 8
            await clients[1].send(bind())
            assert (await clients[1].line())["result"] == {"ok": True}
            (await listener.accept())._duplex.close(Closed())
            await clients[8].send(bind())
            assert (await clients[8].line())["result"] == {"ok": True}
        finally:
            for client in clients:
                group.start_soon(client.stream.aclose)


async def test_a_gate_that_fails_refuses_and_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def offer(self, offer: Offer) -> Admit | Refuse:
            raise ZeroDivisionError("secret detail")

    async with guard(), listening(Broken(), bind_required=True) as listener:
        for _ in range(2):
            async with raw(listener.path) as client:
                await client.send(bind())
                answer = await client.line()
                assert answer["error"]["code"] == -32603
                assert "secret" not in answer["error"]["message"]
                await client.end()
    assert "ZeroDivisionError" in caplog.text


# The place


async def test_a_second_bind_is_refused_while_one_is_attached_and_may_try_again() -> None:
    gate = Recorder()
    async with (
        guard(),
        listening(gate, bind_required=True) as listener,
        raw(listener.path) as first,
        raw(listener.path) as second,
    ):
        await first.send(bind())
        assert (await first.line())["result"] == {"ok": True}
        await second.send(bind(id=2))  # the first has not been accepted yet
        assert await second.error() == (2, -32009)
        channel = await listener.accept()
        await second.send(bind(id=3))
        assert await second.error() == (3, -32009)
        gate.verdict = Refuse(Refusal.WRONG_CODE, "wrong code")
        async with raw(listener.path) as third:
            await third.send(bind())
            assert (await third.line())["error"]["message"] == "wrong code"  # the gate comes first
        gate.verdict = Admit()
        await first.send({"alive": True})
        assert await channel.receive() == '{"alive": true}'
        await first.stream.aclose()
        await second.send(bind(id=4))
        assert await second.line() == {"jsonrpc": "2.0", "id": 4, "result": {"ok": True}}
        other = await listener.accept()
        await other.send("{}")
        assert await second.line() == {}


async def test_in_the_plain_form_a_second_connection_is_cut_off_while_one_is_attached() -> None:
    async with guard(), listening() as listener:
        async with raw(listener.path) as first:
            channel = await listener.accept()
            async with raw(listener.path) as second:
                await second.end()
            await first.send({})
            assert await channel.receive() == "{}"
        async with raw(listener.path) as third:
            other = await listener.accept()
            _, closed = await drain(channel)
            assert closed.code == 1000
            await other.send("{}")  # the old one's end does not take the place from the new one
            assert await third.line() == {}
            async with raw(listener.path) as fourth:
                await fourth.end()


async def test_the_place_is_free_as_soon_as_our_close_begins() -> None:
    async with guard(), listening() as listener, raw(listener.path) as first, anyio.create_task_group() as group:
        channel = await listener.accept()
        flooder = Flooder(channel)
        group.start_soon(flooder.run)
        await until_blocked(lambda: flooder.sent)
        group.start_soon(channel.aclose)  # which has to wait for the peer
        await wait_all_tasks_blocked()
        async with raw(listener.path) as second:
            other = await listener.accept()
            await other.send('"hello"')
            assert await second.line() == "hello"
        await first.stream.aclose()


async def test_resuming_has_a_socket_of_its_own_that_asks_for_no_bind_and_the_same_place() -> None:
    gate = Recorder()
    async with guard(), listening(gate, bind_required=True) as listener:
        path = listener.add()
        assert path != listener.path
        assert os.path.dirname(path) == listener.directory
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        async with raw(listener.path) as bound, raw(path) as early:
            await early.send({})  # nobody has the place, and no bind is asked for here
            assert await (await listener.accept()).receive() == "{}"
            await bound.send(bind())
            assert await bound.error() == (1, -32009)
            async with raw(path) as third:
                await third.end()
        gate.verdict = Refuse(Refusal.SPENT, "It has been used.")
        async with raw(listener.path) as late, raw(path) as resuming:
            channel = await listener.accept()
            assert channel.path == path
            await late.send(bind())
            assert await late.error() == (1, -32009)
            assert await late.is_open()
            await channel.send("{}")
            assert await resuming.line() == {}
        assert all(offer.path == listener.path for offer in gate.offers)


# The files


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def real(path: Path) -> Path:
    return path.resolve()


async def test_directory_and_socket_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    for umask in (0o000, 0o022, 0o177):
        before = os.umask(umask)
        try:
            async with guard(), listening(directory=tmp_path) as listener:
                assert Path(listener.path).parent == Path(listener.directory)
                assert Path(listener.directory).parent == real(tmp_path)
                assert stat.S_IMODE(os.stat(listener.directory).st_mode) == 0o700
                assert stat.S_IMODE(os.stat(listener.path).st_mode) == 0o600
                assert stat.S_ISSOCK(os.stat(listener.path).st_mode)
        finally:
            os.umask(before)


async def test_the_files_go_with_the_listener_and_not_with_a_connection(tmp_path: Path) -> None:
    async with guard():
        async with listening(directory=tmp_path) as listener:
            listener.add()
            async with raw(listener.path):
                channel = await listener.accept()
            await drain(channel)
            await channel.aclose()
            assert len(names(Path(listener.directory))) == 2
        assert names(tmp_path) == []
        listener.remove_files()
        with pytest.raises(Closed):
            listener.add()
        with pytest.raises(Closed):
            await listener.accept()


@pytest.mark.parametrize("how", ["error", "cancel"])
async def test_the_files_go_whatever_ends_the_listener(tmp_path: Path, how: str) -> None:
    async with guard():
        if how == "error":
            with pytest.raises(ZeroDivisionError):
                async with listening(directory=tmp_path):
                    raise ZeroDivisionError
        else:
            with anyio.CancelScope() as scope:
                async with listening(directory=tmp_path):
                    scope.cancel()
                    await checkpoint()
    assert names(tmp_path) == []


async def test_what_others_left_in_the_directory_is_not_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with guard():
        async with listening(directory=tmp_path) as listener:
            os.unlink(listener.path)
            (Path(listener.directory) / "mine").write_text("keep me")
        assert (Path(listener.directory) / "mine").read_text() == "keep me"
    assert "Cannot remove the directory" in caplog.text


async def test_a_temporary_directory_behind_a_link_is_followed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "real", tmp_path / "link"
    target.mkdir()
    link.symlink_to(target)
    monkeypatch.setattr(unix.tempfile, "gettempdir", lambda: str(link))
    async with guard(), listening() as listener:
        assert Path(listener.directory).parent == real(target)
        link.unlink()
        async with raw(listener.path):
            await listener.accept()
    assert names(target) == []


async def test_a_path_that_would_be_too_long_is_made_elsewhere_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.setattr(unix.tempfile, "gettempdir", lambda: str(deep))
    async with guard():
        async with listening() as listener:
            assert len(os.fsencode(listener.path)) <= unix.MAX_PATH
            assert listener.path.startswith(str(real(Path("/tmp"))))
        with pytest.raises(OSError, match="TMPDIR to a shorter one") as caught:
            async with listen(directory=deep):
                pass
        assert str(real(deep)) in str(caught.value)
        assert names(deep) == []


async def test_the_longest_directory_that_is_accepted_has_room(tmp_path: Path) -> None:
    room = unix.MAX_PATH - len("/tesseron-12345678/12345678.sock") - len(os.fsencode(real(tmp_path))) - 1
    assert room > 0
    directory = tmp_path / ("é" * (room // 2) + "x" * (room % 2))
    directory.mkdir()
    async with guard(), listening(directory=directory) as listener:
        assert len(os.fsencode(listener.path)) == unix.MAX_PATH
        async with raw(listener.path):
            await listener.accept()


async def test_a_directory_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        async with listen(directory=tmp_path / "nowhere"):
            pass


async def test_a_socket_that_cannot_be_made_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str, mode: int) -> None:
        if path.endswith(".sock"):
            raise PermissionError(1, "not permitted", path)

    monkeypatch.setattr(unix.os, "chmod", fail)
    with pytest.raises(PermissionError):
        async with listen(directory=tmp_path):
            pass
    assert names(tmp_path) == []


async def test_field_79_a_system_without_unix_sockets_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(OSError, match="WebSocket"):
        async with listen():
            pass
    with pytest.raises(OSError, match="WebSocket"):
        await dial("/tmp/x.sock")


# Lines


async def test_a_message_is_one_line_and_what_is_none_is_not_sent() -> None:
    async with guard(), listening() as listener, raw(listener.path) as client:
        channel = await listener.accept()
        for text in ("", "\n", '{"a":\n1}', "x\n"):
            with pytest.raises(ValueError, match="one line"):
                await channel.send(text)
        with pytest.raises(UnicodeEncodeError):
            await channel.send("\ud800")
        await channel.send('"\u2028\u0085"')
        assert await client.stream.receive() == '"\u2028\u0085"\n'.encode()


async def test_bytes_that_are_no_text_are_received_as_what_is_no_json_and_the_connection_lives_on() -> None:
    async with guard(), listening() as listener, raw(listener.path) as client:
        channel = await listener.accept()
        await client.send(b'"\xff"\n', b"{}\n")
        text = await channel.receive()
        assert text.encode("utf-8", "surrogateescape") == b'"\xff"'
        with pytest.raises(UnicodeEncodeError):
            text.encode()
        assert await channel.receive() == "{}"


@pytest.mark.parametrize("ended", [True, False])
async def test_field_83_a_line_above_the_limit_closes_after_what_came_before(ended: bool) -> None:
    async with guard(), listening(limit=10) as listener, raw(listener.path) as client:
        channel = await listener.accept()
        await client.send(b"0123456789\n{}\n" + b"0123456789x" + (b"\n[]\n" if ended else b""))
        texts, closed = [], None
        async with anyio.create_task_group() as group:

            async def receive_all() -> None:
                nonlocal texts, closed
                texts, closed = await drain(channel)

            group.start_soon(receive_all)
            await client.end()
            await client.stream.aclose()
        assert texts == ["0123456789", "{}"]
        assert closed is not None
        assert closed.code == 1009
        assert "10 bytes" in closed.reason
        with pytest.raises(Closed):
            await channel.send("{}")


async def test_an_endless_line_does_not_fill_the_memory_and_its_sender_is_left_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unix, "LINGER", 0.1)
    async with guard(), listening(limit=100_000) as listener, raw(listener.path) as client:
        channel = await listener.accept()

        async def send_endlessly() -> None:
            with pytest.raises(anyio.BrokenResourceError):
                while True:
                    await client.send(b"x" * 60_000)

        async with anyio.create_task_group() as group:
            group.start_soon(send_endlessly)
            _, closed = await drain(channel)
        assert closed.code == 1009


async def test_a_peer_that_goes_in_the_middle_of_a_line_is_told_apart() -> None:
    async with guard(), listening() as listener, raw(listener.path) as client:
        channel = await listener.accept()
        await client.send(b'{}\n{"half":')
        await client.stream.aclose()
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (["{}"], 1006)
        assert "middle" in closed.reason


async def test_a_broken_connection_ends_the_channel() -> None:
    async with guard(), listening() as listener, raw(listener.path) as client:
        channel = await listener.accept()
        await channel.send('"unread"')
        await client.stream.aclose()  # with unread input, which resets the connection
        _, closed = await drain(channel)
        assert closed.code in (1000, 1006)
        with pytest.raises(Closed):
            await channel.send("{}")
        await channel.aclose()


async def test_a_peer_that_reads_nothing_is_dropped_in_time() -> None:
    async with guard(), listening(stall=0.1) as listener, raw(listener.path):
        channel = await listener.accept()
        flooder = Flooder(channel)
        await flooder.run()
        assert flooder.closed is not None
        assert "has read nothing" in flooder.closed.reason


async def test_closing_does_not_wait_for_ever_for_a_peer_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix, "LINGER", 0.05)
    async with guard(), listening() as listener, raw(listener.path) as client:
        channel = await listener.accept()
        await channel.aclose()
        assert channel._duplex._sock.fileno() == -1
        await client.end()


async def test_a_tight_loop_of_sends_or_receives_lets_others_run() -> None:
    async with guard(), connected() as (here, there):
        for number in range(4 * unix.PACE):
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
            for number in range(1, 4 * unix.PACE):
                assert await here.receive() == str(number)
            assert turns >= before + 2
            before = turns
            for _ in range(4 * unix.PACE):
                await here.send("1")
            assert turns >= before + 2
            group.cancel_scope.cancel()


@given(
    lines=st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"") or b"x"), max_size=20),
    sizes=st.lists(st.integers(1, 30)),
)
def test_lines_come_out_whole_whatever_pieces_they_come_in(lines: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cutter, got = _Lines(limit=20), []
    for size in sizes:
        got += cutter.feed(stream[:size])
        stream = stream[size:]
    got += cutter.feed(stream)
    assert got == [line for line in lines if line != b"\r"]
    assert not cutter.too_long
    assert not cutter.is_begun


# Dialling


@asynccontextmanager
async def answering(tmp_path: Path, answer: bytes, *, hold: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """An app that gives one answer to whatever comes, and then closes or, with `hold`, waits."""
    path, requests = str(tmp_path / "app.sock"), list[bytes]()

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            requests.append(await stream.receive())
            if answer:
                await stream.send(answer)
            if hold:
                await anyio.sleep_forever()

    async with await anyio.create_unix_listener(path) as server, anyio.create_task_group() as group:
        group.start_soon(server.serve, handle)
        yield path, requests
        group.cancel_scope.cancel()


async def test_our_bind_is_one_line_and_what_follows_its_answer_is_received(tmp_path: Path) -> None:
    answer = b'\n{"jsonrpc":"2.0","id":1,"result":{"ok":true,"more":1}}\r\n{"first":1}\n{"second":2}\n'
    async with guard(), answering(tmp_path, answer) as (path, requests):
        channel = await dial(Path(path), code="aBcD-eF")
        assert json.loads(requests[0]) == bind("aBcD-eF")
        assert requests[0].endswith(b"}\n")
        assert (channel.path, channel.limit) == (path, 8 * 1024 * 1024)
        texts, closed = await drain(channel)
        assert (texts, closed.code) == (['{"first":1}', '{"second":2}'], 1000)


@pytest.mark.parametrize("stays", [True, False])
async def test_field_94_a_refused_bind_tells_why_and_whether_the_app_left_it_open(tmp_path: Path, stays: bool) -> None:
    answer = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32009,"message":"Another gateway has it"}}\n'
    async with guard(), answering(tmp_path, answer, hold=stays) as (path, _):
        with pytest.raises(BindRefused, match="Another gateway has it") as caught:
            await dial(path, code="ABCD-EF")
        assert (caught.value.code, caught.value.message, caught.value.open) == (-32009, "Another gateway has it", stays)
        assert "ABCD" not in str(caught.value)


async def test_our_own_refusals_reach_the_dialler() -> None:
    async with guard(), listening(Recorder(), bind_required=True) as listener:
        gate = listener._gate
        for refusal, stays in ((Refusal.WRONG_CODE, False), (Refusal.LOCKED_OUT, False), (Refusal.SPENT, True)):
            gate.verdict = Refuse(refusal, f"because: {refusal.name}")
            with pytest.raises(BindRefused, match=f"because: {refusal.name}") as caught:
                await dial(listener.path, code="ABCD-EF")
            assert caught.value.open is stays
        gate.verdict = Admit()
        dialled = await dial(listener.path, code="ABCD-EF")
        await (await listener.accept()).send("{}")
        assert await dialled.receive() == "{}"
        await vanish(dialled)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", 1006),
        (b'{"jsonrpc":"2.0","id":1,"res', 1006),
        (b'{"jsonrpc":"2.0","id":1,"result":{"ok":1}}\n', 1002),
        (b'{"jsonrpc":"2.0","id":1,"result":null}\n', 1002),
        (b'{"jsonrpc":"2.0","id":"1","result":{"ok":true}}\n', 1002),
        (b'{"jsonrpc":"2.0","id":1,"method":"tesseron/hello"}\n{"jsonrpc":"2.0","id":1,"result":{"ok":true}}\n', 1002),
        (b"220 mail.example ESMTP\r\n", 1002),
        (b"x" * 70_000 + b"\n", 1002),
    ],
)
async def test_an_answer_that_is_none_is_a_fault(tmp_path: Path, answer: bytes, code: int) -> None:
    async with guard(), answering(tmp_path, answer) as (path, _):
        with pytest.raises(Closed) as caught:
            await dial(path, code="ABCD-EF")
        assert caught.value.code == code


async def test_a_connection_that_is_reset_right_after_the_refusal_was_not_left_open(tmp_path: Path) -> None:
    path = str(tmp_path / "app.sock")
    answer = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32009,"message":"no"}}\n'

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.send(answer)  # and leaves the bind unread

    async with guard(), await anyio.create_unix_listener(path) as server, anyio.create_task_group() as group:
        group.start_soon(server.serve, handle)
        with pytest.raises((BindRefused, Closed)) as caught:
            await dial(path, code="ABCD-EF")
        assert not getattr(caught.value, "open", False)
        group.cancel_scope.cancel()


async def test_dialling_ends_in_time_and_can_be_cancelled(tmp_path: Path) -> None:
    async with guard(), answering(tmp_path, b'{"jsonrpc"', hold=True) as (path, _):
        with pytest.raises(TimeoutError):
            await dial(path, code="ABCD-EF", timeout=0.05)
        with anyio.move_on_after(0.05) as scope:
            await dial(path, code="ABCD-EF")
        assert scope.cancelled_caught


@pytest.mark.parametrize("path", ["", "app.sock", "./app.sock", "\0abstract", "/tmp/a\0b"])
async def test_only_an_absolute_path_is_dialled(path: str) -> None:
    with pytest.raises(ValueError, match="absolute"):
        await dial(path)


async def test_nobody_at_a_path_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await dial(tmp_path / "nothing.sock")
    stale = tmp_path / "stale.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(stale))
    with pytest.raises(ConnectionRefusedError):
        await dial(stale)
    plain = tmp_path / "plain"
    plain.write_text("no socket")
    with pytest.raises(ConnectionRefusedError):
        await dial(plain)
    with pytest.raises(OSError, match="too long"):
        await dial(tmp_path / ("x" * 200))


@pytest.mark.parametrize("told", ["by the system", "by the file"])
async def test_a_socket_of_another_user_is_left_at_once(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if told == "by the file":
        monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    async with guard(), listen() as listener:
        await (await dial(listener.path)).aclose()
        await (await listener.accept()).aclose()
        mine = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
        with pytest.raises(PermissionError, match="another user listens"):
            await dial(listener.path, code="AB3X-7K")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may be another user for a while")
async def test_another_user_in_place_of_the_app_gets_no_code() -> None:
    with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as place, socket.socket(socket.AF_UNIX) as theirs:
        os.chmod(place, 0o777)
        path = f"{place}/app.sock"
        os.seteuid(65534)
        try:
            theirs.bind(path)
            theirs.listen()
        finally:
            os.seteuid(0)
        os.chmod(path, 0o777)
        os.chown(path, 0, 0)  # even if the file passes for ours
        async with guard():
            with pytest.raises(PermissionError, match="another user listens"):
                await dial(path, code="AB3X-7K")
        peer, _ = theirs.accept()
        with peer:
            assert peer.recv(1000) == b""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse where Linux has to be asked again")
async def test_a_full_queue_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "busy.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(0)
        with socket.socket(socket.AF_UNIX) as filler:
            filler.connect(path)
            async with guard(), anyio.create_task_group() as group:
                with pytest.raises(TimeoutError):
                    await dial(path, timeout=0.1)

                async def make_room() -> None:
                    await wait_all_tasks_blocked()
                    server.accept()[0].close()

                group.start_soon(make_room)
                channel = await dial(path)
                await vanish(channel)


async def test_logs_hold_no_code_and_no_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with guard(), listening(Recorder(), bind_required=True) as listener:
        dialled = await dial(listener.path, code="SECRET-42")
        accepted = await listener.accept()
        await dialled.send('"SECRET-43"')
        await accepted.send(await accepted.receive())
        with pytest.raises(BindRefused):
            await dial(listener.path, code="SECRET-44")
        await vanish(dialled)
    assert "SECRET" not in caplog.text


async def test_field_47_nothing_is_left_of_a_closed_connection() -> None:
    async with guard():
        async with connected() as (here, there), anyio.create_task_group() as group:
            group.start_soon(drain, there)
            await here.aclose()
        assert [channel._duplex._sock.fileno() for channel in (here, there)] == [-1, -1]


def test_the_modules_numbers_are_those_of_the_protocol() -> None:
    assert (unix.MAX_UNBOUND, unix.HANDSHAKE_DEADLINE) == (8, 10.0)
    assert re.fullmatch(r"/tesseron-\w{8}/\w{8}\.sock", unix._BELOW)
    assert struct.calcsize("P") > 0
