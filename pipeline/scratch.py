"""The folder of a Spark session's own files, and the end of those that killed sessions left.

`TMP/pyjs-spark-*`, with a file `lock` that its process holds for as long as it runs: whoever starts next
removes the folders whose lock nobody holds. A process that was killed leaves no more than until then.
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
except ImportError:  # Windows: what a killed process leaves there stays
    fcntl = None  # type: ignore[assignment]

PREFIX = "pyjs-spark-"
LOCK = "lock"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for as long as the block lasts. First those go whose processes are gone."""
    clear()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # Under its name it is held from the start, or another process could find it free for a moment.
        with (folder / "unheld").open("w", encoding="utf-8") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "unheld").rename(folder / LOCK)
            yield folder


def clear() -> None:
    """Remove the folders of this user's killed processes; those of living ones, and of others, stay."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # held, another's, or just removed by another start
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("r+", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
