"""The corpus: inputs that reach what there is to reach, and those that once broke something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).with_name("corpus")


def seeds(target: str) -> Iterator[tuple[Path, bytes]]:
    """The files of one target, and what is in them."""
    for file in sorted((CORPUS / target).iterdir()):
        yield file, file.read_bytes()
