"""Progress of a transfer, with its rate, on a terminal's stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .transfer import Advance

SHOWN_ABOVE = 20_480  # bytes


@contextmanager
def progress(wanted: bool, title: str, total: int | None) -> Iterator[Advance]:
    """Yield a function to call with the size of each piece. total: in bytes, None if it is unknown."""
    if not wanted or not sys.stderr.isatty() or (total is not None and total <= SHOWN_ABOVE):
        yield lambda _: None
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
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("transfer", total=total)
        yield lambda size: bar.advance(task, size)
