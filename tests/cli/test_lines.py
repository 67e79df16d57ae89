"""Lines from a pipe, a file or a closed descriptor, one at a time, as they come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tesseron_py.cli import lines as module
from tesseron_py.cli.lines import Lines


class Pipe:
    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def write(self, data: bytes) -> None:
        os.write(self.writer, data)

    def end(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
        self.writer = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.end()
    os.close(pipe.reader)


async def all_of(lines: Lines) -> list[bytes]:
    with anyio.fail_after(10):
        return [line async for line in lines]


async def test_each_line_comes_when_it_is_there(pipe: Pipe) -> None:
    lines = Lines(pipe.reader)
    with anyio.fail_after(10):
        for piece, line in ((b"one\n", b"one"), (b"two\nthree\nfo", b"two"), (b"", b"three"), (b"ur\r\n", b"four\r")):
            pipe.write(piece)
            assert await anext(lines) == line
        pipe.write(b"\n\nlast without an end")
        pipe.end()
        assert await all_of(lines) == [b"", b"", b"last without an end"]
        assert await all_of(lines) == []


async def test_nothing_is_read_before_it_is_wanted(pipe: Pipe) -> None:
    Lines(pipe.reader)
    pipe.write(b"for somebody else")
    assert os.read(pipe.reader, 100) == b"for somebody else"


async def test_waiting_for_a_line_can_be_given_up_and_taken_up_again(pipe: Pipe) -> None:
    lines = Lines(pipe.reader)
    with anyio.move_on_after(0.05) as scope:
        await anext(lines)
    assert scope.cancelled_caught
    pipe.write(b"late\n")
    with anyio.fail_after(10):
        assert await anext(lines) == b"late"
    pipe.end()
    assert await all_of(lines) == []


async def test_a_file_works_as_well_as_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"a\nb")
    descriptor = os.open(tmp_path / "script", os.O_RDONLY)
    try:
        assert await all_of(Lines(descriptor)) == [b"a", b"b"]
    finally:
        os.close(descriptor)


async def test_a_closed_descriptor_holds_no_lines(pipe: Pipe) -> None:
    descriptor = os.dup(pipe.reader)
    os.close(descriptor)
    assert await all_of(Lines(descriptor)) == []


async def test_a_line_without_an_end_in_sight_is_refused(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 10)
    lines = Lines(pipe.reader)
    pipe.write(b"short\n" + b"x" * 20)
    with anyio.fail_after(10):
        assert await anext(lines) == b"short"
        with pytest.raises(ValueError, match="above 10 bytes"):
            await anext(lines)


def test_a_reader_whose_loop_has_ended_ends(pipe: Pipe) -> None:
    lines = Lines(pipe.reader)

    async def give_up() -> None:
        with anyio.move_on_after(0.01):
            await anext(lines)

    anyio.run(give_up)
    assert lines._thread is not None
    pipe.write(b"too late\n")
    lines._thread.join(10)
    assert not lines._thread.is_alive()


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_lines_are_what_split_makes_of_them(pieces: list[bytes]) -> None:
    lines = Lines()
    for piece in pieces:
        if piece:
            lines._take(piece)
    lines._take(b"")

    async def collect() -> list[bytes]:
        return [line async for line in lines]

    *whole, rest = b"".join(pieces).split(b"\n")
    assert anyio.run(collect) == whole + ([rest] if rest else [])
