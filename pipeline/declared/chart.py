"""A line chart as SVG: values over time for a few series, readable on light and dark backgrounds.

Colours are CSS classes (`report` defines them): `s0`, `s1`, … for the series, `grid` and `ink` for the rest.
Text is escaped. If there are more than POINTS points, neighbours are combined, so that a run of weeks is no
larger than one of an hour.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

WIDTH, HEIGHT = 960.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 12.0, 28.0
POINTS = 300
GAP = 8  # a time without points that is so many times the usual one breaks the line
DOTS = 80  # a series of at most so many points shows each of them
SPANS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)

Point = tuple[float, float]  # seconds since the epoch, value
Join = Callable[[Sequence[Point]], float]


@dataclass(frozen=True)
class ChartSeries:
    """The values of one name, in the order of time."""

    name: str
    points: Sequence[Point]


def draw(title: str, series: Sequence[ChartSeries], unit: str, *, join: Join) -> str:
    """Return the chart; `join` computes the value of several points that are combined into one."""
    shown = [ChartSeries(each.name, joined(each.points, join)) for each in series]
    everything = [point for each in shown for point in each.points]
    if not everything:
        return '<p class="empty">nothing to draw: no batch told it</p>'
    start, end = min(x for x, _ in everything), max(x for x, _ in everything)
    end = end if end > start else start + 1.0
    steps = ticks(max(y for _, y in everything))
    scale = _Scale(start, end, steps[-1])
    parts = [f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(title)}">']
    parts += [_rule(scale.y(step), amount(step)) for step in steps]
    parts += [_moment(scale.x(when), text) for when, text in moments(start, end)]
    for number, each in enumerate(shown):
        parts += _series(each, number, scale, unit)
    return "\n".join([*parts, "</svg>"])


def joined(points: Sequence[Point], join: Join) -> list[Point]:
    """Return at most POINTS points: one for each equal share of the time, at the time of its last point."""
    if len(points) <= POINTS:
        return list(points)
    start = points[0][0]
    width = max((points[-1][0] - start) / POINTS, 1e-9)
    groups: dict[int, list[Point]] = {}
    for point in points:
        groups.setdefault(min(POINTS - 1, int((point[0] - start) / width)), []).append(point)
    return [(group[-1][0], join(group)) for group in groups.values()]


def ticks(top: float) -> list[float]:
    """Return four or five round steps from 0 to at least `top`."""
    if top <= 0:
        return [0.0, 1.0]
    raw = top / 4
    power: float = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * 0.999999)
    return [step * number for number in range(math.ceil(top / step - 1e-9) + 1)]


def moments(start: float, end: float) -> list[tuple[float, str]]:
    """Return up to eight round times (UTC) with their labels."""
    wide = (end - start) / 7
    span = next((each for each in SPANS if each >= wide), math.ceil(wide / 86400) * 86400)
    form = "%b %d" if span >= 86400 else "%H:%M" if span >= 60 else "%H:%M:%S"
    first = math.ceil(start / span) * span
    count = int((end - first) // span) + 1 if first <= end else 0
    found: list[float] = [first + number * span for number in range(count)] or [start]
    return [(when, datetime.fromtimestamp(when, UTC).strftime(form)) for when in found]


def amount(value: float) -> str:
    """Return a number in few characters: 0, 0.25, 250, 2.5k, 1.2M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


@dataclass(frozen=True)
class _Scale:
    start: float
    end: float
    top: float

    def x(self, when: float) -> float:
        return LEFT + (when - self.start) / (self.end - self.start) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)


def _rule(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="ink" x="{LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    )


def _moment(x: float, text: str) -> str:
    side = "start" if x < LEFT + 24 else "end" if x > WIDTH - RIGHT - 24 else "middle"
    return f'<text class="ink" x="{x:.1f}" y="{HEIGHT - 8:g}" text-anchor="{side}">{escape(text)}</text>'


def _series(series: ChartSeries, number: int, scale: _Scale, unit: str) -> list[str]:
    places = [(scale.x(when), scale.y(value)) for when, value in series.points]
    gaps = _gaps(series.points)
    path = " ".join(f"{'M' if index in gaps else 'L'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(places))
    parts = [f'<path class="line s{number % 6}" d="{path}"/>'] if len(places) > 1 else []
    visible = " seen" if len(places) <= DOTS else ""
    for (x, y), (when, value) in zip(places, series.points, strict=True):
        clock = datetime.fromtimestamp(when, UTC).strftime("%H:%M:%S")
        title = escape(f"{series.name}, {clock}: {value:,.6g} {unit}".rstrip())
        parts.append(
            f'<circle class="dot s{number % 6}{visible}" cx="{x:.1f}" cy="{y:.1f}" r="3">'
            f"<title>{title}</title></circle>"
        )
    return parts


def _gaps(points: Sequence[Point]) -> set[int]:
    """Return the points before which the line breaks: the first, and those after a time without any batch."""
    spans = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(points)]
    usual = sorted(spans)[len(spans) // 2] if spans else 0.0
    return {0} | {index for index, span in enumerate(spans, 1) if span > GAP * usual}
