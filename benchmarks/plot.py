"""A small writer of plots: lines over a logarithmic axis as SVG, legible on light and on dark pages.

A picture has panels side by side. Each line has a shape of its own, so that nobody depends on its colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 420, 300  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 58, 46
_STYLE = """
.page { fill: #ffffff } .grid { stroke: #d0d7de } text { fill: #1f2328; font: 12px sans-serif }
.title { font-weight: bold } .l0 { stroke: #0b5cad } .f0 { fill: #0b5cad } .l1 { stroke: #b3420a }
.f1 { fill: #b3420a } .line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .grid { stroke: #30363d } text { fill: #e6edf3 } .l0 { stroke: #6cb6ff }
.f0 { fill: #6cb6ff } .l1 { stroke: #f69d50 } .f1 { fill: #f69d50 }
}
"""


@dataclass(frozen=True)
class Panel:
    """One diagram: its title, the numbers along the bottom, and the lines by name, above 0 and as many."""

    title: str
    bottom: Sequence[float]
    lines: dict[str, Sequence[float]]


def picture(panels: Sequence[Panel], axis: str, unit: Callable[[float], str]) -> str:
    """Return the SVG of some panels.

    axis: what is along the bottom.
    unit: writes a number of the bottom.
    """
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" '
        f'height="{HEIGHT}" role="img">',
        f"<title>{escape(', '.join(panel.title for panel in panels))} by {escape(axis)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{HEIGHT}" rx="6"/>',
    ]
    for number, panel in enumerate(panels):
        parts += [f'<g transform="translate({number * WIDTH},0)">', *_panel(panel, axis, unit), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def ticks(values: Sequence[float]) -> list[float]:
    """Return the numbers of a logarithmic axis around the values: 1, 2 and 5 of each decade, or decades."""
    steps = [m * 10.0**e for e in range(-6, 13) for m in (1, 2, 5)]
    low = max((step for step in steps if step <= min(values)), default=steps[0])
    high = min((step for step in steps if step >= max(values) and step > low), default=steps[-1])
    found = [step for step in steps if low <= step <= high]
    if len(found) <= 8:
        return found
    return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def short(value: float) -> str:
    """Return a number as an axis has it: 0.5, 200, 20k, 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _panel(panel: Panel, axis: str, unit: Callable[[float], str]) -> Iterator[str]:
    marks = ticks([value for line in panel.lines.values() for value in line])
    across = _scale(panel.bottom[0], panel.bottom[-1], LEFT, WIDTH - RIGHT)
    up = _scale(marks[0], marks[-1], HEIGHT - BOTTOM, TOP)
    yield f'<text class="title" x="{LEFT}" y="22">{escape(panel.title)}</text>'
    for mark in marks:
        y = up(mark)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(mark)}</text>'
    for value in panel.bottom:
        x = across(value)
        yield f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        y = HEIGHT - BOTTOM + 18
        yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{escape(unit(value))}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(axis)}</text>'
    for number, (name, values) in enumerate(panel.lines.items()):
        points = [(across(a), up(b)) for a, b in zip(panel.bottom, values, strict=True)]
        yield f'<path class="line l{number}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'
        yield from (_mark(number, x, y) for x, y in points)
        x = LEFT + 110.0 * number
        yield _mark(number, x + 5, 40)
        yield f'<text x="{x + 15}" y="44">{escape(name)}</text>'


def _mark(number: int, x: float, y: float) -> str:
    if number % 2 == 0:
        return f'<circle class="f{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    return f'<rect class="f{number}" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Return what places a value between two pixels, by its logarithm."""
    whole = math.log(high / low) or 1.0
    return lambda value: start + (end - start) * math.log(value / low) / whole
