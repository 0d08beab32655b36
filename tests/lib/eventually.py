"""Waiting for what takes a moment: a condition is asked again until it holds or its deadline has passed."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE = 0.01


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when `condition()` is true. Raises AssertionError when it never was."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(PAUSE)
