"""Drawing a table in boxes, and making it fit the terminal.

`draw` takes the texts of a table and the width it may have. Promises: without a width every cell is whole.
With one, no line is wider. Columns that say nothing go first; then headings are broken at blanks, texts are
shortened at their end and names in the middle, with `…` where something is missing. Numbers are never
shortened: if they do not fit, their column goes, and a line below the table says which ones went.
Control characters of a cell never reach the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .columns import END, MIDDLE, Grid

ROUNDED, DOUBLE = "╭─┬╮│├┼┤╰┴╯", "╔═╦╗║╠╬╣╚╩╝"
MARK = "…"
LEAST = 10  # characters of a shortened name or text, while other columns can give way

# What a name or an error from elsewhere must not do: move the cursor, break a row, or turn the line round.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return a text that keeps to its line: control characters become blanks."""
    return _CONTROL.sub(" ", text) if not text.isprintable() else text


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, width: int, where: str = END) -> str:
    """Return a text of at most `width` columns, with a mark where something is missing."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return MARK[:width]
    tail = (width - 1) // 2 if where == MIDDLE else 0
    return _head(text, width - 1 - tail) + MARK + _head(text[::-1], tail)[::-1]


def _head(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns."""
    if text.isascii():
        return text[:width]
    taken = 0
    for place, letter in enumerate(text):
        taken += width_of(letter)
        if taken > width:
            return text[:place]
    return text


def draw(
    grid: Grid, limit: int | None = None, scheme: Callable[[str], str] | None = None, *, double: bool = False
) -> str:
    """Return a table as lines without a final newline.

    limit: the width that no line may exceed; None: there is none.
    scheme: colours the borders.
    """
    grid = Grid(
        clean(grid.title),
        grid.columns,
        [clean(text) for text in grid.headings],
        [[clean(text) for text in row] for row in grid.rows],
        [clean(text) for text in grid.footer],
    )
    widths = _natural(grid)
    gone: list[str] = []
    if limit is not None and _total(widths) > limit:
        grid, widths, gone = _fitted(grid, limit)
    headings = [_broken(text, width) for text, width in zip(grid.headings, widths, strict=True)]
    inner = _total(widths) - 2
    title = grid.title
    if inner < width_of(title) + 2:
        room = width_of(title) + 2 if limit is None else max(inner, min(width_of(title) + 2, limit - 2))
        widths[-1] += room - inner
        inner = room
        title = shortened(title, inner - 2)
    lines = _boxed(grid, title, headings, widths, DOUBLE if double else ROUNDED, scheme or str)
    if gone:
        names = ", ".join(gone)
        lines.append(shortened(f"{MARK} -o wide also shows {names}", limit or 0))
    return "\n".join(lines)


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

    def line(cells: Sequence[str], columns: Sequence[int] = widths) -> str:
        parts = []
        for column, (cell, width) in enumerate(zip(cells, columns, strict=True)):
            where = grid.columns[column].kind.clip if columns is widths else END
            text = shortened(cell, width, where)
            parts.append(f" {text}{' ' * (width - width_of(text))} ")
        return edge + edge.join(parts) + edge

    def ruled(start: str, joint: str, end: str) -> str:
        return scheme(start + joint.join(rule * (width + 2) for width in widths) + end)

    lines = []
    inner = _total(widths) - 2
    if title:
        space = inner - width_of(title)
        centred = " " * (space // 2) + title + " " * (space - space // 2)
        lines += [scheme(tl + rule * inner + tr), edge + centred + edge]
    lines.append(ruled(left, tee, right) if title else ruled(tl, tee, tr))
    for number in range(max(map(len, headings), default=1)):
        lines.append(line([words[number] if number < len(words) else "" for words in headings]))
    lines.append(ruled(left, cross, right))
    lines += [line(row) for row in grid.rows]
    if grid.footer:
        lines += [ruled(left, cross, right), line(grid.footer)]
    return [*lines, ruled(bl, foot, br)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) + 1


def _cells(grid: Grid) -> list[int]:
    """Return the width of each column's widest cell, without its heading."""
    rows = [*grid.rows, *([grid.footer] if grid.footer else [])]
    return [max((width_of(row[place]) for row in rows), default=0) for place in range(len(grid.columns))]


def _natural(grid: Grid) -> list[int]:
    return [max(width_of(name), width) for name, width in zip(grid.headings, _cells(grid), strict=True)]


def _fitted(grid: Grid, limit: int) -> tuple[Grid, list[int], list[str]]:
    """Return what fits into `limit`: the grid, its widths, and the titles of columns that had to go."""
    for place in range(len(grid.columns) - 1, 0, -1):
        if _total(_natural(grid)) <= limit:
            break
        if grid.says_nothing(place):
            grid = grid.only([each for each in range(len(grid.columns)) if each != place])
    gone: list[str] = []
    while True:
        natural = _natural(grid)
        cells = _cells(grid)
        words = [max(map(width_of, name.split()), default=0) for name in grid.headings]
        widths = [max(pair) for pair in zip(cells, words, strict=True)]
        _narrow(grid, widths, limit, END)
        _narrow(grid, widths, limit, MIDDLE)
        _clip_headings(widths, cells, limit)
        if _total(widths) <= limit or len(widths) == 1:
            break
        gone.insert(0, grid.headings[-1])
        grid = grid.only(range(len(grid.columns) - 1))
    if _total(widths) > limit:
        widths = [max(1, limit - 4)]
    for place, width in enumerate(natural):  # what is left over makes headings whole again
        spare = limit - _total(widths)
        if width - widths[place] <= spare:
            widths[place] = width
    return grid, widths, gone


def _narrow(grid: Grid, widths: list[int], limit: int, clip: str) -> None:
    """Take from the widest columns that are shortened so until the table fits, but leave LEAST of each."""
    elastic = [place for place, column in enumerate(grid.columns) if column.kind.clip == clip]
    while _total(widths) > limit:
        wide = [place for place in elastic if widths[place] > LEAST]
        if not wide:
            return
        ranked = sorted({widths[place] for place in wide}, reverse=True)
        most = [place for place in wide if widths[place] == ranked[0]]
        floor = max(LEAST, ranked[1] if len(ranked) > 1 else LEAST)
        excess = _total(widths) - limit
        step = min(ranked[0] - floor, -(-excess // len(most)))
        for place in most:
            widths[place] -= min(step, max(0, _total(widths) - limit))


def _clip_headings(widths: list[int], cells: Sequence[int], limit: int) -> None:
    """Take from columns whose heading is wider than their cells, until the table fits."""
    while _total(widths) > limit:
        slack = [(widths[place] - max(cells[place], 4), place) for place in range(len(widths))]
        most, place = max(slack)
        if most <= 0:
            return
        widths[place] -= 1


def _broken(heading: str, width: int) -> list[str]:
    """Return a heading in lines of at most `width` columns, broken at blanks."""
    if width_of(heading) <= width:
        return [heading]
    lines: list[str] = []
    for word in heading.split():
        if lines and width_of(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
