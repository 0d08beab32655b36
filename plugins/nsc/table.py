"""Tables as `nsc` draws them: `+---+` boxes, the title centred in a row of its own, cells left-aligned.

Everything is text. A row has as many cells as it is given (a short row ends early, as nsc's do); colours do
not count for the width. `render` ends with a newline; nsc prints one more after each table.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

_COLOUR = re.compile("\x1b\\[(?:\\d+(?:;\\d+)*)?m")

# Names come from any token: nothing in them may move a terminal's cursor or break a row.
_CONTROL = re.compile("[\x00-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\\[(?:\\d+(?:;\\d+)*)?m)")


Line = tuple[str, ...] | None  # cells, or a separator
LEAST = 20  # columns that a broken cell keeps


def bold(text: str) -> str:
    """Return a text in bold, as for the current entry of a list."""
    return f"\x1b[1m{text}\x1b[0m"


class TextTable:
    """A table that is built row by row; `None` among the lines is a separator."""

    def __init__(self, title: str = "", headers: Iterable[str] = ()) -> None:
        self.title = _text(title)
        self.headers = tuple(headers)
        self._lines: list[Line] = []

    def row(self, *cells: object) -> None:
        """Add a row. Booleans become `true` and `false`."""
        self._lines.append(tuple(_text(cell) for cell in cells))

    def rows(self, label: str, values: Iterable[object]) -> None:
        """Add a row for each value, with the label before the first one only; none if there are no values."""
        for index, value in enumerate(values):
            self.row("" if index else label, value)

    def separator(self) -> None:
        """Add a line between the rows before and after it."""
        self._lines.append(None)

    def render(self, limit: int | None = None) -> str:
        """Return the drawn table.

        limit: the width that lines may have: long cells of the last column go on in further rows.
        """
        lines = [None, *([self.headers, None] if self.headers else []), *self._lines, None]
        widths = self._widths(lines)
        excess = sum(widths) + 3 * len(widths) + 1 - (limit or 0)
        if limit is not None and excess > 0:
            lines = _wrapped(lines, len(widths), max(LEAST, widths[-1] - excess))
            widths = self._widths(lines)
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        drawn = [rule if line is None else _drawn(line, widths) for line in lines]
        if self.title:
            inner = len(rule) - 4
            before = (inner - _width(self.title)) // 2
            title = " " * before + self.title + " " * (inner - before - _width(self.title))
            drawn = ["+" + "-" * (len(rule) - 2) + "+", f"| {title} |", *drawn]
        return "\n".join(drawn) + "\n"

    def _widths(self, lines: list[Line]) -> list[int]:
        """Return the width of each column; the last one is widened for a long title."""
        widths: list[int] = []
        for line in lines:
            for index, cell in enumerate(line or ()):
                if index == len(widths):
                    widths.append(0)
                widths[index] = max(widths[index], _width(cell))
        widths = widths or [0]
        missing = _width(self.title) + 4 - (sum(widths) + 3 * len(widths) + 1)
        widths[-1] += max(missing, 0)
        return widths


def _wrapped(lines: list[Line], columns: int, width: int) -> list[Line]:
    """Return the lines with the cells of the last column broken to a width."""
    found: list[Line] = []
    for line in lines:
        if line is None or len(line) < columns or _width(line[-1]) <= width:
            found.append(line)
            continue
        parts = textwrap.wrap(_COLOUR.sub("", line[-1]), width)
        found.append((*line[:-1], parts[0]))
        found += [(*("" for _ in line[:-1]), part) for part in parts[1:]]
    return found


def _drawn(cells: tuple[str, ...], widths: list[int]) -> str:
    filled = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=False))
    return "| " + " | ".join(filled) + " |"


def _text(cell: object) -> str:
    text = str(cell).lower() if isinstance(cell, bool) else str(cell)
    return _CONTROL.sub(" ", text)


def _width(text: str) -> int:
    return len(_COLOUR.sub("", text))
