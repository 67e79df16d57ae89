"""Results as a table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from .measure import Row

HEAD = ("", "ours", "p95", "theirs", "p95", "ratio", "spread", "target", "against")


def print_table(rows: Sequence[Row]) -> None:
    """Print one line a row; a ratio above its target is marked."""
    lines = [HEAD, *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    for line in lines:
        name, *numbers, peer = line
        shown = [name.ljust(widths[0]), *(each.rjust(width) for each, width in zip(numbers, widths[1:], strict=False))]
        print("  ".join([*shown, peer]).rstrip())
    print("\nratio: ours / theirs, the median of all rounds; spread: the interquartile range of the rounds' ratios.")
    print("p95: of every call, or of the rounds where a round is one process or a sum.")
    print("target: the most that the ratio may be; with ±, by how much chance may raise it; and whether it is met.")


def cells(row: Row) -> tuple[str, ...]:
    """What a row says, in the order of `HEAD`."""
    target = "" if row.target is None else f"{_target(row)} {'missed' if row.misses else 'met'}"
    ours_p95, theirs_p95 = ("" if p95 is None else shown(row.name, p95) for p95 in (row.ours_p95, row.theirs_p95))
    ratio = f"{row.ratio:.2f}", f"{row.spread:.2f}"
    return (
        row.name,
        shown(row.name, row.ours),
        ours_p95,
        shown(row.name, row.theirs),
        theirs_p95,
        *ratio,
        target,
        row.peer,
    )


def shown(name: str, value: float) -> str:
    """A value of the row of this name, with its unit."""
    return _bytes(value) if "memory" in name else _seconds(value)


def _target(row: Row) -> str:
    return f"≤ {row.target:g} ± {row.noise:.2f}" if row.noise else f"≤ {row.target:g}"


def _seconds(value: float) -> str:
    return f"{value * 1e3:.0f} ms" if value >= 0.01 else f"{value * 1e6:.0f} µs"


def _bytes(value: float) -> str:
    return f"{value / 2**20:.1f} MiB" if value >= 2**20 else f"{value / 2**10:.1f} KiB"
