"""The resources that processes use, as the kernel counts them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

MIB = 1 << 20


def resident(pids: Iterable[int]) -> float:
    """Return the resident memory of these processes in MiB, together."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(_proc(pid, "statm").split()[1]) for pid in pids) * page / MIB


def busy(pids: Iterable[int], seconds: float) -> float:
    """Return the share of one core (1.0 is all of it) that these processes use together during `seconds`."""
    watched = list(pids)
    before, began = _seconds(watched), time.monotonic()
    time.sleep(seconds)
    return (_seconds(watched) - before) / (time.monotonic() - began)


def countable() -> bool:
    """Return whether this system has process statistics under /proc."""
    return Path("/proc/self/statm").exists()


def _seconds(pids: Iterable[int]) -> float:
    ticks = 0
    for pid in pids:
        # After the name, which may contain blanks, the state is field 0, and user and system time are 11 and
        # 12.
        fields = _proc(pid, "stat").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _proc(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()
