"""The process's standard streams as lines."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.mcp import pipes
from tesseron_py.mcp.pipes import EDGE, LineSplitter, LineTooLong, StandardLines, TooLong

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors are polled elsewhere")


def split(data: bytes, *, limit: int = 100, piece: int = 1000) -> list[bytes | TooLong]:
    splitter = LineSplitter(limit)
    return [line for i in range(0, len(data), piece) for line in splitter.feed(data[i : i + piece])]


def test_lines_end_at_the_byte_and_nowhere_else() -> None:
    assert split("a\r\nb\u2028c\x0b\x85\n\nrest".encode()) == [b"a\r", "b\u2028c\x0b\x85".encode(), b""]


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_a_line_that_is_too_long_costs_itself_alone(piece: int) -> None:
    assert split(b"12345\n123456\n1\n", limit=5, piece=piece) == [b"12345", TooLong(b"123456", b"123456"), b"1"]


def test_a_line_without_end_takes_no_memory() -> None:
    splitter = LineSplitter(10)
    for _ in range(1000):
        assert list(splitter.feed(b"x" * 1000)) == []
    assert sum(len(part) for part in splitter._parts) == EDGE
    assert list(splitter.feed(b"y\nok\n")) == [TooLong(b"x" * EDGE, b"x" * (EDGE - 1) + b"y"), b"ok"]


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b""))), st.integers(1, 20))
def test_pieces_do_not_matter(lines: list[bytes], piece: int) -> None:
    assert split(b"".join(line + b"\n" for line in lines), limit=10**6, piece=piece) == lines


class Ends:
    """A descriptor to read from and one to write to, connected; each closed once."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        self._open = {reader, writer}

    def close(self, *fds: int) -> None:
        for fd in self._open.intersection(fds):
            self._open.discard(fd)
            os.close(fd)


@pytest.fixture(params=["pipe", "socket", "copied"])
def ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """Of every kind that is treated on its own."""
    if request.param == "copied":
        monkeypatch.setattr(pipes, "_can_poll", lambda fd: False)
        monkeypatch.setattr(pipes, "_polled_sink", pipes._CopiedSink)
    if request.param == "socket":
        one, other = socket.socketpair()
        made = Ends(one.detach(), other.detach())
    else:
        made = Ends(*os.pipe())
    yield made
    made.close(made.reader, made.writer)


async def test_lines_go_through_whole_and_in_order(ends: Ends) -> None:
    lines = StandardLines(ends.reader, ends.writer, limit=1 << 24)
    texts = ["a", "Zoë \u2028 \U0001f600", "x" * 3_000_000, ""]
    received: list[str] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(_send_all, lines, texts)
            for _ in texts:
                received.append((await lines.receive()).decode())
        await lines.aclose()
    assert received == texts


async def _send_all(lines: StandardLines, texts: list[str]) -> None:
    for text in texts:
        await lines.send(text)


async def test_the_end_of_input_is_told(ends: Ends) -> None:
    outgoing = os.open(os.devnull, os.O_WRONLY)
    lines = StandardLines(ends.reader, outgoing, limit=100)
    os.write(ends.writer, b"last\nunfinished")
    ends.close(ends.writer)
    with anyio.fail_after(5):
        assert await lines.receive() == b"last"
        for _ in range(2):
            with pytest.raises(EOFError):
                await lines.receive()
        await lines.aclose()
    os.close(outgoing)


async def test_a_long_line_is_told_and_the_next_is_read(ends: Ends) -> None:
    lines = StandardLines(ends.reader, ends.writer, limit=10)
    os.write(ends.writer, b"x" * 100 + b"\nok\n")
    with anyio.fail_after(5):
        with pytest.raises(LineTooLong, match="longer than 10 bytes"):
            await lines.receive()
        assert await lines.receive() == b"ok"
        await lines.aclose()


async def test_when_nobody_reads_any_more_sending_says_so(ends: Ends) -> None:
    incoming = os.open(os.devnull, os.O_RDONLY)
    lines = StandardLines(incoming, ends.writer, limit=100)
    ends.close(ends.reader)
    with anyio.fail_after(5), pytest.raises(EOFError, match="standard output is closed"):
        while True:  # what a thread copies is noticed a moment later
            await lines.send("x" * 100_000)
    with anyio.fail_after(5):
        await lines.aclose()
    os.close(incoming)


async def test_a_reader_that_stops_does_not_stop_the_loop(ends: Ends) -> None:
    lines = StandardLines(ends.reader, ends.writer, limit=1 << 24)
    with anyio.fail_after(10):
        with anyio.move_on_after(0.1) as scope:
            await lines.send("x" * 4_000_000)
        assert scope.cancelled_caught
        ends.close(ends.reader)
        await lines.aclose()


async def test_a_regular_file_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    incoming = os.open(tmp_path / "in", os.O_RDONLY)
    outgoing = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    lines = StandardLines(incoming, outgoing, limit=100)
    with anyio.fail_after(5):
        assert [await lines.receive(), await lines.receive()] == [b"one", b"two"]
        with pytest.raises(EOFError):
            await lines.receive()
        await lines.send("reply")
        await lines.aclose()
    assert (tmp_path / "out").read_bytes() == b"reply\n"
    os.close(incoming)
    os.close(outgoing)


PROGRAM = r"""
import os, subprocess, sys
sys.stdout.write("pending ")
from tesseron_py.mcp.pipes import own_standard_streams
with own_standard_streams() as (incoming, outgoing):
    print("printed \U0001f600", flush=True)
    os.write(1, b"written\n")
    subprocess.run([sys.executable, "-c", "print('child', repr(input.__self__ and __import__('sys').stdin.read()))"])
    os.write(outgoing, b"frame " + os.read(incoming, 100))
print("after")
"""


def test_field_80_and_81_what_is_printed_meanwhile_goes_to_standard_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=b"hello\n",
        capture_output=True,
        timeout=30,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUNBUFFERED": ""},
    )
    assert done.stdout == b"frame hello\nafter\n"
    assert done.stderr == b"pending printed \\U0001f600\nwritten\nchild ''\n"


def test_standard_output_may_be_a_file(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=b"hello\n",
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=30,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUNBUFFERED": ""},
        )
    assert (tmp_path / "out").read_bytes() == b"frame hello\nafter\n"
    assert done.stderr == b"pending printed \\U0001f600\nwritten\nchild ''\n"


@pytest.mark.parametrize("close", ["sys.stdout = None", "os.close(2)", "sys.stdout.close = lambda: None"])
def test_a_process_without_some_of_its_streams_is_served_too(close: str) -> None:
    program = f"import os, sys\n{close}\n" + (
        "from tesseron_py.mcp.pipes import own_standard_streams\n"
        "with own_standard_streams() as (incoming, outgoing):\n"
        "    os.write(1, b'lost')\n"
        "    os.write(outgoing, b'frame')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30, input=b"", check=True)
    assert done.stdout == b"frame"
