"""Drawing a table in boxes, and making it fit the terminal.

`draw` takes the texts of a table and the width it may have. Promises: without a width every cell is whole.
With one, no line is wider. Columns that say nothing go first; then headings are broken at blanks, texts are
shortened at their end and names in the middle, with `…` where something is missing. Numbers are never
shortened: if they do not fit, their column goes, and a line below the table says which ones went. The main
column is whole as long as another one can give way.
Control characters of a cell never reach the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .columns import END, MIDDLE, Grid

ROUNDED, DOUBLE = "╭─┬╮│├┼┤╰┴╯", "╔═╦╗║╠╬╣╚╩╝"
MARK = "…"
LEAST_HEADING = 5  # of the characters of a word, so that it can still be guessed
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
    for index, letter in enumerate(text):
        taken += width_of(letter)
        if taken > width:
            return text[:index]
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

    def line(cells: Sequence[str], clips: Sequence[str]) -> str:
        parts = []
        for cell, width, clip in zip(cells, widths, clips, strict=True):
            text = shortened(cell, width, clip)
            parts.append(f" {text}{' ' * (width - width_of(text))} ")
        return edge + edge.join(parts) + edge

    def ruled(start: str, joint: str, end: str) -> str:
        return scheme(start + joint.join(rule * (width + 2) for width in widths) + end)

    lines = []
    inner = _total(widths) - 2
    words, values = [END] * len(widths), [column.kind.clip for column in grid.columns]
    if title:
        space = inner - width_of(title)
        centred = " " * (space // 2) + title + " " * (space - space // 2)
        lines += [scheme(tl + rule * inner + tr), edge + centred + edge]
    lines.append(ruled(left, tee, right) if title else ruled(tl, tee, tr))
    for number in range(max(map(len, headings), default=1)):
        lines.append(line([parts[number] if number < len(parts) else "" for parts in headings], words))
    lines.append(ruled(left, cross, right))
    lines += [line(row, values) for row in grid.rows]
    if grid.footer:
        lines += [ruled(left, cross, right), line(grid.footer, words)]
    return [*lines, ruled(bl, foot, br)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) + 1


def _cells(grid: Grid) -> list[int]:
    """Return the width of each column's widest cell, without its heading."""
    rows = [*grid.rows, *([grid.footer] if grid.footer else [])]
    return [max((width_of(row[index]) for row in rows), default=0) for index in range(len(grid.columns))]


def _natural(grid: Grid) -> list[int]:
    return [max(width_of(name), width) for name, width in zip(grid.headings, _cells(grid), strict=True)]


def _fitted(grid: Grid, limit: int) -> tuple[Grid, list[int], list[str]]:
    """Return what fits into `limit`: the grid, its widths, and the titles of columns that had to go."""
    for index in range(len(grid.columns) - 1, 0, -1):
        if _total(_natural(grid)) <= limit:
            break
        if grid.says_nothing(index):
            grid = grid.only([each for each in range(len(grid.columns)) if each != index])
    gone: list[str] = []
    while True:
        natural = _natural(grid)
        cells = _cells(grid)
        words = [max(map(width_of, name.split()), default=0) for name in grid.headings]
        widths = [max(pair) for pair in zip(cells, words, strict=True)]
        _narrow(grid, widths, limit, END)
        _narrow(grid, widths, limit, MIDDLE)
        _clip_headings(widths, cells, limit)
        others = [index for index, column in enumerate(grid.columns) if index and not column.main]
        if not others:
            _narrow(grid, widths, limit, END, main=True)
            _narrow(grid, widths, limit, MIDDLE, main=True)
        if _total(widths) <= limit or len(widths) == 1:
            break
        going = others[-1] if others else len(widths) - 1
        gone.insert(0, grid.headings[going])
        grid = grid.only([index for index in range(len(grid.columns)) if index != going])
    if _total(widths) > limit:
        widths = [max(1, limit - 4)]
    for index, width in enumerate(natural):  # what is left over makes headings whole again
        spare = limit - _total(widths)
        if width - widths[index] <= spare:
            widths[index] = width
    return grid, widths, gone


def _narrow(grid: Grid, widths: list[int], limit: int, clip: str, *, main: bool = False) -> None:
    """Take from the widest columns that are shortened so until the table fits, but leave LEAST of each."""
    columns = enumerate(grid.columns)
    elastic = [index for index, each in columns if each.kind.clip == clip and each.main == main]
    while _total(widths) > limit:
        wide = [index for index in elastic if widths[index] > LEAST]
        if not wide:
            return
        ranked = sorted({widths[index] for index in wide}, reverse=True)
        most = [index for index in wide if widths[index] == ranked[0]]
        floor = max(LEAST, ranked[1] if len(ranked) > 1 else LEAST)
        excess = _total(widths) - limit
        step = min(ranked[0] - floor, -(-excess // len(most)))
        for index in most:
            widths[index] -= min(step, max(0, _total(widths) - limit))


def _clip_headings(widths: list[int], cells: Sequence[int], limit: int) -> None:
    """Take from columns whose heading is wider than their cells, until the table fits."""
    while _total(widths) > limit:
        slack = [(width - max(cells[index], LEAST_HEADING), index) for index, width in enumerate(widths)]
        most, index = max(slack)
        if most <= 0:
            return
        widths[index] -= 1


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
