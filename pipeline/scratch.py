"""The folder of a Spark session's own files, and the removal of folders of sessions that were killed.

Each session has a folder `TMP/pyjs-spark-*` with a file `lock` that its process keeps locked as long as it
runs. The next session to start removes every folder whose lock is free. So the files of a killed process stay
until then, and no longer.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: the files of a killed process stay there
    fcntl = None  # type: ignore[assignment]

PREFIX = "pyjs-spark-"
LOCK = "lock"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Provide a folder as long as the block lasts, after removing those whose processes have ended."""
    clear()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # Locked before it gets its name, or another process could find it unlocked for a moment.
        with (folder / "unheld").open("w", encoding="utf-8") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "unheld").rename(folder / LOCK)
            yield folder


def clear() -> None:
    """Remove the folders of this user's killed processes; those of living ones, and of other users, stay."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # locked, another user's, or just removed by another session
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("r+", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
