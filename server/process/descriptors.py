"""How many files the process may open: each connection is one."""

from __future__ import annotations

import resource
from contextlib import suppress


def raise_limit() -> None:
    """Raise the limit of open files as far as the system allows without asking, as programs in Go do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # the system has a lower bound than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
