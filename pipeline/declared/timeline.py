"""A run of a few batches as bars over time: what its seconds were spent on. A line of one point says nothing.

The text is SVG in the manner of `chart`: colours are CSS classes that `report` defines, and text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, ROW, BAR = 960.0, 34.0, 16.0
LEFT, MIDDLE = 170.0, 620.0  # where bars begin and end; what they say is on the right
THIN = 2.0  # the least width of a bar


@dataclass(frozen=True)
class TimelineSpan:
    """A part of a run.

    begin, end: seconds since the epoch
    series: the number of its colour among those of `chart`; None: none of them
    """

    name: str
    begin: float
    end: float
    says: str
    series: int | None = None


def draw(title: str, spans: Sequence[TimelineSpan]) -> str:
    """Return the bars, one under the other, on one scale of time."""
    start, end = min(span.begin for span in spans), max(span.end for span in spans)
    scale = (MIDDLE - LEFT) / max(end - start, 1e-3)
    height = ROW * len(spans) + 6
    parts = [f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(title)}">']
    for number, span in enumerate(spans):
        x, width = LEFT + (span.begin - start) * scale, max((span.end - span.begin) * scale, THIN)
        y = ROW * number + (ROW - BAR) / 2
        line = f"{span.end - span.begin:.2f} s" + (f", {span.says}" if span.says else "")
        color = "rest" if span.series is None else f"s{span.series % 6}"
        parts.append(
            f'<text class="ink" x="{LEFT - 12:g}" y="{y + 12:.1f}" text-anchor="end">'
            f"{escape(span.name)}</text>"
            f'<rect class="bar {color}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR:g}"'
            f' rx="3">'
            f"<title>{escape(f'{span.name}: {line}')}</title></rect>"
            f'<text class="ink" x="{MIDDLE + 12:g}" y="{y + 12:.1f}">{escape(line)}</text>'
        )
    return "\n".join([*parts, "</svg>"])
