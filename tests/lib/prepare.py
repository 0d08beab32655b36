"""What a run of the tests prepares before it begins: where temporary files go."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes; a run needs a tenth of it


def write_to_memory() -> None:
    """Put temporary files into memory if there is room: many tests wait for disks a fifth of their time.

    Nothing is lost by it. A killed process leaves its files in either place, and power cuts are played on
    `lib.fake_disk` and `lib.trust.disk`. A TMPDIR that is set stays.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM:
        return
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
