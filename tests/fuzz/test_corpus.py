"""The corpus, played as plain tests, and a few inputs made of it: no fuzzer is needed.

`TESSERON_FUZZ=10000` makes so many of each target; what breaks one is printed, and belongs into the corpus.
"""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path

import pytest

from .corpus import CORPUS, seeds
from .draw import Draw
from .targets import MODULES, target

MADE = int(os.environ.get("TESSERON_FUZZ", "12"))
LOOPS = [(name, loop) for name in MODULES for loop in ("asyncio", "trio")]
ALONE = {"jsontext", "plain", "script", "sse", "guard", "mirrored", "seal", "files", "schemas", "answers", "peer"}
"""Those that run no event loop."""


@pytest.mark.parametrize(
    ("name", "loop"), [(name, loop) for name, loop in LOOPS if loop == "asyncio" or name not in ALONE]
)
def test_every_input_of_the_corpus_holds(name: str, loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERON_FUZZ_LOOP", loop)
    run, played = target(name), 0
    run(b"")
    for file, data in seeds(name):
        try:
            run(data)
        except BaseException as error:
            error.add_note(f"python -m tests.fuzz --replay {file} {name}")
            raise
        played += 1
    assert played


@pytest.mark.parametrize("name", list(MODULES))
def test_what_is_made_of_the_corpus_holds(name: str, tmp_path: Path) -> None:
    run = target(name)
    known = [data for _, data in seeds(name)]
    chance = random.Random(zlib.crc32(name.encode()))
    for _ in range(MADE):
        data = changed(chance, chance.choice(known), chance.choice(known))
        try:
            run(data)
        except BaseException as error:
            file = tmp_path / "broken"
            file.write_bytes(data)
            error.add_note(f"python -m tests.fuzz --replay {file} {name}\n{data!r}")
            raise


def changed(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """One input made of two: pieces left out, repeated, exchanged, single bytes changed."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randint(0, len(made)) for _ in range(2))
        match chance.randrange(5):
            case 0:
                del made[at:to]
            case 1:
                made[at:at] = made[at:to]
            case 2:
                made[at:to] = other[chance.randint(0, len(other)) :][: to - at]
            case 3 if at < len(made):
                made[at] = chance.randrange(256)
            case _:
                made[at:at] = chance.choice([b"\n", b'"', b"{", b"}", b"null", b"\x00", b"\xff", b"$STATE", b"9" * 20])
    return bytes(made[:4096])


def test_the_corpus_is_small_and_there_for_every_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == MODULES.keys()
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 300 * 1024


def test_values_are_drawn_from_any_bytes() -> None:
    for data in (b"", b"\x00", bytes(range(256)), b"\xff" * 50):
        draw = Draw(data)
        values = [draw.json(), draw.text(), draw.number(), draw.bytes(), draw.one_of("ab"), draw.flag(), draw.rest()]
        again = Draw(data)
        assert values == [
            again.json(), again.text(), again.number(), again.bytes(), again.one_of("ab"), again.flag(), again.rest()
        ]  # fmt: skip
        assert draw.left == 0
