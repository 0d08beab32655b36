"""Drawing a table in boxes.

`draw` takes the texts of a table and the width it may have. Promises: without a width every cell is whole.
With one, no line is wider: `fit` says which columns are left and how wide they are, and what does not fit in
them is shortened, with `…` where something is missing. Numbers are never shortened: they are there whole, or
their column is not there, and a line below the table says which ones are not.
Control characters of a cell never reach the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .cells import MARK, clean, shortened, shortened_cells, width_of
from .columns import Grid
from .fitting import fit, heading_lines, natural_widths, total

ROUNDED, DOUBLE = "╭─┬╮│├┼┤╰┴╯", "╔═╦╗║╠╬╣╚╩╝"


def draw(
    grid: Grid,
    limit: int | None = None,
    scheme: Callable[[str], str] | None = None,
    *,
    double: bool = False,
    wide: str = "",
) -> str:
    """Return a table as lines without a final newline.

    limit: the width that no line may exceed; None: there is none.
    scheme: colours the borders.
    wide: the flag that shows all columns, if there is one.
    """
    grid = Grid(
        clean(grid.title),
        grid.columns,
        [clean(text) for text in grid.headings],
        [[clean(text) for text in row] for row in grid.rows],
        [clean(text) for text in grid.footer],
        grid.spare,
    )
    widths = natural_widths(grid)
    gone: list[str] = []
    if limit is not None and total(widths) > limit:
        grid, widths, gone = fit(grid, limit)
    headings = [heading_lines(text, width) for text, width in zip(grid.headings, widths, strict=True)]
    inner = total(widths) - 2
    title = grid.title
    if inner < width_of(title) + 2:
        room = width_of(title) + 2 if limit is None else max(inner, min(width_of(title) + 2, limit - 2))
        widths[-1] += room - inner
        inner = room
        title = shortened(title, inner - 2)
    lines = _boxed(
        _clipped(grid, widths), title, headings, widths, DOUBLE if double else ROUNDED, scheme or str
    )
    if gone:
        names = ", ".join(gone)
        text = f"{wide} also shows {names}" if wide else f"no room for {names}"
        lines.append(shortened(f"{MARK} {text}", limit or 0))
    return "\n".join(lines)


def _clipped(grid: Grid, widths: Sequence[int]) -> Grid:
    """Return the same with every cell as wide as its column at most."""
    cells = [[row[index] for row in grid.rows] for index in range(len(widths))]
    shown = [
        shortened_cells(texts, width, column.kind.clip)
        for texts, width, column in zip(cells, widths, grid.columns, strict=True)
    ]
    footer = [shortened(text, width) for text, width in zip(grid.footer, widths, strict=False)]
    return replace(grid, rows=[list(row) for row in zip(*shown, strict=True)], footer=footer)


def _boxed(
    grid: Grid,
    title: str,
    headings: Sequence[Sequence[str]],
    widths: Sequence[int],
    box: str,
    scheme: Callable[[str], str],
) -> list[str]:
    tl, rule, tee, tr, bar, left, cross, right, bl, foot, br = tuple(box)
    edge = scheme(bar)

    def line(cells: Sequence[str]) -> str:
        parts = []
        for cell, width in zip(cells, widths, strict=True):
            text = shortened(cell, width)
            parts.append(f" {text}{' ' * (width - width_of(text))} ")
        return edge + edge.join(parts) + edge

    def ruled(start: str, joint: str, end: str) -> str:
        return scheme(start + joint.join(rule * (width + 2) for width in widths) + end)

    lines = []
    inner = total(widths) - 2
    if title:
        space = inner - width_of(title)
        centred = " " * (space // 2) + title + " " * (space - space // 2)
        lines += [scheme(tl + rule * inner + tr), edge + centred + edge]
    lines.append(ruled(left, tee, right) if title else ruled(tl, tee, tr))
    for number in range(max(map(len, headings), default=1)):
        lines.append(line([parts[number] if number < len(parts) else "" for parts in headings]))
    lines.append(ruled(left, cross, right))
    lines += [line(row) for row in grid.rows]
    if grid.footer:
        lines += [ruled(left, cross, right), line(grid.footer)]
    return [*lines, ruled(bl, foot, br)]
