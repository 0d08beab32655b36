"""Importing a library without another one that it would import where that is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def apart(library: str, *, without: str) -> Iterator[None]:
    """Have imports of `library` find no `without` meanwhile. Who imports it later gets another copy, with it.

    Nothing is done where one of them is loaded already: the import costs nothing more then.
    """
    if library in sys.modules or without in sys.modules:
        yield
        return
    sys.modules[without] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[without]
        for name in [name for name in sys.modules if name.partition(".")[0] == library]:
            del sys.modules[name]
