"""Raises the limit of open files, as each connection is one."""

from __future__ import annotations

import resource
from contextlib import suppress


def raise_limit() -> None:
    """Raise the limit of open files as far as the system allows without privileges, as Go programs do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # the real limit of the system is lower than the reported one
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
