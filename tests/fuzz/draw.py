"""Values drawn from bytes: the same bytes give the same value, and no bytes give the simplest.

A fuzzer that changes a byte changes a choice. Atheris has such a thing of its own, but a corpus has to be played
where atheris is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

WORDS: Sequence[str] = (
    "", "a", "b", "ab", "abc", "approve", "name", "1", "true", "null", "2026-01-31", "2026-01-31T12:00:00Z",
    "a@b.example", "https://a.example/", "Ä", "\U0001f600", "é\u0301", "\u2028", "\x1b[2J", "\r\n", "a b", "__proto__",
    "$ref", "#/$defs/A", "a/b", "~1", "x" * 70,
)  # fmt: skip
NUMBERS: Sequence[int | float] = (
    0, 1, -1, 2, 3, 7, 10, 255, -128, 0.5, 1.0, 2.5, -0.0, 0.1, 1e-9, 1e308, 5e-324, 2**31, 2**53, 2**63, -(2**63),
    10**30,
)  # fmt: skip


class Draw:
    """Bytes, taken from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes there are."""
        return len(self._data) - self._at

    def byte(self) -> int:
        """The next byte; 0 at the end."""
        if self._at >= len(self._data):
            return 0
        self._at += 1
        return self._data[self._at - 1]

    def below(self, limit: int) -> int:
        """A number from 0 on, below `limit`."""
        return self.byte() % limit

    def flag(self) -> bool:
        return self.byte() % 2 == 1

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def rest(self) -> bytes:
        """All that is left."""
        rest, self._at = self._data[self._at :], len(self._data)
        return rest

    def bytes(self, most: int = 32) -> bytes:
        size = self.below(most + 1)
        taken = self._data[self._at : self._at + size]
        self._at += len(taken)
        return taken

    def text(self) -> str:
        """A word that is known to be awkward, or any text."""
        chosen = self.below(len(WORDS) + 4)
        return WORDS[chosen] if chosen < len(WORDS) else self.bytes().decode("utf-8", "replace")

    def number(self) -> int | float:
        chosen = self.below(len(NUMBERS) + 4)
        return NUMBERS[chosen] if chosen < len(NUMBERS) else int.from_bytes(self.bytes(8), "big", signed=True)

    def scalar(self) -> Any:
        match self.below(5):
            case 0:
                return None
            case 1:
                return self.flag()
            case 2:
                return self.number()
            case _:
                return self.text()

    def json(self, depth: int = 3) -> Any:
        """Any JSON value."""
        chosen = self.below(8)
        if depth > 0 and chosen == 6:
            return [self.json(depth - 1) for _ in range(self.below(4))]
        if depth > 0 and chosen == 7:
            return {self.text(): self.json(depth - 1) for _ in range(self.below(4))}
        return self.scalar()
