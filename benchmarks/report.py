"""Results as Markdown: what is promised, the peers beside each other, and all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .measure import Row
from .table import HEAD, cells


def report(rows: Sequence[Row], about: str) -> str:
    """The page.

    Args:
        rows: The rows.
        about: A sentence on where they were measured.
    """
    parts = ["# Results", f"{about} What the rows mean: `docs/benchmarks.md`."]
    if promised := [row for row in rows if row.target is not None]:
        parts += ["## What is promised", _rows(promised)]
    if beside := [row for row in rows if ":" in row.name and not row.name.startswith("growth")]:
        parts += ["## Ours beside each peer", "Our time or memory over theirs: below 1 is less.", _grid(beside)]
    return "\n\n".join([*parts, "## All rows", _rows(rows)]) + "\n"


def _rows(rows: Iterable[Row]) -> str:
    titles = ("row", *HEAD[1:])
    return _table(titles, [(f"`{name}`", *rest) for name, *rest in map(cells, rows)], lambda title: title != "against")


def _grid(rows: Iterable[Row]) -> str:
    """A line for each piece of work and a column for each peer."""
    ratios: dict[str, dict[str, str]] = {}
    peers: dict[str, None] = {}
    for row in rows:
        work, _, peer = row.name.partition(":")
        ratios.setdefault(work, {})[peer] = f"{row.ratio:.2f}"
        peers[peer] = None
    lines = [(f"`{work}`", *(of.get(peer, "") for peer in peers)) for work, of in ratios.items()]
    return _table(("", *peers), lines, lambda title: True)


def _table(titles: Sequence[str], lines: Iterable[Sequence[str]], is_number: Callable[[str], bool]) -> str:
    rule = ["---", *("---:" if is_number(title) else "---" for title in titles[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in (titles, rule, *lines))
