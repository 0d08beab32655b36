"""Texts that fit into a number of columns of the terminal.

Promises: a text that was shortened has a mark where something is missing. Names that differ are shortened so
that they still do, where there is a way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix

from .columns import EACH, END, MIDDLE

MARK = "…"
LEAST_ITEM = 5  # columns of a name in a list; below that the list is cut at its end
SEPARATOR = ", "

# What a name or an error from elsewhere must not do: move the cursor, break a row, or turn the line round.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# What stands behind the name of a server: `*` for a leader, `!` for one that is not well.
_SIGN = re.compile("[*!]*$")


def clean(text: str) -> str:
    """Return a text that keeps to its line: control characters become blanks."""
    return _CONTROL.sub(" ", text) if not text.isprintable() else text


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, width: int, where: str = END, tail: int | None = None) -> str:
    """Return a text of at most `width` columns, with a mark where something is missing.

    tail: how many columns of its end are kept, if it is shortened in its middle; None: half of them.
    """
    if width_of(text) <= width:
        return text
    if width <= 1:
        return MARK[:width]
    if where != MIDDLE:
        tail = 0
    elif tail is None:
        tail = (width - 1) // 2
    return _head(text, width - 1 - tail) + MARK + _head(text[::-1], tail)[::-1]


def shortened_cells(texts: Sequence[str], width: int, where: str) -> list[str]:
    """Return the cells of a column, each of at most `width` columns."""
    if all(width_of(text) <= width for text in texts):
        return list(texts)
    if where == MIDDLE:
        shown = _distinct(set(texts), width, least=1)
        return [shown[text] for text in texts]
    if where == EACH:
        names = {_SIGN.sub("", name) for text in texts for name in text.split(SEPARATOR)}
        return [_shortened_list(text, width, names) for text in texts]
    return [shortened(text, width) for text in texts]


def _shortened_list(text: str, width: int, names: set[str]) -> str:
    """Return a list with each name shortened; if that leaves too little of them, it is cut at its end.

    names: all names of the column, which are to be told apart.
    """
    items = text.split(SEPARATOR)
    bare = [_SIGN.sub("", item) for item in items]
    signs = [item[len(name) :] for item, name in zip(items, bare, strict=True)]
    room = (width - len(SEPARATOR) * (len(items) - 1) - sum(map(len, signs))) // len(items)
    if width_of(text) <= width or room < LEAST_ITEM:
        return shortened(text, width)
    distinct = _distinct(names, room, least=0)
    shown = [distinct[name] for name in bare]
    return SEPARATOR.join(name + sign for name, sign in zip(shown, signs, strict=True))


def _distinct(names: set[str], width: int, least: int) -> dict[str, str]:
    """Return each name shortened in its middle; names that look alike then, from where they differ on."""
    tail = _tail(names, width, least)
    shown = {name: shortened(name, width, MIDDLE, tail) for name in names}
    alike: dict[str, list[str]] = {}
    for name, short in shown.items():
        alike.setdefault(short, []).append(name)
    for group in alike.values():
        start = max(0, len(commonprefix(group)) - (width - 2) // 2)  # noqa: RUF071 - not paths
        parts = {name: _part(name, start, width) for name in group}
        if start and len(set(parts.values())) > 1:
            shown.update(parts)
    return shown


def _part(name: str, start: int, width: int) -> str:
    """Return a name from `start` on, with a mark for what is missing before and behind."""
    return name if width_of(name) <= width else MARK + shortened(name[start:], width - 1)


def _tail(texts: set[str], width: int, least: int) -> int:
    """Return how much of the end of each text is kept, so that as many as possible still differ."""
    half = max(0, (width - 1) // 2)
    choices = [half, max(least, half // 2), min(half, least), max(half, width - 3)]
    return max(choices, key=lambda tail: len({shortened(text, width, MIDDLE, tail) for text in texts}))


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
