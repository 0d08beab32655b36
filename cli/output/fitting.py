"""Making a table fit the terminal: which columns are left, and how wide they are.

When a table is too wide, these things happen one after the other until it fits:

1. Columns that say nothing go, such as the cluster where there is only one.
2. Headings are broken at blanks.
3. Names and texts are shortened, the longest first, until EASY columns are left of each.
4. Words of headings are abbreviated, and names and texts shortened until LEAST columns are left.
5. The columns that people need least go, as the table declares (`Table.spare`), then others from the right.
   Where one that went fits again in the end, it comes back.

Only when nothing else is left is a name shortened further, a number or a heading cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .cells import width_of
from .columns import EACH, END, MIDDLE, Grid

# How much is left of a cell that is shortened, as long as another column can give way.
LEAST = {MIDDLE: 16, END: 16, EACH: 24}
# How much is left before words of headings are abbreviated.
EASY = {MIDDLE: 24, END: 24, EACH: 36}
SQUEEZED = 6  # columns of anything, when nothing can give way any more

ABBREVIATIONS = {
    "Account": "Acct",
    "Accounts": "Accts",
    "Activation": "Activ.",
    "Advertised": "Advert.",
    "Average": "Avg",
    "Compressed": "Compr.",
    "Configuration": "Config",
    "Connection": "Conn",
    "Connections": "Conns",
    "Consumer": "Cons.",
    "Consumers": "Cons.",
    "Delivered": "Deliv.",
    "Deliveries": "Deliv.",
    "Delivery": "Deliv.",
    "Description": "Descr.",
    "Encoding": "Enc.",
    "Gateways": "GWs",
    "Incoming": "In",
    "Leafnodes": "Leafs",
    "Letters": "Lett.",
    "Memory": "Mem",
    "Message": "Msg",
    "Messages": "Msgs",
    "Outgoing": "Out",
    "Pending": "Pend.",
    "Processing": "Proc.",
    "Received": "Recv",
    "Redelivered": "Redel.",
    "Requests": "Reqs",
    "Required": "Req.",
    "Revision": "Rev.",
    "Revocations": "Revoc.",
    "Sequence": "Seq",
    "Subscriptions": "Subs",
    "Unprocessed": "Unproc.",
}


def total(widths: Sequence[int]) -> int:
    """Return how wide a table with columns of these widths is."""
    return sum(widths) + 3 * len(widths) + 1


def natural_widths(grid: Grid) -> list[int]:
    """Return the width of each column with everything whole."""
    return [max(width_of(name), width) for name, width in zip(grid.headings, _cells(grid), strict=True)]


def heading_lines(heading: str, width: int) -> list[str]:
    """Return a heading in lines of at most `width` columns: broken at blanks, long words abbreviated."""
    if width_of(heading) <= width:
        return [heading]
    lines: list[str] = []
    for word in heading.split():
        shown = word if width_of(word) <= width else _abbreviated(word)
        if lines and width_of(f"{lines[-1]} {shown}") <= width:
            lines[-1] += f" {shown}"
        else:
            lines.append(shown)
    return lines


def fit(grid: Grid, limit: int) -> tuple[Grid, list[int], list[str]]:
    """Return what fits into `limit`: the grid, its widths, and the headings of columns that had to go."""
    grid = _telling(grid, limit)
    least, headings = _least(grid), grid.headings
    left = list(range(len(headings)))
    gone: list[int] = []

    def fits(indexes: Sequence[int]) -> bool:
        return total([least[index] for index in indexes]) <= limit

    for index in _order(grid):
        if fits(left):
            break
        left.remove(index)
        gone.append(index)
    for index in reversed(gone if fits(left) else []):
        if fits([*left, index]):
            left.append(index)
    for index in left:
        if grid.columns[index].main and not fits(left):
            least[index] = min(least[index], LEAST[END])
    if not fits(left):
        least = [min(width, SQUEEZED) for width in least]
    for index in left[:0:-1]:
        if not fits(left):
            left.remove(index)
            gone.append(index)
    left.sort()
    grid, least = grid.only(left), [least[index] for index in left]
    return grid, _widths(grid, least, limit), [headings[index] for index in sorted({*gone} - {*left})]


def _telling(grid: Grid, limit: int) -> Grid:
    """Return the grid without columns that say nothing, as many as have to go."""
    for index in range(len(grid.columns) - 1, 0, -1):
        if total(natural_widths(grid)) <= limit:
            break
        if grid.says_nothing(index):
            grid = grid.only([each for each in range(len(grid.columns)) if each != index])
    return grid


def _order(grid: Grid) -> list[int]:
    """Return the columns in the order in which they go. What the others are about stays, and a main one."""
    fields = [column.field for column in grid.columns]
    first = [fields.index(name) for name in grid.spare if name in fields]
    others = [index for index, column in enumerate(grid.columns) if index not in first and not column.main]
    return [*first, *others[:0:-1]]


def _cells(grid: Grid) -> list[int]:
    """Return the width of each column's widest cell, without its heading."""
    rows = [*grid.rows, *([grid.footer] if grid.footer else [])]
    return [max((width_of(row[index]) for row in rows), default=0) for index in range(len(grid.columns))]


def _least(grid: Grid) -> list[int]:
    """Return how narrow each column can be before another one goes."""
    return _floors(grid, LEAST, [" ".join(map(_abbreviated, text.split())) for text in grid.headings])


def _floors(grid: Grid, least: Mapping[str, int], headings: Sequence[str]) -> list[int]:
    """Return how narrow each column can be with these headings, if `least` is left of a kind of cells."""
    found = []
    for column, heading, width in zip(grid.columns, headings, _cells(grid), strict=True):
        words = max(map(width_of, heading.split()), default=0)
        floor = width if column.main else min(width, least.get(column.kind.clip, width))
        found.append(max(floor, words))
    return found


def _abbreviated(word: str) -> str:
    return ABBREVIATIONS.get(word, word)


def _widths(grid: Grid, least: Sequence[int], limit: int) -> list[int]:
    """Return the widths of columns that fit when each is as narrow as it can be."""
    natural = natural_widths(grid)
    if len(least) == 1:
        return [max(1, min(natural[0], limit - 4))]
    easy = _floors(grid, EASY, grid.headings)
    floors = easy if total(easy) <= limit else least
    widths = [max(pair) for pair in zip(_cells(grid), floors, strict=True)]
    held = [
        width if column.main else floor
        for column, width, floor in zip(grid.columns, widths, floors, strict=True)
    ]
    for each in (held, floors):  # the main column is the last one to be narrower
        _narrow(widths, each, limit)
    # What is left over makes headings whole again: first their words, then their lines.
    for wanted in (easy, natural):
        for index, width in enumerate(wanted):
            if 0 < width - widths[index] <= limit - total(widths):
                widths[index] = width
    return widths


def _narrow(widths: list[int], least: Sequence[int], limit: int) -> None:
    """Take from the widest columns that may be narrower, until the table fits."""
    while (excess := total(widths) - limit) > 0:
        wide = [index for index, width in enumerate(widths) if width > least[index]]
        if not wide:
            return
        ranked = sorted({widths[index] for index in wide}, reverse=True)
        most = [index for index in wide if widths[index] == ranked[0]]
        floor = max([least[index] for index in most] + ranked[1:2])
        step = min(ranked[0] - floor, -(-excess // len(most)))
        for index in most:
            widths[index] -= min(step, max(0, total(widths) - limit))
