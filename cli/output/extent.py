"""How many columns and lines the terminal of a stream has."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def size(stream: TextIO | None = None) -> os.terminal_size:
    """Return the columns and lines of the terminal, that of stdout if no other; 80 by 24 if it does not say.

    `COLUMNS` in the environment says how many columns to use instead, also after a resize.
    """
    try:
        found = os.get_terminal_size((stream or sys.stdout).fileno())
    except (OSError, ValueError):
        found = os.terminal_size((0, 0))
    told = os.environ.get("COLUMNS", "")
    columns = int(told) if told.isdecimal() else 0
    return os.terminal_size((columns or found.columns or 80, found.lines or 24))
