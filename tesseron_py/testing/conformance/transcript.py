"""What happened in one scenario, in order: lines for a person to read, and numbers to compare events by."""

from __future__ import annotations

import time
from typing import Final

LINE: Final = 500
"""Characters of a frame that a line shows."""
KEPT: Final = 400
"""Lines kept; of more, the first and the newest."""


class Transcript:
    """The record of a scenario. Every line has the milliseconds since its beginning, and a number of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count: int = 0
        """How many events there were; the number of the newest."""
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def add(self, mark: str, text: str) -> int:
        """Note an event; gives its number.

        Args:
            mark: `→` sent, `←` came, `·` anything else.
            text: What it was.
        """
        self.count += 1
        text = text if len(text) <= LINE else f"{text[:LINE]}… ({len(text)} characters)"
        if len(self.lines) == KEPT:
            del self.lines[KEPT // 2]
        self.lines.append(f"{self.seconds * 1000:6.0f} ms {mark} {text}")
        return self.count
