"""The picture of how things grow: an SVG of four panels, drawn from the rows of `growth`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from .growth import APPS_CLAIM, APPS_MEMORY, APPS_TIME, PROMPTS_MEMORY, PROMPTS_TIME
from .measure import Row
from .table import shown

_WIDTH, _HEIGHT = 420, 250
_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 40, 58, 340, 140
_CROWD, _BESIDE, _INK, _QUIET = "#2a6fbb", "#9a9a9a", "#222222", "#666666"


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    name: str
    of: str
    """What the crowd is of."""


_PANELS = (
    _Panel("A call through the gateway", APPS_TIME, "apps"),
    _Panel("Memory of the gateway", APPS_MEMORY, "apps"),
    _Panel("A claim", APPS_CLAIM, "apps"),
    _Panel("A confirm over HTTP", PROMPTS_TIME, "prompts that wait"),
    _Panel("Memory of the server", PROMPTS_MEMORY, "prompts that wait"),
)


def picture(rows: Sequence[Row]) -> str:
    """The SVG of what is there of the rows: time and memory above zero, the crowd's size on a logarithmic axis."""
    panels: list[str] = []
    for panel in _PANELS:
        points = [(int(row.name.rpartition(":")[2]), row) for row in rows if row.name.startswith(f"{panel.name}:")]
        if points:
            x, y = len(panels) % 2 * _WIDTH, len(panels) // 2 * _HEIGHT
            panels.append(f'<g transform="translate({x},{y})">{_draw(panel, sorted(points, key=_size))}</g>')
    width, height = 2 * _WIDTH, -(-len(panels) // 2) * _HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )


def _size(point: tuple[int, Row]) -> int:
    return point[0]


def _draw(panel: _Panel, points: Sequence[tuple[int, Row]]) -> str:
    top = 1.2 * max(max(row.ours, row.theirs) for _, row in points)
    step = _PLOT_WIDTH / max(1, len(points) - 1)

    def place(at: int, value: float) -> tuple[float, float]:
        return _LEFT + at * step, _TOP + _PLOT_HEIGHT * (1 - value / top)

    bottom = _TOP + _PLOT_HEIGHT
    drawn = [
        _text(_LEFT - 20, 24, panel.title, weight="bold", size=14),
        _text(_LEFT - 20, 42, f"with so many {panel.of}; grey: {points[0][1].peer}, in turn", fill=_QUIET),
        f'<line x1="{_LEFT - 20}" y1="{bottom}" x2="{_LEFT + _PLOT_WIDTH + 20}" y2="{bottom}" stroke="{_QUIET}"/>',
        _curve(points, place, lambda row: row.theirs, _BESIDE),
        _curve(points, place, lambda row: row.ours, _CROWD),
    ]
    for at, (size, row) in enumerate(points):
        x, y = place(at, row.ours)
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_CROWD}"/>')
        drawn.append(_text(x, y - 9, shown(row.name, row.ours), anchor="middle"))
        drawn.append(_text(x, bottom + 18, f"{size:,}".replace(",", " "), anchor="middle", fill=_QUIET))
    return "".join(drawn)


def _curve(
    points: Sequence[tuple[int, Row]],
    place: Callable[[int, float], tuple[float, float]],
    value: Callable[[Row], float],
    colour: str,
) -> str:
    places = " ".join("{:.1f},{:.1f}".format(*place(at, value(row))) for at, (_, row) in enumerate(points))
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", fill: str = _INK, weight: str = "normal", size: int = 12
) -> str:
    style = f'text-anchor="{anchor}" fill="{fill}" font-weight="{weight}" font-size="{size}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
