"""What is true: what the person allowed, what the handlers did, and whatever contradicts."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Run:
    """One run of a handler.

    Attributes:
        process: Which process it is in, by number.
        open: Labels of the questions it waits for.
    """

    name: str
    tag: str
    process: int
    ended: bool = False
    open: set[str] = field(default_factory=set)
    effects: int = 0


class Ledger:
    """Both sides of the truth. What must never be is in `wrongs`."""

    def __init__(self) -> None:
        self.yeses: Counter[str] = Counter()
        """Labels that the person said yes to, noted before that is sent."""
        self.runs: dict[str, Run] = {}
        self.gated: Counter[str] = Counter()
        self.wrongs: list[str] = []
        self.told: Counter[str] = Counter()
        self.effects = 0
        self._changed = asyncio.Event()

    def said_yes(self, label: str) -> None:
        """The person is about to say yes."""
        self.yeses[label] += 1

    def heard(self, process: int, line: bytes) -> dict[str, Any]:
        """A process has told something."""
        entry: dict[str, Any] = json.loads(line)
        run = self.runs.get(entry.get("run", ""))
        match entry["event"]:
            case "begun":
                self.runs[entry["run"]] = Run(entry["run"], entry["tag"], process)
            case "asks":
                assert run is not None
                run.open.add(entry["label"])
            case "told":
                assert run is not None
                run.open.discard(entry["label"])
                self.told["yes" if entry["yes"] else "no"] += 1
                if entry["yes"] and not self.yeses[entry["label"]]:
                    self.wrongs.append(f"{entry['label']} was told yes, and nobody said yes")
            case "effect":
                assert run is not None
                self._effect(run, entry["labels"])
            case "ended":
                assert run is not None
                run.ended = True
                run.open.clear()
        self.change()
        return entry

    def _effect(self, run: Run, labels: list[str]) -> None:
        run.effects += 1
        self.effects += 1
        if run.effects > 1:
            self.wrongs.append(f"{run.name} had its effect {run.effects} times")
        for label in labels:
            if label == run.tag:  # a gate's label is its call's, and each yes is good for one run
                self.gated[label] += 1
                if self.gated[label] > self.yeses[label]:
                    self.wrongs.append(f"{label} had {self.gated[label]} effects for {self.yeses[label]} yeses")
            elif not self.yeses[label]:
                self.wrongs.append(f"{run.name} had its effect, and nobody said yes to {label}")

    def process_ended(self, process: int) -> None:
        """Nothing runs in it any more."""
        for run in self.runs.values():
            if run.process == process:
                run.ended = True
                run.open.clear()
        self.change()

    def change(self) -> None:
        """Wake whoever waits."""
        self._changed.set()
        self._changed = asyncio.Event()

    def running(self, tags: set[str] | None = None) -> list[Run]:
        """The runs that have not ended, of these calls or of all."""
        return [run for run in self.runs.values() if not run.ended and (tags is None or run.tag in tags)]

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait for what the ledger will say; whether it came in time."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def forget(self) -> None:
        """Runs that are over are of no use any more."""
        self.runs = {name: run for name, run in self.runs.items() if not run.ended}
