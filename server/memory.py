"""How much memory this process may use, and how it returns freed memory to the system."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 1 << 30  # bytes assumed where the system does not say

# Constants of glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_MAPPED = 2 << 20  # bytes from which a buffer gets a mapping of its own, which is unmapped when it is freed
_KEPT = 8 << 20  # bytes kept at the end of the heap for later use


def memory_limit() -> int:
    """Return the bytes that this process may use: those of the machine, or fewer if its cgroup says so."""
    found = []
    with suppress(OSError, ValueError):  # the system does not have these names
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUPS:
        with suppress(OSError, ValueError):  # another version of cgroups, or "max"
            found.append(int(Path(name).read_text("ascii")))
    return min((each for each in found if each > 0), default=_UNKNOWN)


def configure_allocator() -> None:
    """Make the allocator (glibc's only) return large buffers to the system when they are freed.

    By default glibc raises both thresholds, to 32 and 64 MiB, once something large has been freed. The memory
    that one burst of large messages took would then stay with the process.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # not glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
