"""The memory of this machine, and how this process gives back what it no longer uses."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 1 << 30  # bytes supposed where the system does not say

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_MAPPED = 2 << 20  # bytes from which a buffer is a mapping of its own, gone when it is freed
_KEPT = 8 << 20  # bytes kept at the end of the heap for what comes next


def available() -> int:
    """Bytes that this process may use at most: those of the machine, or fewer where its cgroup says so."""
    found = []
    with suppress(OSError, ValueError):  # not on this system
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUPS:
        with suppress(OSError, ValueError):  # another version of cgroups, or "max"
            found.append(int(Path(name).read_text("ascii")))
    return min((each for each in found if each > 0), default=_UNKNOWN)


def configure_allocator() -> None:
    """Have large buffers go back to the system when they are freed, for good, where the allocator can be told
    so (glibc).

    By itself it raises both thresholds, to 32 and 64 MiB, once something large was freed: what one storm of
    large messages took would stay.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
