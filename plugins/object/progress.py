"""Progress of a transfer, with its rate, on a terminal's stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_ABOVE = 20_480  # bytes


class Bar:
    """Is called with the size of each piece; draws nothing without a terminal."""

    def __init__(self, drawn: Progress | None = None, task: TaskID | None = None) -> None:
        self._drawn = drawn
        self._task = task

    def __call__(self, size: int) -> None:
        """Note that a piece of so many bytes is done."""
        if self._drawn is not None and self._task is not None:
            self._drawn.advance(self._task, size)

    def expect(self, total: int) -> None:
        """Say how many bytes it will be, where that was not known before."""
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, total=total)

    def finish(self) -> None:
        """Draw the end: all that was to be done is done. The total before was an estimate."""
        if self._drawn is not None and self._task is not None:
            done = next(each.completed for each in self._drawn.tasks if each.id == self._task)
            self._drawn.update(self._task, total=done)


@contextmanager
def progress(wanted: bool, title: str, total: int | None) -> Iterator[Bar]:
    """Yield what is called with the size of each piece. total: in bytes, None if it is unknown."""
    if not wanted or not sys.stderr.isatty() or (total is not None and total <= SHOWN_ABOVE):
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn(title, markup=False),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as drawn:
        bar = Bar(drawn, drawn.add_task("transfer", total=total))
        yield bar
        bar.finish()
