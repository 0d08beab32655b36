"""Drawing numbers as bars over time, in characters.

Promises: a plot is never wider or higher than it is told, and its scale begins at zero. The newest value is
on the right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .cells import shortened

EIGHTHS = " ▁▂▃▄▅▆▇█"
LABEL = 10  # columns for the scale on the left
LEAST_ROWS = 4  # a title, two rows of bars, and an empty line below


def plot(
    title: str, values: Sequence[float | None], width: int, height: int, text: Callable[[float], str]
) -> list[str]:
    """Return a plot as `height` lines: the title with the newest value, and bars in the rows below.

    values: None where nothing was measured.
    text: a value as the scale and the title show it.
    """
    rows, columns = height - 1, max(1, width - LABEL - 2)
    last = values[-1] if values else None
    newest = "-" if last is None else text(last)
    shown = [value or 0.0 for value in values[-columns:]]
    most = max([*shown, 0.0])
    top = most or 1.0
    levels = [round(8 * rows * max(0.0, value) / top) for value in shown]
    # Something that is not nothing is seen, however small it is beside the largest.
    levels = [max(1, level) if value > 0 else 0 for level, value in zip(levels, shown, strict=True)]
    lines = [shortened(f"{' ' * LABEL}  {title}: {newest}", width)]
    for row in range(rows - 1, -1, -1):
        label = text(most) if row == rows - 1 else text(0.0) if row == 0 else ""
        bars = "".join(EIGHTHS[min(8, max(0, level - 8 * row))] for level in levels)
        lines.append(f"{shortened(label, LABEL):>{LABEL}} ┤{' ' * (columns - len(bars))}{bars}".rstrip())
    return lines
